"""The trap rules that need a memory, as the gate through which new URLs enter the catalog.

They are asked by the catalog itself, inside the transaction, because only there is it known which
URLs are new: to count a URL again that was known already would quarantine honest sites after a
few restarts. For the same reason they are told when a transaction begins and ends: one that a full
disk refused is done again, and must not count twice.
"""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.catalog import TrapCount
from gossamer.config.url import UrlSettings
from gossamer.messages import Findings, Found, Kind, News
from gossamer.outcomes import Outcome, State
from gossamer.url.census import Census
from gossamer.url.domains import DomainWatch
from gossamer.url.families import family_of
from gossamer.url.parts import host_of
from gossamer.url.probation import Probation
from gossamer.url.sitemaps import SitemapWatch
from gossamer.url.traps import TrapWatch

# A plain number: to look a member up takes longer than to compare with it.
_SITEMAP: Final = int(Kind.SITEMAP)


class Admission:
    """A Gate of the catalog (see there) that keeps traps out."""

    def __init__(self, settings: UrlSettings, earlier: Iterable[TrapCount] = ()) -> None:
        self._census = Census()
        self._census.load(
            (count.host, count.pattern, count.urls, count.reason) for count in earlier
        )
        self._watch = TrapWatch(settings, self._census)
        self._probation = Probation(settings, self._census)
        self._domains = DomainWatch(settings, self._census)
        self._sitemaps = SitemapWatch(settings, self._census)

    def begin(self, is_open: Callable[[str], bool]) -> None:
        """Begin a transaction; what was counted in one that has not ended never happened."""
        self._census.begin()
        self._watch.begin()
        self._probation.begin()
        self._domains.begin(is_open)

    def admit(self, found: Found) -> Found:
        """Return the URL, excluded if it is part of what is in quarantine."""
        reason = self._probation.refusal(found.probation) if found.probation else None
        reason = (
            reason
            or self._watch.admit(found.host, found.url, found.depth)
            or self._domains.admit(found.host)
            or (self._sitemaps.admit(found.host) if found.kind == _SITEMAP else None)
        )
        if reason is None:
            return found
        return replace(
            found, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_TRAP), detail=reason
        )

    def judged(self, finder: str, findings: Findings) -> None:
        """Hear what a URL on probation brought; `finder` is the page on which it was found."""
        if findings.news != News.UNKNOWN:
            family = family_of(host_of(finder), finder)
            self._probation.judge(family, is_new=findings.news == News.SOME)

    def closed(self) -> list[str]:
        """Return hosts with pages whose links are from now on not followed."""
        return self._probation.closed()

    def refusal(self, finder: str) -> str | None:
        """Return why what is on probation for being found on this page is not followed."""
        return self._probation.refusal(family_of(host_of(finder), finder))

    def changed(self) -> list[TrapCount]:
        """Return the counts that changed in this transaction."""
        return [TrapCount(*count) for count in self._census.changed()]

    def end(self) -> None:
        """Hear that the transaction is durable."""
        self._census.end()
        self._watch.end()
        self._domains.end()
