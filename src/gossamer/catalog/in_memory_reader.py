"""What anybody may ask of a catalog in memory; the readable half of `InMemoryCatalog`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nlargest
from itertools import islice
from typing import Final, Self

from msgspec.structs import replace

from gossamer.catalog.catalog import (
    Counts,
    Excluded,
    FetchRow,
    HostClock,
    HostRow,
    Learned,
    Notebook,
    Pending,
    RobotsRecord,
    Surveyed,
    TrapCount,
    UrlRow,
)
from gossamer.catalog.in_memory_leases import due_of, next_wait
from gossamer.catalog.in_memory_tables import Entry, Host, Tables
from gossamer.catalog.near import NearDuplicates
from gossamer.messages import Due, Kind, Pointer
from gossamer.outcomes import PAGE_OUTCOMES, Outcome, State
from gossamer.url.parts import md5_of

_PENDING: Final = int(State.PENDING)
_LEASED: Final = int(State.LEASED)
_DONE: Final = int(State.DONE)
_EXCLUDED: Final = int(State.EXCLUDED)
_FAILED: Final = int(State.FAILED)
_SCOPE: Final = int(Outcome.POLICY_SCOPE)
_STEP: Final = 2_000
_PREFIX_BYTES: Final = 8


class InMemoryReader:
    """Answers out of the tables; changes nothing."""

    _notebook: Notebook | None = None

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: what is known lives as long as this object."""

    def counts(self) -> Counts:
        """Return where all URLs stand."""
        tables = self._tables
        pending, leased, done, excluded, failed = tables.totals
        return Counts(
            discovered=pending + leased + done + excluded + failed,
            done=done,
            pending=pending,
            leased=leased,
            excluded=excluded,
            failed=failed,
            pages=tables.pages,
            duplicates=tables.duplicates,
            hosts=len(tables.hosts),
            fetches=len(tables.tries),
        )

    def pages_done(self) -> int:
        """Return how many URLs of kind PAGE have a document."""
        return self._tables.pages

    def outcome_counts(self) -> Mapping[Outcome, int]:
        """Return how many URLs ended in each outcome when last tried or judged."""
        return {Outcome(outcome): urls for outcome, urls in self._tables.outcomes.items() if urls}

    def fetched_since(self, since: float) -> int:
        """Return how many tries began after a moment."""
        return sum(fetched_at >= since for fetched_at in self._tables.tries.times())

    def pages_since(self, since: float) -> int:
        """Return how many tries began after a moment and brought a document."""
        tries = self._tables.tries
        return sum(
            fetched_at >= since and document.outcome in PAGE_OUTCOMES
            for fetched_at, document in zip(tries.times(), tries.documents, strict=True)
        )

    def first_fetched_at(self) -> float | None:
        """Return when the first try began."""
        return next(iter(self._tables.tries.times()[:1]), None)

    def last_fetched_at(self) -> float | None:
        """Return when the latest try began."""
        return next(iter(self._tables.tries.times()[-1:]), None)

    def host_rows(self, limit: int = 20) -> list[HostRow]:
        """Return the hosts with the most URLs."""
        largest = nlargest(
            limit, self._tables.hosts.values(), key=lambda host: (sum(host.counts), -host.host_id)
        )
        return [_host_row(host) for host in largest]

    def host_clocks(self, now: float) -> list[HostClock]:
        """Return the clocks of hosts that may not be visited yet or failed when last visited."""
        return [
            host.clock
            for host in self._tables.hosts.values()
            if max(host.clock.next_allowed_at, host.clock.parked_until) > now
            or host.clock.failures_in_a_row
        ]

    def host_clock(self, host: str) -> HostClock | None:
        """Return the clock of a host."""
        known = self._tables.hosts.get(host)
        return None if known is None else known.clock

    def robots(self, authority: str) -> RobotsRecord | None:
        """Return the latest robots.txt of an authority."""
        return self._tables.robots.get(authority)

    def traps(self, limit: int = 1_000_000) -> list[TrapCount]:
        """Return the counts of shapes of URLs, those in quarantine first."""
        traps = self._tables.traps
        # By their keys where nothing else decides, as in a database.
        ordered = sorted(traps, key=lambda key: (not traps[key].reason, -traps[key].urls, key))
        return [traps[key] for key in ordered[:limit]]

    def note(self, key: str) -> str | None:
        """Return a note about the whole crawl."""
        return self._tables.notes.get(key)

    def deaths(self, doc_ids: Iterable[int]) -> dict[int, int]:
        """Return how many workers each document has killed, for those that have."""
        deaths = self._tables.deaths
        return {doc_id: deaths[doc_id] for doc_id in doc_ids if doc_id in deaths}

    def next_due_at(self, now: float, held_hosts: Collection[str] = ()) -> float | None:
        """Return when something is or will be due; None when nothing is pending.

        What is due already at hosts that are held does not count.
        """
        if any(host.name not in held_hosts for host in self._tables.line.values()):
            return now
        wait = next_wait(self._tables)
        return None if wait is None else max(now, wait)

    def last_run_id(self) -> int:
        """Return the number of the latest run; 0 when there was none."""
        return len(self._tables.runs)

    def find(self, url: str) -> UrlRow | None:
        """Return what is known of a canonical URL."""
        entry = self._tables.by_md5.get(md5_of(url))
        return None if entry is None else self._url_row(entry)

    def row(self, doc_id: int) -> UrlRow | None:
        """Return what is known of one document."""
        entry = self._tables.entry(doc_id)
        return None if entry is None else self._url_row(entry)

    def history(self, doc_id: int) -> list[FetchRow]:
        """Return all tries of a URL, the latest first."""
        entry, tries = self._tables.entry(doc_id), self._tables.tries
        fetch_id = 0 if entry is None else entry.last_fetch
        rows = []
        while fetch_id:
            rows.append(tries.row(fetch_id))
            fetch_id = tries.previous(fetch_id)
        return rows

    def rows(self) -> Iterator[UrlRow]:
        """Go through all URLs in the order of their discovery, near duplicates grouped."""
        near = NearDuplicates()
        for entry in islice(self._tables.entries, len(self._tables.entries)):
            leader = _leader(self._tables, near, entry)
            url = None if leader is None else self._tables.entries[leader - 1].url
            yield self._url_row(entry, url)

    def near_duplicate_count(self) -> int:
        """Count documents near to an earlier one."""
        near = NearDuplicates()
        return sum(_leader(self._tables, near, entry) is not None for entry in self._tables.entries)

    def links(self) -> Iterator[tuple[str, str]]:
        """Go through the link graph: pairs of known URLs."""
        tables = self._tables
        by_prefix = {entry.md5[:_PREFIX_BYTES]: entry.url for entry in tables.entries}
        for doc_id in sorted(tables.links):
            url, targets = tables.entries[doc_id - 1].url, tables.links[doc_id]
            for start in range(0, len(targets), _PREFIX_BYTES):
                target = by_prefix.get(targets[start : start + _PREFIX_BYTES])
                if target is not None:
                    yield url, target

    def records(self) -> Iterator[tuple[str, str]]:
        """Go through what handlers made of documents: pairs of URL and JSON."""
        for doc_id, record in self._tables.records.values():
            yield self._tables.entries[doc_id - 1].url, record

    def excluded(self) -> Iterator[Excluded]:
        """Go through the URLs that were kept out, for another look when settings have changed."""
        for entry in self._tables.entries:
            if entry.state == _EXCLUDED:
                yield Excluded(
                    entry.doc_id, entry.url, entry.host.name, entry.depth, _outcome(entry.outcome)
                )

    def pending(self) -> Iterator[Pending]:
        """Go through the URLs that wait, for another look when settings have changed."""
        for entry in self._tables.entries:
            if entry.state == _PENDING:
                yield Pending(
                    entry.doc_id, entry.url, entry.host.name, entry.depth, Kind(entry.kind)
                )

    def find_content(self, checksum: bytes) -> tuple[str, float, str, Pointer] | None:
        """Return URL, time, payload digest and place of the first URL's document with this body."""
        doc_id, tries = self._tables.contents.get(checksum), self._tables.tries
        entry = None if doc_id is None else self._tables.entries[doc_id - 1]
        pointer = None if entry is None else tries.pointer(entry.last_page)
        if entry is None or pointer is None:
            return None
        page = tries.row(entry.last_page)
        return entry.url, page.fetched_at, page.payload_digest, pointer

    def bodies_after(self, fetch_id: int, limit: int) -> list[tuple[int, bytes | None]]:
        """Return tries after this one, each with the checksum of the body that it brought."""
        documents = self._tables.tries.documents[fetch_id : fetch_id + limit]
        return [(number, each.checksum) for number, each in enumerate(documents, fetch_id + 1)]

    def known_good(self) -> dict[str, int]:
        """Return up to which offset each archive file is known to be good."""
        return dict(self._tables.files)

    def data_version(self) -> int:
        """Return always the same: no other process can write here."""
        return 1

    # What the URL server and the store server of one workspace tell each other.

    def dues(self, doc_ids: Iterable[int]) -> dict[int, Due]:
        """Return what is known of documents that are leased now; results of others are stale."""
        entries = filter(None, map(self._tables.entry, doc_ids))
        return {
            entry.doc_id: due_of(self._tables, entry) for entry in entries if entry.state == _LEASED
        }

    def results_after(self, fetch_id: int, limit: int) -> list[Learned]:
        """Return the tries after this one, in their order, each with where its URL stands now."""
        last = min(fetch_id + limit, len(self._tables.tries))
        return [self._learned(number) for number in range(fetch_id + 1, last + 1)]

    def last_fetch_id(self) -> int:
        """Return the number of the latest try; 0 when there is none."""
        return len(self._tables.tries)

    def _learned(self, fetch_id: int) -> Learned:
        tables = self._tables
        document = tables.tries.documents[fetch_id - 1]
        entry = tables.entries[document.doc_id - 1]
        return Learned(
            fetch_id,
            entry.doc_id,
            entry.host.name,
            entry.url,
            Outcome(document.outcome or 0),
            document.status,
            tables.tries.times()[fetch_id - 1],
            State(entry.state),
            entry.due_at,
        )

    # What a map of one site needs.

    def known(self) -> Iterator[list[tuple[int, bytes, str, int]]]:
        """Go through the URLs in scope, in batches: number, key in the link graph, text, kind."""
        entries = self._tables.entries
        for start in range(0, len(entries), _STEP):
            rows = [
                (entry.doc_id, entry.md5[:_PREFIX_BYTES], entry.url, entry.kind)
                for entry in entries[start : start + _STEP]
                if entry.state != _EXCLUDED or entry.outcome != _SCOPE
            ]
            if rows:
                yield rows

    def surveyed(self, doc_id: int) -> Surveyed:
        """Return a document with its links and what a handler noted of it."""
        return self.surveyed_all([doc_id])[doc_id]

    def surveyed_all(self, doc_ids: Collection[int]) -> dict[int, Surveyed]:
        """Return such documents by their numbers; a notebook has the records of its own."""
        # A map asks for all that is known when nothing else is left to do: so most are found here,
        # without a call for each.
        entries, documents = self._tables.entries, self._tables.tries.documents
        count, has_notebook = len(entries), self._notebook is not None
        found: dict[int, Surveyed] = {}
        for doc_id in doc_ids:
            if not 0 < doc_id <= count:
                continue
            entry = entries[doc_id - 1]
            last = documents[entry.last_fetch - 1] if entry.last_fetch else None
            if has_notebook and last is not None and last.state == _DONE:
                found[doc_id] = last
            else:
                found[doc_id] = self._surveyed(entry, last)
        return found

    def _surveyed(self, entry: Entry, document: Surveyed | None) -> Surveyed:
        tables, doc_id = self._tables, entry.doc_id
        numbers = tables.records_of.get(doc_id)
        targets = tables.links.get(doc_id, b"")
        record = tables.records[numbers[-1]][1] if numbers else ""
        if document is None:
            return Surveyed(
                doc_id, entry.state, entry.outcome, entry.detail,
                0, 0, "", 0, None, None, None, "", targets, record,
            )  # fmt: skip
        return replace(
            document,
            state=entry.state,
            outcome=entry.outcome,
            detail=entry.detail or document.detail,
            targets=targets,
            record=record,
        )

    def kept_out_as(self, outcome: Outcome, detail: str) -> int:
        """Return how many URLs are kept out for this reason."""
        return sum(
            entry.state == _EXCLUDED and entry.outcome == outcome and entry.detail == detail
            for entry in self._tables.entries
        )

    def check(self) -> list[str]:
        """Return what is wrong with the accounting; nothing is the only good answer."""
        from gossamer.catalog.in_memory_check import check  # noqa: PLC0415 - for tests and bench

        return check(self._tables)

    def _url_row(self, entry: Entry, near_duplicate_of: str | None = None) -> UrlRow:
        entries, tries = self._tables.entries, self._tables.tries
        fetch = tries.row(entry.last_fetch) if entry.last_fetch else None
        visits, changes, _ = entry.plan
        return UrlRow(
            doc_id=entry.doc_id,
            url=entry.url,
            md5=entry.md5,
            host=entry.host.name,
            kind=Kind(entry.kind),
            state=State(entry.state),
            outcome=_outcome(entry.outcome),
            depth=entry.depth,
            priority=entry.priority,
            tries=entry.tries,
            deaths=self._tables.deaths.get(entry.doc_id, 0),
            found_at=entry.found_at,
            due_at=entry.due_at,
            next_fetch_at=entry.next_fetch_at,
            visits=visits,
            changes=changes,
            via=entry.via,
            detail=entry.detail or (fetch.detail if fetch is not None else ""),
            parent=None if entry.parent is None else entries[entry.parent - 1].url,
            duplicate_of=(
                None if entry.duplicate_of is None else entries[entry.duplicate_of - 1].url
            ),
            near_duplicate_of=near_duplicate_of,
            fetch=fetch,
        )


def _leader(tables: Tables, near: NearDuplicates, entry: Entry) -> int | None:
    """Return the earlier document that one is near to."""
    if not entry.last_fetch or entry.state != _DONE or entry.duplicate_of is not None:
        return None
    simhash = tables.tries.documents[entry.last_fetch - 1].simhash
    return None if simhash is None else near.place(entry.doc_id, simhash)


def _host_row(host: Host) -> HostRow:
    clock, counts = host.clock, host.counts
    return HostRow(
        host=host.name,
        done=counts[_DONE],
        pending=counts[_PENDING],
        leased=counts[_LEASED],
        excluded=counts[_EXCLUDED],
        failed=counts[_FAILED],
        next_allowed_at=clock.next_allowed_at,
        delay_seconds=clock.delay_seconds,
        address=clock.address,
        failures_in_a_row=clock.failures_in_a_row,
        parked_until=clock.parked_until,
        parked_reason=clock.parked_reason,
    )


def _outcome(number: int | None) -> Outcome | None:
    return None if number is None else Outcome(number)
