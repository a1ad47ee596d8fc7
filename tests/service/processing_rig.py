"""A workspace of the service whose pages are made up: what crawling would bring is put in."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import wrong_counters
from gossamer.clock import ManualClock
from gossamer.config.catalog import CatalogSettings
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.coding import decode, decode_answer, encode
from gossamer.objects.enumerations import CrawlStatus, Operation
from gossamer.objects.normal import identified_site, url_md5
from gossamer.objects.site import Properties, Property, Site, SiteStatus, SiteUpdate
from gossamer.objects.url import URL, URLStatus, URLUpdate
from gossamer.service.catalog_operations import CatalogOperations
from gossamer.service.opened_contents import open_contents
from gossamer.service.operations import Operations, Periodic
from gossamer.service.processing import Processor, Scrape
from gossamer.service.processing_task import processing_periodic
from gossamer.service.recrawling import beside_crawling
from gossamer.service.scrape_process import scraped
from gossamer.service.settings import ApplicationSettings, ServiceSettings, StorageSettings

ROOT = "http://a.example/"
PARENT = "ab" * 16
PAGE = (
    b"<html><head><title>Storks return to the valley</title></head><body><article>"
    b"<h1>Storks return to the valley</h1>"
    + b"".join(
        b"<p>On day %d the storks were seen again above the river, and people of the valley came "
        b"out of their houses to look at them for a long while.</p>" % day
        for day in range(1, 9)
    )
    + b"</article></body></html>"
)
FEED = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>Valley</title>
<link>http://a.example/</link>
<item><title>First</title><link>http://a.example/first</link><description>One.</description>
<pubDate>Mon, 05 Jan 2026 10:00:00 GMT</pubDate></item>
<item><title>Second</title><link>http://b.example/second</link><description>Two.</description></item>
</channel></rss>"""


class Wired:
    """Operations as the daemon's threads ask for them: everything goes over as JSON."""

    def __init__(self, inner: CatalogOperations) -> None:
        self._inner = inner

    def execute(self, operation: Operation, payload: object) -> object:
        answer = self._inner.execute(operation, decode(operation, encode(payload)))
        return decode_answer(operation, encode(answer))

    def close(self) -> None:
        self._inner.close()


class Workshop:
    """A catalog with contents beside it, operations on both, and a clock that stands still."""

    def __init__(self, folder: Path, **storage: int) -> None:
        self.clock = ManualClock()
        self.settings = ServiceSettings(
            application=ApplicationSettings(data_dir="."),
            storage=StorageSettings(**storage),
            folder=folder,
        )
        self._closing = ExitStack()
        self.catalog = ServiceCatalog.open(folder / "catalog.db", CatalogSettings(), shared=True)
        self._closing.callback(self.catalog.close)
        self.contents = open_contents(self.settings, self._closing, self.clock)
        self.contents.create_site("0")
        self.operations = Wired(
            CatalogOperations(self.catalog, self.contents, self.settings, self.clock, ExitStack())
        )

    @property
    def now(self) -> float:
        return self.clock.time()

    def site(self, *roots: str, properties: dict[str, str] | None = None, **fields: Any) -> str:
        """Make a site; return its id."""
        usual = {"PROCESS_CTYPES": "text/html", **(properties or {})}
        made = [Property(name=name, value=value) for name, value in usual.items()]
        site = identified_site(
            Site(urls=list(roots or (ROOT,)), properties=Properties(made), **fields)
        )
        self.do(Operation.SITE_NEW, site)
        return site.id

    def change(self, site_id: str, **fields: Any) -> None:
        """Change a site."""
        self.do(Operation.SITE_UPDATE, SiteUpdate(id=site_id, **fields))

    def crawled(
        self, site_id: str, url: str, body: bytes = PAGE, *, headers: bytes = b"", **fields: Any
    ) -> str:
        """Enter a URL as crawling leaves it; return its md5."""
        md5 = url_md5(url)
        self.do(Operation.URL_NEW, [URL(url=url, site_id=site_id, parent_md5=PARENT)])
        values: dict[str, Any] = {
            "status": CrawlStatus.CRAWLED,
            "crawled": 1,
            "size": len(body),
            "crawling_time": 500,
            "total_time": 500,
            "http_code": 200,
            "content_type": "text/html",
            "charset": "utf-8",
            **fields,
        }
        self.do(Operation.URL_UPDATE, [URLUpdate(site_id=site_id, url_md5=md5, **values)])
        if body:
            self.contents.put_raw(
                site_id, md5, self.now, body=body, headers=headers, request=None, url=url
            )
            self.contents.sync()
        return md5

    def spoil(self, site_id: str, name: str, value: str) -> None:
        """Give a property a value that would be refused."""
        self.query(
            "INSERT INTO service_property (site_id, name, value, cdate) "
            "SELECT site_id, ?, ?, 0 FROM service_site WHERE id = ?",
            *(name, value, site_id),
        )

    def do(self, operation: Operation, payload: object) -> Any:
        """Carry out an operation that must succeed."""
        answer = self.operations.execute(operation, payload)
        assert not getattr(answer, "error_code", 0), answer
        return answer

    def url(self, site_id: str, url: str) -> URL:
        """Return a URL as it stands."""
        (found,) = self.do(Operation.URL_STATUS, [URLStatus(site_id=site_id, url=url)])
        assert isinstance(found, URL)
        return found

    def status(self, site_id: str) -> Site:
        """Return a site as it stands."""
        site = self.do(Operation.SITE_STATUS, SiteStatus(id=site_id))
        assert isinstance(site, Site)
        return site

    def processor(self, scrape: Scrape = scraped, **more: Any) -> Processor:
        return Processor(self.catalog, self.contents, scrape, clock=self.clock, **more)

    def content(self, site_id: str, md5: str) -> Any:
        """Return the processed content of a URL; None if there is none."""
        stored = self.contents.processed(site_id, md5)
        return None if stored is None else msgspec.json.decode(stored[0])

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.catalog.database.connection.execute(sql, values).fetchall()

    def close(self, *, counters: bool = True) -> None:
        """End; the accounting must be right."""
        assert not counters or wrong_counters(self.catalog.database) == []
        assert self.catalog.check() == []
        self._closing.close()


def open_periodics(settings: ServiceSettings, operations: Operations) -> list[Periodic]:
    """Return the processes beside crawling, for a daemon."""
    closing = ExitStack()
    return [
        processing_periodic(settings, operations, closing),
        *beside_crawling(settings, operations, closing),
    ]


def batch(site_id: str, *md5s: str, **item: Any) -> Batch:
    return Batch(items=[BatchItem(url_id=md5, site_id=site_id, **item) for md5 in md5s])
