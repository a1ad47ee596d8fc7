"""The orders that are open on one link to a Spider, and since when each counts as started.

The gap between two requests to a host is counted from the moment a request goes out, which only
the Spider knows. One of ours says WORKING at that moment. Others need not: the documents only say
that a URL is fetched on receipt. So a Spider that lets a second pass without a word about an order,
or says DONE as its first, is taken for a *silent* one, whose orders count as started when they were
written. It stops being silent with the first WORKING that is too early for a mere sign of life.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final

Start = tuple[int, float]
"""A trans id and the moment since which its request counts as sent."""

_WORDLESS_SECONDS: Final = 1.0
_EARLY: Final = 0.9


class Word(Enum):
    """Which WORKING of its transaction it is."""

    STALE = 0
    """No such transaction is open on this link."""
    FIRST = 1
    FURTHER = 2


class Open:
    """One order without DONE."""

    __slots__ = ("is_heard", "written_at")

    def __init__(self) -> None:
        self.written_at = float("inf")
        self.is_heard = False


class Transactions:
    """Begins anew with each connection: an id means nothing on another one."""

    def __init__(self, update_seconds: float) -> None:
        self._early_seconds = _EARLY * update_seconds
        self._open: dict[int, Open] = {}
        self._unwritten: list[int] = []
        self._wordless: dict[int, float] = {}
        """Written at this moment, no word since, and not counted as started."""
        self._is_silent: bool | None = None

    def __len__(self) -> int:
        return len(self._open)

    def ordered(self, trans_ids: Iterable[int]) -> None:
        """Open transactions."""
        for trans_id in trans_ids:
            self._open[trans_id] = Open()
            self._unwritten.append(trans_id)

    def written(self, now: float) -> None:
        """Note that all orders so far have been handed to the system."""
        for trans_id in self._unwritten:
            order = self._open.get(trans_id)
            # It may have been answered before the rest of its batch was written.
            if order is not None:
                order.written_at = now
                if not order.is_heard:
                    self._wordless[trans_id] = now
        self._unwritten.clear()

    def working(self, trans_id: int, now: float) -> Word:
        """Take a WORKING."""
        order = self._open.get(trans_id)
        if order is None:
            return Word.STALE
        if order.is_heard:
            return Word.FURTHER
        self._wordless.pop(trans_id, None)
        if now - order.written_at < self._early_seconds:
            self._is_silent = False
        order.is_heard = True
        return Word.FIRST

    def done(self, trans_id: int) -> bool:
        """Take a DONE; False when no such transaction is open here."""
        order = self._open.pop(trans_id, None)
        if order is None:
            return False
        self._wordless.pop(trans_id, None)
        if not order.is_heard and self._is_silent is None:
            self._is_silent = True
        return True

    def withdraw(self, trans_id: int) -> None:
        """Forget a transaction that was given up."""
        self._open.pop(trans_id, None)
        self._wordless.pop(trans_id, None)

    def starts_at(self) -> float | None:
        """Return when orders without a word will count as started."""
        if self._is_silent is False or not self._wordless:
            return None
        first = next(iter(self._wordless.values()))
        return first if self._is_silent else first + _WORDLESS_SECONDS

    def starts(self, now: float) -> list[Start]:
        """Return the orders that count as started by now because the Spider is a silent one."""
        at = self.starts_at()
        if at is None or now < at:
            return []
        self._is_silent = True
        starts = list(self._wordless.items())
        self._wordless.clear()
        return starts
