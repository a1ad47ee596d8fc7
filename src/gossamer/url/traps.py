"""Defence against sites without end: what a program can make faster than anyone can fetch.

`path_trap` looks at one URL. `TrapWatch` counts URLs of one shape on one host (shapes.py) and puts
a shape in quarantine when it passes its budget. What the pages say is the business of
probation.py. The reasons are in docs/decisions/traps.md.
"""

from collections import OrderedDict
from itertools import groupby
from typing import Final

from gossamer.config.url import UrlSettings
from gossamer.url.census import WORTH_KEEPING, Census, Entry
from gossamer.url.parts import host_of, path_query_of
from gossamer.url.shapes import Growth, Shape, bounded, shape_of
from gossamer.url.spread import Spread

_MAX_SHOWN: Final = 200
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


def is_tame(directory: str, settings: UrlSettings) -> bool:
    """Whether no file in a directory can be a trap by its path alone, whatever its name."""
    segments = directory.split("/")[3:-1]
    # With the name there is one segment more, and at most one more double.
    return (
        len(segments) < settings.max_path_segments
        and len(segments) - len(set(segments)) + 1 < settings.max_repeated_segments
    )


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
                return f"/{'/'.join(run)[:_MAX_SHOWN]} repeated in the path"
    return None


def _repeated_segment(segments: list[str], most: int) -> str | None:
    """Find a segment that comes back again and again; numbers do so in honest paths."""
    for segment, group in groupby(sorted(segments)):
        count = len(list(group))
        if count > most and not segment.isdecimal():
            return f"/{segment[:_MAX_SHOWN]} {count} times in the path"
    return None


def _parameters_trap(url: str, query: int, most: int, parent: str) -> str | None:
    parameters = url[query + 1 :].split("&")
    for parameter, group in groupby(sorted(parameters)):
        count = len(list(group))
        if count > most:
            return f"parameter {parameter[:_MAX_SHOWN]} {count} times in the query"
    if not parent.startswith(url[: query + 1]) or len(parent) >= len(url):
        return None
    for name, group in groupby(sorted(each.partition("=")[0] for each in parameters)):
        count = len(list(group))
        if count > most:
            return f"a growing query: parameter {name[:_MAX_SHOWN]} {count} times"
    return None


class TrapWatch:
    """Counts the URLs of each shape on each host and quarantines shapes that pass their budget.

    `admit` is asked once for each new URL. Memory is bounded, whatever is linked to.
    """

    def __init__(self, settings: UrlSettings, census: Census | None = None) -> None:
        self._budgets = {
            Growth.NUMBERS: settings.max_pattern_urls,
            Growth.DATES: settings.max_calendar_urls,
            Growth.SESSIONS: settings.max_session_variants,
            Growth.QUERIES: settings.max_pattern_urls,
        }
        self._worth = {
            growth: min(WORTH_KEEPING, budget) for growth, budget in self._budgets.items()
        }
        self._max_query_variants = settings.max_query_variants
        self._max_depth = settings.max_pattern_depth
        self._exempt = frozenset(settings.trap_exempt)
        self._census = census if census is not None else Census()
        self._spreads: OrderedDict[str, Spread] = OrderedDict()
        self._before: dict[str, tuple[int, int]] | None = None

    def begin(self) -> None:
        """Begin a transaction; take back what one that was never ended has counted."""
        for key, marks in (self._before or {}).items():
            if key in self._spreads:
                self._spreads[key].marks = marks
        self._before = {}

    def end(self) -> None:
        """Take what was counted for good."""
        self._before = None

    def admit(self, host: str, url: str, depth: int = 0) -> str | None:
        """Count a new URL of a host; return why it is quarantined, None if it may be fetched."""
        shape = shape_of(path_query_of(url))
        if shape is None or host in self._exempt:
            return None
        pattern = bounded(shape.pattern)
        if depth > self._max_depth:
            return f"endless chain: {pattern} more than {self._max_depth} links away"
        # Combinations of parameters are looked at from the first URL on.
        worth = 1 if shape.parameters else self._worth[shape.growth]
        entry = self._census.met(host, pattern, worth)
        return None if entry is None else entry.reason or self._judge(entry, shape)

    def _judge(self, entry: Entry, shape: Shape) -> str | None:
        reason = ""
        budget = self._budgets[shape.growth]
        if entry.count > budget:
            reason = f"{shape.growth}: more than {budget} URLs of the shape {entry.pattern}"
        elif shape.parameters and self._is_combined(entry.host + entry.pattern, shape.parameters):
            reason = f"{shape.growth}: more than {self._max_query_variants} on {entry.pattern}"
        if not reason:
            return None
        self._census.put(entry.host, entry.pattern, entry.count, reason)
        return reason

    def _is_combined(self, key: str, parameters: tuple[str, ...]) -> bool:
        spread = self._spreads.get(key)
        if spread is None:
            spread = self._spreads[key] = Spread(self._max_query_variants)
            if len(self._spreads) > _MAX_SPREADS:
                self._spreads.popitem(last=False)
        else:
            self._spreads.move_to_end(key)
        if self._before is not None:
            self._before.setdefault(key, spread.marks)
        spread.add(parameters)
        return spread.is_combined()
