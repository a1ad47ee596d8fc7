"""The resolver against a real, scripted DNS server on loopback (N07, N08, T2)."""

import select
import time

import pytest
from dns_server import (
    AAAA,
    CNAME,
    FORMERR,
    REFUSED,
    SERVFAIL,
    A,
    DnsServer,
    address,
    encoded,
    record,
)

from gossamer.config.urlserver import UrlServerSettings
from gossamer.errors import ConfigError
from gossamer.outcomes import Outcome
from gossamer.urlserver.dns import MAX_ADDRESSES, Resolver


def only(kind, *texts, ttl=300):
    """Answer questions of one kind with these addresses, others with nothing."""

    def script(question):
        if question.kind != kind:
            return question.reply()
        return question.reply([address(question.name, text, ttl) for text in texts])

    return script


def dual(question):
    text = "192.0.2.1" if question.kind == A else "2001:db8::1"
    return question.reply([address(question.name, text)])


def chain(question):
    if question.kind != A:
        return question.reply([record(question.name, CNAME, encoded("b.test"), 30)])
    return question.reply(
        [
            record("alias.test", CNAME, encoded("b.test"), 500),
            record("b.test", CNAME, encoded("c.test"), 70),
            address("c.test", "192.0.2.9", 500),
        ]
    )


def huge(question):
    if question.kind != A:
        return question.reply()
    if not question.tcp:
        return question.reply(cut=True)
    name = b"\xc0\x0c"
    one = name + b"\x00\x01\x00\x01\x00\x00\x01\x2c\x00\x04"
    return question.reply([one + bytes([10, 0, n >> 8, n & 255]) for n in range(4_090)])


def wrong_id(question):
    return bytes([question.id[0] ^ 255, question.id[1]]) + question.reply()[2:]


def malformed(question):
    return question.reply([b"\xff\xff\xff\xff"], count=3)


@pytest.fixture(scope="module")
def server():
    scripts = {
        "plain.test": only(A, "192.0.2.1", "192.0.2.2"),
        "dual.test": dual,
        "six.test": only(AAAA, "2001:db8::6"),
        "zero.test": only(A, "192.0.2.1", ttl=0),
        "long.test": only(A, "192.0.2.1", ttl=900_000),
        "alias.test": chain,
        "huge.test": huge,
        "nodata.test": lambda question: question.reply(),
        "servfail.test": lambda question: question.reply(code=SERVFAIL),
        "refused.test": lambda question: question.reply(code=REFUSED),
        "formerr.test": lambda question: question.reply(code=FORMERR),
        "silent.test": lambda question: None,
        "noise.test": lambda question: b"\x01\x02garbage",
        "wrong-id.test": wrong_id,
        "malformed.test": malformed,
        "cut.test": lambda question: None if question.tcp else question.reply(cut=True),
    }
    with DnsServer(scripts) as running:
        yield running


@pytest.fixture
def resolver_for(server):
    opened = []

    def make(**changes):
        chosen = {
            "dns_servers": (f"127.0.0.1:{server.port}",),
            "dns_timeout_seconds": 20.0,
        } | changes
        resolver = Resolver(UrlServerSettings(**chosen))
        opened.append(resolver)
        return resolver

    yield make
    for resolver in opened:
        resolver.close()


def answers(resolver, *hosts, seconds=60.0, again=False):
    """Ask for hosts and wait for the answers, on the descriptor alone."""
    for host in hosts:
        resolver.resolve(host, again=again)
    found = {}
    end = time.monotonic() + seconds
    while len(found) < len(hosts):
        left = end - time.monotonic()
        assert left > 0, f"no answer for {set(hosts) - set(found)}"
        readable, _, _ = select.select([resolver], [], [], left)
        assert readable
        found |= resolver.results()
    return found


def one(resolver, host, *, again=False):
    return answers(resolver, host, again=again)[host]


def test_addresses_of_a_name(resolver_for):
    resolution = one(resolver_for(), "plain.test")
    assert resolution.outcome is None
    assert sorted(resolution.addresses) == ["192.0.2.1", "192.0.2.2"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("any", ("192.0.2.1", "2001:db8::1")), ("4", ("192.0.2.1",)), ("6", ("2001:db8::1",))],
)
def test_ip_version_chooses_and_ipv4_comes_first(resolver_for, version, expected):
    assert one(resolver_for(ip_version=version), "dual.test").addresses == expected


def test_a_host_with_ipv6_only(resolver_for):
    assert one(resolver_for(), "six.test").addresses == ("2001:db8::6",)
    assert one(resolver_for(ip_version="4"), "six.test").outcome is Outcome.DNS_NODATA


@pytest.mark.parametrize(
    ("host", "outcome"),
    [
        ("missing.test", Outcome.DNS_NXDOMAIN),
        ("nodata.test", Outcome.DNS_NODATA),
        ("servfail.test", Outcome.DNS_SERVFAIL),
        ("refused.test", Outcome.DNS_SERVFAIL),
        ("formerr.test", Outcome.DNS_BAD),
        ("malformed.test", Outcome.DNS_BAD),
        ("silent.test", Outcome.DNS_TIMEOUT),
        ("noise.test", Outcome.DNS_BAD),
        ("wrong-id.test", Outcome.DNS_TIMEOUT),
        ("cut.test", Outcome.DNS_TIMEOUT),
        ("x" * 64 + ".test", Outcome.DNS_NXDOMAIN),
        ("no spaces.test", Outcome.DNS_NXDOMAIN),
    ],
)
def test_each_failure_has_its_class(resolver_for, host, outcome):
    quick = outcome is Outcome.DNS_TIMEOUT
    resolution = one(resolver_for(dns_timeout_seconds=0.7 if quick else 20.0), host)
    assert (resolution.outcome, resolution.addresses) == (outcome, ())
    assert host in resolution.detail


@pytest.mark.parametrize(
    ("host", "seconds"), [("zero.test", 60.0), ("plain.test", 300.0), ("long.test", 3_600.0)]
)
def test_time_to_live_has_a_floor_and_a_ceiling(resolver_for, host, seconds):
    began = time.monotonic()
    resolution = one(resolver_for(), host)
    assert began + seconds <= resolution.expires_at <= time.monotonic() + seconds


def test_a_chain_of_names_lives_as_long_as_its_shortest_link(resolver_for):
    began = time.monotonic()
    resolution = one(resolver_for(ip_version="4"), "alias.test")
    assert resolution.addresses == ("192.0.2.9",)
    assert began + 70.0 <= resolution.expires_at <= time.monotonic() + 70.0


def test_of_four_thousand_answers_sixteen_are_used(resolver_for):
    resolution = one(resolver_for(), "huge.test")
    assert resolution.outcome is None
    assert len(resolution.addresses) == MAX_ADDRESSES


def test_questions_under_way_are_not_asked_twice_and_answers_are_kept(server, resolver_for):
    resolver = resolver_for(ip_version="4")
    before = server.asked["plain.test"]
    resolver.resolve("plain.test")
    resolver.resolve("plain.test")
    one(resolver, "plain.test")
    one(resolver, "plain.test")
    assert server.asked["plain.test"] == before + 1


def test_a_denial_is_remembered_and_a_time_out_is_not(server, resolver_for):
    resolver = resolver_for(ip_version="4")
    for host in ("missing2.test", "servfail.test"):
        one(resolver, host)
    before = dict(server.asked)
    for host in ("missing2.test", "servfail.test"):
        one(resolver, host)
    assert server.asked["missing2.test"] == before["missing2.test"]
    assert server.asked["servfail.test"] > before["servfail.test"]


def test_what_is_remembered_does_not_count_when_asked_again(resolver_for):
    """Whatever the time that the answer said it may be used for."""
    places = ["192.0.2.1", "192.0.2.2"]

    def script(question):
        return only(A, places[0], ttl=80_000)(question)

    with DnsServer({"moves.test": script}) as names:
        resolver = resolver_for(dns_servers=(f"127.0.0.1:{names.port}",), dns_min_ttl_seconds=9e3)
        assert one(resolver, "moves.test").addresses == ("192.0.2.1",)
        places.pop(0)
        assert one(resolver, "moves.test").addresses == ("192.0.2.1",)
        assert one(resolver, "moves.test", again=True).addresses == ("192.0.2.2",)
        assert one(resolver, "moves.test").addresses == ("192.0.2.2",)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "192.0.2.77"])
def test_an_address_is_its_own_answer(server, resolver_for, host):
    before = sum(server.asked.values())
    assert one(resolver_for(), host).addresses == (host,)
    assert sum(server.asked.values()) == before


def test_an_address_of_the_other_version_is_no_answer(resolver_for):
    assert one(resolver_for(ip_version="6"), "127.0.0.1").outcome is Outcome.DNS_NODATA


def test_localhost_needs_no_server(server, resolver_for):
    before = server.asked["localhost"]
    assert "127.0.0.1" in one(resolver_for(), "localhost").addresses
    assert server.asked["localhost"] == before


def test_more_questions_than_may_be_open_are_all_answered(resolver_for):
    hosts = [f"many{number}.test" for number in range(400)]
    found = answers(resolver_for(), *hosts)
    assert {resolution.outcome for resolution in found.values()} == {Outcome.DNS_NXDOMAIN}


def test_no_server_at_all_is_a_time_out(resolver_for):
    resolver = resolver_for(dns_servers=("127.0.0.1:9",), dns_timeout_seconds=0.7)
    assert one(resolver, "plain.test").outcome is Outcome.DNS_TIMEOUT


def test_a_name_server_that_is_no_address_is_refused_with_what_to_do():
    with pytest.raises(ConfigError, match="dns_servers"):
        Resolver(UrlServerSettings(dns_servers=("not an address",)))


def test_closing_with_questions_open_and_twice_is_fine(resolver_for):
    resolver = resolver_for()
    resolver.resolve("silent.test")
    resolver.close()
    resolver.close()
