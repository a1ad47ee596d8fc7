"""The catalog of news: feeds become due, visits end downloads, stories become known."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.catalog import Committed, Gate, Recovery, Verdict
from gossamer.catalog.commit import results_only
from gossamer.catalog.connection import Database
from gossamer.catalog.discover import discover
from gossamer.catalog.download_book import NEWS, DownloadBook, Rules
from gossamer.catalog.feed_plans import was_fetched_since
from gossamer.catalog.memory import Memory
from gossamer.catalog.news_commit import NewsCommit
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.catalog.throttle import Throttle
from gossamer.config.news import NewsSettings
from gossamer.messages import Due, Found, Kind
from gossamer.outcomes import State
from gossamer.url.parts import host_of, md5_of, registrable_domain

# For what becomes due at no time, and is kept nowhere.
_NO_TIME: Final = 0.0


class Newest(Struct, frozen=True):
    """The latest numbers that were given out."""

    story_id: int
    download_id: int


class Brought(Struct, frozen=True):
    """What came of downloads that were made since a moment."""

    polls: int
    """Feeds that were polled, whatever came of it."""
    stories: int
    pages: int
    errors: int
    """Downloads of either kind that failed for good."""


class NewsCatalog(SqliteCatalog):
    """What is known, with what it is wanted for."""

    _rules = Rules(NewsSettings())
    # A lease plans feeds, too.
    _syncs_leases = True
    _changes_by_itself = True

    @property
    def database(self) -> Database:
        """The database, for what reads and writes news beside the engine."""
        return self._database

    def use(self, rules: Rules) -> Self:
        """Follow these settings."""
        self._rules = rules
        news = rules.news
        site_of = registrable_domain if news.throttle_by == "site" else str
        self._throttle = Throttle(news.per_site, news.throttle_seconds, site_of)
        return self

    # What the engine asks.

    def begin_run(
        self,
        now: float,
        *,
        longest_wait_seconds: float = 86_400.0,
        keep_delivered_seconds: float | None = None,
    ) -> Recovery:
        """Start a run: downloads that were being made are pending again."""
        with self._writing("begin a run") as (connection, memory):
            NewsCommit(connection, memory, self._rules, now).interrupted()
        return super().begin_run(
            now,
            longest_wait_seconds=longest_wait_seconds,
            keep_delivered_seconds=keep_delivered_seconds,
        )

    def next_due_at(self, now: float, held_hosts: Collection[str] = ()) -> float | None:
        """Return when something is or will be due; None when nothing is pending."""
        pending = super().next_due_at(now, held_hosts)
        with self._database.doing("look for due feeds") as connection:
            feed: float | None = connection.execute(NEWS["next_feed_due"]).fetchone()[0]
        if feed is None:
            return pending
        if feed > now + self._rules.news.max_delay_seconds:
            # Planned by a clock that was ahead: the next lease makes it due.
            feed = now
        return max(now, feed) if pending is None else max(now, min(pending, feed))

    def _lease(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        count: int,
        per_host: int,
        now: float,
        reject_hosts: Collection[str],
    ) -> list[Due]:
        """Provide pending downloads, a few of each site, feeds that are due among them."""
        NewsCommit(connection, memory, self._rules, now).raise_feeds(count)
        if self._throttle is not None:
            self._throttle.begin(now)
        batch = super()._lease(connection, memory, count, per_host, now, reject_hosts)
        return [_as_feed(connection, due) if due.kind is Kind.FEED else due for due in batch]

    def _apply(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        verdicts: Sequence[Verdict],
        now: float,
        gate: Gate | None,
    ) -> Committed:
        committed = super()._apply(connection, memory, results_only(verdicts), now, gate)
        news = NewsCommit(connection, memory, self._rules, now)
        wanted = news.apply(verdicts, committed.stale)
        return replace(committed, new_urls=committed.new_urls + wanted)

    def newest(self) -> Newest:
        """Return where the numbers stand."""
        with self._database.doing("look for the newest") as connection:
            return Newest(*connection.execute(NEWS["newest"]).fetchone())

    def brought_since(self, before: Newest) -> Brought:
        """Return what came of downloads since."""
        with self._database.doing("count downloads") as connection:
            (stories,) = connection.execute(NEWS["stories_since"], (before.story_id,)).fetchone()
            row = connection.execute(NEWS["downloads_since"], (before.download_id,)).fetchone()
        return Brought(polls=row[0], stories=stories, pages=row[1], errors=row[2])

    # What people ask.

    def add_source(
        self,
        name: str,
        home: str,
        now: float,
        *,
        tags: str = "",
        content_delay_seconds: float = 0.0,
    ) -> int:
        """Enter a source; return its number, that of the one with this name if there is one."""
        with self._writing("add a source") as (connection, _):
            row = connection.execute(NEWS["source_by_name"], (name,)).fetchone()
            if row is not None:
                return int(row[0])
            values = (name, home, tags, content_delay_seconds, now)
            return connection.execute(NEWS["insert_source"], values).lastrowid or 0

    def add_feed(
        self, source_id: int, url: str, now: float, *, title: str = "", form: str = ""
    ) -> tuple[int, bool]:
        """Enter a feed, by its canonical URL; return its number and whether it is new."""
        with self._counting("add a feed", now) as (connection, memory, tally):
            row = connection.execute(NEWS["feed_by_url"], (source_id, url)).fetchone()
            if row is not None:
                return int(row[0]), False
            known = connection.execute(NEWS["url_by_md5"], (md5_of(url),)).fetchone()
            if known is None:
                # Nobody wants it yet: it becomes pending when it is due.
                found = Found(
                    url, md5_of(url), host_of(url), 0, int(Kind.FEED), int(State.EXCLUDED)
                )
                discover(connection, memory, tally, [(found, None)], now)
                known = connection.execute(NEWS["url_by_md5"], (md5_of(url),)).fetchone()
            connection.execute(NEWS["revive_source"], {"source_id": source_id})
            values = (source_id, known[0], url, title, form, now, source_id)
            return connection.execute(NEWS["insert_feed"], values).lastrowid or 0, True

    def set_feeds_enabled(
        self, feed_ids: Iterable[int], enabled: bool, now: float, why: str = ""
    ) -> None:
        """Poll feeds, at once whatever the clock shows, or do not."""
        with self._writing("switch feeds") as (connection, memory):
            book = DownloadBook(connection, memory, self._rules, now)
            for feed_id in feed_ids:
                if enabled:
                    connection.execute(NEWS["enable_feed"], (feed_id,))
                else:
                    connection.execute(NEWS["disable_feed"], (why, feed_id))
                    book.end_waiting(feed_id)
            book.close()

    def set_source_enabled(self, source_id: int, enabled: bool, now: float) -> None:
        """Poll the feeds of a source, or do not; each keeps what it was set to."""
        with self._writing("switch a source") as (connection, memory):
            book = DownloadBook(connection, memory, self._rules, now)
            connection.execute(NEWS["switch_source"], (int(enabled), source_id))
            connection.execute(NEWS["wake_feeds" if enabled else "rest_feeds"], (source_id,))
            for feed_id in () if enabled else _feeds_of(connection, source_id):
                book.end_waiting(feed_id)
            book.close()

    def remove_feed(self, feed_id: int) -> None:
        """Forget a feed and its downloads; its stories stay."""
        with self._writing("remove a feed") as (connection, memory):
            book = DownloadBook(connection, memory, self._rules, _NO_TIME)
            _remove_feed(connection, book, feed_id)
            book.close()

    def remove_source(self, source_id: int) -> None:
        """Forget the feeds of a source; the source itself goes unless it has stories."""
        with self._writing("remove a source") as (connection, memory):
            book = DownloadBook(connection, memory, self._rules, _NO_TIME)
            for feed_id in _feeds_of(connection, source_id):
                _remove_feed(connection, book, feed_id)
            book.close()
            connection.execute(NEWS["switch_source"], (0, source_id))
            connection.execute(NEWS["delete_empty_source"], {"source_id": source_id})


def _as_feed(connection: sqlite3.Connection, due: Due) -> Due:
    """Return an order that says what is known of a feed to all who wait for it.

    A 304 says "as it was": that is an answer only to who has read the document as it was.
    """
    if due.etag is not None or due.last_modified is not None:
        (read_until,) = connection.execute(NEWS["read_until"], (due.doc_id,)).fetchone()
        if was_fetched_since(connection, due.doc_id, read_until or 0.0):
            due = replace(due, etag=None, last_modified=None)
    return replace(due, seen=_checksum(connection, due.doc_id))


def _checksum(connection: sqlite3.Connection, doc_id: int) -> bytes | None:
    """Return what the URLs of a feed summed up to, if all who wait for it agree on that."""
    sums = {row[0] for row in connection.execute(NEWS["checksums_of"], (doc_id,))}
    return sums.pop() if len(sums) == 1 else None


def _feeds_of(connection: sqlite3.Connection, source_id: int) -> list[int]:
    return [row[0] for row in connection.execute(NEWS["feeds_of_source"], (source_id,))]


def _remove_feed(connection: sqlite3.Connection, book: DownloadBook, feed_id: int) -> None:
    book.end_waiting(feed_id)
    for query in (
        "forget_feed_stories",
        "forget_feed_downloads",
        "forget_story_feed",
        "forget_push",
        "delete_feed",
    ):
        connection.execute(NEWS[query], (feed_id,))
