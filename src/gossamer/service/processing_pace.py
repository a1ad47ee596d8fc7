"""How long the processor waits between two URLs of one site (processingDelay)."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Final

from gossamer.clock import Clock
from gossamer.objects.batch import BatchItem

_MOST_SITES: Final = 10_000


class Pace:
    """Knows when each site had its last run; waits, but not longer than a batch may."""

    def __init__(self, clock: Clock, patience_seconds: float) -> None:
        self._clock = clock
        self._patience = patience_seconds
        self._left = patience_seconds
        self._ended: dict[str, float] = {}

    def begin_batch(self) -> None:
        """Have all the time that a batch may spend on waiting."""
        self._left = self._patience

    def wait(self, site_id: str, delay_ms: int) -> bool:
        """Wait until it is a site's turn; False if that takes longer than this batch may."""
        ended = self._ended.get(site_id)
        if ended is None:
            return True
        seconds = ended + delay_ms / 1_000 - self._clock.monotonic()
        if seconds > self._left:
            return False
        if seconds > 0:
            self._clock.sleep(seconds)
            self._left -= seconds
        return True

    def ran(self, site_id: str) -> None:
        """Note that a run of a site has ended."""
        self._ended.pop(site_id, None)
        self._ended[site_id] = self._clock.monotonic()
        while len(self._ended) > _MOST_SITES:
            del self._ended[next(iter(self._ended))]


def in_turns(items: Iterable[BatchItem]) -> Iterator[tuple[int, BatchItem]]:
    """Return items with their places, sites in turns: while one has its pause, another runs."""
    by_site: dict[str, list[tuple[int, BatchItem]]] = {}
    for place, item in enumerate(items):
        by_site.setdefault(item.site_id, []).append((place, item))
    for turn in zip_longest(*by_site.values()):
        yield from (each for each in turn if each is not None)
