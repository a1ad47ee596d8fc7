"""What the URL server holds of a host, an address, a queue slot and an order.

Invariants. `open` counts orders without DONE. `unstarted` counts those of them whose request may
not be on the wire yet although a gap must be kept after it; while it is not zero nothing further
goes to that host or address, because the next moment allowed is counted from a start nobody knows
yet. Only `Order.starts`, `start_alike` and `Order.ends` change these counters.
"""

from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from gossamer.messages import Due
    from gossamer.outcomes import Outcome
    from gossamer.urlserver.authority import Authority
    from gossamer.urlserver.pace import Pace
    from gossamer.urlserver.resolution import Resolution


class Slot:
    """One of the Queue_Count queues: the Active range first, then what waits (S1.15)."""

    __slots__ = ("free", "generation", "host", "index", "pending", "rejected", "used")

    def __init__(self, index: int, active: int) -> None:
        self.index = index
        self.generation = 0
        self.host: Host | None = None
        self.pending: deque[Due] = deque()
        self.free = list(range(active - 1, -1, -1))
        self.used = 0
        self.rejected = False

    def __len__(self) -> int:
        return self.used + len(self.pending)


class Address:
    """An IP address and the hosts on it that have something to send."""

    __slots__ = ("hosts", "key", "name", "next_at", "open", "unstarted", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.open = 0
        self.unstarted = 0
        self.next_at = 0.0
        self.hosts = 0
        self.waiting: list[tuple[float, int, Host]] = []
        self.key = float("inf")


class Host:
    """A host name: its queue slot, its place on the wire, its clock."""

    __slots__ = (
        "address",
        "addresses",
        "answered_at",
        "asked_at",
        "attempts",
        "authorities",
        "awaiting",
        "crawl_delay",
        "dead",
        "errands",
        "failed_addresses",
        "fresh_until",
        "gap",
        "in_line",
        "limit",
        "looks_again",
        "name",
        "next_at",
        "no_name",
        "open",
        "parked",
        "slot",
        "strikes",
        "struck_at",
        "ticket",
        "unstarted",
        "wanted_gap",
    )

    def __init__(self, name: str, pace: "Pace") -> None:
        self.name = name
        self.slot: Slot | None = None
        self.in_line = False
        self.ticket = 0
        self.open = 0
        self.unstarted = 0
        self.next_at = 0.0
        self.gap = pace.host_gap
        self.limit = pace.host_limit
        self.crawl_delay = 0.0
        self.wanted_gap = 0.0
        self.strikes = 0
        self.struck_at = float("-inf")
        self.parked: Outcome | None = None
        self.dead: dict[str, tuple[Outcome, float]] = {}
        self.addresses: tuple[str, ...] = ()
        self.address: Address | None = None
        self.failed_addresses = 0
        self.looks_again = False
        self.asked_at: float | None = None
        self.answered_at = 0.0
        self.fresh_until = 0.0
        self.attempts = 0
        self.no_name: Resolution | None = None
        self.authorities: dict[str, Authority] = {}
        self.awaiting: Authority | None = None
        self.errands: list[Authority] = []

    def set_pace(self, pace: "Pace") -> None:
        """Work out the gap (configured, wanted, Crawl-delay or back-off) and the limit."""
        gap = max(pace.host_gap, min(max(self.crawl_delay, self.wanted_gap), pace.max_back_off))
        if self.strikes:
            back_off = pace.first_back_off * 2.0 ** min(self.strikes - 1, 30)
            gap = max(gap, min(back_off, pace.max_back_off))
        self.gap = gap
        # While a host is in trouble one request at a time tells whether it has recovered.
        self.limit = 1 if self.strikes else pace.host_limit

    def hold_until(self, moment: float) -> None:
        """Send nothing before this moment."""
        self.next_at = max(self.next_at, moment)

    @property
    def is_idle(self) -> bool:
        """Whether nothing of this host is queued, left over, out or being asked for."""
        has_urls = self.slot is not None or self.in_line
        return not (has_urls or self.open or self.errands or self.asked_at is not None)


class Order(Struct, eq=False):
    """A request that is out: a URL in an Active range, or an errand for a robots.txt."""

    trans_id: int
    host: Host
    address: Address
    dispatched_at: float
    heard_at: float
    due: "Due | None" = None
    position: int = 0
    authority: "Authority | None" = None
    host_waits: bool = False
    address_waits: bool = False

    @property
    def report_start(self) -> bool:
        """Whether somebody waits to hear that the request went out."""
        return self.host_waits or self.address_waits

    def starts(self, address_gap: float) -> None:
        """Count the order in; the clocks run from the dispatch until the true moment is known."""
        host, address, now = self.host, self.address, self.dispatched_at
        host.open += 1
        address.open += 1
        if host.gap > 0:
            self.host_waits = True
            host.unstarted += 1
            host.next_at = max(host.next_at, now + host.gap)
        if address_gap > 0:
            self.address_waits = True
            address.unstarted += 1
            address.next_at = max(address.next_at, now + address_gap)

    def is_sent(self, sent_at: float, address_gap: float) -> None:
        """Count the gaps from the moment the request really went out."""
        moment = max(sent_at, self.dispatched_at)
        if self.host_waits:
            self.host_waits = False
            self.host.unstarted -= 1
            self.host.next_at = max(self.host.next_at, moment + self.host.gap)
        if self.address_waits:
            self.address_waits = False
            self.address.unstarted -= 1
            self.address.next_at = max(self.address.next_at, moment + address_gap)

    def asks_again(self, sent_at: float, address_gap: float) -> None:
        """Count the gaps anew from one more request of the same order."""
        if self.host.gap > 0:
            self.host.hold_until(sent_at + self.host.gap)
        if address_gap > 0:
            self.address.next_at = max(self.address.next_at, sent_at + address_gap)

    def ends(self, sent_at: float, address_gap: float) -> None:
        """Count the order out."""
        if self.host_waits or self.address_waits:
            self.is_sent(sent_at, address_gap)
        self.host.open -= 1
        self.address.open -= 1


def start_alike(host: Host, address: Address, count: int) -> None:
    """Count orders in between which neither host nor address is given a gap."""
    host.open += count
    address.open += count
