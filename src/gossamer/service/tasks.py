"""The crawler application as a filter: a batch comes in, what was crawled goes out (S3.70).

Theory of operation. The catalog goes from one iteration of a batch to the next by itself. Only
where feeds are among its URLs it pauses in between: their entries are known after processing.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.batch_facts import BatchState, ItemRow, ItemState
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_sites import site_status
from gossamer.catalog.service_urls import url_status
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.progress import Progress
from gossamer.crawl.stops import Stops
from gossamer.crawl.workspace import Workspace
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.coding import MAX_MESSAGE
from gossamer.objects.enumerations import GENERAL_SITE, URLKey
from gossamer.objects.item_wishes import read
from gossamer.objects.processors import is_read_as_feed
from gossamer.objects.site import SiteStatus
from gossamer.objects.url import URL, URLStatus
from gossamer.service.accepting import Acceptor, is_feed_of_links
from gossamer.service.batch_answers import with_contents
from gossamer.service.catalog_operations import open_operations
from gossamer.service.engine import run_engine
from gossamer.service.guests import lodged, writes
from gossamer.service.opened_processor import open_processor
from gossamer.service.processing import Processed, properties_for
from gossamer.service.settings import ServiceSettings

MAKES_WORKSPACE: Final = """echo '[1, {"urls": ["URL"]}]' | gossamer task db"""
"""The command that begins a workspace of the service, without the folder."""
UNLIMITED_SECONDS: Final = 86_400.0
"""For a batch without a limit: somebody must give it up if its crawler never comes back."""
_LOOK_SECONDS: Final = 0.05

Process = Callable[[Batch], Processed]


def crawl_batch(
    settings: ServiceSettings, engine: Settings, batch: Batch, clock: Clock | None = None
) -> Batch:
    """Crawl a batch in this process and its workers; return what was crawled of it."""
    clock = clock or SystemClock()
    Workspace(settings.data_dir).require(MAKES_WORKSPACE)
    if writes(batch):
        return _crawl(settings, engine, batch, clock)
    operations = open_operations(settings, clock)
    try:
        with lodged(operations, batch) as lodging:
            done = _crawl(settings, engine, lodging.batch, clock)
            # Nobody can ask for them later.
            items = with_contents(operations, done.items, MAX_MESSAGE)
            return lodging.back(operations, replace(done, items=items, db_mode=batch.db_mode))
    finally:
        operations.close()


def _crawl(settings: ServiceSettings, engine: Settings, batch: Batch, clock: Clock) -> Batch:
    seconds = float(batch.max_execution_time) or UNLIMITED_SECONDS
    path = Workspace(settings.data_dir).catalog
    with ServiceCatalog.open(path, engine.catalog, shared=True) as catalog:
        acceptor = Acceptor(settings, catalog, clock)
        batch = acceptor.identified(batch)
        batch_id = acceptor.accept(batch, seconds)
        limit = TimeLimit(clock, seconds)

        def crawl() -> None:
            run_engine(
                settings.data_dir,
                engine,
                once=True,
                clock=clock,
                stops=limit.stops,
                on_progress=limit.note,
            )

        def process(feeds: Batch) -> Processed:
            with ExitStack() as opened:
                _, processor = open_processor(settings, opened, clock)
                return processor.process_batch(feeds)

        iterate(catalog, batch_id, crawl, process, clock)
        return crawled(catalog, batch, batch_id)


class TimeLimit:
    """Stops an engine when the time of its batch is over."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.stops = Stops()
        self._clock = clock
        self._until = clock.monotonic() + seconds

    def note(self, progress: Progress) -> None:
        """Hear how far it is; a few times a second."""
        del progress
        if self._clock.monotonic() >= self._until and self.stops.requested is None:
            self.stops.time_limit()


def iterate(
    catalog: ServiceCatalog,
    batch_id: int,
    crawl: Callable[[], None],
    process: Process,
    clock: Clock,
) -> None:
    """Have a batch crawled, iteration by iteration, until it is over.

    `crawl` returns when nothing more is to be crawled now, or when there is no time; what it leaves
    is given up.
    """
    while (state := catalog.batch_state(batch_id)) in (BatchState.OPEN, BatchState.BETWEEN):
        if state is BatchState.BETWEEN:
            feeds = feeds_of(catalog, batch_id)
            if feeds.items:
                process(feeds)
            catalog.go_on(batch_id, clock.time())
            continue
        crawl()
        if catalog.batch_state(batch_id) is BatchState.OPEN:
            catalog.give_up_batch(batch_id, clock.time(), "the crawler has ended")


def wait_while_open(
    catalog: ServiceCatalog, batch_id: int, until: float, is_over: Callable[[], bool]
) -> None:
    """Wait until an engine elsewhere has crawled an iteration, or for as long as is allowed."""
    while catalog.batch_state(batch_id) is BatchState.OPEN:
        if time.monotonic() >= until or is_over():
            return
        time.sleep(_LOOK_SECONDS)


def feeds_of(catalog: ServiceCatalog, batch_id: int) -> Batch:
    """Return the feeds that the last iteration of a batch has brought."""
    rows = [row for row in catalog.batch_items(batch_id) if row.state == ItemState.CRAWLED]
    last = max((row.iteration for row in rows), default=0)
    items = [item_from(row) for row in rows if row.iteration == last]
    return Batch(id=batch_id, items=[item for item in items if is_feed(catalog, item)])


def is_feed(catalog: ServiceCatalog, item: BatchItem) -> bool:
    """Whether processing makes URLs to be fetched of an item; pages are scraped even so."""
    asked = URLStatus(site_id=item.site_id, url=item.url_id, url_type=URLKey.MD5)
    request = SiteStatus(id=item.site_id, exclude_list=["urls", "filters"])
    properties = properties_for(site_status(catalog.database, request), item)
    return is_feed_of_links(properties) and any(
        is_read_as_feed(url.content_type, properties)
        for url in url_status(catalog.database, [asked])
    )


def crawled(catalog: ServiceCatalog, batch: Batch, batch_id: int) -> Batch:
    """Return a batch with the items that were crawled without an error (S3.62).

    Behind its own items come the URLs that later iterations have crawled.
    """
    rows = catalog.batch_items(batch_id)
    good = [row for row in rows if row.state == ItemState.CRAWLED]
    keys = {(row.site, row.url_md5) for row in good}
    given = [(item.site_id or GENERAL_SITE, item.url_id.lower()) for item in batch.items]
    kept = [item for item, key in zip(batch.items, given, strict=True) if key in keys]
    found = [item_from(row) for row in good if row.iteration > 1]
    mask = batch.error_mask | catalog.batch_mask(batch_id)
    for row in rows:
        mask |= row.error_mask or 0
    return replace(batch, id=batch_id, items=[*kept, *found], error_mask=mask)


def item_from(row: ItemRow) -> BatchItem:
    """Return an item as the batch has it on record."""
    wishes = read(row.wishes)
    return BatchItem(
        url_id=row.url_md5,
        site_id=row.site,
        url_obj=URL(url=row.url, url_md5=row.url_md5, site_id=row.site),
        properties=dict(wishes.properties),
        site_obj=wishes.site_obj,
        depth=row.depth or 0,
    )
