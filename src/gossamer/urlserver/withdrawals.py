"""Orders that are taken back: of a spider that is silent or died, or that the caller takes over.

Whether the request went out nobody knows, so the clocks of its host and of its address run as if it
had gone out this very moment.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Due
from gossamer.urlserver.errands import Engine, Errands
from gossamer.urlserver.host import Order
from gossamer.urlserver.hosts import HostTable
from gossamer.urlserver.requests import Overdue
from gossamer.urlserver.slots import SlotTable


class Withdrawals:
    """Takes orders back; their URLs are queued again, or given up, or handed to the caller."""

    def __init__(
        self,
        settings: UrlServerSettings,
        address_gap: float,
        table: SlotTable,
        hosts: HostTable,
        errands: Errands,
        live: OrderedDict[int, Order],
        engine: Engine,
    ) -> None:
        self._settings = settings
        self._address_gap = address_gap
        self._table = table
        self._hosts = hosts
        self._errands = errands
        self._live = live
        self._engine = engine
        self.attempts: dict[int, int] = {}
        """How often each document was overdue, until a DONE or until it is given up."""

    def next_at(self) -> float | None:
        """Return when the order that was silent the longest is overdue."""
        if not self._live:
            return None
        first = next(iter(self._live.values()))
        return first.heard_at + self._settings.timeout_spider_status_seconds

    def overdue(self, now: float) -> list[Overdue]:
        """Take back orders without a word for too long; they are queued again, but not for ever."""
        taken: list[Overdue] = []
        limit = now - self._settings.timeout_spider_status_seconds
        while self._live:
            order = next(iter(self._live.values()))
            if order.heard_at > limit:
                break
            due = self._take_back(order, now)
            if due is None:
                continue
            attempts = self.attempts.get(due.doc_id, 0) + 1
            given_up = attempts > self._settings.max_retries
            taken.append(Overdue(order.trans_id, due, given_up))
            if given_up:
                self.attempts.pop(due.doc_id, None)
            else:
                self.attempts[due.doc_id] = attempts
            self._settle(order, None if given_up else due, now)
        return taken

    def lost(self, trans_ids: Collection[int], now: float) -> list[Due]:
        """Queue the orders of a spider that died again, at the head of their queues (S1.38)."""
        for trans_id in trans_ids:
            order = self._live.get(trans_id)
            if order is not None:
                # It may have been following redirects in place, and asked until this moment.
                order.asks_again(now, self._address_gap)
                self._hosts.changed(order.host)
        return self._abandon(trans_ids, now, again=True)

    def unsent(self, trans_ids: Sequence[int], now: float) -> None:
        """Queue orders again that were made ahead of their time, and never sent."""
        # Each goes to the head of its queue.
        self._abandon(reversed(trans_ids), now, again=True)

    def forget(self, trans_ids: Iterable[int], now: float) -> list[Due]:
        """Drop orders: the caller takes their URLs over."""
        return self._abandon(trans_ids, now, again=False)

    def _abandon(self, trans_ids: Iterable[int], now: float, *, again: bool) -> list[Due]:
        taken = []
        for trans_id in trans_ids:
            order = self._live.get(trans_id)
            if order is None:
                continue
            due = self._take_back(order, now)
            if due is not None:
                taken.append(due)
                self._settle(order, due if again else None, now)
        return taken

    def _take_back(self, order: Order, now: float) -> Due | None:
        """Count out an order whose request may have been sent up to now; an errand starts over."""
        del self._live[order.trans_id]
        order.ends(now, self._address_gap)
        if order.due is None:
            self._errands.repeat(order, now)
        return order.due

    def _settle(self, order: Order, again: Due | None, now: float) -> None:
        """Free the active slot of an order taken back."""
        slot = order.host.slot
        assert slot is not None
        slot.free.append(order.position)
        slot.used -= 1
        if again is not None:
            self._table.put_back(slot, again)
        self._engine.shrunk(slot, now)
        self._engine.consider(order.host, now)
        self._engine.renew(order.address)
