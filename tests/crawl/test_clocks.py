"""Clocks that are wrong, set right or set wrong: nothing stalls, and nobody is asked too early."""

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock, ShiftedClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import Summary, crawl_workspace
from gossamer.crawl.recall import end_run, is_owed
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb

NOW = 1_800_000_000.0
DAY = 86_400.0
GAP = 0.4


class SetClock(ShiftedClock):
    """The machine's clock, which somebody sets."""

    def set_by(self, seconds: float) -> None:
        self._offset += seconds


def settings_for(max_pages: int) -> Settings:
    settings = Settings()
    return replace(
        settings,
        crawl=replace(settings.crawl, max_pages=max_pages, workers=0, scope="any"),
        urlserver=replace(settings.urlserver, host_per_second=1 / GAP),
        url=replace(settings.url, allow_private=True),
    )


def crawl(web: FakeWeb, folder: Path, max_pages: int, clock: ShiftedClock) -> Summary:
    return crawl_workspace(
        folder, web.start_urls, settings_for(max_pages), clock=clock, install_signals=False
    )


@pytest.mark.parametrize(
    ("first", "then"),
    [(NOW, NOW - DAY), (NOW, NOW + DAY), (NOW + 3_650 * DAY, NOW), (1_000.0, NOW), (NOW, NOW + 5)],
)
def test_a_clock_that_was_set_between_two_runs(tmp_path: Path, first: float, then: float):
    """C01, C02: the second run goes on at once, and waits for each host as if nothing had been."""
    with FakeWeb(pages=40, hosts=2, seed=4) as web:
        for max_pages, start in ((4, first), (8, then)):
            summary = crawl(web, tmp_path / "w", max_pages, ShiftedClock(start))
            assert (summary.reason, summary.progress.pages) == ("max_pages", max_pages)
        log = web.log()
    assert judge.gap_violations(log, GAP) == []
    # Nobody knows how old a robots.txt is that comes from the future, or from another age.
    is_fresh = 0 <= then - first < DAY
    assert sum(request.is_robots for request in log.requests) == (2 if is_fresh else 4)


def test_hosts_are_owed_nothing_without_a_reason(tmp_path: Path):
    """Neither by the first run nor by one that comes after a clean end by the same clocks."""
    clock = ManualClock()
    with SqliteCatalog.open(tmp_path / "catalog.db", CatalogSettings()) as catalog:
        assert not is_owed(catalog, catalog.begin_run(NOW), clock)
        end_run(catalog, clock)
        clock.advance(60.0)
        assert not is_owed(catalog, catalog.begin_run(NOW), clock)
        assert is_owed(catalog, catalog.begin_run(NOW), clock)


@pytest.mark.parametrize("seconds", [DAY, -DAY, 2.0, -2.0])
def test_a_clock_that_is_set_during_a_run(tmp_path: Path, seconds: float):
    """C01, C02, C04."""
    clock = SetClock(NOW)
    with FakeWeb(pages=40, hosts=2, seed=4) as web:
        setter = threading.Timer(3 * GAP, clock.set_by, (seconds,))
        setter.start()
        summary = crawl(web, tmp_path / "w", 12, clock)
        setter.join()
        log = web.log()
    assert (summary.reason, summary.progress.pages) == ("max_pages", 12)
    assert judge.gap_violations(log, GAP) == []
