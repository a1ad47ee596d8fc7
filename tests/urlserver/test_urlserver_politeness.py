"""Politeness and completeness as properties over simulated schedules."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from urlserver_world import Site, World, closest_starts, most_at_once, rules

from gossamer.config.urlserver import UrlServerSettings
from gossamer.outcomes import Outcome

_TOLERANCE = 1e-6

sites = st.builds(
    Site,
    name=st.just(""),
    address=st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    robots=st.sampled_from(
        [
            rules(""),
            rules("User-agent: *\nDisallow: /no\n"),
            rules("User-agent: gossamer\nCrawl-delay: 1.5\nDisallow: /no\n"),
        ]
    ),
    seconds=st.sampled_from([0.0, 0.01, 0.3, 2.0]),
    lag=st.sampled_from([0.0, 0.05, 0.7]),
    outcomes=st.sampled_from(
        [
            (Outcome.OK,),
            (Outcome.OK, Outcome.HTTP_4XX),
            (Outcome.OK, Outcome.HTTP_429),
            (Outcome.OK, Outcome.NET_RESET, Outcome.NET_TIMEOUT_TOTAL),
            (Outcome.NET_REFUSED,),
            (Outcome.TLS_EXPIRED,),
        ]
    ),
    name_failure=st.sampled_from([None] * 8 + [Outcome.DNS_NXDOMAIN, Outcome.DNS_SERVFAIL]),
)


@st.composite
def worlds(draw):
    chosen = [
        Site(**{**site.__dict__, "name": f"h{number}.test"})
        for number, site in enumerate(draw(st.lists(sites, min_size=1, max_size=6)))
    ]
    limits = UrlServerSettings(
        queue_count=draw(st.integers(1, 8)),
        queue_len=draw(st.integers(1, 12)),
        host_concurrent=draw(st.integers(1, 4)),
        host_per_second=draw(st.sampled_from([0.0, 0.5, 4.0])),
        address_concurrent=draw(st.sampled_from([0, 1, 3])),
        address_per_second=draw(st.sampled_from([0.0, 3.0])),
        timeout_spider_status_seconds=20,
    )
    world = World(
        limits,
        chosen,
        seed=draw(st.integers(0, 10_000)),
        credit=draw(st.sampled_from([1, 5, 1_000])),
        deaths=draw(st.sampled_from([0.0, 0.02])),
        silence=draw(st.sampled_from([0.0, 0.05])),
    )
    pages = draw(st.integers(1, 25))
    for site in chosen:
        paths = ["/no/x", "/yes", *(f"/page/{number}" for number in range(pages))]
        world.add(*(f"http://{site.name}{path}" for path in paths))
    return world


@pytest.mark.req("S1.3", "S1.6", "S1.7", "S1.13", "S1.14", "S1.19", "S1.34", "S1.36")
# Shrinking a simulation takes minutes and makes it no clearer.
@settings(max_examples=200, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(worlds())
def test_any_schedule_is_polite_and_complete(world):
    """Gaps and limits hold per host and per address, nothing is lost or ends twice."""
    total = len(world._catalog)
    world.run()
    chosen = world.settings
    host_gap = 1 / chosen.host_per_second if chosen.host_per_second else 0.0
    rate = chosen.address_per_second or 2 * chosen.host_per_second
    address_gap = 1 / rate if rate else 0.0
    for name, gap in closest_starts(world.log, "host").items():
        asked_for = 1.5 if b"Crawl-delay" in world.site(name).robots.body else 0.0
        assert gap >= max(host_gap, asked_for) - _TOLERANCE
    assert all(
        gap >= address_gap - _TOLERANCE for gap in closest_starts(world.log, "address").values()
    )
    assert set(world.finals.values()) == {1}
    assert len(world.finals) == total
    assert world.server.empty
    if not world.silence:
        host_limit = min(chosen.host_concurrent, chosen.queue_len)
        address_limit = chosen.address_concurrent or 2 * chosen.host_concurrent
        assert max(most_at_once(world.log, "host").values(), default=0) <= host_limit
        assert max(most_at_once(world.log, "address").values(), default=0) <= address_limit
    with_rules = {site.name for site in world.sites if b"/no" in site.robots.body}
    assert not any(entry.path == "/no/x" and entry.host in with_rules for entry in world.log)


@pytest.mark.req("S1.6", "S1.19")
def test_many_hosts_on_one_address_keep_its_pace():
    """A page cannot use us against a third party by giving its address many names (T12)."""
    names = [f"n{number}.test" for number in range(300)]
    world = World(
        UrlServerSettings(queue_count=500, host_per_second=5.0, host_concurrent=2),
        [Site(name, "10.0.0.9", seconds=0.3, lag=0.02) for name in names],
    )
    world.add(*(f"http://{name}/{page}" for name in names for page in range(3)))
    world.run()
    assert len(world.finals) == 900
    assert closest_starts(world.log, "address")["10.0.0.9"] >= 0.1 - _TOLERANCE
    assert most_at_once(world.log, "address")["10.0.0.9"] <= 4


def test_tarpits_do_not_slow_a_fast_host():
    """64 hosts that never answer in time, and one that is done as fast as if it were alone."""
    slow = [Site(f"t{number}.test", f"10.1.0.{number}", seconds=60.0) for number in range(64)]
    fast = Site("fast.test", "10.2.0.1", seconds=0.05)
    chosen = UrlServerSettings(host_per_second=0.0, host_concurrent=2)

    def last_fetch(sites: list[Site]) -> float:
        world = World(chosen, sites, seed=1)
        world.add(*(f"http://fast.test/{page}" for page in range(100)))
        world.add(*(f"http://{site.name}/{page}" for site in slow for page in range(3)))
        world.run(seconds=500)
        return max(entry.until for entry in world.log if entry.host == "fast.test") - 1_000.0

    alone = World(chosen, [fast], seed=1)
    alone.add(*(f"http://fast.test/{page}" for page in range(100)))
    alone.run()
    baseline = max(entry.until for entry in alone.log) - 1_000.0
    assert last_fetch([fast, *slow]) < 1.05 * baseline + 0.1


@pytest.mark.req("S1.3", "S1.6", "S1.13", "S1.14", "S1.19")
def test_fifty_thousand_requests_without_one_too_early():
    """Gaps, limits and rules hold over a long crawl of hosts that share addresses and fail."""
    outcomes = (Outcome.OK,) * 30 + (Outcome.HTTP_429, Outcome.NET_RESET, Outcome.HTTP_4XX)
    sites = [
        Site(
            f"h{number}.test",
            f"10.0.0.{number % 40}",
            rules("User-agent: *\nDisallow: /no\n"),
            seconds=0.2,
            lag=0.05,
            outcomes=outcomes,
        )
        for number in range(100)
    ]
    world = World(
        UrlServerSettings(queue_count=80, host_per_second=4.0, host_concurrent=3),
        sites,
        deaths=0.0005,
        seed=3,
    )
    for site in sites:
        world.add(*(f"http://{site.name}/{page}" for page in range(500)), f"http://{site.name}/no")
    world.run(steps=1_000_000)
    assert len(world.log) > 50_000
    assert len(world.finals) == 100 * 501
    assert min(closest_starts(world.log, "host").values()) >= 0.25 - _TOLERANCE
    assert min(closest_starts(world.log, "address").values()) >= 0.125 - _TOLERANCE
    assert max(most_at_once(world.log, "host").values()) <= 3
    assert max(most_at_once(world.log, "address").values()) <= 6
    assert not any(entry.path == "/no" for entry in world.log)
