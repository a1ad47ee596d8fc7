"""The crawler application: the ring, driven by batches (S3.43)."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.archive_sync import ArchiveSync
from gossamer.crawl.coordinator import Coordinator
from gossamer.crawl.launch import worker_count
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.open_files import fitting_concurrency
from gossamer.crawl.pipeline import Ground, Summary, crew_of, locked, summary_of, wired
from gossamer.crawl.progress import Progress
from gossamer.crawl.report_log import ReportLog, begin_run
from gossamer.crawl.signals import signals
from gossamer.crawl.stops import Stops
from gossamer.crawl.workspace import Workspace
from gossamer.messages import Findings
from gossamer.service.request_files import FOLDER, RequestFiles
from gossamer.service.verdict import service_verdict
from gossamer.store.repair import repair

_HANDLER: Final = "gossamer.service.reading:report"
_LOOK_SECONDS: Final = 0.1
_LULL_SECONDS: Final = 0.5


def run_engine(
    directory: Path,
    settings: Settings,
    *,
    once: bool = False,
    clock: Clock | None = None,
    stops: Stops | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    install_signals: bool = True,
) -> Summary:
    """Crawl what batches want; `once`: until nothing more is wanted."""
    clock = clock or SystemClock()
    stops = stops or Stops()
    settings = engine_settings(settings)
    workspace = Workspace(directory)
    began = clock.monotonic()

    def judge(findings: Findings, at: float) -> Verdict:
        return service_verdict(findings, settings, at)

    calm_collector()
    with (
        locked(workspace, clock, "service"),
        ServiceCatalog.open(workspace.catalog, settings.catalog, shared=True) as catalog,
        contextlib.closing(ReportLog(workspace.directory)) as log,
        contextlib.closing(ArchiveSync(workspace.archive)) as archive,
    ):
        catalog.use_files(RequestFiles(directory / FOLDER))
        repair(workspace.archive, catalog.known_good())
        recovery = begin_run(catalog, log, settings, judge, clock.time(), archive)
        ground = Ground(workspace, catalog, recovery, (), settings, stops, clock, log, archive)
        with wired(ground, partial(crew_of, ground, "", ())) as parts:
            parts.keeper.judge = judge
            coordinator = Coordinator(
                parts,
                on_progress,
                until_idle=once,
                lull_seconds=_LULL_SECONDS if once else None,
                look_seconds=3_600.0 if once else _LOOK_SECONDS,
            )
            with signals(stops, parts.spider) if install_signals else contextlib.nullcontext():
                stop = coordinator.run()
        progress = coordinator.progress()
    return summary_of(stop, progress, clock.monotonic() - began)


def engine_settings(settings: Settings) -> Settings:
    """Return the settings with which the ring fetches what batches want, and nothing else."""
    handlers = replace(
        settings.handlers, use=(_HANDLER, *settings.handlers.use), follow_links=False
    )
    crawl = replace(
        settings.crawl,
        workers=worker_count(settings.crawl.workers),
        concurrency=fitting_concurrency(settings.crawl.concurrency),
        scope="any",
        sitemaps=False,
        max_pages=0,
    )
    return replace(settings, handlers=handlers, crawl=crawl)
