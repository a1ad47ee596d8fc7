"""When a feed is polled next: what a poll brought is kept, and the next one planned (S4.17)."""

import sqlite3
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.download_book import NEWS, Download
from gossamer.catalog.polling import Failure, FeedState, Poll, plan
from gossamer.config.news import NewsSettings
from gossamer.reports import FeedReport
from gossamer.url.parts import md5_of

ON_TIME_SECONDS: Final = 60.0
"""Who is later than this is planned anew from now."""


class FeedFacts(Struct, frozen=True, gc=False):
    """What the end of a poll needs to know of a feed."""

    source_id: int
    enabled: bool
    last_attempt_at: float | None
    last_new_story_at: float | None
    last_checksum: bytes | None
    failures: float
    successes_in_a_row: int
    interval_seconds: float | None
    ttl_seconds: float | None
    content_delay_seconds: float
    title: str
    form: str
    last_success_at: float | None
    url: str


class FeedPlans:
    """Reads and writes what is known of feeds, inside the transaction of its caller."""

    def __init__(self, connection: sqlite3.Connection, settings: NewsSettings, now: float) -> None:
        self._connection = connection
        self._settings = settings
        self._now = now

    def facts(self, download: Download) -> FeedFacts:
        """Return what is known of the feed of a download."""
        row = self._connection.execute(NEWS["feed_facts"], (download.feed_id,)).fetchone()
        return FeedFacts(*row)

    def has_read(self, feed: FeedFacts, doc_id: int) -> bool:
        """Whether a feed knows the document that a 304 vouches for; another may have fetched it."""
        return not was_fetched_since(self._connection, doc_id, feed.last_success_at or 0.0)

    def polled(
        self,
        download: Download,
        feed: FeedFacts,
        poll_at: Callable[[float], Poll],
        *,
        report: FeedReport | None = None,
        error: str = "",
    ) -> None:
        """Keep what a poll brought, and when the next one is due."""
        last = feed.last_attempt_at
        late = last is None or self._now - last > ON_TIME_SECONDS
        attempted_at = self._now if late or last is None else last
        ttl = feed.ttl_seconds if report is None else report.ttl_seconds
        state = FeedState(
            last_new_story_at=feed.last_new_story_at,
            interval_seconds=feed.interval_seconds,
            ttl_seconds=ttl,
            failures=feed.failures,
            successes_in_a_row=feed.successes_in_a_row,
        )
        poll = poll_at(attempted_at)
        if poll.failure:
            # It may have moved for good, though not to a feed: many sites send all to one page.
            self._connection.execute(NEWS["feed_back"], (md5_of(feed.url), download.feed_id))
            if poll.failure is Failure.GONE and self._was_asked_elsewhere(download, feed):
                poll = replace(poll, failure=Failure.HARD)
        planned = plan(state, poll, self._settings)
        goes_on = feed.enabled and not planned.give_up
        self._connection.execute(
            NEWS["feed_polled"],
            {
                "feed_id": download.feed_id,
                "due_at": planned.due_at if goes_on else None,
                "attempted_at": attempted_at,
                "success_at": None if poll.failure else self._now,
                "new_story_at": planned.state.last_new_story_at,
                "checksum": report.checksum if report is not None else feed.last_checksum,
                "error": error,
                "failures": planned.state.failures,
                "successes": planned.state.successes_in_a_row,
                "interval": planned.state.interval_seconds,
                "ttl": ttl,
                "title": feed.title or (report.title if report is not None else ""),
                "form": report.form if report is not None else feed.form,
                "give_up": planned.give_up,
                "why": _why_given_up(poll, error),
            },
        )

    def _was_asked_elsewhere(self, download: Download, feed: FeedFacts) -> bool:
        """Whether a poll began where the feed had moved to, and its own URL was not asked."""
        home = self._connection.execute(NEWS["url_by_md5"], (md5_of(feed.url),)).fetchone()
        return download.hops == 0 and home is not None and home[0] != download.doc_id


def _why_given_up(poll: Poll, error: str) -> str:
    if poll.failure is Failure.GONE:
        return f"it is gone for good: {error}"
    return f"failed too often, the last time: {error}"


def was_fetched_since(connection: sqlite3.Connection, doc_id: int, moment: float) -> bool:
    """Whether a document came after a moment, the end of a poll that understood it as a feed."""
    names = {"doc_id": doc_id, "moment": moment}
    return bool(connection.execute(NEWS["was_fetched_since"], names).fetchone()[0])
