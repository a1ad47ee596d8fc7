"""Whether a crawl is at its end: asked in each turn of the coordinator's loop."""

from collections.abc import Callable
from typing import Final

from gossamer.catalog.catalog import Catalog, Counts
from gossamer.crawl.parts import Parts
from gossamer.crawl.stops import Stop
from gossamer.crawl.supply import Supply

_SILENT_SECONDS: Final = 20.0


class Finish:
    """Looks at all who may still have something to do, and says which end this is."""

    def __init__(
        self,
        parts: Parts,
        supply: Supply,
        *,
        before_end: Callable[[Catalog], int] | None,
        until_idle: bool,
        lull_seconds: float | None,
    ) -> None:
        self._crawl = parts.settings.crawl
        self._names = parts.names
        self._urlserver = parts.urlserver
        self._robots = parts.robots
        self._keeper = parts.keeper
        self._ledger = parts.ledger
        self._stops = parts.stops
        self._supply = supply
        self._before_end = before_end
        self._until_idle = until_idle
        self._lull_seconds = lull_seconds

    def reason_to_stop(self, now: float) -> Stop | None:
        """Return how the crawl ends, None while it goes on."""
        if self._stops.requested is not None:
            return self._stops.requested
        if not self._until_idle:
            return None
        if self._keeper.paused:
            return self._stops.paused_too_long(now, self._crawl.patience_seconds)
        if self._ledger.uncommitted or not self._keeper.idle:
            return None
        if self._ledger.limit_reached:
            return self._stops.page_limit(self._crawl.max_pages)
        silent = self._urlserver.stats().resolver_silent_seconds
        if silent > min(self._crawl.patience_seconds, _SILENT_SECONDS):
            return self._stops.no_names(silent, self._remaining())
        if self._robots.busy or self._names.busy or self._ledger.awaited > 0:
            return None
        if self._lull_seconds is not None:
            return self._reason_to_pause(now, self._lull_seconds)
        if self._urlserver.empty and not self._remaining():
            return self._finished()
        event = self._next_event(now)
        patience = self._patience(0.0 if event is None else event - now)
        return self._stops.stalled(now, event, patience, self._remaining())

    def _patience(self, wait: float) -> float:
        """Return how long is waited at most: no less than the gap between two requests.

        A Crawl-delay counts as one where all hosts were named by the user. Others could hold up
        the end of a crawl for as long as they like.
        """
        patience = self._crawl.patience_seconds
        if wait <= patience:
            return patience
        is_open = self._crawl.scope == "any"
        gap = self._urlserver.usual_gap if is_open else self._urlserver.longest_gap()
        return max(patience, gap)

    def _remaining(self) -> int:
        return self._keeper.counts.pending + self._keeper.counts.leased

    def _reason_to_pause(self, now: float, lull_seconds: float) -> Stop | None:
        """End when nothing is due soon: what waits for its time is for another run."""
        supply = self._supply
        if not self._urlserver.empty:
            wake = self._urlserver.wake_at(now)
            waits = wake is None or wake - now > self._patience(wake - now)
            return self._stops.nothing_due() if waits and not supply.asking else None
        asked = not supply.asking and supply.dry_until > 0
        return (
            self._stops.nothing_due() if asked and supply.dry_until - now > lull_seconds else None
        )

    def _finished(self) -> Stop | None:
        """End, unless somebody who is asked first has made more to do."""
        ask = self._before_end
        if ask is None:
            return self._stops.finished()

        def then(answer: tuple[int, Counts]) -> None:
            more, self._keeper.counts = answer
            self._before_end = ask if more else None
            # What is to be tried again is to be asked for, not to end like the first time.
            self._urlserver.forgive()
            self._supply.more_now()

        # Asked once; the keeper is not idle until there is an answer.
        self._keeper.write(lambda catalog: (ask(catalog), catalog.counts()), then)
        return None

    def _next_event(self, now: float) -> float | None:
        """Return when anything could happen by itself; None when nothing will."""
        wake = self._urlserver.wake_at(now)
        dry_until = self._supply.dry_until
        return dry_until if wake is None else min(dry_until, wake)
