"""Lists of subscriptions as feed readers exchange them (OPML 1.0 and 2.0)."""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from gossamer.parse.charset import to_utf8
from gossamer.parse.xml_reader import (
    NOT_XML,
    EnoughError,
    RefusedError,
    read_loosely,
    read_strictly,
)
from gossamer.url.canonical import canonicalize

MAX_BYTES: Final = 32 << 20
MAX_OUTLINES: Final = 200_000
_MAX_TEXT: Final = 1_024
_MAX_CATEGORIES: Final = 16
_TOKENS_FOR_EACH_OUTLINE: Final = 3
_UNSAFE: Final = re.compile('[&<>"\t\n\r\ud800-\udfff]')
_SAFE: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


class Subscription(Struct, frozen=True, array_like=True):
    """One feed that somebody reads."""

    title: str
    feed_url: str
    home: str = ""
    category: str = ""
    """Names of the outlines around it, outermost first, with slashes between."""


def read_opml(body: bytes, max_outlines: int = MAX_OUTLINES) -> list[Subscription]:
    """Return the feeds of a list, of each URL the first; what cannot be read is left out."""
    body, _ = to_utf8(body[:MAX_BYTES].lstrip(), "")
    outlines = _Outlines(max_outlines)
    try:
        fault, _ = read_strictly(body.lstrip(), outlines)
    except RefusedError:
        fault = "has a document type"
    except EnoughError:
        fault = ""
    if fault:
        outlines = _Outlines(max_outlines)
        try:
            tokens = max_outlines * _TOKENS_FOR_EACH_OUTLINE
            read_loosely(body.decode("utf-8", "replace"), outlines, tokens)
        except EnoughError:
            pass
    return list(outlines.found.values())


def write_opml(subscriptions: Iterable[Subscription], title: str = "Subscriptions") -> bytes:
    """Return a list that feed readers can import."""
    root = _Folder()
    for subscription in subscriptions:
        root.add(subscription, [name for name in subscription.category.split("/") if name])
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<opml version="2.0">',
        f"<head><title>{_written(title)}</title></head>",
        "<body>",
        *root.lines(),
        "</body>",
        "</opml>",
        "",
    ]
    return "\n".join(lines).encode()


class _Outlines:
    """Hears the outlines of a list; which of them are open is known by their depth."""

    def __init__(self, limit: int) -> None:
        self.pieces: list[str] = []
        self.found: dict[str, Subscription] = {}
        self._left = limit
        self._depth = 0
        self._categories: list[tuple[int, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self.pieces.clear()
        if name.lower() != "outline":
            return
        self._left -= 1
        if self._left < 0:
            raise EnoughError("outlines")
        said = {key.lower(): value for key, value in attributes.items()}
        title = _line(said.get("title") or said.get("text", ""))
        url = canonicalize(said.get("xmlurl") or said.get("url", ""))
        if url is not None and (said.get("xmlurl") or said.get("type", "").lower() == "rss"):
            home = canonicalize(said.get("htmlurl", "")) or ""
            found = Subscription(title, url, home, self._category(said.get("category", "")))
            self.found.setdefault(url, found)
        elif title and len(self._categories) < _MAX_CATEGORIES:
            self._categories.append((self._depth, title.replace("/", "-")))

    def end(self, _name: str) -> None:
        if self._categories and self._categories[-1][0] == self._depth:
            self._categories.pop()
        self._depth -= 1

    def _category(self, own: str) -> str:
        """Return the path of outlines, else the first category that the feed itself names."""
        path = "/".join(name for _, name in self._categories)
        names = _line(own.partition(",")[0]).split("/")
        return path or "/".join(name.strip() for name in names if name.strip())


class _Folder:
    """An outline that holds others."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._folders: dict[str, _Folder] = {}

    def add(self, subscription: Subscription, path: list[str]) -> None:
        folder = self
        for name in path[:_MAX_CATEGORIES]:
            folder = folder._folders.setdefault(name, _Folder())
        folder._subscriptions.append(subscription)  # noqa: SLF001

    def lines(self, indent: str = "  ") -> list[str]:
        lines = [
            f'{indent}<outline type="rss" text="{_written(each.title)}"'
            f' title="{_written(each.title)}" xmlUrl="{_written(each.feed_url)}"'
            + (f' htmlUrl="{_written(each.home)}"' if each.home else "")
            + "/>"
            for each in self._subscriptions
        ]
        for name, folder in self._folders.items():
            written = _written(name)
            lines.append(f'{indent}<outline text="{written}" title="{written}">')
            lines += folder.lines(indent + "  ")
            lines.append(f"{indent}</outline>")
        return lines


def _line(text: str) -> str:
    return " ".join(text[:_MAX_TEXT].split())


def _written(text: str) -> str:
    """Return text as it may stand in an attribute or between tags."""
    return _UNSAFE.sub(lambda found: _SAFE.get(found[0], " "), NOT_XML.sub("", text))
