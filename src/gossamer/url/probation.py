"""Links that only pages with nothing new to say lead to: they are on probation.

Theory of operation. What a family of pages (families.py) breeds is judged by its fruits. A page on
probation that says nothing new either counts against the family that led to it; one that does say
something takes several of those away. A family that has too many against it is closed: nothing that
only it leads to is followed any more. Endless sites end here whatever their URLs look like, and a
large site does not, for its pages say something.
"""

from typing import Final

from gossamer.config.url import UrlSettings
from gossamer.url.census import Census
from gossamer.url.families import split_family

_PREFIX: Final = "links of "
# So many pages without news are made good by one with some.
_WORTH_OF_NEWS: Final = 10


class Probation:
    """Keeps the account of each family."""

    def __init__(self, settings: UrlSettings, census: Census) -> None:
        self._limit = settings.max_fruitless_pages
        self._exempt = frozenset(settings.trap_exempt)
        self._census = census
        self._closed: list[str] = []

    def begin(self) -> None:
        """Begin a transaction; what one closed that was never ended is not closed."""
        self._closed.clear()

    def refusal(self, family: str) -> str | None:
        """Return why what this family leads to is not followed, None if it is."""
        host, pattern = split_family(family)
        entry = self._census.find(host, _PREFIX + pattern)
        return (entry.reason or None) if entry is not None else None

    def judge(self, family: str, *, is_new: bool) -> None:
        """Take note of a page that this family led to."""
        host, pattern = split_family(family)
        entry = self._census.find(host, _PREFIX + pattern)
        if host in self._exempt or (entry is not None and entry.reason):
            return
        count = entry.count if entry is not None else 0
        if is_new:
            if count:
                self._census.put(host, _PREFIX + pattern, max(0, count - _WORTH_OF_NEWS))
            return
        reason = ""
        if count >= self._limit:
            reason = (
                f"nothing new: more than {self._limit} pages without news, "
                f"reached from {pattern} only"
            )
            self._closed.append(host)
        self._census.put(host, _PREFIX + pattern, count + 1, reason)

    def closed(self) -> list[str]:
        """Return the hosts of the families that were closed since the last call."""
        closed, self._closed = self._closed, []
        return closed
