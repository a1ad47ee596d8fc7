"""The periodic processes of the service (4b.8), put together for the daemon."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.batch_facts import ItemState
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.objects.enumerations import CrawlerType
from gossamer.service.data_folder import make_data_dir
from gossamer.service.engine_process import EngineProcess
from gossamer.service.engine_settings import engine_settings_of
from gossamer.service.guard import Guard, Word
from gossamer.service.operations import Operations, Periodic
from gossamer.service.peers import Peers
from gossamer.service.processing_task import processing_periodic
from gossamer.service.propagation import Propagation
from gossamer.service.recrawling import beside_crawling
from gossamer.service.settings import ServiceSettings

_DAY: Final = 86_400.0


class Crawling:
    """Makes batches of what is new, and has them crawled."""

    def __init__(self, settings: ServiceSettings, guard: Guard) -> None:
        self._settings = settings
        self._guard = guard
        engine = engine_settings_of(settings)
        workspace = make_data_dir(settings)
        self._catalog = ServiceCatalog.open(workspace.catalog, engine.catalog, shared=True)
        self._engine = EngineProcess(workspace.directory, engine)
        self._together = (
            Propagation(settings, self._catalog, Peers(settings)) if settings.peers.hosts else None
        )

    def close(self) -> None:
        """End the engine, and let go of the catalog."""
        self._engine.stop()
        self._catalog.close()

    def crawl(self, now: float) -> Mapping[str, float]:
        """Make a batch of new URLs, if there is room for one (S3.14)."""
        self._engine.tend()
        if self._guard.ask(now) is not Word.GO:
            return {"batches_crawl_url_fetch_cancelled": 1}
        if self._together is not None:
            return self._together.crawl(now)
        crawling = self._settings.crawling
        batch_id, items = self._catalog.make_batch(
            CrawlerType.NORMAL,
            crawling.batch_size,
            now,
            crawling.batch_kill_seconds,
            crawling.max_batches,
            ttl=crawling.task_ttl_seconds,
            max_iterations=crawling.max_iterations,
            grace=max(0.0, crawling.batch_kill_seconds - crawling.batch_seconds),
        )
        return {
            "batches_crawl_url_fetch": 1,
            "batches_crawl_total": float(batch_id > 0),
            "batches_crawl_filled": float(len(items) == crawling.batch_size),
            "batches_crawl_urls": len(items),
        }

    def check(self, now: float) -> Mapping[str, float]:
        """Give up batches whose time is over; forget old ones."""
        # First, so that an engine that starts does not begin with what another host has by now.
        expired = self._catalog.expire_batches(now)
        self._engine.tend()
        self._catalog.forget_batches(now - _DAY)
        seconds, items = self._catalog.batch_averages(CrawlerType.NORMAL)
        left = (item for each in expired for item in self._catalog.batch_items(each))
        return {
            "batches_crawl_fault_ttl": len(expired),
            "batches_crawl_urls_fault": sum(item.state == ItemState.LEFT_OUT for item in left),
            "batches_crawl_time_avg": seconds,
            "batches_crawl_items_avg": items,
            "batches_crawl_queue": self._catalog.open_batches(CrawlerType.NORMAL),
            **({} if self._together is None else self._together.check(now)),
        }

    def complaints(self) -> Sequence[str]:
        """Return what the engine and other hosts gave cause to complain of."""
        others = [] if self._together is None else self._together.take_complaints()
        return [*self._engine.take_complaints(), *others]

    def give_back(self, now: float) -> Mapping[str, float]:
        """Have stuck URLs crawled again."""
        returning = self._settings.returning
        count = self._catalog.return_stuck(now, returning.stuck_seconds, returning.max_urls)
        return {"batches_crawl_urls_ret": count}


def open_periodics(settings: ServiceSettings, operations: Operations) -> Sequence[Periodic]:
    """Return all that the BatchTasksManager runs again and again, for one thread."""
    return [*open_crawling(settings, operations), *open_processing(settings, operations)]


def open_processing(settings: ServiceSettings, operations: Operations) -> Sequence[Periodic]:
    """Return the process PROCESS: crawling need not wait while pages are scraped."""
    closing = ExitStack()
    guard = Guard(settings.guard)
    process = processing_periodic(settings, operations, closing, guard=guard)
    return [replace(process, close=closing.close)]


def open_crawling(settings: ServiceSettings, operations: Operations) -> Sequence[Periodic]:
    """Return all processes but PROCESS."""
    closing = ExitStack()
    guard = Guard(settings.guard)
    crawling = Crawling(settings, guard)
    closing.callback(crawling.close)
    periods = settings.crawling
    return [
        Periodic(
            "CRAWL",
            periods.period_seconds,
            crawling.crawl,
            closing.close,
            complaints=crawling.complaints,
        ),
        Periodic(
            "BATCHES",
            periods.check_period_seconds,
            crawling.check,
            complaints=crawling.complaints,
        ),
        Periodic("RETURN", settings.returning.period_seconds, crawling.give_back),
        *beside_crawling(settings, operations, closing, guard=guard),
    ]
