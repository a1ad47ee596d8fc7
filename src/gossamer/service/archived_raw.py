"""Raw contents that only the archive has: found by the catalog's pointer of the last fetch."""

from pathlib import Path
from typing import Final

from gossamer.catalog.catalog import FetchRow
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import find_document
from gossamer.config.spider import SpiderSettings
from gossamer.crawl.documents import understood
from gossamer.objects.enumerations import URLKey
from gossamer.objects.url import URL
from gossamer.store.contents import Contents, RawContent
from gossamer.store.reading import read_document

_MOST_HOPS: Final = 16


class RawContents:
    """Finds raw contents where they are: in the storage of the service, or in the archive."""

    def __init__(
        self,
        catalog: ServiceCatalog,
        contents: Contents,
        archive: Path,
        settings: SpiderSettings | None = None,
    ) -> None:
        self._catalog = catalog
        self._contents = contents
        self._archive = archive
        self._settings = settings or SpiderSettings()

    def __call__(self, url: URL) -> RawContent | None:
        """Return the newest version; None if there is none."""
        versions = self._contents.raw(url.site_id, url.url_md5, "last")
        return versions[-1] if versions else self._archived(url)

    def _archived(self, url: URL) -> RawContent | None:
        """Return what the last good fetch brought, where redirects led."""
        text, key = url.url_md5, URLKey.MD5
        for _ in range(_MOST_HOPS):
            with self._catalog.database.doing("look for a URL") as connection:
                doc_id = find_document(connection, text, key)
            tries = [] if doc_id is None else self._catalog.history(doc_id)
            if tries and tries[0].redirect_to:
                text, key = tries[0].redirect_to, URLKey.URL
                continue
            good = next((each for each in tries if _is_good(each)), None)
            return None if good is None else self._read(good)
        return None

    def _read(self, fetch: FetchRow) -> RawContent | None:
        assert fetch.pointer is not None
        stored = read_document(self._archive, fetch.pointer)
        if stored.raw is None:
            return None
        _, body = understood(stored, self._settings)
        return RawContent(fetch.fetched_at, body, headers=stored.head, request=stored.request_head)


def _is_good(fetch: FetchRow) -> bool:
    return fetch.pointer is not None and 200 <= fetch.status < 300
