"""Politeness as a property: over every schedule, no host and no address is asked too often.

The judge is the server's own log. Every request counts, robots.txt too. Each case also shows that
its limit was reached, so that a crawler too slow to be rude would not pass for a polite one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness import crawl

from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.process import FakeWeb


@dataclass(frozen=True, kw_only=True)
class Case:
    """A web, the flags of its crawl, and what the log must then show."""

    name: str
    web: dict[str, Any]
    flags: tuple[str, ...]
    requests: int
    """At least so many requests are made."""
    host_gap: float = 0.0
    host_at_once: int
    address_gap: float = 0.0
    address_at_once: int
    binds: tuple[str, ...]
    """The limits that are reached: host_gap, host_at_once, address_gap, address_at_once."""


CASES = (
    Case(
        name="no gap, three at once to a host",
        web={"pages": 20_000, "hosts": 40, "latency_ms": 8, "jitter_ms": 8},
        flags=("--delay", "0", "--per-host", "3", "--concurrency", "48", "--workers", "2"),
        requests=22_000,
        host_at_once=3,
        address_at_once=6,
        binds=("host_at_once",),
    ),
    Case(
        name="no gap, two at once to a host, five to an address that ten hosts share",
        web={
            "pages": 18_000,
            "hosts": 60,
            "names": True,
            "addresses": 6,
            "latency_ms": 8,
            "jitter_ms": 8,
        },
        flags=(
            *("--delay", "0", "--per-host", "2", "--concurrency", "48", "--workers", "1"),
            *("--set", "urlserver.address_concurrent=5"),
        ),
        requests=20_000,
        host_at_once=2,
        address_at_once=5,
        binds=("host_at_once", "address_at_once"),
    ),
    Case(
        name="a gap, one at a time, answers that take longer than the gap",
        web={"pages": 3_000, "hosts": 83, "latency_ms": 20, "jitter_ms": 160},
        flags=("--delay", "0.1", "--per-host", "1", "--concurrency", "64", "--workers", "2"),
        requests=3_300,
        host_gap=0.1,
        host_at_once=1,
        address_gap=0.05,
        address_at_once=2,
        binds=("host_gap", "host_at_once"),
    ),
    Case(
        name="a gap, three at once, answers that take many gaps",
        web={"pages": 3_000, "hosts": 61, "latency_ms": 100, "jitter_ms": 200},
        flags=("--delay", "0.06", "--per-host", "3", "--concurrency", "128", "--workers", "2"),
        requests=3_300,
        host_gap=0.06,
        host_at_once=3,
        address_gap=0.03,
        address_at_once=6,
        binds=("host_gap", "host_at_once"),
    ),
    Case(
        name="a gap between requests to an address that ten hosts share",
        web={
            "pages": 1_200,
            "hosts": 61,
            "names": True,
            "addresses": 6,
            "latency_ms": 30,
            "jitter_ms": 80,
        },
        flags=(
            *("--delay", "0.1", "--per-host", "2", "--concurrency", "64", "--workers", "2"),
            *("--set", "urlserver.address_per_second=40"),
            *("--set", "urlserver.address_concurrent=2"),
        ),
        requests=1_300,
        host_gap=0.1,
        host_at_once=2,
        address_gap=0.025,
        address_at_once=2,
        binds=("address_gap", "address_at_once"),
    ),
    Case(
        name="a Crawl-delay longer than the configured gap",
        web={"pages": 1_500, "hosts": 97, "crawl_delay": 0.25, "jitter_ms": 300},
        flags=("--delay", "0.05", "--per-host", "3", "--concurrency", "128", "--workers", "2"),
        requests=1_600,
        host_gap=0.25,
        host_at_once=3,
        address_gap=0.025,
        address_at_once=6,
        binds=("host_gap",),
    ),
)


def test_the_cases_make_fifty_thousand_requests():
    assert sum(case.requests for case in CASES) >= 50_000


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.req("S1.6", "S1.7", "S1.13", "S1.14", "S1.19", "S1.34", "S1.36")
def test_no_host_and_no_address_is_asked_too_often(tmp_path: Path, case: Case):
    with FakeWeb(seed=31, page_bytes=600, links_per_page=8, **case.web) as web:
        crawl(web, tmp_path / "w", *case.flags, "--quiet")
        log, truth = web.log(), web.truth()
    assert len(log.requests) >= case.requests
    assert judge.gap_violations(log, case.host_gap, by="host") == []
    assert judge.gap_violations(log, case.address_gap, by="address") == []
    assert judge.concurrency_violations(log, case.host_at_once, by="host") == []
    assert judge.concurrency_violations(log, case.address_at_once, by="address") == []
    assert judge.disallowed_requests(log, truth) == []
    assert judge.pages_before_robots(log) == []
    assert judge.missing(log, truth) == set()
    assert_limits_were_reached(case, log)


def assert_limits_were_reached(case: Case, log: Log) -> None:
    bys: tuple[judge.By, ...] = ("host", "address")
    for by in bys:
        if f"{by}_at_once" in case.binds:
            assert judge.max_concurrency(log, by) == getattr(case, f"{by}_at_once")
        if f"{by}_gap" in case.binds:
            smallest = judge.min_gap(log, by)
            assert smallest is not None
            assert smallest < 1.2 * getattr(case, f"{by}_gap")
