"""The engine of news: the ring, provided with what feeds and stories need (S4.1-S4.3).

* provider: `catalog/news_catalog.py`, pending downloads and feeds that are due, a few of each site
* engine: `crawl/coordinator.py`, queues in memory and one socket to each worker
* fetcher: the spider in each worker, without retries of its own
* handler: `news/reading.py` in each worker, `catalog/news_commit.py` in the engine
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.download_book import Rules
from gossamer.catalog.news_catalog import Brought, NewsCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.coordinator import Coordinator
from gossamer.crawl.launch import worker_count
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.open_files import fitting_concurrency
from gossamer.crawl.pipeline import Ground, Summary, crew_of, locked, summary_of, wired
from gossamer.crawl.progress import Progress
from gossamer.crawl.signals import signals
from gossamer.crawl.stops import Stops
from gossamer.crawl.workspace import Workspace
from gossamer.news import extracting, websub
from gossamer.news.verdict import news_verdict
from gossamer.store.repair import repair

_HANDLER: Final = "gossamer.news.reading:FeedHandler"
_CONDITION: Final = "gossamer.news.reading:KeepCondition"
_LONGEST_WAIT_SECONDS: Final = 31 * 86_400.0
# What others write into the catalog (new feeds, pushes) is noticed after this.
_LOOK_SECONDS: Final = 2.0
_LULL_SECONDS: Final = 2.0


class NewsSummary(Struct, frozen=True):
    """How a run ended, and what it brought."""

    run: Summary
    brought: Brought


def run_news(
    directory: Path,
    settings: Settings,
    *,
    once: bool = False,
    clock: Clock | None = None,
    extract: bool = True,
    on_progress: Callable[[Progress], None] | None = None,
    install_signals: bool = True,
    stops: Stops | None = None,
    kind: type[NewsCatalog] = NewsCatalog,
) -> NewsSummary:
    """Poll feeds and fetch stories; `once`: until nothing more is due."""
    clock = clock or SystemClock()
    stops = stops or Stops()
    settings = news_settings(settings)
    workspace = Workspace(directory).require("gossamer news add URL")
    began = clock.monotonic()
    calm_collector()
    with (
        locked(workspace, clock, "news"),
        kind.open(workspace.catalog, settings.catalog, shared=True) as catalog,
        _extraction(directory, settings, clock, stops, wanted=extract),
        _pushes(directory, settings, clock, wanted=not once),
    ):
        catalog.use(Rules(settings.news, settings.spider.allowed_ports))
        before = catalog.newest()
        now = clock.time()
        recovery = catalog.begin_run(now, longest_wait_seconds=_LONGEST_WAIT_SECONDS)
        workspace.keep_settings(settings)
        repair(workspace.archive, catalog.known_good())
        ground = Ground(workspace, catalog, recovery, (), settings, stops, clock)
        with wired(ground, partial(crew_of, ground, "", ())) as parts:
            parts.keeper.judge = lambda findings, at: news_verdict(findings, settings, at)
            coordinator = Coordinator(
                parts,
                on_progress,
                until_idle=once,
                lull_seconds=settings.news.throttle_seconds + _LULL_SECONDS if once else None,
                look_seconds=3_600.0 if once else _LOOK_SECONDS,
            )
            with signals(stops, parts.spider) if install_signals else contextlib.nullcontext():
                stop = coordinator.run()
        progress = coordinator.progress()
        brought = catalog.brought_since(before)
    return NewsSummary(summary_of(stop, progress, clock.monotonic() - began), brought)


def news_settings(settings: Settings) -> Settings:
    """Return the settings with which the ring follows nothing but feeds and redirects."""
    handlers = replace(
        settings.handlers,
        use=(_HANDLER, *settings.handlers.use),
        keep_if=_CONDITION,
        follow_links=False,
        follow_assets=False,
    )
    crawl = replace(
        settings.crawl,
        workers=worker_count(settings.crawl.workers),
        concurrency=fitting_concurrency(settings.crawl.concurrency),
        scope="any",
        sitemaps=False,
        max_pages=0,
        include=(),
        exclude=(),
    )
    spider = replace(settings.spider, max_redirects=settings.news.max_redirects)
    # A worker is silent over one download for so long at most; then it is pending again.
    urlserver = replace(
        settings.urlserver, timeout_spider_status_seconds=settings.news.stale_seconds
    )
    return replace(settings, handlers=handlers, crawl=crawl, spider=spider, urlserver=urlserver)


@contextlib.contextmanager
def _extraction(
    directory: Path, settings: Settings, clock: Clock, stops: Stops, *, wanted: bool
) -> Iterator[None]:
    """Have articles extracted meanwhile; in the end, all that is queued unless somebody hurries."""
    if not wanted or not settings.news.extractors:
        yield
        return
    extractor = extracting.start(directory, settings, clock=clock)
    finished = False
    try:
        yield
        finished = stops.requested is None
    finally:
        extractor.stop(drain=finished)


@contextlib.contextmanager
def _pushes(directory: Path, settings: Settings, clock: Clock, *, wanted: bool) -> Iterator[None]:
    """Have hubs tell us of news meanwhile, if they can reach us (WebSub)."""
    if not wanted or not settings.news.callback_url:
        yield
        return
    listener = websub.start(directory, settings, clock)
    try:
        yield
    finally:
        listener.stop()
