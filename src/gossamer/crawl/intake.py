"""What becomes of a fetch: it is kept, understood, and reported once it is durable.

Order of durability: what a visit brought is appended to the archive and written; only then do its
findings go to the coordinator, which commits them. Who syncs it is part of the assignment: this
process before it reports, or the coordinator before it commits (`archive_sync.py`). DONE goes with
them: a visit holds its place until nobody has to repeat it, so telling it earlier would only cost
another message.

Who fetched it does not matter here: the spider of this process, or one on another machine.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.crawl.link import Assignment, Report, Tag, Void
from gossamer.crawl.watch import Watch
from gossamer.errors import DiskFullError, StorageError
from gossamer.handlers.findings import Finder, checksum_of
from gossamer.handlers.user import (
    BriefHandler,
    UserHandler,
    load_condition,
    load_handlers,
    run_handlers,
)
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Document, Done, Fetch, Findings, Page, Pointer
from gossamer.outcomes import Outcome
from gossamer.parse.html import whole_page
from gossamer.parse.outline import Outline
from gossamer.parse.page import outline
from gossamer.store.store import Store, payload_digest
from gossamer.url.canonical import Joiner
from gossamer.url.scope import Scope

if TYPE_CHECKING:
    from gossamer.crawl.archived import Archived
    from gossamer.store.raw_copies import RawCopies
    from gossamer.store.warc import WarcStore

# What is understood: complete documents, and cut ones as far as they go.
_UNDERSTOOD: Final = frozenset({Outcome.OK, Outcome.OK_PARTIAL, Outcome.BODY_TOO_LARGE})
_IDLE_SECONDS: Final = 1.0
_SYNC_SECONDS: Final = 0.005
_MAX_TRACE: Final = 2_000
_IN_COMPANY: Final = 3
"""So many times as many are reported together where nothing waits for that."""
_TOGETHER: Final = 8
"""So many documents go through a step before the next: more would only take memory."""

Send = Callable[[Tag, object], None]
Note = Callable[[Fetch, Outline], str | None]


class _Work(Struct, gc=False):
    """A document on its way through the steps, each of which adds what it makes of it."""

    fetch: Fetch
    headers: Mapping[str, str]
    """The first ones of each name."""
    pointer: Pointer | None = None
    payload_digest: str = ""
    checksum: bytes | None = None
    """Of the body, once somebody needed it."""
    page: Page | Outline | None = None
    findings: Findings | None = None
    """From the last step, or from one that failed."""


class Intake:
    """Turns fetches into findings; talks to the coordinator through `send` alone."""

    def __init__(
        self,
        assignment: Assignment,
        store: Store | None,
        watch: Watch,
        clock: Clock,
        send: Send,
        *,
        sync_seconds: float = _SYNC_SECONDS,
    ) -> None:
        settings = assignment.settings
        self._settings = settings
        self._store = store
        self._syncs = assignment.syncs
        self._watch = watch
        self._clock = clock
        self._send = send
        self._parse_settings = settings.parse
        self._agent = settings.spider.robots_agent
        self._joiner = Joiner(settings.url)
        self._finder = _finder(settings, assignment.start_urls, self._joiner)
        self._handlers = load_handlers(settings.handlers.use, assignment.main_script, settings)
        self._keep_if = load_condition(settings.handlers.keep_if, assignment.main_script, settings)
        self._note: Note | None = _note_of(self._handlers, self._joiner)
        # Others than our own want pages as a whole, and so do copies.
        self._is_brief = not settings.store.raw_folder and (
            self._note is not None or not self._handlers
        )
        self._revisits = settings.store.revisits
        self._archived = None if store is None else _archived(assignment, clock)
        keeping = () if store is None else (self._keep,)
        self._steps: tuple[Callable[[_Work], None], ...] = (*keeping, self._read, self._judge)
        self._copies = _raw_copies(settings) if settings.store.raw_folder else None
        self._done: list[Done] = []
        self._unsynced: list[Findings] = []
        self._oldest_unsynced = 0.0
        self._sync_seconds = sync_seconds
        workers = max(1, settings.crawl.workers)
        self._sync_after = max(1, settings.crawl.concurrency // (2 * workers))

    def step(self, fetches: Sequence[Fetch], *, more_comes: bool = False) -> None:
        """Understand what was fetched, sync when it is worth it.

        `more_comes`: also if nothing of this is reported yet.
        """
        if fetches:
            if not self._unsynced:
                self._oldest_unsynced = self._clock.monotonic()
            for start in range(0, len(fetches), _TOGETHER):
                self._take(fetches[start : start + _TOGETHER])
        if self._unsynced and self._worth_syncing(busy=bool(fetches), more_comes=more_comes):
            self.flush()

    def flush(self) -> None:
        """Settle what is not yet, then report it."""
        if not self._unsynced:
            return
        done, self._done = self._done, []
        findings, self._unsynced = self._unsynced, []
        try:
            if self._store is not None:
                self._settle(self._store)
            if self._copies is not None:
                findings = self._kept(findings, self._copies.sync())
        except StorageError as error:
            self._void(done, findings, error)
        else:
            self._send(Tag.REPORT, Report(done, findings))

    def wait_seconds(self, *, more_comes: bool = False) -> float:
        """Return how long the loop may wait for something to happen."""
        if not self._unsynced:
            return _IDLE_SECONDS
        if not more_comes:
            return 0.0
        return max(0.0, self._oldest_unsynced + self._sync_seconds - self._clock.monotonic())

    def use_start_urls(self, start_urls: Sequence[str]) -> None:
        """Judge by these what is in scope; what was reported before may be reported again."""
        self._finder = _finder(self._settings, start_urls, self._joiner)

    def close(self) -> None:
        """Finish the archive files."""
        if self._store is not None:
            self._store.close()
        if self._copies is not None:
            self._copies.close()
        if self._archived is not None:
            self._archived.close()

    def _worth_syncing(self, *, busy: bool, more_comes: bool) -> bool:
        enough = self._sync_after * (_IN_COMPANY if more_comes else 1)
        return (
            not (busy or more_comes)
            or len(self._unsynced) >= enough
            or self._clock.monotonic() - self._oldest_unsynced >= self._sync_seconds
        )

    def _settle(self, store: Store) -> None:
        if self._syncs:
            store.sync()
        else:
            store.write_out()

    def _kept(self, findings: list[Findings], refused: Mapping[int, str]) -> list[Findings]:
        """Return the findings, as failures where what they were found in could not be kept."""
        if not refused:
            return findings
        for each in findings:
            if each.doc_id in refused:
                self._finder.forget(each)
        return [
            msgspec.structs.replace(
                each, outcome=int(Outcome.STORE_FAILED), detail=refused[each.doc_id], found=()
            )
            if each.doc_id in refused
            else each
            for each in findings
        ]

    def _void(self, done: list[Done], findings: list[Findings], error: StorageError) -> None:
        for finding in findings:
            self._finder.forget(finding)
        if self._archived is not None:
            self._archived.forget()
        doc_ids = [finding.doc_id for finding in findings]
        self._send(Tag.VOID, Void(done, doc_ids, str(error), isinstance(error, DiskFullError)))

    def _take(self, fetches: Sequence[Fetch]) -> None:
        """Keep, read and judge documents, one step after the other.

        A processor that does the same to the next document has the code and the tables for it at
        hand; with one document after the other it would fetch all of them anew for each.
        """
        works = [_Work(fetch, fetch.first_headers()) for fetch in fetches]
        for step in self._steps:
            self._do(step, works)
        self._done += map(_done, fetches)
        self._unsynced += [work.findings for work in works if work.findings is not None]

    def _do(self, step: Callable[[_Work], None], works: Sequence[_Work]) -> None:
        enter, now = self._watch.enter, self._clock.monotonic
        for work in works:
            if work.findings is not None:
                continue
            enter(work.fetch.visit.doc_id, now())
            try:
                step(work)
            # The last line of defence: a bug of ours costs one page, says so, and fails the test
            # run. Code of the user's own that ends the program costs no more either.
            except (Exception, SystemExit) as error:  # noqa: BLE001
                work.findings = _failure(work.fetch, error)
        # Not where anything else ends this process: then it shall be known over what.
        self._watch.leave()

    def _keep(self, work: _Work) -> None:
        fetch, store, archived = work.fetch, self._store, self._archived
        # Without a head: no response, or not of our spider.
        if store is None or archived is None or not (fetch.head or fetch.raw):
            return
        if self._keep_if is not None and not self._keep_if(fetch):
            return
        if not fetch.head:
            stored = store.append(fetch)
        else:
            digest = payload_digest(fetch.raw) if fetch.raw else ""
            known = None
            if self._revisits:
                work.checksum = checksum_of(fetch.body)
                known = archived.find(fetch, digest, work.checksum)
            stored = store.append(fetch, known=known, digest=digest)
            if not stored.revisit:
                archived.note(fetch, stored)
        work.pointer, work.payload_digest = stored.pointer, stored.payload_digest

    def _read(self, work: _Work) -> None:
        fetch = work.fetch
        if fetch.outcome in _UNDERSTOOD and 200 <= fetch.status < 300:
            page = outline(fetch, work.headers, self._parse_settings, self._joiner, self._agent)
            if isinstance(page, Outline):
                if self._is_brief:
                    work.page = page
                    return
                page = whole_page(page, fetch.visit.url, self._parse_settings, self._joiner)
            if self._copies is not None:
                self._copies.keep(fetch, page)
            work.page = page

    def _judge(self, work: _Work) -> None:
        fetch, page = work.fetch, work.page
        if isinstance(page, Outline):
            work.findings = self._finder.of_ordinary(
                fetch,
                page,
                work.headers,
                work.pointer,
                work.payload_digest,
                work.checksum,
                self._note,
            )
            if work.findings is not None:
                return
            page = whole_page(page, fetch.visit.url, self._parse_settings, self._joiner)
        document = Document(fetch, work.pointer, work.payload_digest)
        if page is None or not self._handlers:
            work.findings = self._finder.findings(document, page)
            return
        urls, records, failure = run_handlers(self._handlers, VisitedPage(document, page))
        joined = self._joiner.join_all(fetch.visit.url, urls) if urls else ()
        findings = self._finder.findings(document, page, filter(None, joined), tuple(records))
        work.findings = msgspec.structs.replace(findings, detail=failure) if failure else findings


def archive_store(assignment: Assignment, clock: Clock) -> "WarcStore | None":
    """Return the store in which a worker keeps what it is assigned to, unless nothing is kept."""
    settings = assignment.settings.store
    if not settings.keep:
        return None
    from gossamer.store.warc import WarcStore  # noqa: PLC0415 - a map of a site keeps nothing

    return WarcStore(Path(assignment.archive), assignment.name, settings, clock)


def _archived(assignment: Assignment, clock: Clock) -> "Archived":
    from gossamer.crawl.archived import Archived  # noqa: PLC0415 - a map of a site keeps nothing

    folder = Path(assignment.archive)
    return Archived(assignment.catalog, folder, assignment.settings.catalog, clock)


def _raw_copies(settings: Settings) -> "RawCopies":
    from gossamer.store.raw_copies import RawCopies  # noqa: PLC0415 - only the service asks for it

    kept = settings.store
    return RawCopies(Path(kept.raw_folder), keeps_old=kept.raw_keeps_old)


def _finder(settings: Settings, start_urls: Sequence[str], joiner: Joiner) -> Finder:
    return Finder(
        Scope(settings.crawl, start_urls),
        joiner,
        settings.url,
        settings.handlers,
        settings.spider.allowed_ports,
        settings.spider.max_redirects,
    )


def _note_of(handlers: Mapping[str, UserHandler], joiner: Joiner) -> Note | None:
    """Return what makes a record of an outline, if there is one handler and it can."""
    only = next(iter(handlers.values())) if len(handlers) == 1 else None
    if not isinstance(only, BriefHandler):
        return None
    in_brief = only.in_brief
    return lambda fetch, page: in_brief(fetch, page, joiner)


def _failure(fetch: Fetch, error: BaseException) -> Findings:
    import traceback  # noqa: PLC0415 - 1 ms of each start, for bugs only

    return Findings(
        doc_id=fetch.visit.doc_id,
        trans_id=fetch.visit.trans_id,
        outcome=int(Outcome.INTERNAL),
        status=fetch.status,
        fetched_at=fetch.fetched_at,
        milliseconds=fetch.milliseconds,
        tries=fetch.visit.tries + 1,
        detail=_storable("".join(traceback.format_exception(error))[-_MAX_TRACE:]),
    )


def _storable(text: str) -> str:
    """Return the text without what UTF-8 does not have: other people's errors may quote it."""
    return text.encode(errors="backslashreplace").decode()


def _done(fetch: Fetch) -> Done:
    return Done(
        fetch.visit.trans_id,
        int(fetch.outcome),
        fetch.status,
        fetch.sent_at,
        fetch.retry_after_seconds,
    )
