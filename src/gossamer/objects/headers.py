"""Headers and cookies that a site wants to be asked with: HTTP_HEADERS and HTTP_COOKIE."""

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.objects.file_references import FILE_PREFIX, file_name
from gossamer.objects.patterns import PatternError, check_pattern, found_in
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.wording import shortened

MAX_TEXT: Final = 65_536
_MAX_COUNT: Final = 100
_MAX_VALUE: Final = 8_192
_MAX_RULES: Final = 10
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")
_COOKIE_VALUE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
# What the fetcher itself decides about.
_RESERVED: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

Headers = tuple[tuple[str, tuple[str, ...]], ...]
"""Each name with the values that are used in turn."""
Cookies = tuple[tuple[str, str], ...]
_ANY_URL: Final = "*"


class CookieStage(IntEnum):
    """Which requests a cookie goes with."""

    ALL = 0
    FIRST = 1
    """Those for a URL itself."""
    REDIRECTED = 2
    """Those for what redirects lead to."""


class CookieRule(Struct, frozen=True):
    """Cookies for some URLs, in some stage."""

    cookies: Cookies
    pattern: str = _ANY_URL
    stage: CookieStage = CookieStage.ALL

    @property
    def is_for_all(self) -> bool:
        """Whether no pattern has to be looked for."""
        return self.pattern == _ANY_URL

    def is_for(self, url: str, *, redirected: bool, elsewhere: bool) -> bool:
        """Whether a request gets these cookies; another host than was meant only if it is named."""
        if self.stage != CookieStage.ALL and (self.stage == CookieStage.REDIRECTED) != redirected:
            return False
        if self.is_for_all:
            return not elsewhere
        try:
            return found_in(self.pattern, url)
        except PatternError:
            return False


class _WrittenRule(Struct, frozen=True, forbid_unknown_fields=True):
    cookie: str
    stage: CookieStage = CookieStage.ALL


@lru_cache(maxsize=1_024)
def parse_headers(text: str) -> Headers:
    """Return the headers of HTTP_HEADERS or of a file: a JSON map, or lines `Name: value`."""
    kind = "HTTP_HEADERS"
    _check_size(kind, text)
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, values in _header_pairs(kind, text.strip()):
        if not _NAME.fullmatch(name):
            shown = shortened(name, 60)
            raise ObjectError("Property", kind, f"the name of a header is expected, not {shown!r}")
        if name.lower() in _RESERVED:
            raise ObjectError("Property", kind, f"{name} is set by the crawler itself")
        for value in values:
            if len(value) > _MAX_VALUE or not _VALUE.fullmatch(value):
                raise ObjectError("Property", kind, f"one line is expected as value of {name}")
        if values:
            found.append((name, values))
    _check_count(kind, len(found))
    return tuple(found)


def check_headers(text: str) -> None:
    """Raise an ObjectError unless a value of HTTP_HEADERS can be used, or refers to a file."""
    if text.strip().startswith(FILE_PREFIX):
        file_name("HTTP_HEADERS", text)
    else:
        parse_headers(text)


@lru_cache(maxsize=64)
def parse_header_file(text: str) -> Headers:
    """Return the headers of a file that HTTP_HEADERS refers to: a JSON map, or user agents.

    Each line is a user agent; they are used in turn.
    """
    if text.strip().startswith("{"):
        return parse_headers(text)
    agents = [line.strip() for line in text.splitlines() if line.strip()]
    return parse_headers(msgspec.json.encode({"User-Agent": agents}).decode())


def next_values(headers: Headers, uses: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Return one value for each header, the least used one, and count its use in `uses`."""
    chosen: list[tuple[str, str]] = []
    for name, values in headers:
        value = min(values, key=lambda each: uses.get((name, each), 0))
        uses[name, value] = uses.get((name, value), 0) + 1
        chosen.append((name, value))
    return chosen


def parse_cookies(text: str) -> Cookies:
    """Return the cookies of HTTP_COOKIE or of a file: `a=1; b=2`, or a JSON map."""
    kind = "HTTP_COOKIE"
    _check_size(kind, text)
    bare = text.strip()
    if bare.startswith("{"):
        pairs = list(_json_map(kind, bare).items())
        if not all(isinstance(value, str) for _, value in pairs):
            raise UnsupportedError("Property", kind, "a map of names to texts is expected")
    else:
        parts = [part.strip() for line in bare.splitlines() for part in line.split(";")]
        pairs = [_split_cookie(kind, part) for part in parts if part]
    _check_count(kind, len(pairs))
    for name, value in pairs:
        if not _NAME.fullmatch(name) or not _COOKIE_VALUE.fullmatch(str(value)):
            shown = shortened(name, 60)
            raise ObjectError("Property", kind, f"name=value is expected, not {shown!r}")
    return tuple((name, str(value)) for name, value in pairs)


@lru_cache(maxsize=1_024)
def parse_cookie_rules(text: str) -> tuple[CookieRule, ...]:
    """Return the cookies of HTTP_COOKIE with the requests that they are for.

    Beside what `parse_cookies` reads: a JSON map of patterns of URLs to {cookie, stage}.
    """
    kind = "HTTP_COOKIE"
    _check_size(kind, text)
    bare = text.strip()
    values = _json_map(kind, bare) if bare.startswith("{") else {}
    if not any(isinstance(value, dict) for value in values.values()):
        cookies = parse_cookies(text)
        return (CookieRule(cookies),) if cookies else ()
    if len(values) > _MAX_RULES:
        raise ObjectError("Property", kind, f"at most {_MAX_RULES} rules are expected")
    rules = []
    for pattern, value in values.items():
        try:
            written = msgspec.convert(value, _WrittenRule)
            if pattern != _ANY_URL:
                check_pattern(pattern)
        except (msgspec.ValidationError, PatternError) as error:
            raise ObjectError(
                "Property", kind, f"pattern: {{cookie, stage}} is expected: {error}"
            ) from None
        rules.append(CookieRule(parse_cookies(written.cookie), pattern, written.stage))
    return tuple(rules)


def _header_pairs(kind: str, text: str) -> list[tuple[str, tuple[str, ...]]]:
    if text.startswith(FILE_PREFIX):
        raise UnsupportedError("Property", kind, "files cannot refer to other files")
    if text.startswith("{"):
        return [(name, _as_values(kind, value)) for name, value in _json_map(kind, text).items()]
    pairs: list[tuple[str, tuple[str, ...]]] = []
    for line in text.splitlines():
        if line.strip():
            name, colon, value = line.partition(":")
            if not colon:
                raise ObjectError(
                    "Property", kind, "JSON or lines such as Name: value are expected"
                )
            pairs.append((name.strip(), (value.strip(),)))
    return pairs


def _as_values(kind: str, value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in values):
        raise ObjectError("Property", kind, "a text or a list of texts is expected for each name")
    return tuple(values)


def _json_map(kind: str, text: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ObjectError("Property", kind, "a JSON map of names to values is expected") from None


def _split_cookie(kind: str, part: str) -> tuple[str, object]:
    name, equals, value = part.partition("=")
    if not equals:
        raise ObjectError("Property", kind, "name=value; name=value is expected")
    return name.strip(), value.strip()


def _check_size(kind: str, text: str) -> None:
    if len(text) > MAX_TEXT:
        raise ObjectError("Property", kind, f"at most {MAX_TEXT} characters are expected")


def _check_count(kind: str, count: int) -> None:
    if count > _MAX_COUNT:
        raise ObjectError("Property", kind, f"at most {_MAX_COUNT} of them are expected")
