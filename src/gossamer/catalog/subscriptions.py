"""Subscriptions, for people: sources, their feeds, and how each of them fares."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.queries import load_queries

READING: Final[Mapping[str, str]] = load_queries("news_reading.sql")
_STEP: Final = 200


class SourceRow(Struct, frozen=True, gc=False):
    """A source."""

    source_id: int
    name: str
    home: str
    enabled: bool
    tags: str
    content_delay_seconds: float
    added_at: float
    feeds: int


class FeedRow(Struct, frozen=True, gc=False):
    """A feed, with where its next poll stands and what became of the last one."""

    feed_id: int
    source_id: int
    source: str
    source_enabled: bool
    url: str
    title: str
    form: str
    enabled: bool
    why_disabled: str
    added_at: float
    due_at: float | None
    """When it is polled next, 0: at once; None while it is being polled, and when it never is."""
    last_attempt_at: float | None
    last_success_at: float | None
    last_new_story_at: float | None
    last_error: str
    failures: float
    interval_seconds: float | None
    ttl_seconds: float | None
    fetched_url: str
    """Where the feed has moved for good, or its own URL."""
    host: str
    host_parked_until: float
    host_parked_reason: str
    is_open: bool
    """A download of it waits or is being made."""
    is_fetching: bool
    not_before: float
    """When its URL may be fetched; 0: at once."""
    last_outcome: int | None
    last_content: str | None
    """What is kept in the place of the body of the last download; None if the archive has it."""
    hub: str | None
    hub_state: int | None
    """0 wanted, 1 asked, 2 subscribed, 3 refused."""
    last_push_at: float | None


class NewsTotals(Struct, frozen=True, gc=False):
    """How much there is of everything."""

    sources: int
    feeds: int
    feeds_disabled: int
    feeds_failing: int
    stories: int
    downloads_open: int
    extractions_queued: int
    next_poll_at: float | None


def sources(database: Database) -> Iterator[SourceRow]:
    """Go through all sources by name."""
    after = ""
    while True:
        with database.doing("read sources") as connection:
            bounds = {"after": after, "count": _STEP}
            rows = connection.execute(READING["source_rows"], bounds).fetchall()
        if not rows:
            return
        after = rows[-1][1]
        yield from (_source(row) for row in rows)


def source_named(database: Database, name: str) -> SourceRow | None:
    """Return the source with this name."""
    with database.doing("read a source") as connection:
        row = connection.execute(READING["source_named"], (name,)).fetchone()
    return None if row is None else _source(row)


def feeds_of(database: Database, source_id: int) -> Iterator[FeedRow]:
    """Go through the feeds of a source by URL."""
    after = ""
    while True:
        with database.reading("read feeds") as connection:
            bounds = {"source_id": source_id, "after": after, "count": _STEP}
            found = connection.execute(READING["feed_ids_of"], bounds).fetchall()
            step = feeds(database, [feed_id for feed_id, _ in found])
        if not found:
            return
        after = found[-1][1]
        yield from step


def feeds_at(database: Database, url: str) -> list[FeedRow]:
    """Return the feeds with this URL: sources may share one."""
    with database.reading("find a feed") as connection:
        found = connection.execute(READING["feed_ids_at"], (url,)).fetchall()
        return feeds(database, [feed_id for (feed_id,) in found])


def feeds(database: Database, feed_ids: Sequence[int]) -> list[FeedRow]:
    """Return feeds by their numbers, in the order of these."""
    with database.doing("read feeds") as connection:
        rows = connection.execute(READING["feed_rows"], (json_list(feed_ids),)).fetchall()
    known = {row[0]: _feed(row) for row in rows}
    return [known[feed_id] for feed_id in feed_ids if feed_id in known]


def news_totals(database: Database) -> NewsTotals:
    """Count everything."""
    with database.doing("count news") as connection:
        return NewsTotals(*connection.execute(READING["news_totals"]).fetchone())


def stories_of_sources(database: Database) -> dict[int, int]:
    """Return how many stories each source has; reads the whole table."""
    with database.doing("count stories") as connection:
        return dict(connection.execute(READING["stories_of_sources"]).fetchall())


def stories_per_stretch(database: Database, ends: Iterable[float]) -> dict[int, list[int]]:
    """Count the stories that each source had collected between each end and the next."""
    moments = list(ends)
    counted: dict[int, list[int]] = {}
    for number, stretch in enumerate(pairwise(moments)):
        with database.doing("count stories") as connection:
            rows = connection.execute(READING["stories_between"], stretch).fetchall()
        for source_id, stories in rows:
            counted.setdefault(source_id, [0] * (len(moments) - 1))[number] = stories
    return counted


def delay_content(database: Database, source_id: int, delay_seconds: float) -> None:
    """Fetch the stories of a source so long after they were found."""
    with database.writing("set the delay of a source") as connection:
        connection.execute(READING["delay_content"], (delay_seconds, source_id))


def _source(row: tuple[object, ...]) -> SourceRow:
    source_id, name, home, enabled, *rest = row
    return SourceRow(source_id, name, home, bool(enabled), *rest)  # type: ignore[arg-type] # as the schema has them


def _feed(row: tuple[object, ...]) -> FeedRow:
    values = dict(zip(FeedRow.__struct_fields__, row, strict=True))
    for name in ("source_enabled", "enabled", "is_open", "is_fetching"):
        values[name] = bool(values[name])
    return FeedRow(**values)  # type: ignore[arg-type] # as the schema has them
