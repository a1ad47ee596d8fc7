"""What happened to URLs, and how often: for sites that ask for it by their properties."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from gossamer.catalog.connection import Database
from gossamer.catalog.criterions import Columns, Compiled, Compiler
from gossamer.catalog.service_members import find_site, md5s_of
from gossamer.catalog.service_rows import KnownSite
from gossamer.catalog.service_selection import FREQUENCIES, LOG, SITE_ID, select_urls
from gossamer.objects.answers import URLHistoryResponse, URLStatsResponse
from gossamer.objects.criterions import parse_criterions
from gossamer.objects.moments import iso_moment
from gossamer.objects.selection import Criterions
from gossamer.objects.url import URLHistoryRequest, URLStatsRequest

_LOG_QUERY: Final = "SELECT l.url_md5, l.operation, l.object, l.cdate FROM url_log l"
_LOG_NAMES: Final = ("URLMd5", "OpCode", "Object", "CDate")
_STATS_QUERY: Final = (
    "SELECT f.url_md5, f.inserted, f.deleted, f.updated, f.made_new, f.crawled, f.processed, "
    "f.aged, f.delayed, f.purged, f.cdate, f.mdate FROM url_frequency f"
)
_STATS_NAMES: Final = (
    "URLMd5", "FIns", "FDel", "FUpd", "FNew", "FCrawled", "FProcessed", "FAged", "FDeleted",
    "FPurged", "CDate", "MDate",
)  # fmt: skip
_MOST_ROWS: Final = 10_000


def url_history(
    database: Database, requests: Iterable[URLHistoryRequest], now: float
) -> list[URLHistoryResponse]:
    """Return what happened to URLs, for sites with STATS_LOG_ENABLED."""
    answers = []
    with database.reading("read the history of URLs") as connection:
        for request in requests:
            site = find_site(connection, request.site_id)
            if site is not None:
                md5s = _wanted_md5s(connection, site, request, now)
                rows = _rows_of(
                    connection, site, (_LOG_QUERY, "l", LOG), request.log_criterions, md5s, now
                )
                answers.append(
                    URLHistoryResponse(
                        site_id=site.id,
                        log_rows=[
                            {
                                **dict(zip(_LOG_NAMES, row, strict=True)),
                                "CDate": iso_moment(row[3]),
                                "ODate": iso_moment(row[3]),
                            }
                            for row in rows
                        ],
                    )
                )
    return answers


def url_stats(
    database: Database, requests: Iterable[URLStatsRequest], now: float
) -> list[URLStatsResponse]:
    """Return how often what happened to URLs, for sites with STATS_FREQ_ENABLED."""
    answers = []
    with database.reading("read the counters of URLs") as connection:
        for request in requests:
            site = find_site(connection, request.site_id)
            if site is not None:
                md5s = _wanted_md5s(connection, site, request, now)
                rows = _rows_of(
                    connection,
                    site,
                    (_STATS_QUERY, "f", FREQUENCIES),
                    request.stats_criterions,
                    md5s,
                    now,
                )
                answers.append(
                    URLStatsResponse(
                        site_id=site.id,
                        freq_rows=[
                            {
                                **dict(zip(_STATS_NAMES, row, strict=True)),
                                "CDate": iso_moment(row[-2]),
                                "MDate": iso_moment(row[-1]),
                            }
                            for row in rows
                        ],
                    )
                )
    return answers


def _wanted_md5s(
    connection: sqlite3.Connection,
    site: KnownSite,
    request: URLHistoryRequest | URLStatsRequest,
    now: float,
) -> list[str] | None:
    """Return the URLs that a request is about; None: all."""
    if request.url_md5:
        return [request.url_md5]
    if request.url_criterions is None:
        return None
    doc_ids = select_urls(connection, site, request.url_criterions, now, limit=_MOST_ROWS)
    return list(md5s_of(connection, doc_ids).values())


def _rows_of(
    connection: sqlite3.Connection,
    site: KnownSite,
    table: tuple[str, str, Columns],
    criterions: Criterions | None,
    md5s: list[str] | None,
    now: float,
) -> list[tuple[float, ...]]:
    query, alias, columns = table
    condition = f"{alias}.site_id = ?"
    parameters: tuple[int | str, ...] = (site.site_id,)
    if md5s is not None:
        condition += f" AND {alias}.url_md5 IN (SELECT value FROM json_each(?))"  # noqa: S608
        parameters += ("[" + ",".join(f'"{md5}"' for md5 in md5s if md5.isalnum()) + "]",)
    selection = parse_criterions(criterions or Criterions(limit=_MOST_ROWS))
    rest = Compiler(columns, now, {SITE_ID: site.id}).selection(
        selection, Compiled(condition, parameters)
    )
    return connection.execute(query + rest.sql, rest.parameters).fetchall()
