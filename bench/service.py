"""How fast the crawling service crawls, beside the bare engine on the same site.

.venv/bin/python bench/service.py [--site openjdk] [--storage 0 1 2] [--batch 2000] [--turns 1]

All with concurrency 16 and two workers, catalog on, from nginx on loopback. The service selects
batches of new URLs, crawls them in its engine's process and keeps what each URL is to the site;
content storage types 0 and 1 keep raw contents as files, 2 in the archive. Each turn runs the bare
engine, then each type: on a machine that others use, compare within turns (`--site generated` has
2,000 pages, for short ones).

What the runs wrote is deleted at the end only: ext4 passes over inodes that were freed in the last
minutes, one by one, so that after a large deletion new files cost up to ten times as much.
"""

import argparse
import statistics
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
from gossamer.store.content_storage import StorageType

BATCH_SECONDS = 360.0
BARE = "bare engine"


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


def turn(folder: Path, url: str, storages: list[int], size: int) -> dict[str, float]:
    """Run everything once, print it, and return pages a second by name."""
    rates = {}
    runs = [(BARE, bare, ())]
    runs += [(f"service, {StorageType(each).name}", service, (each, size)) for each in storages]
    for name, run, arguments in runs:
        pages, seconds = run(folder / name, url, *arguments)
        rates[name] = pages / seconds
        print(f"{name}: {pages:,} pages in {seconds:.1f} s = {rates[name]:,.0f} a second")
    return rates


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", default="openjdk")
    parser.add_argument("--storage", type=int, nargs="+", default=[0, 1, 2], choices=(0, 1, 2))
    parser.add_argument("--batch", type=int, default=2_000)
    parser.add_argument("--turns", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.site not in sites.available():
        raise SystemExit(f"left out: {arguments.site} needs nginx and its Debian package")
    with (
        tempfile.TemporaryDirectory() as name,
        sites.serve(arguments.site, Path(name), 2_000) as served,
    ):
        turns = [
            turn(Path(name) / f"turn {number}", served.url, arguments.storage, arguments.batch)
            for number in range(arguments.turns)
        ]
    for kind in list(turns[0])[1:]:
        share = statistics.median(rates[kind] / rates[BARE] for rates in turns)
        print(f"{kind} is at {share:.2f} of the bare engine")


if __name__ == "__main__":
    main()
