"""What clients select: sites and URLs by criterions, in the words of the document.

Names of columns are the document's; what they stand for is in `service_rows.py`. How a condition
becomes SQL is in `criterions.py`: nothing that a client wrote ever gets into a statement.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.criterions import (
    Columns,
    Compiled,
    Compiler,
    Source,
    Table,
    check_tables,
    compile_select,
)
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_rows import MEMBER_COLUMNS, SITE_COLUMNS, Column, KnownSite
from gossamer.objects.criterions import (
    parse_condition,
    parse_criterions,
    parse_moment,
    parse_order,
    parse_select,
)
from gossamer.objects.expressions import Kind, Selection, Window
from gossamer.objects.moments import NOW, Moment, epoch_of
from gossamer.objects.resolution import Value, moment_at
from gossamer.objects.selection import Criterions

_TEXTS: Final = frozenset(
    {
        "id", "description", "etag", "content_type", "charset", "http_method", "raw_content_md5",
        "parent_md5", "content_url_md5",
    }
)  # fmt: skip
SITE_ID: Final = "SITE_ID"
# The years 1 and 9999: no calendar can write what is beyond.
_EARLIEST: Final = -62_135_596_800.0
_LATEST: Final = 253_402_300_799.0


def _source(column: Column, alias: str) -> Source:
    kind = Kind.TEXT if column.column in _TEXTS else Kind.NUMBER
    return Source(f"{alias}.{column.column}", Kind.MOMENT if column.is_moment else kind)


def _sources(columns: Iterable[Column], alias: str) -> dict[str, Source]:
    return {column.name.lower(): _source(column, alias) for column in columns}


_JOINED: Final[Mapping[str, tuple[str, Mapping[str, Source]]]] = {
    "sites_urls": (
        "JOIN service_root r ON r.site_id = s.site_id",
        {
            "url": Source("r.url", Kind.TEXT),
            "user_id": Source("r.user_id", Kind.NUMBER),
            "cdate": Source("r.cdate", Kind.MOMENT),
        },
    ),
    "sites_filters": (
        "JOIN service_filter f ON f.site_id = s.site_id",
        {
            "pattern": Source("f.pattern", Kind.TEXT),
            "subject": Source("f.subject", Kind.TEXT),
            "operationcode": Source("f.operation_code", Kind.NUMBER),
            "stage": Source("f.stage", Kind.NUMBER),
            "action": Source("f.action", Kind.NUMBER),
            "type": Source("f.type", Kind.NUMBER),
            "mode": Source("f.mode", Kind.NUMBER),
            "state": Source("f.state", Kind.NUMBER),
            "group_id": Source("f.group_id", Kind.NUMBER),
            "udate": Source("f.udate", Kind.MOMENT),
            "cdate": Source("f.cdate", Kind.MOMENT),
        },
    ),
    "sites_properties": (
        "JOIN service_property p ON p.site_id = s.site_id",
        {
            "name": Source("p.name", Kind.TEXT),
            "value": Source("p.value", Kind.TEXT),
            "urlmd5": Source("p.url_md5", Kind.TEXT),
            "udate": Source("p.udate", Kind.MOMENT),
            "cdate": Source("p.cdate", Kind.MOMENT),
        },
    ),
}
_SITE_SOURCES: Final = _sources(SITE_COLUMNS, "s")
SITES: Final = Columns(_SITE_SOURCES, frozenset({"sites"}))
MEMBERS: Final = Columns(_sources(MEMBER_COLUMNS, "m"))
"""The columns of a URL that are its own to a site: those that an update may be made of."""
_URL_SOURCES: Final = {
    **MEMBERS.sources,
    "url": Source("u.url", Kind.TEXT),
    "urlmd5": Source("lower(hex(u.md5))", Kind.TEXT),
}
ATTRIBUTES: Final = Columns(
    {
        "name": Source("a.name", Kind.TEXT),
        "urlmd5": Source("a.url_md5", Kind.TEXT),
        "value": Source("a.value", Kind.TEXT),
        "cdate": Source("a.cdate", Kind.MOMENT),
    }
)
PROXIES: Final = Columns(
    {
        "id": Source("p.proxy_id", Kind.NUMBER),
        "site_id": Source("s.id", Kind.TEXT),
        "host": Source("p.host", Kind.TEXT),
        "priority": Source("p.priority", Kind.NUMBER),
        "state": Source("p.state", Kind.NUMBER),
        "faults": Source("p.faults", Kind.NUMBER),
        "faultsmax": Source("p.faults_max", Kind.NUMBER),
        "cdate": Source("p.cdate", Kind.MOMENT),
        "udate": Source("p.udate", Kind.MOMENT),
        "countrycode": Source("p.fields ->> '$.country_code'", Kind.TEXT),
        "category_id": Source("p.fields ->> '$.category_id'", Kind.NUMBER),
    },
    frozenset({"sites_proxy"}),
)
LOG: Final = Columns(
    {
        "urlmd5": Source("l.url_md5", Kind.TEXT),
        "opcode": Source("l.operation", Kind.NUMBER),
        "object": Source("l.object", Kind.TEXT),
        "cdate": Source("l.cdate", Kind.MOMENT),
        "odate": Source("l.cdate", Kind.MOMENT),
    }
)
FREQUENCIES: Final = Columns(
    {
        "urlmd5": Source("f.url_md5", Kind.TEXT),
        "fins": Source("f.inserted", Kind.NUMBER),
        "fdel": Source("f.deleted", Kind.NUMBER),
        "fupd": Source("f.updated", Kind.NUMBER),
        "fnew": Source("f.made_new", Kind.NUMBER),
        "fcrawled": Source("f.crawled", Kind.NUMBER),
        "fprocessed": Source("f.processed", Kind.NUMBER),
        "faged": Source("f.aged", Kind.NUMBER),
        "fdeleted": Source("f.delayed", Kind.NUMBER),
        "fpurged": Source("f.purged", Kind.NUMBER),
        "cdate": Source("f.cdate", Kind.MOMENT),
        "mdate": Source("f.mdate", Kind.MOMENT),
    }
)


_SPELLED: Final = {
    name.lower(): name
    for name in (
        "Name", "URLMd5", "Value", "CDate", "MDate", "OpCode", "Object", "ODate", "FIns", "FDel",
        "FUpd", "FNew", "FCrawled", "FProcessed", "FAged", "FDeleted", "FPurged",
    )
}  # fmt: skip


def document_name(name: str) -> str:
    """Return a column as the document spells it; conditions do not care."""
    return _SPELLED.get(name, name)


def epoch_at(moment: Moment | None, now: float) -> float | None:
    """Return the date of an object as seconds since 1970."""
    if moment is None:
        return None
    if moment == NOW:
        return now
    literal = epoch_of(moment)
    epoch = moment_at(parse_moment(moment), now) if literal is None else literal
    return None if epoch is None else min(max(epoch, _EARLIEST), _LATEST)


def moment_sql(moment: Moment, columns: Columns, now: float) -> Compiled:
    """Return the date of an update, which may be made of columns of what is updated."""
    made = Compiler(columns, now).moment(parse_moment(moment))
    return Compiled(f"min(max({made.sql}, ?), ?)", (*made.parameters, _EARLIEST, _LATEST))


# ------------------------------------------------------------------------------- sites


def select_sites(
    connection: sqlite3.Connection,
    criterions: Criterions,
    now: float,
    *,
    among: Sequence[int] | None = None,
    order_by: str = "",
    limit: int | None = None,
) -> list[str]:
    """Return the ids of the sites that criterions select, in their order.

    `order_by` and `limit` stand in for those that are not given.
    """
    selection = _with_defaults(parse_criterions(criterions), order_by, limit)
    check_tables(selection.tables, _JOINED)
    sources = dict(_SITE_SOURCES)
    joins = ""
    for name in dict.fromkeys(selection.tables):
        join, columns = _JOINED[name]
        joins += f" {join}"
        sources.update({f"{name}.{column}": source for column, source in columns.items()})
        # The rows are joined already, so that a condition which joins them holds.
        sources[f"{name}.site_id"] = sources["id"]
    added = None
    if among is not None:
        added = Compiled("s.site_id IN (SELECT value FROM json_each(?))", (json_list(among),))
    compiler = Compiler(Columns(sources, SITES.tables), now)
    rest = compiler.selection(selection, added)
    query = f"SELECT DISTINCT s.id FROM service_site s{joins}{rest.sql}"  # noqa: S608 - compiled
    return [row[0] for row in connection.execute(query, rest.parameters)]


# -------------------------------------------------------------------------------- URLs


class UrlCriterions:
    """Criterions of URLs, parsed once for any number of sites."""

    def __init__(
        self,
        criterions: Criterions,
        *,
        where: str = "",
        order_by: str = "",
        limit: int | None = None,
    ) -> None:
        """Take `order_by` and `limit` where there are none; `where` wins over what there is."""
        selection = _with_defaults(parse_criterions(replace(criterions, sql=None)), order_by, limit)
        if where:
            selection = replace(selection, where=parse_condition(where))
        self._selection = selection
        self._queries = {
            name: parse_select(query, f"SQL {name}")
            for name, query in (criterions.sql or {}).items()
        }

    @property
    def count(self) -> int | None:
        """How many URLs of one site are asked for at most; None: all."""
        return None if self._selection.window is None else self._selection.window.count

    def rows(
        self,
        connection: sqlite3.Connection,
        site: KnownSite,
        select: str,
        now: float,
        *,
        sets: Sequence[int] | None = None,
        window: Window | None = None,
    ) -> list[tuple[object, ...]]:
        """Return rows of `select` over the URLs of a site that are meant.

        `window` is counted from where the criterions begin, and never leads out of theirs.
        """
        macros = self._macros(connection, site, now)
        within = [site.set_id] if sets is None else sets
        added = Compiled(f"m.set_id IN ({','.join(map(str, map(int, within)))})")
        selection = self._selection
        if window is not None:
            selection = replace(selection, window=_inside(selection.window, window))
        rest = Compiler(url_columns(site), now, macros).selection(selection, added)
        query = f"{select} FROM member m JOIN url u ON u.doc_id = m.doc_id{rest.sql}"
        return connection.execute(query, rest.parameters).fetchall()

    def _macros(
        self, connection: sqlite3.Connection, site: KnownSite, now: float
    ) -> dict[str, Value]:
        """Return the values of macros: the site, and the first value of each query."""
        macros: dict[str, Value] = {SITE_ID: site.id}
        if not self._queries:
            return macros
        tables = _tables(site)
        for name, query in self._queries.items():
            compiled = compile_select(query, tables, now, macros)
            row = connection.execute(compiled.sql, compiled.parameters).fetchone()
            # By the name as it is written; capitals mean it, too.
            macros[name] = macros[name.upper()] = None if row is None else row[0]
        return macros


def select_members(
    connection: sqlite3.Connection,
    site: KnownSite,
    criterions: Criterions,
    now: float,
    *,
    sets: Sequence[int] | None = None,
    where: str = "",
    limit: int | None = None,
    at_most: int | None = None,
) -> list[tuple[int, int]]:
    """Return set and document of the URLs that criterions select."""
    meant = UrlCriterions(criterions, where=where, limit=limit)
    window = None if at_most is None else Window(at_most)
    rows = meant.rows(connection, site, "SELECT m.set_id, m.doc_id", now, sets=sets, window=window)
    return [(int(str(row[0])), int(str(row[1]))) for row in rows]


def select_urls(
    connection: sqlite3.Connection,
    site: KnownSite,
    criterions: Criterions,
    now: float,
    *,
    where: str = "",
    limit: int | None = None,
    at_most: int | None = None,
) -> list[int]:
    """Return the documents of a site that criterions select."""
    rows = select_members(
        connection, site, criterions, now, where=where, limit=limit, at_most=at_most
    )
    return [doc_id for _, doc_id in rows]


def url_columns(site: KnownSite) -> Columns:
    """Return the columns of a URL that a condition may name, for one site."""
    own = f"SELECT id FROM service_site WHERE site_id = {int(site.site_id)}"  # noqa: S608 - a number
    sources = {**_URL_SOURCES, "site_id": Source(own, Kind.TEXT)}
    return Columns(sources, frozenset(_names_of(site)))


def _tables(site: KnownSite) -> dict[str, Table]:
    """Return the tables that a query of a client may name, for one site."""
    urls = Table(
        f"member m JOIN url u ON u.doc_id = m.doc_id AND m.set_id = {int(site.set_id)}",
        url_columns(site),
    )
    return {"sites": Table("service_site s", SITES), **dict.fromkeys(_names_of(site), urls)}


def _names_of(site: KnownSite) -> tuple[str, ...]:
    """Return the names of the table of a site's URLs, in lower case as all names of tables are."""
    return "urls", f"urls_{site.id}".lower(), f"urls_%{SITE_ID}%".lower()


def _with_defaults(selection: Selection, order_by: str, limit: int | None) -> Selection:
    if order_by and not selection.order_by:
        selection = replace(selection, order_by=parse_order(order_by))
    if limit is not None and selection.window is None:
        selection = replace(selection, window=Window(limit))
    return selection


def _inside(outer: Window | None, inner: Window) -> Window:
    if outer is None:
        return inner
    left = max(0, outer.count - inner.offset)
    return Window(min(inner.count, left), outer.offset + inner.offset)
