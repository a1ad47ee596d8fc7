"""The crawler application as a filter: a batch comes in, what was crawled goes out (S3.70)."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.batch_facts import BatchState, ItemState
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import (
    Change,
    changing,
    enter,
    find_document,
    find_site,
    members_among,
    newcomer,
)
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.workspace import Workspace
from gossamer.errors import ServiceError
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.enumerations import URLKey
from gossamer.objects.normal import identified_url
from gossamer.service.engine import run_engine

_USUAL_SECONDS: Final = 360.0
_LOOK_SECONDS: Final = 0.05


def accept(catalog: ServiceCatalog, batch: Batch, now: float) -> int:
    """Have the URLs of a batch crawled; return the number of the batch.

    A URL without a record gets one from what came along with it (S3.45, S3.46); one without either
    is left out.
    """
    with changing(catalog, "read a batch", now) as change:
        members = [_member(change, item) for item in batch.items]
    known = [member for member in members if member is not None]
    seconds = float(batch.max_execution_time) or _USUAL_SECONDS
    batch_id, _ = catalog.accept_batch(int(batch.crawler_type), known, now, seconds)
    return batch_id


def _member(change: Change, item: BatchItem) -> tuple[int, int] | None:
    """Return set and document of an item, which becomes a member if it is none yet."""
    site = find_site(change.connection, item.site_id)
    if site is None:
        return None
    doc_id = find_document(change.connection, item.url_id, URLKey.MD5)
    if doc_id is not None and members_among(change.connection, site.set_id, [doc_id]):
        return site.set_id, doc_id
    if item.url_obj is None or not item.url_obj.url:
        return None
    given = identified_url(item.url_obj)
    enter(change, [newcomer(site, given.url, given, change.now)])
    doc_id = find_document(change.connection, given.url)
    return None if doc_id is None else (site.set_id, doc_id)


def crawled(catalog: ServiceCatalog, batch: Batch, batch_id: int) -> Batch:
    """Return a batch with the items that were crawled without an error (S3.62)."""
    good = {
        (row.site, row.url_md5)
        for row in catalog.batch_items(batch_id)
        if row.state == ItemState.CRAWLED
    }
    kept = [item for item in batch.items if (item.site_id or "0", item.url_id.lower()) in good]
    return replace(batch, id=batch_id, items=kept)


def crawl_batch(
    directory: Path, settings: Settings, batch: Batch, clock: Clock | None = None
) -> Batch:
    """Crawl a batch in this process and its workers; return what was crawled of it."""
    clock = clock or SystemClock()
    workspace = Workspace(directory).require()
    with ServiceCatalog.open(workspace.catalog, settings.catalog, shared=True) as catalog:
        batch_id = accept(catalog, batch, clock.time())
        if catalog.batch_state(batch_id) is BatchState.OPEN:
            run_engine(directory, settings, once=True, clock=clock)
            catalog.give_up_batch(batch_id, clock.time(), "the crawler has ended")
        return crawled(catalog, batch, batch_id)


def wait_for(catalog: ServiceCatalog, batch_ids: Sequence[int], seconds: float) -> None:
    """Wait until an engine has crawled batches; complain if that takes too long."""
    deadline = time.monotonic() + seconds
    for batch_id in batch_ids:
        while catalog.batch_state(batch_id) is BatchState.OPEN:
            if time.monotonic() >= deadline:
                raise ServiceError(f"batch {batch_id} was not crawled within {seconds:g} s")
            time.sleep(_LOOK_SECONDS)
