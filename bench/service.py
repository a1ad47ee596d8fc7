"""How fast the crawling service crawls, beside the bare engine on the same site.

.venv/bin/python bench/service.py [--site openjdk] [--storage 2] [--batch 2000]

Both with concurrency 16 and two workers, catalog on, from nginx on loopback. The service selects
batches of new URLs, crawls them in its engine's process and keeps what each URL is to the site.
"""

import argparse
import tempfile
import time
from pathlib import Path

import sites
from msgspec.structs import replace

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import crawl_workspace
from gossamer.objects.enumerations import CrawlerType, Operation
from gossamer.objects.site import Filter, Site
from gossamer.service.catalog_operations import open_operations
from gossamer.service.engine_process import EngineProcess
from gossamer.service.engine_settings import engine_settings_of
from gossamer.service.settings import (
    ApplicationSettings,
    FetchSettings,
    ServiceSettings,
    StorageSettings,
)

BATCH_SECONDS = 360.0


def same_for_both(settings: Settings) -> Settings:
    """Return settings with what both have in common."""
    return replace(
        settings,
        crawl=replace(settings.crawl, concurrency=16, workers=2),
        urlserver=replace(settings.urlserver, host_concurrent=16, host_per_second=0.0),
        url=replace(settings.url, allow_private=True),
    )


def bare(folder: Path, url: str) -> tuple[int, float]:
    """Return pages and seconds of a crawl."""
    summary = crawl_workspace(folder / "bare", [url], same_for_both(Settings()))
    return summary.progress.pages, summary.seconds


def service(folder: Path, url: str, storage: int, size: int) -> tuple[int, float]:
    """Return pages and seconds of the service, from the hand-over to the last page."""
    settings = ServiceSettings(
        application=ApplicationSettings(data_dir=str(folder / "service")),
        storage=StorageSettings(content_storage_type=storage),
        fetch=FetchSettings(allow_private=True),
    )
    operations = open_operations(settings)
    engine_settings = same_for_both(engine_settings_of(settings))
    engine = EngineProcess(settings.data_dir, engine_settings)
    site = Site(urls=[url], request_delay=0, filters=[Filter(pattern=f"^{url}")])
    began = time.monotonic()
    operations.execute(Operation.SITE_NEW, site)
    engine.tend()
    catalog = ServiceCatalog.open(
        settings.data_dir / "catalog.db", engine_settings.catalog, shared=True
    )
    with catalog:
        while True:
            batch_id, _ = catalog.make_batch(
                CrawlerType.NORMAL, size, time.time(), BATCH_SECONDS, 2
            )
            if not batch_id and not catalog.open_batches(CrawlerType.NORMAL):
                break
            time.sleep(0.02)
        seconds = time.monotonic() - began
        query = "SELECT resources FROM service_site WHERE id <> '0'"
        (pages,) = catalog.database.connection.execute(query).fetchone()
    engine.stop()
    operations.close()
    return pages, seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", default="openjdk")
    parser.add_argument("--storage", type=int, default=2)
    parser.add_argument("--batch", type=int, default=2_000)
    arguments = parser.parse_args()
    if arguments.site not in sites.available():
        raise SystemExit(f"left out: {arguments.site} needs nginx and its Debian package")
    with (
        tempfile.TemporaryDirectory() as name,
        sites.serve(arguments.site, Path(name), 2_000) as served,
    ):
        alone = bare(Path(name), served.url)
        batched = service(Path(name), served.url, arguments.storage, arguments.batch)
    rates = [pages / seconds for pages, seconds in (alone, batched)]
    print(f"bare engine: {alone[0]:,} pages in {alone[1]:.1f} s = {rates[0]:,.0f} a second")
    print(f"service:     {batched[0]:,} pages in {batched[1]:.1f} s = {rates[1]:,.0f} a second")
    print(f"the service is at {rates[1] / rates[0]:.2f} of the bare engine")


if __name__ == "__main__":
    main()
