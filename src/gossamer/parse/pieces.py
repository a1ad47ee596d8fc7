"""What the pieces of a page say that the compiled reader left over; pages of a site share most.

A piece is a tag that may carry a URL or a directive, or a few that belong together. What it says
does not depend on the page that it is in, so it is read once and remembered as it is written.
"""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct
from turbohtml import parse

from gossamer.parse.directives import ROBOTS_NAMES, metas_for
from gossamer.parse.places import ASSET_PLACES, STYLED_BY_SET, read_places, refused_in, text_of
from gossamer.parse.references import References

# Read in an order of their own, or of influence on others: these need the page as a whole.
_NOT_ALONE: Final = (
    "applet, base, command, embed[codebase], object, style, html[manifest], head[profile], "
    + STYLED_BY_SET
)
# Most pieces are one of these elements, with nothing in it.
_SIMPLE: Final = (b"<a ", b"<img ", b"<link ", b"<script ")
# Most that are of one page only: a reference in characters that mean themselves, of a scheme that
# leads elsewhere or none, among attributes that mean nothing here.
_ATTRIBUTE: Final = (
    rb"[\t\n\f\r ]+(alt|border|class|height|href|id|media|rel|src|target|title|type|width)="
    rb"(?:\"([^\"]*)\"|'([^']*)')"
)
_PLAIN_ELEMENT: Final = re.compile(
    rb"<(a|img|link|script)((?:" + _ATTRIBUTE + rb")+)[\t\n\f\r ]*/?></\1>"
)
_PLAIN_ATTRIBUTE: Final = re.compile(_ATTRIBUTE)
_PLAIN_REFERENCE: Final = re.compile(rb"(?:https?://|file:///)?[A-Za-z0-9_~,;=+()!$*@/.?-]+")
_SOURCE_KINDS: Final = {tag.encode(): ASSET_PLACES[tag, "src"] for tag in ("img", "script")}
_LINK_KINDS: Final = {kind.encode(): kind for kind in ("canonical", "next", "prev")}
# Reading some pieces each by itself is cheaper than all of them together, reading many is not.
_MOST_UNKNOWN: Final = 8
_LEARNED_AT_ONCE: Final = 2
_MOST_PIECES: Final = 256
_LONGEST_REMEMBERED: Final = 512
_MOST_REMEMBERED: Final = 4_096
_LONGEST_TOGETHER: Final = 4_096
_MOST_TOGETHER: Final = 1_024
# Those who ask under several names speak of few of them at a time.
_MOST_MEMORIES: Final = 8


class Told(Struct, frozen=True):
    """What a piece says, or all pieces of a page."""

    links: list[tuple[str, str, bool]]
    """Kind, reference without fragment, whether it asks not to be followed."""
    assets: list[tuple[str, str]]
    """Kind, reference without fragment."""
    refused: list[str]
    """References of `a` elements that ask not to be followed."""
    languages: list[tuple[str, str]]
    robots: list[str]
    """Contents of the meta elements for robots."""
    is_assets_only: bool
    """As of most pieces."""
    needed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of all pieces of a page: the references of its assets by kind, each once."""


class _NoJoiner:
    """Stands where no reference needs to be made absolute."""

    def join(self, base: str, href: str, /) -> str | None:
        raise NotImplementedError

    def join_all(self, base: str, hrefs: object, /) -> list[str | None]:
        raise NotImplementedError


class _Notes(References):
    """Notes what a piece refers to as it is written."""

    def __init__(self) -> None:
        super().__init__("", _NoJoiner(), _MOST_PIECES)
        self.by_language: list[tuple[str, str]] = []

    def add_language(self, language: str, href: str) -> None:
        self.by_language.append((language, href))


class Pieces:
    """Remembers what pieces say to robots of these names, a bounded number of them."""

    def __init__(self, names: frozenset[str] = ROBOTS_NAMES) -> None:
        self._names = names
        self._told: dict[bytes, Told | None] = {}
        self._pages: dict[tuple[bytes, ...], Told] = {}
        """What all pieces of a page say: those of pages in one folder are mostly the same."""
        self._turn = 0

    def told_by(self, pieces: list[bytes]) -> Told | None:
        """Return what the pieces of a page say; None if that takes the page as a whole."""
        if len(pieces) > _MOST_PIECES:
            return None
        together = tuple(pieces)
        told = self._pages.get(together)
        if told is None:
            told = self._put_together(pieces)
            if told is not None and sum(map(len, pieces)) <= _LONGEST_TOGETHER:
                if len(self._pages) >= _MOST_TOGETHER:
                    self._pages.clear()
                self._pages[together] = told
        return told

    def _put_together(self, pieces: list[bytes]) -> Told | None:
        known = self._told
        unknown = [piece for piece in pieces if piece not in known]
        if len(unknown) > _MOST_UNKNOWN:
            self._learn(unknown)
            return None
        links, assets, refused, languages, robots, is_assets_only = [], [], [], [], [], True
        for piece in pieces:
            told = known[piece] if piece in known else self._read(piece)
            if told is None:
                return None
            assets += told.assets
            if not told.is_assets_only:
                is_assets_only = False
                links += told.links
                refused += told.refused
                languages += told.languages
                robots += told.robots
        return Told(links, assets, refused, languages, robots, is_assets_only, _by_kind(assets))

    def _learn(self, unknown: list[bytes]) -> None:
        """Read some that may come again; others each time, for many are of one page only."""
        for _ in range(_LEARNED_AT_ONCE):
            self._turn += 1
            self._read(unknown[self._turn % len(unknown)])

    def _read(self, piece: bytes) -> Told | None:
        told = _read(piece, self._names)
        if len(piece) <= _LONGEST_REMEMBERED:
            if len(self._told) >= _MOST_REMEMBERED:
                self._told.clear()
            self._told[piece] = told
        return told


def _by_kind(assets: list[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    tables: dict[str, dict[str, None]] = {}
    for kind, reference in assets:
        # What is left of a mere fragment is nothing.
        if reference:
            tables.setdefault(kind, {})[reference] = None
    return tuple((kind, tuple(table)) for kind, table in tables.items())


def _read(piece: bytes, names: frozenset[str] = ROBOTS_NAMES) -> Told | None:
    return _read_plainly(piece) or _read_by_parser(piece, names)


def _read_plainly(piece: bytes) -> Told | None:
    """Return what a plain element says; None if the parser is to be asked."""
    element = _PLAIN_ELEMENT.fullmatch(piece)
    if element is None:
        return None
    # Of two attributes with the same name the first counts.
    found = reversed(_PLAIN_ATTRIBUTE.findall(element[2]))
    attributes = {name: value or other for name, value, other in found}
    tag, rel = element[1], attributes.get(b"rel")
    asset = _SOURCE_KINDS.get(tag)
    used, unused = (b"href", b"src") if asset is None else (b"src", b"href")
    reference = attributes.get(used, b"")
    if unused in attributes or _PLAIN_REFERENCE.fullmatch(reference) is None:
        return None
    text = reference.decode()
    if tag == b"a":
        return Told([], [], [text], [], [], is_assets_only=False) if rel == b"nofollow" else None
    if tag == b"link":
        if rel in _LINK_KINDS:
            return Told([(_LINK_KINDS[rel], text, False)], [], [], [], [], is_assets_only=False)
        asset = "css" if rel == b"stylesheet" else None
    return Told([], [(asset, text)], [], [], [], is_assets_only=True) if asset else None


def _read_by_parser(piece: bytes, names: frozenset[str] = ROBOTS_NAMES) -> Told | None:
    tree = parse(piece, positions=False, encoding="utf-8")
    is_simple = piece.startswith(_SIMPLE) and b"style" not in piece.lower()
    if not is_simple and tree.select(_NOT_ALONE):
        return None
    robots: list[str] = []
    for element in () if is_simple else tree.select(metas_for(names)):
        if text_of(element, "name").lower() not in names:
            return None
        robots.append(text_of(element, "content"))
    notes = _Notes()
    places = tree.links()
    if read_places(notes, places, _MOST_PIECES):
        return None
    links, assets = notes.told()
    refused = refused_in(places)
    says_more = bool(links or refused or notes.by_language or robots)
    return Told(links, assets, refused, notes.by_language, robots, not says_more)


_memory_for = lru_cache(maxsize=_MOST_MEMORIES)(Pieces)


def told_by(pieces: list[bytes], names: frozenset[str]) -> Told | None:
    """Return what the pieces of a page say to robots of these names, as far as pieces can."""
    return _memory_for(names).told_by(pieces)
