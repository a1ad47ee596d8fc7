"""Stories, for people: from the latest to the earliest, in steps, each a short read of its own."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.subscriptions import READING
from gossamer.messages import Pointer

# Few, because their texts are held together.
_STEP: Final = 100
_HIGHEST: Final = (1 << 63) - 1
_END_OF_TIME: Final = 1e15
_EXTRACTION: Final[Mapping[int | None, str]] = {
    None: "none",
    0: "queued",
    1: "done",
    2: "failed",
}
"""`none`: its page is not there yet, or is of a kind that has no text."""

Row = tuple[Any, ...]


class StoryRow(Struct, frozen=True, kw_only=True):
    """A story with all that is known of it."""

    story_id: int
    source: str
    url: str
    canonical_url: str
    guid: str
    title: str
    authors: tuple[str, ...]
    authors_confidence: float
    published: float | None
    published_how: str
    published_confidence: float
    language: str
    language_confidence: float
    description: str
    image: str
    tags: tuple[str, ...]
    collected_at: float
    group_id: int | None
    text: str | None
    """None: not asked for, or not extracted."""
    text_how: str
    text_confidence: float
    feeds: tuple[str, ...]
    """URLs of the feeds it was seen in."""
    content: Pointer | None
    """Where its page is kept."""
    extraction: str
    extraction_detail: str


class Page(Struct, frozen=True, gc=False):
    """The latest kept page of a story, and how its extraction stands."""

    pointer: Pointer | None = None
    extraction: int | None = None
    detail: str = ""


def stories(
    database: Database,
    *,
    since: float = 0.0,
    until: float = _END_OF_TIME,
    source_id: int | None = None,
    with_text: bool = False,
) -> Iterator[StoryRow]:
    """Go through the stories collected from `since` until before `until`, the latest first."""
    before: tuple[float, int] = (until, 0)
    while True:
        with database.reading("read stories") as connection:
            bounds = {
                "since": since,
                "collected_at": before[0],
                "story_id": before[1],
                "count": _STEP,
            }
            found = connection.execute(READING["story_ids_before"], bounds).fetchall()
            ids = [story_id for _, story_id in found]
            step = _stories(connection, ids, source_id, with_text=with_text)
        if not found:
            return
        before = found[-1]
        yield from step


def story(database: Database, story_id: int) -> StoryRow | None:
    """Return one story with its text."""
    if not 0 < story_id <= _HIGHEST:
        return None
    with database.reading("read a story") as connection:
        return next(iter(_stories(connection, [story_id], None, with_text=True)), None)


def story_ids_of(database: Database, doc_id: int) -> list[int]:
    """Return the stories under a URL: each source has its own; reads the whole table."""
    with database.doing("find stories") as connection:
        return [row[0] for row in connection.execute(READING["story_ids_of_url"], (doc_id,))]


def _stories(
    connection: sqlite3.Connection,
    story_ids: Sequence[int],
    source_id: int | None,
    *,
    with_text: bool,
) -> list[StoryRow]:
    wanted = {
        "story_ids": json_list(story_ids),
        "source_id": source_id,
        "with_text": with_text,
    }
    rows = {row[0]: row for row in connection.execute(READING["story_rows"], wanted)}
    ids = [story_id for story_id in story_ids if story_id in rows]
    feeds = _feeds(connection, ids)
    pages = _pages(connection, ids)
    return [_story(rows[each], feeds.get(each, ()), pages.get(each, Page())) for each in ids]


def _feeds(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    feeds: dict[int, tuple[str, ...]] = {}
    for story_id, url in connection.execute(READING["feeds_of_stories"], (json_list(ids),)):
        feeds[story_id] = (*feeds.get(story_id, ()), url)
    return feeds


def _pages(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, Page]:
    """Return the latest page of each story; one without a page does not hide an earlier one."""
    pages: dict[int, Page] = {}
    rows = connection.execute(READING["pages_of_stories"], (json_list(ids),))
    for story_id, file, offset, length, state, detail in rows:
        earlier = pages.get(story_id, Page())
        pages[story_id] = Page(
            pointer=earlier.pointer if file is None else Pointer(file, offset, length),
            extraction=earlier.extraction if state is None else state,
            detail=earlier.detail if state is None else detail,
        )
    return pages


def _story(row: Row, feeds: tuple[str, ...], page: Page) -> StoryRow:
    return StoryRow(
        story_id=row[0],
        source=row[1],
        url=row[2],
        canonical_url=row[3],
        guid=row[4],
        title=row[5],
        authors=_names(row[6]),
        authors_confidence=row[7],
        published=row[8],
        published_how=row[9],
        published_confidence=row[10],
        language=row[11],
        language_confidence=row[12],
        description=row[13],
        image=row[14],
        tags=_names(row[15]),
        collected_at=row[16],
        group_id=row[17],
        text=row[18],
        text_how=row[19] or "",
        text_confidence=row[20] or 0.0,
        feeds=feeds,
        content=page.pointer,
        extraction=_EXTRACTION[page.extraction],
        extraction_detail=page.detail,
    )


_names: Final[Callable[[str], tuple[str, ...]]] = msgspec.json.Decoder(tuple[str, ...]).decode
