"""The lines of one robots.txt that concern us, ready to be asked about paths (RFC 9309).

The file is read once, as Google's parser would: with the slips that sites make. For a path only
rules with its beginning are looked at, so that a file of thousands costs little
(`bench/urlserver.py`).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_MAX_LINE_BYTES: Final = 16_663
"""Of a longer line the rest is not read; so does Google's parser."""
_MAX_SITEMAPS: Final = 1_000
_MAX_SITEMAP_CHARACTERS: Final = 8_192
_BLANK: Final = " \t\n\v\f\r"
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_PAIR: Final = re.compile(r"([^ \t:]+)[ \t]+([^ \t]+)")
"""A line whose colon was forgotten."""
_AGENT: Final = re.compile("[A-Za-z_-]*")
_ANYBODY: Final = re.compile(rf"\*(?:[{_BLANK}]|\Z)")
# What sites write, by how it begins: Google's parser takes the same slips for what they mean.
_AGENT_KEYS: Final = ("user-agent", "useragent", "user agent")
_DISALLOW_KEYS: Final = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_SITEMAP_KEYS: Final = ("sitemap", "site-map")
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")
_ESCAPE: Final = re.compile("%[0-9a-fA-F]{2}")
_BEYOND_ASCII: Final = re.compile("[^\x00-\x7f]+")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# What may be written as an escape or not, and mean the same. In a rule `*` and a last `$` are
# special, so that only an escape stands for the character itself (RFC 9309, 2.2.3).
_RAW: Final = r""" "'<>\[\\\]^`{|}"""
_IN_RULE: Final = re.compile(rf"%[0-9a-fA-F]{{2}}|[{_RAW}]|\$(?!\Z)")
_IN_PATH: Final = re.compile(rf"%[0-9a-fA-F]{{2}}|[{_RAW}*$]")
# Most paths have none of them, and this says so sooner.
_MAY_DIFFER: Final = re.compile(rf"[%{_RAW}*$]")


class RuleSet:
    """The rules for some product tokens, each of which must be allowed, and nothing else."""

    __slots__ = ("_readings", "_size", "crawl_delay", "sitemaps")

    def __init__(self, body: bytes, *agents: str) -> None:
        lines = list(_lines(body))
        self.crawl_delay = 0.0
        self.sitemaps: tuple[str, ...] = ()
        # For each agent the rules as they are written, and with escapes in one form: a path must be
        # allowed in both. The two are often the same, which is then asked once.
        self._readings: list[tuple[_Index, _Index]] = []
        self._size = 0
        for agent in agents:
            self._read(lines, agent)

    def _read(self, lines: list[tuple[str, str]], agent: str) -> None:
        groups = _Groups(agent)
        for key, value in lines:
            groups.take(key, value)
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

        RFC 9309 (2.2.2) compares `%7E` and `~` as equal, Google does not; a path is fetched only
        when it is allowed in both readings.
        """
        if _MAY_DIFFER.search(path) is None:
            return all(self._allows(*reading, path, path) for reading in self._readings)
        written = _ESCAPE.sub(lambda escape: escape[0].upper(), path)
        alike = _IN_PATH.sub(_in_one_way, path)
        return all(self._allows(*reading, written, alike) for reading in self._readings)

    def _allows(self, written: "_Index", other: "_Index", path: str, alike: str) -> bool:
        if not written.allows(path):
            return False
        if other is written and alike == path:
            return True
        return other.allows(alike)


class _Rule(NamedTuple):
    """A rule whose literal beginning is known already."""

    octets: int
    """How long its pattern is: the longest that matches decides (2.2.2)."""
    allow: bool
    start: int
    """Where the rest begins."""
    pieces: tuple[str, ...]
    """What follows, in this order, with anything between."""
    last: str | None
    """What the path ends with; None: with anything."""
    is_whole: bool
    """Whether nothing follows."""

    def matches(self, path: str) -> bool:
        """Return whether the rest of a path is as it must be: each piece as early as it can be."""
        at = self.start
        if self.is_whole:
            return len(path) == at
        for piece in self.pieces:
            found = path.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return self.last is None or (path.endswith(self.last) and len(path) - len(self.last) >= at)


class _Index:
    """Rules by the literal text they begin with."""

    __slots__ = ("_by_prefix", "_count", "_lengths")

    def __init__(self, rules: list[tuple[bool, str]]) -> None:
        self._count = len(rules)
        # Each with a text that a path must have: most are told apart by that alone.
        self._by_prefix: dict[str, list[tuple[str, _Rule]]] = {}
        for allow, pattern in dict.fromkeys(rules):
            self._add(allow, pattern)
            slash = pattern.rfind("/")
            if allow and slash >= 0 and pattern.startswith("/index.htm", slash):
                # Google reads `Allow: /a/index.html` as allowing /a/ too.
                self._add(allow, pattern[: slash + 1] + "$")
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def _add(self, allow: bool, pattern: str) -> None:
        ends = pattern.endswith("$")
        prefix, *pieces = pattern.removesuffix("$").split("*")
        between = pieces[:-1] if ends else pieces
        rule = _Rule(
            octets=len(pattern),
            allow=allow,
            start=len(prefix),
            pieces=tuple(piece for piece in between if piece),
            last=pieces[-1] if ends and pieces else None,
            is_whole=ends and not pieces,
        )
        self._by_prefix.setdefault(prefix, []).append((max(pieces, key=len, default=""), rule))

    def __len__(self) -> int:
        return self._count

    def allows(self, path: str) -> bool:
        """Return what the longest rule that matches says; of equally long ones allow wins."""
        longest, verdict = 0, True
        for length in self._lengths:
            if length > len(path):
                break
            for piece, rule in self._by_prefix.get(path[:length], ()):
                if piece not in path or not rule.matches(path):
                    continue
                if rule.octets > longest or (rule.octets == longest and rule.allow):
                    longest, verdict = rule.octets, rule.allow
        return verdict


def _lines(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield the key, in lower case, and the value of each line that has both parts."""
    for raw in _LINE_END.split(body.removeprefix(b"\xef\xbb\xbf")):
        # A comment ends a line, and so does a zero byte.
        line = _text(raw[:_MAX_LINE_BYTES]).partition("#")[0].partition("\0")[0].strip(_BLANK)
        key, colon, value = line.partition(":")
        if not colon:
            pair = _PAIR.fullmatch(line)
            if pair is None:
                continue
            key, value = pair.groups()
        key = key.strip(_BLANK)
        if key:
            yield key.lower(), value.strip(_BLANK)


class _Groups:
    """Sorts the lines of a file into those that name us and those for everybody.

    Grouping is that of Google's matcher: user-agent lines collect until an allow or disallow line,
    other lines do not end them, groups for the same agent are one.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent.lower()
        self._specific = self._general = self._rules_seen = False
        self.names_us = False
        self.specific: list[tuple[bool, str]] = []
        self.general: list[tuple[bool, str]] = []
        self.specific_delays: list[float] = []
        self.general_delays: list[float] = []
        self.sitemaps: list[str] = []

    def take(self, key: str, value: str) -> None:
        """Take the next line. What follows the name of a key is not looked at, as with Google."""
        if key.startswith(_AGENT_KEYS):
            self._user_agent(value)
        elif key.startswith("allow"):
            self._rule(allow=True, pattern=value)
        elif key.startswith(_DISALLOW_KEYS):
            self._rule(allow=False, pattern=value)
        elif key.startswith(_SITEMAP_KEYS):
            self._sitemap(value)
        elif key == "crawl-delay":
            self._crawl_delay(value)

    def _user_agent(self, value: str) -> None:
        """Begin or extend a group."""
        if self._rules_seen:
            self._specific = self._general = self._rules_seen = False
        if _ANYBODY.match(value):
            self._general = True
        elif (name := _AGENT.match(value)) and name[0].lower() == self._agent:
            self._specific = self.names_us = True

    def _rule(self, *, allow: bool, pattern: str) -> None:
        if not (self._specific or self._general):
            return
        self._rules_seen = True
        if pattern:
            rules = self.specific if self._specific else self.general
            rules.append((allow, _escaped(pattern)))

    def _sitemap(self, value: str) -> None:
        """Take a sitemap, which belongs to no group."""
        if len(self.sitemaps) < _MAX_SITEMAPS and 0 < len(value) <= _MAX_SITEMAP_CHARACTERS:
            self.sitemaps.append(value)

    def _crawl_delay(self, value: str) -> None:
        """Take Crawl-delay, which the standard does not know but sites write."""
        seconds = _seconds(value)
        if seconds is not None and self._specific:
            self.specific_delays.append(seconds)
        elif seconds is not None and self._general:
            self.general_delays.append(seconds)


def _seconds(text: str) -> float | None:
    """Return a Crawl-delay as seconds; None for what is no number or below zero."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _text(line: bytes) -> str:
    """Decode a line; bytes that are not UTF-8 are written as escapes, as URLs have them."""
    text = line.decode(errors="surrogateescape")
    return _NOT_UTF8.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", text)


def _escaped(pattern: str) -> str:
    """Write what is beyond ASCII as escapes, and escapes in capitals."""
    pattern = _ESCAPE.sub(lambda escape: escape[0].upper(), pattern)
    return _BEYOND_ASCII.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), pattern
    )


def _in_one_way(found: re.Match[str]) -> str:
    """Write unreserved characters as they are (RFC 3986, 6.2.2.2), all others as escapes."""
    text = found[0]
    if len(text) == 1:
        return f"%{ord(text):02X}"
    character = chr(int(text[1:], 16))
    return character if character in _UNRESERVED else text.upper()
