"""JSON Feed 1.0 and 1.1. Types are not believed: a number may stand where text belongs."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from gossamer.parse.feed_items import HTML, PLAIN, Draft, Maker, NoFeedError, author_in, length_of
from gossamer.parse.feed_records import Enclosure, FeedLimits
from gossamer.parse.xml_reader import EnoughError

_VERSION: Final = "jsonfeed.org/version/"
# Half of a character, written as JavaScript writes it: the first without the second, or the other
# way around. What follows a backslash that is itself escaped is left alone.
_HALF: Final = re.compile(
    rb"(?<!\\)(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


class _Document(Struct):
    """Only what is read; all else is passed over without being built."""

    version: Any = ""
    title: Any = ""
    home_page_url: Any = ""
    feed_url: Any = ""
    language: Any = ""
    hubs: Any = None
    authors: Any = None
    author: Any = None
    items: list[Raw] | None = None


class _Entry(Struct):
    id: Any = ""
    url: Any = ""
    external_url: Any = ""
    title: Any = ""
    content_html: Any = ""
    content_text: Any = ""
    summary: Any = ""
    image: Any = ""
    banner_image: Any = ""
    date_published: Any = ""
    date_modified: Any = ""
    authors: Any = None
    author: Any = None
    tags: Any = None
    language: Any = ""
    attachments: Any = None


_decode_document: Final = msgspec.json.Decoder(_Document).decode
_decode_entry: Final = msgspec.json.Decoder(_Entry).decode


class JsonReader:
    """Gathers what a JSON document says as a feed."""

    form = "json"

    def __init__(self, maker: Maker, limits: FeedLimits) -> None:
        self.feed = Draft("")
        self.links: dict[str, str] = {}
        self._maker = maker
        self._limits = limits

    def read(self, body: bytes) -> None:
        """Read UTF-8 text; NoFeedError if it is something else."""
        if len(body) > self._limits.max_json_bytes:
            raise NoFeedError(f"JSON of more than {self._limits.max_json_bytes} bytes")
        try:
            document = _document(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise NoFeedError(f"JSON that cannot be read: {str(error)[:200]}") from error
        if document.items is None or not (
            _VERSION in _text(document.version) or document.home_page_url or document.feed_url
        ):
            raise NoFeedError("JSON of another kind")
        self._take_head(document)
        for entry in document.items:
            if self._maker.is_full():
                raise EnoughError(f"items beyond {self._limits.max_items}")
            self._take_entry(entry)

    def _take_head(self, document: _Document) -> None:
        feed = self.feed
        feed.put("title", _text(document.title), 0, PLAIN)
        feed.put("link", _text(document.home_page_url))
        feed.put("language", _text(document.language))
        feed.authors = self._authors(document.authors, document.author)
        self.links["self"] = _text(document.feed_url)
        hubs = [_text(hub.get("url")) for hub in _objects(document.hubs)]
        self.links["hub"] = next((hub for hub in hubs if hub), "")

    def _take_entry(self, raw: Raw) -> None:
        try:
            entry = _decode_entry(raw)
        except (msgspec.DecodeError, RecursionError):
            # Not an object: an item without anything.
            entry = _Entry()
        draft = Draft("")
        draft.put("guid", _text(entry.id), 0, PLAIN)
        draft.put("link", _text(entry.url))
        draft.put("alternate", _text(entry.external_url))
        draft.put("title", _text(entry.title), 0, PLAIN)
        draft.put("content", _text(entry.content_html), 0, HTML)
        draft.put("content", _text(entry.content_text), 1, PLAIN)
        draft.put("description", _text(entry.summary), 0, PLAIN)
        draft.put("image", _text(entry.image))
        draft.put("image", _text(entry.banner_image), 1)
        draft.put("published", _text(entry.date_published))
        draft.put("updated", _text(entry.date_modified))
        draft.put("language", _text(entry.language))
        draft.authors = self._authors(entry.authors, entry.author) or self.feed.authors
        draft.tags = [_text(tag) for tag in _list(entry.tags)[: self._limits.max_names]]
        for file in _objects(entry.attachments):
            length = length_of(_text(file.get("size_in_bytes")))
            enclosure = Enclosure(_text(file.get("url")), _text(file.get("mime_type")), length)
            draft.enclosures.append(enclosure)
        self._maker.add(draft)

    def _authors(self, several: Any, one: Any) -> list[str]:
        """Return the names; version 1.0 had one author, 1.1 has several."""
        named = [*_objects(several), *_objects([one])]
        names = (_text(author.get("name")) for author in named[: self._limits.max_names])
        return [author_in(name) for name in names if name]


def _document(body: bytes) -> _Document:
    """Decode; half an emoji at the end of a title that was cut must not cost all the others."""
    try:
        return _decode_document(body)
    except msgspec.DecodeError:
        whole = _HALF.sub(rb"\\ufffd", body)
        if whole == body:
            raise
        return _decode_document(whole)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in _list(value) if isinstance(each, dict))
