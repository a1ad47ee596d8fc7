"""The catalog of the crawling service: members of sites become due in batches, visits end them."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from gossamer.catalog.batch_facts import BatchOrder, BatchState, ItemRow, Memo, Wanted
from gossamer.catalog.batches import BatchCommit
from gossamer.catalog.catalog import Committed, Gate, Verdict
from gossamer.catalog.commit import results_only
from gossamer.catalog.connection import Database
from gossamer.catalog.memory import Memory
from gossamer.catalog.site_book import BATCHES
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.catalog.tally import Tally
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Due
from gossamer.objects.file_references import ReadFile


class ServiceCatalog(SqliteCatalog):
    """What is known, with what it is to the sites of the service."""

    # A lease may end members of sites, too.
    _syncs_leases = True
    _changes_by_itself = True

    def __init__(
        self, database: Database, settings: CatalogSettings, *, shared: bool = False
    ) -> None:
        super().__init__(database, settings, shared=shared)
        self._memo = Memo()
        self._members_version: tuple[bytes] | None = None

    @property
    def database(self) -> Database:
        """The database, for what only reads."""
        return self._database

    def use_files(self, read_file: ReadFile) -> None:
        """Let properties refer to files that are read in this way."""
        self._memo.requests.read_file = read_file

    @contextmanager
    def changing(
        self, what: str, now: float, *, keeps_members: bool = False
    ) -> Iterator[tuple[sqlite3.Connection, Memory, Tally]]:
        """Give what one transaction needs: all of it happens, or nothing.

        `keeps_members`: sites keep their URLs and what they want of others; so an engine need not
        forget which URLs they were told of.
        """
        with self._counting(what, now) as context:
            yield context
            if not keeps_members:
                self._members_version = context[0].execute(BATCHES["members_changed"]).fetchone()
                self._memo.forget()

    # Batches.

    def accept_batch(
        self, order: BatchOrder, items: Sequence[Wanted], now: float
    ) -> tuple[int, list[tuple[int, int]]]:
        """Begin a batch of members; return its number and its items, by set and document.

        What is not crawled when its time is over is new again.
        """
        with self._writing("accept a batch") as (connection, memory):
            return BatchCommit(connection, memory, self._memo, now).accept(order, items)

    def make_batch(
        self,
        kind: int,
        size: int,
        now: float,
        seconds: float,
        max_batches: int,
        *,
        ttl: float | None = None,
        max_iterations: int = 1,
        grace: float = 0.0,
    ) -> tuple[int, list[tuple[int, int]]]:
        """Select new URLs and begin a batch of them, unless enough batches are open.

        It may take so many seconds from its first request on, for which it waits until `ttl`; so
        many before its end (`grace`) it takes no more URLs.
        """
        if self.open_batches(kind) >= max_batches:
            # Most of the time; then nobody who writes is kept waiting.
            return 0, []
        with self._writing("make a batch") as (connection, memory):
            (count,) = connection.execute(BATCHES["open_batches"], (kind,)).fetchone()
            if count >= max_batches:
                return 0, []
            order = BatchOrder(kind, seconds, ttl, max_iterations, grace=grace)
            return BatchCommit(connection, memory, self._memo, now).make(order, size)

    def go_on(self, batch_id: int, now: float) -> None:
        """Begin the next iteration of a batch that has paused; without one it is over."""
        with self._writing("go on with a batch") as (connection, memory):
            BatchCommit(connection, memory, self._memo, now).go_on(batch_id)

    def return_stuck(self, now: float, older_than_seconds: float, limit: int) -> int:
        """Have members crawled again that nobody has spoken of for so long; return how many."""
        with self._writing("return URLs") as (connection, memory):
            commit = BatchCommit(connection, memory, self._memo, now)
            return commit.return_stuck(now - older_than_seconds, limit)

    def expire_batches(self, now: float) -> list[int]:
        """Give up batches whose time is over; return which."""
        with self._writing("give up batches") as (connection, memory):
            return BatchCommit(connection, memory, self._memo, now).expire()

    def give_up_batch(self, batch_id: int, now: float, why: str) -> None:
        """End a batch, if it is open: what is left of it is new again."""
        with self._writing("give up a batch") as (connection, memory):
            BatchCommit(connection, memory, self._memo, now).give_up([batch_id], why)

    def open_batches(self, kind: int) -> int:
        """Return how many batches of a kind are open."""
        with self._database.doing("count batches") as connection:
            return int(connection.execute(BATCHES["open_batches"], (kind,)).fetchone()[0])

    def batch_averages(self, kind: int) -> tuple[float, float]:
        """Return how many seconds the latest batches of a kind took, and how many URLs they had."""
        with self._database.doing("look at batches") as connection:
            seconds, items = connection.execute(BATCHES["batch_averages"], (kind,)).fetchone()
        return seconds, items

    def batch_state(self, batch_id: int) -> BatchState | None:
        """Return where a batch stands; None for one that is forgotten."""
        with self._database.doing("look at a batch") as connection:
            row = connection.execute(BATCHES["batch_state"], (batch_id,)).fetchone()
        return None if row is None else BatchState(row[0])

    def batch_mask(self, batch_id: int) -> int:
        """Return the error mask of a batch itself, without those of its URLs."""
        with self._database.doing("look at a batch") as connection:
            row = connection.execute(BATCHES["batch_mask"], (batch_id,)).fetchone()
        return 0 if row is None else int(row[0])

    def batch_items(self, batch_id: int) -> list[ItemRow]:
        """Return the items of a batch with what became of them."""
        with self._database.doing("look at a batch") as connection:
            rows = connection.execute(BATCHES["items_of"], (batch_id,)).fetchall()
        return [ItemRow(*row) for row in rows]

    def forget_batches(self, before: float) -> None:
        """Forget batches that ended before a moment."""
        with self._writing("forget batches") as (connection, _):
            connection.execute(BATCHES["forget_items"], (before,))
            connection.execute(BATCHES["forget_batches"], (before,))

    # What the engine asks.

    def _lease(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        count: int,
        per_host: int,
        now: float,
        reject_hosts: Collection[str],
    ) -> list[Due]:
        while batch := super()._lease(connection, memory, count, per_host, now, reject_hosts):
            going = BatchCommit(connection, memory, self._memo, now).leased(batch)
            # Nothing of it may be asked for now, which must not look as if nothing were due.
            if going:
                return going
        return []

    def _apply(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        verdicts: Sequence[Verdict],
        now: float,
        gate: Gate | None,
    ) -> Committed:
        committed = super()._apply(connection, memory, results_only(verdicts), now, gate)
        wanted = BatchCommit(connection, memory, self._memo, now).apply(verdicts, committed.stale)
        return replace(committed, new_urls=committed.new_urls + wanted)

    def _numbers(self, connection: sqlite3.Connection) -> Memory:
        seen = self._seen_version
        memory = super()._numbers(connection)
        if self._seen_version != seen:
            # Somebody may have deleted what sites were told of, or changed what they want.
            row = connection.execute(BATCHES["members_version"]).fetchone()
            if row != self._members_version:
                self._members_version = row
                self._memo.forget()
        return memory

    @contextmanager
    def _writing(
        self, what: str, *, synced: bool = True
    ) -> Iterator[tuple[sqlite3.Connection, Memory]]:
        try:
            with super()._writing(what, synced=synced) as context:
                yield context
        except BaseException:
            self._memo.forget()
            raise
