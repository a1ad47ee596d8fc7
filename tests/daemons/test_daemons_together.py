"""URL Server, Spider and Store Server together, judged by the fake web's own log."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from trio import STORE, URL_SERVER, Killer, RequestCount, Trio, spider_name, wait_for

from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.process import FakeWeb
from gossamer.fakeweb.truth import Truth

GAP = 0.02
CONCURRENCY = 16
PACE = (
    "urlserver.host_concurrent=2",
    "urlserver.address_concurrent=2",
    f"urlserver.host_per_second={1 / GAP}",
    f"urlserver.address_per_second={1 / GAP}",
    f"crawl.concurrency={CONCURRENCY}",
)


def assert_polite(log: Log, truth: Truth, gap: float = GAP, at_once: int = 2) -> None:
    """No gap too short, never too many at once, nothing that robots.txt forbids."""
    for by in ("host", "address"):
        assert judge.gap_violations(log, gap, by=by) == []
        assert judge.concurrency_violations(log, at_once, by=by) == []
    assert judge.disallowed_requests(log, truth) == []
    assert judge.pages_before_robots(log) == []


def assert_kept(trio: Trio) -> None:
    """The doc index is consistent, and the archive can be read by others."""
    with trio.catalog() as catalog:
        assert catalog.check() == []
    files = sorted((trio.workspace / "archive").glob("*.warc.gz*"))
    assert files
    check = [sys.executable, "-m", "warcio.cli", "check", *map(str, files)]
    result = subprocess.run(check, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.req("S0.1", "S0.30", "S1.1", "S1.3", "S1.4", "S1.6", "S1.7", "S1.19")
def test_three_daemons_crawl_a_web(tmp_path: Path):
    """Every page once, politely, in the archive and in the doc index; each ends on SIGTERM."""
    with FakeWeb(pages=400, hosts=12, seed=5, latency_ms=5) as web:
        with Trio(web, tmp_path, settings=PACE) as trio:
            trio.wait_until_done()
            codes = [trio.stop(name) for name in (URL_SERVER, spider_name(0), STORE)]
            trio.assert_nobody_broke()
            log, truth = web.log(), web.truth()
        assert codes == [0, 0, 0]
        assert judge.missing(log, truth) == set()
        assert judge.unexpected(log, truth) == []
        assert judge.refetches(log) == {}
        assert_polite(log, truth)
        assert_kept(trio)


@pytest.mark.req("S1.13", "S1.14", "S1.20", "S1.27", "S1.36")
def test_three_spiders_share_the_work_under_common_limits(tmp_path: Path):
    """All Spiders fetch, and gaps and numbers at once hold over all of them together."""
    with FakeWeb(pages=600, hosts=12, seed=6, latency_ms=20) as web:
        with Trio(web, tmp_path, spiders=3, settings=PACE) as trio:
            trio.wait_until_done()
            spiders = [spider_name(number) for number in range(3)]
            codes = [trio.stop(name) for name in (URL_SERVER, *spiders)]
            trio.assert_nobody_broke()
            log, truth = web.log(), web.truth()
        assert judge.missing(log, truth) == set()
        assert judge.refetches(log) == {}
        assert_polite(log, truth)
        assert codes == [0, 0, 0, 0]
        orders = [orders_of(trio, name) for name in spiders]
        assert min(orders) > 0
        # A redirect that is followed in place is a request without an order of its own.
        assert sum(orders) <= len([each for each in log.requests if not each.is_robots])


def orders_of(trio: Trio, name: str) -> int:
    """Return how many orders a Spider says it has had, at its end."""
    said = re.search(r"stopped after ([\d,]+) orders", trio.log(name))
    assert said is not None, trio.log(name)
    return int(said[1].replace(",", ""))


@pytest.mark.slow
@pytest.mark.req("S0.14", "S1.10", "S1.37", "S1.38")
def test_sixty_kills_of_the_three_lose_nothing_and_stay_polite(tmp_path: Path):
    """0 lost, refetched <= in flight at each kill, politeness kept, archive and index whole."""
    with FakeWeb(pages=6000, hosts=20, seed=7, latency_ms=10) as web:
        with Trio(web, tmp_path, settings=PACE) as trio:
            killer = Killer(trio, RequestCount(web.log_path), seed=13)
            killer.run(kills=60, most_requests_between=20)
            trio.wait_until_done()
            codes = [trio.stop(name) for name in (URL_SERVER, spider_name(0), STORE)]
            log, truth = web.log(), web.truth()
        assert codes == [0, 0, 0]
        assert len(killer.kills) == 60
        assert set(killer.killed) == set(trio.names)
        assert judge.missing(log, truth) == set()
        assert judge.unexpected(log, truth) == []
        assert judge.unexcused_refetches(log, killer.kills, CONCURRENCY) == []
        assert_polite(log, truth)
        assert_kept(trio)


def test_a_store_that_is_down_costs_nothing(tmp_path: Path):
    """Results wait on the Spider's disk, no page is fetched twice, and all of them arrive."""
    with FakeWeb(pages=300, hosts=12, seed=8, latency_ms=5) as web:
        with Trio(web, tmp_path, settings=PACE) as trio:
            requests = RequestCount(web.log_path)
            wait_for(lambda: requests() >= 60, "60 requests")
            trio.kill(STORE)
            # What is queued already is fetched meanwhile; new links come only with the store.
            time.sleep(1.0)
            trio.kill(URL_SERVER)
            trio.start(URL_SERVER)
            trio.start(STORE)
            trio.wait_until_done()
            log, truth = web.log(), web.truth()
        assert judge.missing(log, truth) == set()
        assert sum(judge.refetches(log).values()) <= CONCURRENCY
        assert_polite(log, truth)
        assert_kept(trio)
