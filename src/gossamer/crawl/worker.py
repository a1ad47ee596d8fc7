"""A worker: spider, store, parse and handlers in one process of its own.

Order of durability: what a visit brought is appended to the archive and synced; only then do its
findings go to the coordinator, which commits them. DONE goes with them: a visit holds its place
until it is committed, so telling it earlier would only cost another message.
"""

import ctypes
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.crawl.archived import Archived
from gossamer.crawl.link import (
    Assignment,
    Link,
    Report,
    Tag,
    Void,
    decode_assignment,
    decode_orders,
)
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.watch import Watch
from gossamer.crawl.workspace import hold_as_worker
from gossamer.errors import DiskFullError, StorageError
from gossamer.handlers.findings import Finder
from gossamer.handlers.user import load_handlers, run_handlers
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Document, Done, Fetch, Findings, Visit
from gossamer.outcomes import Outcome
from gossamer.parse.page import understand
from gossamer.spider.spider import Spider
from gossamer.store.store import Store, payload_digest
from gossamer.store.warc import WarcStore
from gossamer.url.address import AddressPolicy
from gossamer.url.canonical import Joiner
from gossamer.url.scope import Scope

# What is understood: complete documents, and cut ones as far as they go.
_UNDERSTOOD: Final = frozenset({Outcome.OK, Outcome.OK_PARTIAL, Outcome.BODY_TOO_LARGE})
_IDLE_SECONDS: Final = 1.0
_SYNC_SECONDS: Final = 0.005
_MAX_TRACE: Final = 2_000
_PR_SET_PDEATHSIG: Final = 1

Send = Callable[[Tag, object], None]


class Worker:
    """Turns fetches into findings; talks to the coordinator through `send` alone."""

    def __init__(
        self,
        assignment: Assignment,
        spider: Spider,
        store: Store,
        watch: Watch,
        clock: Clock,
        send: Send,
    ) -> None:
        settings = assignment.settings
        self._spider = spider
        self._store = store
        self._watch = watch
        self._clock = clock
        self._send = send
        self._parse_settings = settings.parse
        self._joiner = Joiner(settings.url)
        self._finder = Finder(
            Scope(settings.crawl, assignment.start_urls),
            self._joiner,
            settings.url,
            settings.handlers,
            settings.spider.allowed_ports,
        )
        self._handlers = load_handlers(settings.handlers.use, assignment.main_script)
        self._revisits = settings.store.revisits
        self._archived = Archived(assignment.catalog, settings.catalog, clock)
        self._done: list[Done] = []
        self._unsynced: list[Findings] = []
        self._oldest_unsynced = 0.0
        workers = max(1, settings.crawl.workers)
        self._sync_after = max(1, settings.crawl.concurrency // (2 * workers))

    def begin(self, visits: Sequence[Visit]) -> None:
        """Start fetching on receipt."""
        for visit in visits:
            self._spider.start(visit)

    def step(self, fetches: Sequence[Fetch]) -> None:
        """Report what has happened, understand what was fetched, sync when it is worth it."""
        started = self._spider.started()
        if started:
            self._send(Tag.STARTED, started)
        working = self._spider.working()
        if working:
            self._send(Tag.WORKING, working)
        if fetches:
            if not self._unsynced:
                self._oldest_unsynced = self._clock.monotonic()
            for fetch in fetches:
                self._done.append(_done(fetch))
                self._unsynced.append(self._understand(fetch))
        if self._unsynced and self._worth_syncing(busy=bool(fetches)):
            self.flush()

    def flush(self) -> None:
        """Make durable what is not yet, then report it."""
        if not self._unsynced:
            return
        done, self._done = self._done, []
        findings, self._unsynced = self._unsynced, []
        try:
            self._store.sync()
        except StorageError as error:
            self._void(done, findings, error)
        else:
            self._send(Tag.REPORT, Report(done, findings))

    def wait_seconds(self) -> float:
        """Return how long the loop may wait for something to happen."""
        return 0.0 if self._unsynced else _IDLE_SECONDS

    def cancel(self) -> None:
        """End everything that is open and report it as not done."""
        self.flush()
        self._send(Tag.CANCELLED, [visit.doc_id for visit in self._spider.cancel()])

    def close(self) -> None:
        """Finish the archive files."""
        self._store.close()
        self._archived.close()

    def _worth_syncing(self, *, busy: bool) -> bool:
        return (
            not busy
            or len(self._unsynced) >= self._sync_after
            or self._clock.monotonic() - self._oldest_unsynced >= _SYNC_SECONDS
        )

    def _void(self, done: list[Done], findings: list[Findings], error: StorageError) -> None:
        for finding in findings:
            self._finder.forget(finding)
        doc_ids = [finding.doc_id for finding in findings]
        self._send(Tag.VOID, Void(done, doc_ids, str(error), isinstance(error, DiskFullError)))

    def _understand(self, fetch: Fetch) -> Findings:
        self._watch.enter(fetch.visit.doc_id, self._clock.monotonic())
        try:
            return self._findings(fetch)
        # The last line of defence: a bug of ours costs one page, says so, and fails the test run.
        except Exception as error:  # noqa: BLE001
            return Findings(
                doc_id=fetch.visit.doc_id,
                trans_id=fetch.visit.trans_id,
                outcome=int(Outcome.INTERNAL),
                status=fetch.status,
                fetched_at=fetch.fetched_at,
                milliseconds=fetch.milliseconds,
                tries=fetch.visit.tries + 1,
                detail="".join(traceback.format_exception(error))[-_MAX_TRACE:],
            )
        finally:
            self._watch.leave()

    def _findings(self, fetch: Fetch) -> Findings:
        document = self._keep(fetch)
        if fetch.outcome not in _UNDERSTOOD or not 200 <= fetch.status < 300:
            return self._finder.findings(document, None)
        page = understand(document, self._parse_settings, self._joiner)
        if not self._handlers:
            return self._finder.findings(document, page)
        urls, records, failure = run_handlers(self._handlers, VisitedPage(document, page))
        joined = self._joiner.join_all(fetch.visit.url, urls)
        findings = self._finder.findings(
            document, page, [url for url in joined if url is not None], tuple(records)
        )
        return msgspec.structs.replace(findings, detail=failure) if failure else findings

    def _keep(self, fetch: Fetch) -> Document:
        if not fetch.head:
            return Document(fetch, None)
        digest = payload_digest(fetch.raw) if fetch.raw else ""
        known = self._archived.find(fetch, digest) if self._revisits else None
        stored = self._store.append(fetch, known=known, digest=digest)
        if not stored.revisit:
            self._archived.note(fetch, stored)
        return Document(fetch, stored.pointer, stored.payload_digest)


def _done(fetch: Fetch) -> Done:
    return Done(
        trans_id=fetch.visit.trans_id,
        outcome=int(fetch.outcome),
        status=fetch.status,
        sent_at=fetch.sent_at,
        retry_after_seconds=fetch.retry_after_seconds,
    )


def local_worker(assignment: Assignment, spider: Spider, clock: Clock, send: Send) -> Worker:
    """Return a worker inside this process, which shares the coordinator's spider."""
    settings = assignment.settings.store
    store = WarcStore(Path(assignment.archive), assignment.name, settings, clock)
    return Worker(assignment, spider, store, Watch.make(), clock, send)


def main(arguments: Sequence[str]) -> int:
    """Run a worker process: descriptors of the link and of the watch are its arguments."""
    _die_with_parent(int(arguments[2]))
    calm_collector()
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the whole group; the coordinator decides
    link = Link(socket.socket(fileno=int(arguments[0])), blocking=True)
    watch = Watch(int(arguments[1]))
    assignment = _first_message(link)
    hold_as_worker(Path(assignment.workers_lock))
    clock = SystemClock()
    spider = Spider(assignment.settings.spider, AddressPolicy.from_bytes(assignment.policy), clock)
    store = WarcStore(Path(assignment.archive), assignment.name, assignment.settings.store, clock)
    worker = Worker(assignment, spider, store, watch, clock, link.send)
    link.send(Tag.READY, None)
    _serve(link, spider, worker)
    worker.close()
    return 0


def _serve(link: Link, spider: Spider, worker: Worker) -> None:
    stopping = False

    def on_message() -> None:
        nonlocal stopping
        for tag, payload in link.receive():
            if tag is Tag.ORDERS:
                worker.begin(decode_orders(payload))
            elif tag is Tag.POLICY:
                spider.use_policy(AddressPolicy.from_bytes(msgspec.msgpack.decode(payload)))
            elif tag is Tag.STOP:
                stopping = True
        if link.closed:
            # The coordinator is gone: nothing may be fetched any more, and nobody would hear of it.
            os._exit(1)

    spider.watch(link.fileno(), on_message)
    while not stopping:
        worker.step(spider.poll(worker.wait_seconds()))
    worker.cancel()


def _first_message(link: Link) -> Assignment:
    while True:
        for tag, payload in link.receive():
            if tag is Tag.HELLO:
                return decode_assignment(payload)
        if link.closed:
            sys.exit(1)


def _die_with_parent(parent: int) -> None:
    """Have the kernel end this process with its parent (elsewhere the link's end tells)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
