"""The pages of the map, from what the catalog holds of them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from gossamer.catalog.survey import Surveyed
from gossamer.messages import NOT_MODIFIED_STATUS
from gossamer.outcomes import PAGE_OUTCOMES, Outcome, name_of
from gossamer.site.closure import Closure, Met
from gossamer.site.model import Facts, Page, no_assets
from gossamer.site.observation import Observation, Unread
from gossamer.spider.redirect import end_of_loop

_MAX_LINKED_FROM: Final = 100
# A document that is too long is there all the same, and a redirect that leaves the site works.
FINE: Final = PAGE_OUTCOMES | {Outcome.REDIR_SCOPE, Outcome.BODY_TOO_LARGE}
_FROM_SERVER: Final = frozenset({Outcome.HTTP_4XX, Outcome.HTTP_429, Outcome.HTTP_5XX})
_MAX_KEPT: Final = 10_000
"""So many different lists of assets are known again, when pages share them."""
_decode: Final = msgspec.json.Decoder(Unread).decode
_decode_assets: Final = msgspec.json.Decoder(dict[str, list[str]]).decode

Assets = dict[str, list[str]]

Look = Callable[[int], Observation | None]
"""Looks at a document that nobody observed when it was fetched; None: it is not there."""


class Builder:
    """Makes pages as they are met; of equal texts and equal assets it keeps one."""

    def __init__(self, look: Look | None = None) -> None:
        self._look = look
        self.unseen: list[str] = []
        """Pages of which no more is known than that they were fetched."""
        self._texts: dict[str, str] = {}
        self._assets: dict[bytes, Assets] = {}
        self._pages: list[Page] = []

    def note(self, met: Met, row: Surveyed, targets: list[str]) -> None:
        """Take the next page."""
        seen: Observation | Unread
        seen, assets = self._observed(row)
        if not seen.sha256 and row.body_bytes and _is_page(row):
            # Another command fetched it, such as `gossamer crawl`.
            looked = self._look(met.doc_id) if self._look is not None else None
            if looked is None:
                self.unseen.append(met.url)
            else:
                seen, assets = looked, self._whole(looked.assets)
        self._pages.append(self._page(met, row, targets, seen, assets))

    def pages(self, found: Closure, *, all_links: bool) -> list[Page]:
        """Return the pages in the order of the map.

        Which pages link to it is noted for those that failed, and with `all_links` for all.
        """
        pages = self._pages
        if found.in_sitemaps:
            for page in pages:
                page.facts.in_sitemap = page.url in found.in_sitemaps
        _name_aliases(pages, found.copies)
        _note_links(pages, None if all_links else {page.url for page in pages if page.error})
        return pages

    def _page(
        self,
        met: Met,
        row: Surveyed,
        links: list[str],
        seen: Observation | Unread,
        assets: Assets,
    ) -> Page:
        outcome = row.outcome
        is_fine = outcome in FINE
        is_cut = outcome == Outcome.BODY_TOO_LARGE
        return Page(
            url=met.url,
            parent=met.parent,
            depth=met.depth,
            status=row.status,
            content_type=self._texts.setdefault(row.content_type, row.content_type),
            checksum="" if is_cut else seen.sha256,
            alias_of=None,
            aliases=[],
            assets=assets,
            links=links,
            title=row.title,
            bytes=row.body_bytes,
            milliseconds=row.milliseconds,
            error=None if is_fine else error_of(outcome, row.status, row.detail),
            facts=Facts(
                outcome=_name(outcome),
                detail=row.detail,
                description=seen.description,
                canonical=seen.canonical,
                hreflang=seen.languages,
                redirect_to=_target(row),
                simhash=row.simhash,
                noindex=seen.noindex,
                nofollow=seen.nofollow,
                insecure_assets=_insecure(met.url, assets.values()),
            ),
        )

    def _observed(self, row: Surveyed) -> tuple[Unread, Assets]:
        """Return what a handler noted of a document, and its assets."""
        if not row.record:
            return Unread(), no_assets()
        try:
            seen = _decode(row.record)
            written = bytes(seen.assets)
            assets = self._assets.get(written)
            if assets is None:
                assets = self._whole(_decode_assets(written))
                if len(self._assets) < _MAX_KEPT:
                    self._assets[written] = assets
        except msgspec.MsgspecError:
            # A handler of the user's own made it.
            return Unread(), no_assets()
        return seen, assets

    def _whole(self, assets: Mapping[str, Sequence[str]]) -> Assets:
        """Return assets with a list for each kind."""
        keep = self._texts.setdefault
        whole = no_assets()
        for kind, members in assets.items():
            whole[kind] = [keep(member, member) for member in members]
        return whole


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


def _target(row: Surveyed) -> str | None:
    """Return where it redirects to; a loop is closed by one that nobody follows."""
    return end_of_loop(row.detail) if row.outcome == Outcome.REDIR_LOOP else row.redirect_to


def _insecure(url: str, assets: Iterable[list[str]]) -> list[str]:
    if not url.startswith("https:"):
        return []
    return [asset for members in assets for asset in members if asset.startswith("http:")]


def _name_aliases(pages: list[Page], first: dict[str, str]) -> None:
    """Say of which page each alias is one: by its bytes, a redirect, or its canonical link (B7)."""
    by_url = {page.url: page for page in pages}
    leads = {page.url: target for page in pages if (target := _leads_to(page, by_url))}
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


def _note_links(pages: list[Page], wanted: Collection[str] | None) -> None:
    """Note for the wanted pages (None: for all) which pages link to them."""
    if wanted is not None and not wanted:
        return
    by_url = {page.url: page.facts for page in pages if wanted is None or page.url in wanted}
    targets = by_url.keys()
    for page in pages:
        # Few links of few pages lead to those.
        if targets.isdisjoint(page.links):
            continue
        for link in filter(by_url.__contains__, page.links):
            facts = by_url[link]
            facts.linked_count += 1
            if facts.linked_count <= _MAX_LINKED_FROM:
                facts.linked_from.append(page.url)
