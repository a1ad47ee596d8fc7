"""Orders ahead of their time: only for a host that is alone and may be asked at any moment."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urlserver_setup import due, dues, finish, make, offer

from gossamer.outcomes import Outcome

ENDS = (Outcome.OK, Outcome.OK, Outcome.HTTP_4XX, Outcome.HTTP_5XX)


def paths(visits) -> list[str]:
    return [visit.url.rpartition("/")[2] for visit in visits]


def test_a_host_that_is_alone_is_served_ahead_up_to_its_limit():
    server = make(host_concurrent=9)
    offer(server, dues("a.test", 20), 1.0)
    first = server.orders(1.0, 4)
    ahead = server.ahead(1.0, 3)
    more = server.ahead(1.0, 100)
    assert paths([*first, *ahead, *more]) == [str(number) for number in range(9)]
    assert server.stats().in_flight == 9
    assert server.ahead(1.0, 100) == server.orders(1.0, 100) == []
    for visit in (*ahead, *more, *first):
        assert finish(server, visit, 2.0) is not None
    assert paths(server.ahead(2.0, 2)) == ["9", "10"]


@pytest.mark.req("S1.16")
def test_nothing_goes_ahead_where_there_is_somebody_else():
    server = make(host_concurrent=9)
    offer(server, [*dues("a.test", 5), *dues("b.test", 1)], 1.0)
    assert server.ahead(1.0, 9) == []
    (other,) = [visit for visit in server.orders(1.0, 4) if "b.test" in visit.url]
    assert server.ahead(1.0, 9) == []
    finish(server, other, 1.0)
    assert len(server.ahead(1.0, 9)) == 2


@pytest.mark.parametrize("pace", [{"host_per_second": 5.0}, {"address_per_second": 5.0}])
def test_nothing_goes_ahead_where_a_gap_is_to_be_kept(pace):
    server = make(host_concurrent=9, **pace)
    offer(server, dues("a.test", 5), 1.0)
    assert server.ahead(1.0, 9) == []
    assert len(server.orders(1.0, 9)) == 1
    assert server.ahead(1.0, 9) == []


def test_nothing_goes_ahead_of_the_rules():
    server = make(host_concurrent=9)
    server.offer(dues("a.test", 5), 1.0)
    assert server.ahead(1.0, 9) == []
    offer(server, [], 1.0)
    assert server.ahead(1.0, 9) == []
    server.orders(1.0, 9)
    offer(server, [], 1.0)
    assert len(server.ahead(1.0, 9)) == 5


def test_what_has_other_rules_does_not_go_ahead():
    server = make(host_concurrent=9)
    offer(server, [due("http://a.test/1"), due("https://a.test/2"), due("http://a.test/3")], 1.0)
    assert [visit.url for visit in server.ahead(1.0, 9)] == ["http://a.test/1"]


@pytest.mark.parametrize("outcome", [Outcome.HTTP_5XX, Outcome.HTTP_429, Outcome.NET_TIMEOUT_TOTAL])
def test_nothing_goes_ahead_to_a_host_in_trouble_and_what_did_waits_its_turn(outcome):
    server = make(host_concurrent=9, retry_back_off_seconds=5.0)
    offer(server, dues("a.test", 6), 1.0)
    first = server.orders(1.0, 1)
    ahead = server.ahead(1.0, 4)
    finish(server, first[0], 2.0, outcome)
    server.unsent([visit.trans_id for visit in ahead], 2.0)
    assert server.stats().in_flight == 0
    assert server.ahead(2.0, 9) == server.orders(2.0, 9) == server.ahead(6.9, 9) == []
    # One at a time tells whether it has recovered; the queue is as it was.
    (again,) = server.orders(7.1, 9)
    assert paths([again]) == ["1"]
    assert server.ahead(7.1, 9) == []
    finish(server, again, 8.0)
    assert paths([*server.orders(20.0, 1), *server.ahead(20.0, 9)]) == ["2", "3", "4", "5"]


def test_an_order_that_is_not_out_any_more_cannot_be_given_back():
    server = make(host_concurrent=9)
    offer(server, dues("a.test", 2), 1.0)
    visits = server.ahead(1.0, 1)
    finish(server, visits[0], 1.0)
    server.unsent([visits[0].trans_id, 4711], 1.0)
    assert (server.stats().in_flight, server.stats().queued) == (0, 1)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("orders"), st.integers(0, 5)),
        st.tuples(st.just("ahead"), st.integers(0, 8)),
        st.tuples(st.just("unsent"), st.integers(0, 5)),
        st.tuples(st.sampled_from(ENDS), st.integers(0, 5)),
    ),
    max_size=30,
)


@given(steps, st.integers(1, 25), st.integers(1, 12))
def test_no_url_is_lost_or_doubled_however_orders_come_and_go(script, count, limit):
    server = make(host_concurrent=limit, retry_back_off_seconds=1.0)
    batch = dues("a.test", count)
    offer(server, batch, 1.0)
    now, out, ended = 1.0, [], []
    for what, number in script:
        now += 2.0
        if what == "orders":
            out += server.orders(now, number)
        elif what == "ahead":
            out += server.ahead(now, number)
        elif what == "unsent":
            kept = max(0, len(out) - number)
            back, out = out[kept:], out[:kept]
            server.unsent([visit.trans_id for visit in back], now)
        else:
            ended += [finish(server, visit, now, what) for visit in out[:number]]
            out = out[number:]
        assert server.stats().in_flight == len(out) <= limit
    left = [
        *(each.doc_id for each in ended),
        *(visit.doc_id for visit in out),
        *(each.due.doc_id for each in server.verdicts(now)),
        *(each.due.doc_id for each in server.returned(now)),
    ]
    server.forget([visit.trans_id for visit in out], now)
    left += [each.doc_id for each in server.drain()]
    assert Counter(left) == Counter(each.doc_id for each in batch)
