"""The store server's parts: made, connected, run until a signal comes, and taken apart."""

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.admission import Admission
from gossamer.crawl.crew import LocalCrew, ProcessCrew
from gossamer.crawl.keeper import Keeper
from gossamer.crawl.launch import Launched, worker_count
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.link import Assignment, Tag
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.signals import signals
from gossamer.crawl.stops import Stops
from gossamer.crawl.workspace import Workspace
from gossamer.crawl.writer import Writer
from gossamer.daemons.endpoints import begin_to_listen, bind
from gossamer.daemons.peers import Endpoint, endpoint_of, load_secret
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.store_lookup import Lookup
from gossamer.daemons.store_poll import Poll
from gossamer.daemons.store_server import Parts, StoreServer, Tally
from gossamer.handlers.user import load_handlers
from gossamer.store.repair import repair

WORKER: Final = "gossamer.daemons.store_worker"


def serve(
    directory: Path,
    endpoint: Endpoint,
    settings: Settings,
    *,
    insecure: bool = False,
    launched: Sequence[Launched] = (),
    on_listening: Callable[[Endpoint], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
    clock: Clock | None = None,
) -> Tally:
    """Run a store server in a workspace until SIGTERM or SIGINT."""
    clock = clock or SystemClock()
    workers = worker_count(settings.crawl.workers)
    settings = replace(settings, crawl=replace(settings.crawl, workers=workers))
    # What workers could only die of, one after the other, is told here once.
    load_handlers(settings.handlers.use)
    calm_collector()
    with contextlib.ExitStack() as stack:
        secret = load_secret(settings.wire)
        listener = stack.enter_context(bind(endpoint, secret, insecure))
        workspace = Workspace(directory)
        workspace.lock(clock, "store-server")
        stack.callback(workspace.unlock)
        catalog = stack.enter_context(
            SqliteCatalog.open(workspace.catalog, settings.catalog, shared=True)
        )
        repair(workspace.archive, catalog.known_good())
        parts = stack.enter_context(
            _wired(
                workspace, catalog, settings, listener, secret, launched, Notes(tell, clock), clock
            )
        )
        stack.enter_context(signals(parts.stops, parts.poll))
        # Not before: a Spider that is not greeted in time takes us for one that never says SAVED.
        begin_to_listen(listener, endpoint)
        server = StoreServer(parts)
        on_listening(endpoint_of(listener))
        server.run()
    return server.tally


@contextlib.contextmanager
def _wired(
    workspace: Workspace,
    catalog: SqliteCatalog,
    settings: Settings,
    listener: socket.socket,
    secret: bytes | None,
    launched: Sequence[Launched],
    notes: Notes,
    clock: Clock,
) -> Iterator[Parts]:
    stops = Stops()
    poll = Poll()
    reader = SqliteCatalog.open(workspace.catalog, settings.catalog, read_only=True)
    lookup = Lookup(reader, settings)
    crew = _crew(workspace, settings, lookup.new_start_urls() or (), poll, launched, clock)
    writer = Writer(catalog, stops.fail)
    poll.watch(writer.fileno(), writer.wake)
    ledger = Ledger(settings.crawl.concurrency, 0, 0)
    counts, traps = catalog.counts(), catalog.traps()
    keeper = Keeper(
        settings,
        workspace.directory,
        clock,
        writer,
        Admission(settings.url, traps),
        ledger,
        stops,
        counts,
    )
    try:
        yield Parts(
            settings=settings,
            clock=clock,
            poll=poll,
            listener=listener,
            secret=secret,
            lookup=lookup,
            crew=crew,
            writer=writer,
            keeper=keeper,
            ledger=ledger,
            stops=stops,
            notes=notes,
        )
    finally:
        crew.kill()
        writer.close()
        reader.close()
        poll.close()


def _crew(
    workspace: Workspace,
    settings: Settings,
    start_urls: Sequence[str],
    poll: Poll,
    launched: Sequence[Launched],
    clock: Clock,
) -> LocalCrew | ProcessCrew:
    assignment = Assignment(
        name="w0",
        archive=str(workspace.archive),
        catalog=str(workspace.catalog),
        workers_lock=str(workspace.workers_lock),
        settings=settings,
        start_urls=tuple(start_urls),
        policy=b"",
    )
    if settings.crawl.workers:
        return ProcessCrew(
            settings.crawl.workers,
            assignment,
            poll.watch,
            poll.unwatch,
            launched,
            launch=lambda: Launched(WORKER),
            orders=Tag.DEPOSITS,
        )
    # A worker understands pages, which takes many modules; the parent of processes needs none.
    from gossamer.daemons.store_worker import local_worker  # noqa: PLC0415

    return LocalCrew(lambda send: local_worker(assignment, clock, send))
