"""Commits: what visits brought becomes durable, all of it in one transaction.

Only documents that are leased are judged (a late duplicate finds its lease gone and changes
nothing), and each at most once in a batch. What was compared and counted is written in few
statements over many rows.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.catalog import (
    Committed,
    Gate,
    HostClock,
    RobotsRecord,
    TrapCount,
    Verdict,
)
from gossamer.catalog.digest import packed_digest
from gossamer.catalog.discover import discover
from gossamer.catalog.judging import (
    NO_TRY,
    NOT_MODIFIED,
    SUCCESSORS,
    has_content,
    is_changed,
    kept_out,
    signed,
)
from gossamer.catalog.leases import json_list
from gossamer.catalog.many import insert_many, insert_mixed, parts_of, select_many
from gossamer.catalog.memory import Facts, Memory
from gossamer.catalog.queries import QUERIES
from gossamer.catalog.recrawl import next_interval
from gossamer.catalog.tally import Tally
from gossamer.catalog.waiting import expel
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import CatalogError
from gossamer.messages import Findings, Found, Kind
from gossamer.outcomes import Outcome, State

# Plain numbers: to look a member up and to compare with it costs several times as much.
_PENDING: Final = int(State.PENDING)
_LEASED: Final = int(State.LEASED)
_DONE: Final = int(State.DONE)
_FAILED: Final = int(State.FAILED)
_OK: Final = int(Outcome.OK)
_PAGE: Final = int(Kind.PAGE)
_FIRST_FETCH: Final = (_OK, None, None, "")
"""Outcome, earlier fetch, redirect and detail of a first page."""


class PageFacts(Struct, gc=False):
    """What the latest document of a URL was like."""

    outcome: int
    content_type: str
    checksum: bytes | None
    simhash: int | None
    etag: str | None
    last_modified: str | None
    title: str
    redirect_to: str | None


class Commit:
    """One transaction's worth of rows, gathered before they are written."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        settings: CatalogSettings,
        now: float,
        gate: Gate | None = None,
    ) -> None:
        self._connection = connection
        self._gate = gate
        self._memory = memory
        self._settings = settings
        self._now = now
        self._first_interval = next_interval(None, changed=False, settings=settings)
        self._tally = Tally()
        self._fetches: list[tuple[object, ...]] = []
        """Those of first pages without the end."""
        self._judged: list[tuple[object, ...]] = []
        self._first_pages: dict[int, int] = {}
        """By their fetches, in the order of these."""
        self._first_kinds: list[tuple[int, int]] = []
        """Host and kind of each first page."""
        self._links: list[tuple[int, bytes]] = []
        self._records: list[tuple[int, str]] = []
        self._replaced: list[tuple[int]] = []
        self._found: list[tuple[Found, int | None]] = []
        self._ends: dict[int, int] = {}

    def apply(self, verdicts: Sequence[Verdict]) -> Committed:
        """Judge documents and write all that follows from it."""
        leased = self._memory.leased or {}
        doc_ids = [verdict.findings.doc_id for verdict in verdicts]
        facts = self._facts([doc_id for doc_id in doc_ids if doc_id not in leased])
        stale = []
        live = []
        for doc_id, verdict in zip(doc_ids, verdicts, strict=True):
            known = leased.pop(doc_id, None) or facts.pop(doc_id, None)
            if known is None or known.state != _LEASED:
                stale.append(doc_id)
            else:
                live.append((verdict, known))
        originals = self._claim_contents(live)
        for verdict, known in live:
            if _is_first_page(verdict, known, originals):
                self._judge_first_page(verdict.findings, known)
            else:
                self._judge(verdict, known, originals)
            if self._gate is not None and known.priority < 0 and not known.visits:
                self._tell(self._gate, known, verdict.findings)
        self._write()
        new_urls = discover(
            self._connection, self._memory, self._tally, self._found, self._now, gate=self._gate
        )
        if self._gate is not None:
            expel(self._connection, self._tally, self._gate)
        self._tally.write(self._connection, self._memory.new_turn(), self._now)
        return Committed(len(live), len(new_urls), self._tally.pages, tuple(stale))

    def _facts(self, doc_ids: Sequence[int]) -> dict[int, Facts]:
        """Return what is known of documents which we do not remember to have leased."""
        if not doc_ids:
            return {}
        rows = self._connection.execute(QUERIES["url_facts"], (json_list(doc_ids),))
        return {row[0]: Facts(*row[1:]) for row in rows}

    def _claim_contents(self, live: Sequence[tuple[Verdict, Facts]]) -> dict[bytes, int]:
        """Return the first documents of bodies in the batch, of all that are not the first."""
        claims = [
            (verdict.findings.checksum or b"", verdict.findings.doc_id)
            for verdict, _ in live
            if has_content(verdict.findings)
        ]
        originals: dict[bytes, int] = {}
        # In most parts each body is the first of its kind, and nothing has to be asked.
        for part in parts_of(claims):
            if insert_many(self._connection, QUERIES["insert_content"], part) < len(part):
                checksums = [checksum for checksum, _ in part]
                originals |= select_many(self._connection, QUERIES["content_owners"], checksums)
        return originals

    def _judge_first_page(self, findings: Findings, known: Facts) -> None:
        """Do as `_judge` does, but for what can be otherwise only with other documents."""
        doc_id = findings.doc_id
        fetch_id = self._memory.new_fetch_id()
        self._first_pages[fetch_id] = doc_id
        self._first_kinds.append((known.host_id, known.kind))
        self._fetches.append(
            (
                fetch_id, doc_id, findings.fetched_at, findings.status, findings.milliseconds,
                findings.content_type, findings.body_bytes, findings.wire_bytes, findings.checksum,
                signed(findings.simhash), findings.etag, findings.last_modified,
                *self._place(findings), findings.title,
            )
        )  # fmt: skip
        self._gather(findings, doc_id)

    def _judge(self, verdict: Verdict, known: Facts, originals: dict[bytes, int]) -> None:
        findings, state = verdict.findings, int(verdict.state)
        doc_id = findings.doc_id
        if state == _LEASED:
            raise CatalogError(f"cannot commit document {doc_id}: a verdict cannot be a lease")
        before = None if known.last_page is None else self._page_facts(known.last_page)
        # What waits outside (robots.txt, DNS, policy) was no fetch and leaves no history.
        fetch_id = self._keep_fetch(findings, known, before) if findings.fetched_at > 0 else None
        has_page = state == _DONE and findings.is_page
        last_page = fetch_id if has_page and fetch_id is not None else known.last_page
        if last_page is not None and known.last_page is None and known.kind == _PAGE:
            self._tally.pages += 1
        duplicate_of = self._duplicate_of(findings, state, known, originals)
        visits, changes, interval, next_fetch_at = self._plan(verdict, known, before)
        due_at = verdict.due_at if state == _PENDING else 0.0
        tries = known.tries
        if findings.outcome not in NO_TRY:
            tries = max(tries + 1, findings.tries)
        self._judged.append(
            (
                state, findings.outcome, due_at, tries, visits, changes, interval,
                next_fetch_at, known.last_fetch if fetch_id is None else fetch_id, last_page,
                duplicate_of,
                (findings.detail or None) if fetch_id is None else None, doc_id,
            )
        )  # fmt: skip
        self._tally.move(known.host_id, _LEASED, state, due_at)
        self._tally.judge(known.outcome, findings.outcome)
        is_replaced = (
            known.last_page is not None and state != _PENDING and findings.outcome in SUCCESSORS
        )
        if is_replaced:
            self._replaced.append((doc_id,))
        self._gather(findings, doc_id, is_copy=duplicate_of is not None, is_replaced=is_replaced)

    def _gather(
        self, findings: Findings, doc_id: int, *, is_copy: bool = False, is_replaced: bool = False
    ) -> None:
        """Take what a document leads to and what was made of it."""
        if (findings.targets or is_replaced) and self._settings.keep_links:
            self._links.append((doc_id, findings.targets))
        if findings.found:
            keeps_out = is_copy and not self._settings.follow_duplicates
            found = map(kept_out, findings.found) if keeps_out else findings.found
            self._found += [(item, doc_id) for item in found]
        if findings.records:
            self._records += [(doc_id, record) for record in findings.records]

    def _tell(self, gate: Gate, known: Facts, findings: Findings) -> None:
        """Tell the gate what a URL on probation brought."""
        finder = self._connection.execute(QUERIES["url_of"], (known.parent,)).fetchone()
        if finder is not None:
            gate.judged(finder[0], findings)

    def _page_facts(self, fetch_id: int) -> PageFacts:
        return PageFacts(*self._connection.execute(QUERIES["page_facts"], (fetch_id,)).fetchone())

    def _keep_fetch(self, findings: Findings, known: Facts, before: PageFacts | None) -> int:
        fetch_id = self._memory.new_fetch_id()
        checksum, simhash = findings.checksum, signed(findings.simhash)
        content_type, title = findings.content_type, findings.title
        etag, last_modified = findings.etag, findings.last_modified
        if before is not None and findings.outcome == NOT_MODIFIED:
            # The server vouches that the document is the one we have.
            checksum, simhash = before.checksum, before.simhash
            content_type, title = before.content_type, before.title
            etag = etag or before.etag
            last_modified = last_modified or before.last_modified
        self._fetches.append(
            (
                fetch_id, findings.doc_id, findings.fetched_at, findings.status,
                findings.milliseconds, content_type, findings.body_bytes, findings.wire_bytes,
                checksum, simhash, etag, last_modified, *self._place(findings), title,
                findings.outcome, known.last_fetch, findings.redirect_to, findings.detail,
            )
        )  # fmt: skip
        return fetch_id

    def _place(self, findings: Findings) -> tuple[int | None, int | None, int | None, bytes | None]:
        """Return file, offset, length and digest of what is in the archive."""
        digest = packed_digest(findings.payload_digest) if findings.payload_digest else None
        pointer = findings.pointer
        if pointer is None:
            return None, None, None, digest
        file_id = self._memory.file_id(self._connection, pointer.file)
        end = pointer.offset + pointer.length
        if end > self._ends.get(file_id, 0):
            self._ends[file_id] = end
        return file_id, pointer.offset, pointer.length, digest

    def _duplicate_of(
        self, findings: Findings, state: int, known: Facts, originals: dict[bytes, int]
    ) -> int | None:
        if state == _PENDING or findings.outcome == NOT_MODIFIED:
            return known.duplicate_of
        owner = None
        if originals and findings.checksum is not None and has_content(findings):
            owner = originals.get(findings.checksum)
        duplicate_of = None if owner == findings.doc_id else owner
        self._tally.duplicates += (duplicate_of is not None) - (known.duplicate_of is not None)
        return duplicate_of

    def _plan(
        self, verdict: Verdict, known: Facts, before: PageFacts | None
    ) -> tuple[int, int, float | None, float | None]:
        """Return visits, changes, interval and time of the next fetch."""
        if verdict.state not in (_DONE, _FAILED):
            return known.visits, known.changes, known.recrawl_seconds, None
        document = None if before is None else (before.checksum, before.redirect_to)
        changed = known.visits > 0 and is_changed(verdict.findings, known.outcome, document)
        interval = self._first_interval
        if known.recrawl_seconds is not None:
            interval = next_interval(
                known.recrawl_seconds, changed=changed, settings=self._settings
            )
        next_fetch_at = verdict.due_at if verdict.due_at > 0 else self._now + interval
        return known.visits + 1, known.changes + changed, interval, next_fetch_at

    def _write(self) -> None:
        write = self._connection.executemany
        queries = QUERIES["insert_fetch"], QUERIES["insert_first_fetch"]
        insert_mixed(self._connection, queries, self._fetches, _FIRST_FETCH)
        write(QUERIES["judge_url"], self._judged)
        self._write_first_pages()
        insert_many(self._connection, QUERIES["put_links"], self._links)
        write(QUERIES["delete_records"], self._replaced)
        insert_many(self._connection, QUERIES["insert_record"], self._records)
        write(QUERIES["extend_file"], [(end, file_id) for file_id, end in self._ends.items()])

    def _write_first_pages(self) -> None:
        """Judge all of them by one statement, which tells them by their places in a list."""
        if not self._first_pages:
            return
        for (host_id, kind), count in Counter(self._first_kinds).items():
            self._tally.move(host_id, _LEASED, _DONE, count=count)
            if kind == _PAGE:
                self._tally.pages += count
        self._tally.judge(None, _OK, count=len(self._first_pages))
        fetch_ids = range(next(iter(self._first_pages)), next(reversed(self._first_pages)) + 1)
        interval = self._first_interval
        self._connection.execute(
            QUERIES["judge_first_pages"],
            {
                "recrawl_seconds": interval,
                "next_fetch_at": self._now + interval,
                "first_fetch": fetch_ids[0],
                "doc_ids": json_list([self._first_pages.get(each, "null") for each in fetch_ids]),
            },
        )


def results_only(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return verdicts without what was found: for faces that decide themselves what is next."""
    return [
        replace(verdict, findings=replace(verdict.findings, records=(), found=()))
        if verdict.findings.records or verdict.findings.found
        else verdict
        for verdict in verdicts
    ]


def put_host_clocks(
    connection: sqlite3.Connection, memory: Memory, clocks: Sequence[HostClock]
) -> None:
    """Keep what politeness remembers; a host whose parking changed leaves or joins the line."""
    for clock in clocks:
        values = {
            "host_id": memory.host_id(connection, clock.host),
            "next_allowed_at": clock.next_allowed_at,
            "delay_seconds": clock.delay_seconds,
            "address": clock.address,
            "failures_in_a_row": clock.failures_in_a_row,
            "parked_until": clock.parked_until,
            "parked_reason": clock.parked_reason,
        }
        connection.execute(QUERIES["park_host"], values)
        connection.execute(QUERIES["put_host_clock"], values)


def put_traps(connection: sqlite3.Connection, traps: Sequence[TrapCount]) -> None:
    """Keep the counts of shapes of URLs."""
    rows = [(trap.host, trap.pattern, trap.urls, trap.reason) for trap in traps]
    connection.executemany(QUERIES["put_trap"], rows)


def put_robots(connection: sqlite3.Connection, records: Sequence[RobotsRecord]) -> None:
    """Keep the latest robots.txt of authorities."""
    rows = [
        (
            record.authority, record.fetched_at, record.expires_at, record.status, record.outcome,
            record.body, record.crawl_delay, record.unreachable_since, record.failures,
            record.detail,
        )
        for record in records
    ]  # fmt: skip
    connection.executemany(QUERIES["put_robots"], rows)


def _is_first_page(verdict: Verdict, known: Facts, originals: dict[bytes, int]) -> bool:
    """Whether a page came well, at the first try of a URL of which nothing had come before."""
    findings = verdict.findings
    return (
        known.outcome is None
        and known.last_fetch is None
        and not (known.visits or known.tries)
        and findings.outcome == _OK
        and 200 <= findings.status < 300
        and findings.fetched_at > 0
        and findings.tries == 1
        and verdict.state == _DONE
        and verdict.due_at <= 0
        and findings.detail == ""
        and findings.redirect_to is None
        and (not originals or originals.get(findings.checksum or b"") in (None, findings.doc_id))
    )
