"""The only file that knows all rooms: it makes them, connects them, runs them and takes them apart.

    catalog ──due──► writer ──► coordinator ──offer──► urlserver ──orders──► crew: workers
       ▲                                                            (spider, store, parse, handlers)
       └──────── commit ◄── admission ◄── coordinator ◄── DONE, findings ──────┘

Queues, each with who fills it, who empties it, and what bounds it:

    the URL server's slots and leftover   coordinator -> orders, verdicts; by their lengths
    links to workers                      coordinator -> worker; by credit
    links from workers                    worker -> coordinator; by credit
    the keeper's findings, written down   coordinator -> writer; by the backlog of the ledger
    the writer's jobs                     coordinator -> writer; a handful
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.catalog import Catalog, Recovery, Verdict
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.config.urlserver import UrlServerSettings
from gossamer.crawl.admission import Admission
from gossamer.crawl.archive_sync import ArchiveSync
from gossamer.crawl.coordinator import Coordinator
from gossamer.crawl.crew import Crew, LocalCrew, ProcessCrew
from gossamer.crawl.keeper import Keeper
from gossamer.crawl.launch import Launched, worker_count
from gossamer.crawl.ledger import Ledger, ahead_for, backlog_for
from gossamer.crawl.link import Assignment
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.names import Names, own_addresses
from gossamer.crawl.open_files import fitting_concurrency
from gossamer.crawl.parts import Parts
from gossamer.crawl.progress import Progress
from gossamer.crawl.recall import Recall, is_owed
from gossamer.crawl.report_log import ReportLog, begin_run
from gossamer.crawl.robots import RobotsDesk, robots_spider_settings
from gossamer.crawl.seeds import (
    canonical_starts,
    note_secrets,
    reconsider,
    secrets_not_given,
    seed,
)
from gossamer.crawl.signals import signals
from gossamer.crawl.stops import Stop, Stops
from gossamer.crawl.verdict import verdict
from gossamer.crawl.workspace import Role, Workspace
from gossamer.crawl.writer import Writer
from gossamer.errors import InputError, WorkspaceError
from gossamer.messages import Findings
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy
from gossamer.url.parts import host_of
from gossamer.urlserver.dns import Resolver
from gossamer.urlserver.urlserver import UrlServer

if TYPE_CHECKING:
    # Whoever crawls in memory needs no database.
    from gossamer.catalog.sqlite import SqliteCatalog

_MAX_REQUEUED: Final = 100_000_000


class Summary(Struct, frozen=True):
    """How a run ended."""

    reason: str
    exit_code: int
    message: str
    progress: Progress
    seconds: float


def crawl_workspace(
    directory: Path,
    start_urls: Sequence[str],
    settings: Settings,
    *,
    recrawl: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_pages: Callable[[Sequence[int]], bool] | None = None,
    install_signals: bool = True,
    main_script: str = "",
    stops: Stops | None = None,
    launched: Sequence[Launched] = (),
    before_end: Callable[[Catalog], int] | None = None,
    clock: Clock | None = None,
) -> Summary:
    """Crawl in a workspace until its work is done, a limit is reached or somebody stops it.

    `before_end` is asked when nothing is left to do, and may make more to do: it says how much.
    """
    clock = clock or SystemClock()
    stops = stops or Stops()
    starts = canonical_starts(start_urls, settings)
    _check_handlers(settings)
    settings = _counted(settings)
    workspace = Workspace(directory)
    began = clock.monotonic()

    def judge(findings: Findings, at: float) -> Verdict:
        return verdict(findings, settings.urlserver, at)

    calm_collector()
    with (
        locked(workspace, clock),
        _open_catalog(workspace, settings) as catalog,
        contextlib.closing(ReportLog(workspace.directory)) as log,
        contextlib.closing(ArchiveSync(workspace.archive)) as archive,
    ):
        seeds, _ = seed(catalog, starts, clock.time())
        if not seeds:
            raise InputError(
                f"nothing to crawl in {directory}: it has no start URL yet; "
                f"give one: gossamer crawl URL --dir {quote(str(directory))}"
            )
        from gossamer.store.repair import repair  # noqa: PLC0415 - a map of a site keeps nothing

        repair(workspace.archive, catalog.known_good())
        recovery = begin_run(catalog, log, settings, judge, clock.time(), archive)
        reconsider(catalog, seeds, settings, clock.time())
        workspace.keep_settings(settings)
        note_secrets(catalog, settings)
        if recrawl:
            catalog.requeue_due(clock.time(), _MAX_REQUEUED)
        ground = Ground(
            workspace, catalog, recovery, tuple(seeds), settings, stops, clock, log, archive
        )
        with wired(ground, partial(crew_of, ground, main_script, launched)) as parts:
            coordinator = Coordinator(parts, on_progress, on_pages, before_end=before_end)
            with signals(stops, parts.spider) if install_signals else contextlib.nullcontext():
                stop = coordinator.run()
        progress = coordinator.progress()
    return summary_of(stop, progress, clock.monotonic() - began)


def crawl_catalog(
    catalog: Catalog,
    start_urls: Sequence[str],
    settings: Settings,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    stops: Stops | None = None,
    launched: Sequence[Launched] = (),
    before_end: Callable[[Catalog], int] | None = None,
) -> Summary:
    """Crawl with a catalog of the caller's own, which is in memory, and without an archive."""
    clock = SystemClock()
    stops = stops or Stops()
    starts = canonical_starts(start_urls, settings)
    settings = _counted(settings)
    settings = replace(settings, store=replace(settings.store, keep=False))
    began = clock.monotonic()
    calm_collector()
    seeds, _ = seed(catalog, starts, clock.time())
    recovery = catalog.begin_run(clock.time())
    ground = Ground(None, catalog, recovery, tuple(seeds), settings, stops, clock)
    with wired(ground, partial(crew_of, ground, "", launched)) as parts:
        coordinator = Coordinator(parts, on_progress, before_end=before_end)
        with signals(stops, parts.spider):
            stop = coordinator.run()
    return summary_of(stop, coordinator.progress(), clock.monotonic() - began)


def _check_handlers(settings: Settings) -> None:
    """Complain here of handlers that cannot be loaded: one worker after the other would die of it.

    Those of a program that calls us are there already.
    """
    named = (*settings.handlers.use, settings.handlers.keep_if)
    names = [name for name in named if name and not name.startswith("__main__:")]
    if names:
        # What handlers get to see takes many modules, which a coordinator does not need otherwise.
        from gossamer.handlers.user import load_handlers  # noqa: PLC0415

        load_handlers(names)


def add_urls(directory: Path, urls: Sequence[str], settings: Settings) -> int:
    """Put start URLs into a workspace without crawling; return how many are new.

    Daemons may be at work in it meanwhile.
    """
    from gossamer.catalog.sqlite import SqliteCatalog  # noqa: PLC0415

    starts = canonical_starts(urls, settings)
    clock = SystemClock()
    workspace = Workspace(directory)
    with (
        locked(workspace, clock, "add"),
        SqliteCatalog.open(workspace.catalog, settings.catalog, shared=True) as catalog,
    ):
        _, new = seed(catalog, starts, clock.time())
        return new


def missing_secrets(directory: Path, settings: Settings) -> list[str]:
    """Name what an earlier run in this workspace was given and this one was not."""
    from gossamer.catalog.sqlite import SqliteCatalog  # noqa: PLC0415

    path = Workspace(directory).catalog
    try:
        with SqliteCatalog.open(path, settings.catalog, read_only=True) as catalog:
            return secrets_not_given(catalog, settings)
    except WorkspaceError:
        # None yet, or of an earlier version, which the crawl brings up to date; else it complains.
        return []


def _counted(settings: Settings) -> Settings:
    """Return the settings with the numbers that they mean here: of workers, of fetches at once."""
    crawl = replace(
        settings.crawl,
        workers=worker_count(settings.crawl.workers),
        concurrency=fitting_concurrency(settings.crawl.concurrency),
    )
    return replace(settings, crawl=crawl)


def summary_of(stop: Stop, progress: Progress, seconds: float) -> Summary:
    """Put together how a run ended."""
    return Summary(
        stop.reason, stop.exit_code, stop.message, replace(progress, state=stop.reason), seconds
    )


@contextlib.contextmanager
def locked(workspace: Workspace, clock: Clock, role: Role = "crawl") -> Iterator[None]:
    """Hold a workspace in some role."""
    workspace.lock(clock, role)
    try:
        yield
    finally:
        workspace.unlock()


@contextlib.contextmanager
def _open_catalog(workspace: Workspace, settings: Settings) -> Iterator["SqliteCatalog"]:
    from gossamer.catalog.sqlite import SqliteCatalog  # noqa: PLC0415

    with SqliteCatalog.open(workspace.catalog, settings.catalog) as catalog:
        if not catalog.last_run_id():
            workspace.require_nothing_fetched()
        yield catalog


class Ground(Struct, frozen=True):
    """What a run stands on."""

    workspace: Workspace | None
    """None: nothing is kept, and the catalog is in memory."""
    catalog: Catalog
    recovery: Recovery
    seeds: tuple[str, ...]
    settings: Settings
    stops: Stops
    clock: Clock
    log: ReportLog | None = None
    archive: ArchiveSync | None = None
    """Synced before findings are committed; None: by the workers, before they report."""

    @property
    def ahead(self) -> int:
        """How many orders workers are given ahead of their time."""
        return ahead_for(self.settings, is_kept=self.workspace is not None)


@contextlib.contextmanager
def wired(
    ground: Ground, make_crew: Callable[[Spider, AddressPolicy], Crew], *, shared: bool = False
) -> Iterator[Parts]:
    """Make and connect all that a coordinator needs; `shared`: others commit what is fetched."""
    settings, stops, clock = ground.settings, ground.stops, ground.clock
    workspace, catalog, recovery = ground.workspace, ground.catalog, ground.recovery
    policy = AddressPolicy(settings.url, own_addresses=own_addresses())
    fetches_pages = settings.crawl.workers == 0 and not shared
    own = settings.spider if fetches_pages else robots_spider_settings(settings)
    spider = Spider(own, policy, clock, max_sitemap_bytes=settings.parse.max_sitemap_bytes)
    resolver = Resolver(settings.urlserver)
    limits = _with_room_for(ground.ahead, settings.urlserver)
    urlserver = UrlServer(limits, robots_agent=settings.spider.robots_agent)
    crew = make_crew(spider, policy)

    def tell_policy(new: AddressPolicy) -> None:
        spider.use_policy(new)
        crew.tell_policy(new.to_bytes())

    names = Names(
        resolver,
        policy,
        {host_of(url) for url in ground.seeds},
        tell_policy,
        proxied=bool(settings.spider.proxy),
    )
    writer = Writer(catalog, stops.fail, at_once=workspace is None)
    is_kept = workspace is not None
    may_wait = not is_kept or ground.log is not None
    concurrency = settings.crawl.concurrency
    ledger = Ledger(
        concurrency,
        settings.crawl.max_pages,
        catalog.counts().pages,
        backlog=backlog_for(concurrency, is_kept=is_kept) if may_wait else 0,
    )
    keeper = Keeper(
        settings,
        None if workspace is None else workspace.directory,
        clock,
        writer,
        Admission(settings.url, catalog.traps()),
        ledger,
        stops,
        catalog.counts(),
        ground.log,
        ground.archive,
    )
    spider.watch(resolver.fileno(), names.listen)
    spider.watch(writer.fileno(), writer.wake)
    try:
        yield Parts(
            settings=settings,
            clock=clock,
            spider=spider,
            names=names,
            urlserver=urlserver,
            robots=RobotsDesk(spider, urlserver, settings, clock),
            crew=crew,
            writer=writer,
            keeper=keeper,
            recall=Recall(
                settings.urlserver,
                clock.monotonic(),
                clock.time(),
                owed=is_owed(catalog, recovery, clock),
            ),
            ledger=ledger,
            stops=stops,
            ahead=ground.ahead,
        )
    finally:
        crew.kill()
        writer.close()
        spider.close()
        resolver.close()


def _with_room_for(ahead: int, settings: UrlServerSettings) -> UrlServerSettings:
    """Return limits that orders ahead of their time do not meet: who has them knows his own."""
    if not ahead:
        return settings
    at_one_address = settings.address_concurrent or 2 * settings.host_concurrent
    return replace(
        settings,
        host_concurrent=settings.host_concurrent + ahead,
        address_concurrent=at_one_address + ahead,
    )


def crew_of(
    ground: Ground,
    main_script: str,
    launched: Sequence[Launched],
    spider: Spider,
    policy: AddressPolicy,
) -> Crew:
    """Return the workers of a run."""
    workspace, settings = ground.workspace, ground.settings
    assignment = Assignment(
        name="w0",
        archive="" if workspace is None else str(workspace.archive),
        catalog="" if workspace is None else str(workspace.catalog),
        workers_lock="" if workspace is None else str(workspace.workers_lock),
        settings=settings,
        start_urls=ground.seeds,
        policy=policy.to_bytes(),
        main_script=main_script,
        syncs=ground.archive is None,
    )
    if settings.crawl.workers:
        return ProcessCrew(
            settings.crawl.workers,
            assignment,
            spider.watch,
            spider.unwatch,
            launched,
            most_open=settings.crawl.concurrency if ground.ahead else 0,
        )
    # A worker understands pages, which takes many modules; the coordinator of worker processes
    # needs none.
    from gossamer.crawl.worker import local_worker  # noqa: PLC0415

    return LocalCrew(lambda send: local_worker(assignment, spider, ground.clock, send))
