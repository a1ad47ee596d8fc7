"""Names on the way into the Active range (A19, N07 to N09)."""

import pytest
from urlserver_setup import NEVER, NO_ROBOTS, dues, finish, make, offer

from gossamer.outcomes import Outcome
from gossamer.urlserver.resolution import refused
from gossamer.urlserver.urlserver import Resolution, Resolve


def failed(outcome, until=0.0):
    return Resolution((), until, outcome, "because")


def test_a_name_is_asked_for_once():
    server = make()
    server.offer(dues("a.test", 3), 0.0)
    assert server.needs(0.0) == [Resolve("a.test")]
    server.offer(dues("a.test", 3), 1.0)
    assert server.needs(1.0) == []


@pytest.mark.parametrize(
    "outcome",
    [Outcome.DNS_NXDOMAIN, Outcome.DNS_NODATA, Outcome.DNS_SERVFAIL, Outcome.DNS_BAD],
)
def test_urls_of_a_name_that_fails_end_with_that_outcome(outcome):
    server = make()
    batch = dues("a.test", 3)
    server.offer(batch, 0.0)
    server.needs(0.0)
    server.resolved("a.test", failed(outcome), 0.0)
    ended = server.verdicts(0.0)
    assert [each.outcome for each in ended] == [outcome] * 3
    assert {each.detail for each in ended} == {"because"}
    assert server.empty


def test_addresses_the_policy_forbids_end_the_urls():
    server = make()
    server.offer(dues("a.test", 2), 0.0)
    server.needs(0.0)
    server.resolved("a.test", refused(Resolution(("127.0.0.1",), NEVER), "loopback"), 0.0)
    assert {each.outcome for each in server.verdicts(0.0)} == {Outcome.POLICY_PRIVATE_ADDRESS}


def test_a_failure_is_remembered_for_as_long_as_it_says():
    server = make()
    server.offer(dues("a.test", 1), 0.0)
    server.needs(0.0)
    server.resolved("a.test", failed(Outcome.DNS_NXDOMAIN, until=60.0), 0.0)
    server.offer(dues("a.test", 1), 59.0)
    assert server.needs(59.0) == []
    assert len(server.verdicts(59.0)) == 2
    server.offer(dues("a.test", 1), 60.0)
    assert server.needs(60.0) == [Resolve("a.test")]


def test_an_answer_past_its_time_is_asked_for_again_before_the_next_order():
    server = make(host_concurrent=1)
    batch = dues("a.test", 2)
    offer(server, [], 0.0)
    server.restore_robots("http://a.test", NO_ROBOTS, age_seconds=0, now=0.0)
    server.offer(batch, 0.0)
    server.needs(0.0)
    server.resolved("a.test", Resolution(("10.0.0.1",), 100.0), 0.0)
    (visit,) = server.orders(0.0, 10)
    finish(server, visit, 150.0)
    assert server.orders(150.0, 10) == []
    assert server.needs(150.0) == [Resolve("a.test")]
    server.resolved("a.test", Resolution(("10.0.0.2",), 300.0), 151.0)
    (visit,) = server.orders(151.0, 10)
    assert visit.address == "10.0.0.2"


def known_host(**changes):
    """Return a server with one URL out and one queued, whose host's address is valid until 100."""
    server = make(host_concurrent=1, **changes)
    server.restore_robots("http://a.test", NO_ROBOTS, age_seconds=0, now=0.0)
    server.offer(dues("a.test", 2), 0.0)
    server.needs(0.0)
    server.resolved("a.test", Resolution(("10.0.0.1",), 100.0), 0.0)
    (visit,) = server.orders(0.0, 10)
    return server, visit


@pytest.mark.parametrize("outcome", [Outcome.DNS_SERVFAIL, Outcome.DNS_TIMEOUT])
def test_a_known_address_is_used_while_name_servers_fail_up_to_the_ceiling(outcome):
    server, visit = known_host(dns_max_ttl_seconds=3_600.0)
    finish(server, visit, 200.0)
    server.needs(200.0)
    server.resolved("a.test", failed(outcome), 200.0)
    assert len(server.orders(200.0, 10)) == 1
    server, visit = known_host(dns_max_ttl_seconds=150.0)
    finish(server, visit, 200.0)
    server.needs(200.0)
    server.resolved("a.test", failed(Outcome.DNS_SERVFAIL), 200.0)
    assert [each.outcome for each in server.verdicts(200.0)] == [Outcome.DNS_SERVFAIL]


def test_a_name_that_is_gone_is_not_used_any_more():
    server, visit = known_host(dns_max_ttl_seconds=3_600.0)
    finish(server, visit, 200.0)
    server.needs(200.0)
    server.resolved("a.test", failed(Outcome.DNS_NXDOMAIN), 200.0)
    assert [each.outcome for each in server.verdicts(200.0)] == [Outcome.DNS_NXDOMAIN]


def test_hosts_wait_when_no_name_server_answers_and_all_ask_again_when_one_does():
    """A resolver that is dead for minutes costs no URL (N09)."""
    server = make()
    hosts = [f"h{number}.test" for number in range(5)]
    for host in hosts:
        server.offer(dues(host, 2), 0.0)
    now = 0.0
    for _ in range(6):
        for need in server.needs(now):
            server.resolved(need.host, failed(Outcome.DNS_TIMEOUT), now + 10)
        now = server.wake_at(now + 10)
    assert server.verdicts(now) == []
    assert server.stats().queued == 10
    assert server.stats().resolver_silent_seconds > 60
    assert now > 60
    first, *others = server.needs(now)
    for need in others:
        server.resolved(need.host, failed(Outcome.DNS_TIMEOUT), now)
    assert server.needs(now) == []
    server.resolved(first.host, Resolution(("10.0.0.1",), NEVER), now)
    assert server.stats().resolver_silent_seconds == 0
    assert {need.host for need in server.needs(now)} == set(hosts) - {first.host}


def test_one_name_that_times_out_while_others_are_answered_is_that_names_failure():
    server = make()
    server.offer([*dues("a.test", 1), *dues("dead.test", 1)], 0.0)
    server.needs(0.0)
    server.resolved("a.test", Resolution(("10.0.0.1",), NEVER), 0.1)
    server.resolved("dead.test", failed(Outcome.DNS_TIMEOUT), 10.0)
    assert [each.outcome for each in server.verdicts(10.0)] == [Outcome.DNS_TIMEOUT]


def test_an_address_that_stays_in_the_answer_is_kept():
    server, visit = known_host()
    finish(server, visit, 200.0)
    server.needs(200.0)
    server.resolved("a.test", Resolution(("10.0.0.7", "10.0.0.1"), NEVER), 200.0)
    (visit,) = server.orders(200.0, 10)
    assert visit.address == "10.0.0.1"


def test_an_answer_about_an_unknown_host_is_harmless():
    server = make()
    server.resolved("never.test", Resolution(("10.0.0.1",), NEVER), 0.0)
    assert server.empty
