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

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct

from gossamer.catalog.catalog import Surveyed
from gossamer.catalog.judging import OF_A_COPY
from gossamer.messages import Kind
from gossamer.outcomes import RULES, Outcome, State
from gossamer.site.keys import new_urls
from gossamer.site.notes import Notes
from gossamer.url.parts import md5_of
from gossamer.url.plain import KEY_BYTES

_STEP: Final = 500
"""So many rows are read together."""
# Plain numbers: to look a member up and to compare with it costs several times as much.
_DONE: Final = int(State.DONE)
_OK: Final = int(Outcome.OK)
_FAILURES: Final = frozenset(
    outcome for outcome, rule in RULES.items() if rule.final is State.FAILED
)
_WAITING: Final = _FAILURES | {Outcome.POLICY_ROBOTS_UNREACHABLE}
_NEVER_TRIED: Final = frozenset({Outcome.POLICY_PORT, Outcome.POLICY_SCOPE})
# As in parse/sniff.py, which takes 1 ms to load and which else only workers need.
_XHTML: Final = "application/xhtml+xml"
_HTML: Final = ("text/html", _XHTML)


class Surveyable(Protocol):
    """What is asked of the catalog."""

    def known(self) -> Iterator[list[tuple[int, bytes, str, int]]]:
        """Go through the URLs in scope, in batches: number, key in the link graph, text, kind."""
        ...

    def surveyed(self, doc_id: int) -> Surveyed:
        """Return a document with its links and what a handler noted of it."""
        ...

    def surveyed_all(self, doc_ids: Collection[int]) -> Mapping[int, Surveyed]:
        """Return such documents by their numbers."""
        ...


class Met(Struct, frozen=True, gc=False):
    """A page where the walk meets it first."""

    doc_id: int
    url: str
    parent: str | None
    depth: int


Page = tuple[Met, Surveyed, list[str]]
"""A page, what is known of it, and the pages of the site that it links to."""
OnPages = Callable[[Sequence[Page]], None]
"""Hears of pages in the order of the map, some at a time."""


class Names:
    """URLs of the site by their keys in the link graph, and their numbers."""

    def __init__(self, catalog: Surveyable) -> None:
        self.numbers: dict[str, int] = {}
        self.sitemaps: list[str] = []
        self.urls = new_urls()
        for rows in catalog.known():
            doc_ids, keys, urls, kinds = zip(*rows, strict=True)
            self.numbers.update(zip(urls, doc_ids, strict=True))
            self.urls.add(b"".join(keys), urls)
            if Kind.SITEMAP in kinds:
                self.sitemaps += [row[2] for row in rows if row[3] == Kind.SITEMAP]
        # By name: in which order sitemaps were met is chance.
        self.sitemaps.sort()

    def targets(self, keys: bytes) -> list[str]:
        """Return the URLs of the site that these keys of the link graph stand for."""
        return self.urls.targets(keys)

    def target(self, url: str) -> str | None:
        """Return the URL of the site that a URL leads to; None if it is not known."""
        return next(iter(self.targets(key_of(url))), None)


def key_of(url: str) -> bytes:
    """Return by what the link graph knows a URL."""
    return md5_of(url)[:KEY_BYTES]


class Closure(Struct):
    """What the walk found."""

    copies: dict[str, str] = {}
    """Copy -> the page with the same bytes that was met first."""
    missing: list[int] = []
    """Kept out, and needed: their numbers."""
    in_sitemaps: set[str] = set()
    blocked: list[str] = []
    """Forbidden by robots.txt."""
    trapped: list[Met] = []
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


def closure(
    catalog: Surveyable,
    notes: Notes,
    names: Names,
    start: str,
    reach: Reach,
    on_pages: OnPages | None = None,
) -> Closure:
    """Walk the site from its start page, then from what only sitemaps name.

    `on_pages` hears of all pages, in the order of the map.
    """
    found = Closure()
    walk = _Walk(catalog, notes, names, found, reach, on_pages)
    for sitemap in _sitemaps(catalog, names, found, reach.sitemap):
        walk.sitemaps.add(sitemap)
        found.in_sitemaps.update(names.targets(catalog.surveyed(names.numbers[sitemap]).targets))
    walk.go([start])
    if not (reach.links_first and found.missing):
        walk.go(sorted(found.in_sitemaps))
    return found


def _sitemaps(catalog: Surveyable, names: Names, found: Closure, customary: str) -> Iterator[str]:
    """Yield the sitemaps that were read; note those that were not, for there are too many.

    Where a site answers everything with a page, that is no sitemap, and its links are nobody's.
    """
    for sitemap in names.sitemaps:
        doc_id = names.numbers[sitemap]
        row = catalog.surveyed(doc_id)
        if row.state == State.DONE and row.content_type not in _HTML:
            yield sitemap
        elif row.state == State.EXCLUDED and row.outcome == Outcome.POLICY_TRAP:
            found.trapped.append(Met(doc_id, sitemap, None, 0))
    linked = names.target(customary) if customary else None
    if linked is not None and linked not in names.sitemaps:
        row = catalog.surveyed(names.numbers[linked])
        is_xml = row.content_type.endswith("xml") and row.content_type != _XHTML
        if row.state == State.DONE and is_xml:
            yield linked


class _Walk:
    """One walk; a page is met once, whoever leads to it."""

    def __init__(
        self,
        catalog: Surveyable,
        notes: Notes,
        names: Names,
        found: Closure,
        reach: Reach,
        on_pages: OnPages | None,
    ) -> None:
        self._catalog = catalog
        self._notes = notes
        self._names = names
        self._on_pages = on_pages
        self._max_depth = reach.max_depth
        self._follow_nofollow = reach.follow_nofollow
        self._first: dict[bytes, str] = {}
        self._urls = names.urls
        self._urls.begin()
        self.sitemaps: set[str] = set()
        self.found = found

    def go(self, starts: Collection[str]) -> None:
        """Meet those of these pages that are new, and all that they lead to, level by level."""
        depth = 0
        level: list[Met] = []
        self._lead(None, self._urls.unmet(b"".join(map(key_of, starts))), depth, level)
        while level:
            below: list[Met] = []
            for pages in self._pages(level):
                self._meet(pages, level, below)
            depth += 1
            if 0 <= self._max_depth < depth:
                self.found.too_deep += len(below)
                return
            level = below

    def _pages(self, level: list[Met]) -> Iterator[list[Page]]:
        """Go through a level, which grows meanwhile: by the targets of redirects."""
        start = 0
        targets, sitemaps = self._urls.targets, self.sitemaps
        while step := level[start : start + _STEP]:
            rows = self._catalog.surveyed_all([met.doc_id for met in step])
            yield [
                (met, row, [] if met.url in sitemaps else targets(row.targets))
                for met in step
                if (row := rows[met.doc_id]).state == _DONE or self._is_page(met, row)
            ]
            start += len(step)

    def _meet(self, pages: Sequence[Page], level: list[Met], below: list[Met]) -> None:
        if self._on_pages is not None:
            self._on_pages(pages)
        unmet = self._urls.unmet
        for met, row, targets in pages:
            if row.redirect_to is not None:
                self._lead(met.url, unmet(key_of(row.redirect_to)), met.depth, level)
            # Those of a sitemap are none; most pages lead to nothing new.
            if self._is_copy(met, row) or not targets or not (new := unmet(row.targets)):
                continue
            if self._refuses(row):
                self._urls.leave(b"".join(map(key_of, new)))
            else:
                self._lead(met.url, new, met.depth + 1, below)

    def _lead(self, parent: str | None, new: Sequence[str], depth: int, into: list[Met]) -> None:
        numbers = self._names.numbers
        for url in new:
            into.append(Met(numbers[url], url, parent, depth))  # noqa: PERF401 - mostly one or two

    def _is_page(self, met: Met, row: Surveyed) -> bool:
        """Whether something became of it; if not, note why."""
        found = self.found
        if row.state in (State.PENDING, State.LEASED):
            found.unfetched += 1
            # It failed, and waits to be tried again: what is known of it by now is that.
            return row.outcome in _WAITING
        if row.state != State.EXCLUDED:
            return True
        if row.outcome == Outcome.POLICY_ROBOTS:
            found.blocked.append(met.url)
        elif row.outcome == Outcome.POLICY_BUDGET or row.detail == OF_A_COPY:
            found.missing.append(met.doc_id)
        elif row.outcome == Outcome.POLICY_TRAP:
            found.trapped.append(met)
        else:
            return row.outcome not in _NEVER_TRIED
        return False

    def _is_copy(self, met: Met, row: Surveyed) -> bool:
        if row.checksum is None or not row.body_bytes or row.outcome != _OK:
            return False
        first = self._first.setdefault(row.checksum, met.url)
        if first == met.url:
            return False
        self.found.copies[met.url] = first
        return True

    def _refuses(self, row: Surveyed) -> bool:
        """Whether the page asks that its links are not followed, and that counts."""
        return not self._follow_nofollow and self._notes.refuses(row)
