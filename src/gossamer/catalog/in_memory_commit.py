"""Commits of a catalog in memory: what visits brought, by the rules of `commit.py`."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.catalog import Committed, Gate, HostClock, Notebook, Surveyed, Verdict
from gossamer.catalog.in_memory_discover import Finding, discover, expel
from gossamer.catalog.in_memory_tables import Change, Entry, Tables, wait_until
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
        self._noted: list[tuple[int, str]] = []

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
            entry.last_fetch = self._keep_fetch(findings, state, entry, is_noted=is_noted)
            if state == _DONE and findings.is_page:
                entry.last_page = entry.last_fetch
                tables.pages += not earlier and entry.kind == _PAGE
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
        if is_noted:
            self._noted.append((entry.doc_id, (findings.records or ("",))[-1]))
        else:
            is_replaced = earlier > 0 and state != _PENDING and outcome in SUCCESSORS
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
        before = None
        if entry.last_page:
            document = self._tables.tries.documents[entry.last_page - 1]
            before = document.checksum, document.redirect_to
        changed = visits > 0 and is_changed(findings, entry.outcome, before)
        interval = next_interval(interval, changed=changed, settings=self._settings)
        entry.plan = visits + 1, changes + changed, interval
        entry.next_fetch_at = verdict.due_at if verdict.due_at > 0 else self._now + interval

    def _keep_fetch(self, findings: Findings, state: int, entry: Entry, *, is_noted: bool) -> int:
        """Add a try to the history; return its number."""
        tries = self._tables.tries
        document = Surveyed(
            entry.doc_id,
            state,
            findings.outcome,
            findings.detail,
            findings.status,
            findings.milliseconds,
            tries.shared(findings.content_type),
            findings.body_bytes,
            findings.checksum,
            signed(findings.simhash),
            findings.redirect_to,
            findings.title,
            findings.targets if is_noted and self._settings.keep_links else b"",
        )
        etag, last_modified = findings.etag, findings.last_modified
        if entry.last_page and findings.outcome == NOT_MODIFIED:
            document = _vouched_for(document, tries.documents[entry.last_page - 1])
            earlier = tries.validators(entry.last_page)
            etag, last_modified = etag or earlier[0], last_modified or earlier[1]
        pointer = findings.pointer
        if pointer is not None:
            files, end = self._tables.files, pointer.offset + pointer.length
            files[pointer.file] = max(files.get(pointer.file, 0), end)
        tries.documents.append(document)
        return tries.add(findings, entry.last_fetch, etag, last_modified)

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


def _vouched_for(document: Surveyed, before: Surveyed) -> Surveyed:
    """Return a document of which the server says that it is the one we have."""
    return replace(
        document,
        checksum=before.checksum,
        signed_simhash=before.signed_simhash,
        content_type=before.content_type,
        title=before.title,
    )


def put_host_clocks(tables: Tables, clocks: Sequence[HostClock]) -> None:
    """Keep what politeness remembers; a host whose parking changed leaves or joins the line."""
    for clock in clocks:
        host = tables.host(clock.host)
        if host.clock.parked_until != clock.parked_until:
            tables.line.pop(host.host_id, None)
            wait_until(tables, host, clock.parked_until if host.counts[_PENDING] else None)
        host.clock = clock
