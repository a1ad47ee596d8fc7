"""The catalog on SQLite: one file, one writer at a time, any number of readers.

Of one object only one thread may call at a time; other threads and processes open their own for
reading. Several processes may write if all of them open it `shared`: each then looks, at the
beginning of a transaction, whether another has given out numbers meanwhile.
"""

import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Self

from gossamer.catalog import commit, handover, leases, waiting
from gossamer.catalog.catalog import (
    Committed,
    Gate,
    HostClock,
    Learned,
    Recovery,
    RobotsRecord,
    TrapCount,
    Verdict,
)
from gossamer.catalog.connection import Database, open_for_reading, open_for_writing
from gossamer.catalog.discover import discover, readmit
from gossamer.catalog.memory import Memory
from gossamer.catalog.migrate import (
    Migration,
    migrate,
    refuse_newer,
    schema_version,
    shipped_migrations,
    shipped_schema,
)
from gossamer.catalog.queries import QUERIES
from gossamer.catalog.sqlite_reader import SqliteReader
from gossamer.catalog.tally import Tally
from gossamer.catalog.throttle import Throttle
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import WorkspaceError
from gossamer.messages import Due, Found
from gossamer.outcomes import Outcome

# The wall clock may be corrected a little at any time; more than this is a step.
_STEP_SECONDS: Final = 60.0
_REQUEUED_AT_ONCE: Final = 10_000


class SqliteCatalog(SqliteReader):
    """What is known, in one SQLite file; `:memory:` keeps it for the life of the object only."""

    _throttle: Throttle | None = None
    _syncs_leases = False
    """A lease that a loss of power undoes is a pending URL: what every lease becomes after it."""
    _changes_by_itself = False
    """Whether URLs are changed by more than `Catalog` has, which `Memory` would not know."""

    def __init__(
        self, database: Database, settings: CatalogSettings, *, shared: bool = False
    ) -> None:
        super().__init__(database)
        self._settings = settings
        self._shared = shared
        self._memory: Memory | None = None
        self._seen_version = 0
        self._longest_wait_seconds = 86_400.0
        self._latest_now = 0.0

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        settings: CatalogSettings,
        *,
        read_only: bool = False,
        shared: bool = False,
        migrations: Sequence[Migration] | None = None,
    ) -> Self:
        """Open a catalog; for writing, it is created or brought up to date first.

        `shared`: other processes may write to it at the same time.
        """
        path = os.fspath(path)
        steps = shipped_migrations() if migrations is None else migrations
        whole = shipped_schema if migrations is None else None
        if read_only:
            database = open_for_reading(path, settings.cache_bytes)
        else:
            database = open_for_writing(path, settings.cache_bytes, shared=shared)
        try:
            with database.doing("open"):
                if read_only:
                    _refuse_other_schema(database.connection, path, steps)
                else:
                    migrate(database.connection, path, steps, time.time(), whole)
                return cls(database, settings, shared=shared)
        except BaseException:
            database.close()
            raise

    # What the writer asks.

    def begin_run(
        self,
        now: float,
        *,
        longest_wait_seconds: float = 86_400.0,
        keep_delivered_seconds: float | None = None,
    ) -> Recovery:
        """Start a run: leases return to pending, stored waits are cut to the longest there is.

        If the clock was set back since the last run, what waits does not wait for it to catch up.

        With `keep_delivered_seconds`, leases whose results are on their way are kept, if that is
        not longer ago than this.
        """
        self._longest_wait_seconds = longest_wait_seconds
        self._latest_now = now
        with self._counting("begin a run", now) as (connection, memory, tally):
            memory.forget_leases()
            # Of those who share a catalog, some may go by the clock of another machine.
            last = leases.last_moment(connection, by_fetches=not self._shared)
            if now < last:
                leases.shift_waits(connection, last - now)
            return leases.begin_run(
                connection, tally, now, longest_wait_seconds, keep_delivered_seconds
            )

    def last_run_id(self) -> int:
        """Return the number of the latest run; 0 when there was none."""
        with self._database.doing("read the latest run") as connection:
            row = connection.execute(QUERIES["last_run"]).fetchone()
        return 0 if row is None else int(row[0])

    def end_run(self, now: float) -> None:
        """Mark the stop as clean."""
        with self._writing("end a run") as (connection, _):
            connection.execute(QUERIES["end_run"], (now,))

    def add(
        self, found: Sequence[Found], now: float, *, priority: int = 0, note: str = ""
    ) -> list[int]:
        """Enter start URLs; return the ids of new ones. An excluded one becomes pending.

        `note`: a note that gets their texts as lines, in the same transaction.
        """
        with self._counting("add URLs", now) as (connection, memory, tally):
            if note:
                _extend_note(connection, note, [item.url for item in found])
            named = ((item, None) for item in found)
            return discover(connection, memory, tally, named, now, priority=priority, named=True)

    def discover(self, found: Iterable[Found], now: float) -> list[int]:
        """Enter URLs that no page led to, such as sitemaps; return the ids of new ones."""
        with self._counting("add URLs", now) as (connection, memory, tally):
            return discover(connection, memory, tally, ((item, None) for item in found), now)

    def due(
        self, count: int, per_host: int, now: float, reject_hosts: Collection[str] = ()
    ) -> list[Due]:
        """Lease up to `count` URLs, fair over hosts, breadth first inside a host."""
        with self._writing("lease URLs", synced=self._syncs_leases) as (connection, memory):
            if now < self._latest_now - _STEP_SECONDS:
                leases.shift_waits(connection, self._latest_now - now)
                leases.cut_waits(connection, now + self._longest_wait_seconds)
            self._latest_now = now
            return self._lease(connection, memory, count, per_host, now, reject_hosts)

    def _lease(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        count: int,
        per_host: int,
        now: float,
        reject_hosts: Collection[str],
    ) -> list[Due]:
        """Lease, inside a transaction."""
        return leases.lease(
            connection,
            memory,
            now,
            count=count,
            per_host=per_host,
            reject_hosts=reject_hosts,
            throttle=self._throttle,
        )

    def next_due_at(self, now: float, held_hosts: Collection[str] = ()) -> float | None:
        """Return when something is or will be due; None when nothing is pending.

        What is due already at hosts that are held does not count.
        """
        with self._database.reading("look for due URLs") as connection:
            held = json.dumps(list(held_hosts))
            if connection.execute(QUERIES["next_in_line"], (held,)).fetchone() is not None:
                return now
            wait: float | None = connection.execute(QUERIES["next_wait"]).fetchone()[0]
        return None if wait is None else max(now, wait)

    def release(
        self, doc_ids: Iterable[int], now: float, *, due_at: float = 0.0, died: bool = False
    ) -> int:
        """Return leases unused; no try is counted, but a death is when `died`."""
        with self._counting("release URLs", now) as (connection, memory, tally):
            return leases.release(connection, memory, doc_ids, tally, due_at, died=died)

    def commit(
        self,
        verdicts: Sequence[Verdict],
        now: float,
        hosts: Sequence[HostClock] = (),
        traps: Sequence[TrapCount] = (),
        robots: Sequence[RobotsRecord] = (),
        gate: Gate | None = None,
    ) -> Committed:
        """Make verdicts, their new URLs and all that is given with them durable together."""
        if gate is not None:
            gate.begin(self._is_open)
        committed = Committed(0, 0, 0)
        with self._writing("commit findings") as (connection, memory):
            if verdicts:
                committed = self._apply(connection, memory, verdicts, now, gate)
            commit.put_host_clocks(connection, memory, hosts)
            commit.put_traps(connection, [*traps, *gate.changed()] if gate else traps)
            commit.put_robots(connection, robots)
        if gate is not None:
            gate.end()
        return committed

    def _apply(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        verdicts: Sequence[Verdict],
        now: float,
        gate: Gate | None,
    ) -> Committed:
        """Commit verdicts, inside a transaction."""
        batch = commit.Commit(connection, memory, self._settings, now, gate)
        return batch.apply(verdicts)

    def requeue_due(self, now: float, limit: int) -> int:
        """Turn done and failed URLs whose next fetch has come into pending ones; count them.

        In several transactions, so that neither memory nor the log grows with their number.
        """
        requeued = 0
        with self._writing("cut waits") as (connection, _):
            leases.cut_recrawls(connection, now + self._settings.recrawl_max_seconds)
        while requeued < limit:
            wanted = min(limit - requeued, _REQUEUED_AT_ONCE)
            with self._counting("requeue URLs", now) as (connection, _, tally):
                found = leases.requeue(connection, tally, now, wanted)
            requeued += found
            if found < wanted:
                break
        return requeued

    def try_again(
        self, outcomes: Iterable[int], tries: int, now: float, *, statuses: Iterable[int] = ()
    ) -> int:
        """Turn URLs that failed so, in fewer tries than this, into pending ones; count them.

        So: with one of these outcomes, or with one of these statuses.
        """
        with self._counting("requeue URLs", now) as (connection, _, tally):
            return leases.try_again(connection, tally, outcomes, statuses, tries)

    def readmit(self, doc_ids: Iterable[int], now: float) -> int:
        """Turn excluded URLs into pending ones; return how many."""
        with self._counting("readmit URLs", now) as (connection, _, tally):
            return readmit(connection, tally, doc_ids)

    def keep_out(
        self, doc_ids: Iterable[int], outcome: Outcome, now: float, detail: str = ""
    ) -> int:
        """Turn pending URLs into excluded ones; return how many."""
        with self._counting("keep URLs out", now) as (connection, memory, tally):
            if memory.entered is not None:
                memory.entered.forget()
            return waiting.keep_out(connection, tally, doc_ids, outcome, detail)

    def set_host(self, clock: HostClock) -> None:
        """Keep what politeness remembers of a host."""
        self.commit((), 0.0, hosts=(clock,))

    def put_robots(self, record: RobotsRecord) -> None:
        """Keep the latest robots.txt of an authority."""
        self.commit((), 0.0, robots=(record,))

    def put_note(self, key: str, value: str) -> None:
        """Keep a note about the whole crawl: start URLs, a fingerprint of the settings."""
        with self._writing("keep a note") as (connection, _):
            connection.execute(QUERIES["put_note"], (key, value))

    def extend_note(self, key: str, lines: Iterable[str]) -> list[str]:
        """Add lines to a note unless it has them; return all its lines."""
        with self._writing("keep a note") as (connection, _):
            return _extend_note(connection, key, lines)

    # What the URL server and the store server of one workspace tell each other.

    def mark_delivered(self, doc_ids: Iterable[int], now: float) -> int:
        """Note that results of leased documents are on their way to the store server."""
        with self._writing("mark deliveries") as (connection, _):
            return handover.mark_delivered(connection, doc_ids, now)

    def release_undelivered(self, now: float, older_than_seconds: float) -> int:
        """Return leases to pending whose results were on their way for longer than this."""
        with self._counting("release URLs", now) as (connection, memory, tally):
            memory.forget_leases()
            return handover.release_undelivered(connection, tally, now, older_than_seconds)

    def adopt(
        self, found: Sequence[Found], parent_doc_id: int | Sequence[int | None] | None, now: float
    ) -> list[Due | None]:
        """Lease URLs whose results came unordered; None for those that are settled already."""
        if parent_doc_id is None or isinstance(parent_doc_id, int):
            parent_doc_id = [parent_doc_id] * len(found)
        with self._counting("adopt URLs", now) as (connection, memory, tally):
            return handover.adopt(connection, memory, tally, found, parent_doc_id, now)

    def dues(self, doc_ids: Iterable[int]) -> dict[int, Due]:
        """Return what is known of documents that are leased now; results of others are stale."""
        with self._database.doing("read leases") as connection:
            return handover.dues(connection, doc_ids)

    def results_after(self, fetch_id: int, limit: int) -> list[Learned]:
        """Return the tries after this one, in their order, each with where its URL stands now."""
        with self._database.doing("read results") as connection:
            return handover.results_after(connection, fetch_id, limit)

    def last_fetch_id(self) -> int:
        """Return the number of the latest try; 0 when there is none."""
        with self._database.doing("read the latest fetch") as connection:
            return int(connection.execute(QUERIES["highest_fetch_id"]).fetchone()[0])

    def data_version(self) -> int:
        """Return a number that differs from the last one if another process has written since."""
        with self._database.doing("look for changes") as connection:
            return _data_version(connection)

    def _is_open(self, host: str) -> bool:
        row = self._database.connection.execute(QUERIES["is_open"], (host,)).fetchone()
        return row is not None and bool(row[0])

    @contextmanager
    def _writing(
        self, what: str, *, synced: bool = True
    ) -> Iterator[tuple[sqlite3.Connection, Memory]]:
        try:
            with self._database.writing(what, synced=synced) as connection:
                yield connection, self._numbers(connection)
        except BaseException:
            # Numbers given out in a transaction that failed must be given out again.
            self._memory = None
            raise

    def _numbers(self, connection: sqlite3.Connection) -> Memory:
        """Return the numbers to give out, as they are inside this transaction."""
        if self._shared:
            version = _data_version(connection)
            if self._memory is not None and version != self._seen_version:
                self._memory.reread(connection)
            self._seen_version = version
        if self._memory is None:
            is_alone = not self._shared and not self._changes_by_itself
            self._memory = Memory(connection, is_alone=is_alone)
        return self._memory

    @contextmanager
    def _counting(
        self, what: str, now: float
    ) -> Iterator[tuple[sqlite3.Connection, Memory, Tally]]:
        with self._writing(what) as (connection, memory):
            tally = Tally()
            yield connection, memory, tally
            tally.write(connection, memory.new_turn(), now)


def _extend_note(connection: sqlite3.Connection, key: str, lines: Iterable[str]) -> list[str]:
    row = connection.execute(QUERIES["note"], (key,)).fetchone()
    earlier = row[0].splitlines() if row is not None else []
    every = list(dict.fromkeys([*earlier, *lines]))
    connection.execute(QUERIES["put_note"], (key, "\n".join(every)))
    return every


def _data_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _refuse_other_schema(
    connection: sqlite3.Connection, path: str, steps: Sequence[Migration]
) -> None:
    version = schema_version(connection, path)
    refuse_newer(version, steps, path)
    if version == 0:
        raise WorkspaceError(
            f"cannot open catalog {path}: there is nothing in it yet; "
            "if a crawl has just begun here, try again in a moment"
        )
    if version < steps[-1].version:
        raise WorkspaceError(
            f"cannot open catalog {path}: older schema {version} than {steps[-1].version}; "
            "run a crawl in this workspace once to upgrade it"
        )
