"""Real-time batches: a client hands over URLs and waits for their contents (4b.8)."""

from contextlib import ExitStack
from typing import Final

from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.content import URLContentRequest, URLContentResponse
from gossamer.objects.enumerations import (
    DEFAULT_CONTENT_MASK,
    GENERAL_SITE,
    ContentTypeMask,
    CrawlerType,
    Operation,
)
from gossamer.service.catalog_operations import CatalogOperations, open_operations
from gossamer.service.operations import RunBatch
from gossamer.service.processing_task import open_processor
from gossamer.service.settings import ServiceSettings
from gossamer.service.tasks import accept, crawled, wait_for

_CONTENTS: Final = DEFAULT_CONTENT_MASK | ContentTypeMask.HEADERS


def open_batches(settings: ServiceSettings) -> RunBatch:
    """Return what carries out real-time batches; the engine of the daemon fetches for it."""
    closing = ExitStack()
    catalog, processor = open_processor(settings, closing)
    operations = open_operations(settings)
    clock = SystemClock()

    def run_batch(batch: Batch) -> Batch:
        limit = settings.realtime.max_seconds
        seconds = min(float(batch.max_execution_time) or limit, limit)
        order = replace(
            batch, crawler_type=CrawlerType.REAL_TIME, max_execution_time=int(seconds) or 1
        )
        batch_id = accept(catalog, order, clock.time())
        wait_for(catalog, [batch_id], seconds + 1.0)
        done = processor.process_batch(crawled(catalog, order, batch_id))
        return replace(done.batch, items=[_with_contents(operations, each) for each in batch.items])

    return run_batch


def _with_contents(operations: CatalogOperations, item: BatchItem) -> BatchItem:
    """Return an item with what its URL has brought."""
    request = URLContentRequest(
        site_id=item.site_id or GENERAL_SITE, url_md5=item.url_id, content_type_mask=_CONTENTS
    )
    answer = operations.execute(Operation.URL_CONTENT, [request])
    content = answer[0] if isinstance(answer, list) and answer else None
    if not isinstance(content, URLContentResponse):
        return item
    return replace(item, url_content_response=content)
