"""What the catalog knows of the contents of URLs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import record
from gossamer.catalog.service_members import (
    changing,
    find_document,
    find_site,
    md5s_of,
    members_among,
)
from gossamer.catalog.service_rows import MEMBER_COLUMNS, SERVICE
from gossamer.catalog.service_selection import select_urls
from gossamer.catalog.service_urls import change_members
from gossamer.objects.enumerations import ContentMask, LogOperation, URLKey
from gossamer.objects.moments import NOW
from gossamer.objects.problems import ObjectError
from gossamer.objects.url import URL, URLPut, URLUpdate

_FIELDS: Final = {
    **{column.name.lower(): column.field for column in MEMBER_COLUMNS},
    "url": "url",
    "urlmd5": "url_md5",
    "site_id": "site_id",
}
_PUT_LIMIT: Final = 1_000


def column_values(
    url: URL, names: Iterable[str], defaults: Mapping[str, object]
) -> dict[str, object]:
    """Return columns of a URL by their names in the document; `defaults` stand in for nothing."""
    values: dict[str, object] = {}
    for name in names:
        field = _FIELDS.get(name.lower())
        value = None if field is None else getattr(url, field)
        if value is None:
            value = defaults.get(name)
        if field is not None or value is not None:
            values[name] = value
    return values


def members_to_put(database: Database, request: URLPut, now: float) -> list[tuple[int, str, str]]:
    """Return document, md5 and text of the URLs that a content is for."""
    with database.reading("look for URLs") as connection:
        site = find_site(connection, request.site_id)
        if site is None:
            return []
        if request.url_md5:
            doc_id = find_document(connection, request.url_md5, URLKey.MD5)
            wanted = [] if doc_id is None else [doc_id]
            doc_ids: Sequence[int] = sorted(members_among(connection, site.set_id, wanted))
        elif request.criterions is not None:
            doc_ids = select_urls(connection, site, request.criterions, now, limit=_PUT_LIMIT)
        else:
            raise ObjectError("URLPut", "urlMd5", "urlMd5 or criterions are expected")
        return connection.execute(SERVICE["names_of"], (json_list(doc_ids),)).fetchall()


def claim_contents(
    catalog: ServiceCatalog, site_id: str, doc_ids: Sequence[int], now: float
) -> None:
    """Touch URLs that get contents now: the purge tells those by that from what is left."""
    left = _left_among(catalog.database, site_id, doc_ids)
    if left:
        with changing(catalog, "note contents", now, keeps_members=True) as change:
            site = find_site(change.connection, site_id)
            if site is not None:
                change_members(change, site, left, URLUpdate(tc_date=NOW))


def has_left(database: Database, site_id: str, md5: str) -> bool:
    """Whether contents of this name are still to be removed from a site."""
    with database.doing("look for URLs") as connection:
        doc_id = find_document(connection, md5, URLKey.MD5)
    return doc_id is not None and bool(_left_among(database, site_id, [doc_id]))


def _left_among(database: Database, site_id: str, doc_ids: Sequence[int]) -> list[int]:
    with database.doing("look for deleted URLs") as connection:
        rows = connection.execute(SERVICE["left_among"], (site_id, json_list(doc_ids)))
        return sorted({row[0] for row in rows})


def mark_content(
    catalog: ServiceCatalog,
    site_id: str,
    doc_ids: Sequence[int],
    now: float,
    size: int | None,
    raw_content_md5: str | None,
) -> None:
    """Note that there is a content, and when: the purge tells contents apart by that."""
    with changing(catalog, "note contents", now) as change:
        site = find_site(change.connection, site_id)
        if site is None:
            return
        update = URLUpdate(
            content_mask=ContentMask.STORED_ON_DISK,
            tc_date=NOW,
            size=size,
            raw_content_md5=raw_content_md5,
        )
        change_members(change, site, doc_ids, update)
        md5s = list(md5s_of(change.connection, doc_ids).values())
        record(change.connection, site, LogOperation.CONTENT, md5s, now)
