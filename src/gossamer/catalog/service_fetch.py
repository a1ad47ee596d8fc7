"""URL_FETCH: URLs are selected over sites and marked, in one transaction."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.service_attributes import attributes_of
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import Change, changing, find_site
from gossamer.catalog.service_rows import KnownSite
from gossamer.catalog.service_selection import UrlCriterions, select_sites
from gossamer.catalog.service_sites import change_site, known_sites
from gossamer.catalog.service_urls import change_members, urls_of
from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import GENERAL_SITE, FetchAlgorithm, SiteState
from gossamer.objects.expressions import Window
from gossamer.objects.problems import ObjectError
from gossamer.objects.selection import Criterions
from gossamer.objects.url import URL

_ACTIVE: Final = Criterions(where=f"State = {int(SiteState.ACTIVE)}")
_SITE_ORDER: Final = "Priority DESC, TcDate ASC"
_URL_ORDER: Final = "CDate ASC"
_URL_LIMIT: Final = 20
_MOST_URLS: Final = 250_000
"""More would be too much for one answer."""

Selected = list[tuple[KnownSite, list[int]]]


def fetch_urls(catalog: ServiceCatalog, request: URLFetch, now: float) -> list[URL]:
    """Return the URLs that are selected, with what the request changes in them on the way."""
    with _looking(catalog, request, now) as (connection, change):
        ids = _sites(connection, request, now)
        fetch = _Fetch(connection, change, request, now)
        if request.algorithm is FetchAlgorithm.PROPORTIONAL:
            fetch.proportionally(ids)
        else:
            fetch.in_order(ids)
        return fetch.marked()


@contextmanager
def _looking(
    catalog: ServiceCatalog, request: URLFetch, now: float
) -> Iterator[tuple[sqlite3.Connection, Change | None]]:
    """Write only if the request changes something."""
    if request.url_update is None and request.site_update is None:
        with catalog.database.reading("fetch URLs") as connection:
            yield connection, None
    else:
        with changing(catalog, "fetch URLs", now, keeps_members=True) as change:
            yield change.connection, change


def _sites(connection: sqlite3.Connection, request: URLFetch, now: float) -> list[str]:
    """Return the sites to go over: those listed, as far as criterions select them, too."""
    # Each once: a site that is named twice has its URLs only once, too.
    listed = list(dict.fromkeys(site_id or GENERAL_SITE for site_id in request.sites_list or ()))
    if listed and request.sites_criterions is None:
        return [site.id for site in known_sites(connection, listed)]
    criterions = request.sites_criterions or _ACTIVE
    ids = select_sites(connection, criterions, now, order_by=_SITE_ORDER)
    if listed:
        selected = set(ids)
        ids = [site_id for site_id in listed if site_id in selected]
    return ids


class _Fetch:
    """One request: what is selected so far."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        change: Change | None,
        request: URLFetch,
        now: float,
    ) -> None:
        self._connection = connection
        self._change = change
        self._request = request
        self._now = now
        self._criterions = UrlCriterions(
            request.urls_criterions, order_by=_URL_ORDER, limit=_URL_LIMIT
        )
        self._selected: Selected = []
        self._left = request.max_urls

    def in_order(self, ids: Iterable[str]) -> None:
        """Take from each site what the criterions allow, until it is enough."""
        for site in self._visited(ids):
            self._take(site, Window(self._left))

    def proportionally(self, ids: Sequence[str]) -> None:
        """Take the same from each site, round by round, from those that still have as much."""
        quantum = max(1, self._request.max_urls // max(1, len(ids)))
        delivering: Iterable[KnownSite] = self._visited(ids)
        offset = 0
        while self._left > 0:
            still = []
            for site in delivering:
                count = min(quantum, self._left)
                if count and self._take(site, Window(count, offset)) == quantum:
                    still.append(site)
            if not still:
                break
            delivering = still
            offset += quantum

    def marked(self) -> list[URL]:
        """Return what is selected, changed as the request says; only then may rows change."""
        if sum(len(doc_ids) for _, doc_ids in self._selected) > _MOST_URLS:
            raise ObjectError("URLFetch", "maxURLs", f"at most {_MOST_URLS} URLs are told at once")
        update = self._request.url_update
        urls = []
        for site, doc_ids in self._selected:
            if update is not None and self._change is not None:
                change_members(self._change, site, doc_ids, update)
            urls += urls_of(self._connection, site, doc_ids)
        return urls

    def _visited(self, ids: Iterable[str]) -> Iterator[KnownSite]:
        """Go over sites as long as more is wanted; each that is visited is changed first."""
        for site_id in ids:
            if self._left <= 0:
                break
            site = find_site(self._connection, site_id)
            if site is not None:
                if self._request.site_update is not None and self._change is not None:
                    change_site(self._change, site, self._request.site_update)
                yield site

    def _take(self, site: KnownSite, window: Window) -> int:
        rows = self._criterions.rows(
            self._connection, site, "SELECT m.doc_id", self._now, window=window
        )
        doc_ids = [int(str(row[0])) for row in rows]
        if doc_ids:
            self._selected.append((site, doc_ids))
            self._left -= len(doc_ids)
        return len(doc_ids)


def with_attributes(
    catalog: ServiceCatalog, urls: Sequence[URL], names: Sequence[str]
) -> list[URL]:
    """Return URLs with those of their attributes that are asked for."""
    with catalog.database.reading("read attributes") as connection:
        known: dict[str, KnownSite | None] = {}
        dressed = []
        for url in urls:
            if url.site_id not in known:
                known[url.site_id] = find_site(connection, url.site_id)
            site = known[url.site_id]
            if site is not None:
                attributes = attributes_of(connection, site, url.url_md5, names)
                dressed.append(replace(url, attributes=attributes) if attributes else url)
        return dressed
