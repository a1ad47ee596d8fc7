"""The processor application with all that it needs on a workspace."""

from collections.abc import Callable
from contextlib import ExitStack

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.service.archived_raw import RawContents
from gossamer.service.data_folder import make_data_dir
from gossamer.service.opened_contents import open_contents
from gossamer.service.processing import Processor
from gossamer.service.scrape_process import ScrapeProcess
from gossamer.service.settings import ServiceSettings


def open_processor(
    settings: ServiceSettings,
    closing: ExitStack,
    clock: Clock | None = None,
    patience_seconds: float = 3_600.0,
    is_called_away: Callable[[], bool] = lambda: False,
) -> tuple[ServiceCatalog, Processor]:
    """Open what processing needs on a workspace; `closing` lets go of it."""
    clock = clock or SystemClock()
    workspace = make_data_dir(settings)
    catalog = ServiceCatalog.open(workspace.catalog, CatalogSettings(), shared=True)
    closing.callback(catalog.close)
    contents = open_contents(settings, closing, clock)
    scraper = closing.enter_context(ScrapeProcess())
    reader = RawContents(catalog, contents, workspace.archive)
    processor = Processor(
        catalog,
        contents,
        scraper.scrape,
        read_raw=reader,
        clock=clock,
        patience_seconds=patience_seconds,
        is_called_away=is_called_away,
    )
    return catalog, processor
