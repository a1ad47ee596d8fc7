"""URLs of the service: entered, changed, looked at, with their history and counters."""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Final

from gossamer.catalog.collecting_room import admitted, properties_of
from gossamer.catalog.collecting_rules import Patience
from gossamer.catalog.connection import Database
from gossamer.catalog.criterions import Compiled
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_attributes import put_attribute
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import counted, record, recount
from gossamer.catalog.service_members import (
    Change,
    Newcomer,
    Newcomers,
    changing,
    enter,
    find_document,
    find_site,
    home_id,
    md5s_of,
    members_among,
)
from gossamer.catalog.service_rows import (
    MEMBER_COLUMNS,
    SELECT_URL,
    SERVICE,
    KnownSite,
    url_from,
)
from gossamer.catalog.service_selection import (
    MEMBERS,
    UrlCriterions,
    moment_sql,
    select_sites,
    select_urls,
)
from gossamer.catalog.service_sites import copy_roots, known_sites, make_site
from gossamer.objects.enumerations import GENERAL_SITE, ItemStatus, LogOperation, SiteSelect, URLKey
from gossamer.objects.moments import NOW
from gossamer.objects.normalizing import Rewriting, rewriting_of, rewritten
from gossamer.objects.patterns import PatternError
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import Site
from gossamer.objects.url import (
    URL,
    FieldRecalculator,
    URLStatus,
    URLUpdate,
    URLVerify,
)
from gossamer.url.canonical import canonicalize
from gossamer.url.parts import authority_of, md5_of

_LIVING: Final = "dc_urls"
DELETED: Final = "dc_urls_deleted"
"""The name of the database that deleted URLs are in."""
_MOST_ROWS: Final = 10_000
_PATIENCE_SECONDS: Final = 10.0
"""For all patterns of sites that the URLs of one request are rewritten by."""


# ------------------------------------------------------------------------------ entered


def destinations(database: Database, urls: Iterable[URL]) -> list[tuple[str, str] | None]:
    """Return the site and the md5 that each URL would be entered with; None if it is refused."""
    places: list[tuple[str, str] | None] = []
    with database.reading("look for sites") as connection:
        finder = _SiteFinder(connection)
        for url in urls:
            place = finder.place_of(url)
            places.append(None if place is None else (place[0], md5_of(place[1]).hex()))
    return places


def sites_to_make(database: Database, urls: Iterable[URL]) -> list[str]:
    """Return the ids of sites that URLs would be entered in, but that are not there (S3.158)."""
    automatic = [url for url in urls if url.site_select is SiteSelect.AUTO]
    places = dict.fromkeys(place[0] for place in destinations(database, automatic) if place)
    with database.doing("look for sites") as connection:
        return [site_id for site_id in places if find_site(connection, site_id) is None]


def new_urls(catalog: ServiceCatalog, urls: Sequence[URL], now: float) -> list[ItemStatus]:
    """Enter URLs in their sites; one status for each (S3.153-S3.161)."""
    with changing(catalog, "add URLs", now) as change:
        finder, newcomers = _SiteFinder(change.connection), Newcomers(now)
        made: list[KnownSite] = []
        arrivals: list[Newcomer] = []
        places = []
        statuses = [ItemStatus.FAILED] * len(urls)
        for place, url in enumerate(urls):
            found = finder.place_of(url)
            if found is None:
                continue
            site_id, canonical = found
            site = finder.find(site_id)
            if site is None:
                site = make_site(change, Site(id=site_id, urls=[authority_of(canonical) + "/"]))
                finder.learn(site)
                made.append(site)
            arrivals.append(newcomers.make(site, canonical, url))
            places.append(place)
        room = admitted(change, arrivals)
        arrivals, places = list(compress(arrivals, room)), list(compress(places, room))
        for place, arrival, is_new in zip(places, arrivals, enter(change, arrivals), strict=True):
            statuses[place] = ItemStatus.INSERTED if is_new else ItemStatus.EXISTED
            _add_to(change, arrival, urls[place], is_new=is_new)
        # After the URLs, one of which may be the root: it is as it was given.
        for site in made:
            copy_roots(change, site)
        return statuses


def _add_to(change: Change, arrival: Newcomer, url: URL, *, is_new: bool) -> None:
    """Do what comes along with a URL."""
    if is_new:
        for attribute in url.attributes:
            put_attribute(change, arrival.site, attribute, arrival.md5.hex())
        return
    updates = [] if url.url_update is None else [url.url_update]
    if url.url_put is not None:
        # The purge tells its content by that from what was left when it was cleaned up.
        updates.insert(0, URLUpdate(tc_date=NOW))
    for update in updates:
        doc_id = find_document(change.connection, arrival.url)
        assert doc_id is not None, "a URL was entered, but cannot be found"
        change_members(change, arrival.site, [doc_id], update)


class _SiteFinder:
    """Finds the sites of URLs, each only once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[str, KnownSite | None] = {}
        self._rewritings: dict[str, Rewriting] = {}
        self._patience = Patience(_PATIENCE_SECONDS, time.monotonic)

    def place_of(self, url: URL) -> tuple[str, str] | None:
        """Return the site of a URL, and the URL as that site wants it; None if it is refused."""
        canonical = canonicalize(url.url)
        site_id = None if canonical is None else self.id_of(url, canonical)
        if canonical is None or site_id is None:
            return None
        rewriting = self._rewriting_of(site_id)
        if rewriting.is_usual:
            return site_id, canonical
        try:
            wanted = None if self._patience.is_over else rewritten(canonical, rewriting)
        except PatternError:
            return None
        return None if wanted is None else (site_id, wanted)

    def _rewriting_of(self, site_id: str) -> Rewriting:
        if site_id not in self._rewritings:
            site = self.find(site_id)
            # One that is made by this very URL has no properties of its own.
            own = {} if site is None else properties_of(self._connection, site.site_id)
            self._rewritings[site_id] = rewriting_of(own)
        return self._rewritings[site_id]

    def id_of(self, url: URL, canonical: str) -> str | None:
        """Return the site of a URL; None if it may go to none (S3.155-S3.159).

        With AUTO, there may be no such site yet.
        """
        if url.site_id and self.find(url.site_id) is not None:
            return url.site_id
        if url.site_select is SiteSelect.NONE:
            return None if url.site_id else GENERAL_SITE
        if url.site_select is SiteSelect.EXPLICIT:
            return GENERAL_SITE
        own = home_id(canonical)
        if url.site_select is SiteSelect.AUTO or self.find(own) is not None:
            return own
        return GENERAL_SITE

    def find(self, public_id: str) -> KnownSite | None:
        """Return a site, if it is there."""
        if public_id not in self._known:
            self._known[public_id] = find_site(self._connection, public_id)
        return self._known[public_id]

    def learn(self, site: KnownSite) -> None:
        """Remember a site that was made meanwhile."""
        self._known[site.id] = site


# ------------------------------------------------------------------------------ changed


def update_urls(catalog: ServiceCatalog, updates: Iterable[URLUpdate], now: float) -> list[bool]:
    """Change URLs; whether each update found some (S3.163)."""
    with changing(catalog, "change URLs", now) as change:
        return [_update(change, update) for update in updates]


def _update(change: Change, update: URLUpdate) -> bool:
    site = find_site(change.connection, update.site_id or "")
    if site is None:
        return False
    if update.url_md5 or update.url:
        key = URLKey.MD5 if update.url_md5 else URLKey.URL
        doc_id = find_document(change.connection, update.url_md5 or update.url or "", key)
        wanted = [] if doc_id is None else [doc_id]
        doc_ids = sorted(members_among(change.connection, site.set_id, wanted))
    else:
        doc_ids = select_urls(change.connection, site, update.criterions, change.now, limit=1)
    if doc_ids:
        change_members(change, site, doc_ids, update)
    return bool(doc_ids)


def change_members(
    change: Change, site: KnownSite, doc_ids: Sequence[int], update: URLUpdate
) -> None:
    """Change members of a site: the fields that are not None."""
    pieces: list[str] = []
    parameters: list[object] = []
    for column in MEMBER_COLUMNS:
        value = getattr(update, column.field)
        if value is None:
            continue
        made = Compiled("?", (value,))
        if column.is_moment:
            made = moment_sql(value, MEMBERS, change.now)
        pieces.append(f"{column.column} = {made.sql}")
        parameters += made.parameters
    if pieces:
        query = (
            f"UPDATE member AS m SET {', '.join(pieces)} "  # noqa: S608 - our columns
            "WHERE m.set_id = ? AND m.doc_id IN (SELECT value FROM json_each(?))"
        )
        with counted(change.connection, site, doc_ids):
            change.connection.execute(query, (*parameters, site.set_id, json_list(doc_ids)))
    if site.counts or site.logs or update.attributes:
        md5s = list(md5s_of(change.connection, doc_ids).values())
        operation = LogOperation.UPDATE if update.status is None else update.status
        record(change.connection, site, operation, md5s, change.now)
        for attribute in update.attributes or ():
            for md5 in md5s:
                put_attribute(change, site, attribute, md5)


def recalculate(catalog: ServiceCatalog, request: FieldRecalculator, now: float) -> bool:
    """Count the URLs of sites anew; whether there are such sites."""
    with changing(catalog, "count URLs", now) as change:
        if request.site_id is not None:
            ids = [request.site_id]
        elif request.criterions is not None:
            ids = select_sites(change.connection, request.criterions, now)
        else:
            raise ObjectError("FieldRecalculator", "siteId", "siteId or criterions are expected")
        sites = known_sites(change.connection, ids)
        for site in sites:
            recount(change.connection, site)
        return bool(sites)


# ----------------------------------------------------------------------------- looked at


def url_status(database: Database, requests: Iterable[URLStatus]) -> list[URL]:
    """Return URLs as they stand, those that are there (S3.162)."""
    with database.reading("look at URLs") as connection:
        found = []
        for request in requests:
            site = find_site(connection, request.site_id)
            doc_id = find_document(connection, request.url, request.url_type)
            if site is not None and doc_id is not None:
                found += urls_of(connection, site, [doc_id])
        return found


def urls_of(
    connection: sqlite3.Connection,
    site: KnownSite,
    doc_ids: Sequence[int],
    sets: Sequence[int] | None = None,
) -> list[URL]:
    """Return members of a site, in the order of their documents as given."""
    within = ",".join(map(str, [site.set_id] if sets is None else sets))
    query = (
        f"{SELECT_URL} FROM member m JOIN url u ON u.doc_id = m.doc_id "  # noqa: S608 - numbers
        f"WHERE m.set_id IN ({within}) AND m.doc_id IN (SELECT value FROM json_each(?))"
    )
    rows = {row[0]: row for row in connection.execute(query, (json_list(doc_ids),))}
    return [url_from(rows[doc_id], site.id) for doc_id in doc_ids if doc_id in rows]


def _sets_in(connection: sqlite3.Connection, site: KnownSite, database: str) -> list[int]:
    """Return the sets of a site's URLs that are in a database of the document."""
    if database == DELETED:
        rows = connection.execute(SERVICE["deleted_sets"], (site.site_id,))
        return [row[0] for row in rows]
    if database not in ("", _LIVING):
        raise ObjectError("URLVerify", "dbName", f"{_LIVING} or {DELETED} is expected")
    return [site.set_id]


def verify_urls(database: Database, requests: Iterable[URLVerify], now: float) -> list[URL]:
    """Return URLs that are among the URLs of their site, or among its deleted ones."""
    with database.reading("look up URLs") as connection:
        found = []
        for request in requests:
            site = find_site(connection, request.site_id)
            if site is None:
                continue
            sets = _sets_in(connection, site, request.db_name.lower())
            if request.url is not None:
                doc_id = find_document(connection, request.url, request.url_type)
                found += urls_of(connection, site, [] if doc_id is None else [doc_id], sets)
            elif request.criterions is not None:
                meant = UrlCriterions(request.criterions, limit=_MOST_ROWS)
                rows = meant.rows(connection, site, SELECT_URL, now, sets=sets)
                found += [url_from(row, site.id) for row in rows]
            else:
                raise ObjectError("URLVerify", "url", "url or criterions are expected")
        return found
