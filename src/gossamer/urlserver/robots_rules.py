"""The lines of one robots.txt that concern us, ready to be asked about paths.

Google's parser reads the file once, Google's matcher gives the verdicts. Asking the matcher about
the whole file costs about 2 microseconds a line and URL, so a cheap test that can only err on the
side of asking picks the few lines that could match, and the matcher sees those alone
(`bench/urlserver.py`).
"""

import re
from typing import Final

from jwm.robotstxt.googlebot import ParseRobotsTxt, RobotsMatcher, RobotsParseHandler

_MAX_SITEMAPS: Final = 1_000
_MAX_SITEMAP_CHARACTERS: Final = 8_192
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")
_ESCAPE: Final = re.compile("%[0-9a-fA-F]{2}")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# What may be written as an escape or not, and mean the same. In a rule `*` and a last `$` are
# special, so that only an escape stands for the character itself (RFC 9309, 2.2.3).
_RAW: Final = r""" "'<>\[\\\]^`{|}"""
_IN_RULE: Final = re.compile(rf"%[0-9a-fA-F]{{2}}|[{_RAW}]|\$(?!\Z)")
_IN_PATH: Final = re.compile(rf"%[0-9a-fA-F]{{2}}|[{_RAW}*$]")
# Most paths have none of them, and this says so sooner.
_MAY_DIFFER: Final = re.compile(rf"[%{_RAW}*$]")
_ANY_HOST: Final = "http://h"
# Characters of rules with asterisks times those of a path: so much takes the matcher 25 ms. Honest
# files and paths are far below it.
_MOST_STEPS: Final = 20_000_000


class RuleSet:
    """The rules for some product tokens, each of which must be allowed, and nothing else."""

    __slots__ = ("_matcher", "_readings", "_size", "crawl_delay", "sitemaps")

    def __init__(self, body: bytes, *agents: str) -> None:
        text = _as_utf8(body)
        self.crawl_delay = 0.0
        self.sitemaps: tuple[str, ...] = ()
        self._matcher = RobotsMatcher()
        # For each agent the rules as they are written, and with escapes in one form: a path must be
        # allowed in both. The two are often the same, which is then asked once.
        self._readings: list[tuple[_Index, _Index]] = []
        self._size = 0
        for agent in agents:
            self._read(text, agent)

    def _read(self, text: bytes, agent: str) -> None:
        groups = _Groups(agent)
        ParseRobotsTxt(text, groups)
        rules = groups.specific if groups.names_us else groups.general
        delays = groups.specific_delays if groups.names_us else groups.general_delays
        self.crawl_delay = max(self.crawl_delay, *delays, 0.0)
        self.sitemaps = tuple(groups.sitemaps)
        written = _Index(rules)
        alike = [(allow, _IN_RULE.sub(_in_one_way, pattern)) for allow, pattern in rules]
        self._readings.append((written, written if alike == rules else _Index(alike)))
        self._size += sum(len(pattern) for _, pattern in rules)

    def __len__(self) -> int:
        """Return how many rules there are."""
        return sum(len(written) for written, _ in self._readings)

    @property
    def characters(self) -> int:
        """How much text the rules hold: for the memory account."""
        return self._size

    def allows(self, path: str) -> bool:
        """Return whether a path (with query, from its first slash on) may be fetched.

        RFC 9309 (2.2.2) compares `%7E` and `~` as equal, Google's matcher does not; a path is
        fetched only when it is allowed in both readings.
        """
        if _MAY_DIFFER.search(path) is None:
            return all(self._allows(*reading, path, path) for reading in self._readings)
        written = _ESCAPE.sub(lambda escape: escape[0].upper(), path)
        alike = _IN_PATH.sub(_in_one_way, path)
        return all(self._allows(*reading, written, alike) for reading in self._readings)

    def _allows(self, written: "_Index", other: "_Index", path: str, alike: str) -> bool:
        if not self._verdict(written, path):
            return False
        if other is written and alike == path:
            return True
        return self._verdict(other, alike)

    def _verdict(self, index: "_Index", path: str) -> bool:
        """Let Google's matcher decide among the rules that could match."""
        lines = index.candidates(path)
        if not lines:
            return True
        # Made to be slow: every other host would wait meanwhile. When in doubt we do not fetch.
        if sum(len(line) for line in lines if "*" in line) * len(path) > _MOST_STEPS:
            return False
        body = "User-agent: *\n" + "".join(lines)
        return bool(self._matcher.OneAgentAllowedByRobots(body, "a", _ANY_HOST + path))


class _Index:
    """Rules by the literal text they begin with."""

    __slots__ = ("_by_prefix", "_count", "_lengths")

    def __init__(self, rules: list[tuple[bool, str]]) -> None:
        self._count = len(rules)
        self._by_prefix: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for allow, pattern in dict.fromkeys(rules):
            prefix, pieces = _necessary(allow, pattern)
            line = f"{'Allow' if allow else 'Disallow'}: {pattern}\n"
            self._by_prefix.setdefault(prefix, []).append((pieces, line))
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def __len__(self) -> int:
        return self._count

    def candidates(self, path: str) -> list[str]:
        """Return the lines that might match: all that do are among them."""
        found: list[str] = []
        longest = len(path)
        for length in self._lengths:
            if length > longest:
                break
            for pieces, line in self._by_prefix.get(path[:length], ()):
                for piece in pieces:
                    if piece not in path:
                        break
                else:
                    found.append(line)
        return found


def _necessary(allow: bool, pattern: str) -> tuple[str, tuple[str, ...]]:
    """Return a prefix every matching path has, and pieces of text every matching path contains."""
    if allow:
        # Google reads `Allow: /a/index.html` as allowing /a/ too.
        slash = pattern.rfind("/")
        if slash >= 0 and pattern.startswith("/index.htm", slash):
            pattern = pattern[: slash + 1]
    body = pattern.removesuffix("$")
    prefix, *pieces = body.split("*")
    return prefix, tuple(piece for piece in pieces if piece)


class _Groups(RobotsParseHandler):  # type: ignore[misc]  # the compiled module carries no types
    """Sorts the lines of a file into those that name us and those for everybody.

    Grouping is that of Google's matcher: user-agent lines collect until an allow or disallow line,
    other lines do not end them, groups for the same agent are one.
    """

    def __init__(self, agent: str) -> None:
        super().__init__()
        self._agent = agent.lower()
        self._specific = self._general = self._rules_seen = False
        self.names_us = False
        self.specific: list[tuple[bool, str]] = []
        self.general: list[tuple[bool, str]] = []
        self.specific_delays: list[float] = []
        self.general_delays: list[float] = []
        self.sitemaps: list[str] = []

    def HandleRobotsStart(self) -> None:  # noqa: N802  the library's name
        """Nothing to prepare."""

    def HandleRobotsEnd(self) -> None:  # noqa: N802  the library's name
        """Nothing to finish."""

    def ReportLineMetadata(self, line: int, metadata: object) -> None:  # noqa: N802  the library's name
        """Nothing to note."""

    def HandleUserAgent(self, line: int, value: str) -> None:  # noqa: ARG002, N802  the library's name
        """Begin or extend a group."""
        if self._rules_seen:
            self._specific = self._general = self._rules_seen = False
        if value[:1] == "*" and (len(value) == 1 or value[1].isspace()):
            self._general = True
        elif RobotsMatcher.ExtractUserAgent(value).lower() == self._agent:
            self._specific = self.names_us = True

    def HandleAllow(self, line: int, value: str) -> None:  # noqa: ARG002, N802  the library's name
        """Take an allow rule."""
        self._rule(allow=True, pattern=value)

    def HandleDisallow(self, line: int, value: str) -> None:  # noqa: ARG002, N802  the library's name
        """Take a disallow rule."""
        self._rule(allow=False, pattern=value)

    def HandleSitemap(self, line: int, value: str) -> None:  # noqa: ARG002, N802  the library's name
        """Take a sitemap, which belongs to no group."""
        if len(self.sitemaps) < _MAX_SITEMAPS and 0 < len(value) <= _MAX_SITEMAP_CHARACTERS:
            self.sitemaps.append(value)

    def HandleUnknownAction(self, line: int, action: str, value: str) -> None:  # noqa: ARG002, N802  the library's name
        """Take Crawl-delay, which the standard does not know but sites write."""
        if action.lower() != "crawl-delay":
            return
        seconds = _seconds(value)
        if seconds is not None and self._specific:
            self.specific_delays.append(seconds)
        elif seconds is not None and self._general:
            self.general_delays.append(seconds)

    def _rule(self, *, allow: bool, pattern: str) -> None:
        if not (self._specific or self._general):
            return
        self._rules_seen = True
        if pattern:
            (self.specific if self._specific else self.general).append((allow, pattern))


def _seconds(text: str) -> float | None:
    """Return a Crawl-delay as seconds; None for what is no number or below zero."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _as_utf8(body: bytes) -> bytes:
    """Write bytes that are not UTF-8 as escapes, as Google's parser does inside rules."""
    try:
        body.decode()
    except UnicodeDecodeError:
        text = body.decode(errors="surrogateescape")
        return _NOT_UTF8.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", text).encode()
    return body


def _in_one_way(found: re.Match[str]) -> str:
    """Write unreserved characters as they are (RFC 3986, 6.2.2.2), all others as escapes."""
    text = found[0]
    if len(text) == 1:
        return f"%{ord(text):02X}"
    character = chr(int(text[1:], 16))
    return character if character in _UNRESERVED else text.upper()
