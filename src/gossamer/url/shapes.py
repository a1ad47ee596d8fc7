"""The shape of a URL: what is left of path and query when numbers, dates and ids are folded.

Pages that a program makes without end share a shape; pages that people wrote seldom do. A URL in
which nothing is folded has no shape: it is the only one of its kind.
"""

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from gossamer.url.plain import md5_of


class Growth(StrEnum):
    """What may grow without end in a shape; each has its own budget."""

    NUMBERS = "numbered"
    DATES = "calendar-like"
    SESSIONS = "session ids"
    QUERIES = "query combinations"


class Shape(Struct, frozen=True, gc=False):
    """How a URL looks, and the parameters that vary in it (for QUERIES only)."""

    growth: Growth
    pattern: str
    parameters: tuple[str, ...] = ()


_MAX_PATTERN: Final = 200
_OPEN: Final = re.compile(r"[0-9?;]")
_DATE: Final = (
    r"(?<![0-9])(?:1[5-9]|2[0-9])[0-9]{2}(?:"
    r"([-/._])(?:0?[1-9]|1[0-2])(?:\2(?:0?[1-9]|[12][0-9]|3[01]))?"
    r"|(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])"
)
_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_HEX: Final = r"(?<![0-9A-Za-z])(?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{8,}(?![0-9A-Za-z])"
# Escapes are passed over, so that two titles in Japanese do not become one shape.
_FOLDED: Final = re.compile(rf"%[0-9A-F]{{2}}|({_DATE})|({_UUID}|{_HEX})|([0-9]+)")
# What only numbers are in is folded at a third of the cost: no date, no id, no escape can be there.
# (One search for each, and a class in front, are what the matcher is quick with.)
_YEAR: Final = re.compile(r"[12][0-9]{3}")
_LONG_HEX: Final = re.compile(r"[0-9a-fA-F]{8}")
_NUMBER: Final = re.compile(r"[0-9][0-9]*")
_WORDS: Final = (None, "{date}", None, "{id}", "{n}")
_SESSION_NAMES: Final = (
    "jsessionid|phpsessid|sid|sessid|sessionid|session_id|session|aspsessionid[a-z]*|oscsid|zenid"
)
# As texts, compiled when a URL asks for them: on many sites none does.
_SESSION: Final = (
    rf"(?i)([;?&](?:{_SESSION_NAMES})=)[0-9a-z_.!-]{{16,}}(?=[&;/?]|$)|/\(s\([0-9a-z]{{16,}}\)\)"
)
_DATE_NAME: Final = (
    r"(?i)(?:[a-z]{1,20}[_-]){0,3}(?:year|month|day|week|date|yyyy|mm|dd)(?:[_-][a-z]{1,20}){0,3}="
)


def shape_of(path_query: str) -> Shape | None:
    """Return the shape of a path with query, None when there can be no other URL like it."""
    if not _OPEN.search(path_query):
        return None
    path, mark, query = path_query.partition("?")
    if (mark or ";" in path or "(" in path) and re.search(_SESSION, path_query):
        return Shape(Growth.SESSIONS, re.sub(_SESSION, _session, path_query))
    if not query:
        return _of_path(path)
    parameters = query.split("&")
    if len(parameters) == 1:
        return _of_parameter(path, query)
    return _of_parameters(path, parameters)


def _of_path(path: str) -> Shape | None:
    folded = fold(path)
    return Shape(_growth(folded), folded) if folded != path else None


def _of_parameter(path: str, parameter: str) -> Shape:
    """One parameter names a page, as a number in a path does."""
    pattern = f"{fold(path)}?{_folded_parameter(parameter)}"
    return Shape(_growth(pattern), pattern)


def _of_parameters(path: str, parameters: list[str]) -> Shape:
    folded_path = fold(path)
    if all(re.match(_DATE_NAME, parameter) for parameter in parameters):
        pattern = f"{folded_path}?{'&'.join(sorted(map(_folded_parameter, parameters)))}"
        return Shape(_growth(pattern), pattern)
    # A number in the path may be what tells the pages apart, so it counts as a parameter.
    varying = (*parameters, f"={path}") if folded_path != path else tuple(parameters)
    return Shape(Growth.QUERIES, folded_path + "?*", varying)


def fold(text: str) -> str:
    """Return the text with numbers as {n}, dates as {date} and hexadecimal ids as {id}."""
    if "%" in text or _YEAR.search(text) or _LONG_HEX.search(text):
        return _FOLDED.sub(_word, text)
    return _NUMBER.sub("{n}", text)


def bounded(pattern: str) -> str:
    """Return a pattern short enough to be kept, still different from all others."""
    if len(pattern) <= _MAX_PATTERN:
        return pattern
    return f"{pattern[:_MAX_PATTERN]}…{md5_of(pattern).hex()}"


def _word(match: re.Match[str]) -> str:
    return _WORDS[match.lastindex or 0] or match[0]


def _session(match: re.Match[str]) -> str:
    return f"{match[1] or '/'}{{session}}"


def _folded_parameter(parameter: str) -> str:
    """Return `name={n}`, `name={date}`, `name={id}` or `name={text}`."""
    name, _, value = parameter.partition("=")
    folded = fold(value)
    if folded == "{n}" and re.match(_DATE_NAME, parameter):
        folded = "{date}"
    return f"{name}={folded if folded in ('{n}', '{date}', '{id}') else '{text}'}"


def _growth(pattern: str) -> Growth:
    """A shape is calendar-like when dates are all that varies in it."""
    dates_only = "{date}" in pattern and not any(
        word in pattern for word in ("{n}", "{id}", "{text}")
    )
    return Growth.DATES if dates_only else Growth.NUMBERS
