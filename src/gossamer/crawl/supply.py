"""Supply: URLs on their way from the catalog into the queues of the URL server (S1.25)."""

from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.catalog.catalog import Catalog
from gossamer.crawl.parts import Parts
from gossamer.crawl.recall import Recalled
from gossamer.crawl.seeds import seeds_of
from gossamer.messages import Due
from gossamer.url.parts import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

_FULL_SECONDS: Final = 0.01
_MAX_LEASE: Final = 2_000
_NEVER: Final = float("inf")


class Leased(NamedTuple):
    """What the catalog gave when it was asked for more URLs."""

    batch: list[Due]
    next_due_at: float | None
    recalled: Recalled
    seeds: list[str]
    """All start URLs, when some of them may be news to us."""
    held_until: float
    """When the first of the hosts that were left out may be asked again."""


class Supply:
    """Asks the catalog for URLs when a queue runs empty, one question at a time."""

    def __init__(self, parts: Parts, look_seconds: float, *, shared: bool) -> None:
        """`look_seconds`: the longest pause between two questions; `shared`: others add URLs."""
        self._clock = parts.clock
        self._names = parts.names
        self._urlserver = parts.urlserver
        self._robots = parts.robots
        self._keeper = parts.keeper
        self._recall = parts.recall
        self._ledger = parts.ledger
        self._concurrency = parts.settings.crawl.concurrency
        self._look_seconds = look_seconds
        self._shared = shared
        self.asking = False
        """Whether the catalog has been asked and has not answered."""
        self.dry_until = 0.0
        """Until when the catalog is not asked again, having had nothing; 0 when it may have."""
        self._leased = 0
        """How many URLs the catalog gave since it last counted what is pending."""
        self.before_asking: Callable[[], None] = lambda: None
        """Called when the catalog is about to be asked and little is left to order."""

    def ask(self, now: float) -> None:
        """Ask for more if a queue is empty and there may be more."""
        if self.asking or now < self.dry_until or self._ledger.limit_reached:
            return
        refill = self._urlserver.wants(now, saturated=not self._ledger.credit())
        if refill is None:
            return
        if self._urlserver.queued <= self._concurrency:
            self.before_asking()
        self.asking = True
        wall = self._clock.time()
        count = min(refill.count, _MAX_LEASE)
        named = self._names.named
        held = dict(self._urlserver.held(now))
        held_until = min(held.values(), default=_NEVER)

        def lease(catalog: Catalog) -> Leased:
            batch = catalog.due(count, refill.per_host, wall, refill.reject_hosts)
            next_due_at = None if batch else catalog.next_due_at(wall, held)
            # While daemons run, people may add start URLs.
            seeds = (
                seeds_of(catalog)
                if self._shared and any(due.depth == 0 and due.host not in named for due in batch)
                else []
            )
            return Leased(batch, next_due_at, self._recall.read(catalog, batch), seeds, held_until)

        self._keeper.write(lease, self._answered)

    def _answered(self, answer: Leased) -> None:
        batch, next_due_at, recalled, seeds, held_until = answer
        now = self._clock.monotonic()
        self.asking = False
        self._ledger.held += len(batch)
        self._leased += len(batch)
        self._names.name(map(host_of, seeds))
        self._recall.apply(recalled, self._urlserver, self._robots, now)
        self._urlserver.offer(batch, now)
        if not batch:
            wait = 3_600.0 if next_due_at is None else next_due_at - self._clock.time()
            wait = min(wait, held_until - now)
            # Due now, and yet nothing came: the hosts with work were rejected because their
            # queues are full.
            self.dry_until = now + min(max(wait, _FULL_SECONDS), self._look_seconds)

    @property
    def is_all_taken(self) -> bool:
        """Whether the catalog has nothing more to give until something is committed."""
        return self._keeper.counts.pending <= self._leased

    def counted(self) -> None:
        """Note that the catalog has just counted what is pending."""
        self._leased = 0

    def more_now(self) -> None:
        """Ask again at the next occasion: something has become due."""
        self.dry_until = 0.0

    def more_at(self, moment: float) -> None:
        """Ask again when something is due (wall time), and no later."""
        wait = max(0.0, moment - self._clock.time())
        self.dry_until = min(self.dry_until, self._clock.monotonic() + wait)
