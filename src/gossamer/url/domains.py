"""How many hosts one registrable domain may have: whoever owns a domain can make them up."""

from collections.abc import Callable
from typing import Final

from gossamer.config.url import UrlSettings
from gossamer.url.census import WORTH_KEEPING, Census
from gossamer.url.parts import registrable_domain

_MAX_REMEMBERED: Final = 50_000


class DomainWatch:
    """Counts the hosts of each domain and lets no more in when there are too many.

    A host counts from its first URL that was let in. Which hosts those are is known to the catalog
    (`is_open`); it is asked only about hosts that were not met lately.
    """

    def __init__(self, settings: UrlSettings, census: Census) -> None:
        self._limit = settings.max_domain_hosts
        self._exempt = frozenset(settings.trap_exempt)
        self._census = census
        self._is_open: Callable[[str], bool] = lambda _: False
        self._met: set[str] = set()
        self._ended = True

    def begin(self, is_open: Callable[[str], bool]) -> None:
        """Begin a transaction; what one let in that was never ended is not in."""
        self._is_open = is_open
        if not self._ended:
            self._met.clear()
        self._ended = False

    def end(self) -> None:
        """Take what was let in for good."""
        self._ended = True

    def admit(self, host: str) -> str | None:
        """Return why a URL of this host may not be let in, None if it may."""
        if host in self._met:
            return None
        domain = registrable_domain(host)
        if domain == host or self._is_open(host) or not self._exempt.isdisjoint((host, domain)):
            self._remember(host)
            return None
        entry = self._census.met(domain, _pattern(domain), min(WORTH_KEEPING, self._limit))
        if entry is not None and entry.reason:
            return entry.reason
        if entry is None or entry.count <= self._limit:
            self._remember(host)
            return None
        reason = f"wildcard names: more than {self._limit} hosts of {domain}"
        self._census.put(domain, _pattern(domain), entry.count, reason)
        return reason

    def _remember(self, host: str) -> None:
        if len(self._met) >= _MAX_REMEMBERED:
            self._met.clear()
        self._met.add(host)


def _pattern(domain: str) -> str:
    return f"*.{domain}"
