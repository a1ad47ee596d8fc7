"""Operations of the crawling service in a workspace of a million URLs and a thousand sites.

.venv/bin/python bench/service_operations.py [--urls 1000000] [--sites 1000] [--batch 100000]

Half of the URLs belong to one large site, the others are spread evenly.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path

from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import CrawlStatus, FetchAlgorithm, Operation
from gossamer.objects.moments import NOW
from gossamer.objects.normal import url_md5
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Site, SiteCleanup, SiteStatus, SiteUpdate
from gossamer.objects.url import URL, URLStatus, URLUpdate
from gossamer.service.catalog_operations import CatalogOperations, open_operations
from gossamer.service.settings import ServiceSettings

FILL = 50_000
ASKED = 2_000
PARENT = "ab" * 16


def root(site: int) -> str:
    return f"http://s{site}.example/"


def page(number: int, sites: int) -> tuple[int, str]:
    """Return the site and the text of a URL: every other one is of site 0."""
    site = 0 if number % 2 else 1 + number // 2 % (sites - 1)
    return site, f"{root(site)}section/{number // 1000}/page-{number}.html"


def fill(operations: CatalogOperations, urls: int, sites: int) -> list[str]:
    ids = []
    for site in range(sites):
        operations.execute(Operation.SITE_NEW, Site(urls=[root(site)]))
        ids.append(url_md5(root(site)))
    for start in range(0, urls, FILL):
        pages = (page(number, sites) for number in range(start, min(start + FILL, urls)))
        batch = [URL(url=url, site_id=ids[site], parent_md5=PARENT) for site, url in pages]
        operations.execute(Operation.URL_NEW, batch)
    return ids


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1_000


def timed(operations: CatalogOperations, operation: Operation, payload: object) -> float:
    begun = time.perf_counter()
    operations.execute(operation, payload)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--sites", type=int, default=1_000)
    parser.add_argument("--batch", type=int, default=100_000)
    given = parser.parse_args()
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        operations = open_operations(ServiceSettings(folder=Path(folder)))
        begun = time.perf_counter()
        ids = fill(operations, given.urls, given.sites)
        seconds = time.perf_counter() - begun
        print(f"{given.urls} URLs in {given.sites} sites: filled in {seconds:.1f} s")

        numbers = [draw.randrange(given.urls) for _ in range(ASKED)]
        pages = [page(number, given.sites) for number in numbers]
        status = [
            timed(operations, Operation.URL_STATUS, [URLStatus(url=url, site_id=ids[site])])
            for site, url in pages
        ]
        print_times("URL_STATUS", status)
        # The large site among them as often as all others.
        chosen = [ids[0] if n % 2 else draw.choice(ids) for n in range(ASKED)]
        site_status = [
            timed(operations, Operation.SITE_STATUS, SiteStatus(id=site_id)) for site_id in chosen
        ]
        print_times("SITE_STATUS", site_status)

        fetch = URLFetch(
            sites_criterions=Criterions(where="State = 1 AND Id <> '0'"),
            urls_criterions=Criterions(
                where="Status = 1 AND State = 0", order_by="Priority DESC, Depth ASC"
            ),
            algorithm=FetchAlgorithm.PROPORTIONAL,
            max_urls=20,
            site_update=SiteUpdate(tc_date=NOW),
            url_update=URLUpdate(status=CrawlStatus.SELECTED_CRAWLING),
        )
        print_times(
            "URL_FETCH", [timed(operations, Operation.URL_FETCH, [fetch]) for _ in range(20)]
        )

        batch = [
            URL(url=f"{root(1)}fresh/{n}", site_id=ids[1], parent_md5=PARENT)
            for n in range(given.batch)
        ]
        print_once(operations, Operation.URL_NEW, batch, f"of {given.batch}")
        print_once(operations, Operation.URL_NEW, batch, f"of {given.batch} that are there")
        cleanup = [SiteCleanup(id=ids[0])]
        print_once(operations, Operation.SITE_CLEANUP, cleanup, "of the large site")
        operations.close()


def print_once(
    operations: CatalogOperations, operation: Operation, payload: object, what: str
) -> None:
    """Time one call; on a busy machine the time of the processor tells more."""
    before = time.process_time()
    seconds = timed(operations, operation, payload)
    busy = time.process_time() - before
    print(f"{operation.name} {what}: {seconds:.2f} s, {busy:.2f} s of them computing")


def print_times(name: str, times: list[float]) -> None:
    half, most = percentile(times, 0.5), percentile(times, 0.99)
    print(f"{name}: {half:.2f} ms in the middle, {most:.2f} ms for 99 of 100")


if __name__ == "__main__":
    main()
