"""SQL_CUSTOM: queries of the client's own, which can only read, and only the document's tables.

Theory of operation. The file is opened for reading, so nothing can be written whatever the query
is. Tables of the document are views that exist in this connection only. While a query of a client
runs, SQLite asks us about each thing that it is going to do: anything but reading those views is
refused. Time and rows are limited.
"""

import re
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from typing import Final

from msgspec import Struct

from gossamer.catalog.connection import open_for_reading
from gossamer.catalog.criterions import Columns, Source
from gossamer.catalog.service_members import find_site
from gossamer.catalog.service_rows import MEMBER_COLUMNS, SERVICE, SITE_COLUMNS, KnownSite
from gossamer.catalog.service_selection import ATTRIBUTES, FREQUENCIES, LOG, document_name
from gossamer.objects.enumerations import FieldNames
from gossamer.objects.expressions import Kind
from gossamer.objects.extras import CustomRequest, CustomResponse

_ALLOWED: Final = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
_SITE_TABLE: Final = re.compile(r"\b(urls|att|log|freq)_([0-9A-Za-z_-]{1,32})\b", re.IGNORECASE)
_CACHE_BYTES: Final = 8 << 20
_LONGEST_VALUE: Final = 16 << 20
_STEPS: Final = 5_000
DATABASES: Final = (
    "dc_sites", "dc_urls", "dc_urls_deleted", "dc_stat_logs", "dc_stat_freqs", "dc_attributes",
)  # fmt: skip


class CustomLimits(Struct, frozen=True):
    """How much one query may take."""

    seconds: float
    rows: int


def custom_query(path: str, request: CustomRequest, limits: CustomLimits) -> CustomResponse:
    """Run the queries of a request one after the other; the first that fails ends it."""
    queries = [request.query] if isinstance(request.query, str) else request.query
    results: list[object] = []
    problem = None
    with closing(open_for_reading(path, _CACHE_BYTES)) as database:
        try:
            results.extend(_run(database.connection, request, query, limits) for query in queries)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, _RefusedError) as error:
            problem = str(error)
    is_one = isinstance(request.query, str)
    return CustomResponse(
        rid=request.rid,
        query=request.query,
        db_name=request.db_name,
        result=(results[0] if results else None) if is_one else results,
        err_string=problem,
    )


class _RefusedError(Exception):
    """A query takes more than it may, or is for a database that is not there."""


def _run(
    connection: sqlite3.Connection, request: CustomRequest, query: str, limits: CustomLimits
) -> list[object]:
    views = _make_views(connection, request.db_name.lower(), query)
    deadline = time.monotonic() + limits.seconds
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.set_authorizer(_Authorizer(views))
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
    try:
        cursor = connection.execute(query)
        rows = cursor.fetchmany(limits.rows + 1)
    except sqlite3.OperationalError as error:
        if time.monotonic() > deadline:
            raise _RefusedError(f"more than {limits.seconds:g} seconds are not allowed") from error
        raise
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
    if len(rows) > limits.rows:
        raise _RefusedError(f"more than {limits.rows} rows are not allowed; add a LIMIT")
    if request.include_fields_names is FieldNames.NAMES:
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
    return [[_plain(value) for value in row] for row in rows]


class _Authorizer:
    """Lets a query read views of ours, and nothing else."""

    def __init__(self, views: Iterable[str]) -> None:
        self._views = frozenset(view.lower() for view in views)

    def __call__(
        self, action: int, first: str | None, second: str | None, _: str | None, inside: str | None
    ) -> int:
        if action not in _ALLOWED:
            return sqlite3.SQLITE_DENY
        # No column: rows of a table are counted, or passed over on the way through a view.
        if action != sqlite3.SQLITE_READ or not second:
            return sqlite3.SQLITE_OK
        for name in (first, inside):
            if name is not None and name.lower() in self._views:
                return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


def _make_views(connection: sqlite3.Connection, database: str, query: str) -> list[str]:
    """Make the tables that a query may name; those of sites only if it names them."""
    if database and database not in DATABASES:
        raise _RefusedError(f"no such database; there are {', '.join(DATABASES)}")
    views = dict(_SITE_VIEWS)
    for kind, public_id in _SITE_TABLE.findall(query):
        site = find_site(connection, public_id)
        if site is not None:
            name = f"{kind.lower()}_{public_id}"
            views[name] = _view_of(connection, kind.lower(), site, database == "dc_urls_deleted")
    # The file itself cannot be written; views go to a place of this connection.
    connection.execute("PRAGMA query_only = OFF")
    for name, text in views.items():
        connection.execute(f'DROP VIEW IF EXISTS temp."{name}"')
        connection.execute(f'CREATE TEMP VIEW "{name}" AS {text}')
    connection.execute("PRAGMA query_only = ON")
    return list(views)


def _view_of(connection: sqlite3.Connection, kind: str, site: KnownSite, deleted: bool) -> str:
    if kind == "urls":
        sets = [site.set_id]
        if deleted:
            rows = connection.execute(SERVICE["deleted_sets"], (site.site_id,))
            sets = [row[0] for row in rows]
        within = ",".join(str(int(set_id)) for set_id in sets)
        return f"{_URLS} WHERE m.set_id IN ({within})"
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
_SITE_VIEWS: Final = {
    "sites": "SELECT {} FROM service_site".format(  # noqa: S608 - our columns
        ", ".join(
            f'{_dated(column.column, column.is_moment)} AS "{column.name}"'
            for column in SITE_COLUMNS
        )
    ),
    "sites_urls": (
        "SELECT s.id AS Site_Id, r.url AS URL, r.user_id AS User_Id, "
        "datetime(r.cdate, 'unixepoch') AS CDate "
        "FROM service_root r JOIN service_site s ON s.site_id = r.site_id"
    ),
    "sites_filters": (
        "SELECT s.id AS Site_Id, f.pattern AS Pattern, f.subject AS Subject, "
        "f.operation_code AS OperationCode, f.stage AS Stage, f.action AS Action, f.type AS Type, "
        "f.mode AS Mode, f.state AS State, f.group_id AS Group_Id, "
        "datetime(f.udate, 'unixepoch') AS UDate, datetime(f.cdate, 'unixepoch') AS CDate "
        "FROM service_filter f JOIN service_site s ON s.site_id = f.site_id"
    ),
    "sites_properties": (
        "SELECT s.id AS Site_Id, p.url_md5 AS URLMd5, p.name AS Name, p.value AS Value, "
        "datetime(p.udate, 'unixepoch') AS UDate, datetime(p.cdate, 'unixepoch') AS CDate "
        "FROM service_property p JOIN service_site s ON s.site_id = p.site_id"
    ),
    "sites_proxy": (
        "SELECT p.proxy_id AS Id, s.id AS Site_Id, p.host AS Host, p.priority AS Priority, "
        "p.state AS State, p.faults AS Faults, p.faults_max AS FaultsMax, p.fields AS Fields, "
        "datetime(p.cdate, 'unixepoch') AS CDate, datetime(p.udate, 'unixepoch') AS UDate "
        "FROM proxy p JOIN service_site s ON s.site_id = p.site_id"
    ),
}
