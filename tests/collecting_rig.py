"""Sites as clients make them, on the rig that makes up what visits bring."""

from pathlib import Path
from typing import Any

from gossamer.catalog.service_sites import new_site
from gossamer.catalog.service_urls import new_urls
from gossamer.objects.enumerations import ItemStatus
from gossamer.objects.error_mask import ErrorBit, bits_in
from gossamer.objects.normal import identified_site
from gossamer.objects.site import Filter, Properties, Property, Site
from gossamer.objects.url import URL
from sites_rig import Sites

HOME = "http://a.example/"


def links(*names: object) -> list[str]:
    """Return URLs on the host of HOME."""
    return [f"{HOME}{name}" for name in names]


class Collecting(Sites):
    """Sites of clients, and what is found on their pages."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.ids: dict[int, str] = {}

    def make_site(
        self,
        *roots: str,
        properties: dict[str, str] | None = None,
        filters: list[Filter] | None = None,
        **fields: Any,
    ) -> int:
        """Make a site as SITE_NEW does; return its set of URLs."""
        given = Properties(
            [Property(name=name, value=value) for name, value in (properties or {}).items()]
        )
        wanted = {"filters": filters} if filters is not None else {}
        made = Site(urls=list(roots or (HOME,)), properties=given, **wanted, **fields)
        site = identified_site(made)
        new_site(self.catalog, site, self.now)
        set_id = self.set_of(site.id)
        self.ids[set_id] = site.id
        return set_id

    def set_of(self, site_id: str) -> int:
        """Return the set of URLs of a site."""
        return int(self.query("SELECT set_id FROM service_site WHERE id = ?", site_id)[0][0])

    def set_property(self, set_id: int, name: str, value: str) -> None:
        """Give a site a property that nobody has checked."""
        self._add(
            "INSERT OR REPLACE INTO service_property (site_id, name, value, cdate) "
            "SELECT site_id, ?, ?, 0 FROM service_site WHERE set_id = ?",
            (name, value, set_id),
        )

    def add(self, set_id: int, *urls: str, **fields: Any) -> list[ItemStatus]:
        """Hand over URLs as URL_NEW does."""
        made = [URL(url=url, site_id=self.ids[set_id], **fields) for url in urls]
        return new_urls(self.catalog, made, self.now)

    def visit(self, *found: str, url: str = HOME, **more: Any) -> None:
        """Crawl what is new, of which one URL brings links and all others nothing."""
        self.make(100)
        for due in self.lease():
            brought = found if due.url == url else ()
            self.commit(self.bring(due, *brought, **(more if due.url == url else {})))

    def urls(self, set_id: int) -> set[str]:
        """Return the URLs of a site."""
        return set(self.members(set_id))

    def bits(self, set_id: int, url: str = HOME) -> list[ErrorBit]:
        """Return the bits in the error mask of a URL."""
        return bits_in(self.members(set_id, "error_mask")[url])

    def deleted(self, set_id: int) -> set[str]:
        """Return the URLs that a site has lost, and whose contents the purge removes."""
        rows = self.query(
            "SELECT url.url FROM url_set JOIN member USING (set_id) JOIN url USING (doc_id) "
            "JOIN service_site ON service_site.site_id = url_set.site_id "
            "WHERE service_site.set_id = ? AND url_set.state = 1",
            set_id,
        )
        return {row[0] for row in rows}
