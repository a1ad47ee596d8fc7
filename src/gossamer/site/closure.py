"""Which pages belong to the map, in which order, and which of them are copies of others.

Theory of operation. The order in which a crawl meets pages depends on which answer came first; a
map must not. So it is worked out anew when the crawl is over: breadth first from the start page
over the links of the pages as they stand in them, each page once, under the first that leads to it.
A page with the bytes of one before it is a copy: it is in the map, its links are not (B5, B6).
A redirect's target has the depth of the redirect. What only sitemaps name follows, with what it
leads to; that a page links to a sitemap makes no link of what the sitemap names.

The crawl itself keeps out what it has met on copies only (`[catalog] follow_duplicates`). Which of
two equal pages is the copy it decides by who was first, and a worker reports a URL once only: so
URLs that the map needs may have been kept out. They are `missing`: the crawl is to let them in and
go on.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import filterfalse
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from gossamer.catalog.commit import OF_A_COPY
from gossamer.catalog.survey import Surveyed
from gossamer.messages import Kind
from gossamer.outcomes import Outcome, State
from gossamer.url.parts import md5_of

_KEY_BYTES: Final = 8
_STEP: Final = 100
"""So many rows are read together."""
_NEVER_TRIED: Final = frozenset({Outcome.POLICY_PORT, Outcome.POLICY_SCOPE})


class Surveyable(Protocol):
    """What is asked of the catalog."""

    def known(self) -> Iterator[tuple[int, bytes, str, int]]:
        """Go through the URLs in scope: number, key in the link graph, text, kind."""
        ...

    def surveyed(self, doc_id: int) -> Surveyed:
        """Return a document with its links and what a handler noted of it."""
        ...

    def surveyed_all(self, doc_ids: Iterable[int]) -> Mapping[int, Surveyed]:
        """Return such documents by their numbers."""
        ...


class Met(NamedTuple):
    """A page where the walk meets it first."""

    doc_id: int
    parent: int
    """0: none."""
    depth: int


OnPage = Callable[[Met, Surveyed, list[int]], None]


class Names:
    """URLs of the site by number and by key in the link graph."""

    def __init__(self, catalog: Surveyable) -> None:
        self.urls: dict[int, str] = {}
        self.sitemaps: list[int] = []
        self._by_key: dict[int, int] = {}
        for doc_id, key, url, kind in catalog.known():
            self.urls[doc_id] = url
            self._by_key[array("Q", key)[0]] = doc_id
            if kind == Kind.SITEMAP:
                self.sitemaps.append(doc_id)
        # By name: in which order sitemaps were met is chance.
        self.sitemaps.sort(key=self.urls.__getitem__)

    def targets(self, keys: bytes) -> Iterator[int]:
        """Yield the documents of the site that these keys of the link graph stand for."""
        # Numbers of documents begin at 1, so that only what is not known is left out.
        return filter(None, map(self._by_key.get, array("Q", keys)))

    def number_of(self, url: str) -> int | None:
        """Return the document of a URL, if it is one of the site."""
        return next(self.targets(md5_of(url)[:_KEY_BYTES]), None)


class Closure(Struct):
    """What the walk found; documents by their numbers."""

    met: list[Met] = []
    """The pages, in the order of the map."""
    copies: dict[int, int] = {}
    """Copy -> the page with the same bytes that was met first."""
    missing: list[int] = []
    """Kept out, and needed."""
    in_sitemaps: set[int] = set()
    blocked: list[int] = []
    """Forbidden by robots.txt."""
    trapped: list[int] = []
    """Kept out because they look like a trap."""
    too_deep: int = 0
    """How many the depth limit keeps out."""
    unfetched: int = 0
    """How many were still to be fetched."""


class Reach(Struct, frozen=True):
    """How far the walk goes."""

    max_depth: int = -1
    """Links from the start page at most; -1: no limit."""
    follow_nofollow: bool = False
    sitemap: str = ""
    """Where sites have their sitemap: what is there counts as one, though a page led to it."""
    links_first: bool = False
    """Leave out what only sitemaps name while anything that links lead to is missing."""


class _Asks(Struct):
    nofollow: bool = False


_decode_asks: Final = msgspec.json.Decoder(_Asks).decode


def closure(
    catalog: Surveyable,
    names: Names,
    start: int,
    reach: Reach,
    on_page: OnPage | None = None,
) -> Closure:
    """Walk the site from its start page, then from what only sitemaps name.

    `on_page` hears of each page as it is met, with what it links to.
    """
    found = Closure()
    walk = _Walk(catalog, names, found, reach, on_page)
    for sitemap in _sitemaps(catalog, names, reach.sitemap):
        walk.sitemaps.add(sitemap)
        found.in_sitemaps.update(names.targets(catalog.surveyed(sitemap).targets))
    walk.go([start])
    if not (reach.links_first and found.missing):
        walk.go(sorted(found.in_sitemaps - walk.seen, key=names.urls.__getitem__))
    return found


def _sitemaps(catalog: Surveyable, names: Names, customary: str) -> Iterator[int]:
    """Yield the sitemaps that were read."""
    for sitemap in names.sitemaps:
        if catalog.surveyed(sitemap).state == State.DONE:
            yield sitemap
    linked = names.number_of(customary) if customary else None
    if linked is not None and linked not in names.sitemaps:
        row = catalog.surveyed(linked)
        if row.state == State.DONE and row.content_type.endswith("xml"):
            yield linked


class _Walk:
    """One walk; a page is met once, whoever leads to it."""

    def __init__(
        self,
        catalog: Surveyable,
        names: Names,
        found: Closure,
        reach: Reach,
        on_page: OnPage | None,
    ) -> None:
        self._catalog = catalog
        self._names = names
        self._on_page = on_page
        self._max_depth = reach.max_depth
        self._follow_nofollow = reach.follow_nofollow
        self._first: dict[bytes, int] = {}
        self.seen: set[int] = set()
        self.sitemaps: set[int] = set()
        self.found = found

    def go(self, starts: Iterable[int]) -> None:
        """Meet these pages and all that they lead to, level by level."""
        depth = 0
        level = [Met(doc_id, 0, 0) for doc_id in starts]
        self.seen.update(met.doc_id for met in level)
        while level:
            below: list[Met] = []
            for met, row in self._rows(level):
                self._meet(met, row, level, below)
            depth += 1
            if 0 <= self._max_depth < depth:
                self.found.too_deep += len(below)
                return
            level = below

    def _rows(self, level: list[Met]) -> Iterator[tuple[Met, Surveyed]]:
        """Go through a level, which grows meanwhile: by the targets of redirects."""
        start = 0
        while step := level[start : start + _STEP]:
            rows = self._catalog.surveyed_all(met.doc_id for met in step)
            for met in step:
                yield met, rows[met.doc_id]
            start += len(step)

    def _meet(self, met: Met, row: Surveyed, level: list[Met], below: list[Met]) -> None:
        if not self._is_page(met, row):
            return
        self.found.met.append(met)
        is_page = bool(row.targets) and met.doc_id not in self.sitemaps
        targets = list(self._names.targets(row.targets)) if is_page else []
        if self._on_page is not None:
            self._on_page(met, row, targets)
        if row.redirect_to is not None:
            target = self._names.number_of(row.redirect_to)
            self._lead(met, () if target is None else (target,), met.depth, level)
        if not self._is_copy(met, row) and targets and not self._refuses(row):
            self._lead(met, targets, met.depth + 1, below)

    def _lead(self, met: Met, targets: Iterable[int], depth: int, into: list[Met]) -> None:
        # A page may name a URL in several places.
        for doc_id in dict.fromkeys(filterfalse(self.seen.__contains__, targets)):
            self.seen.add(doc_id)
            into.append(Met(doc_id, met.doc_id, depth))

    def _is_page(self, met: Met, row: Surveyed) -> bool:
        """Whether something became of it; if not, note why."""
        found = self.found
        if row.state in (State.PENDING, State.LEASED):
            found.unfetched += 1
            return False
        if row.state != State.EXCLUDED:
            return True
        if row.outcome == Outcome.POLICY_ROBOTS:
            found.blocked.append(met.doc_id)
        elif row.outcome == Outcome.POLICY_BUDGET or row.detail == OF_A_COPY:
            found.missing.append(met.doc_id)
        elif row.outcome == Outcome.POLICY_TRAP:
            found.trapped.append(met.doc_id)
        else:
            return row.outcome not in _NEVER_TRIED
        return False

    def _is_copy(self, met: Met, row: Surveyed) -> bool:
        if row.checksum is None or not row.body_bytes or row.outcome != Outcome.OK:
            return False
        first = self._first.setdefault(row.checksum, met.doc_id)
        if first == met.doc_id:
            return False
        self.found.copies[met.doc_id] = first
        return True

    def _refuses(self, row: Surveyed) -> bool:
        """Whether the page asks that its links are not followed, and that counts."""
        if self._follow_nofollow or '"nofollow":true' not in row.record:
            return False
        return _decode_asks(row.record).nofollow
