"""What a page or its header says to robots, and where it sends its readers on."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from gossamer.url.header import reference_in_header

AGENT_NAME: Final = "gossamer"
ROBOTS_NAMES: Final = frozenset(("robots", AGENT_NAME))
"""By these names a page speaks to us, whatever we call ourselves."""
IMMEDIATE_SECONDS: Final = 10.0
"""A refresh within this time is a redirect; a slower one is a link (S4.23)."""

_LOOKED_AT: Final = 8_192
# Directives whose own form has a colon, so that what stands before it is no agent.
_WITH_VALUE: Final = frozenset(
    ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
)
# HTML standard, "shared declarative refresh steps".
_REFRESH: Final = re.compile(
    r"[\t\n\f\r ]*(?:(\d{1,9})\d*|(?=\.))[\d.]*"
    r"(?:[\t\n\f\r ]*[;,]|(?=[\t\n\f\r ])|$)[\t\n\f\r ]*(.*)",
    re.DOTALL,
)
_REFRESH_URL: Final = re.compile(r"url[\t\n\f\r ]*=[\t\n\f\r ]*(.*)", re.IGNORECASE | re.DOTALL)


class Robots(NamedTuple):
    """What robots are asked not to do."""

    nofollow: bool = False
    noindex: bool = False


NOTHING_ASKED: Final = Robots()


class Refresh(NamedTuple):
    """A page that sends its reader on."""

    seconds: float
    reference: str

    @property
    def is_immediate(self) -> bool:
        """Whether it amounts to a redirect."""
        return self.seconds <= IMMEDIATE_SECONDS


@lru_cache(maxsize=64)
def names_of(*agents: str) -> frozenset[str]:
    """Return the names by which a page speaks to who asks under these product tokens, if any."""
    tokens = {agent.lower() for agent in agents if agent}
    # By that name it says what it is about, whoever calls himself so.
    return ROBOTS_NAMES | tokens - {"description"}


@lru_cache(maxsize=64)
def metas_for(names: frozenset[str]) -> str:
    """Return what selects the meta elements that are read, robots being called by these names."""
    named = "".join(f'[name="{name}" i], ' for name in sorted(names))
    return f"meta:is({named}[name=description i], [http-equiv=refresh i])"


def robots_in_meta(contents: Iterable[str]) -> Robots:
    """Return the union of the contents of all robots meta elements that concern us."""
    words: set[str] = set()
    for content in contents:
        for part in content[:_LOOKED_AT].lower().split(","):
            words |= _directives(part)
    return _robots(words) if words else NOTHING_ASKED


def robots_in_headers(
    headers: Iterable[tuple[str, str]], names: frozenset[str] = ROBOTS_NAMES
) -> Robots:
    """Return the union of all X-Robots-Tag headers that concern us (names in lower case)."""
    words: set[str] = set()
    for name, value in headers:
        if name == "x-robots-tag":
            words |= _words_for_us(value[:_LOOKED_AT], names)
    return _robots(words) if words else NOTHING_ASKED


def refresh_in(content: str) -> Refresh | None:
    """Return delay and reference of a refresh; None if it has no reference (a reload)."""
    found = _REFRESH.match(content[:_LOOKED_AT])
    if not found:
        return None
    rest = found[2]
    named = _REFRESH_URL.match(rest)
    if named:
        rest = named[1]
    if rest[:1] in ("'", '"') and rest:
        rest = rest[1:].partition(rest[0])[0]
    rest = rest.strip("\t\n\f\r ")
    return Refresh(float(found[1] or 0), rest) if rest else None


def refresh_in_header(value: str) -> Refresh | None:
    """Return delay and reference of a Refresh header, which may be raw UTF-8."""
    return refresh_in(reference_in_header(value))


def _words_for_us(value: str, our_names: frozenset[str]) -> set[str]:
    words: set[str] = set()
    for_us = True
    for part in value.lower().split(","):
        before, colon, after = part.partition(":")
        names = before.split()
        # More than one word before it: the colon is that of a date, which may have a comma, too.
        if colon and len(names) == 1 and names[0] not in _WITH_VALUE:
            for_us = names[0] in our_names
            part = after  # noqa: PLW2901 -- the rest of the part is a directive like the others
        if for_us:
            words |= _directives(part)
    return words


def _directives(part: str) -> set[str]:
    """Return what stands between two commas, which some sites forget; values are no directives."""
    return set() if ":" in part else set(part.replace(";", " ").split())


def _robots(words: set[str]) -> Robots:
    none = "none" in words
    return Robots(none or "nofollow" in words, none or "noindex" in words)
