"""The purge: deleted URLs go for good, with what is stored for them."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.content_removal import DeleteContents, delete_contents, portions
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import count
from gossamer.catalog.service_members import (
    CONTENT_KEPT,
    changing,
    find_document,
    find_site,
    forget_deleted,
    md5s_of,
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
    has_contents: bool
    """Whether their contents may still be there."""
    doc_ids: tuple[int, ...]


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
        return [
            Purgeable(site, set_id, states[set_id] == CONTENT_KEPT, tuple(doc_ids))
            for set_id, doc_ids in by_set.items()
            if doc_ids
        ]


def purge(catalog: ServiceCatalog, found: Purgeable, now: float, delete: DeleteContents) -> int:
    """Remove what is left of deleted URLs, and drop them; return how many."""
    parts = portions(found.doc_ids) if found.has_contents else [found.doc_ids]
    return sum(_purge(catalog, found, doc_ids, now, delete) for doc_ids in parts)


def _purge(
    catalog: ServiceCatalog,
    found: Purgeable,
    doc_ids: Sequence[int],
    now: float,
    delete: DeleteContents,
) -> int:
    with changing(catalog, "purge URLs", now) as change:
        connection, set_id = change.connection, found.set_id
        present = sorted(members_among(connection, set_id, doc_ids))
        if found.has_contents:
            delete_contents(connection, found.site, set_id, present, delete)
        md5s = list(md5s_of(connection, present).values())
        forget_deleted(change, found.site.site_id, set_id, present)
        count(connection, found.site, "purged", md5s, now)
    return len(present)
