"""How much of one site is handed out at once, and how long it rests afterwards (S4.21).

The gaps between requests are the URL server's; this keeps a site with thousands of feeds or
stories from filling the queue, and from being served ahead of all others.
"""

from collections.abc import Callable
from typing import Final

_MAX_REMEMBERED: Final = 100_000


class Throttle:
    """Counts what sites are given in one provision, and lets them rest until the next."""

    def __init__(
        self, per_site: int, rest_seconds: float, site_of: Callable[[str], str] = lambda host: host
    ) -> None:
        self._per_site = per_site
        self._rest_seconds = rest_seconds
        self._site_of = site_of
        self._given: dict[str, int] = {}
        self._rests_until: dict[str, float] = {}

    def begin(self, now: float) -> None:
        """Begin a provision."""
        self._given.clear()
        if len(self._rests_until) > _MAX_REMEMBERED:
            self._rests_until = {
                site: until for site, until in self._rests_until.items() if until > now
            }

    def room(self, host: str, now: float) -> int:
        """Return how many URLs of a host may be given now."""
        site = self._site_of(host)
        given = self._given.get(site, 0)
        # A clock that was set back must not make anybody rest for longer than the rest takes.
        rests = now < self._rests_until.get(site, 0.0) <= now + self._rest_seconds
        return 0 if rests and not given else self._per_site - given

    def give(self, host: str, count: int, now: float) -> float:
        """Count what is given; return until when the site rests."""
        site = self._site_of(host)
        self._given[site] = self._given.get(site, 0) + count
        until = self._rests_until[site] = now + self._rest_seconds
        return until

    def rests_until(self, host: str) -> float:
        """Return when a site gets something again."""
        return self._rests_until.get(self._site_of(host), 0.0)
