"""When the catalog is asked for more URLs, and what it is told before."""

from functools import partial
from math import inf

import pytest
from msgspec.structs import replace

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import Ground, crew_of, wired
from gossamer.crawl.recall import Recalled
from gossamer.crawl.stops import Stops
from gossamer.crawl.supply import Leased, Supply
from gossamer.messages import Due


@pytest.fixture
def parts():
    """The parts of a crawl in one process, with a catalog in which nothing is pending."""
    settings = Settings()
    settings = replace(settings, crawl=replace(settings.crawl, workers=0, concurrency=16))
    settings = replace(settings, store=replace(settings.store, keep=False))
    with SqliteCatalog.open(":memory:", settings.catalog) as catalog:
        recovery = catalog.begin_run(0.0)
        ground = Ground(None, catalog, recovery, (), settings, Stops(), SystemClock())
        with wired(ground, partial(crew_of, ground, "", ())) as parts:
            yield parts


def dues(count):
    return [Due(number, f"http://a.test/{number}", "a.test") for number in range(1, count + 1)]


@pytest.mark.parametrize(("queued", "committed"), [(0, 1), (16, 1), (17, 0), (150, 0)])
def test_what_waits_is_committed_first_only_when_little_is_left_to_order(parts, queued, committed):
    """What is queued lasts until the next transaction; a small one costs as much as many pages."""
    commits = []
    supply = Supply(parts, 3_600.0, shared=False)
    supply.before_asking = lambda: commits.append(1)
    parts.urlserver.offer(dues(queued), 1.0)
    supply.ask(10.0)
    assert supply.asking
    assert len(commits) == committed


def test_all_is_taken_when_the_catalog_gave_as_much_as_it_had(parts):
    supply = Supply(parts, 3_600.0, shared=False)
    parts.keeper.counts = replace(parts.keeper.counts, pending=3)
    assert not supply.is_all_taken
    for count, is_all in ((2, False), (1, True)):
        supply._answered(Leased(dues(count), None, Recalled([], []), [], inf))
        assert supply.is_all_taken is is_all
    # The next transaction counts what it has found and what is leased.
    parts.keeper.counts = replace(parts.keeper.counts, pending=1)
    supply.counted()
    assert not supply.is_all_taken


def test_with_no_place_free_there_is_time_to_ask(parts):
    supply = Supply(parts, 3_600.0, shared=False)
    assert parts.urlserver.wants(0.0) is not None
    parts.urlserver.offer(dues(150), 1.0)
    for number in range(16):
        parts.ledger.ordered(-number, dues(1)[0], worker=0)
    supply.ask(1.5)
    assert not supply.asking
    parts.ledger.take_back(0)
    supply.ask(1.5)
    assert supply.asking
