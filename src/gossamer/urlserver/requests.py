"""What the URL server asks of its surroundings and tells them."""

from typing import NamedTuple

from msgspec import Struct

from gossamer.messages import Due
from gossamer.outcomes import Outcome


class Refill(Struct, frozen=True):
    """A request to the catalog for more URLs (A18)."""

    count: int
    per_host: int
    """More than this of one host would not fit in its queue."""
    reject_hosts: frozenset[str]
    reject_addresses: frozenset[str]


class Resolve(Struct, frozen=True):
    """A host name whose addresses are needed: answer with `resolved`."""

    host: str
    again: bool = False
    """Whether name servers must be asked, whatever they said before."""


class FetchRobots(Struct, frozen=True):
    """A robots.txt to fetch now, from this address: answer with `robots_answer`.

    It is counted in the limits of its host and address from now on, like an order.
    """

    authority: str
    """Whose rules it will be; differs from the URL's own after a redirect."""
    url: str
    host: str
    address: str
    trans_id: int
    """Below zero, never that of a visit; good for `started`, `working` and `lost`."""
    report_start: bool = False
    proxy: str = ""
    """Through which it is asked for; its rules are kept apart from all others."""
    for_agent: bool = False
    """Its rules count for URLs that are asked for under another name than the crawler's."""


class Ended(NamedTuple):
    """A URL that ends here without a fetch."""

    due: Due
    outcome: Outcome
    detail: str
    retry_after_seconds: float | None = None
    """A try before this would end the same way."""


class Returned(NamedTuple):
    """A URL handed back untried, because its host is held for long or no room is left."""

    due: Due
    seconds: float
    """How long its host is held."""


class Overdue(NamedTuple):
    """An order of which no word came in time: its DONE, should it still come, will be ignored."""

    trans_id: int
    due: Due
    given_up: bool
    """Whether it got lost too often (A6); otherwise it is queued again."""


class Learned(NamedTuple):
    """What became of an order whose DONE did not say it."""

    host: str
    authority: str
    """`scheme://host[:port]` of its URL."""
    outcome: Outcome
    dispatched_at: float
    address: str = ""
    """Where it was sent; empty when that is not known."""
    retry_after_seconds: float | None = None


class HostClock(Struct, frozen=True):
    """What must survive a restart so that politeness does."""

    host: str
    next_allowed_seconds: float
    """From now; no request before."""
    gap_seconds: float
    strikes: int = 0
    """Failures in a row that slowed or parked the host."""
    parked: Outcome | None = None
    address: str = ""


class Rest(Struct, frozen=True):
    """A host that is let alone for a while, though there are URLs to ask it for."""

    host: str
    seconds: float
    """How much longer."""
    gap_seconds: float
    """How long it is let alone after each request."""
    crawl_delay: bool
    """Because its robots.txt asks for it."""
    failures: int
    """Because so many requests in a row went wrong."""


class Stats(Struct, frozen=True):
    """Numbers for people."""

    hosts: int
    """Hosts known at the moment, idle ones included."""
    addresses: int
    slots_used: int
    slots_free: int
    queued: int
    leftover: int
    in_flight: int
    ready: int
    """Addresses that wait only for their moment."""
    stale: int
    """DONE or WORKING with an old generation."""
    resolver_silent_seconds: float
    """How long no name server has answered anything although asked; 0 when all is well."""
