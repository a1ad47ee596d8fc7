"""Reads lists of feeds: OPML, CSV, or one URL a line. A bad line spoils no other."""

import codecs
import csv
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.config.url import UrlSettings
from gossamer.errors import InputError
from gossamer.news.subscribing import Wish
from gossamer.parse import opml
from gossamer.url.canonical import canonicalize, parse_start_url

MAX_BYTES: Final = opml.MAX_BYTES
_MAX_LINE: Final = 65_536
_EXTENSIONS: Final = {".opml": "opml", ".xml": "opml", ".csv": "csv", ".txt": "text"}
_DELIMITERS: Final = (",", ";", "\t")
_COLUMNS: Final = ("url", "source", "title", "home")
# What our own export puts before a cell that a spreadsheet would run as a formula.
_NEUTRAL: Final = re.compile(r"^'(?=[=+\-@\t\r])")
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")


class Flaw(Struct, frozen=True, gc=False):
    """Something in a list that is no feed."""

    line: int
    """0: the list as a whole."""
    why: str


class FeedList(Struct, frozen=True):
    """What a list says."""

    form: str
    """opml, csv or text."""
    wishes: list[Wish]
    flaws: list[Flaw]


def read_list(data: bytes, name: str = "", settings: UrlSettings | None = None) -> FeedList:
    """Read a list of feeds; `name` is that of its file, which may tell its form."""
    form = form_of(data, name)
    if len(data) > MAX_BYTES:
        return FeedList(form, [], [Flaw(0, f"longer than {MAX_BYTES:,} bytes; split it")])
    found = FeedList(form, [], [])
    for entry in {"opml": _opml, "csv": _csv, "text": _text}[form](data):
        checked = _checked(entry, settings) if isinstance(entry, Wish) else entry
        if isinstance(checked, Wish):
            found.wishes.append(checked)
        else:
            found.flaws.append(checked)
    return found


def form_of(data: bytes, name: str = "") -> str:
    """Return the form of a list: by the end of its name, or by how it begins."""
    known = _EXTENSIONS.get(PurePath(name).suffix.lower())
    if known:
        return known
    beginning = _decoded(data[:_MAX_LINE]).lstrip()
    if beginning.startswith("<"):
        return "opml"
    return "csv" if _delimiter(beginning.partition("\n")[0]) else "text"


def _checked(wish: Wish, settings: UrlSettings | None) -> Wish | Flaw:
    if _NOT_UTF8.search(wish.url + wish.source + wish.title + wish.home):
        return Flaw(wish.line, "not valid UTF-8")
    try:
        url = parse_start_url(wish.url, settings)
    except InputError as error:
        return Flaw(wish.line, str(error).replace("start URL", "URL", 1))
    # A home page that is none costs a list nothing: the feed says which it is when it is polled.
    return replace(wish, url=url, home=canonicalize(wish.home, settings) or "")


def _opml(data: bytes) -> Iterator[Wish | Flaw]:
    """Yield the feeds of a list; its folders are topics, which many media may share."""
    subscriptions = opml.read_opml(data)
    if not subscriptions:
        yield Flaw(0, "no outline with the URL of a feed in it")
    for each in subscriptions:
        yield Wish(each.feed_url, title=each.title, home=each.home, tags=each.category)


def _text(data: bytes) -> Iterator[Wish | Flaw]:
    for number, line in enumerate(_decoded(data).split("\n"), start=1):
        text = line.strip()
        if len(line) > _MAX_LINE:
            yield Flaw(number, f"longer than {_MAX_LINE} characters")
        elif text and not text.startswith("#"):
            yield Wish(text, line=number)


def _csv(data: bytes) -> Iterator[Wish | Flaw]:
    lines = _decoded(data).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    delimiter = _delimiter(lines[0])
    if delimiter is None:
        yield Flaw(1, "no column `url`; the first line must name the columns: url,source,title")
        return
    # One line is one row: a quote that is never closed must not swallow the lines after it.
    header = [name.strip().lower() for name in next(csv.reader([lines[0]], delimiter=delimiter))]
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        if len(line) > _MAX_LINE:
            yield Flaw(number, f"longer than {_MAX_LINE} characters")
            continue
        cells = next(csv.reader([line], delimiter=delimiter), [])
        plain = (_NEUTRAL.sub("", cell.strip(), count=1) for cell in cells)
        row = dict(zip(header, plain, strict=False))
        if row.get("url"):
            yield Wish(line=number, **{name: row.get(name, "") for name in _COLUMNS})
        else:
            yield Flaw(number, "no URL")


def _delimiter(header: str) -> str | None:
    """Return what stands between the columns of a table of feeds; None if it is none."""
    for delimiter in _DELIMITERS:
        names = [name.strip().strip('"').lower() for name in header.split(delimiter)]
        if "url" in names:
            return delimiter
    return None


def _decoded(data: bytes) -> str:
    """Return the text; bytes that are not UTF-8 are marked, so that only their line is bad."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "surrogateescape")
