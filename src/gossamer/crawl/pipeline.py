"""The only file that knows all rooms: it makes them, connects them, runs them and takes them apart.

    catalog ──due──► writer ──► coordinator ──offer──► urlserver ──orders──► crew: workers
       ▲                                                            (spider, store, parse, handlers)
       └──────── commit ◄── admission ◄── coordinator ◄── DONE, findings ──────┘

Queues, each with who fills and who empties it:
  urlserver's slots and leftover     coordinator (from catalog.due)      orders, verdicts links to
  workers                   coordinator (orders)                worker; bounded by credit links
  from workers                 worker (DONE, findings)             coordinator; bounded by credit
  coordinator's findings             coordinator (from workers)          writer (commit); bounded
  by credit writer's jobs                      coordinator                         writer; at most
  a handful
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.catalog import Recovery
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.config.describe import rows, to_toml
from gossamer.config.load import Loaded
from gossamer.config.settings import Settings
from gossamer.crawl.admission import Admission
from gossamer.crawl.coordinator import Coordinator, Parts
from gossamer.crawl.crew import Crew, LocalCrew, ProcessCrew
from gossamer.crawl.keeper import Keeper
from gossamer.crawl.launch import Launched, worker_count
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.link import Assignment
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.names import Names, own_addresses
from gossamer.crawl.progress import Progress
from gossamer.crawl.recall import Recall
from gossamer.crawl.robots import RobotsDesk, robots_spider_settings
from gossamer.crawl.stops import Stop, Stops
from gossamer.crawl.workspace import Workspace
from gossamer.crawl.writer import Writer
from gossamer.errors import InputError
from gossamer.messages import Found
from gossamer.outcomes import Outcome
from gossamer.spider.spider import Spider
from gossamer.store.repair import repair
from gossamer.url.address import AddressPolicy, port_refusal
from gossamer.url.canonical import parse_start_url
from gossamer.url.parts import host_of, md5_of, port_of
from gossamer.url.scope import Scope
from gossamer.urlserver.dns import Resolver
from gossamer.urlserver.urlserver import UrlServer

_STARTS: Final = "start_urls"
_LIMITS: Final = "limits"
# Reasons to keep a URL out that other settings may remove; each is judged again before a fetch.
_MAY_CHANGE: Final = frozenset(
    {
        Outcome.POLICY_SCOPE,
        Outcome.POLICY_BUDGET,
        Outcome.POLICY_PRIVATE_ADDRESS,
        Outcome.POLICY_PORT,
    }
)
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
    clock: Clock | None = None,
) -> Summary:
    """Crawl in a workspace until its work is done, a limit is reached or somebody stops it."""
    clock = clock or SystemClock()
    stops = stops or Stops()
    starts = _start_urls(start_urls, settings)
    workers = worker_count(settings.crawl.workers)
    settings = replace(settings, crawl=replace(settings.crawl, workers=workers))
    workspace = Workspace(directory)
    began = clock.monotonic()
    calm_collector()
    with _locked(workspace, clock), _open_catalog(workspace, settings) as catalog:
        seeds = _seed(catalog, starts, clock.time())
        if not seeds:
            raise InputError(
                f"nothing to crawl in {directory}: it has no start URL yet; "
                f"give one: gossamer crawl URL --dir {directory}"
            )
        recovery = catalog.begin_run(clock.time())
        _reconsider(catalog, seeds, settings, clock.time())
        workspace.settings_file.write_text(to_toml(rows(Loaded(settings, {}))), encoding="utf-8")
        repair(workspace.archive, catalog.known_good())
        if recrawl:
            catalog.requeue_due(clock.time(), _MAX_REQUEUED)
        with _wired(
            workspace, catalog, recovery, seeds, settings, main_script, stops, launched, clock
        ) as parts:
            coordinator = Coordinator(parts, on_progress, on_pages)
            with _signals(stops, parts.spider) if install_signals else contextlib.nullcontext():
                stop = coordinator.run()
        progress = coordinator.progress()
    return _summary(stop, progress, clock.monotonic() - began)


def add_urls(directory: Path, urls: Sequence[str], settings: Settings) -> int:
    """Put start URLs into a workspace without crawling; return how many are new."""
    starts = _start_urls(urls, settings)
    clock = SystemClock()
    workspace = Workspace(directory)
    with _locked(workspace, clock), _open_catalog(workspace, settings) as catalog:
        before = catalog.counts().pending
        _seed(catalog, starts, clock.time())
        return catalog.counts().pending - before


def _start_urls(texts: Sequence[str], settings: Settings) -> list[str]:
    """Return what the user typed in canonical form; complain about what can never be fetched."""
    starts = [parse_start_url(text, settings.url) for text in texts]
    for url in starts:
        refusal = port_refusal(port_of(url), settings.spider.allowed_ports)
        if refusal is not None:
            raise InputError(
                f"cannot crawl {url}: {refusal}; "
                "use another port, or allow this one with [spider] allowed_ports"
            )
    return starts


def _summary(stop: Stop, progress: Progress, seconds: float) -> Summary:
    return Summary(
        stop.reason, stop.exit_code, stop.message, replace(progress, state=stop.reason), seconds
    )


@contextlib.contextmanager
def _locked(workspace: Workspace, clock: Clock) -> Iterator[None]:
    workspace.lock(clock)
    try:
        yield
    finally:
        workspace.unlock()


@contextlib.contextmanager
def _open_catalog(workspace: Workspace, settings: Settings) -> Iterator[SqliteCatalog]:
    with SqliteCatalog.open(workspace.catalog, settings.catalog) as catalog:
        yield catalog


def _seed(catalog: SqliteCatalog, starts: Sequence[str], now: float) -> list[str]:
    """Enter start URLs; return all start URLs the workspace has ever been given."""
    found = [Found(url=url, md5=md5_of(url), host=host_of(url), depth=0) for url in starts]
    earlier = (catalog.note(_STARTS) or "").split()
    seeds = list(dict.fromkeys([*earlier, *starts]))
    if found:
        catalog.add(found, now, priority=1)
        catalog.put_note(_STARTS, "\n".join(seeds))
    return seeds


def _reconsider(
    catalog: SqliteCatalog, seeds: Sequence[str], settings: Settings, now: float
) -> None:
    """Let in what an earlier run kept out and the limits of this one do not."""
    crawl = settings.crawl
    reach = (crawl.scope, crawl.include, crawl.exclude, crawl.max_depth, sorted(seeds))
    policy = (settings.url.allow_private, settings.url.allow_networks)
    limits = repr((reach, policy, settings.spider.allowed_ports))
    earlier = catalog.note(_LIMITS)
    if earlier == limits:
        return
    if earlier is not None:
        catalog.readmit(_let_in(catalog, Scope(crawl, seeds), settings), now)
    catalog.put_note(_LIMITS, limits)


def _let_in(catalog: SqliteCatalog, scope: Scope, settings: Settings) -> list[int]:
    ports = settings.spider.allowed_ports
    return [
        row.doc_id
        for row in catalog.excluded()
        if row.outcome in _MAY_CHANGE
        and scope.verdict(row.url, row.host, row.depth) is None
        and port_refusal(port_of(row.url), ports) is None
    ]


@contextlib.contextmanager
def _wired(
    workspace: Workspace,
    catalog: SqliteCatalog,
    recovery: Recovery,
    seeds: Sequence[str],
    settings: Settings,
    main_script: str,
    stops: Stops,
    launched: Sequence[Launched],
    clock: Clock,
) -> Iterator[Parts]:
    policy = AddressPolicy(settings.url, own_addresses=own_addresses())
    own = settings.spider if settings.crawl.workers == 0 else robots_spider_settings(settings)
    spider = Spider(own, policy, clock)
    resolver = Resolver(settings.urlserver)
    urlserver = UrlServer(settings.urlserver, robots_agent=settings.spider.robots_agent)
    assignment = Assignment(
        name="w0",
        archive=str(workspace.archive),
        catalog=str(workspace.catalog),
        workers_lock=str(workspace.workers_lock),
        settings=settings,
        start_urls=tuple(seeds),
        policy=policy.to_bytes(),
        main_script=main_script,
    )
    crew = _crew(assignment, spider, launched, clock)

    def tell_policy(new: AddressPolicy) -> None:
        spider.use_policy(new)
        crew.tell_policy(new.to_bytes())

    names = Names(resolver, policy, {host_of(url) for url in seeds}, tell_policy)
    writer = Writer(catalog, stops.fail)
    ledger = Ledger(settings.crawl.concurrency, settings.crawl.max_pages, catalog.counts().pages)
    keeper = Keeper(
        settings,
        workspace.directory,
        clock,
        writer,
        Admission(settings.url, catalog.traps()),
        ledger,
        stops,
        catalog.counts(),
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
            recall=Recall(settings.urlserver, recovery.hosts, clock.monotonic(), clock.time()),
            ledger=ledger,
            stops=stops,
        )
    finally:
        crew.kill()
        writer.close()
        spider.close()
        resolver.close()


def _crew(
    assignment: Assignment, spider: Spider, launched: Sequence[Launched], clock: Clock
) -> Crew:
    settings = assignment.settings
    if settings.crawl.workers:
        return ProcessCrew(
            settings.crawl.workers,
            assignment,
            spider.watch,
            spider.unwatch,
            launched,
        )
    # A worker understands pages, which takes many modules; the coordinator of worker processes
    # needs none.
    from gossamer.crawl.worker import local_worker  # noqa: PLC0415

    return LocalCrew(lambda send: local_worker(assignment, spider, clock, send))


@contextlib.contextmanager
def _signals(stops: Stops, spider: Spider) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into an orderly stop, also while the loop waits."""
    wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def drain() -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(wake)

    def on_signal(number: int, frame: FrameType | None) -> None:
        del frame
        (stops.interrupt if number == signal.SIGINT else stops.terminate)()
        os.eventfd_write(wake, 1)

    spider.watch(wake, drain)
    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
        spider.unwatch(wake)
        os.close(wake)
