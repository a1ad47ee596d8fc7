"""Attributes: named values that clients keep with sites and URLs."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from gossamer.catalog.connection import Database
from gossamer.catalog.criterions import Compiled, Compiler
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import Change, changing, find_site
from gossamer.catalog.service_rows import SERVICE, KnownSite, attribute_from
from gossamer.catalog.service_selection import ATTRIBUTES, SITE_ID, epoch_at
from gossamer.objects.criterions import parse_criterions
from gossamer.objects.enumerations import ItemStatus
from gossamer.objects.extras import Attribute, AttributeDelete, AttributeFetch, AttributeUpdate
from gossamer.objects.selection import Criterions

_SELECT: Final = "SELECT a.name, a.url_md5, a.value, a.cdate FROM attribute a"
_DELETE: Final = (
    "DELETE FROM attribute WHERE site_id = ? AND (url_md5, name) IN "
    "(SELECT a.url_md5, a.name FROM attribute a{})"
)
_ALL: Final = "*"


def set_attributes(
    catalog: ServiceCatalog, attributes: Iterable[Attribute], now: float
) -> list[ItemStatus]:
    """Set attributes; those that are there get the new value and the status EXISTED."""
    statuses = []
    with changing(catalog, "set attributes", now) as change:
        for attribute in attributes:
            site = find_site(change.connection, attribute.site_id)
            if site is None:
                statuses.append(ItemStatus.NO_SITE)
            else:
                is_new = put_attribute(change, site, attribute, attribute.url_md5)
                statuses.append(ItemStatus.INSERTED if is_new else ItemStatus.EXISTED)
    return statuses


def update_attributes(
    catalog: ServiceCatalog, updates: Iterable[AttributeUpdate], now: float
) -> list[bool]:
    """Give attributes new values, and make those that are missing; whether there is the site."""
    statuses = []
    with changing(catalog, "change attributes", now) as change:
        for update in updates:
            site = find_site(change.connection, update.site_id)
            if site is not None:
                put_attribute(change, site, update, update.url_md5)
            statuses.append(site is not None)
    return statuses


def put_attribute(
    change: Change, site: KnownSite, attribute: Attribute | AttributeUpdate, url_md5: str
) -> bool:
    """Set an attribute of a URL, or of the site if there is no md5; whether it is new."""
    value = attribute.value or ""
    cdate = epoch_at(attribute.c_date, change.now) or change.now
    row = (site.site_id, url_md5, attribute.name, value, cdate)
    if change.connection.execute(SERVICE["insert_attribute"], row).rowcount:
        return True
    names = ("site_id", "url_md5", "name", "value", "cdate")
    change.connection.execute(SERVICE["change_attribute"], dict(zip(names, row, strict=True)))
    return False


def delete_attributes(
    catalog: ServiceCatalog, requests: Iterable[AttributeDelete], now: float
) -> list[bool]:
    """Delete attributes; whether each request found some."""
    statuses = []
    with changing(catalog, "delete attributes", now) as change:
        for request in requests:
            site = find_site(change.connection, request.site_id)
            found = 0
            if site is not None:
                which = _which(site, request, now)
                query = _DELETE.format(which.sql)
                parameters = (site.site_id, *which.parameters)
                found = change.connection.execute(query, parameters).rowcount
            statuses.append(found > 0)
    return statuses


def fetch_attributes(
    database: Database, requests: Iterable[AttributeFetch], now: float
) -> list[Attribute]:
    """Return attributes."""
    found = []
    with database.reading("read attributes") as connection:
        for request in requests:
            site = find_site(connection, request.site_id)
            if site is not None:
                which = _which(site, request, now)
                rows = connection.execute(_SELECT + which.sql, which.parameters)
                found += [attribute_from(row, site.id) for row in rows]
    return found


def attributes_of(
    connection: sqlite3.Connection, site: KnownSite, url_md5: str, names: Sequence[str]
) -> list[Attribute]:
    """Return the attributes of a URL that have one of these names; `*` is any."""
    if not names:
        return []
    rows = connection.execute(SERVICE["attributes_of_url"], (site.site_id, url_md5))
    every = _ALL in names
    return [attribute_from(row, site.id) for row in rows if every or row[0] in names]


def _which(site: KnownSite, request: AttributeDelete | AttributeFetch, now: float) -> Compiled:
    condition = "a.site_id = ?"
    parameters: tuple[int | str, ...] = (site.site_id,)
    if request.name is not None:
        condition += " AND a.name = ?"
        parameters += (request.name,)
    if request.url_md5 is not None:
        condition += " AND a.url_md5 = ?"
        parameters += (request.url_md5,)
    # A name says all; criterions are for those who name none.
    criterions = Criterions() if request.name is not None else request.criterions
    selection = parse_criterions(criterions or Criterions())
    compiler = Compiler(ATTRIBUTES, now, {SITE_ID: site.id})
    return compiler.selection(selection, Compiled(condition, parameters))
