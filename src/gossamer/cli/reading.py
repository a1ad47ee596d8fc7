"""How commands look into a workspace while it may be in use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.crawl.workspace import Workspace
from gossamer.errors import CatalogError, GossamerError


@contextmanager
def open_workspace(directory: Path) -> Iterator[SqliteCatalog]:
    """Open the catalog of a workspace for reading; a crawl that runs there goes on undisturbed."""
    workspace = Workspace(directory).require()
    with SqliteCatalog.open(workspace.catalog, CatalogSettings(), read_only=True) as catalog:
        try:
            yield catalog
        except (GossamerError, OSError):
            raise
        except Exception as error:
            # Rows that cannot be may have been read without a complaint of the database.
            if catalog.is_sound():
                raise
            raise CatalogError(
                f"cannot read catalog {workspace.catalog}: the file is damaged; restore a copy"
            ) from error
