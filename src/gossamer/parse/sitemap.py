"""Sitemaps: urlset, sitemapindex, gzip, plain text; feeds are read as if they were one.

Entities, document types with declarations of their own and anything outside the file are refused,
so that no input makes the reader expand, open or fetch anything.
"""

import re
import zlib
from typing import Final

from gossamer.config.parse import ParseSettings
from gossamer.messages import Link, Page
from gossamer.outcomes import Outcome
from gossamer.parse.references import MAX_REFERENCE, Joiner
from gossamer.parse.sniff import SITEMAP_ROOTS
from gossamer.parse.xml_reader import (
    NOT_XML,
    EnoughError,
    RefusedError,
    feed_whole,
    guarded_parser,
)

ENTRY: Final = "sitemap_entry"
INDEX: Final = "sitemap"
_ALTERNATE: Final = "alternate"
_PACKED_PIECE: Final = 4_096
_BARE_AMPERSAND: Final = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)"
)
_DECLARATION: Final = re.compile(r"<\?xml[^>]{0,512}\?>")
# Twenty for each entry of a full sitemap; nobody makes more mistakes of a kind without intention.
_MOST_REPAIRS: Final = 1_000_000
_TEXT_ENTRY: Final = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t]{0,64}(https?://\S{1,65535})", re.IGNORECASE
)
# An element with the text after it; comments and the like are passed over, however long.
_LONG_TAG: Final = re.compile(rb"<(?![!?])[^<]{65536,}")
# expat takes a dozen bytes for each one of a tag that is full of attributes.
_MAX_ATTRIBUTES: Final = 5_000
_MAX_DEPTH: Final = 64
_ROOT_NAMES: Final = frozenset(root.decode() for root in SITEMAP_ROOTS)
# (parent, element) -> kind, for references that are the text of an element.
_TEXT_PLACES: Final = {
    ("url", "loc"): ENTRY,
    ("sitemap", "loc"): INDEX,
    ("item", "link"): ENTRY,
}


def understand_sitemap(body: bytes, url: str, settings: ParseSettings, joiner: Joiner) -> Page:
    """Return the entries of a sitemap as links, or those of an index as sitemap URLs."""
    notes: list[str] = []
    if body[:2] == b"\x1f\x8b":
        try:
            body, complete = unpack(body, settings.max_sitemap_bytes)
        except ValueError as error:
            return Page(outcome=Outcome.PARSE_FAILED, detail=str(error))
        if not complete:
            notes.append("the gzip file ends early")
    elif len(body) > settings.max_sitemap_bytes:
        notes.append(f"only the first {settings.max_sitemap_bytes} of {len(body)} bytes were read")
        body = body[: settings.max_sitemap_bytes]
    if body.lstrip(b"\xef\xbb\xbf\xff\xfe\0\t\n\r ")[:1] == b"<":
        return _from_xml(body, url, settings, joiner, notes)
    return _from_text(body, url, settings, joiner, notes)


def unpack(body: bytes, limit: int, *, cut: bool = False) -> tuple[bytes, bool]:
    """Return gzip unpacked, and whether it is complete; ValueError for a bomb or no gzip.

    With `cut`, what is beyond the limit is left out instead.
    """
    pieces: list[bytes] = []
    size = 0
    decoder = zlib.decompressobj(wbits=31)
    for start in range(0, len(body), _PACKED_PIECE):
        packed = body[start : start + _PACKED_PIECE]
        while packed:
            if decoder.eof:
                decoder = zlib.decompressobj(wbits=31)
            try:
                piece = decoder.decompress(packed, limit - size + 1)
            except zlib.error as error:
                if size:
                    return b"".join(pieces), False
                raise ValueError(f"cannot be unpacked: {error}") from error
            pieces.append(piece)
            size += len(piece)
            if size > limit and cut:
                return b"".join(pieces)[:limit], False
            if size > limit:
                raise ValueError(f"unpacks to more than {limit} bytes")
            packed = decoder.unused_data
    unpacked = b"".join(pieces)
    if unpacked[:2] == b"\x1f\x8b":
        raise ValueError("is gzip inside gzip")
    return unpacked, decoder.eof


def _from_text(
    body: bytes, url: str, settings: ParseSettings, joiner: Joiner, notes: list[str]
) -> Page:
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    entries: dict[tuple[str, str], None] = {}
    for found in _TEXT_ENTRY.finditer(body):
        if len(entries) >= settings.max_sitemap_urls:
            notes.append(f"entries beyond {settings.max_sitemap_urls} were dropped")
            break
        entries[found[1].decode("utf-8", "replace"), ENTRY] = None
    if not entries:
        notes.append("has no line with a URL")
    return _page(entries, url, joiner, notes)


def _from_xml(
    body: bytes, url: str, settings: ParseSettings, joiner: Joiner, notes: list[str]
) -> Page:
    for long in _LONG_TAG.finditer(body):
        if body.count(b"=", *long.span()) > _MAX_ATTRIBUTES:
            notes.append(f"has a tag with more than {_MAX_ATTRIBUTES} attributes")
            body = body[: long.start()]
            break
    scan = _Scan(settings.max_sitemap_urls)
    fault = scan.read(body.lstrip(b"\t\n\r "))
    if fault and not scan.is_final:
        repaired = _Scan(settings.max_sitemap_urls)
        second_fault = repaired.read(_repaired(body), encoding="utf-8")
        if not second_fault or len(repaired.entries) > len(scan.entries):
            scan, fault = repaired, second_fault
    if fault:
        notes.append(fault)
    if scan.has_left_out:
        notes.append(f"alternates beyond {settings.max_sitemap_urls} were dropped")
    return _page(scan.entries, url, joiner, notes)


def _page(entries: dict[tuple[str, str], None], url: str, joiner: Joiner, notes: list[str]) -> Page:
    found: dict[tuple[str, str], Link] = {}
    for reference, kind in entries:
        target = joiner.join(url, reference)
        if target is not None:
            found[target, kind] = Link(target, kind)
    outcome = Outcome.OK
    if notes:
        outcome = Outcome.PARSE_TRUNCATED if found else Outcome.PARSE_FAILED
    return Page(
        links=tuple(link for link in found.values() if link.kind != INDEX),
        sitemap_urls=tuple(link for link in found.values() if link.kind == INDEX),
        outcome=outcome,
        detail="; ".join(notes),
    )


def _repaired(body: bytes) -> bytes:
    """Return the document as UTF-8 without what most often breaks it: bare `&`, control bytes."""
    wide = body[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = body.decode("utf-16" if wide else "utf-8", "replace").lstrip("\ufeff\t\n\r ")
    text = _DECLARATION.sub("", NOT_XML.sub("", text, count=_MOST_REPAIRS), count=1)
    return _BARE_AMPERSAND.sub("&amp;", text, count=_MOST_REPAIRS).encode("utf-8", "replace")


class _Scan:
    """One pass of expat over a document; keeps only the entries."""

    def __init__(self, limit: int) -> None:
        self.entries: dict[tuple[str, str], None] = {}
        self.is_final = False
        """Whether a second try on a repaired copy would end the same way."""
        self.has_left_out = False
        """Whether there are more alternates than were kept."""
        self._limit = limit
        # A file for many languages names each of its entries once more as an alternate.
        self._left = {ENTRY: limit, INDEX: limit, _ALTERNATE: limit}
        self._path: list[str] = []
        self._kind = ""
        self._text: list[str] = []
        self._parser = guarded_parser()

    def read(self, body: bytes, encoding: str | None = None) -> str:
        """Read the document and return what is wrong with it, or nothing."""
        self._parser = parser = guarded_parser(encoding)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        try:
            return feed_whole(parser, body)
        except (RefusedError, EnoughError) as error:
            self.is_final = True
            return str(error)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        path = self._path
        if not path and local not in _ROOT_NAMES:
            raise RefusedError(f"is no sitemap: its root element is {local[:64]}")
        if len(path) >= _MAX_DEPTH:
            raise RefusedError(f"is nested deeper than {_MAX_DEPTH}")
        parent = path[-1] if path else ""
        path.append(local)
        kind = _TEXT_PLACES.get((parent, local))
        if kind is not None:
            self._kind = kind
            self._text.clear()
            self._parser.CharacterDataHandler = self._text.append
        elif local == "link" and parent in ("url", "entry"):
            self._linked(parent, attributes)

    def _end(self, _name: str) -> None:
        self._path.pop()
        if self._kind:
            self._parser.CharacterDataHandler = None
            text = "".join(self._text).strip()
            self._add(text, self._kind)
            self._kind = ""

    def _linked(self, parent: str, attributes: dict[str, str]) -> None:
        """Take the link of an Atom entry, or an alternate of a sitemap entry."""
        relation = attributes.get("rel", "alternate").strip().lower()
        if relation == "alternate":
            self._add(
                attributes.get("href", "").strip(), ENTRY if parent == "entry" else _ALTERNATE
            )

    def _add(self, reference: str, kind: str) -> None:
        if not reference or len(reference) > MAX_REFERENCE or (reference, kind) in self.entries:
            return
        if self._left[kind]:
            self._left[kind] -= 1
            self.entries[reference, kind] = None
        elif kind == _ALTERNATE:
            self.has_left_out = True
        else:
            raise EnoughError(f"entries beyond {self._limit} were dropped")
