"""Extraction jobs: which stored pages are to be turned into articles, and what came of them.

Theory of operation. A job is one download of a story. It is queued in the transaction that ends the
download, and stays queued until the transaction that keeps its article: who dies in between has
done nothing. A job that two processes have done counts once, because only a queued one can end. If
a story has several downloads, the latest one that could be extracted has the say, in whatever order
the jobs end. A job that fails leaves what an earlier extraction has found.
"""

import sqlite3
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.near import DISTANCE
from gossamer.catalog.queries import load_queries
from gossamer.catalog.story_groups import regroup, signed
from gossamer.messages import Pointer

EXTRACTIONS: Final = load_queries("news_extractions.sql")
_MAX_DETAIL: Final = 500


class JobState(IntEnum):
    """Where a job stands."""

    QUEUED = 0
    DONE = 1
    FAILED = 2


class Job(Struct, frozen=True, array_like=True, gc=False):
    """A page that waits for its extraction."""

    download_id: int
    story_id: int
    tries: int
    """How often it was tried in vain."""
    url: str
    """Where the page was found in the end."""
    pointer: Pointer | None
    content: str | None
    """What is kept in the place of a page; None if the archive has it."""
    content_type: str
    fetched_at: float | None
    hints: str
    """What the feed said of the story, as JSON."""
    source: str
    """The name of the source."""


class ExtractedArticle(Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """What the page of a story says, as it is kept."""

    title: str = ""
    text: str = ""
    how: str = ""
    confidence: float = 0.0
    fingerprint: int | None = None
    """None: too short to be compared with others."""
    canonical_url: str = ""
    published: float | None = None
    published_how: str = ""
    published_confidence: float = 0.0
    authors: tuple[str, ...] = ()
    authors_confidence: float = 0.0
    language: str = ""
    language_confidence: float = 0.0
    description: str = ""
    image: str = ""
    tags: tuple[str, ...] = ()


class Extraction(Struct, frozen=True, array_like=True, gc=False):
    """What became of a job."""

    download_id: int
    story_id: int
    article: ExtractedArticle | None
    """None: it failed."""
    detail: str = ""
    """For people: why it failed, or what was left out."""


def queue(connection: sqlite3.Connection, download_id: int, story_id: int, now: float) -> None:
    """Queue a job inside the caller's transaction; nothing happens if there is one already."""
    connection.execute(EXTRACTIONS["queue_extraction"], (download_id, story_id, now))


def jobs(
    database: Database,
    limit: int,
    after: int = 0,
    *,
    story_id: int | None = None,
    source_id: int | None = None,
) -> list[Job]:
    """Return the next queued jobs by download, only of a story or of a source if one is given."""
    with database.doing("read extraction jobs") as connection:
        bounds = {"limit": limit, "after": after, "story_id": story_id, "source_id": source_id}
        rows = connection.execute(EXTRACTIONS["queued_jobs"], bounds).fetchall()
    return [_job(row) for row in rows]


def waiting(database: Database) -> int:
    """Return how many jobs are queued."""
    with database.doing("count extraction jobs") as connection:
        return int(connection.execute(EXTRACTIONS["count_queued"]).fetchone()[0])


def count_try(database: Database, download_id: int, detail: str) -> None:
    """Note that a try came to nothing; the job stays queued."""
    with database.writing("note a try") as connection:
        values = {"download_id": download_id, "detail": detail[:_MAX_DETAIL]}
        connection.execute(EXTRACTIONS["count_try"], values)


def finish(
    database: Database,
    results: Iterable[Extraction],
    now: float,
    near_distance: int = DISTANCE,
) -> tuple[int, int]:
    """End jobs and keep their articles, all in one transaction; return how many done and failed.

    What is not queued any more is left out: another process has ended it.
    """
    done = failed = 0
    with database.writing("keep articles") as connection:
        for result in results:
            if not _end(connection, result, now):
                continue
            if result.article is None:
                failed += 1
                continue
            done += 1
            if not _is_outdated(connection, result):
                regroup(connection, result.story_id, result.article.fingerprint, near_distance)
                _keep(connection, result.story_id, result.article, now)
    return done, failed


def requeue(
    database: Database, *, story_id: int | None = None, source_id: int | None = None
) -> int:
    """Queue ended jobs again, of one story, of one source or all; return how many."""
    with database.writing("queue extractions again") as connection:
        if story_id is not None:
            values = {"story_id": story_id}
            return connection.execute(EXTRACTIONS["requeue_story"], values).rowcount
        if source_id is not None:
            values = {"source_id": source_id}
            return connection.execute(EXTRACTIONS["requeue_source"], values).rowcount
        return connection.execute(EXTRACTIONS["requeue_all"]).rowcount


def _job(row: tuple[object, ...]) -> Job:
    download_id, story_id, tries, url, file, offset, length, *rest = row
    pointer = None if file is None else (file, offset, length)
    return msgspec.convert((download_id, story_id, tries, url, pointer, *rest), Job)


def _end(connection: sqlite3.Connection, result: Extraction, now: float) -> bool:
    """End a job; return whether it was queued."""
    state = JobState.FAILED if result.article is None else JobState.DONE
    values = {
        "download_id": result.download_id,
        "state": int(state),
        "now": now,
        "detail": result.detail[:_MAX_DETAIL],
    }
    return connection.execute(EXTRACTIONS["end_extraction"], values).rowcount > 0


def _is_outdated(connection: sqlite3.Connection, result: Extraction) -> bool:
    values = {"story_id": result.story_id, "download_id": result.download_id}
    return connection.execute(EXTRACTIONS["later_extraction"], values).fetchone() is not None


def _keep(
    connection: sqlite3.Connection, story_id: int, article: ExtractedArticle, now: float
) -> None:
    """Write the text of a story, and what its page says of it."""
    unknown_date = article.published is None
    facts = {
        "story_id": story_id,
        "canonical_url": article.canonical_url,
        "title": article.title,
        "published": article.published,
        # As for a story of which neither feed nor page say when it appeared: when we saw it.
        "published_how": "download" if unknown_date else article.published_how,
        "published_confidence": 0.0 if unknown_date else article.published_confidence,
        "authors": _json(article.authors),
        "authors_confidence": article.authors_confidence,
        "language": article.language,
        "language_confidence": article.language_confidence,
        "description": article.description,
        "image": article.image,
        "tags": _json(article.tags),
    }
    connection.execute(EXTRACTIONS["describe_story"], facts)
    text = {
        "story_id": story_id,
        "text": article.text,
        "how": article.how,
        "confidence": article.confidence,
        "fingerprint": signed(article.fingerprint),
        "now": now,
    }
    connection.execute(EXTRACTIONS["put_article"], text)


def _json(values: tuple[str, ...]) -> str:
    return msgspec.json.encode(values).decode()
