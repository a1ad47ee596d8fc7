"""Batches whose URLs are claimed on other hosts before they are crawled: the side that makes them.

Each step is one transaction, so that a host that is killed goes on where it was: a batch is held
until all hosts were asked, then it is crawled here or handed over, and when it is over all hosts
are told. What they are to be told is kept until they have heard it.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from gossamer.catalog.batch_facts import BatchOrder, Memo, Wanted
from gossamer.catalog.batches import BatchCommit
from gossamer.catalog.propagation_holds import (
    PROPAGATION,
    Holds,
    Shared,
    SharedItem,
    SharedState,
    items_of,
)
from gossamer.catalog.propagation_rules import Change, Holder, after_refusal
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import Change as Transaction
from gossamer.catalog.service_members import changing
from gossamer.catalog.site_book import BATCHES
from gossamer.objects.coding import decode, encode
from gossamer.objects.enumerations import Operation
from gossamer.objects.hosts import HostDone, HostVerdict
from gossamer.objects.url import URL

_REMEMBERED_SECONDS: Final = 86_400.0
"""So long a batch that is over is known: a message about it may be late."""
_AT_ONCE: Final = 100


class News(Struct, frozen=True):
    """Something that a host is to be told."""

    id: int
    done: HostDone


class SharedBatches:
    """The batches that this host makes together with others."""

    def __init__(self, catalog: ServiceCatalog, own_host: str, others: Sequence[str]) -> None:
        self._catalog = catalog
        self._own_host = own_host
        self._others = tuple(others)

    # --------------------------------------------------------------------- batches begin

    def make(
        self, kind: int, size: int, now: float, seconds: float, max_batches: int
    ) -> Shared | None:
        """Select new URLs and hold them, unless enough batches are open; None if there are none."""
        with self._changing("select URLs", now) as (transaction, holds):
            connection = transaction.connection
            (count,) = connection.execute(BATCHES["open_batches"], (kind,)).fetchone()
            (held,) = connection.execute(PROPAGATION["count_held"]).fetchone()
            if count + held >= max_batches:
                return None
            chosen = _commit(transaction).choose(size)
            if not chosen:
                return None
            (last,) = connection.execute(PROPAGATION["last_number"], (self._own_host,)).fetchone()
            # Not counted from 1: a workspace that was made anew must not repeat old names.
            holder = Holder(self._own_host, max(last + 1, int(now * 1000)))
            shared = Shared(holds.learn(holder, SharedState.HELD, now + seconds), holder)
            _hold(holds, shared, chosen)
            return shared

    def fill(self, shared: Shared, room: int, now: float) -> int:
        """Select more URLs for a batch that is held; return how many."""
        with self._changing("select more URLs", now) as (transaction, holds):
            chosen = _commit(transaction).choose(room)
            _hold(holds, shared, chosen)
            return len(chosen)

    def items(self, shared: Shared) -> list[SharedItem]:
        """Return what a batch has now."""
        with self._catalog.database.reading("look at a batch") as connection:
            return items_of(connection, shared.id)

    def keep(self, shared: Shared, now: float) -> None:
        """Come to this host's own place in the order: what is still there stays."""
        with self._changing("keep URLs", now) as (transaction, _):
            transaction.connection.execute(PROPAGATION["make_firm"], (shared.id,))

    def drop(
        self,
        shared: Shared,
        refused: Sequence[tuple[SharedItem, HostVerdict]],
        now: float,
        *,
        seconds: float,
        granted_by: Sequence[str] = (),
    ) -> None:
        """Take URLs out of a batch that another host has, or has crawled.

        Those that another host has are left to it, for so many seconds at most. Hosts that have
        granted what is crawled by now are told: otherwise they would soon try the same.
        """
        with self._changing("drop URLs", now) as (transaction, holds):
            crawled = [item.url for item, verdict in refused if verdict.crawled]
            if crawled:
                self._tell(transaction, granted_by, shared.holder, crawled, is_over=False)
            for item, verdict in refused:
                site = holds.site(item.url.site_id)
                row = None if site is None else holds.row(site, item.doc_id)
                if site is None or row is None or row.holder != shared.holder:
                    continue  # Deleted, or given to another meanwhile.
                holder = Holder(verdict.holder, verdict.batch)
                known = holds.known(holder)
                is_over = not holder.host or (known is not None and known[1] is SharedState.OVER)
                change = after_refusal(crawled=verdict.crawled, is_over=is_over)
                if change is Change.HOLD:
                    number = known[0] if known else holds.learn(
                        holder, SharedState.ELSEWHERE, now + seconds
                    )  # fmt: skip
                    holds.hold(site, item.doc_id, number, holder)
                else:
                    holds.settle(site, item.doc_id, change)

    def begin(self, shared: Shared, order: BatchOrder, now: float) -> int:
        """Have a batch crawled here, or be over if nothing is left; return how many URLs it has."""
        with self._changing("begin a batch", now) as (transaction, holds):
            connection = transaction.connection
            rows = connection.execute(PROPAGATION["selected_of"], (shared.id,)).fetchall()
            if not rows:
                self._end(transaction, holds, shared, ())
                return 0
            batch_id, taken = _commit(transaction).accept(order, [Wanted(*row) for row in rows])
            connection.execute(PROPAGATION["crawled_here"], (batch_id, shared.id))
            # Those of sites that are no longer active.
            holds.release_some(set(rows) - set(taken))
            return len(taken)

    def abandon(self, shared: Shared, now: float) -> None:
        """Forget a batch that has nothing, and that nobody else has heard of."""
        with self._changing("forget a batch", now) as (transaction, holds):
            holds.release(shared.id)
            transaction.connection.execute(PROPAGATION["forget"], (shared.id,))

    def hand_over(self, shared: Shared, executor: str, now: float, seconds: float) -> None:
        """Note that another host is to crawl a batch, before it is told so."""
        with self._changing("hand over a batch", now) as (transaction, _):
            values = (executor, now + seconds, shared.id)
            transaction.connection.execute(PROPAGATION["handed_over"], values)

    def acknowledged(self, shared: Shared, now: float) -> None:
        """Note that the other host has the batch."""
        with self._changing("note who has a batch", now) as (transaction, _):
            transaction.connection.execute(PROPAGATION["acknowledged"], (shared.id,))

    def unfinished(self, state: SharedState) -> list[Shared]:
        """Return batches that this host has not brought on their way: it was interrupted."""
        with self._catalog.database.reading("look for batches") as connection:
            rows = connection.execute(PROPAGATION["at_work"], (int(state),))
            return [Shared(id_, Holder(*name), executor) for id_, *name, executor in rows]

    # ----------------------------------------------------------------------- batches end

    def settle(self, now: float) -> int:
        """Have the other hosts be told of batches that are over; return how many there were."""
        with self._catalog.database.reading("look for batches") as connection:
            if not connection.execute(PROPAGATION["ended"], (1,)).fetchall():
                return 0
        with self._changing("end batches", now) as (transaction, holds):
            rows = transaction.connection.execute(PROPAGATION["ended"], (_AT_ONCE,)).fetchall()
            for shared_id, *name in rows:
                shared = Shared(shared_id, Holder(*name))
                items = items_of(transaction.connection, shared_id)
                crawled = [item.url for item in items if item.is_crawled and not item.is_root]
                self._end(transaction, holds, shared, crawled)
            return len(rows)

    def expire(self, now: float) -> int:
        """Give up batches that were held or handed over for too long; return how many."""
        with self._changing("give up batches", now) as (transaction, holds):
            rows = transaction.connection.execute(PROPAGATION["overdue"], (now,)).fetchall()
            for shared_id, *name in rows:
                self._end(transaction, holds, Shared(shared_id, Holder(*name)), ())
            for (shared_id,) in transaction.connection.execute(
                PROPAGATION["forgettable"], (now, _AT_ONCE)
            ).fetchall():
                holds.release(shared_id)
                transaction.connection.execute(PROPAGATION["forget"], (shared_id,))
            return len(rows)

    def _end(
        self, transaction: Transaction, holds: Holds, shared: Shared, crawled: Sequence[URL]
    ) -> None:
        holds.release(shared.id)
        holds.set_state(shared.id, SharedState.OVER, transaction.now + _REMEMBERED_SECONDS)
        self._tell(transaction, self._others, shared.holder, crawled, is_over=True)

    def _tell(
        self,
        transaction: Transaction,
        hosts: Sequence[str],
        holder: Holder,
        crawled: Sequence[URL],
        *,
        is_over: bool,
    ) -> None:
        done = HostDone(
            host=holder.host, batch=holder.batch, crawled=list(crawled), is_over=is_over
        )
        body = encode(done).decode()
        for host in hosts:
            values = (host, body, transaction.now)
            transaction.connection.execute(PROPAGATION["insert_news"], values)

    # ------------------------------------------------------------------------------ news

    def next_news(self, host: str) -> News | None:
        """Return what a host is to be told next."""
        with self._catalog.database.reading("look for news") as connection:
            row = connection.execute(PROPAGATION["next_news"], (host,)).fetchone()
        if row is None:
            return None
        done = decode(Operation.HOST_DONE, row[1])
        assert isinstance(done, HostDone)
        return News(row[0], done)

    def told(self, news: News, now: float) -> None:
        """Forget what a host has heard."""
        with self._changing("forget news", now) as (transaction, _):
            transaction.connection.execute(PROPAGATION["told"], (news.id,))

    def forget_news(self, before: float, now: float) -> int:
        """Give up telling what is so old; return how much there was."""
        with self._changing("give up news", now) as (transaction, _):
            return transaction.connection.execute(PROPAGATION["forget_news"], (before,)).rowcount

    def count_news(self) -> int:
        """Return how much other hosts are still to be told."""
        with self._catalog.database.reading("count news") as connection:
            return int(connection.execute(PROPAGATION["count_news"]).fetchone()[0])

    @contextmanager
    def _changing(self, what: str, now: float) -> Iterator[tuple[Transaction, Holds]]:
        with changing(self._catalog, what, now) as transaction:
            yield transaction, Holds(transaction)


def _commit(transaction: Transaction) -> BatchCommit:
    return BatchCommit(transaction.connection, transaction.memory, Memo(), transaction.now)


def _hold(holds: Holds, shared: Shared, chosen: Collection[tuple[int, int]]) -> None:
    for set_id, doc_id in chosen:
        site = holds.site_of_set(set_id)
        if site is not None:
            holds.hold(site, doc_id, shared.id, shared.holder, firm=False)
