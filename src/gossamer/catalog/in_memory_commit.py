"""Commits of a catalog in memory: what visits brought, by the rules of `commit.py`."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.catalog import Committed, Gate, HostClock, Notebook, Surveyed, Verdict
from gossamer.catalog.in_memory_discover import Finding, discover, expel
from gossamer.catalog.in_memory_tables import Change, Entry, Tables, Try, wait_until
from gossamer.catalog.judging import (
    NO_TRY,
    NOT_MODIFIED,
    SUCCESSORS,
    has_content,
    is_changed,
    kept_out,
    signed,
)
from gossamer.catalog.recrawl import next_interval
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import CatalogError
from gossamer.messages import Findings, Kind
from gossamer.outcomes import State

# Plain numbers: to look a member up and to compare with it costs several times as much.
_PENDING: Final = int(State.PENDING)
_LEASED: Final = int(State.LEASED)
_DONE: Final = int(State.DONE)
_FAILED: Final = int(State.FAILED)
_PAGE: Final = int(Kind.PAGE)


def refuse_leases(tables: Tables, verdicts: Sequence[Verdict]) -> None:
    """Complain, before anything has changed, of a verdict that is none."""
    for verdict in verdicts:
        if verdict.state is not State.LEASED:
            continue
        entry = tables.entry(verdict.findings.doc_id)
        if entry is not None and entry.state == _LEASED:
            raise CatalogError(
                f"cannot commit document {entry.doc_id}: a verdict cannot be a lease"
            )


class Commit:
    """One transaction's worth of verdicts."""

    def __init__(
        self,
        tables: Tables,
        change: Change,
        settings: CatalogSettings,
        now: float,
        gate: Gate | None,
        notebook: Notebook | None,
    ) -> None:
        self._tables = tables
        self._change = change
        self._settings = settings
        self._now = now
        self._gate = gate
        self._notebook = notebook
        self._first_interval = next_interval(None, changed=False, settings=settings)
        # One object each for all documents that are visited for the first time.
        self._first_plan = 1, 0, self._first_interval
        self._first_revisit_at = now + self._first_interval
        self._found: list[Finding] = []
        self._noted: list[tuple[Surveyed, str]] = []

    def apply(self, verdicts: Sequence[Verdict]) -> Committed:
        """Judge documents that are leased and enter what was found; others are stale."""
        tables, change, gate = self._tables, self._change, self._gate
        stale = []
        pages = tables.pages
        for verdict in verdicts:
            findings = verdict.findings
            entry = tables.entry(findings.doc_id)
            if entry is None or entry.state != _LEASED:
                stale.append(findings.doc_id)
                continue
            first = not entry.plan[0]
            self._judge(verdict, findings, entry)
            if first and gate is not None and entry.priority < 0 and entry.parent is not None:
                gate.judged(tables.entries[entry.parent - 1].url, findings)
        new_urls = discover(tables, change, self._found, self._now, gate=gate)
        if gate is not None:
            expel(tables, change, gate)
        if self._notebook is not None:
            self._notebook.keep(self._noted)
        applied = len(verdicts) - len(stale)
        return Committed(applied, len(new_urls), tables.pages - pages, tuple(stale))

    def _judge(self, verdict: Verdict, findings: Findings, entry: Entry) -> None:
        tables, settings = self._tables, self._settings
        state, outcome = int(verdict.state), findings.outcome
        earlier = entry.last_page
        # What waits outside (robots.txt, DNS, policy) was no fetch and leaves no history.
        is_fetched = findings.fetched_at > 0
        is_noted = is_fetched and state == _DONE and self._notebook is not None
        entry.duplicate_of = self._duplicate_of(findings, state, entry)
        self._plan(verdict, findings, entry)
        if is_fetched:
            entry.detail = ""
            entry.last_fetch = fetched = self._keep_fetch(findings, state, entry, is_noted=is_noted)
            if state == _DONE and findings.is_page:
                entry.last_page = fetched
                tables.pages += earlier is None and entry.kind == _PAGE
        else:
            entry.detail = findings.detail
        if outcome not in NO_TRY:
            entry.tries = max(entry.tries + 1, findings.tries)
        tables.judge(entry.outcome, outcome)
        entry.outcome = outcome
        entry.state = state
        if tables.delivered:
            tables.delivered.pop(entry.doc_id, None)
        if state == _PENDING:
            entry.due_at = verdict.due_at
            self._change.put(entry, _LEASED)
        else:
            entry.due_at = 0.0
            self._change.move(entry.host, _LEASED, state)
        if not is_noted:
            is_replaced = earlier is not None and state != _PENDING and outcome in SUCCESSORS
            self._keep_notes(findings, entry.doc_id, is_replaced=is_replaced)
        if findings.found:
            is_copy = entry.duplicate_of is not None and not settings.follow_duplicates
            found = map(kept_out, findings.found) if is_copy else findings.found
            doc_id = entry.doc_id
            self._found += [(item, doc_id) for item in found]

    def _duplicate_of(self, findings: Findings, state: int, entry: Entry) -> int | None:
        owner = None
        if has_content(findings):
            assert findings.checksum is not None
            owner = self._tables.contents.setdefault(findings.checksum, entry.doc_id)
        before = entry.duplicate_of
        if state == _PENDING or findings.outcome == NOT_MODIFIED:
            return before
        duplicate_of = None if owner == entry.doc_id else owner
        self._tables.duplicates += (duplicate_of is not None) - (before is not None)
        return duplicate_of

    def _plan(self, verdict: Verdict, findings: Findings, entry: Entry) -> None:
        """Count the visit, and note when the next one is due."""
        if verdict.state not in (_DONE, _FAILED):
            entry.next_fetch_at = None
            return
        visits, changes, interval = entry.plan
        if interval is None:
            entry.plan = self._first_plan
            entry.next_fetch_at = verdict.due_at if verdict.due_at > 0 else self._first_revisit_at
            return
        page = entry.last_page
        before = None if page is None else (page.document.checksum, page.document.redirect_to)
        changed = visits > 0 and is_changed(findings, entry.outcome, before)
        interval = next_interval(interval, changed=changed, settings=self._settings)
        entry.plan = visits + 1, changes + changed, interval
        entry.next_fetch_at = verdict.due_at if verdict.due_at > 0 else self._now + interval

    def _keep_fetch(self, findings: Findings, state: int, entry: Entry, *, is_noted: bool) -> Try:
        tables = self._tables
        pointer = findings.pointer
        if pointer is not None:
            end = pointer.offset + pointer.length
            tables.files[pointer.file] = max(tables.files.get(pointer.file, 0), end)
        content_type = findings.content_type
        document = Surveyed(
            entry.doc_id,
            state,
            findings.outcome,
            findings.detail,
            findings.status,
            findings.milliseconds,
            tables.texts.setdefault(content_type, content_type),
            findings.body_bytes,
            findings.checksum,
            signed(findings.simhash),
            findings.redirect_to,
            findings.title,
            findings.targets if is_noted and self._settings.keep_links else b"",
        )
        if is_noted:
            self._noted.append((document, (findings.records or ("",))[-1]))
        last = entry.last_fetch
        fetched = Try(
            len(tables.tries) + 1,
            None if last is None else last.fetch_id,
            findings.fetched_at,
            findings.wire_bytes,
            findings.etag,
            findings.last_modified,
            pointer,
            findings.payload_digest,
            document,
        )
        if entry.last_page is not None and findings.outcome == NOT_MODIFIED:
            fetched = _vouched_for(fetched, entry.last_page)
        tables.tries.append(fetched)
        return fetched

    def _keep_notes(self, findings: Findings, doc_id: int, *, is_replaced: bool) -> None:
        """Keep links and records of a document that nobody else keeps."""
        tables = self._tables
        if (findings.targets or is_replaced) and self._settings.keep_links:
            tables.links[doc_id] = findings.targets
        if is_replaced:
            for number in tables.records_of.pop(doc_id, ()):
                del tables.records[number]
        for record in findings.records:
            tables.last_record += 1
            tables.records[tables.last_record] = doc_id, record
            tables.records_of.setdefault(doc_id, []).append(tables.last_record)


def _vouched_for(fetched: Try, before: Try) -> Try:
    """Return a try of which the server says that the document is the one we have."""
    document = before.document
    return replace(
        fetched,
        etag=fetched.etag or before.etag,
        last_modified=fetched.last_modified or before.last_modified,
        document=replace(
            fetched.document,
            checksum=document.checksum,
            signed_simhash=document.signed_simhash,
            content_type=document.content_type,
            title=document.title,
        ),
    )


def put_host_clocks(tables: Tables, clocks: Sequence[HostClock]) -> None:
    """Keep what politeness remembers; a host whose parking changed leaves or joins the line."""
    for clock in clocks:
        host = tables.host(clock.host)
        if host.clock.parked_until != clock.parked_until:
            tables.line.pop(host.host_id, None)
            wait_until(tables, host, clock.parked_until if host.counts[_PENDING] else None)
        host.clock = clock
