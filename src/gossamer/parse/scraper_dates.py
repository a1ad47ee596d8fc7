"""When a content was published: by which source, in which order, and how dates are to be read.

Sources have a bit each, in the site property PDATE_SOURCES_MASK. They are asked from the one that
says least to the one that says most, and each takes the place of those before it. Only those whose
bit is also in PDATE_SOURCES_MASK_OVERWRITE step back where a date is known already.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.patterns import PatternError, found_in
from gossamer.parse.article_date import EARLIEST, LATEST, Beginning, published_of
from gossamer.parse.article_marks import Marks
from gossamer.parse.feed_dates import moment_of
from gossamer.parse.scraper_records import Problems

FEED_DATE_HEADER: Final = "X-pubdateRssFeed"
ALL_SOURCES: Final = 255
STEPPING_BACK: Final = 192
_URL, _FEED, _DATE, _LAST_MODIFIED, _DC_DATE, _PUBDATE, _NOW = 1, 2, 4, 8, 16, 32, 64
_MAX_RULES: Final = 100
_LOOKED_AT: Final = 256
_NUMBERS: Final = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})(?!\d)(.{0,64})")
_HAS_ZONE: Final = re.compile(r"(?:\d\s?[Zz]|[+-]\d\d:?\d\d|[A-Z]{2,5})\)?\s*\Z")
_ZONE: Final = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?")


class DateReading(Struct, frozen=True):
    """What a site's dates leave unsaid."""

    day_first: bool | None = None
    """Of 03/04/2026; None: not known, so it has no meaning."""
    offset_seconds: int = 0
    """East of UTC, for times without a zone."""


class _Order(Struct, frozen=True):
    pattern: str
    order: int


class _Zone(Struct, frozen=True):
    pattern: str
    zone: str


_Kind = TypeVar("_Kind", _Order, _Zone)
PLAIN: Final = DateReading()


def date_reading(properties: Mapping[str, str], url: str, problems: Problems) -> DateReading:
    """Return how the dates of a page are to be read, by the properties of its site."""
    day_first: bool | None = None
    offset = 0
    for order in _rules(properties, "PDATE_DAY_MONTH_ORDER", _Order, problems):
        if _is_for(order.pattern, url, problems):
            day_first = bool(order.order)
            break
    for zone in _rules(properties, "PDATE_TIMEZONES", _Zone, problems):
        stated = _ZONE.fullmatch(zone.zone.strip().upper())
        if stated and _is_for(zone.pattern, url, problems):
            seconds = int(stated[2]) * 3_600 + int(stated[3] or 0) * 60
            offset = -seconds if stated[1] == "-" else seconds
            break
    return DateReading(day_first, offset)


def read_date(text: str, reading: DateReading = PLAIN) -> float | None:
    """Return the moment that a text names, None if it names none or one that cannot be."""
    text = " ".join(text[:_LOOKED_AT].split())
    moment: float | None = moment_of(text)
    if moment is None and reading.day_first is not None:
        numbers = _NUMBERS.match(text)
        if numbers:
            day, month = numbers[1], numbers[2]
            if not reading.day_first:
                day, month = month, day
            moment = moment_of(f"{numbers[3]}-{int(month):02}-{int(day):02}{numbers[4]}")
    if moment is not None and reading.offset_seconds and ":" in text and not _HAS_ZONE.search(text):
        moment -= reading.offset_seconds
    return moment if moment is not None and EARLIEST <= moment <= LATEST else None


def publication_date(
    properties: Mapping[str, str],
    url: str,
    headers: Mapping[str, str],
    content: Mapping[str, str],
    now: float,
    problems: Problems,
) -> tuple[float | None, str]:
    """Return when a content was published, and which source says so."""
    mask = _mask(properties, "PDATE_SOURCES_MASK", ALL_SOURCES, problems)
    stepping_back = _mask(properties, "PDATE_SOURCES_MASK_OVERWRITE", STEPPING_BACK, problems)
    best: float | None = None
    how = ""
    for bit, name, moment in _sources(url, headers, content, now):
        if mask & bit and moment is not None and not (best is not None and stepping_back & bit):
            best, how = moment, name
    return best, how


def _sources(
    url: str, headers: Mapping[str, str], content: Mapping[str, str], now: float
) -> Iterator[tuple[int, str, float | None]]:
    # A Date header says when the page was sent, which every page has.
    yield _DATE, "date header", read_date(headers.get("date", ""))
    yield _LAST_MODIFIED, "last-modified", read_date(headers.get("last-modified", ""))
    yield (
        _URL,
        "url",
        published_of(Marks({}, {}, [], [], [], []), url, Beginning(), None, now).moment,
    )
    yield _FEED, "feed", read_date(headers.get(FEED_DATE_HEADER.lower(), ""))
    yield _DC_DATE, "dc_date", read_date(content.get("dc_date", ""))
    yield _PUBDATE, "pubdate", read_date(content.get("pubdate", ""))
    yield _NOW, "now", now


def _mask(properties: Mapping[str, str], name: str, default: int, problems: Problems) -> int:
    text = properties.get(name, "").strip()
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) < 6:
        return int(text)
    problems.add(ErrorBit.SCRAPER, f"{name}: {text[:40]!r} is not a number")
    return default


def _rules(
    properties: Mapping[str, str], name: str, kind: type[_Kind], problems: Problems
) -> list[_Kind]:
    text = properties.get(name, "").strip()
    if not text:
        return []
    try:
        listed = msgspec.json.decode(text, type=list[msgspec.Raw])[:_MAX_RULES]
        return [msgspec.json.decode(each, type=kind, strict=False) for each in listed]
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        problems.add(ErrorBit.SCRAPER, f"{name}: {error}")
        return []


def _is_for(pattern: str, url: str, problems: Problems) -> bool:
    try:
        return found_in(pattern, url)
    except PatternError as error:
        problems.add(ErrorBit.REGULAR_EXPRESSION, str(error))
        return False
