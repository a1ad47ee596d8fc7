"""The periodic process PROCESS (S3.21-S3.24): URLs are fetched, made a batch, and processed."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from gossamer.catalog.processing import Place, places_to_process
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.crawl.workspace import Workspace
from gossamer.errors import GossamerError
from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import CrawlStatus, FetchAlgorithm, Operation
from gossamer.objects.moments import NOW
from gossamer.objects.selection import Criterions
from gossamer.objects.site import SiteUpdate
from gossamer.objects.url import URL, URLUpdate
from gossamer.service.archived_raw import RawContents
from gossamer.service.guard import Guard, Word
from gossamer.service.opened_contents import open_contents
from gossamer.service.operations import Operations, Periodic
from gossamer.service.processing import Processor, batch_of
from gossamer.service.scrape_process import ScrapeProcess
from gossamer.service.settings import ServiceSettings

_ORDER: Final = "Priority DESC, Depth ASC, UDate DESC"


class Processing:
    """Has what was crawled processed, some batches at each run."""

    def __init__(
        self,
        settings: ServiceSettings,
        operations: Operations,
        catalog: ServiceCatalog,
        processor: Processor,
        guard: Guard | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings.processing
        self._operations = operations
        self._catalog = catalog
        self._processor = processor
        self._guard = guard
        self._clock = clock or SystemClock()
        self._batches = 0
        self._seconds = 0.0
        self._items = 0
        self.complaints: list[str] = []
        """Of the last run: what was wrong with sites and pages."""

    def run(self, now: float) -> Mapping[str, float]:
        """Process at most as many batches as the settings allow at a time."""
        counters = dict.fromkeys(_COUNTERS, 0.0)
        self.complaints = []
        for _ in range(self._settings.max_batches):
            word = self._guard.ask(now) if self._guard else Word.GO
            if word is not Word.GO:
                counters["batches_process_cancelled"] += word is Word.GIVE_UP
                break
            urls = self._fetch(now, counters)
            if not urls:
                break
            self._process(urls, counters)
        if self._batches:
            counters["batches_process_time_avg"] = self._seconds / self._batches
            counters["batches_process_items_avg"] = self._items / self._batches
        return counters

    def _fetch(self, now: float, counters: dict[str, float]) -> list[URL]:
        """Select URLs and mark them, place by place, until a batch is full."""
        size = self._settings.batch_size
        places, complaints = places_to_process(self._catalog.database, size, now)
        self.complaints += complaints
        urls: list[URL] = []
        for place in places:
            counters["batches_process_url_fetch"] += 1
            try:
                found = self._operations.execute(
                    Operation.URL_FETCH, [fetch_of(place, size - len(urls))]
                )
            except GossamerError as error:
                # A condition of one site must not keep the others from their turn.
                self.complaints.append(f"sites {', '.join(place.sites)}: {error}")
                counters["batches_process_url_fetch_cancelled"] += 1
                continue
            assert isinstance(found, list)
            urls += found
            if len(urls) >= size:
                break
        return urls

    def _process(self, urls: Sequence[URL], counters: dict[str, float]) -> None:
        counters["batches_process_total"] += 1
        counters["batches_process_urls"] += len(urls)
        counters["batches_process_filled"] += len(urls) >= self._settings.batch_size
        self._batches += 1
        self._items += len(urls)
        started = self._clock.monotonic()
        try:
            done = self._processor.process_batch(batch_of(urls))
        except GossamerError:
            counters["batches_process_fault"] += 1
            raise
        finally:
            self._seconds += self._clock.monotonic() - started
        counters["batches_process_urls_fault"] += done.failed
        self.complaints += done.messages


_COUNTERS: Final = (
    "batches_process_total",
    "batches_process_filled",
    "batches_process_urls",
    "batches_process_urls_fault",
    "batches_process_url_fetch",
    "batches_process_url_fetch_cancelled",
    "batches_process_cancelled",
    "batches_process_fault",
)


def fetch_of(place: Place, size: int) -> URLFetch:
    """Return the request that selects URLs for processing and marks them (S3.21, 4b.8)."""
    return URLFetch(
        sites_list=list(place.sites),
        sites_criterions=None,
        urls_criterions=Criterions(where=place.where, order_by=_ORDER, limit=size),
        max_urls=size,
        algorithm=FetchAlgorithm.PROPORTIONAL,
        url_update=URLUpdate(status=CrawlStatus.SELECTED_PROCESSING, u_date=None, tc_date=NOW),
        site_update=SiteUpdate(tc_date_process=NOW),
    )


def open_processor(
    settings: ServiceSettings, closing: ExitStack, clock: Clock | None = None
) -> tuple[ServiceCatalog, Processor]:
    """Open what processing needs on a workspace; `closing` lets go of it."""
    clock = clock or SystemClock()
    workspace = Workspace(settings.data_dir)
    workspace.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    catalog = ServiceCatalog.open(workspace.catalog, CatalogSettings(), shared=True)
    closing.callback(catalog.close)
    contents = open_contents(settings, closing, clock)
    scraper = closing.enter_context(ScrapeProcess())
    reader = RawContents(catalog, contents, workspace.archive)
    return catalog, Processor(catalog, contents, scraper.scrape, read_raw=reader, clock=clock)


def processing_periodic(
    settings: ServiceSettings,
    operations: Operations,
    closing: ExitStack,
    *,
    guard: Guard | None = None,
) -> Periodic:
    """Return the process PROCESS; `closing` ends what it has opened."""
    catalog, processor = open_processor(settings, closing)
    process = Processing(settings, operations, catalog, processor, guard)
    return Periodic("PROCESS", settings.processing.period_seconds, process.run)
