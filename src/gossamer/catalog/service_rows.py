"""Rows of the service and its objects: which column is which field, both ways.

The document names columns of its own (`TcDate`, `URLMd5`); conditions of clients use those names,
rows of ours have others. Times are seconds since 1970 in rows and texts in objects.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, json
from msgspec.structs import asdict

from gossamer.catalog.queries import load_queries
from gossamer.objects.enumerations import (
    ContentMask,
    CrawlStatus,
    FetchType,
    FilterMode,
    FilterOperation,
    FilterStage,
    FilterState,
    FilterType,
    SiteState,
    URLState,
    URLType,
)
from gossamer.objects.extras import Attribute, Proxy
from gossamer.objects.methods import used_method
from gossamer.objects.moments import Moment, iso_moment
from gossamer.objects.site import Filter, Properties, Property, Site, SiteURL
from gossamer.objects.url import URL

Row = Sequence[Any]


class KnownSite(Struct, frozen=True):
    """A site as far as its URLs need it."""

    site_id: int
    set_id: int
    counts: bool = False
    """Whether it keeps counters of its URLs (STATS_FREQ_ENABLED)."""
    logs: bool = False
    """Whether it keeps the history of its URLs (STATS_LOG_ENABLED)."""
    url_type: int = 0
    request_delay: float = 0.0
    processing_delay: float = 0.0
    http_timeout: float = 0.0
    recrawl_period: float = 0.0
    """Minutes."""
    id: str = ""


class Column(Struct, frozen=True):
    """One column: the field of the object, the name in the document, the name in our table."""

    field: str
    name: str
    column: str
    read: Callable[[Any], Any]

    @property
    def is_moment(self) -> bool:
        """Whether it holds a time."""
        return self.read is _moment


def _moment(value: float | None) -> Moment | None:
    return None if value is None else iso_moment(value)


def _same(value: object) -> object:
    return value


SITE_COLUMNS: Final = (
    Column("id", "Id", "id", _same),
    Column("c_date", "CDate", "cdate", _moment),
    Column("u_date", "UDate", "udate", _moment),
    Column("tc_date", "TcDate", "tcdate", _moment),
    Column("tc_date_process", "TcDateProcess", "tcdate_process", _moment),
    Column("resources", "Resources", "resources", _same),
    Column("contents", "Contents", "contents", _same),
    Column("collected_urls", "CollectedURLs", "collected_urls", _same),
    Column("new_urls", "NewURLs", "new_urls", _same),
    Column("deleted_urls", "DeletedURLs", "deleted_urls", _same),
    Column("iterations", "Iterations", "iterations", _same),
    Column("state", "State", "state", SiteState),
    Column("priority", "Priority", "priority", _same),
    Column("max_urls", "MaxURLs", "max_urls", _same),
    Column("max_resources", "MaxResources", "max_resources", _same),
    Column("max_errors", "MaxErrors", "max_errors", _same),
    Column("max_resource_size", "MaxResourceSize", "max_resource_size", _same),
    Column("max_urls_from_page", "MaxURLsFromPage", "max_urls_from_page", _same),
    Column("request_delay", "RequestDelay", "request_delay", int),
    Column("processing_delay", "ProcessingDelay", "processing_delay", int),
    Column("http_timeout", "HTTPTimeout", "http_timeout", int),
    Column("error_mask", "ErrorMask", "error_mask", _same),
    Column("errors", "Errors", "errors", _same),
    Column("size", "Size", "size", _same),
    Column("avg_speed", "AVGSpeed", "avg_speed", round),
    Column("avg_speed_counter", "AVGSpeedCounter", "avg_speed_counter", _same),
    Column("url_type", "URLType", "url_type", URLType),
    Column("description", "Description", "description", _same),
    Column("user_id", "User_Id", "user_id", _same),
    Column("category_id", "Category_Id", "category_id", _same),
    Column("recrawl_period", "RecrawlPeriod", "recrawl_period", int),
    Column("recrawl_date", "RecrawlDate", "recrawl_date", _moment),
    Column("fetch_type", "FetchType", "fetch_type", FetchType),
    Column("move_urls", "MoveURLs", "move_urls", bool),
)

MEMBER_COLUMNS: Final = (
    Column("type", "Type", "type", URLType),
    Column("state", "State", "state", URLState),
    Column("status", "Status", "status", CrawlStatus),
    Column("crawled", "Crawled", "crawled", _same),
    Column("processed", "Processed", "processed", _same),
    Column("priority", "Priority", "priority", _same),
    Column("depth", "Depth", "depth", _same),
    Column("batch_id", "Batch_Id", "batch_id", _same),
    Column("error_mask", "ErrorMask", "error_mask", _same),
    Column("http_code", "HTTPCode", "http_code", _same),
    Column("size", "Size", "size", _same),
    Column("tags_mask", "TagsMask", "tags_mask", _same),
    Column("tags_count", "TagsCount", "tags_count", _same),
    Column("links_i", "LinksI", "links_i", _same),
    Column("links_e", "LinksE", "links_e", _same),
    Column("freq", "Freq", "freq", _same),
    Column("max_urls_from_page", "MaxURLsFromPage", "max_urls_from_page", _same),
    Column("classifier_mask", "ClassifierMask", "classifier_mask", _same),
    Column("content_mask", "ContentMask", "content_mask", ContentMask),
    Column("request_delay", "RequestDelay", "request_delay", int),
    Column("processing_delay", "ProcessingDelay", "processing_delay", int),
    Column("http_timeout", "HTTPTimeout", "http_timeout", int),
    Column("crawling_time", "CrawlingTime", "crawling_time", int),
    Column("processing_time", "ProcessingTime", "processing_time", int),
    Column("total_time", "TotalTime", "total_time", int),
    Column("m_rate", "MRate", "mrate", _same),
    Column("m_rate_counter", "MRateCounter", "mrate_counter", _same),
    Column("c_date", "CDate", "cdate", _moment),
    Column("u_date", "UDate", "udate", _moment),
    Column("tc_date", "TcDate", "tcdate", _moment),
    Column("p_date", "PDate", "pdate", _moment),
    Column("last_modified", "LastModified", "last_modified", _moment),
    Column("e_tag", "ETag", "etag", _same),
    Column("content_type", "ContentType", "content_type", _same),
    Column("charset", "Charset", "charset", _same),
    Column("http_method", "HTTPMethod", "http_method", used_method),
    Column("raw_content_md5", "RawContentMd5", "raw_content_md5", _same),
    Column("parent_md5", "ParentMd5", "parent_md5", _same),
    Column("content_url_md5", "ContentURLMd5", "content_url_md5", _same),
)

_COPIED: Final = ", ".join(["doc_id", *(column.column for column in MEMBER_COLUMNS)])
SERVICE: Final[Mapping[str, str]] = {
    name: text.replace("{columns}", _COPIED).replace(
        "{values}", ", ".join("?" * len(MEMBER_COLUMNS))
    )
    for name, text in load_queries("service.sql").items()
}

SELECT_SITE: Final = "SELECT s.site_id, {} FROM service_site s".format(  # noqa: S608 - our columns
    ", ".join(f"s.{column.column}" for column in SITE_COLUMNS)
)
SELECT_URL: Final = "SELECT m.doc_id, u.url, lower(hex(u.md5)), {}".format(
    ", ".join(f"m.{column.column}" for column in MEMBER_COLUMNS)
)

_ENCODER: Final = json.Encoder(enc_hook=str)
_PROXY_COLUMNS: Final = ("priority", "state", "faults", "faults_max")
_PROXY_KEYS: Final = frozenset({"id", "site_id", "host", "c_date", "u_date", *_PROXY_COLUMNS})


def site_from(connection: sqlite3.Connection, row: Row, exclude: Iterable[str] = ()) -> Site:
    """Return the site of a row of SELECT_SITE, with its lists but for the excluded ones."""
    fields = {column.field: column.read(value) for column, value in _paired(SITE_COLUMNS, row[1:])}
    leave_out = set(exclude)
    lists = (("urls", _roots), ("filters", _filters), ("properties", _properties))
    for name, read in lists:
        fields[name] = Properties() if name == "properties" else []
        if name not in leave_out:
            fields[name] = read(connection, row[0], row[1])
    return Site(**fields)


def _paired(columns: Sequence[Column], row: Row) -> Iterable[tuple[Column, Any]]:
    return zip(columns, row, strict=True)


def url_from(row: Row, site_id: str) -> URL:
    """Return the URL of a row of SELECT_URL."""
    fields = {
        column.field: column.read(value) for column, value in _paired(MEMBER_COLUMNS, row[3:])
    }
    return URL(site_id=site_id, url=row[1], url_md5=row[2], **fields)


def root_fields(root: SiteURL) -> str:
    """Return what is kept of a root URL beside its text: the fields that are not as usual."""
    usual = asdict(SiteURL(url=""))
    given = {name: value for name, value in asdict(root).items() if value != usual[name]}
    for name in ("url", "url_md5", "site_id", "user_id", "url_update", "url_put", "attributes"):
        given.pop(name, None)
    return _ENCODER.encode(given).decode()


def root_from(url: str, user_id: int, fields: str) -> SiteURL:
    """Return a root URL as it was given."""
    given = json.decode(fields)
    enumerations = {"type": URLType, "state": URLState, "status": CrawlStatus}
    for name, value in given.items():
        if name.endswith("_date") or name == "last_modified":
            given[name] = Moment(value)
        elif name in enumerations:
            given[name] = enumerations[name](value)
    return SiteURL(url=url, user_id=user_id, **given)


def _roots(connection: sqlite3.Connection, site_id: int, _: str) -> list[str | SiteURL]:
    """Return root URLs; one of which nothing else is known is just its text."""
    return [
        url if fields == "{}" and not user_id else root_from(url, user_id, fields)
        for url, user_id, fields in connection.execute(SERVICE["roots_of"], (site_id,))
    ]


def _filters(connection: sqlite3.Connection, site_id: int, public_id: str) -> list[Filter]:
    return [
        Filter(
            pattern=row[0],
            subject=row[1],
            op_code=FilterOperation(row[2]),
            stage=FilterStage(row[3]),
            action=row[4],
            type=FilterType(row[5]),
            mode=FilterMode(row[6]),
            state=FilterState(row[7]),
            group_id=row[8],
            u_date=_moment(row[9]),
            c_date=_moment(row[10]),
            site_id=public_id,
        )
        for row in connection.execute(SERVICE["filters_of"], (site_id,))
    ]


def _properties(connection: sqlite3.Connection, site_id: int, public_id: str) -> Properties:
    return Properties(
        Property(
            name=row[0],
            url_md5=row[1],
            value=row[2],
            u_date=_moment(row[3]),
            c_date=_moment(row[4]),
            site_id=public_id,
        )
        for row in connection.execute(SERVICE["properties_of"], (site_id,))
    )


def attribute_from(row: Row, site_id: str) -> Attribute:
    """Return the attribute of a row: name, md5 of its URL, value, time."""
    return Attribute(
        name=row[0], url_md5=row[1], value=row[2], c_date=_moment(row[3]), site_id=site_id
    )


def proxy_fields(values: Mapping[str, object]) -> str:
    """Return those fields of a proxy that have no column of their own."""
    return _ENCODER.encode(
        {name: value for name, value in values.items() if name not in _PROXY_KEYS}
    ).decode()


def proxy_from(row: Row) -> Proxy:
    """Return the proxy of a row of SELECT_PROXY."""
    fields = json.decode(row[3])
    return Proxy(
        id=row[0],
        site_id=row[1],
        host=row[2],
        priority=row[4],
        state=row[5],
        faults=row[6],
        faults_max=row[7],
        c_date=_moment(row[8]),
        u_date=_moment(row[9]),
        **fields,
    )


SELECT_PROXY: Final = (
    "SELECT p.proxy_id, s.id, p.host, p.fields, p.priority, p.state, p.faults, p.faults_max, "
    "p.cdate, p.udate FROM proxy p JOIN service_site s ON s.site_id = p.site_id"
)
