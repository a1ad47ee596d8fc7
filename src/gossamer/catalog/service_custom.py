"""SQL_CUSTOM: queries of the client's own, which can only read, and only the document's tables.

Those tables are views, made for one query alone; that nothing else can be read, and what a query
may take, is the business of `read_only_sql.py`.
"""

import re
import sqlite3
from pathlib import Path
from typing import Final

from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.criterions import Columns, Source
from gossamer.catalog.read_only_sql import run_read_only
from gossamer.catalog.service_members import find_site
from gossamer.catalog.service_rows import MEMBER_COLUMNS, SERVICE, SITE_COLUMNS, KnownSite
from gossamer.catalog.service_selection import ATTRIBUTES, FREQUENCIES, LOG, document_name
from gossamer.errors import InputError
from gossamer.objects.enumerations import FieldNames
from gossamer.objects.expressions import Kind
from gossamer.objects.extras import CustomRequest, CustomResponse

_SITE_TABLE: Final = re.compile(r"\b(urls|att|log|freq)_([0-9A-Za-z_-]{1,32})\b", re.IGNORECASE)
_MOST_BYTES: Final = 8 << 20
DATABASES: Final = (
    "dc_sites", "dc_urls", "dc_urls_deleted", "dc_stat_logs", "dc_stat_freqs", "dc_attributes",
)  # fmt: skip


class CustomLimits(Struct, frozen=True):
    """How much one query may take."""

    seconds: float
    rows: int


def custom_query(
    database: Database, request: CustomRequest, limits: CustomLimits
) -> CustomResponse:
    """Run the queries of a request one after the other; the first that fails ends it."""
    queries = [request.query] if isinstance(request.query, str) else request.query
    results: list[object] = []
    problem = None
    try:
        results.extend(_run(database, request, query, limits) for query in queries)
    except InputError as error:
        problem = str(error)
    is_one = isinstance(request.query, str)
    return CustomResponse(
        rid=request.rid,
        query=request.query,
        db_name=request.db_name,
        result=(results[0] if results else None) if is_one else results,
        err_string=problem,
    )


def _run(
    database: Database, request: CustomRequest, query: str, limits: CustomLimits
) -> list[object]:
    (found,) = run_read_only(
        Path(database.path),
        [query],
        views=_views_for(database, request.db_name.lower(), query),
        row_limit=limits.rows,
        byte_limit=_MOST_BYTES,
        seconds=limits.seconds,
    )
    if found.is_cut:
        full = len(found.rows) >= limits.rows
        most = f"{limits.rows} rows" if full else f"{_MOST_BYTES} bytes"
        raise InputError(f"cannot run SQL: more than {most} are not allowed; add a LIMIT")
    if request.include_fields_names is FieldNames.NAMES:
        return [dict(zip(found.columns, map(_plain, row), strict=True)) for row in found.rows]
    return [[_plain(value) for value in row] for row in found.rows]


def _views_for(database: Database, chosen: str, query: str) -> dict[str, str]:
    """Return the tables that a query may name; those of sites only if it names them."""
    if chosen and chosen not in DATABASES:
        raise InputError(f"cannot run SQL: no such database; there are {', '.join(DATABASES)}")
    views = dict(_SITE_VIEWS)
    with database.reading("look for the sites of a query") as connection:
        for kind, public_id in _SITE_TABLE.findall(query):
            site = find_site(connection, public_id)
            if site is not None:
                name = f"{kind.lower()}_{public_id}"
                views[name] = _view_of(connection, kind.lower(), site, chosen == "dc_urls_deleted")
    return views


def _view_of(connection: sqlite3.Connection, kind: str, site: KnownSite, deleted: bool) -> str:
    if kind == "urls":
        sets = [site.set_id]
        if deleted:
            rows = connection.execute(SERVICE["deleted_sets"], (site.site_id,))
            sets = [row[0] for row in rows]
        within = ",".join(str(int(set_id)) for set_id in sets) or "NULL"
        return f"{_URLS} WHERE m.set_id IN ({within}) AND u.url <> ''"
    columns, table = _TABLES[kind]
    return f"{_selected(columns)} FROM {table} WHERE site_id = {int(site.site_id)}"


def _written(source: Source) -> str:
    return f"datetime({source.sql}, 'unixepoch')" if source.kind is Kind.MOMENT else source.sql


def _selected(columns: Columns) -> str:
    named = ((document_name(name), source) for name, source in columns.sources.items())
    return "SELECT " + ", ".join(f'{_written(source)} AS "{name}"' for name, source in named)


def _dated(column: str, is_moment: bool) -> str:
    return f"datetime({column}, 'unixepoch')" if is_moment else column


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


_URLS: Final = "SELECT u.url AS URL, lower(hex(u.md5)) AS URLMd5, {} {}".format(
    ", ".join(
        f'{_dated(f"m.{column.column}", column.is_moment)} AS "{column.name}"'
        for column in MEMBER_COLUMNS
    ),
    "FROM member m JOIN url u ON u.doc_id = m.doc_id",
)
_TABLES: Final = {
    "att": (ATTRIBUTES, "attribute a"),
    "log": (LOG, "url_log l"),
    "freq": (FREQUENCIES, "url_frequency f"),
}
# Where nothing but count(*) is asked for, a table of which a view uses only the row id looks to the
# authorizer as if the client had named it. So there is a condition on a column of each of these.
_SITE_VIEWS: Final = {
    "sites": "SELECT {} FROM service_site WHERE id <> ''".format(  # noqa: S608 - our columns
        ", ".join(
            f'{_dated(column.column, column.is_moment)} AS "{column.name}"'
            for column in SITE_COLUMNS
        )
    ),
    "sites_urls": (
        "SELECT s.id AS Site_Id, r.url AS URL, r.user_id AS User_Id, "
        "datetime(r.cdate, 'unixepoch') AS CDate "
        "FROM service_root r JOIN service_site s ON s.site_id = r.site_id "
        "WHERE s.id <> ''"
    ),
    "sites_filters": (
        "SELECT s.id AS Site_Id, f.pattern AS Pattern, f.subject AS Subject, "
        "f.operation_code AS OperationCode, f.stage AS Stage, f.action AS Action, f.type AS Type, "
        "f.mode AS Mode, f.state AS State, f.group_id AS Group_Id, "
        "datetime(f.udate, 'unixepoch') AS UDate, datetime(f.cdate, 'unixepoch') AS CDate "
        "FROM service_filter f JOIN service_site s ON s.site_id = f.site_id "
        "WHERE s.id <> ''"
    ),
    "sites_properties": (
        "SELECT s.id AS Site_Id, p.url_md5 AS URLMd5, p.name AS Name, p.value AS Value, "
        "datetime(p.udate, 'unixepoch') AS UDate, datetime(p.cdate, 'unixepoch') AS CDate "
        "FROM service_property p JOIN service_site s ON s.site_id = p.site_id "
        "WHERE s.id <> ''"
    ),
    "sites_proxy": (
        "SELECT p.proxy_id AS Id, s.id AS Site_Id, p.host AS Host, p.priority AS Priority, "
        "p.state AS State, p.faults AS Faults, p.faults_max AS FaultsMax, p.fields AS Fields, "
        "datetime(p.cdate, 'unixepoch') AS CDate, datetime(p.udate, 'unixepoch') AS UDate "
        "FROM proxy p JOIN service_site s ON s.site_id = p.site_id "
        "WHERE s.id <> ''"
    ),
}
