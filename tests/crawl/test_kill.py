"""The crash promise, with real `kill -9` and the fake web's own log as the judge."""

import contextlib
import subprocess
import sys
import time
from bisect import bisect_right
from itertools import pairwise
from math import inf
from pathlib import Path

import pytest
from harness import Killer, command, pages_in

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import CatalogError, WorkspaceError
from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.process import FakeWeb
from gossamer.outcomes import Outcome
from gossamer.url.parts import authority_of, host_of

CONCURRENCY = 16
GAP = 0.02
FIRST_FETCH_SECONDS = 5.0


def seconds_to_first_fetch(
    log: Log, starts: list[float], kills: list[tuple[float, float]]
) -> list[float]:
    """Return how long each start took until its first request reached the server."""
    times = [request.start_ns / 1e9 for request in log.requests]
    waits = []
    for start in starts:
        after = bisect_right(times, start)
        later_kills = [before for before, _ in kills if before > start]
        if after < len(times) and (not later_kills or times[after] <= later_kills[0]):
            waits.append(times[after] - start)
    return waits


@pytest.mark.slow
@pytest.mark.req("S0.14", "S1.10", "S1.37", "S1.38")
def test_a_hundred_kills_lose_nothing_and_stay_polite(tmp_path: Path):
    """0 lost, refetched <= in flight at each kill, 0 politeness violations, archive intact."""
    with FakeWeb(pages=3000, hosts=20, seed=7, latency_ms=10) as web:
        workspace = tmp_path / "w"
        argv = command(
            web, workspace, "--concurrency", str(CONCURRENCY), "--per-host", "2",
            "--delay", str(GAP), "--workers", "2", "--quiet",
        )  # fmt: skip
        killer = Killer(web, argv, seed=11)
        killer.run(kills=100, most_requests_between=55)
        log, truth = web.log(), web.truth()
    assert killer.kills_of_all + killer.kills_of_one == 100
    assert killer.kills_of_all >= 30
    assert killer.kills_of_one >= 30

    assert judge.missing(log, truth) == set()
    assert judge.unexpected(log, truth) == []
    assert judge.unexcused_refetches(log, killer.kills, CONCURRENCY) == []
    for by in ("host", "address"):
        assert judge.gap_violations(log, GAP, by=by) == []
        assert judge.concurrency_violations(log, 2, by=by) == []
    assert judge.disallowed_requests(log, truth) == []
    assert judge.pages_before_robots(log) == []
    assert max(seconds_to_first_fetch(log, killer.restarts, killer.kills)) <= FIRST_FETCH_SECONDS
    assert_catalog_agrees(workspace, log, killer.kills)
    assert_archive_is_whole(workspace)


def kills_over(url: str, log: Log, kills: list[tuple[float, float]]) -> int:
    """Return how many requests for a URL were followed by a kill before the next one."""
    times = [request.start_ns / 1e9 for request in log.requests if request.url == url]
    return sum(
        any(start < after and before < end for before, after in kills)
        for start, end in pairwise([*times, inf])
    )


def assert_catalog_agrees(workspace: Path, log: Log, kills: list[tuple[float, float]]) -> None:
    """The catalog's account is consistent and knows every page that the server gave out."""
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True) as catalog:
        assert catalog.check() == []
        counts = catalog.counts()
        rows = list(catalog.rows())
    done = {row.url for row in rows if row.fetch is not None}
    set_aside = {row.url for row in rows if row.outcome is Outcome.PARSE_BUDGET}
    assert counts.pending == 0
    assert counts.leased == 0
    # Chance may kill two workers over one page, which is then set aside as if it were to blame.
    assert all(kills_over(url, log, kills) >= 2 for url in set_aside)
    assert set(pages_in(log)) <= done | set_aside


def assert_archive_is_whole(workspace: Path) -> None:
    files = sorted((workspace / "archive").glob("*.warc.gz"))
    assert files
    result = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", *map(str, files)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert list((workspace / "archive").glob("*.open")) == []


def test_a_page_that_kills_two_workers_is_quarantined(tmp_path: Path):
    """A handler that ends its process stands for a parser that crashes on one page."""
    handler = tmp_path / "poison.py"
    handler.write_text(
        "import os, signal\n"
        "def poison(page):\n"
        "    if page.url.endswith('/p7'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with FakeWeb(pages=40, hosts=1, seed=2) as web:
        poisoned = sorted(url for url in web.truth()["pages"] if url != web.start_url)[5]
        handler.write_text(
            handler.read_text().replace("page.url.endswith('/p7')", f"page.url == {poisoned!r}")
        )
        workspace = tmp_path / "w"
        argv = command(
            web, workspace, "--delay", "0", "--per-host", "8", "--workers", "2", "--quiet",
            "--set", f'handlers.use=["{handler}:poison"]',
        )  # fmt: skip
        result = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    assert pages_in(log)[poisoned] == 2
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True) as catalog:
        row = catalog.find(poisoned)
    assert row is not None
    assert row.outcome is not None
    assert row.outcome.name == "PARSE_BUDGET"


def test_a_crawl_delay_is_stored_before_the_first_page_is_asked_for(tmp_path: Path):
    """A crawl that is killed then would ask again sooner than it was told to."""
    with FakeWeb(pages=10, hosts=1, seed=7, crawl_delay=30) as web:
        argv = command(web, tmp_path / "w", "--delay", "0", "--quiet")
        process = subprocess.Popen(argv)
        try:
            while (delay := stored_delay(tmp_path / "w", web.start_url)) < 30:
                assert process.poll() is None
                time.sleep(0.02)
        finally:
            process.kill()
            process.wait()
        assert [request.target for request in web.log().requests] == ["/robots.txt"]
    assert delay == 30


def stored_delay(workspace: Path, url: str) -> float:
    """Return the interval that the catalog knows for the host of a URL, by its robots.txt, too."""
    with contextlib.suppress(WorkspaceError, CatalogError):
        path = workspace / "catalog.db"
        with SqliteCatalog.open(path, CatalogSettings(), read_only=True) as catalog:
            clock, rules = catalog.host_clock(host_of(url)), catalog.robots(authority_of(url))
            if clock is not None and rules is not None:
                return min(clock.delay_seconds, rules.crawl_delay or 0.0)
    return 0.0
