"""A queued job becomes an article: its page is read from the store and understood.

What a page can do to the extractor is data: whatever it raises, the job ends with a reason.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from gossamer.catalog.extractions import ExtractedArticle, Extraction, Job
from gossamer.config.spider import SpiderSettings
from gossamer.crawl.documents import understood
from gossamer.errors import StoreError
from gossamer.parse import article as parsed
from gossamer.parse.similarity import MAX_TEXT, fingerprint
from gossamer.parse.sniff import claimed_by
from gossamer.reports import FEED_DATE_CONFIDENCE, UPDATE_DATE_CONFIDENCE, Hints
from gossamer.store.reading import read_document

Extract = Callable[..., parsed.Article]

MIN_COMPARED: Final = 500
"""Characters of the shortest text that is compared with others: less is a notice or a teaser."""
_LONG_WORD: Final = 20
_MAX_TEXT: Final = 1_000_000
_MAX_TITLE: Final = 1_024
_MAX_DESCRIPTION: Final = 4_096
_MAX_URL: Final = 2_048
_MAX_NAMES: Final = 32
_MAX_NAME: Final = 256
# The years 1450 to 2300: whatever is outside was no date.
_EARLIEST, _LATEST = -16_409_606_400.0, 10_413_792_000.0


def extraction_of(
    job: Job, archive: Path, settings: SpiderSettings, extract: Extract = parsed.extract
) -> Extraction:
    """Return what comes of a job; it never raises but for a lack of memory."""
    refusal = _refusal(job)
    if refusal:
        return _failed(job, refusal)
    try:
        body, charset = _page(job, archive, settings)
    except StoreError as error:
        return _failed(job, str(error))
    hints = _hints(job)
    try:
        article = extract(body, job.url, charset=charset, hints=_said(hints, job.fetched_at))
        kept = _kept(article, hints)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the one door between hostile pages and us
        return _failed(job, f"the extractor failed: {type(error).__name__}: {error}")
    detail = article.detail or ("" if kept.text else "the page has no text of an article")
    return Extraction(job.download_id, job.story_id, kept, _clean(detail))


def fingerprint_of(text: str) -> int | None:
    """Return the fingerprint of an article; None if it is too short to be compared.

    Of pairs of words, not of sentences as for pages: an article has few sentences, and one word
    edited in one of them must not make it look like another.
    """
    if len(text) < MIN_COMPARED:
        return None
    text = text[: MAX_TEXT // 2]
    words: Sequence[str] = text.split()
    if len(words) * _LONG_WORD < len(text):
        # A script without spaces.
        words = "".join(words)
    return fingerprint("\n".join(one + other for one, other in itertools.pairwise(words)))


def _refusal(job: Job) -> str:
    """Say why there is nothing to extract; nothing if there is."""
    if job.content is not None:
        return f"there is no page: {job.content}"
    if job.pointer is None:
        return "there is no page: nothing is stored of the download"
    kind = job.content_type
    if kind and "html" not in kind and kind != "text/plain":
        return f"a page of type {kind} has no article"
    return ""


def _page(job: Job, archive: Path, settings: SpiderSettings) -> tuple[bytes, str]:
    """Return the body of a stored page, decoded, and the charset that its head names."""
    assert job.pointer is not None
    stored = read_document(archive, job.pointer)
    if stored.raw is None:
        raise StoreError(f"the body of {stored.url} repeats one that is not in this archive")
    head, body = understood(stored, settings)
    claimed = next((value for name, value in head.headers if name == "content-type"), None)
    return body, claimed_by(claimed)[1]


def _hints(job: Job) -> Hints:
    try:
        return msgspec.json.decode(job.hints, type=Hints)
    except msgspec.DecodeError:
        return Hints()


def _said(hints: Hints, fetched_at: float | None) -> parsed.Hints:
    """Return what the feed said in the extractor's own words."""
    return parsed.Hints(
        title=hints.title,
        description=hints.description,
        published=hints.published,
        authors=hints.authors,
        language=hints.language,
        content_html=hints.content_html,
        fetched_at=fetched_at,
    )


def _kept(article: parsed.Article, hints: Hints) -> ExtractedArticle:
    """Return an article within the limits of the catalog, gaps filled with what the feed said."""
    text = _clean(article.text)[:_MAX_TEXT]
    published, how, confidence = (
        _moment(article.published),
        article.published_how,
        article.published_confidence,
    )
    if published is None:
        published, how, confidence = _moment(hints.published), "feed", FEED_DATE_CONFIDENCE
    if published is None:
        published, confidence = _moment(hints.updated), UPDATE_DATE_CONFIDENCE
    return ExtractedArticle(
        title=_clean(article.title or hints.title)[:_MAX_TITLE],
        text=text,
        how=article.how,
        confidence=article.text_confidence,
        fingerprint=fingerprint_of(text),
        canonical_url=_address(article.canonical_url),
        published=published,
        published_how=_clean(how),
        published_confidence=confidence,
        authors=_names(article.authors or hints.authors),
        authors_confidence=article.authors_confidence,
        language=_clean(article.language or hints.language)[:_MAX_NAME],
        language_confidence=article.language_confidence,
        description=_clean(article.description or hints.description)[:_MAX_DESCRIPTION],
        image=_address(article.image or hints.image),
        tags=_names(article.tags or hints.tags),
    )


def _failed(job: Job, detail: str) -> Extraction:
    return Extraction(job.download_id, job.story_id, None, _clean(detail))


def _clean(text: str) -> str:
    """Replace what no database keeps: halves of characters, and zeros."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _address(url: str) -> str:
    url = _clean(url)
    return url if len(url) <= _MAX_URL else ""


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_clean(name)[:_MAX_NAME] for name in names[:_MAX_NAMES])


def _moment(published: float | None) -> float | None:
    if published is None or not math.isfinite(published):
        return None
    return float(published) if _EARLIEST <= published <= _LATEST else None
