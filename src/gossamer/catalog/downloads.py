"""Downloads, for people: of feeds and of stories, from the latest to the earliest."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.download_book import DownloadState, Type
from gossamer.catalog.leases import json_list
from gossamer.catalog.subscriptions import READING
from gossamer.messages import Pointer

_STEP: Final = 1_000
_HIGHEST: Final = (1 << 63) - 1

Row = tuple[Any, ...]


class DownloadRow(Struct, frozen=True, gc=False, kw_only=True):
    """A download with what is known of its URL."""

    download_id: int
    url: str
    type: Type
    state: DownloadState
    error: str
    retries: int
    not_before: float | None
    """It is not tried before this moment; None: it is over, or may be tried at once."""
    priority: int
    host: str
    made_at: float
    ended_at: float | None
    status: int | None
    outcome: int | None
    feed: str | None
    story_id: int | None
    content: str | None
    """What is kept in the place of a body that is not."""
    pointer: Pointer | None
    """Where the body is kept."""


def downloads(
    database: Database,
    *,
    state: DownloadState | None = None,
    type_: Type | None = None,
    source_id: int | None = None,
) -> Iterator[DownloadRow]:
    """Go through the downloads, the latest first."""
    before = _HIGHEST
    while True:
        with database.reading("read downloads") as connection:
            found = connection.execute(READING["download_ids_before"], (before, _STEP)).fetchall()
            ids = [download_id for (download_id,) in found]
            step = _rows(connection, ids, state, type_, source_id)
        if not ids:
            return
        before = ids[-1]
        yield from step


def downloads_of_feed(database: Database, feed_id: int, limit: int) -> list[DownloadRow]:
    """Return the latest downloads of a feed."""
    return _latest(database, "download_ids_of_feed", feed_id, limit)


def downloads_of_story(database: Database, story_id: int, limit: int) -> list[DownloadRow]:
    """Return the latest downloads of a story."""
    return _latest(database, "download_ids_of_story", story_id, limit)


def _latest(database: Database, query: str, owner: int, limit: int) -> list[DownloadRow]:
    with database.reading("read downloads") as connection:
        found = connection.execute(READING[query], (owner, limit)).fetchall()
        return _rows(connection, (download_id for (download_id,) in found))


def _rows(
    connection: sqlite3.Connection,
    ids: Iterable[int],
    state: DownloadState | None = None,
    type_: Type | None = None,
    source_id: int | None = None,
) -> list[DownloadRow]:
    wanted = {
        "download_ids": json_list(ids),
        "state": state,
        "type": type_,
        "source_id": source_id,
    }
    return [_download(row) for row in connection.execute(READING["download_rows"], wanted)]


def _download(row: Row) -> DownloadRow:
    return DownloadRow(
        download_id=row[0],
        url=row[1],
        type=Type(row[2]),
        state=DownloadState(row[3]),
        error=row[4],
        retries=row[5],
        not_before=row[6],
        priority=row[7],
        host=row[8],
        made_at=row[9],
        ended_at=row[10],
        status=row[11],
        outcome=row[12],
        feed=row[13],
        story_id=row[14],
        content=row[15],
        # What stands in the place of the body says that the archive has none of this download.
        pointer=None if row[16] is None or row[15] is not None else Pointer(*row[16:19]),
    )
