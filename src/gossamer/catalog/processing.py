"""Processing, as far as the catalog knows of it: who is next, and what became of a URL.

A URL is taken by its status: 5 selected, 6 being processed. Whoever dies leaves it so, and the
return of stuck URLs makes it 4 again, which is what it was before.
"""

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Final

from msgspec import Struct

from gossamer.catalog.batch_facts import Item, Memo
from gossamer.catalog.collecting_room import FULL_BIT, admitted, note_fault
from gossamer.catalog.connection import Database
from gossamer.catalog.iterations import Iterations
from gossamer.catalog.queries import load_queries
from gossamer.catalog.service_attributes import put_attribute
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import counted, record
from gossamer.catalog.service_members import (
    Change,
    changing,
    enter,
    find_document,
    find_site,
    members_among,
    newcomer,
)
from gossamer.catalog.service_rows import KnownSite
from gossamer.catalog.service_selection import select_sites
from gossamer.catalog.site_book import BATCHES, SiteBook
from gossamer.objects.criterions import parse_condition
from gossamer.objects.enumerations import CrawlStatus, SiteState, URLKey
from gossamer.objects.error_mask import FATAL_MASK
from gossamer.objects.problems import ObjectError
from gossamer.objects.selection import Criterions
from gossamer.objects.url import URL
from gossamer.url.canonical import canonicalize

PROCESSING: Final = load_queries("processing.sql")
DEFAULT_WHERE: Final = (
    "Status = 4 AND State = 0 AND Crawled > 0 AND Size > 0 "
    f"AND (ErrorMask & {FATAL_MASK}) = 0 AND ContentType IN ('text/html', 'text/json') "
    "AND HTTPCode = 200 AND ParentMd5 <> '' AND Type <> 6"
)
"""Which URLs are processed where the site does not say so itself (PROCESS_WHERE_URLS)."""
_MOST_SPECIAL: Final = 1_000


class Place(Struct, frozen=True):
    """Sites of which URLs are taken, and which URLs; first those of the longest wait."""

    sites: tuple[str, ...]
    where: str
    waits_since: float


class Outcome(Struct, frozen=True):
    """What processing one URL gave."""

    mask: int = 0
    tags_mask: int = 0
    tags_count: int = 0
    pdate: float | None = None
    content_url_md5: str = ""
    milliseconds: int = 0


# ------------------------------------------------------------------------------- who is next


def places_to_process(database: Database, size: int, now: float) -> tuple[list[Place], list[str]]:
    """Return where URLs wait for processing, in the order of their turn, and complaints.

    The properties PROCESS_WHERE_URLS and PROCESS_WHERE_SITES replace the usual conditions. A site
    whose properties cannot be understood is left out.
    """
    complaints: list[str] = []
    with database.reading("look for URLs to process") as connection:
        usual = connection.execute(PROCESSING["sites_to_process"], (size,)).fetchall()
        special = connection.execute(PROCESSING["sites_of_their_own"], (_MOST_SPECIAL,)).fetchall()
        places = []
        if usual:
            first = usual[0][1] or 0.0
            places.append(Place(tuple(row[0] for row in usual), DEFAULT_WHERE, first))
        for name, site_id, state, touched, where_urls, where_sites, takes_part in special:
            try:
                if where_sites:
                    meant = Criterions(where=where_sites)
                    wanted = bool(select_sites(connection, meant, now, among=[site_id]))
                else:
                    wanted = state == SiteState.ACTIVE and bool(takes_part)
                if where_urls:
                    parse_condition(where_urls, "PROCESS_WHERE_URLS")
            except ObjectError as error:
                complaints.append(f"site {name}: {error}")
                continue
            if wanted:
                # What is processed already would be taken again and again.
                where = f"Status = 4 AND ({where_urls})" if where_urls else DEFAULT_WHERE
                places.append(Place((name,), where, touched or 0.0))
    return sorted(places, key=lambda place: place.waits_since), complaints


# ---------------------------------------------------------------------------- one URL


def begin_processing(catalog: ServiceCatalog, site_id: str, url_md5: str, now: float) -> bool:
    """Note that a URL is being processed; False if it is not there, or not crawled (any more)."""
    with changing(catalog, "begin to process a URL", now, keeps_members=True) as change:
        found = _member(change, site_id, url_md5)
        if found is None:
            return False
        site, doc_id = found
        values = {"set_id": site.set_id, "doc_id": doc_id, "now": now}
        with counted(change.connection, site, [doc_id]):
            taken = change.connection.execute(PROCESSING["begin_member"], values).rowcount
        if taken:
            status = int(CrawlStatus.PROCESSING)
            record(change.connection, site, status, [url_md5], now)
        return bool(taken)


def release_urls(catalog: ServiceCatalog, urls: Iterable[tuple[str, str]], now: float) -> None:
    """Let URLs that were selected wait again; each is named by its site and md5."""
    with changing(catalog, "release URLs", now, keeps_members=True) as change:
        for site_id, url_md5 in urls:
            found = _member(change, site_id, url_md5)
            if found is not None:
                site, doc_id = found
                change.connection.execute(PROCESSING["release_member"], (site.set_id, doc_id))


def refuse_url(catalog: ServiceCatalog, site_id: str, url_md5: str, mask: int, now: float) -> None:
    """Note why a URL is not processed, so that it is not selected again (S3.101)."""
    with changing(catalog, "refuse to process a URL", now, keeps_members=True) as change:
        found = _member(change, site_id, url_md5)
        if found is not None:
            site, doc_id = found
            values = {"set_id": site.set_id, "doc_id": doc_id, "mask": mask, "now": now}
            with counted(change.connection, site, [doc_id]):
                change.connection.execute(PROCESSING["refuse_member"], values)


def suspend_site(catalog: ServiceCatalog, site_id: str, mask: int, now: float) -> None:
    """Suspend a site that has reached limits (S3.99), whose bits are in the mask."""
    with changing(catalog, "suspend a site", now) as change:
        site = find_site(change.connection, site_id)
        if site is not None:
            change.connection.execute(BATCHES["suspend_site"], (mask, now, site.site_id))


def finish_processing(
    catalog: ServiceCatalog,
    site_id: str,
    url_md5: str,
    outcome: Outcome,
    entries: Sequence[URL],
    now: float,
) -> bool:
    """Note what processing gave, and enter the URLs of a feed's entries; one transaction.

    False if the URL has left its site meanwhile. One that somebody has made new stays new.
    """
    with changing(catalog, "note what processing gave", now, keeps_members=True) as change:
        found = _member(change, site_id, url_md5)
        if found is None:
            return False
        site, doc_id = found
        values = {
            "set_id": site.set_id,
            "doc_id": doc_id,
            "now": now,
            "mask": outcome.mask,
            "time": float(outcome.milliseconds),
            "tags_mask": outcome.tags_mask,
            "tags_count": outcome.tags_count,
            "pdate": outcome.pdate,
            "content_url_md5": outcome.content_url_md5,
        }
        with counted(change.connection, site, [doc_id]):
            ended = change.connection.execute(PROCESSING["processed_member"], values).rowcount
        if ended:
            record(change.connection, site, int(CrawlStatus.PROCESSED), [url_md5], now)
            _enter_entries(change, site, doc_id, entries)
        return True


def has_twin(database: Database, site_id: str, url_md5: str, content_md5: str) -> bool:
    """Whether another URL of a site was processed to a content with the same hash."""
    with database.reading("look for a duplicate") as connection:
        site = find_site(connection, site_id)
        doc_id = find_document(connection, url_md5, URLKey.MD5)
        if site is None or doc_id is None:
            return False
        values = (site.set_id, content_md5, doc_id)
        return connection.execute(PROCESSING["twin_of"], values).fetchone() is not None


def _enter_entries(change: Change, site: KnownSite, feed: int, entries: Sequence[URL]) -> None:
    """Enter the URLs of a feed's entries; those that are new wait for the feed's batch."""
    canonical = [(canonicalize(entry.url), entry) for entry in entries]
    arrivals = [(newcomer(site, url, entry, change.now), entry) for url, entry in canonical if url]
    room = admitted(change, [arrival for arrival, _ in arrivals])
    if not all(room):
        note_fault(change, site, feed, FULL_BIT)
    arrivals = list(compress(arrivals, room))
    entered = enter(change, [arrival for arrival, _ in arrivals])
    for (arrival, entry), is_new in zip(arrivals, entered, strict=True):
        if is_new:
            for attribute in entry.attributes:
                put_attribute(change, site, attribute, arrival.md5.hex())
    fresh = [arrival for (arrival, _), is_new in zip(arrivals, entered, strict=True) if is_new]
    row = change.connection.execute(PROCESSING["item_of"], (site.set_id, feed)).fetchone()
    if row is not None:
        ids = [find_document(change.connection, arrival.url) for arrival in fresh]
        found = [(site.set_id, doc_id, True) for doc_id in ids if doc_id is not None]
        Iterations(change, SiteBook(change.connection, Memo())).found(Item(*row), found)


def _member(change: Change, site_id: str, url_md5: str) -> tuple[KnownSite, int] | None:
    site = find_site(change.connection, site_id)
    doc_id = find_document(change.connection, url_md5, URLKey.MD5)
    if site is None or doc_id is None:
        return None
    return (site, doc_id) if members_among(change.connection, site.set_id, [doc_id]) else None
