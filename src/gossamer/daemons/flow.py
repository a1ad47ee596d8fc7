"""Flow control on the link to a Spider: `GET n` is credit, not a question (A1).

A Spider that has never sent a GET takes whatever it is sent; the first GET makes its credit count
from then on. Before the first order such a Spider is given a moment to say which kind it is.
"""

from typing import Final

from gossamer.crawl.crew import UNLIMITED
from gossamer.wire.lines import MAX_CREDIT

_PUSH: Final = "push"
_AUTO: Final = "auto"


class Flow:
    """How many orders one link takes; begins anew with each connection."""

    def __init__(self, mode: str, grace_seconds: float, now: float) -> None:
        self._mode = mode
        self._credit = UNLIMITED if mode == _PUSH else 0
        self.decides_at = now + grace_seconds if mode == _AUTO else None
        """When a Spider that has said nothing is taken for one that is pushed to."""

    def room(self, now: float) -> int:
        """Return how many orders may be sent now."""
        if self.decides_at is not None and now >= self.decides_at:
            self.decides_at = None
            self._credit = UNLIMITED
        return self._credit

    def granted(self, count: int) -> None:
        """Take a GET."""
        if self._mode == _PUSH:
            return
        before = 0 if self._credit == UNLIMITED else self._credit
        self.decides_at = None
        self._credit = min(before + count, MAX_CREDIT)

    def spent(self, count: int) -> None:
        """Note that orders were sent."""
        if self._credit != UNLIMITED:
            self._credit -= count
