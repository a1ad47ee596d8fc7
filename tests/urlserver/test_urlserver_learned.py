"""Outcomes that become known after their DONE, and requests of one order that follow each other."""

import pytest
from urlserver_setup import NEVER, dues, finish, make, offer

from gossamer.messages import NOT_SAID
from gossamer.outcomes import Outcome
from gossamer.urlserver.urlserver import Learned, Resolution


def learned(outcome: Outcome, at: float, **fields) -> Learned:
    return Learned("a.test", "http://a.test", outcome, at, "10.0.0.1", **fields)


def test_a_done_that_does_not_tell_changes_nothing_for_its_host():
    server = make(retry_back_off_seconds=5.0, host_concurrent=2)
    offer(server, dues("a.test", 9), 0.0)
    (visit,) = server.orders(0.0, 1)
    finish(server, visit, 0.0, Outcome.HTTP_429)
    (visit,) = server.orders(5.0, 9)
    finish(server, visit, 5.0, NOT_SAID)
    # Neither recovered nor worse: the next one waits for the same back-off, alone.
    assert server.orders(9.9, 9) == []
    assert len(server.orders(10.0, 9)) == 1


def test_a_failure_that_is_learned_later_holds_its_host_back():
    server = make(retry_back_off_seconds=5.0)
    offer(server, dues("a.test", 9), 0.0)
    (visit,) = server.orders(0.0, 1)
    finish(server, visit, 1.0, NOT_SAID)
    server.learned(learned(Outcome.HTTP_429, 0.0, retry_after_seconds=30.0), 2.0)
    assert server.orders(31.9, 9) == []
    assert len(server.orders(32.0, 9)) == 1


def test_failures_of_requests_that_were_out_together_are_one_failure_when_learned_later():
    server = make(retry_back_off_seconds=5.0, host_concurrent=4)
    offer(server, dues("a.test", 9), 0.0)
    for visit in server.orders(0.0, 4):
        finish(server, visit, 0.5, NOT_SAID)
    for moment in (1.0, 1.1, 1.2, 1.3):
        server.learned(learned(Outcome.HTTP_5XX, 0.0), moment)
    assert server.orders(6.2, 9) == []
    assert len(server.orders(6.3, 9)) == 1


def test_a_host_that_recovers_is_paced_from_the_moment_that_is_learned():
    """A request may have gone out meanwhile: the gap counts from the latest possible one."""
    server = make(retry_back_off_seconds=5.0, host_per_second=1.0, host_concurrent=2)
    offer(server, dues("a.test", 9), 0.0)
    (visit,) = server.orders(0.0, 1)
    finish(server, visit, 0.0, Outcome.HTTP_429)
    (probe,) = server.orders(5.0, 1)
    finish(server, probe, 5.0, NOT_SAID)
    (second,) = server.orders(10.0, 1)
    server.started(second.trans_id, 10.0)
    server.learned(learned(Outcome.OK, 5.0), 10.5)
    assert server.orders(10.9, 9) == []
    assert len(server.orders(11.5, 9)) == 1


def test_an_old_success_does_not_end_a_back_off():
    server = make(retry_back_off_seconds=5.0)
    offer(server, dues("a.test", 9), 0.0)
    for at in (0.0, 0.1):
        (visit,) = server.orders(at, 1)
        finish(server, visit, at, NOT_SAID)
    server.learned(learned(Outcome.HTTP_5XX, 0.1), 1.0)
    server.learned(learned(Outcome.OK, 0.0), 1.1)
    assert server.orders(5.9, 9) == []


def test_an_address_that_refuses_is_left_for_another_one():
    server = make(retry_back_off_seconds=5.0)
    offer(server, dues("a.test", 9), 0.0)
    server.resolved("a.test", Resolution(("10.0.0.1", "10.0.0.2"), NEVER), 0.0)
    (visit,) = server.orders(0.0, 1)
    finish(server, visit, 0.0, NOT_SAID)
    server.learned(learned(Outcome.NET_REFUSED, 0.0), 0.5)
    (visit,) = server.orders(0.5, 1)
    assert visit.address == "10.0.0.2"
    finish(server, visit, 0.5, NOT_SAID)
    # News of the first one says nothing about the second.
    server.learned(learned(Outcome.NET_REFUSED, 0.0), 0.6)
    assert server.orders(0.6, 1) == []


def test_what_is_learned_of_a_host_that_is_not_known_counts_when_it_comes_up():
    server = make(retry_back_off_seconds=5.0)
    server.learned(learned(Outcome.OK, 0.0), 1.0)
    assert server.stats().hosts == 0
    server.learned(learned(Outcome.HTTP_429, 0.0), 1.0)
    offer(server, dues("a.test", 2), 2.0)
    assert server.orders(5.9, 1) == []
    assert len(server.orders(6.0, 1)) == 1


def test_a_dead_host_ends_what_is_queued_for_it():
    server = make(retry_back_off_seconds=1.0)
    batch = dues("a.test", 3)
    offer(server, batch, 0.0)
    (visit,) = server.orders(0.0, 1)
    finish(server, visit, 0.0, NOT_SAID)
    server.learned(learned(Outcome.TLS_EXPIRED, 0.0), 1.0)
    ended = server.verdicts(1.0)
    assert [each.due for each in ended] == batch[1:]
    assert server.empty


@pytest.mark.parametrize("again_at", [0.4, 0.9])
def test_a_second_start_of_an_order_is_one_more_request(again_at: float):
    server = make(host_per_second=1.0, host_concurrent=3)
    offer(server, dues("a.test", 9), 0.0)
    (visit,) = server.orders(0.0, 1)
    server.started(visit.trans_id, 0.0)
    server.started(visit.trans_id, again_at)
    assert server.orders(again_at + 0.9, 9) == []
    assert len(server.orders(again_at + 1.0, 9)) == 1


def test_orders_that_are_lost_may_have_asked_until_that_moment():
    server = make(host_per_second=1.0)
    offer(server, dues("a.test", 1), 0.0)
    (visit,) = server.orders(0.0, 1)
    server.started(visit.trans_id, 0.0)
    server.lost([visit.trans_id], 5.0)
    assert server.orders(5.9, 9) == []
    assert len(server.orders(6.0, 9)) == 1
