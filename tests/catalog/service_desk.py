"""What the tests of the service's catalog share: short ways to make objects and look at rows."""

from pathlib import Path

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import wrong_counters
from gossamer.catalog.service_sites import new_site, site_status
from gossamer.catalog.service_urls import new_urls, update_urls, url_status
from gossamer.config.catalog import CatalogSettings
from gossamer.objects.enumerations import CrawlStatus, ItemStatus
from gossamer.objects.normal import identified_site, url_md5
from gossamer.objects.site import Site, SiteStatus
from gossamer.objects.url import URL, URLStatus, URLUpdate

NOW = 1_800_000_000.0
PARENT = "ab" * 16


def open_catalog(folder: Path) -> ServiceCatalog:
    return ServiceCatalog.open(folder / "catalog.db", CatalogSettings(), shared=True)


class Desk:
    """A catalog with shortcuts; its accounts are checked whenever a test asks."""

    def __init__(self, folder: Path) -> None:
        self.catalog = open_catalog(folder)
        self.database = self.catalog.database

    def site(self, *urls: str, now: float = NOW, **fields) -> str:
        site = identified_site(Site(urls=list(urls or ("http://a.example/",)), **fields))
        new_site(self.catalog, site, now)
        return site.id

    def add(self, site_id: str, *urls: str, now: float = NOW, **fields) -> None:
        made = [URL(url=url, site_id=site_id, **{"parent_md5": PARENT, **fields}) for url in urls]
        assert set(new_urls(self.catalog, made, now)) == {ItemStatus.INSERTED}

    def crawled(self, site_id: str, url: str, now: float = NOW, **fields) -> None:
        values = {
            "status": CrawlStatus.CRAWLED,
            "crawled": 1,
            "size": 1_000,
            "crawling_time": 500,
            "content_type": "text/html",
            "tc_date": "NOW()",
            **fields,
        }
        update = URLUpdate(site_id=site_id, url_md5=url_md5(url), **values)
        assert update_urls(self.catalog, [update], now) == [True]

    def status(self, site_id: str, **fields) -> Site:
        return site_status(self.database, SiteStatus(id=site_id, **fields))

    def url(self, site_id: str, url: str) -> URL | None:
        found = url_status(self.database, [URLStatus(url=url, site_id=site_id)])
        return found[0] if found else None

    def urls(self, site_id: str) -> list[str]:
        return sorted(row[0] for row in self.rows(_URLS, (site_id,)))

    def deleted(self, site_id: str, state: int | None = None) -> list[str]:
        rows = self.rows(_DELETED, (site_id,))
        return sorted(row[0] for row in rows if state is None or row[1] == state)

    def rows(self, query: str, parameters: tuple = ()) -> list[tuple]:
        with self.database.doing("look") as connection:
            return connection.execute(query, parameters).fetchall()

    def is_sound(self) -> bool:
        assert wrong_counters(self.database) == []
        assert self.catalog.check() == []
        return True

    def close(self) -> None:
        self.catalog.close()


_URLS = (
    "SELECT u.url FROM service_site s JOIN member m ON m.set_id = s.set_id "
    "JOIN url u ON u.doc_id = m.doc_id WHERE s.id = ?"
)
_DELETED = (
    "SELECT u.url, t.state FROM service_site s JOIN url_set t ON t.site_id = s.site_id "
    "JOIN member m ON m.set_id = t.set_id JOIN url u ON u.doc_id = m.doc_id "
    "WHERE s.id = ? AND t.state > 0"
)
