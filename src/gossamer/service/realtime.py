"""Real-time batches: a client hands over URLs and waits for their contents (4b.8)."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import SystemClock
from gossamer.objects.batch import Batch
from gossamer.objects.enumerations import CrawlerType
from gossamer.service.accepting import Acceptor
from gossamer.service.batch_answers import with_contents
from gossamer.service.catalog_operations import open_operations
from gossamer.service.guests import lodged, writes
from gossamer.service.opened_processor import open_processor
from gossamer.service.operations import RunBatch
from gossamer.service.processing import Processor
from gossamer.service.settings import RealTimeSettings, ServiceSettings
from gossamer.service.tasks import crawled, is_feed, iterate, wait_while_open

_ENVELOPE_BYTES: Final = 1 << 16
"""What an answer needs beside its contents."""


def open_batches(settings: ServiceSettings) -> RunBatch:
    """Return what carries out real-time batches; the engine of the daemon fetches for it."""
    closing = ExitStack()
    clock = SystemClock()
    catalog, processor = open_processor(settings, closing)
    operations = open_operations(settings)
    acceptor = Acceptor(settings, catalog, clock)
    room = settings.server.max_message_bytes - _ENVELOPE_BYTES

    def run_batch(batch: Batch, is_over: Callable[[], bool]) -> Batch:
        order = limited(batch, settings.realtime)
        if writes(order):
            return run(order, is_over)
        with lodged(operations, order) as lodging:
            return lodging.back(operations, run(lodging.batch, is_over))

    def run(given_order: Batch, is_over: Callable[[], bool]) -> Batch:
        order = acceptor.identified(given_order)
        seconds = float(order.max_execution_time)
        until = time.monotonic() + seconds
        batch_id = acceptor.accept(order, seconds)

        def wait() -> None:
            wait_while_open(catalog, batch_id, until, is_over)

        iterate(catalog, batch_id, wait, processor.process_batch, clock)
        done = _process(catalog, processor, crawled(catalog, order, batch_id))
        given = {(item.site_id, item.url_id) for item in order.items}
        found = [each for each in done.items if (each.site_id, each.url_id) not in given]
        return replace(done, items=with_contents(operations, [*order.items, *found], room))

    return run_batch


def limited(batch: Batch, settings: RealTimeSettings) -> Batch:
    """Return a batch within what the settings allow."""
    most = settings.max_urls * settings.max_iterations
    seconds = min(float(batch.max_execution_time) or settings.max_seconds, settings.max_seconds)
    return replace(
        batch,
        crawler_type=CrawlerType.REAL_TIME,
        max_execution_time=int(seconds) or 1,
        max_iterations=min(max(1, batch.max_iterations), settings.max_iterations),
        max_items=min(batch.max_items or most, most),
    )


def _process(catalog: ServiceCatalog, processor: Processor, batch: Batch) -> Batch:
    """Process what was crawled; feeds were processed between the iterations."""
    if batch.max_iterations == 1:
        return processor.process_batch(batch).batch
    pages = [item for item in batch.items if not is_feed(catalog, item)]
    done = processor.process_batch(replace(batch, items=pages)).batch
    return replace(batch, error_mask=done.error_mask)
