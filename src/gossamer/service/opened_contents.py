"""Opens the contents of a workspace, by the setting `content_storage_type`.

W/raw/<site>/…     raw contents in files (types 0 and 1)
W/db/              processed contents: <site>.db each (types 0 and 2), or one file of tables (1)
W/archive/         raw contents in WARC files (type 2)
W/db/pointers.db   which of them belong to which URL
"""

import itertools
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from gossamer.catalog.connection import open_for_reading, open_for_writing
from gossamer.clock import Clock
from gossamer.config.spider import SpiderSettings
from gossamer.config.store import StoreSettings
from gossamer.crawl.documents import understood
from gossamer.crawl.workspace import Workspace
from gossamer.messages import Pointer
from gossamer.service.settings import ServiceSettings
from gossamer.store.content_storage import StorageType, WarcContents, open_files
from gossamer.store.contents import Contents
from gossamer.store.key_value import KeyValueFiles
from gossamer.store.warc import WarcStore

_CACHE_BYTES: Final = 2 << 20
_NUMBERS: Final = itertools.count(1)
_POINTERS: Final = (
    "CREATE TABLE IF NOT EXISTS pointer (site TEXT NOT NULL, md5 TEXT NOT NULL, file TEXT NOT NULL,"
    " offset INTEGER NOT NULL, length INTEGER NOT NULL, PRIMARY KEY (site, md5, file, offset)) "
    "STRICT, WITHOUT ROWID"
)
# The last fetch of a URL, or of any when a site was emptied (then without md5), that is not shown.
_HIDDEN: Final = (
    "CREATE TABLE IF NOT EXISTS hidden (site TEXT NOT NULL, md5 TEXT NOT NULL, fetch_id INTEGER"
    " NOT NULL, PRIMARY KEY (site, md5)) STRICT, WITHOUT ROWID"
)
_HIDE: Final = "INSERT OR REPLACE INTO hidden VALUES (?, ?, ?)"
_LAST_OF_MEMBER: Final = """
SELECT max(fetch_id)
FROM url
JOIN service_site ON service_site.id = :site
JOIN member ON member.set_id = service_site.set_id AND member.doc_id = url.doc_id
JOIN site_content ON site_content.site_id = service_site.site_id
    AND site_content.doc_id = url.doc_id
WHERE url.md5 = :md5
GROUP BY url.doc_id
"""

# What was fetched since the URL is a member of the site and since it started again: what a cleanup
# removed does not come back.
_CRAWLED: Final = """
SELECT file.name, fetch.offset, fetch.length
FROM url
JOIN service_site ON service_site.id = :site
JOIN member ON member.set_id = service_site.set_id AND member.doc_id = url.doc_id
JOIN site_content ON site_content.site_id = service_site.site_id
    AND site_content.doc_id = url.doc_id
JOIN fetch ON fetch.fetch_id = site_content.fetch_id
JOIN file USING (file_id)
WHERE url.md5 = :md5 AND fetch.fetched_at >= member.cdate AND fetch.fetch_id > :hidden
ORDER BY fetch.fetch_id
"""


class PointerFile:
    """Where in the archive the raw contents of URLs are, kept in a file of its own."""

    def __init__(self, path: Path, catalog: Path) -> None:
        self._database = open_for_writing(str(path), _CACHE_BYTES, shared=True)
        self._crawled = open_for_reading(str(catalog), _CACHE_BYTES)
        with self._database.writing("open") as connection:
            connection.execute(_POINTERS)
            connection.execute(_HIDDEN)

    def of(self, site_id: str, md5: str) -> Sequence[Pointer]:
        """Return where the versions of a URL are: what was put, and what was crawled."""
        query = "SELECT file, offset, length FROM pointer WHERE site = ? AND md5 = ?"
        with self._database.doing("look for contents") as connection:
            put = [Pointer(*row) for row in connection.execute(query, (site_id, md5))]
            query = (
                "SELECT coalesce(max(fetch_id), 0) FROM hidden WHERE site = ? AND md5 IN (?, '')"
            )
            (hidden,) = connection.execute(query, (site_id, md5)).fetchone()
        with self._crawled.doing("look for contents") as connection:
            key = {"site": site_id, "md5": bytes.fromhex(md5), "hidden": hidden}
            return put + [Pointer(*row) for row in connection.execute(_CRAWLED, key)]

    def add(self, site_id: str, md5: str, pointer: Pointer) -> None:
        """Note a version; it is synced."""
        query = "INSERT OR REPLACE INTO pointer VALUES (?, ?, ?, ?, ?)"
        row = (site_id, md5, pointer.file, pointer.offset, pointer.length)
        with self._database.writing("note a content") as connection:
            connection.execute(query, row)

    def hide(self, site_id: str, md5: str) -> bool:
        """Forget the versions of a URL; return whether there were any."""
        key = {"site": site_id, "md5": bytes.fromhex(md5)}
        with self._crawled.doing("look for contents") as connection:
            # Only of one that stays: if it leaves and comes back, it is another member.
            last = connection.execute(_LAST_OF_MEMBER, key).fetchone()
        query = "DELETE FROM pointer WHERE site = ? AND md5 = ?"
        with self._database.writing("forget contents") as connection:
            if last is not None:
                connection.execute(_HIDE, (site_id, md5, *last))
            return connection.execute(query, (site_id, md5)).rowcount > 0

    def hide_site(self, site_id: str) -> None:
        """Forget the versions of all URLs of a site."""
        with self._crawled.doing("look for contents") as connection:
            last = connection.execute("SELECT coalesce(max(fetch_id), 0) FROM fetch").fetchone()
        with self._database.writing("forget contents") as connection:
            connection.execute("DELETE FROM hidden WHERE site = ?", (site_id,))
            connection.execute(_HIDE, (site_id, "", *last))
            connection.execute("DELETE FROM pointer WHERE site = ?", (site_id,))

    def bytes_of(self, site_id: str) -> int:
        """Return the bytes of all versions of a site in the archive."""
        query = "SELECT coalesce(sum(length), 0) FROM pointer WHERE site = ?"
        with self._database.doing("count contents") as connection:
            return int(connection.execute(query, (site_id,)).fetchone()[0])

    def close(self) -> None:
        """Let go of the files."""
        self._database.close()
        self._crawled.close()


def open_contents(settings: ServiceSettings, closing: ExitStack, clock: Clock) -> Contents:
    """Open the contents; `closing` lets go of them, in the right order."""
    folder = settings.data_dir
    storage = StorageType(settings.storage.content_storage_type)
    if storage is not StorageType.WARC:
        contents = open_files(
            storage,
            folder / "raw",
            folder / "db",
            keeps_old=settings.storage.keep_old_resources,
        )
        closing.callback(contents.close)
        return contents
    processed = KeyValueFiles(folder / "db")
    # A name of its own for each writer: several threads and processes share the folder.
    writer = f"put_{os.getpid()}_{next(_NUMBERS)}"
    store = WarcStore(folder / "archive", writer, StoreSettings(), clock)
    closing.callback(store.close)
    pointers = PointerFile(folder / "db" / "pointers.db", Workspace(folder).catalog)
    closing.callback(pointers.close)
    spider = SpiderSettings()
    archived = WarcContents(
        store, pointers, processed, decode=lambda stored: understood(stored, spider)[1]
    )
    closing.callback(archived.close)
    return archived
