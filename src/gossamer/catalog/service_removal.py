"""What is taken away from sites: URLs, contents, whole sites.

Whatever has contents goes in two steps. First a transaction takes it away from clients and notes
that contents are left: a set of deleted URLs, or the tombstone of a site. Then another one looks
whose contents are still nobody's (`catalog/content_removal.py`), has them removed, and drops the
note. Whoever is killed in between leaves the note, and the purge does the rest; so a client sees a
removal as a whole, or none.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.connection import Database
from gossamer.catalog.content_removal import DeleteContents, delete_contents, portions
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import count, count_deleted, counted, record, recount
from gossamer.catalog.service_members import (
    CONTENT_GONE,
    CONTENT_KEPT,
    Change,
    changing,
    contents_gone,
    delete_members,
    deleted_set,
    drop_if_empty,
    find_document,
    find_site,
    forget_deleted,
    md5s_of,
    members_among,
    new_set,
    note_contents,
)
from gossamer.catalog.service_rows import SERVICE, KnownSite
from gossamer.catalog.service_selection import select_sites, select_urls
from gossamer.catalog.service_sites import (
    copy_roots,
    known_sites,
    property_of,
    settable_state,
)
from gossamer.objects.enumerations import (
    GENERAL_SITE,
    CrawlStatus,
    DelayedType,
    DeleteReason,
    HistoryCleanUp,
    LogOperation,
    SiteState,
    URLState,
)
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import SiteCleanup, SiteDelete
from gossamer.objects.url import URLAge, URLCleanup, URLDelete

_SWEPT: Final = 20_000
"""Rows that one transaction removes, so that others need not wait for long."""
_AGED: Final = 100
_AGED_SITES: Final = 10
_MINUTE: Final = 60.0
_AGING_CRITERION: Final = "AGING_URL_CRITERION"


class Removal(Struct, frozen=True):
    """URLs of a site whose contents are to be removed."""

    site: KnownSite
    doc_ids: tuple[int, ...]
    md5s: tuple[str, ...]
    delayed: bool
    """Whether that is left to the purge."""


class SiteRemoval(Struct, frozen=True):
    """A deleted site whose contents are to be removed."""

    id: str
    site_id: int
    delayed: bool = False


class SiteEmptying(Struct, frozen=True):
    """An emptied site whose contents are to be removed."""

    site: KnownSite
    """As it is now."""
    given_up: int
    """The set of URLs that it had."""
    delayed: bool
    saved_roots: bool
    """Whether its root URLs are in that set, too, until their contents are removed."""


# ------------------------------------------------------------------------------ URLs


def delete_urls(
    catalog: ServiceCatalog, requests: Iterable[URLDelete], now: float
) -> list[Removal | None]:
    """Delete URLs, and say whose contents are to go; None for what was not there (S3.165)."""
    with changing(catalog, "delete URLs", now) as change:
        return [_delete(change, request) for request in requests]


def _delete(change: Change, request: URLDelete) -> Removal | None:
    site = find_site(change.connection, request.site_id)
    if site is None:
        return None
    doc_ids = _meant(change, site, request)
    if not doc_ids:
        return None
    return _taken(change, site, doc_ids, request.delayed_type, request.reason)


def _taken(
    change: Change,
    site: KnownSite,
    doc_ids: Sequence[int],
    delay: DelayedType,
    reason: DeleteReason,
) -> Removal:
    """Take URLs away from a site, and say whose contents are to go."""
    removal = _removal(change, site, doc_ids, delay)
    delete_members(change, site, doc_ids, reason=reason)
    if removal.delayed:
        count(change.connection, site, "delayed", removal.md5s, change.now)
    return removal


def delete_left(
    catalog: ServiceCatalog, removals: Iterable[Removal], now: float, delete: DeleteContents
) -> None:
    """Remove the contents of deleted URLs."""
    for removal in removals:
        for doc_ids in portions(removal.doc_ids):
            with changing(catalog, "delete URLs", now) as change:
                kept = deleted_set(change, removal.site.site_id, CONTENT_KEPT)
                delete_contents(change.connection, removal.site, kept, doc_ids, delete)
                contents_gone(change, removal.site, doc_ids)


def clean_urls(
    catalog: ServiceCatalog, requests: Iterable[URLCleanup], now: float
) -> list[Removal | None]:
    """Let URLs start again, and say whose contents are to go (S3.170)."""
    with changing(catalog, "clean URLs up", now) as change:
        return [_clean(change, request) for request in requests]


def _clean(change: Change, request: URLCleanup) -> Removal | None:
    site = find_site(change.connection, request.site_id)
    if site is None:
        return None
    doc_ids = _meant(change, site, request)
    if not doc_ids:
        return None
    removal = _removal(change, site, doc_ids, request.delayed_type)
    note_contents(change, site, doc_ids)
    status = CrawlStatus.NEW if request.status is None else request.status
    state = URLState.ENABLED if request.state is None else request.state
    # As long ago as a re-crawl needs, so that nothing thinks it was just looked at.
    back = site.recrawl_period * _MINUTE if status is CrawlStatus.NEW else 0.0
    values = {"state": int(state), "status": int(status), "udate": change.now - back}
    with counted(change.connection, site, doc_ids):
        change.connection.executemany(
            SERVICE["clean_member"],
            ({**values, "set_id": site.set_id, "doc_id": doc_id} for doc_id in doc_ids),
        )
    record(change.connection, site, LogOperation.CLEANUP, removal.md5s, change.now)
    return removal


def clean_left(
    catalog: ServiceCatalog, removals: Iterable[Removal], now: float, delete: DeleteContents
) -> None:
    """Remove the contents of URLs that start again, unless they have begun to."""
    for removal in removals:
        for doc_ids in portions(removal.doc_ids):
            with changing(catalog, "clean URLs up", now) as change:
                kept = deleted_set(change, removal.site.site_id, CONTENT_KEPT)
                delete_contents(change.connection, removal.site, kept, doc_ids, delete)
                forget_deleted(change, removal.site.site_id, kept, doc_ids)


def age_urls(
    catalog: ServiceCatalog, requests: Iterable[URLAge], now: float
) -> list[list[Removal]]:
    """Delete old URLs of the sites that criterions select, and say whose contents are to go."""
    with changing(catalog, "age URLs", now) as change:
        return [_age(change, request) for request in requests]


def _age(change: Change, request: URLAge) -> list[Removal]:
    removals: list[Removal] = []
    left = request.max_urls
    ids = select_sites(change.connection, request.sites_criterions, change.now, limit=_AGED_SITES)
    for site in known_sites(change.connection, ids):
        if left <= 0:
            break
        doc_ids = select_urls(
            change.connection,
            site,
            request.urls_criterions,
            change.now,
            where=property_of(change.connection, site.site_id, _AGING_CRITERION),
            limit=_AGED,
            at_most=left,
        )
        if doc_ids:
            left -= len(doc_ids)
            delay = request.delayed_type
            removals.append(_taken(change, site, doc_ids, delay, DeleteReason.AGING))
    return removals


def _meant(change: Change, site: KnownSite, request: URLDelete | URLCleanup) -> list[int]:
    """Return the members that a request means."""
    if request.url is None:
        if request.criterions is None:
            raise ObjectError(type(request).__name__, "url", "url or criterions are expected")
        return select_urls(change.connection, site, request.criterions, change.now)
    doc_id = find_document(change.connection, request.url, request.url_type)
    return [] if doc_id is None else sorted(members_among(change.connection, site.set_id, [doc_id]))


def _removal(
    change: Change, site: KnownSite, doc_ids: Sequence[int], delayed: DelayedType
) -> Removal:
    md5s = md5s_of(change.connection, doc_ids)
    return Removal(
        site,
        tuple(doc_ids),
        tuple(md5s[doc_id] for doc_id in doc_ids),
        delayed is DelayedType.DELAYED,
    )


# ------------------------------------------------------------------------------ sites


def delete_sites(
    catalog: ServiceCatalog, requests: Iterable[SiteDelete], now: float
) -> list[list[SiteRemoval]]:
    """Delete sites that are named or selected; say whose contents are to go (S3.136-S3.139)."""
    with changing(catalog, "delete sites", now) as change:
        return [_delete_sites(change, request) for request in requests]


def _delete_sites(change: Change, request: SiteDelete) -> list[SiteRemoval]:
    if request.id == GENERAL_SITE:
        raise ObjectError("SiteDelete", "id", "the general site 0 cannot be deleted")
    ids = [request.id] if request.id else []
    if not request.id and request.criterions is not None:
        ids = select_sites(change.connection, request.criterions, change.now)
    delayed = request.delayed_type is DelayedType.DELAYED
    removals = []
    for site in known_sites(change.connection, ids):
        if site.id != GENERAL_SITE:
            _delete_site(change, site)
            removals.append(SiteRemoval(site.id, site.site_id, delayed))
    return removals


def _delete_site(change: Change, site: KnownSite) -> None:
    values = (site.id, site.site_id, int(SiteState.DELETE_TASK), change.now)
    change.connection.execute(SERVICE["put_tombstone"], values)
    for query in (
        "forget_roots",
        "forget_filters",
        "forget_properties",
        "forget_attributes",
        "forget_proxies",
        "forget_frequencies",
        "forget_log",
        "forget_site",
    ):
        change.connection.execute(SERVICE[query], (site.site_id,))


def delete_left_of_site(
    catalog: ServiceCatalog, removal: SiteRemoval, now: float, drop: Callable[[str], object]
) -> None:
    """Drop what is left of a deleted site, its contents first; what was delayed is remembered."""
    with changing(catalog, "delete a site", now) as change:
        # Somebody may have finished it meanwhile, and have made the site anew.
        tombstone = change.connection.execute(SERVICE["tombstone_of"], (removal.id,)).fetchone()
        is_left = tombstone == (removal.site_id, SiteState.DELETE_TASK)
        if is_left and find_site(change.connection, removal.id) is None:
            drop(removal.id)
    while _sweep(catalog, removal, now):
        pass
    with changing(catalog, "delete a site", now) as change:
        change.connection.execute(SERVICE["forget_sets"], (removal.site_id,))
        query = "close_tombstone" if removal.delayed else "drop_tombstone"
        change.connection.execute(SERVICE[query], (removal.id, removal.site_id))


def _sweep(catalog: ServiceCatalog, removal: SiteRemoval, now: float) -> bool:
    with changing(catalog, "delete a site", now) as change:
        bounds = (removal.site_id, _SWEPT)
        rows = change.connection.execute(SERVICE["orphaned_members"], bounds).fetchall()
        by_set: dict[int, list[int]] = {}
        for set_id, doc_id in rows:
            by_set.setdefault(set_id, []).append(doc_id)
        for set_id, doc_ids in by_set.items():
            change.connection.execute(SERVICE["forget_members"], (set_id, json_list(doc_ids)))
    return bool(rows)


def left_of_site(database: Database, site_id: str) -> SiteRemoval | None:
    """Return what is left of a deleted site, if its contents are still to be removed."""
    with database.doing("look for a deleted site") as connection:
        row = connection.execute(SERVICE["tombstone_of"], (site_id,)).fetchone()
    if row is None or row[1] != SiteState.DELETE_TASK:
        return None
    return SiteRemoval(site_id, row[0], delayed=True)


def left_of_sites(database: Database, limit: int) -> list[SiteRemoval]:
    """Return deleted sites whose contents are still to be removed."""
    with database.doing("look for deleted sites") as connection:
        rows = connection.execute(SERVICE["open_tombstones"], (limit,)).fetchall()
    return [SiteRemoval(row[0], row[1], delayed=True) for row in rows]


def empty_sites(
    catalog: ServiceCatalog, requests: Iterable[SiteCleanup], now: float
) -> list[SiteEmptying | None]:
    """Give up the URLs of sites; None for a site that is not there (S3.145-S3.151).

    Each gets another set of URLs, so that this is quick with any number of them. Root URLs that are
    saved start again.
    """
    with changing(catalog, "empty sites", now) as change:
        return [_empty(change, request) for request in requests]


def _empty(change: Change, request: SiteCleanup) -> SiteEmptying | None:
    connection = change.connection
    state = settable_state("SiteCleanup", request.state)
    site = find_site(connection, request.id)
    if site is None:
        return None
    given_up, set_id = site.set_id, new_set(change, site.site_id)
    if request.save_root_urls:
        connection.execute(SERVICE["save_roots"], {"target": set_id, "source": given_up})
        connection.execute(SERVICE["renew_roots"], (set_id,))
    connection.execute(SERVICE["mark_set"], (CONTENT_KEPT, given_up))
    connection.execute(
        SERVICE["clean_site"],
        {"site_id": site.site_id, "set_id": set_id, "now": change.now, "state": int(state)},
    )
    emptied = replace(site, set_id=set_id)
    delayed = request.delayed_type is DelayedType.DELAYED
    if delayed and request.save_root_urls:
        _drop_saved(change, emptied, given_up)
        drop_if_empty(change, given_up)
    recount(connection, emptied)
    if request.move_urls:
        copy_roots(change, emptied)
    _forget_history(change, site, request.history_clean_up)
    return SiteEmptying(emptied, given_up, delayed, request.save_root_urls)


def empty_left(
    catalog: ServiceCatalog, emptying: SiteEmptying, now: float, clear: Callable[[str], object]
) -> None:
    """Remove the contents of an emptied site.

    That is left to the purge, which tells them apart, if the site may have others by now.
    """
    with changing(catalog, "empty a site", now) as change:
        site = find_site(change.connection, emptying.site.id)
        if site is None or site.set_id != emptying.site.set_id:
            # Deleted or emptied once more: whoever did that removes them.
            return
        sets = {"set_id": site.set_id, "given_up": emptying.given_up}
        if change.connection.execute(SERVICE["has_contents"], sets).fetchone():
            return
        clear(site.id)
        if emptying.saved_roots:
            _drop_saved(change, emptying.site, emptying.given_up)
        change.connection.execute(SERVICE["mark_set"], (CONTENT_GONE, emptying.given_up))
        drop_if_empty(change, emptying.given_up)


def _drop_saved(change: Change, site: KnownSite, given_up: int) -> None:
    """Take root URLs that were saved out of the set that was given up."""
    cursor = change.connection.execute(
        SERVICE["drop_saved"], {"given_up": given_up, "set_id": site.set_id}
    )
    count_deleted(change.connection, site.site_id, -cursor.rowcount)


def _forget_history(change: Change, site: KnownSite, history: HistoryCleanUp) -> None:
    change.connection.execute(SERVICE["forget_attributes"], (site.site_id,))
    if history is not HistoryCleanUp.NOT:
        change.connection.execute(SERVICE["forget_log"], (site.site_id,))
    if history is HistoryCleanUp.FULL:
        change.connection.execute(SERVICE["forget_frequencies"], (site.site_id,))
