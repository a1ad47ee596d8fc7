"""Feeds: RSS, Atom, RDF, JSON Feed, news sitemaps and sitemaps become one kind of record.

Nothing here raises for what a site sends, and each step costs time in proportion to the bytes that
it is given, which are limited. docs/decisions/feeds.md says why this is a reader of our own.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from gossamer.outcomes import Outcome
from gossamer.parse.charset import to_utf8
from gossamer.parse.feed_items import Maker, NoFeedError, language_of
from gossamer.parse.feed_json import JsonReader
from gossamer.parse.feed_records import Enclosure, Feed, FeedLimits, Item
from gossamer.parse.feed_xml import FeedHandler
from gossamer.parse.link_headers import links_in
from gossamer.parse.sitemap import unpack
from gossamer.parse.sniff import root_of
from gossamer.parse.xml_reader import EnoughError, RefusedError, read_loosely, read_strictly

__all__ = [
    "Enclosure",
    "Feed",
    "FeedLimits",
    "Item",
    "link_header",
    "read_feed",
    "urls_checksum",
]

_DEFAULTS: Final = FeedLimits()
_SPACE: Final = b"\t\n\x0b\x0c\r "
_LOOKED_AT: Final = 65_536
_ROOT: Final = re.compile(
    r"<(?:[\w.-]{1,32}:)?(?:rss|feed|rdf|urlset|sitemapindex|channel)(?=[\s>/])", re.IGNORECASE
)
_DOCTYPE: Final = re.compile(r"<!DOCTYPE[^<>\[]{0,1024}\[", re.IGNORECASE)
# What some feeds declare to have the names of HTML, which are known here anyway.
_LETTERS: Final = re.compile(
    r"<!ENTITY\s{1,64}%\s{1,64}[\w.-]{1,64}\s{1,64}PUBLIC\s{1,64}[\"']-//W3C//ENTITIES[^<>]{1,512}>",
    re.IGNORECASE,
)
_SIBLINGS: Final = frozenset(("item", "entry", "url", "sitemap"))
_PERIODS: Final = {
    "hourly": 3_600,
    "daily": 86_400,
    "weekly": 604_800,
    "monthly": 2_592_000,
    "yearly": 31_536_000,
}
_LONGEST_TTL: Final = 31_536_000


def read_feed(
    body: bytes, content_type: str, charset: str, url: str, limits: FeedLimits = _DEFAULTS
) -> Feed:
    """Return what a body says as a feed; `content_type` and `charset` are the header's claims."""
    reading = _Reading(url, limits)
    try:
        reading.read(body, charset)
    except NoFeedError as error:
        labelled = f" (labelled {content_type[:64]})" if content_type else ""
        return Feed(outcome=Outcome.PARSE_FAILED, detail=f"is no feed but {error}{labelled}")
    except RefusedError as error:
        return Feed(outcome=Outcome.PARSE_FAILED, detail=str(error))
    return reading.feed()


def link_header(values: Iterable[str]) -> dict[str, str]:
    """Return relation -> first reference of the values of Link headers (RFC 8288), as written."""
    found: dict[str, str] = {}
    for link in links_in(values):
        for relation in link.relations:
            found.setdefault(relation, link.reference)
    return found


def urls_checksum(urls: Iterable[str]) -> bytes:
    """Return what tells two lists of URLs apart, whatever their order and repetitions."""
    listed = "\n".join(sorted(set(urls)))
    return hashlib.sha256(listed.encode("utf-8", "surrogatepass")).digest()


class _Reading:
    """One body on its way to a feed."""

    def __init__(self, url: str, limits: FeedLimits) -> None:
        self._url = url
        self._limits = limits
        self._flags: set[str] = set()
        self._notes: list[str] = []
        self._is_cut = False
        self._maker = Maker(url, limits)
        self._source: FeedHandler | JsonReader

    def read(self, body: bytes, charset: str) -> None:
        """Read; NoFeedError and RefusedError say why there is nothing to read."""
        body = self._unpacked(body)
        body, is_mislabelled = to_utf8(body.lstrip(_SPACE), charset)
        body = body.lstrip(_SPACE + b"\0")
        if not body:
            raise RefusedError("is empty")
        if is_mislabelled:
            self._flags.add("wrong_charset")
        try:
            if body[:1] in (b"{", b"["):
                self._source = reader = JsonReader(self._maker, self._limits)
                reader.read(body)
            else:
                self._read_xml(body)
        except EnoughError as error:
            self._cut(f"{error} were not read")
        if isinstance(self._source, FeedHandler):
            if self._is_cut:
                self._source.finish()
            # Only now, for a document that must be read twice is dear enough.
            for draft in self._source.drafts:
                self._maker.add(draft)

    def feed(self) -> Feed:
        """Return what was read."""
        source, maker = self._source, self._maker
        maker.note_guids()
        head = source.feed
        text, form = head.values.get("title", ("", ""))
        children = tuple(source.children) if isinstance(source, FeedHandler) else ()
        return Feed(
            form=source.form,
            title=maker.plain(text, form, self._limits.max_title),
            home=maker.join(head.text("link")) or "",
            language=language_of(head.text("language")),
            ttl_seconds=_ttl(head.text("ttl"), head.text("period"), head.text("frequency")),
            hub=maker.join(source.links.get("hub", "")) or "",
            topic=maker.join(source.links.get("self", "")) or "",
            items=tuple(maker.items),
            children=children,
            skipped=maker.skipped,
            outcome=self._outcome(),
            detail="; ".join(self._notes),
            flags=tuple(sorted(self._flags | maker.flags)),
        )

    def _outcome(self) -> Outcome:
        """A feed without items is sound, unless they may have been where it is broken."""
        source, maker = self._source, self._maker
        has_items = maker.items or (isinstance(source, FeedHandler) and source.children)
        if not has_items and (self._is_cut or (self._notes and not source.feed.values)):
            return Outcome.PARSE_FAILED
        return Outcome.PARSE_TRUNCATED if self._is_cut else Outcome.OK

    def _unpacked(self, body: bytes) -> bytes:
        limit = self._limits.max_bytes
        if body[:2] == b"\x1f\x8b":
            try:
                body, complete = unpack(body, limit, cut=True)
            except ValueError as error:
                raise RefusedError(str(error)) from error
            if not complete:
                self._cut("the gzip file ends early, or is too long")
        elif len(body) > limit:
            self._cut(f"only the first {limit} of {len(body)} bytes were read")
            body = body[:limit]
        return body

    def _cut(self, note: str) -> None:
        self._is_cut = True
        self._flags.add("cut")
        self._notes.append(note)

    def _read_xml(self, body: bytes) -> None:
        """Read strictly, and if that fails from the beginning, but loosely."""
        if _is_html(body):
            raise NoFeedError("HTML")
        self._source = handler = FeedHandler(self._maker, self._limits, loose=False)
        try:
            fault, is_cut = read_strictly(body, handler)
        except RefusedError:
            self._flags.add("dtd")
        except NoFeedError:
            self._flags.add("bad_xml")
        else:
            if is_cut:
                self._cut("the end is missing")
            if is_cut or not fault:
                return
            self._flags.add("bad_xml")
            self._notes.append(fault)
        self._read_loosely(body.decode("utf-8", "replace"))

    def _read_loosely(self, text: str) -> None:
        root = _ROOT.search(text, 0, _LOOKED_AT)
        if root is None:
            raise NoFeedError(f"something that begins with {text[:40]!r}")
        if _declares_entities(text[: root.start()]):
            raise RefusedError("declares entities")
        self._source = handler = FeedHandler(self._maker, self._limits, loose=True)
        # Tags, that is: half as many elements, for these take longer.
        limit = self._limits.max_elements
        if read_loosely(text[root.start() :], handler, limit, _SIBLINGS):
            self._cut("the end is missing")


def _is_html(body: bytes) -> bool:
    start = body[:1_445]
    return root_of(start) == b"html" or start[:14].lower() == b"<!doctype html"


def _declares_entities(head: str) -> bool:
    """Whether there are entities of the document's own before its first element."""
    doctype = _DOCTYPE.search(head)
    return doctype is not None and "<!entity" in _LETTERS.sub("", head[doctype.end() :]).lower()


def _ttl(minutes: str, period: str, frequency: str) -> int:
    """Return the seconds that a feed asks to be left alone, 0 if it asks for nothing sensible."""
    if minutes.isdecimal() and len(minutes) < 9:
        seconds = int(minutes) * 60
    else:
        times = int(frequency) if frequency.isdecimal() and len(frequency) < 9 else 1
        seconds = _PERIODS.get(period.lower(), 0) // max(times, 1)
    return seconds if seconds <= _LONGEST_TTL else 0
