"""Iterations of a batch: URLs that one finds wait in the batch for the next (4b.11)."""

from collections.abc import Iterable
from typing import Final

from gossamer.catalog.batch_facts import Item, ItemState, Plan, Wanted
from gossamer.catalog.service_members import Change, delete_members, find_site
from gossamer.catalog.site_book import BATCHES, SiteBook
from gossamer.objects.error_mask import ErrorBit

MOST_ITEMS: Final = 100_000
"""In one batch, whatever it asks for."""
_MAX_ITEMS_BIT: Final = 1 << ErrorBit.MAX_ITEMS


class Iterations:
    """What waits in batches, inside of one transaction."""

    def __init__(self, change: Change, book: SiteBook) -> None:
        self._change = change
        self._connection = change.connection
        self._book = book
        self._now = change.now
        self._plans: dict[int, Plan | None] = {}

    def plan(self, batch_id: int) -> Plan | None:
        """Return where a batch is in its iterations; None if it is over."""
        if batch_id not in self._plans:
            row = self._connection.execute(BATCHES["plan_of"], (batch_id,)).fetchone()
            self._plans[batch_id] = None if row is None else Plan(*row)
        return self._plans[batch_id]

    def forget(self, batch_id: int) -> None:
        """Look a batch up again when it is needed."""
        self._plans.pop(batch_id, None)

    def found(self, item: Item, members: Iterable[tuple[int, int, bool]]) -> None:
        """Have URLs that an item has brought wait for the next iteration, if there is one.

        Each is given by set, document, and whether the site did not know it. What counts for the
        item counts for them, too.
        """
        plan = self.plan(item.batch_id)
        if plan is None or not plan.goes_on(self._now):
            return
        waiting = int(ItemState.WAITING)
        rows = [
            (item.batch_id, set_id, doc_id, doc_id, waiting, plan.iteration + 1, item.wishes, made)
            for set_id, doc_id, made in members
            if set_id == item.set_id
        ]
        self._connection.executemany(BATCHES["insert_item"], rows)

    def next_items(self, batch_id: int, plan: Plan) -> list[Wanted]:
        """Return what the next iteration crawls, within the limit of the batch."""
        rows = self._connection.execute(BATCHES["waiting_items"], (batch_id,)).fetchall()
        (count,) = self._connection.execute(BATCHES["count_items"], (batch_id,)).fetchone()
        room = max(0, min(plan.max_items or MOST_ITEMS, MOST_ITEMS) - count)
        if len(rows) > room:
            self.fault(batch_id, _MAX_ITEMS_BIT)
        return [Wanted(*row) for row in rows[:room]]

    def waits(self, batch_id: int) -> bool:
        """Whether a batch has items that wait."""
        return self._connection.execute(BATCHES["is_waiting"], (batch_id,)).fetchone() is not None

    def fault(self, batch_id: int, mask: int) -> None:
        """Note what went wrong with a batch as a whole."""
        self._connection.execute(BATCHES["fault_batch"], (mask, batch_id))

    def drop_rest(self, batch_id: int) -> None:
        """Have sites forget the URLs that they know by this batch only, and that it left alone."""
        rows = self._connection.execute(BATCHES["unmade_items"], (batch_id,)).fetchall()
        for set_id, doc_id in rows:
            facts = self._book.site(set_id)
            site = None if facts is None else find_site(self._connection, facts.id)
            if site is not None:
                # What is on its way may still bring a content: the purge removes it.
                delete_members(self._change, site, [doc_id])
