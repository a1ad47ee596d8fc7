"""Deliveries: orders that a spider is done with, and what the catalog learns of them by itself.

Over the wire a DONE says only that a fetch is over (A17). Its result goes to the store server,
which commits it to the same catalog from another process. So the URL server marks the lease as
delivered, and looks into the catalog now and then: for what became of its orders (a host that
answers 429 is held back), for new URLs, and for whether anything is left at all. A lease whose
result does not come in time is given back.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from gossamer.catalog.catalog import Catalog, Counts, HostClock, Learned, RobotsRecord
from gossamer.clock import Clock
from gossamer.config.urlserver import UrlServerSettings
from gossamer.crawl.keeper import Keeper
from gossamer.crawl.ledger import Ledger
from gossamer.messages import NOT_SAID, Done, Visit
from gossamer.outcomes import State
from gossamer.url.parts import authority_of
from gossamer.urlserver.urlserver import Learned as Ending
from gossamer.urlserver.urlserver import UrlServer

_LOOK_SECONDS: Final = 0.25
# With nothing left to order, whatever comes next is waited for.
_HUNGRY_SECONDS: Final = 0.025
_MARK_SECONDS: Final = 0.02
_OVERDUE_SECONDS: Final = 30.0
_MAX_LEARNED: Final = 2_000
_MAX_REMEMBERED: Final = 200_000
_MAX_REQUEUED: Final = 100_000

_News = tuple[list[Learned], Counts, float | None]


class Sent(NamedTuple):
    """When and where an order went."""

    dispatched_at: float
    address: str


class Deliveries:
    """The URL server's side of results that come through the store server."""

    def __init__(
        self,
        settings: UrlServerSettings,
        clock: Clock,
        urlserver: UrlServer,
        ledger: Ledger,
        keeper: Keeper,
        last_fetch_id: int,
        *,
        recrawl: bool = False,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._urlserver = urlserver
        self._ledger = ledger
        self._keeper = keeper
        self._seen = last_fetch_id
        self._recrawl = recrawl
        self._sent: OrderedDict[int, Sent] = OrderedDict()
        self._over: list[int] = []
        self._oldest = 0.0
        self._marking = False
        self._looking = False
        self._looked_at = 0.0
        self._overdue_at = 0.0
        self.quiet = False
        """Whether nothing was pending or leased when the catalog was last looked at."""
        self.on_due: Callable[[float], None] = lambda _: None
        """Told when something is or will be due (wall time)."""

    @property
    def idle(self) -> bool:
        """Whether every delivery has been marked."""
        return not self._over and not self._marking

    def ordered(self, visits: Sequence[Visit], now: float) -> None:
        """Remember orders until the catalog tells what became of them."""
        for visit in visits:
            self._sent[visit.doc_id] = Sent(now, visit.address)
            self._sent.move_to_end(visit.doc_id)
        while len(self._sent) > _MAX_REMEMBERED:
            self._sent.popitem(last=False)

    def done(self, trans_ids: Sequence[int], now: float) -> None:
        """Free the slots of orders that a spider is done with."""
        if not self._over:
            self._oldest = now
        for trans_id in trans_ids:
            due = self._urlserver.done(Done(trans_id, NOT_SAID, sent_at=now), now)
            if due is not None:
                self._ledger.delivered(trans_id)
                self._over.append(due.doc_id)

    # ------------------------------------------------------------------ into the catalog

    def mark_at(self) -> float | None:
        """Return when deliveries that wait for company are marked all the same."""
        waiting = self._over and not self._marking and not self._keeper.paused
        return self._oldest + _MARK_SECONDS if waiting else None

    def wants_to_mark(self, now: float) -> bool:
        """Whether deliveries waited long enough, or nothing else comes."""
        at = self.mark_at()
        return at is not None and (now >= at or not self._ledger.in_flight)

    def mark(self, clocks: Sequence[HostClock], robots: Sequence[RobotsRecord]) -> None:
        """Have leases marked as delivered, and with them the hosts' clocks and rules kept."""
        batch, self._over = self._over, []
        self._marking = True
        wall = self._clock.time()

        def job(catalog: Catalog) -> None:
            # The clocks first: a lease that is gone would not tell that its host was visited.
            if clocks or robots:
                catalog.commit((), wall, clocks, (), robots)
            catalog.mark_delivered(batch, wall)

        def then(result: None) -> None:
            del result
            self._marking = False
            self._ledger.handed_over(len(batch))

        self._keeper.write(job, then)

    # ------------------------------------------------------------------ out of the catalog

    def look_at(self) -> float | None:
        """Return when the catalog is looked into next; None while that is under way."""
        if self._looking or self._keeper.paused:
            return None
        hungry = self._urlserver.empty and not self.quiet
        return self._looked_at + (_HUNGRY_SECONDS if hungry else _LOOK_SECONDS)

    def look(self, now: float) -> None:
        """Look into the catalog if it is time."""
        at = self.look_at()
        if at is None or now < at:
            return
        if now >= self._overdue_at:
            self._overdue_at = now + min(_OVERDUE_SECONDS, self._settings.delivery_seconds / 2)
            self._look_for_more()
        self._looking = True
        after, wall = self._seen, self._clock.time()
        held = frozenset(self._urlserver.held(now))

        def job(catalog: Catalog) -> _News:
            learned = catalog.results_after(after, _MAX_LEARNED)
            return learned, catalog.counts(), catalog.next_due_at(wall, held)

        self._keeper.write(job, self._heard)

    def _heard(self, news: _News) -> None:
        learned, counts, next_due_at = news
        now, wall = self._clock.monotonic(), self._clock.time()
        self._looking = False
        self._looked_at = 0.0 if len(learned) == _MAX_LEARNED else now
        for each in learned:
            self._learn(each, now, wall)
        self._keeper.counts = counts
        self._ledger.looked_up(counts.pages, counts.leased)
        self.quiet = counts.pending == 0 and counts.leased == 0
        if next_due_at is not None:
            self.on_due(next_due_at)

    def _learn(self, learned: Learned, now: float, wall: float) -> None:
        self._seen = max(self._seen, learned.fetch_id)
        sent = self._sent.pop(learned.doc_id, None)
        if sent is None:
            # A redirect that a spider followed, or an order from before a restart: the store
            # server says when it was, by the clock of another machine.
            sent = Sent(now - max(wall - learned.fetched_at, 0.0), "")
        waits = learned.state is State.PENDING and learned.due_at > wall
        self._urlserver.learned(
            Ending(
                learned.host,
                authority_of(learned.url),
                learned.outcome,
                sent.dispatched_at,
                sent.address,
                learned.due_at - wall if waits else None,
            ),
            now,
        )

    def _look_for_more(self) -> None:
        """Let URLs be ordered again whose results never came, or whose next fetch has come."""
        wall, patience = self._clock.time(), self._settings.delivery_seconds

        def job(catalog: Catalog) -> int:
            released = catalog.release_undelivered(wall, patience)
            return released + (catalog.requeue_due(wall, _MAX_REQUEUED) if self._recrawl else 0)

        self._keeper.write(job, lambda found: self.on_due(wall) if found else None)
