"""Sources, feeds, stories and downloads as other programs get them; times are ISO 8601 in UTC."""

from msgspec import Struct

from gossamer.catalog.downloads import DownloadRow
from gossamer.catalog.stories import StoryRow
from gossamer.catalog.subscriptions import FeedRow, SourceRow
from gossamer.cli.formats import iso_time
from gossamer.messages import Pointer

# From the year 1020 to 9999: what ISO 8601 writes with four digits.
_EARLIEST = -30_000_000_000.0
_LATEST = 253_000_000_000.0


class Place(Struct, frozen=True, gc=False):
    """Where a page is kept: a file of the archive, and which of its bytes."""

    file: str
    offset: int
    length: int


class SourceRecord(Struct, frozen=True, gc=False, kw_only=True):
    """A source."""

    source: str
    home: str | None
    enabled: bool
    tags: str | None
    content_delay_seconds: float
    added: str
    feeds: int


class FeedRecord(Struct, frozen=True, gc=False, kw_only=True):
    """A feed; the order of the fields is that of the CSV columns."""

    url: str
    source: str
    title: str | None
    form: str | None
    enabled: bool
    why_disabled: str | None
    moved_to: str | None
    added: str
    next_poll: str | None
    last_attempt: str | None
    last_success: str | None
    last_new_story: str | None
    failures: float
    last_error: str | None


class StoryRecord(Struct, frozen=True, kw_only=True):
    """A story; the order of the fields is that of the CSV columns."""

    story_id: int
    source: str
    url: str
    canonical_url: str | None
    guid: str
    title: str
    authors: tuple[str, ...]
    authors_confidence: float
    published: str | None
    published_how: str | None
    published_confidence: float
    language: str | None
    language_confidence: float
    text: str | None
    text_how: str | None
    text_confidence: float
    description: str | None
    image: str | None
    tags: tuple[str, ...]
    collected: str
    feeds: tuple[str, ...]
    content: Place | None
    group: int | None
    extraction: str
    extraction_detail: str | None


class DownloadRecord(Struct, frozen=True, gc=False, kw_only=True):
    """A download; the order of the fields is that of the CSV columns."""

    id: int
    url: str
    type: str
    state: str
    error: str | None
    retries: int
    not_before: str | None
    priority: int
    host: str
    made: str
    ended: str | None
    status: int | None
    feed: str | None
    story: int | None
    content: Place | str | None
    """Where the body is kept, or what is kept in its place."""


def source_record(row: SourceRow) -> SourceRecord:
    """Return a source as it is shown."""
    return SourceRecord(
        source=row.name,
        home=row.home or None,
        enabled=row.enabled,
        tags=row.tags or None,
        content_delay_seconds=row.content_delay_seconds,
        added=iso_time(row.added_at),
        feeds=row.feeds,
    )


def feed_record(row: FeedRow, now: float) -> FeedRecord:
    """Return a feed as it is shown; one that is due is polled next `now`."""
    return FeedRecord(
        url=row.url,
        source=row.source,
        title=row.title or None,
        form=row.form or None,
        enabled=row.enabled and row.source_enabled,
        why_disabled=row.why_disabled or (None if row.source_enabled else "its source is disabled"),
        moved_to=row.fetched_url if row.fetched_url != row.url else None,
        added=iso_time(row.added_at),
        next_poll=None if row.due_at is None else iso_time(max(row.due_at, now)),
        last_attempt=_moment(row.last_attempt_at),
        last_success=_moment(row.last_success_at),
        last_new_story=_moment(row.last_new_story_at),
        failures=row.failures,
        last_error=row.last_error or None,
    )


def story_record(row: StoryRow) -> StoryRecord:
    """Return a story as it is exported."""
    return StoryRecord(
        story_id=row.story_id,
        source=row.source,
        url=row.url,
        canonical_url=row.canonical_url or None,
        guid=row.guid,
        title=row.title,
        authors=row.authors,
        authors_confidence=row.authors_confidence,
        published=_moment(row.published),
        published_how=row.published_how or None,
        published_confidence=row.published_confidence,
        language=row.language or None,
        language_confidence=row.language_confidence,
        text=row.text,
        text_how=row.text_how or None,
        text_confidence=row.text_confidence,
        description=row.description or None,
        image=row.image or None,
        tags=row.tags,
        collected=iso_time(row.collected_at),
        feeds=row.feeds,
        content=_place(row.content),
        group=row.group_id,
        extraction=row.extraction,
        extraction_detail=row.extraction_detail or None,
    )


def download_record(row: DownloadRow) -> DownloadRecord:
    """Return a download as it is exported."""
    return DownloadRecord(
        id=row.download_id,
        url=row.url,
        type=row.type.name.lower(),
        state=row.state.name.lower(),
        error=row.error or None,
        retries=row.retries,
        not_before=_moment(row.not_before),
        priority=row.priority,
        host=row.host,
        made=iso_time(row.made_at),
        ended=_moment(row.ended_at),
        status=row.status or None,
        feed=row.feed,
        story=row.story_id,
        content=_place(row.pointer) or row.content,
    )


def _place(pointer: Pointer | None) -> Place | None:
    return None if pointer is None else Place(pointer.file, pointer.offset, pointer.length)


def _moment(moment: float | None) -> str | None:
    """Write a moment; one that no calendar has is as good as none."""
    if moment is None or not _EARLIEST <= moment <= _LATEST:
        return None
    return iso_time(moment)
