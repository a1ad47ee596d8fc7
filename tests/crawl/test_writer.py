"""The writer: jobs in their order, results in the coordinator's own thread."""

import select
import threading

import pytest

from gossamer.crawl.writer import Writer


@pytest.fixture(params=[False, True], ids=["thread", "at once"])
def writer(request):
    made = Writer("the catalog", errors.append, at_once=request.param)
    errors.clear()
    yield made
    made.close()


errors = []


def wait_for(writer):
    assert select.select([writer.fileno()], [], [], 10)[0]


def test_results_are_called_back_in_their_order_and_only_when_collected(writer):
    results = []
    for number in range(3):
        writer.submit(lambda catalog, number=number: (catalog, number), results.append)
    assert not writer.idle
    assert results == []
    while not writer.idle:
        wait_for(writer)
        writer.wake()
        writer.collect()
    assert results == [("the catalog", 0), ("the catalog", 1), ("the catalog", 2)]
    assert select.select([writer.fileno()], [], [], 0)[0] == []


def test_an_error_is_handed_over_and_what_follows_is_done_all_the_same(writer):
    results, failures = [], []
    writer.submit(lambda catalog: 1 / 0, results.append, failures.append)
    writer.submit(lambda catalog: 1 / 0)
    writer.submit(lambda catalog: 7, results.append)
    while not writer.idle:
        wait_for(writer)
        writer.wake()
        writer.collect()
    assert results == [7]
    assert [type(error) for error in (*failures, *errors)] == [ZeroDivisionError] * 2


def test_a_callback_may_submit_more(writer):
    results = []
    writer.submit(lambda catalog: 1, lambda _: writer.submit(lambda catalog: 2, results.append))
    while not writer.idle:
        wait_for(writer)
        writer.wake()
        writer.collect()
    assert results == [2]


@pytest.mark.parametrize("at_once", [False, True])
def test_in_memory_there_is_no_other_thread(at_once):
    writer = Writer(None, errors.append, at_once=at_once)
    threads = []
    writer.submit(lambda catalog: threads.append(threading.current_thread()))
    writer.close()
    assert (threads == [threading.main_thread()]) is at_once
