"""What the map needs of pages that another command fetched: looked at again, in the archive."""

from pathlib import Path

from gossamer.catalog.catalog import SiteCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.documents import visited_page
from gossamer.errors import StoreError
from gossamer.site.observation import Observation
from gossamer.site.observe import observe
from gossamer.url.canonical import Joiner


class Recall:
    """Reads documents back and observes them as a worker would have."""

    def __init__(self, archive: Path, catalog: SiteCatalog, settings: Settings) -> None:
        self._archive = archive
        self._catalog = catalog
        self._settings = settings
        self._joiner = Joiner(settings.url)

    def observation(self, doc_id: int) -> Observation | None:
        """Return what is to be seen in a document; None if its bytes are not there."""
        row = self._catalog.row(doc_id)
        if row is None or row.fetch is None:
            return None
        try:
            page = visited_page(self._archive, row, row.fetch, self._settings, self._joiner)
        except StoreError:
            return None
        return observe(page)[0]
