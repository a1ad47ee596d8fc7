"""Defence against sites without end: what a program can make faster than anyone can fetch.

`path_trap` looks at one URL. `TrapWatch` counts URLs of one shape on one host (shapes.py) and puts
a shape in quarantine when it passes its budget. The reasons are in docs/decisions/traps.md.
"""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import md5
from itertools import groupby
from typing import Final

from gossamer.config.url import UrlSettings
from gossamer.url.parts import host_of, path_query_of
from gossamer.url.shapes import Growth, Shape, shape_of
from gossamer.url.spread import Spread

Count = tuple[str, str, int, str]
"""Host, pattern, number of URLs, and the reason if the pattern is in quarantine, else ''."""

_MAX_PATTERN: Final = 200
# Counts below this are not worth keeping on disk, and most shapes never pass it.
_WORTH_KEEPING: Final = 16
_MAX_SPREADS: Final = 2_000
_MAX_RUN: Final = 8


def path_trap(url: str, settings: UrlSettings, parent: str = "") -> str | None:
    """Return why a canonical URL by itself is a trap: repetition, a long path, a growing query."""
    most = settings.max_repeated_segments
    query = url.find("?")
    reason = None
    # The scheme and the root have three slashes; n more make n + 1 segments.
    before_query = url if query < 0 else url[:query]
    slashes = before_query.count("/") - 3
    if slashes >= most or slashes >= settings.max_path_segments:
        reason = _segments_trap(before_query.split("/")[3:], settings)
    if reason is None and query >= 0 and url.count("&", query) >= most:
        reason = _parameters_trap(url, query, most, parent)
    if reason is None or (settings.trap_exempt and host_of(url) in settings.trap_exempt):
        return None
    return reason


def _segments_trap(segments: list[str], settings: UrlSettings) -> str | None:
    if not segments[-1]:
        segments.pop()
    if len(segments) > settings.max_path_segments:
        return f"more than {settings.max_path_segments} path segments"
    most = settings.max_repeated_segments
    # A segment that occurs most + 1 times leaves at least so many doubles.
    if len(segments) - len(set(segments)) < most:
        return None
    return _repeated_run(segments, most) or _repeated_segment(segments, most)


def _repeated_run(segments: list[str], most: int) -> str | None:
    """Find `/a/a/a/a` and `/a/b/a/b/a/b`: what a wrong relative link makes of itself."""
    for length in range(1, min(len(segments) // 2, _MAX_RUN) + 1):
        allowed = most if length == 1 else max(most, 2) - 1
        for start in range(len(segments) - length * (allowed + 1) + 1):
            run = segments[start : start + length]
            if segments[start : start + length * (allowed + 1)] == run * (allowed + 1):
                return f"/{'/'.join(run)[:_MAX_PATTERN]} repeated in the path"
    return None


def _repeated_segment(segments: list[str], most: int) -> str | None:
    """Find a segment that comes back again and again; numbers do so in honest paths."""
    for segment, group in groupby(sorted(segments)):
        count = len(list(group))
        if count > most and not segment.isdecimal():
            return f"/{segment[:_MAX_PATTERN]} {count} times in the path"
    return None


def _parameters_trap(url: str, query: int, most: int, parent: str) -> str | None:
    parameters = url[query + 1 :].split("&")
    for parameter, group in groupby(sorted(parameters)):
        count = len(list(group))
        if count > most:
            return f"parameter {parameter[:_MAX_PATTERN]} {count} times in the query"
    if not parent.startswith(url[: query + 1]) or len(parent) >= len(url):
        return None
    for name, group in groupby(sorted(each.partition("=")[0] for each in parameters)):
        count = len(list(group))
        if count > most:
            return f"a growing query: parameter {name[:_MAX_PATTERN]} {count} times"
    return None


class TrapWatch:
    """Counts the URLs of each shape on each host and quarantines shapes that pass their budget.

    Theory of operation. `admit` is asked once for each new URL. A shape is first counted in a small
    table that forgets; from a handful of URLs on it is tracked, least recently used first out. The
    tracked counts can be saved and loaded, so that a restart does not give a trap a new budget.
    Memory is bounded by `max_tracked`, whatever is linked to.
    """

    def __init__(self, settings: UrlSettings, max_tracked: int = 20_000) -> None:
        self._budgets = {
            Growth.NUMBERS: settings.max_pattern_urls,
            Growth.DATES: settings.max_calendar_urls,
            Growth.SESSIONS: settings.max_session_variants,
            Growth.QUERIES: settings.max_pattern_urls,
        }
        self._max_query_variants = settings.max_query_variants
        self._max_depth = settings.max_pattern_depth
        self._exempt = frozenset(settings.trap_exempt)
        self._max_tracked = max_tracked
        self._tracked: OrderedDict[str, _Tracked] = OrderedDict()
        self._spreads: OrderedDict[str, Spread] = OrderedDict()
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._changed: dict[str, _Tracked] = {}

    def admit(self, host: str, url: str, depth: int = 0) -> str | None:
        """Count a new URL of a host; return why it is quarantined, None if it may be fetched."""
        shape = shape_of(path_query_of(url))
        if shape is None or host in self._exempt:
            return None
        pattern = _bounded(shape.pattern)
        if depth > self._max_depth:
            return f"endless chain: {pattern} more than {self._max_depth} links away"
        key = host + pattern
        tracked = self._tracked.get(key)
        if tracked is None:
            count = self._young_count(key)
            if count < min(_WORTH_KEEPING, self._budgets[shape.growth]) and not shape.parameters:
                return None
            tracked = self._track(key, _Tracked(host, pattern, count - 1))
        else:
            self._tracked.move_to_end(key)
        return tracked.reason or self._count(key, tracked, shape)

    def counts(self) -> Iterable[Count]:
        """Yield what is tracked, to be saved."""
        for tracked in self._tracked.values():
            yield tracked.saved()

    def changed(self) -> list[Count]:
        """Return what changed since the last call and is worth saving."""
        changed = [tracked.saved() for tracked in self._changed.values()]
        self._changed.clear()
        return changed

    def load(self, counts: Iterable[Count]) -> None:
        """Take up counts that were saved."""
        for host, pattern, count, reason in counts:
            self._track(host + pattern, _Tracked(host, pattern, count, reason))

    def _count(self, key: str, tracked: "_Tracked", shape: Shape) -> str | None:
        tracked.count += 1
        budget = self._budgets[shape.growth]
        if tracked.count > budget:
            tracked.reason = (
                f"{shape.growth}: more than {budget} URLs of the shape {tracked.pattern}"
            )
        elif shape.parameters and self._is_combined(key, shape.parameters):
            tracked.reason = (
                f"{shape.growth}: more than {self._max_query_variants} on {tracked.pattern}"
            )
        if tracked.reason or tracked.count >= _WORTH_KEEPING:
            self._changed[key] = tracked
        return tracked.reason or None

    def _is_combined(self, key: str, parameters: tuple[str, ...]) -> bool:
        spread = self._spreads.get(key)
        if spread is None:
            spread = self._spreads[key] = Spread(self._max_query_variants)
            if len(self._spreads) > _MAX_SPREADS:
                self._spreads.popitem(last=False)
        else:
            self._spreads.move_to_end(key)
        spread.add(parameters)
        return spread.is_combined()

    def _young_count(self, key: str) -> int:
        """Count a shape that is not tracked yet, in two generations of bounded size."""
        count = self._young.get(key) or self._old.get(key, 0)
        self._young[key] = count + 1
        if len(self._young) > 2 * self._max_tracked:
            self._old, self._young = self._young, {}
        return count + 1

    def _track(self, key: str, tracked: "_Tracked") -> "_Tracked":
        self._young.pop(key, None)
        self._tracked[key] = tracked
        if len(self._tracked) > self._max_tracked:
            forgotten, _ = self._tracked.popitem(last=False)
            self._changed.pop(forgotten, None)
        return tracked


class _Tracked:
    """A shape on a host, how many URLs it had, and why it is quarantined."""

    __slots__ = ("count", "host", "pattern", "reason")

    def __init__(self, host: str, pattern: str, count: int, reason: str = "") -> None:
        self.host = host
        self.pattern = pattern
        self.count = count
        self.reason = reason

    def saved(self) -> Count:
        return self.host, self.pattern, self.count, self.reason


def _bounded(pattern: str) -> str:
    """Return a pattern short enough to be kept, still different from all others."""
    if len(pattern) <= _MAX_PATTERN:
        return pattern
    digest = md5(pattern.encode(), usedforsecurity=False).hexdigest()
    return f"{pattern[:_MAX_PATTERN]}…{digest}"
