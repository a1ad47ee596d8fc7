"""Stories: what of a feed is new to its source, by URL, guid and title (S4.30, S4.31)."""

import datetime as dt
import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

from gossamer.catalog.download_book import (
    NEWS,
    Download,
    DownloadBook,
    DownloadState,
    Target,
    Type,
)
from gossamer.catalog.feed_plans import FeedFacts
from gossamer.messages import Kind
from gossamer.outcomes import Outcome, State, name_of
from gossamer.reports import (
    FEED_DATE_CONFIDENCE,
    UPDATE_DATE_CONFIDENCE,
    FeedReport,
    Hints,
    Sighting,
)

_KEYS_AT_ONCE: Final = 256
_KNOWN_KEYS: Final = NEWS["known_keys"].replace("(?)", f"({','.join('?' * _KEYS_AT_ONCE)})")


class NewStories:
    """Enters stories, inside the transaction of its caller."""

    def __init__(self, connection: sqlite3.Connection, book: DownloadBook, now: float) -> None:
        self._connection = connection
        self._book = book
        self._now = now

    def enter(self, download: Download, feed: FeedFacts, report: FeedReport) -> int:
        """Enter what is new by URL, guid and title (S4.30, S4.31); return how many stories."""
        known = self._known_keys(feed.source_id, report.sightings)
        new = 0
        for sighting in report.sightings:
            story_id = next((known[key] for key in sighting.keys if key in known), None)
            if story_id is None:
                story_id = self._same_title(feed.source_id, sighting)
            if story_id is None:
                story_id = self._new_story(download, feed, sighting)
                new += 1
            fresh = [key for key in sighting.keys if key not in known]
            known.update(dict.fromkeys(fresh, story_id))
            self._connection.executemany(
                NEWS["insert_key"], [(feed.source_id, key, story_id) for key in fresh]
            )
            self._connection.execute(NEWS["insert_seen"], (story_id, download.feed_id, self._now))
        return new

    def _known_keys(self, source_id: int, sightings: Sequence[Sighting]) -> dict[bytes, int]:
        keys = list(dict.fromkeys(key for sighting in sightings for key in sighting.keys))
        known: dict[bytes, int] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            # As many placeholders each time, so that one prepared statement serves all.
            some += some[-1:] * (_KEYS_AT_ONCE - len(some))
            known.update(self._connection.execute(_KNOWN_KEYS, (source_id, *some)))
        return known

    def _same_title(self, source_id: int, sighting: Sighting) -> int | None:
        if sighting.title_key is None:
            return None
        week = week_of(_date_of(sighting)[0], self._now)
        row = self._connection.execute(
            NEWS["story_of_title"], (source_id, week, sighting.title_key)
        ).fetchone()
        return None if row is None else int(row[0])

    def _new_story(self, download: Download, feed: FeedFacts, sighting: Sighting) -> int:
        """Enter a story, and a download of its page (S4.32)."""
        target = self._book.target(sighting.url, download.doc_id)
        assert target is not None
        published, confidence = _date_of(sighting)
        hints = Hints(
            title=sighting.title,
            published=sighting.published,
            authors=sighting.authors,
            tags=sighting.tags,
            description=sighting.description,
            language=sighting.language,
            image=sighting.image,
            content_html=sighting.content_html,
            updated=sighting.updated,
        )
        story_id = self._connection.execute(
            NEWS["insert_story"],
            (
                feed.source_id, target.doc_id, sighting.url, sighting.guid, sighting.title,
                sighting.title_key, week_of(published, self._now), self._now,
                self._now if published is None else published,
                "download" if published is None else "feed",
                confidence,
                _json(sighting.authors), sighting.language, sighting.description, sighting.image,
                _json(sighting.tags), msgspec.json.encode(hints).decode(),
            ),
        ).lastrowid or 0  # fmt: skip
        download_id = self._book.open(
            Type.CONTENT, target.doc_id, sighting.url, feed_id=download.feed_id, story_id=story_id
        )
        self._fetch_story(target, download_id, story_id, feed.content_delay_seconds)
        return story_id

    def _fetch_story(
        self, target: Target, download_id: int, story_id: int, delay_seconds: float
    ) -> None:
        opened = Download(download_id, int(Type.CONTENT), target.doc_id, None, story_id, 0, 0)
        if target.state == State.EXCLUDED and target.outcome == Outcome.POLICY_PORT:
            error = f"{name_of(Outcome.POLICY_PORT)}: its port is not among those allowed"
            self._book.end(opened, DownloadState.ERROR, None, error=error)
        elif target.state == State.DONE and target.last_page is not None:
            # Another source has it, too, or a crawl was there before.
            self._book.succeed(opened, target.last_page)
        else:
            self._book.want(target, Kind.PAGE, delay_seconds)


def _date_of(sighting: Sighting) -> tuple[float | None, float]:
    """Return when a feed says that a story was published, at least that it was there; how sure."""
    if sighting.published is not None:
        return sighting.published, FEED_DATE_CONFIDENCE
    return sighting.updated, 0.0 if sighting.updated is None else UPDATE_DATE_CONFIDENCE


def week_of(published: float | None, now: float) -> int:
    """Return ISO year and week of a publication, or of now, in UTC (D5)."""
    moment = now if published is None else published
    try:
        date = dt.datetime.fromtimestamp(moment, dt.UTC)
    except (ValueError, OverflowError, OSError):
        date = dt.datetime.fromtimestamp(now, dt.UTC)
    year, week, _ = date.isocalendar()
    return year * 100 + week


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()
