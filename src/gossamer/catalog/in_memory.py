"""The catalog in plain objects: for crawls that keep nothing, such as the map of a site.

It answers as `SqliteCatalog` does; what rules they share is in `judging.py`, and a property test
leads both through the same lives. There is no file: what is known lives as long as the object, and
only one thread may use it at a time.

There are no transactions either. What can be refused is refused before anything has changed; an
error in the middle of a change is ours, and after it nothing can be changed any more: the crawl
fails as a whole, and nobody goes on with half of a commit.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from gossamer.catalog import in_memory_leases as leases
from gossamer.catalog.catalog import (
    Committed,
    Gate,
    HostClock,
    Notebook,
    Recovery,
    RobotsRecord,
    TrapCount,
    Verdict,
)
from gossamer.catalog.in_memory_adopting import adopt
from gossamer.catalog.in_memory_commit import Commit, put_host_clocks, refuse_leases
from gossamer.catalog.in_memory_discover import discover, keep_out, readmit
from gossamer.catalog.in_memory_reader import InMemoryReader
from gossamer.catalog.in_memory_tables import Change, Tables
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import CatalogError
from gossamer.messages import Due, Found
from gossamer.outcomes import Outcome

# The wall clock may be corrected a little at any time; more than this is a step.
_STEP_SECONDS: Final = 60.0


class InMemoryCatalog(InMemoryReader):
    """What is known, for the life of this object."""

    def __init__(self, settings: CatalogSettings) -> None:
        super().__init__(Tables())
        self._settings = settings
        self._latest_now = 0.0
        self._longest_wait_seconds = 86_400.0
        self._is_whole = True

    def leave_notes_to(self, notebook: Notebook) -> None:
        """Have links and records of what is done kept there from now on."""
        self._notebook = notebook

    # What the writer asks.

    def begin_run(
        self,
        now: float,
        *,
        longest_wait_seconds: float = 86_400.0,
        keep_delivered_seconds: float | None = None,
    ) -> Recovery:
        """Start a run: leases return to pending, waits are cut to the longest there is.

        If the clock was set back since the last run, what waits does not wait for it to catch up.

        With `keep_delivered_seconds`, leases whose results are on their way are kept, if that is
        not longer ago than this.
        """
        self._longest_wait_seconds = longest_wait_seconds
        self._latest_now = now
        with self._changing("begin a run", now) as change:
            return leases.begin_run(
                self._tables, change, now, longest_wait_seconds, keep_delivered_seconds
            )

    def end_run(self, now: float) -> None:
        """Mark the stop as clean."""
        for run in self._tables.runs[-1:]:
            run.ended_at = now

    def add(
        self, found: Sequence[Found], now: float, *, priority: int = 0, note: str = ""
    ) -> list[int]:
        """Enter start URLs; return the ids of new ones. An excluded one becomes pending.

        `note`: a note that gets their texts as lines.
        """
        named = [(item, None) for item in found]
        with self._changing("add URLs", now) as change:
            if note:
                self.extend_note(note, [item.url for item, _ in named])
            return discover(self._tables, change, named, now, priority=priority, named=True)

    def discover(self, found: Iterable[Found], now: float) -> list[int]:
        """Enter URLs that no page led to, such as sitemaps; return the ids of new ones."""
        unnamed = [(item, None) for item in found]
        with self._changing("add URLs", now) as change:
            return discover(self._tables, change, unnamed, now)

    def due(
        self, count: int, per_host: int, now: float, reject_hosts: Collection[str] = ()
    ) -> list[Due]:
        """Lease up to `count` URLs, fair over hosts, breadth first inside a host."""
        with self._changing("lease URLs", now):
            if now < self._latest_now - _STEP_SECONDS:
                leases.shift_waits(self._tables, self._latest_now - now)
                leases.cut_waits(self._tables, now + self._longest_wait_seconds)
            self._latest_now = now
            return leases.lease(
                self._tables, now, count=count, per_host=per_host, reject_hosts=reject_hosts
            )

    def release(
        self, doc_ids: Iterable[int], now: float, *, due_at: float = 0.0, died: bool = False
    ) -> int:
        """Return leases unused; no try is counted, but a death is when `died`."""
        with self._changing("release URLs", now) as change:
            return leases.release(self._tables, change, doc_ids, due_at, died=died)

    def commit(
        self,
        verdicts: Sequence[Verdict],
        now: float,
        hosts: Sequence[HostClock] = (),
        traps: Sequence[TrapCount] = (),
        robots: Sequence[RobotsRecord] = (),
        gate: Gate | None = None,
    ) -> Committed:
        """Keep verdicts, their new URLs and all that is given with them."""
        tables = self._tables
        refuse_leases(tables, verdicts)
        if gate is not None:
            gate.begin(self._is_open)
        committed = Committed(0, 0, 0)
        with self._changing("commit findings", now) as change:
            if verdicts:
                batch = Commit(tables, change, self._settings, now, gate, self._notebook)
                committed = batch.apply(verdicts)
        with self._changing("commit findings", now):
            put_host_clocks(tables, hosts)
            changed = gate.changed() if gate is not None else ()
            tables.traps.update(((trap.host, trap.pattern), trap) for trap in (*traps, *changed))
            tables.robots.update((record.authority, record) for record in robots)
        if gate is not None:
            gate.end()
        return committed

    def requeue_due(self, now: float, limit: int) -> int:
        """Turn done and failed URLs whose next fetch has come into pending ones; count them."""
        with self._changing("requeue URLs", now) as change:
            leases.cut_recrawls(self._tables, now + self._settings.recrawl_max_seconds)
            return leases.requeue(self._tables, change, now, limit)

    def try_again(
        self, outcomes: Iterable[int], tries: int, now: float, *, statuses: Iterable[int] = ()
    ) -> int:
        """Turn URLs that failed so, in fewer tries than this, into pending ones; count them.

        So: with one of these outcomes, or with one of these statuses.
        """
        ways = frozenset(outcomes), frozenset(statuses)
        with self._changing("requeue URLs", now) as change:
            return leases.try_again(self._tables, change, *ways, tries)

    def readmit(self, doc_ids: Iterable[int], now: float) -> int:
        """Turn excluded URLs into pending ones; return how many."""
        with self._changing("readmit URLs", now) as change:
            return readmit(self._tables, change, doc_ids)

    def keep_out(
        self, doc_ids: Iterable[int], outcome: Outcome, now: float, detail: str = ""
    ) -> int:
        """Turn pending URLs into excluded ones; return how many."""
        with self._changing("keep URLs out", now) as change:
            return keep_out(self._tables, change, doc_ids, outcome, detail)

    def set_host(self, clock: HostClock) -> None:
        """Keep what politeness remembers of a host."""
        self.commit((), 0.0, hosts=(clock,))

    def put_robots(self, record: RobotsRecord) -> None:
        """Keep the latest robots.txt of an authority."""
        self.commit((), 0.0, robots=(record,))

    def put_note(self, key: str, value: str) -> None:
        """Keep a note about the whole crawl."""
        self._tables.notes[key] = value

    def extend_note(self, key: str, lines: Iterable[str]) -> list[str]:
        """Add lines to a note unless it has them; return all its lines."""
        every = list(dict.fromkeys([*(self.note(key) or "").splitlines(), *lines]))
        self.put_note(key, "\n".join(every))
        return every

    # What the URL server and the store server of one workspace tell each other.

    def mark_delivered(self, doc_ids: Iterable[int], now: float) -> int:
        """Note that results of leased documents are on their way to the store server."""
        leased = self.dues(doc_ids)
        self._tables.delivered.update(dict.fromkeys(leased, now))
        return len(leased)

    def release_undelivered(self, now: float, older_than_seconds: float) -> int:
        """Return leases to pending whose results were on their way for longer than this."""
        since = now - older_than_seconds
        with self._changing("release URLs", now) as change:
            return leases.release_delivered(self._tables, change, now, since, others=False)

    def adopt(
        self, found: Sequence[Found], parent_doc_id: int | Sequence[int | None] | None, now: float
    ) -> list[Due | None]:
        """Lease URLs whose results came unordered; None for those that are settled already."""
        if parent_doc_id is None or isinstance(parent_doc_id, int):
            parent_doc_id = [parent_doc_id] * len(found)
        with self._changing("adopt URLs", now) as change:
            return adopt(self._tables, change, found, parent_doc_id, now)

    def _is_open(self, name: str) -> bool:
        host = self._tables.hosts.get(name)
        if host is None:
            return False
        pending, leased, done, _, failed = host.counts
        return pending + leased + done + failed > 0 or host.clock.address != ""

    @contextmanager
    def _changing(self, what: str, now: float) -> Iterator[Change]:
        if not self._is_whole:
            raise CatalogError(
                f"cannot {what}: an error has left the catalog in memory half changed"
            )
        self._is_whole = False
        change = Change(self._tables)
        yield change
        change.end(now)
        self._is_whole = True
