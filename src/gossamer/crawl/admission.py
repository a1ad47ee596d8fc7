"""The trap rules that need a memory, as the gate through which new URLs enter the catalog.

They are asked by the catalog itself, inside the transaction, because only there is it known which
URLs are new: to count a URL again that was known already would quarantine honest sites after a
few restarts.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from gossamer.catalog.catalog import TrapCount
from gossamer.config.url import UrlSettings
from gossamer.messages import Found
from gossamer.outcomes import Outcome, State
from gossamer.url.traps import TrapWatch


class Admission:
    """A Gate of the catalog (see there) that keeps traps out."""

    def __init__(self, settings: UrlSettings, earlier: Iterable[TrapCount] = ()) -> None:
        self._watch = TrapWatch(settings)
        self._watch.load((count.host, count.pattern, count.urls, count.reason) for count in earlier)

    def admit(self, found: Found) -> Found:
        """Return the URL, excluded if its shape is in quarantine."""
        if self._watch.admit(found.host, found.url, found.depth) is None:
            return found
        return replace(found, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_TRAP))

    def changed(self) -> list[TrapCount]:
        """Return the counts that changed since the last call."""
        return [TrapCount(*count) for count in self._watch.changed()]
