"""How many sitemaps one host may have: an index names 50,000, and each may be one more index."""

from typing import Final

from gossamer.config.url import UrlSettings
from gossamer.url.census import WORTH_KEEPING, Census

_PATTERN: Final = "sitemaps"


class SitemapWatch:
    """Counts the sitemaps of each host that sitemaps name, and lets no more in beyond a budget."""

    def __init__(self, settings: UrlSettings, census: Census) -> None:
        self._limit = settings.max_host_sitemaps
        self._worth = min(WORTH_KEEPING, self._limit)
        self._exempt = frozenset(settings.trap_exempt)
        self._census = census

    def admit(self, host: str) -> str | None:
        """Count a new sitemap of a host; return why it is quarantined, None if it is not."""
        entry = None if host in self._exempt else self._census.met(host, _PATTERN, self._worth)
        if entry is None or (not entry.reason and entry.count <= self._limit):
            return None
        if not entry.reason:
            reason = f"sitemaps without end: more than {self._limit} of {host}"
            self._census.put(host, _PATTERN, entry.count, reason)
        return entry.reason
