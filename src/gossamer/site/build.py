"""The pages of the map, from what the catalog holds of them."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from gossamer.catalog.catalog import Surveyed
from gossamer.messages import NOT_MODIFIED_STATUS
from gossamer.outcomes import PAGE_OUTCOMES, Outcome, name_of
from gossamer.site.closure import Closure, Met, Names, key_of
from gossamer.site.closure import Page as Visited
from gossamer.site.model import Facts, Page
from gossamer.site.notes import Notes, Seen
from gossamer.site.observation import Observation
from gossamer.spider.redirect import end_of_loop

_MAX_LINKED_FROM: Final = 100
# A document that is too long is there all the same, and a redirect that leaves the site works.
FINE: Final = PAGE_OUTCOMES | {Outcome.REDIR_SCOPE, Outcome.BODY_TOO_LARGE}
_FROM_SERVER: Final = frozenset({Outcome.HTTP_4XX, Outcome.HTTP_429, Outcome.HTTP_5XX})
# Plain numbers: to look a member up and to compare with it costs several times as much.
_FINE: Final = frozenset(map(int, FINE))
_OK: Final = int(Outcome.OK)
_CUT: Final = int(Outcome.BODY_TOO_LARGE)
_LOOP: Final = int(Outcome.REDIR_LOOP)

Look = Callable[[int], Observation | None]
"""Looks at a document that nobody observed when it was fetched; None: it is not there."""


class Builder:
    """Makes pages as they are met.

    With `names` it keeps the keys of their links, and finds those that link to a page by them.
    """

    def __init__(
        self,
        notes: Notes | None = None,
        look: Look | None = None,
        names: Names | None = None,
    ) -> None:
        self._notes = notes or Notes()
        self._look = look
        self._names = names
        self.unseen: list[str] = []
        """Pages of which no more is known than that they were fetched."""
        self._content_types: dict[str, str] = {}
        self._pages: list[Page] = []
        self._keys: list[bytes] = []
        """Those of the links of each page."""
        self._leading: list[Page] = []
        """Those that may be aliases, by what they say themselves."""
        self._failed: list[Page] = []

    def note(self, pages: Iterable[Visited]) -> None:
        """Take the next pages."""
        made = self._pages
        for met, row, targets in pages:
            seen = self._notes.seen(row)
            if not seen.sha256 and row.body_bytes and _is_page(row):
                seen = self._looked_at(met, seen)
            page = self._page(met, row, targets, seen)
            made.append(page)
            if self._names is not None:
                self._keys.append(row.targets)
            if seen.canonical is not None or page.facts.redirect_to is not None:
                self._leading.append(page)
            if page.error is not None:
                self._failed.append(page)

    def _looked_at(self, met: Met, seen: Seen) -> Seen:
        """Return what there is to see of a page that another command fetched."""
        looked = self._look(met.doc_id) if self._look is not None else None
        if looked is None:
            self.unseen.append(met.url)
            return seen
        return self._notes.whole(looked)

    def pages(self, found: Closure, *, all_links: bool) -> list[Page]:
        """Return the pages in the order of the map.

        Which pages link to it is noted for those that failed, and with `all_links` for all.
        """
        pages = self._pages
        if found.in_sitemaps:
            for page in pages:
                page.facts.in_sitemap = page.url in found.in_sitemaps
        if self._leading or found.copies:
            _name_aliases(pages, self._leading, found.copies)
        wanted = pages if all_links else self._failed
        if wanted:
            _note_links(self._linking_to(wanted), wanted)
        return pages

    def _linking_to(self, wanted: list[Page]) -> Iterator[tuple[Page, list[str]]]:
        """Go through the pages, each with those of its links that lead to one of these."""
        if self._names is None or wanted is self._pages:
            names = {page.url for page in wanted}
            for page in self._pages:
                # Few links of few pages lead to those that failed.
                if not names.isdisjoint(page.links):
                    yield page, list(filter(names.__contains__, page.links))
            return
        # The walk is over, so that another may begin, which meets these and no others.
        urls = self._names.urls
        urls.begin()
        urls.unmet(b"".join(key_of(page.url) for page in wanted))
        for page, links in zip(self._pages, map(urls.met, self._keys), strict=True):
            # What a sitemap names are no links.
            if links and page.links:
                yield page, links

    def _page(self, met: Met, row: Surveyed, links: list[str], seen: Seen) -> Page:
        outcome, kind = row.outcome, row.content_type
        checksum, error, leads_to = seen.sha256, None, row.redirect_to
        if outcome != _OK:
            checksum = "" if outcome == _CUT else checksum
            error = None if outcome in _FINE else error_of(outcome, row.status, row.detail)
            # A loop is closed by one that nobody follows.
            leads_to = end_of_loop(row.detail) if outcome == _LOOP else leads_to
        # In the order of the fields: to find each by its name takes longer than all the rest.
        return Page(
            met.url,
            met.parent,
            met.depth,
            row.status,
            self._content_types.setdefault(kind, kind),
            checksum,
            None,  # alias_of
            [],  # aliases
            seen.assets,
            links,
            row.title,
            row.body_bytes,
            row.milliseconds,
            error,
            Facts(
                _name(outcome),
                row.detail,
                seen.description,
                seen.canonical,
                seen.languages,
                leads_to,
                None if row.signed_simhash is None else row.simhash,
                seen.noindex,
                seen.nofollow,
                insecure_assets=_insecure(seen.assets) if met.url[:6] == "https:" else [],
            ),
        )


def error_of(outcome: int | None, status: int, detail: str) -> str:
    """Return what went wrong, for people."""
    if outcome in _FROM_SERVER:
        return f"HTTP {status}{_phrase(status)}"
    name = _name(outcome)
    return f"{name}: {detail}" if detail else name


@cache
def _name(outcome: int | None) -> str:
    return name_of(Outcome.INTERNAL if outcome is None else outcome)


def _phrase(status: int) -> str:
    from http import HTTPStatus  # noqa: PLC0415 - most maps have no such error

    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _is_page(row: Surveyed) -> bool:
    """Whether a document is there to be looked at; what a redirect brings along is none."""
    is_redirect = 300 <= row.status < 400 and row.status != NOT_MODIFIED_STATUS
    return row.outcome in PAGE_OUTCOMES and not is_redirect


def _insecure(assets: dict[str, list[str]]) -> list[str]:
    return [each for members in assets.values() for each in members if each.startswith("http:")]


def _name_aliases(pages: list[Page], leading: list[Page], first: dict[str, str]) -> None:
    """Say of which page each alias is one: by its bytes, a redirect, or its canonical link (B7)."""
    by_url = {page.url: page for page in pages}
    leads = {page.url: target for page in leading if (target := _leads_to(page, by_url))}
    # Of equal pages the first is the page, unless it names another of them as the right one.
    # A page that refreshes to a relative URL leads elsewhere than another with the same bytes.
    leads.update(
        (copy, page)
        for copy, page in first.items()
        if leads.get(page) != copy and by_url[copy].facts.redirect_to is None
    )
    if not leads:
        return
    for page in pages:
        if page.url not in leads:
            continue
        end = _end(page.url, leads)
        if end is not None:
            page.alias_of = end
            by_url[end].aliases.append(page.url)


def _leads_to(page: Page, by_url: dict[str, Page]) -> str | None:
    facts = page.facts
    if facts.redirect_to is not None:
        return facts.redirect_to if facts.redirect_to in by_url else None
    if facts.canonical is None:
        return None
    named = by_url.get(facts.canonical)
    # A canonical link to what is no page of its own says nothing that could be believed.
    if named is None or named is page or named.error or named.facts.redirect_to:
        return None
    return named.url if named.facts.canonical in (None, named.url) else None


def _end(url: str, leads: dict[str, str]) -> str | None:
    """Return where aliases of aliases end; None for those that go in a circle."""
    passed = {url}
    while url in leads:
        url = leads[url]
        if url in passed:
            return None
        passed.add(url)
    return url


def _note_links(linking: Iterable[tuple[Page, list[str]]], wanted: list[Page]) -> None:
    """Note for the wanted pages which pages link to them."""
    by_url = {page.url: page.facts for page in wanted}
    for page, links in linking:
        for link in links:
            facts = by_url[link]
            facts.linked_count += 1
            if facts.linked_count <= _MAX_LINKED_FROM:
                facts.linked_from.append(page.url)
