"""The Spider's small rules: credit, timers, hosts, messages."""

import pytest

from gossamer.clock import ManualClock
from gossamer.daemons.spider_credit import grant, room_in
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.spider_orders import Transactions, canonical_url, check_host
from gossamer.errors import WireError
from gossamer.wire.lines import Order


@pytest.mark.req("S0.15")
@pytest.mark.parametrize(
    ("share", "open_orders", "credit", "room", "count"),
    [
        (1_000, 0, 0, 9_999, 1_000),
        (1_000, 400, 600, 9_999, 0),
        (1_000, 0, 900, 9_999, 0),
        (1_000, 0, 875, 9_999, 125),
        (1_000, 999, 0, 9_999, 1),
        (1_000, 1_500, 0, 9_999, 0),
        (1_000, 0, 0, 0, 0),
        (1_000, 0, 0, 3, 3),
        (1_000, 0, 5, 3, 0),
        (1, 0, 0, 9, 1),
        (1, 1, 0, 9, 0),
        (4, 2, 1, 9, 1),
    ],
)
def test_credit_fills_up_the_share_but_not_line_by_line(share, open_orders, credit, room, count):
    assert grant(share, open_orders, credit, room) == count


@pytest.mark.parametrize(
    ("free", "typical", "promised", "room"),
    [
        (1_000_000, 10_000.0, 0, 100),
        (1_000_000, 10_000.0, 40, 60),
        (1_000_000, 10_000.0, 200, 0),
        (5_000, 10_000.0, 0, 1),
        (5_000, 10_000.0, 1, 0),
        (0, 10_000.0, 0, 0),
        (-1, 10_000.0, 0, 0),
        (1_000, 0.0, 0, 1_000),
    ],
)
def test_the_spool_has_room_for_what_is_promised(free, typical, promised, room):
    assert room_in(free, typical, promised) == room


def order(url: str, host: str, number: int = 1) -> Order:
    return Order(number, number, "192.0.2.1", host, url)


class SomeLink:
    """A link of which only its identity matters."""


@pytest.mark.req("S0.19", "S0.22")
def test_each_open_order_is_overdue_a_little_before_its_time():
    transactions = Transactions(30.0)
    link = SomeLink()
    first = transactions.begin(link, order("http://a.example/", "a.example"), 0.0)
    second = transactions.begin(link, order("http://b.example/", "b.example", 2), 10.0)
    third = transactions.begin(link, order("http://c.example/", "c.example", 3), 10.0)
    assert transactions.next_at() == 29.75
    assert transactions.overdue(29.7) == []
    assert transactions.overdue(29.75) == [first]
    second.reported_at = 25.0
    assert transactions.overdue(40.0) == [third]
    transactions.end(third)
    assert transactions.overdue(54.75) == [second]
    assert transactions.overdue(59.5) == [first]
    transactions.end(first)
    transactions.end(second)
    assert transactions.overdue(1_000.0) == []
    assert transactions.next_at() is None
    assert len(transactions) == 0


def test_timers_of_orders_that_are_over_do_not_pile_up():
    transactions = Transactions(3_600.0)
    stays = transactions.begin(SomeLink(), order("http://a.example/", "a.example"), 0.0)
    for number in range(20_000):
        quick = transactions.begin(SomeLink(), order("http://b.example/", "b.example", number), 1.0)
        transactions.end(quick)
    assert len(transactions._timers) < 2_000
    assert transactions.overdue(3_600.0) == [stays]


def test_a_short_timeout_update_is_kept_too():
    transactions = Transactions(0.1)
    transactions.begin(SomeLink(), order("http://a.example/", "a.example"), 0.0)
    assert transactions.next_at() == pytest.approx(0.09)


@pytest.mark.req("S0.16")
@pytest.mark.parametrize(
    ("url", "host", "agrees"),
    [
        ("http://a.example/", "a.example", True),
        ("http://A.example/", "a.EXAMPLE.", True),
        ("http://a.example:8080/", "a.example", True),
        ("http://a.example:8080/", "a.example:8080", True),
        ("http://a.example:8080/", "a.example:8081", False),
        ("http://a.example/", "b.example", False),
        ("http://a.example/", "a.example.evil.example", False),
        ("http://a.example@b.example/", "a.example", False),
        ("http://[2001:db8::1]/", "2001:db8::1", True),
        ("http://[2001:db8::1]/", "[2001:db8::1]", True),
        ("ftp://a.example/", "b.example", True),
    ],
)
def test_host_name_and_url_must_speak_of_the_same_host(url, host, agrees):
    if agrees:
        check_host(order(url, host))
    else:
        with pytest.raises(WireError, match="HOST_NAME"):
            check_host(order(url, host))


def test_what_is_ordered_is_asked_for_as_it_is():
    assert canonical_url(order("http://a.example", "a.example")) == "http://a.example/"
    long = "http://a.example/?utm_source=x&" + "b" * 60_000
    assert canonical_url(order(long, "a.example")) == long
    assert canonical_url(order("ftp://a.example/", "a.example")) is None


def test_messages_of_one_kind_are_bounded_and_the_rest_is_counted():
    clock = ManualClock()
    said: list[str] = []
    notes = Notes(said.append, clock)
    for number in range(1_000):
        notes.say("lines", f"line {number}")
    notes.say("links", "another kind")
    assert said == [*(f"line {number}" for number in range(10)), "another kind"]
    clock.advance(10.0)
    notes.say("lines", "later")
    assert said[-2:] == ["990 more messages about lines", "later"]
