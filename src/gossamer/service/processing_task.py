"""The periodic process PROCESS (S3.21-S3.24): URLs are fetched, made a batch, and processed."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Final

from gossamer.catalog.processing import Place, places_to_process, release_urls
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.errors import GossamerError
from gossamer.objects.batch import Batch
from gossamer.objects.coding import decode_object, encode
from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import CrawlStatus, FetchAlgorithm, Operation, URLState
from gossamer.objects.moments import NOW
from gossamer.objects.selection import Criterions
from gossamer.objects.site import SiteUpdate
from gossamer.objects.url import URL, URLUpdate
from gossamer.service.applications import processed
from gossamer.service.executor import ENDED, Executor, InProcess, LocalProcesses
from gossamer.service.guard import Guard, Word
from gossamer.service.opened_processor import open_processor
from gossamer.service.operations import Operations, Periodic, is_called_away
from gossamer.service.processing import batch_of
from gossamer.service.settings import ServiceSettings

_PATIENCE_SECONDS: Final = 10.0
"""Of a batch, spent on waiting for sites; what has to wait longer is for the next run."""
_ORDER: Final = "Priority DESC, Depth ASC, UDate DESC"


class Processing:
    """Has what was crawled processed, some batches at each run."""

    def __init__(
        self,
        settings: ServiceSettings,
        operations: Operations,
        catalog: ServiceCatalog,
        executor: Executor,
        guard: Guard | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings.processing
        self._operations = operations
        self._catalog = catalog
        self._executor = executor
        self._guard = guard
        self._clock = clock or SystemClock()
        self._batches = 0
        self._seconds = 0.0
        self._items = 0
        self.complaints: list[str] = []
        """Of the last run: what was wrong with sites and pages."""

    def run(self, now: float) -> Mapping[str, float]:
        """Have as many batches processed as the settings allow at a time."""
        counters = dict.fromkeys(_COUNTERS, 0.0)
        self.complaints = []
        started = self._clock.monotonic()
        tasks: dict[int, list[URL]] = {}
        for _ in range(self._settings.max_batches):
            if self._is_called_away():
                break
            word = self._guard.ask(now) if self._guard else Word.GO
            if word is not Word.GO:
                counters["batches_process_cancelled"] += word is Word.GIVE_UP
                break
            urls = self._fetch(now, counters)
            if not urls:
                break
            tasks[self._submit(urls, counters)] = urls
        self._executor.wait(list(tasks), self._is_called_away)
        ended = [number for number in tasks if self._executor.state(number) in ENDED]
        if tasks:
            self._seconds += self._clock.monotonic() - started
            counters["batches_process_time_avg"] = self._seconds / self._batches
            counters["batches_process_items_avg"] = self._items / self._batches
        self._break_off([urls for number, urls in tasks.items() if number not in ended])
        self._take(ended, counters)
        return counters

    def _is_called_away(self) -> bool:
        return is_called_away(self._operations)

    def _break_off(self, batches: Sequence[Sequence[URL]]) -> None:
        """End tasks that nobody can wait for, and let their URLs wait again."""
        if batches:
            self._executor.close()
            urls = [(url.site_id, url.url_md5) for url in chain.from_iterable(batches)]
            release_urls(self._catalog, urls, self._clock.time())

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

    def _submit(self, urls: Sequence[URL], counters: dict[str, float]) -> int:
        counters["batches_process_total"] += 1
        counters["batches_process_urls"] += len(urls)
        counters["batches_process_filled"] += len(urls) >= self._settings.batch_size
        self._batches += 1
        self._items += len(urls)
        return self._executor.submit("process", encode(batch_of(urls)), self._settings.task_seconds)

    def _take(self, tasks: Sequence[int], counters: dict[str, float]) -> None:
        """Note what came of tasks; complain of those that failed when all are known."""
        failures: list[GossamerError] = []
        for number in tasks:
            try:
                output = self._executor.take(number)
            except GossamerError as error:
                counters["batches_process_fault"] += 1
                failures.append(error)
                continue
            self.complaints += output.messages
            urls = [item.url_obj for item in decode_object(Batch, output.body).items]
            counters["batches_process_urls_fault"] += sum(
                url is not None and url.state is URLState.ERROR for url in urls
            )
        if failures:
            raise failures[0]


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


def processing_periodic(
    settings: ServiceSettings,
    operations: Operations,
    closing: ExitStack,
    *,
    guard: Guard | None = None,
) -> Periodic:
    """Return the process PROCESS; `closing` ends what it has opened."""
    catalog, processor = open_processor(
        settings,
        closing,
        patience_seconds=_PATIENCE_SECONDS,
        is_called_away=partial(is_called_away, operations),
    )
    executor: Executor = InProcess({"process": partial(processed, processor)})
    if settings.processing.processes:
        executor = LocalProcesses(settings, settings.processing.processes)
    closing.callback(executor.close)
    process = Processing(settings, operations, catalog, executor, guard)
    return Periodic(
        "PROCESS",
        settings.processing.period_seconds,
        process.run,
        complaints=lambda: process.complaints,
    )
