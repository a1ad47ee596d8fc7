"""Documents read back from a workspace, as if they had just been fetched."""

from pathlib import Path

from gossamer.catalog.catalog import FetchRow, UrlRow
from gossamer.config.settings import Settings
from gossamer.config.spider import SpiderSettings, for_sitemaps
from gossamer.errors import StoreError
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Document, Fetch, Kind, Visit
from gossamer.parse.page import understand
from gossamer.spider.decode import Decoder
from gossamer.spider.head import Head, read_head
from gossamer.store.reading import read_document
from gossamer.store.store import StoredDocument
from gossamer.url.canonical import Joiner


def read_back(archive: Path, row: UrlRow, fetch: FetchRow, settings: Settings) -> Document:
    """Return what one try brought; StoreError when its bytes are not there or damaged."""
    if fetch.pointer is None:
        raise StoreError(
            f"nothing is stored for {row.url}: {fetch.detail or 'there was no response'}"
        )
    stored = read_document(archive, fetch.pointer)
    limits = settings.spider
    if row.kind is Kind.SITEMAP:
        limits = for_sitemaps(limits, settings.parse.max_sitemap_bytes)
    head, body = understood(stored, limits)
    return Document(
        Fetch(
            visit=Visit(0, row.doc_id, "", row.url, depth=row.depth, kind=int(row.kind)),
            outcome=fetch.outcome,
            detail=fetch.detail,
            status=fetch.status,
            request_head=stored.request_head,
            head=stored.head,
            headers=head.headers,
            raw=stored.raw or b"",
            body=body,
            fetched_at=fetch.fetched_at,
            milliseconds=fetch.milliseconds,
            redirect_to=fetch.redirect_to,
        ),
        fetch.pointer,
        stored.payload_digest,
    )


def understood(stored: StoredDocument, settings: SpiderSettings) -> tuple[Head, bytes]:
    """Return the head of a stored response and its body, content codings undone."""
    head = read_head(stored.head.splitlines(keepends=True), settings)
    raw = stored.raw or b""
    if not head.codings:
        return head, raw
    decoder = Decoder(head.codings, settings.max_doc_bytes, settings.max_ratio)
    decoder.feed(raw)
    return head, decoder.finish(raw).body


def visited_page(
    archive: Path, row: UrlRow, fetch: FetchRow, settings: Settings, joiner: Joiner
) -> VisitedPage:
    """Return a page as users see it, understood anew from its stored bytes."""
    document = read_back(archive, row, fetch, settings)
    agent = settings.spider.robots_agent
    page = understand(document, settings.parse, joiner, agent) if document.fetch.success else None
    return VisitedPage(document, page)
