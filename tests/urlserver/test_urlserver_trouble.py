"""Back-off, Retry-After, parked hosts, other addresses, and clocks that survive a restart."""

import pytest
from urlserver_setup import NEVER, NO_ROBOTS, due, dues, finish, make, offer

from gossamer.outcomes import Outcome
from gossamer.urlserver.urlserver import Resolution, Resolve


def _fail_once(server, now, outcome, retry_after=None):
    """Let one request fail; return the moment at which the next may go out."""
    (visit,) = server.orders(now, 1)
    finish(server, visit, now, outcome, retry_after=retry_after)
    return server.wake_at(now)


@pytest.mark.parametrize(
    "outcome", [Outcome.HTTP_429, Outcome.HTTP_5XX, Outcome.NET_TIMEOUT_TOTAL, Outcome.NET_RESET]
)
def test_failures_in_a_row_double_the_interval(outcome):
    server = make(retry_back_off_seconds=5.0)
    offer(server, dues("a.test", 9), 0.0)
    now = 0.0
    for wait in (5.0, 10.0, 20.0, 40.0):
        then = _fail_once(server, now, outcome)
        assert then == pytest.approx(now + wait)
        now = then


def test_the_interval_never_exceeds_its_maximum():
    server = make(retry_back_off_seconds=5.0, max_back_off_seconds=12.0)
    offer(server, dues("a.test", 9), 0.0)
    now = 0.0
    for wait in (5.0, 10.0, 12.0, 12.0):
        then = _fail_once(server, now, Outcome.HTTP_429)
        assert then == pytest.approx(now + wait)
        now = then


def test_a_success_ends_the_back_off():
    server = make(retry_back_off_seconds=5.0, host_concurrent=4)
    offer(server, dues("a.test", 9), 0.0)
    now = _fail_once(server, 0.0, Outcome.HTTP_429)
    (visit,) = server.orders(now, 10)
    finish(server, visit, now + 1.0)
    assert len(server.orders(now + 1.0, 10)) == 4


def test_requests_that_fail_together_are_one_failure():
    server = make(retry_back_off_seconds=5.0, host_concurrent=4)
    offer(server, dues("a.test", 9), 0.0)
    visits = server.orders(0.0, 4)
    for visit in visits:
        finish(server, visit, 1.0, Outcome.HTTP_429)
    assert len(visits) == 4
    assert server.wake_at(1.0) == pytest.approx(6.0)


def test_a_late_success_of_an_older_request_does_not_end_the_back_off():
    server = make(retry_back_off_seconds=5.0, host_concurrent=2)
    offer(server, dues("a.test", 9), 0.0)
    first, second = server.orders(0.0, 2)
    finish(server, first, 1.0, Outcome.HTTP_429)
    finish(server, second, 1.5)
    assert server.orders(5.9, 10) == []
    assert len(server.orders(6.0, 10)) == 1


def test_an_answer_about_one_url_does_not_slow_its_host():
    server = make(host_concurrent=1)
    offer(server, dues("a.test", 3), 0.0)
    for now in (0.0, 1.0):
        (visit,) = server.orders(now, 10)
        finish(server, visit, now, Outcome.HTTP_4XX)
    assert len(server.orders(1.0, 10)) == 1


@pytest.mark.parametrize(
    ("asked_for", "waited"), [(30.0, 30.0), (2.0, 5.0), (0.0, 5.0), (-4.0, 5.0), (1e12, 600.0)]
)
def test_retry_after_is_a_lower_bound_and_is_clamped(asked_for, waited):
    server = make(retry_back_off_seconds=5.0, max_back_off_seconds=600.0)
    offer(server, dues("a.test", 1), 0.0)
    (visit,) = server.orders(0.0, 1)
    finish(server, visit, 0.0, Outcome.HTTP_429, retry_after=asked_for)
    (clock,) = server.host_clocks(0.0)
    assert clock.next_allowed_seconds == pytest.approx(waited)


def test_a_host_held_for_long_gives_its_queue_back_untried():
    server = make(queue_count=1)
    offer(server, [*dues("a.test", 3), *dues("b.test", 1)], 0.0)
    visit = server.orders(0.0, 1)[0]
    finish(server, visit, 0.0, Outcome.HTTP_429, retry_after=900.0)
    returned = server.returned(0.0)
    assert len(returned) == 2
    assert {seconds for _, seconds in returned} == {900.0}
    offer(server, [], 0.0)
    assert [other.url for other in server.orders(0.0, 10)] == ["http://b.test/0"]
    finish_all(server, 1.0)
    assert "a.test" in server.wants(1.0).reject_hosts
    assert "a.test" not in server.wants(901.0).reject_hosts


def finish_all(server, now):
    for trans_id in list(server._live):
        finish(server, type("V", (), {"trans_id": trans_id}), now)


@pytest.mark.parametrize("outcome", [Outcome.NET_REFUSED, Outcome.NET_TIMEOUT_CONNECT])
def test_a_parked_host_gets_no_request_and_dies_after_five_failures(outcome):
    """Three tries of each of a thousand URLs at a dead host would be three thousand requests."""
    server = make(retry_back_off_seconds=1.0, host_concurrent=1)
    offer(server, dues("a.test", 20), 0.0)
    now, requests = 0.0, 0
    while (moment := server.wake_at(now)) is not None and requests < 30:
        now = max(now, moment)
        for visit in server.orders(now, 10):
            requests += 1
            finish(server, visit, now, outcome)
        if server.stats().queued == 0:
            break
    assert requests == 5
    assert now == pytest.approx(1 + 2 + 4 + 8)
    assert [ended.outcome for ended in server.verdicts(now)] == [outcome] * 15


def test_a_broken_certificate_ends_what_is_queued_for_https_but_not_for_http():
    server = make(host_concurrent=1, retry_back_off_seconds=1.0)
    batch = [due(f"https://a.test/{page}") for page in range(3)] + [due("http://a.test/plain")]
    offer(server, batch, 0.0)
    (visit,) = server.orders(0.0, 10)
    finish(server, visit, 0.0, Outcome.TLS_EXPIRED)
    ended = server.verdicts(0.0)
    assert {each.due.doc_id for each in ended} == {each.doc_id for each in batch[1:3]}
    assert {each.outcome for each in ended} == {Outcome.TLS_EXPIRED}
    (visit,) = server.orders(1.0, 10)
    assert visit.url == "http://a.test/plain"


def test_another_address_is_tried_before_a_host_is_parked():
    server = make(host_concurrent=1)
    server.restore_robots("http://a.test", NO_ROBOTS, age_seconds=0, now=0.0)
    server.offer(dues("a.test", 5), 0.0)
    server.needs(0.0)
    server.resolved("a.test", Resolution(("10.0.0.1", "10.0.0.2"), NEVER), 0.0)
    (visit,) = server.orders(0.0, 10)
    assert visit.address == "10.0.0.1"
    finish(server, visit, 0.0, Outcome.NET_REFUSED)
    (visit,) = server.orders(0.0, 10)
    assert visit.address == "10.0.0.2"
    finish(server, visit, 0.0, Outcome.NET_REFUSED)
    assert server.orders(1.0, 10) == []
    assert server.wake_at(1.0) == pytest.approx(5.0)


def _deserted(server):
    """Let both addresses of a host fail; return the moment at which the next order may go out."""
    server.restore_robots("http://a.test", NO_ROBOTS, age_seconds=0, now=0.0)
    server.offer(dues("a.test", 9), 0.0)
    server.needs(0.0)
    server.resolved("a.test", Resolution(("10.0.0.1", "10.0.0.2"), NEVER), 0.0)
    for _ in range(2):
        assert server.needs(0.0) == []
        (visit,) = server.orders(0.0, 10)
        finish(server, visit, 0.0, Outcome.NET_REFUSED)
    return server.wake_at(0.0)


@pytest.mark.req("S2.33")
def test_a_host_none_of_whose_addresses_answers_is_resolved_once_more():
    """Whatever is remembered of its name; and the next request goes where it is now (B10)."""
    server = make(host_concurrent=1, retry_back_off_seconds=5.0)
    then = _deserted(server)
    assert server.needs(0.0) == [Resolve("a.test", again=True)]
    server.resolved("a.test", Resolution(("10.0.0.3",), NEVER), 1.0)
    assert server.orders(1.0, 10) == []
    (visit,) = server.orders(then, 10)
    assert visit.address == "10.0.0.3"
    finish(server, visit, then, Outcome.NET_REFUSED)
    assert server.needs(then) == []


@pytest.mark.parametrize("outcome", [Outcome.DNS_NXDOMAIN, Outcome.DNS_TIMEOUT])
def test_a_second_look_that_finds_nothing_changes_nothing(outcome):
    server = make(host_concurrent=1, retry_back_off_seconds=5.0)
    then = _deserted(server)
    server.needs(0.0)
    server.resolved("a.test", Resolution((), 0.0, outcome, "because"), 1.0)
    assert server.verdicts(1.0) == []
    assert server.stats().resolver_silent_seconds == 0.0
    (visit,) = server.orders(then, 10)
    assert visit.address in ("10.0.0.1", "10.0.0.2")
    finish(server, visit, then)
    # It has answered: should it fail again, there is another second look.
    (visit,) = server.orders(then, 10)
    finish(server, visit, then, Outcome.NET_REFUSED)
    (visit,) = server.orders(then, 10)
    finish(server, visit, then, Outcome.NET_REFUSED)
    assert server.needs(then) == [Resolve("a.test", again=True)]


def test_host_clocks_are_reported_once_when_they_change():
    server = make(host_per_second=0.5)
    offer(server, dues("a.test", 2), 0.0)
    (visit,) = server.orders(0.0, 10)
    server.started(visit.trans_id, 0.5)
    (clock,) = server.host_clocks(1.0)
    assert (clock.host, clock.address, clock.gap_seconds) == ("a.test", "10.0.0.1", 2.0)
    assert clock.next_allowed_seconds == pytest.approx(1.5)
    assert server.host_clocks(1.0) == []


def test_a_restored_clock_holds_the_host_and_its_address():
    server = make(host_per_second=0.5, address_per_second=1.0)
    server.restore("a.test", 0.0, next_allowed_seconds=2.0, address="10.0.0.1")
    offer(server, [*dues("a.test", 1), *dues("b.test", 1)], 0.0)
    assert server.orders(0.99, 10) == []
    (visit,) = server.orders(1.0, 10)
    assert "b.test" in visit.url
    finish(server, visit, 1.0)
    assert server.orders(1.99, 10) == []
    (visit,) = server.orders(2.0, 10)
    assert "a.test" in visit.url


def test_a_restored_clock_is_never_longer_than_the_longest_hold():
    """A wall clock that was set back must not stop a host for a day (C02)."""
    server = make(max_back_off_seconds=50.0)
    server.restore("a.test", 0.0, next_allowed_seconds=1e9)
    offer(server, dues("a.test", 1), 0.0)
    assert len(server.orders(50.0, 10)) == 1


def test_a_host_restored_in_back_off_goes_on_from_there():
    server = make(retry_back_off_seconds=5.0)
    server.restore("a.test", 0.0, next_allowed_seconds=10.0, strikes=2)
    offer(server, dues("a.test", 3), 0.0)
    assert server.orders(9.9, 10) == []
    assert _fail_once(server, 10.0, Outcome.HTTP_429) == pytest.approx(30.0)


def test_memory_of_idle_hosts_is_bounded_but_held_ones_are_kept(monkeypatch):
    server = make(queue_count=50)
    monkeypatch.setattr(server._hosts, "_max_idle", 10)
    server.restore("held.test", 0.0, next_allowed_seconds=1_000.0, strikes=1)
    for number in range(100):
        offer(server, dues(f"h{number}.test", 1), float(number))
        for visit in server.orders(float(number), 10):
            finish(server, visit, float(number))
    assert server.stats().hosts <= 12
    offer(server, dues("held.test", 1), 200.0)
    assert server.orders(200.0, 10) == []
    assert len(server.returned(200.0)) == 1


def test_a_death_is_remembered_for_the_longest_hold_and_ended_by_a_success():
    server = make(host_concurrent=1, retry_back_off_seconds=1.0, max_back_off_seconds=100.0)
    offer(server, [due("https://a.test/1")], 0.0)
    (visit,) = server.orders(0.0, 10)
    finish(server, visit, 0.0, Outcome.TLS_EXPIRED)
    offer(server, [due("https://a.test/2")], 50.0)
    assert server.orders(50.0, 10) == []
    assert [each.outcome for each in server.verdicts(50.0)] == [Outcome.TLS_EXPIRED]
    offer(server, [due("https://a.test/3")], 100.0)
    (visit,) = server.orders(100.0, 10)
    finish(server, visit, 100.0, Outcome.TLS_EXPIRED)
    offer(server, [due("http://a.test/plain")], 110.0)
    (visit,) = server.orders(110.0, 10)
    finish(server, visit, 111.0)
    offer(server, [due("https://a.test/4")], 112.0)
    assert len(server.orders(112.0, 10)) == 1


def test_the_ready_heap_does_not_grow_with_the_number_of_requests():
    """A host that waits long on an address leaves no trace for each request of its neighbour."""
    server = make(host_concurrent=1, retry_back_off_seconds=50.0)
    offer(server, [*dues("slow.test", 2), *dues("fast.test", 1)], 0.0)
    now = 0.0
    for visit in server.orders(now, 10):
        outcome = Outcome.HTTP_429 if "slow" in visit.url else Outcome.OK
        finish(server, visit, now, outcome)
    for _ in range(1_000):
        now += 0.01
        offer(server, dues("fast.test", 1), now)
        (visit,) = server.orders(now, 10)
        finish(server, visit, now)
    assert len(server._ready._heap) < 200
    assert server.wake_at(now) == pytest.approx(50.0)
