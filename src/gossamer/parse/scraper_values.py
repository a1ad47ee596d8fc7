"""What a rule has found becomes the value of a tag: text, HTML, a date, a number, a URL."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from turbohtml import Element

from gossamer.parse.article_date import EARLIEST, LATEST
from gossamer.parse.article_script import one_paragraph_a_line
from gossamer.parse.scraper_dates import DateReading, read_date
from gossamer.parse.scraper_records import MAX_VALUE
from gossamer.parse.scraper_template import Rule, ValueType
from gossamer.parse.scraper_xpath import Found, LateError, attribute_of

_KINDS: Final = {
    "pubdate": "date",
    "dc_date": "date",
    "link": "link",
    "media": "image",
    "enclosure": "link",
    "media_content": "image",
    "media_thumbnail": "image",
}
_NUMBER: Final = re.compile(
    r"[+-]?\d{1,3}(?:[ ,.\u00a0\u202f']\d{3})+(?:[.,]\d+)?|[+-]?\d+(?:[.,]\d+)?"
)
_SOURCES: Final = ("src", "data-src", "href", "content", "srcset")
_SEPARATORS: Final = {"text": "\n", "html": "\n"}
_LOOKED_AT: Final = 256


class Surroundings(Struct, frozen=True):
    """What a value depends on besides of what was found."""

    join: Callable[[str], str | None]
    """Makes references absolute."""
    reading: DateReading
    is_late: Callable[[], bool]


def value_of(tag: str, rule: Rule, found: Sequence[Found], around: Surroundings) -> str:
    """Return the value of a tag, "" if nothing usable was found."""
    kind = rule.type.name or _KINDS.get(tag, "text")
    values: list[str] = []
    length = 0
    for one in found:
        if around.is_late():
            raise LateError
        value = _typed(_cut(_raw(one, kind), rule), kind, rule.type, around)[:MAX_VALUE]
        if not value:
            continue
        values.append(value)
        length += len(value)
        if rule.join == "first" or length >= MAX_VALUE:
            break
    if rule.join == "best":
        return max(values, key=len, default="")
    return _SEPARATORS.get(kind, ",").join(values)[:MAX_VALUE]


def date_text(moment: float) -> str:
    """Write a date as contents have it."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment_in(text: str, form: str, reading: DateReading) -> float | None:
    """Return the moment that a text names, read by a strptime format if one is given."""
    if not form:
        return read_date(text, reading)
    try:
        read = datetime.strptime(" ".join(text[:_LOOKED_AT].split()), form)  # noqa: DTZ007 - below
        moment = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, re.error):
        return None
    moment -= 0 if read.tzinfo else reading.offset_seconds
    return moment if EARLIEST <= moment <= LATEST else None


def _raw(one: Found, kind: str) -> str:
    if isinstance(one, str):
        return one
    if kind == "html":
        return one.html
    if kind in ("image", "link"):
        return _reference_in(one)
    if one.tag == "meta":
        return attribute_of(one, "content")
    if kind == "date" and (stated := attribute_of(one, "datetime")):
        return stated
    return one.to_text()


def _reference_in(element: Element) -> str:
    """Return the first reference of an element, or of the first picture or link in it."""
    candidates: list[Element] = [element]
    inner = element.select_one("img, source, a[href]")
    if inner is not None:
        candidates.append(inner)
    for candidate in candidates:
        for name in _SOURCES:
            value = attribute_of(candidate, name).strip()
            if value:
                return value.split()[0] if name == "srcset" else value
    return ""


def _cut(text: str, rule: Rule) -> str:
    if rule.begin:
        _, mark, rest = text.partition(rule.begin)
        text = rest if mark else text
    if rule.end:
        text = text.partition(rule.end)[0]
    return text


def _typed(text: str, kind: str, value_type: ValueType, around: Surroundings) -> str:
    if kind == "html":
        return _writable(text.strip())
    if kind == "date":
        moment = _moment_in(text, value_type.format, around.reading)
        return "" if moment is None else date_text(moment)
    if kind == "number":
        return _number_in(text)
    if kind in ("image", "link"):
        return around.join(text.strip()) or ""
    return _writable(one_paragraph_a_line(text))


def _number_in(text: str) -> str:
    """Return the first number of a text, with a point before its decimals if there are any."""
    found = _NUMBER.search(text[: _LOOKED_AT * 16])
    if not found:
        return ""
    number = re.sub(r"[ \u00a0\u202f']", "", found[0])
    last = max(number.rfind("."), number.rfind(","))
    if last < 0:
        return number
    whole, mark, decimals = number[:last], number[last], number[last + 1 :]
    # Three digits behind the only kind of mark are thousands: 1.234, 1,234,567.
    groups = (
        len(decimals) == 3
        and "," not in whole.replace(mark, "")
        and "." not in whole.replace(mark, "")
    )
    whole = re.sub(r"[.,]", "", whole)
    return whole + decimals if groups else f"{whole}.{decimals}"


def _writable(text: str) -> str:
    """Replace half characters, which no encoding can write."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
