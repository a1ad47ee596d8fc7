"""Queue slots, leftovers and refills (S1.11 to S1.26)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urlserver_setup import due, dues, finish, make, offer

from gossamer.config.urlserver import UrlServerSettings
from gossamer.urlserver.slots import SlotTable
from gossamer.urlserver.urlserver import Resolution


@pytest.mark.req("S1.1", "S1.2", "S1.3", "S1.5")
def test_a_url_that_was_offered_becomes_an_order():
    server = make()
    offered = due("http://a.test/x?y=1", depth=3, tries=1, via=("http://a.test/",), etag='"e"')
    offer(server, [offered], 1.0)
    (visit,) = server.orders(1.0, 10)
    assert (visit.doc_id, visit.url, visit.address) == (offered.doc_id, offered.url, "10.0.0.1")
    assert (visit.depth, visit.tries, visit.via, visit.etag) == (3, 1, offered.via, '"e"')
    assert server.due_of(visit.trans_id) is offered


@pytest.mark.req("S1.13", "S1.15", "S1.20")
def test_the_active_range_is_as_long_as_the_host_may_have_requests_open():
    server = make(host_concurrent=3, queue_len=10)
    offer(server, dues("a.test", 10), 1.0)
    assert len(server.orders(1.0, 100)) == 3
    assert server.orders(2.0, 100) == []


@pytest.mark.req("S1.36")
def test_a_done_shifts_the_next_url_in():
    server = make(host_concurrent=1)
    first, second = dues("a.test", 2)
    offer(server, [first, second], 1.0)
    (visit,) = server.orders(1.0, 10)
    assert finish(server, visit, 2.0) is first
    (visit,) = server.orders(2.0, 10)
    assert visit.doc_id == second.doc_id


@pytest.mark.req("S1.11", "S1.16", "S1.18")
def test_a_slot_belongs_to_one_host_until_it_is_empty():
    server = make(queue_count=1, host_concurrent=5)
    offer(server, [*dues("a.test", 2), *dues("b.test", 2)], 1.0)
    first = server.orders(1.0, 10)
    assert {visit.url for visit in first} == {"http://a.test/0", "http://a.test/1"}
    finish(server, first[0], 2.0)
    assert server.orders(2.0, 10) == []
    finish(server, first[1], 3.0)
    offer(server, [], 3.0)
    assert {visit.url for visit in server.orders(3.0, 10)} == {"http://b.test/0", "http://b.test/1"}


@pytest.mark.req("S1.12", "S1.17")
def test_what_does_not_fit_in_a_full_queue_waits_among_the_leftovers():
    server = make(queue_len=2, host_concurrent=1)
    offer(server, dues("a.test", 5), 1.0)
    assert (server.stats().queued, server.stats().leftover) == (2, 3)
    seen = []
    for now in range(2, 7):
        (visit,) = server.orders(float(now), 10)
        seen.append(visit.url)
        finish(server, visit, float(now))
    assert seen == [f"http://a.test/{page}" for page in range(5)]
    assert server.empty


@pytest.mark.req("S1.18")
def test_a_host_whose_urls_are_all_left_over_is_not_forgotten(monkeypatch):
    server = make(queue_count=1, host_concurrent=1)
    offer(server, [*dues("a.test", 1), *dues("b.test", 1)], 1.0)
    monkeypatch.setattr(server._hosts, "_max_idle", 0)
    server.resolved("b.test", Resolution(("10.0.0.2",), 1e9), 1.0)
    (visit,) = server.orders(1.0, 10)
    finish(server, visit, 2.0)
    offer(server, dues("b.test", 1), 2.0)
    seen = 0
    for now in (2.0, 3.0):
        (visit,) = server.orders(now, 10)
        finish(server, visit, now)
        seen += 1
    assert seen == 2
    assert server.empty


@pytest.mark.req("S1.17")
def test_leftovers_are_bounded_and_the_rest_goes_back():
    server = make(queue_count=1, queue_len=2)
    offer(server, dues("a.test", 7), 1.0)
    assert server.stats().queued + server.stats().leftover == 4
    assert [seconds for _, seconds in server.returned(1.0)] == [0.0] * 3


@pytest.mark.req("S1.25")
def test_more_is_wanted_while_a_queue_is_empty_and_no_leftover_can_fill_it():
    server = make(queue_count=2, queue_len=4)
    assert server.wants(0.0) is not None
    offer(server, [*dues("a.test", 1), *dues("b.test", 1)], 1.0)
    assert server.wants(1.0) is None
    visits = server.orders(1.0, 10)
    finish(server, visits[0], 2.0)
    assert server.wants(2.0) is not None


@pytest.mark.req("S1.25")
def test_nothing_is_wanted_while_a_leftover_waits_for_a_queue():
    server = make(queue_count=1, queue_len=4, host_concurrent=4)
    offer(server, [*dues("a.test", 1), *dues("b.test", 1)], 1.0)
    (visit,) = server.orders(1.0, 10)
    finish(server, visit, 2.0)
    assert server.wants(2.0) is None
    offer(server, [], 2.0)
    (visit,) = server.orders(2.0, 10)
    finish(server, visit, 3.0)
    assert server.wants(3.0) is not None


@pytest.mark.req("S1.26")
def test_full_queues_are_rejected_in_the_request_until_half_of_them_is_gone():
    server = make(queue_len=10, host_concurrent=10, max_urls_per_address=100)
    offer(server, [*dues("full.test", 10), *dues("small.test", 2)], 1.0)
    refill = server.wants(1.0)
    assert refill.reject_hosts == {"full.test"}
    assert refill.per_host == 5
    full = [visit for visit in server.orders(1.0, 100) if "full" in visit.url]
    for visit in full[:4]:
        finish(server, visit, 2.0)
    assert server.wants(3.0).reject_hosts == {"full.test"}
    finish(server, full[4], 3.0)
    assert server.wants(4.0).reject_hosts == frozenset()


@pytest.mark.req("S1.25")
def test_what_could_not_go_out_anyway_is_not_urgent_unless_a_queue_runs_low():
    server = make(queue_len=4, host_concurrent=1)
    assert server.wants(0.0, saturated=True) is not None
    offer(server, dues("a.test", 3), 1.0)
    assert server.wants(1.9, saturated=True) is None
    (visit,) = server.orders(1.9, 10)
    finish(server, visit, 1.95)
    assert server.wants(1.95, saturated=True) is not None


@pytest.mark.req("S1.25")
def test_a_host_that_keeps_all_places_busy_does_not_keep_others_out():
    server = make(queue_len=4, host_concurrent=1)
    server.wants(0.0)
    offer(server, dues("a.test", 3), 1.0)
    assert server.wants(1.9, saturated=True) is None
    refill = server.wants(2.1, saturated=True)
    assert refill.reject_hosts == {"a.test"}


def test_a_refill_that_brought_little_is_not_repeated_at_once_unless_a_queue_ran_low():
    server = make(queue_len=4, host_concurrent=1)
    server.wants(0.0)
    offer(server, dues("a.test", 3), 1.0)
    assert server.wants(1.01) is None
    assert server.wants(1.1) is not None
    offer(server, [], 1.1)
    (visit,) = server.orders(1.1, 10)
    finish(server, visit, 1.11)
    assert server.wants(1.11) is not None


def test_drain_gives_back_everything_that_is_not_out():
    server = make(queue_count=1, queue_len=3, host_concurrent=1)
    batch = [*dues("a.test", 4), *dues("b.test", 1)]
    offer(server, batch, 1.0)
    (visit,) = server.orders(1.0, 10)
    given = server.drain()
    assert {each.doc_id for each in given} == {each.doc_id for each in batch} - {visit.doc_id}
    finish(server, visit, 2.0)
    assert server.empty
    assert server.orders(3.0, 10) == []


@pytest.mark.req("S1.29", "S1.35")
@given(
    st.integers(1, 1_000_000),
    st.integers(1, 10_000),
    st.integers(0, 10**6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_an_id_is_the_decimal_digits_of_generation_slot_and_position(
    slots, active, generation, slot_share, active_share
):
    chosen = UrlServerSettings(queue_count=slots, host_concurrent=active, queue_len=10_000)
    table = SlotTable(chosen)
    slot, position = int(slot_share * (slots - 1)), int(active_share * (active - 1))
    trans_id = table.pack(generation, slot, position)
    assert table.unpack(trans_id) == (generation, slot, position)
    assert trans_id < 2**63
    digits = str(trans_id).zfill(40)
    width = len(str(active - 1))
    assert int(digits[-width:]) == position
    assert digits[:-width].endswith(str(slot))


@pytest.mark.req("S1.21", "S1.22", "S1.23", "S1.24")
def test_hosts_that_share_an_address_with_too_many_urls_are_rejected_in_the_next_request():
    server = make(max_urls_per_address=5)
    addresses = {"a.test": "10.0.0.1", "b.test": "10.0.0.1", "c.test": "10.0.0.2"}
    batch = [*dues("a.test", 3), *dues("b.test", 3), *dues("c.test", 5)]
    offer(server, batch, 1.0, addresses.__getitem__)
    refill = server.wants(1.0)
    assert refill.reject_hosts == {"a.test", "b.test"}
    assert refill.reject_addresses == {"10.0.0.1"}
    refill = server.wants(5.0)
    assert (refill.reject_hosts, refill.reject_addresses) == (frozenset(), frozenset())


@pytest.mark.req("S1.21", "S1.23")
def test_urls_of_hosts_known_already_count_in_the_map_of_a_later_batch():
    server = make(max_urls_per_address=3)
    offer(server, dues("a.test", 2), 1.0)
    server.wants(1.0)
    offer(server, dues("a.test", 4), 2.0)
    assert server.wants(2.1).reject_addresses == {"10.0.0.1"}


def test_after_a_small_batch_more_is_asked_for_as_soon_as_there_is_more():
    server = make(queue_count=2, queue_len=10)
    assert server.wants(1.0) is not None
    offer(server, dues("a.test", 3), 1.0)
    assert server.wants(1.01) is None
    assert server.wants(1.9, saturated=True) is None
    server.more_there()
    assert server.wants(1.9, saturated=True) is not None
