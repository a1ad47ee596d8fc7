"""Documents read back from a workspace, as if they had just been fetched."""

from pathlib import Path

from gossamer.catalog.catalog import FetchRow, UrlRow
from gossamer.config.settings import Settings
from gossamer.errors import StoreError
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Document, Fetch, Visit
from gossamer.parse.page import understand
from gossamer.spider.decode import Decoder
from gossamer.spider.head import read_head
from gossamer.store.reading import read_document
from gossamer.url.canonical import Joiner


def read_back(archive: Path, row: UrlRow, fetch: FetchRow, settings: Settings) -> Document:
    """Return what one try brought; StoreError when its bytes are not there or damaged."""
    if fetch.pointer is None:
        raise StoreError(
            f"nothing is stored for {row.url}: {fetch.detail or 'there was no response'}"
        )
    stored = read_document(archive, fetch.pointer)
    head = read_head(stored.head.splitlines(keepends=True), settings.spider)
    raw = stored.raw or b""
    decoder = Decoder(head.codings, settings.spider.max_doc_bytes, settings.spider.max_ratio)
    if head.codings:
        decoder.feed(raw)
    return Document(
        Fetch(
            visit=Visit(0, row.doc_id, "", row.url, depth=row.depth, kind=int(row.kind)),
            outcome=fetch.outcome,
            detail=fetch.detail,
            status=fetch.status,
            request_head=stored.request_head,
            head=stored.head,
            headers=head.headers,
            raw=raw,
            body=decoder.finish(raw).body if head.codings else raw,
            fetched_at=fetch.fetched_at,
            milliseconds=fetch.milliseconds,
            redirect_to=fetch.redirect_to,
        ),
        fetch.pointer,
        stored.payload_digest,
    )


def visited_page(
    archive: Path, row: UrlRow, fetch: FetchRow, settings: Settings, joiner: Joiner
) -> VisitedPage:
    """Return a page as users see it, understood anew from its stored bytes."""
    document = read_back(archive, row, fetch, settings)
    page = understand(document, settings.parse, joiner) if document.fetch.success else None
    return VisitedPage(document, page)
