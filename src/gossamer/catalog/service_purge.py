"""The purge: deleted URLs go for good, with what is stored for them."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import count
from gossamer.catalog.service_members import (
    CONTENT_KEPT,
    changing,
    find_document,
    find_site,
    forget_deleted,
    members_among,
)
from gossamer.catalog.service_rows import SERVICE, KnownSite
from gossamer.catalog.service_selection import select_members
from gossamer.objects.enumerations import GENERAL_SITE
from gossamer.objects.url import URLPurge

_PURGED: Final = 100


class Purgeable(Struct, frozen=True):
    """Deleted URLs of one set."""

    site: KnownSite
    set_id: int
    doc_ids: tuple[int, ...]
    md5s: tuple[str, ...]
    to_remove: tuple[str, ...]
    """Those whose contents are still there and belong to nothing that lives."""


def purged_sites(database: Database, request: URLPurge) -> list[str]:
    """Return the sites that a purge is about; siteLimits are an offset and a count, -1 for all."""
    if request.site_id is not None:
        return [request.site_id or GENERAL_SITE]
    offset, number = request.site_limits or (0, -1)
    with database.doing("look for sites") as connection:
        ids = [row[0] for row in connection.execute(SERVICE["every_site_id"])]
    return ids[offset:] if number < 0 else ids[offset : offset + number]


def purgeable(database: Database, site_id: str, request: URLPurge, now: float) -> list[Purgeable]:
    """Return deleted URLs of a site that go for good, as many as the criterions allow."""
    with database.reading("look for deleted URLs") as connection:
        site = find_site(connection, site_id)
        if site is None:
            return []
        states = dict(connection.execute(SERVICE["deleted_sets"], (site.site_id,)).fetchall())
        if request.url is not None:
            doc_id = find_document(connection, request.url, request.url_type)
            wanted = [] if doc_id is None else [doc_id]
            by_set = {set_id: list(members_among(connection, set_id, wanted)) for set_id in states}
        else:
            by_set = {}
            for set_id, doc_id in select_members(
                connection, site, request.criterions, now, sets=list(states), limit=_PURGED
            ):
                by_set.setdefault(set_id, []).append(doc_id)
        found = []
        for set_id, doc_ids in by_set.items():
            which = {"live": site.set_id, "set_id": set_id, "doc_ids": json_list(doc_ids)}
            rows = connection.execute(SERVICE["purgeable"], which).fetchall()
            left = states[set_id] == CONTENT_KEPT
            to_remove = tuple(md5 for _, md5, lives_again in rows if left and not lives_again)
            if rows:
                ids, md5s, _ = zip(*rows, strict=True)
                found.append(Purgeable(site, set_id, ids, md5s, to_remove))
        return found


def purged(catalog: ServiceCatalog, purges: Sequence[Purgeable], now: float) -> int:
    """Drop deleted URLs whose contents are removed; return how many."""
    with changing(catalog, "purge URLs", now) as change:
        for purge in purges:
            forget_deleted(change, purge.site.site_id, purge.set_id, purge.doc_ids)
            count(change.connection, purge.site, "purged", purge.md5s, now)
    return sum(len(purge.doc_ids) for purge in purges)
