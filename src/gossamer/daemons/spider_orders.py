"""Orders that are open: what was asked for, by whom, and what has come of it so far."""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from gossamer.config.url import UrlSettings
from gossamer.errors import WireError
from gossamer.messages import Fetch, Kind, Visit
from gossamer.outcomes import Outcome
from gossamer.url.canonical import canonicalize, host_of
from gossamer.wire.lines import MAX_URL_BYTES, Order

if TYPE_CHECKING:
    from gossamer.daemons.spider_links import Link

# Status messages leave a little before they are due, so that they arrive in time.
_EARLY: Final = 0.1
_EARLY_SECONDS: Final = 0.25
_MOST_STALE: Final = 1_024
# What is ordered is fetched: no parameter is dropped, no length refused that fits a line.
_AS_ORDERED: Final = UrlSettings(max_bytes=MAX_URL_BYTES)


class Transaction:
    """One order of one URL Server, from its line to its DONE."""

    __slots__ = ("ends_at", "fetches", "is_over", "link", "order", "reported_at", "ticket", "visit")

    def __init__(self, ticket: int, link: "Link", order: Order, now: float) -> None:
        self.ticket = ticket
        """Our own number for it: TRANS_IDs mean something on their own link only."""
        self.link = link
        self.order = order
        self.reported_at = now
        self.fetches: list[Fetch] = []
        """One for each hop, in order."""
        self.ends_at = 0
        """It is kept when the spool has made so many results durable, its own among them."""
        self.visit = self.visit_to(order.url)
        """The request that is under way: the order's own, a hop's, or for a robots.txt."""
        self.is_over = False

    def visit_to(self, url: str, kind: Kind = Kind.PAGE) -> Visit:
        """Go on to this URL, at the order's address (A19), after the hops so far."""
        self.visit = Visit(
            trans_id=self.ticket,
            doc_id=self.order.doc_id,
            address=self.order.address,
            url=url,
            kind=int(kind),
            report_start=True,
            via=tuple(fetch.visit.url for fetch in self.fetches),
        )
        return self.visit

    def unusable(self, wall: float) -> Fetch:
        """Return what becomes of an order whose URL cannot be asked for at all."""
        is_web = self.order.url.startswith(("http://", "https://"))
        return Fetch(
            visit=self.visit,
            outcome=Outcome.DNS_BAD if is_web else Outcome.REDIR_SCHEME,
            detail="not a URL that can be fetched",
            fetched_at=wall,
        )


class Transactions:
    """All that is open over all links, and when each must be reported."""

    def __init__(self, update_seconds: float) -> None:
        self._interval = update_seconds - min(update_seconds * _EARLY, _EARLY_SECONDS)
        self._open: dict[int, Transaction] = {}
        self._timers: list[tuple[float, int]] = []
        self._last_ticket = 0

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, link: "Link", order: Order, now: float) -> Transaction:
        """Open a transaction."""
        self._last_ticket += 1
        transaction = Transaction(self._last_ticket, link, order, now)
        self._open[transaction.ticket] = transaction
        heappush(self._timers, (now + self._interval, transaction.ticket))
        if len(self._timers) > _MOST_STALE + 2 * len(self._open):
            self._forget_stale_timers()
        return transaction

    def get(self, ticket: int) -> Transaction | None:
        """Return an open transaction."""
        return self._open.get(ticket)

    def end(self, transaction: Transaction) -> None:
        """Close a transaction, reported or not."""
        transaction.is_over = True
        self._open.pop(transaction.ticket, None)

    def overdue(self, now: float) -> list[Transaction]:
        """Return those of which nothing was said for as long as may be (S0.19)."""
        found = []
        while self._timers and self._timers[0][0] <= now:
            _, ticket = heappop(self._timers)
            transaction = self._open.get(ticket)
            if transaction is None:
                continue
            due_at = transaction.reported_at + self._interval
            if due_at <= now:
                found.append(transaction)
                transaction.reported_at = now
                due_at = now + self._interval
            heappush(self._timers, (due_at, ticket))
        return found

    def next_at(self) -> float | None:
        """Return when to ask again for those that are overdue."""
        return self._timers[0][0] if self._timers else None

    def _forget_stale_timers(self) -> None:
        """Most orders are over long before their timer: do not let those pile up."""
        self._timers = [each for each in self._timers if each[1] in self._open]
        heapify(self._timers)


def canonical_url(order: Order) -> str | None:
    """Return the URL of an order as it is asked for; None if it cannot be."""
    return canonicalize(order.url, _AS_ORDERED)


def check_host(order: Order) -> None:
    """Refuse an order whose HOST_NAME and URL speak of different hosts.

    A URL that cannot be used at all is no fault of the line: it is an order, and fails as one.
    """
    url = canonical_url(order)
    if url is None:
        return
    named = order.host.lower().removesuffix(".")
    host = host_of(url)
    if named in {host, f"[{host}]"} or url.split("/", 3)[2] == named:
        return
    raise WireError(f"HOST_NAME {order.host[:100]} is not the host of {order.url[:100]}")
