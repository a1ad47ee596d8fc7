"""Orders, DONE, WORKING, time-outs and dead spiders (S1.10, S1.29 to S1.38, A6, A10)."""

import pytest
from msgspec.structs import replace
from urlserver_setup import due, dues, finish, make, offer, prepare

from gossamer.messages import Done
from gossamer.outcomes import Outcome


@pytest.mark.req("S1.34")
def test_no_more_than_the_allowed_orders_go_to_a_host_without_a_done():
    server = make(host_concurrent=1)
    offer(server, dues("a.test", 3), 1.0)
    (visit,) = server.orders(1.0, 10)
    assert server.orders(80.0, 10) == []
    finish(server, visit, 81.0)
    assert len(server.orders(81.0, 10)) == 1


@pytest.mark.req("S1.29", "S1.35")
def test_a_done_with_an_old_generation_is_ignored_and_counted():
    server = make(host_concurrent=1)
    offer(server, dues("a.test", 2), 1.0)
    (old,) = server.orders(1.0, 10)
    server.lost([old.trans_id], 2.0)
    (new,) = server.orders(2.0, 10)
    assert new.doc_id == old.doc_id
    assert new.trans_id != old.trans_id
    assert finish(server, old, 3.0) is None
    assert server.stats().stale == 1
    assert server.orders(3.0, 10) == []
    assert finish(server, new, 4.0) is not None


def test_a_second_done_for_the_same_order_is_ignored():
    server = make()
    offer(server, dues("a.test", 1), 1.0)
    (visit,) = server.orders(1.0, 10)
    assert finish(server, visit, 2.0) is not None
    assert finish(server, visit, 2.0) is None
    assert server.done(Done(10**17, 1), 2.0) is None


def outcomes_of(turn: int) -> list[Outcome]:
    """Return how the orders of a turn end: mostly well, now and then in trouble."""
    trouble = (Outcome.NET_TIMEOUT_CONNECT, Outcome.HTTP_429, Outcome.HTTP_4XX)
    return [trouble[turn % 3] if (turn + each) % 11 == 0 else Outcome.OK for each in range(40)]


@pytest.mark.parametrize("queue_count", [2, 20])
def test_dones_that_come_together_mean_what_they_mean_one_by_one(queue_count):
    one_by_one, together = (
        make(host_concurrent=3, address_concurrent=5, queue_count=queue_count, queue_len=5)
        for _ in range(2)
    )
    hosts = [f"h{number}.test" for number in range(8)]
    batch = [each for host in hosts for each in dues(host, 6)]
    for server in (one_by_one, together):
        offer(server, batch, 0.0, lambda host: f"10.0.0.{int(host[1]) % 3}")
    now = 0.0
    for turn in range(40):
        now += 5.0
        mine, others = one_by_one.orders(now, 12), together.orders(now, 12)
        assert sorted(v.doc_id for v in mine) == sorted(v.doc_id for v in others)
        ends = dict(zip(sorted(v.doc_id for v in mine), outcomes_of(turn), strict=False))
        for visit in mine:
            finish(one_by_one, visit, now + 1.0, ends[visit.doc_id])
        dones = [Done(v.trans_id, int(ends[v.doc_id]), 0, now + 1.0) for v in others]
        together.all_done([*dones, Done(10**17, int(Outcome.OK))], now + 1.0)
        assert together.stats() == replace(one_by_one.stats(), stale=turn + 1)
        for server in (one_by_one, together):
            prepare(server, now + 1.0)
    assert sum(1 for _ in one_by_one.returned(now)) == sum(1 for _ in together.returned(now))


@pytest.mark.req("S1.10")
def test_an_order_without_a_word_is_sent_again_and_given_up_after_max_retries():
    server = make(timeout_spider_status_seconds=90, max_retries=2)
    (only,) = dues("a.test", 1)
    offer(server, [only], 0.0)
    now = 0.0
    for given_up in (False, False, True):
        (visit,) = server.orders(now, 10)
        assert server.overdue(now + 89.9) == []
        now += 90.0
        assert server.overdue(now) == [(visit.trans_id, only, given_up)]
    assert server.orders(now, 10) == []
    assert server.empty


def test_working_gives_an_order_more_time():
    server = make(timeout_spider_status_seconds=90)
    offer(server, dues("a.test", 1), 0.0)
    (visit,) = server.orders(0.0, 10)
    server.working(visit.trans_id, 60.0)
    assert server.overdue(149.0) == []
    assert len(server.overdue(150.0)) == 1
    server.working(visit.trans_id, 151.0)
    assert server.stats().stale == 1


def test_a_success_after_a_lost_attempt_starts_the_count_anew():
    server = make(timeout_spider_status_seconds=90, max_retries=1)
    (only,) = dues("a.test", 1)
    offer(server, [only], 0.0)
    server.orders(0.0, 10)
    server.overdue(90.0)
    (visit,) = server.orders(90.0, 10)
    finish(server, visit, 91.0)
    offer(server, [only], 100.0)
    server.orders(100.0, 10)
    assert [lost.given_up for lost in server.overdue(190.0)] == [False]


@pytest.mark.req("S1.38")
def test_the_orders_of_a_dead_spider_are_pending_again_first_in_line():
    server = make(host_concurrent=2)
    offer(server, dues("a.test", 4), 1.0)
    out = server.orders(1.0, 10)
    taken = server.lost([visit.trans_id for visit in out], 2.0)
    assert {each.doc_id for each in taken} == {visit.doc_id for visit in out}
    again = server.orders(2.0, 10)
    assert {visit.doc_id for visit in again} == {visit.doc_id for visit in out}


def test_forgotten_orders_free_their_place_and_do_not_come_back():
    server = make(host_concurrent=1)
    offer(server, dues("a.test", 2), 1.0)
    (visit,) = server.orders(1.0, 10)
    assert [each.doc_id for each in server.forget([visit.trans_id], 2.0)] == [visit.doc_id]
    (other,) = server.orders(2.0, 10)
    assert other.doc_id != visit.doc_id


@pytest.mark.req("S1.14")
def test_the_gap_counts_from_the_moment_the_request_really_went_out():
    server = make(host_per_second=1.0, host_concurrent=4)
    offer(server, dues("a.test", 3), 0.0)
    (first,) = server.orders(0.0, 10)
    assert first.report_start
    assert server.orders(5.0, 10) == []
    server.started(first.trans_id, 5.0)
    assert server.orders(5.99, 10) == []
    (second,) = server.orders(6.0, 10)
    finish(server, second, 6.4, sent_at=6.2)
    assert server.orders(7.19, 10) == []
    assert len(server.orders(7.2, 10)) == 1


def test_a_fetch_that_was_never_sent_counts_from_its_dispatch():
    server = make(host_per_second=1.0, host_concurrent=4)
    offer(server, dues("a.test", 2), 0.0)
    (first,) = server.orders(0.0, 10)
    finish(server, first, 3.0, sent_at=0.0)
    assert len(server.orders(3.0, 10)) == 1


@pytest.mark.req("S1.38")
def test_the_gap_after_a_dead_spider_counts_from_its_death():
    """Its request may have gone out up to the last moment."""
    server = make(host_per_second=1.0)
    offer(server, dues("a.test", 2), 0.0)
    (first,) = server.orders(0.0, 10)
    server.lost([first.trans_id], 10.0)
    assert server.orders(10.99, 10) == []
    assert len(server.orders(11.0, 10)) == 1


@pytest.mark.req("S1.6")
def test_hosts_on_one_address_share_its_gap_and_its_limit():
    server = make(host_per_second=1.0, address_per_second=2.0, host_concurrent=1)
    offer(server, [*dues("a.test", 1), *dues("b.test", 1)], 0.0)
    (first,) = server.orders(0.0, 10)
    server.started(first.trans_id, 0.1)
    assert server.orders(0.59, 10) == []
    (second,) = server.orders(0.6, 10)
    assert first.url != second.url
    limited = make(address_concurrent=1)
    offer(limited, [*dues("a.test", 1), *dues("b.test", 1)], 0.0)
    (first,) = limited.orders(0.0, 10)
    assert limited.orders(9.0, 10) == []
    finish(limited, first, 9.0)
    assert len(limited.orders(9.0, 10)) == 1


@pytest.mark.req("S1.6")
def test_an_address_may_be_limited_more_than_its_host():
    server = make(host_concurrent=4, address_concurrent=2)
    offer(server, dues("a.test", 9), 0.0)
    first = server.orders(0.0, 10)
    assert len(first) == 2
    finish(server, first[0], 1.0)
    assert len(server.orders(1.0, 10)) == 1


def test_without_gaps_nobody_waits_for_starts():
    server = make(host_concurrent=16, address_concurrent=16)
    offer(server, dues("a.test", 40), 0.0)
    visits = server.orders(0.0, 100)
    assert len(visits) == 16
    assert not any(visit.report_start for visit in visits)


def test_credit_limits_how_many_orders_go_out():
    server = make(host_concurrent=8, address_concurrent=8)
    offer(server, dues("a.test", 8), 0.0)
    assert server.orders(0.0, 0) == []
    assert len(server.orders(0.0, 3)) == 3
    assert len(server.orders(0.0, 10)) == 5


def test_one_slow_host_starves_no_other():
    server = make(host_concurrent=1, host_per_second=10.0)
    offer(
        server,
        [*dues("slow.test", 50), *dues("fast.test", 50)],
        0.0,
        {"slow.test": "10.0.0.1", "fast.test": "10.0.0.2"}.__getitem__,
    )
    now, fast = 0.0, 0
    while fast < 50 and now < 10.0:
        for visit in server.orders(now, 100):
            server.started(visit.trans_id, now)
            if "fast" in visit.url:
                finish(server, visit, now)
                fast += 1
        now += 0.1
    assert fast == 50
    assert now < 5.2


@pytest.mark.parametrize("slow_hosts", [1, 2, 3])
def test_slow_hosts_do_not_hold_every_place(slow_hosts):
    """Each host has its share of the places, however many requests it may have out."""
    addresses = {f"slow{number}.test": f"10.0.0.{number}" for number in range(slow_hosts)}
    addresses["fast.test"] = "10.0.1.1"
    server = make(host_concurrent=8, address_concurrent=8)
    batch = [each for host in addresses for each in dues(host, 50)]
    offer(server, batch, 0.0, addresses.__getitem__)
    out, fast = 0, 0
    for step in range(50):
        visits = server.orders(float(step), 8 - out)
        for visit in visits:
            if "fast" in visit.url:
                finish(server, visit, step + 0.5)
                fast += 1
            else:
                out += 1
        # In the end there is less than its share left of the fast one.
        assert out <= 8 - 8 // (slow_hosts + 1) or fast >= 40
    assert fast == 50
    # Places that nobody else wants are theirs.
    for step in range(50, 60):
        out += len(server.orders(float(step), 8 - out))
    assert out == 8


def test_hosts_of_a_busy_address_take_turns():
    server = make(host_concurrent=1, address_concurrent=1)
    batch = [each for host in ("a.test", "b.test", "c.test") for each in dues(host, 3)]
    offer(server, batch, 0.0)
    order = []
    for step in range(9):
        (visit,) = server.orders(float(step), 10)
        order.append(visit.url[7])
        finish(server, visit, step + 0.5)
    assert order == list("abcabcabc")


def test_wake_at_names_the_next_moment_something_can_go_out():
    server = make(host_per_second=1.0)
    assert server.wake_at(0.0) is None
    server.offer(dues("a.test", 2), 0.0)
    assert server.wake_at(0.0) == 0.0
    prepare(server, 0.0)
    assert server.wake_at(0.0) == 0.0
    server.orders(0.0, 10)
    assert server.wake_at(0.0) == 0.0
    prepare(server, 0.5)
    (visit,) = server.orders(server.wake_at(0.5), 10)
    server.started(visit.trans_id, 2.0)
    assert server.wake_at(2.0) == pytest.approx(3.0)


def test_ids_are_decimal_digits_only():
    server = make()
    offer(server, [due("http://a.test/")], 0.0)
    assert str(server.orders(0.0, 1)[0].trans_id).isdecimal()
