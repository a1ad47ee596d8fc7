"""The three content storages of the service, put together from raw and processed contents."""

from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from gossamer.errors import StoreError
from gossamer.messages import Fetch, Pointer, Visit
from gossamer.outcomes import Outcome
from gossamer.store.contents import (
    Contents,
    RawContent,
    Which,
    md5_name,
    selected,
    site_name,
)
from gossamer.store.disk import System
from gossamer.store.key_value import ContentTables, KeyValueFiles, ProcessedContents
from gossamer.store.raw_files import RawFiles
from gossamer.store.store import Store, StoredDocument


class StorageType(IntEnum):
    """The setting "content storage type"; stored, so never change or reuse a number."""

    KEY_VALUE = 0
    TABLE = 1
    WARC = 2


class Pointers(Protocol):
    """Which documents of the archive are the raw contents of which URL: the catalog's business."""

    def of(self, site_id: str, md5: str) -> Sequence[Pointer]:
        """Return where the versions of a URL are."""
        ...

    def add(self, site_id: str, md5: str, pointer: Pointer) -> None:
        """Note a version; it is synced."""
        ...

    def hide(self, site_id: str, md5: str) -> bool:
        """Forget the versions of a URL; return whether there were any."""
        ...

    def hide_site(self, site_id: str) -> None:
        """Forget the versions of all URLs of a site."""
        ...

    def bytes_of(self, site_id: str) -> int:
        """Return the bytes of all versions of a site in the archive."""
        ...


class FileContents:
    """Storage types 0 and 1: raw contents in files, processed ones in SQLite."""

    def __init__(self, raw: RawFiles, processed: ProcessedContents) -> None:
        self._raw = raw
        self._processed = processed

    def put_raw(
        self,
        site_id: str,
        md5: str,
        stamp: float,
        *,
        body: bytes,
        headers: bytes | None,
        request: bytes | None,
        meta: bytes | None = None,
        cookies: bytes | None = None,
        url: str = "",  # noqa: ARG002 - names of files come from the md5 alone
    ) -> None:
        """Take a version of a raw content."""
        parts = {"headers": headers, "request": request, "meta": meta, "cookies": cookies}
        self._raw.put(site_id, md5, stamp, body, parts)

    def sync(self) -> None:
        """Make every raw content put so far durable."""
        self._raw.sync()

    def raw(self, site_id: str, md5: str, which: Which = "last") -> list[RawContent]:
        """Return versions of a raw content, the oldest first."""
        return self._raw.versions(site_id, md5, which)

    def put_processed(self, site_id: str, md5: str, json_bytes: bytes, now: float) -> None:
        """Keep the processed content of a URL."""
        self._processed.put(site_id, md5, json_bytes, now)

    def processed(self, site_id: str, md5: str) -> tuple[bytes, float] | None:
        """Return the processed content of a URL and when it was made."""
        return self._processed.get(site_id, md5)

    def delete(self, site_id: str, md5: str) -> bool:
        """Remove all contents of a URL; return whether there were processed ones."""
        self._raw.delete(site_id, md5)
        return self._processed.delete(site_id, md5)

    def create_site(self, site_id: str) -> None:
        """Make the data folder of a site and its store of processed contents."""
        self._raw.create_site(site_id)
        self._processed.create_site(site_id)

    def clear_site(self, site_id: str) -> None:
        """Remove all contents of a site; an empty storage for it remains."""
        self.drop_site(site_id)
        self.create_site(site_id)

    def drop_site(self, site_id: str) -> None:
        """Remove a site with all its contents."""
        self._raw.remove_site(site_id)
        self._processed.remove_site(site_id)

    def size_of(self, site_id: str) -> int:
        """Return the bytes of a site's raw contents."""
        return self._raw.size_of(site_id)

    def sweep(self, most: int = 1_000) -> bool:
        """Free the space of removed sites, as far as `most` goes; return whether more wait."""
        more_raw = self._raw.sweep(most)
        return self._processed.sweep(most) or more_raw

    def close(self) -> None:
        """Sync."""
        self._raw.close()


class WarcContents:
    """Storage type 2: raw contents in the archive, found through pointers kept elsewhere.

    An archive only grows: what is deleted is hidden, by forgetting where it is. Bodies come as they
    were received unless `decode` undoes content codings. The metadata of the archive takes the
    place of `meta`; cookies are in the headers.
    """

    def __init__(
        self,
        store: Store,
        pointers: Pointers,
        processed: ProcessedContents,
        decode: Callable[[StoredDocument], bytes] | None = None,
    ) -> None:
        self._store = store
        self._pointers = pointers
        self._processed = processed
        self._decode = decode or _raw_of
        self._waiting: list[tuple[str, str, Pointer]] = []

    def put_raw(
        self,
        site_id: str,
        md5: str,
        stamp: float,
        *,
        body: bytes,
        headers: bytes | None,
        request: bytes | None,
        meta: bytes | None = None,  # noqa: ARG002 - see the class
        cookies: bytes | None = None,  # noqa: ARG002
        url: str = "",
    ) -> None:
        """Take a version of a raw content."""
        site, md5 = site_name(site_id), md5_name(md5)
        fetch = Fetch(
            Visit(0, 0, "", url or f"urn:md5:{md5}"),
            Outcome.OK,
            request_head=request or b"",
            head=headers or b"",
            raw=body,
            fetched_at=stamp,
        )
        self._waiting.append((site, md5, self._store.append(fetch).pointer))

    def sync(self) -> None:
        """Make every raw content put so far durable, and note where it is."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._store.sync()
            for site, md5, pointer in waiting:
                self._pointers.add(site, md5, pointer)

    def raw(self, site_id: str, md5: str, which: Which = "last") -> list[RawContent]:
        """Return versions of a raw content, the oldest first."""
        self.sync()
        places = self._pointers.of(site_name(site_id), md5_name(md5))
        documents = [self._store.read(place) for place in places]
        # One of the same moment takes the place of the one before.
        versions = {document.fetched_at: self._content(document) for document in documents}
        return selected([versions[moment] for moment in sorted(versions)], which)

    def put_processed(self, site_id: str, md5: str, json_bytes: bytes, now: float) -> None:
        """Keep the processed content of a URL."""
        self._processed.put(site_id, md5, json_bytes, now)

    def processed(self, site_id: str, md5: str) -> tuple[bytes, float] | None:
        """Return the processed content of a URL and when it was made."""
        return self._processed.get(site_id, md5)

    def delete(self, site_id: str, md5: str) -> bool:
        """Hide the raw contents of a URL and remove the processed one; return if there was one."""
        self.sync()
        self._pointers.hide(site_name(site_id), md5_name(md5))
        return self._processed.delete(site_id, md5)

    def create_site(self, site_id: str) -> None:
        """Make the store of processed contents of a site."""
        self._processed.create_site(site_id)

    def clear_site(self, site_id: str) -> None:
        """Hide and remove all contents of a site; an empty storage for it remains."""
        self.drop_site(site_id)
        self.create_site(site_id)

    def drop_site(self, site_id: str) -> None:
        """Hide and remove a site with all its contents."""
        self.sync()
        self._pointers.hide_site(site_name(site_id))
        self._processed.remove_site(site_id)

    def size_of(self, site_id: str) -> int:
        """Return the bytes of a site's raw contents in the archive."""
        self.sync()
        return self._pointers.bytes_of(site_name(site_id))

    def sweep(self, most: int = 1_000) -> bool:
        """Free the space of removed sites, as far as `most` goes; return whether more wait."""
        return self._processed.sweep(most)

    def close(self) -> None:
        """Sync; the archive is its owner's to close."""
        self.sync()

    def _content(self, document: StoredDocument) -> RawContent:
        meta = "".join(f"{name}: {value}\r\n" for name, value in document.metadata)
        return RawContent(
            document.fetched_at,
            self._decode(document),
            document.head or None,
            document.request_head or None,
            meta.encode() or None,
        )


def open_files(
    storage: StorageType,
    data_folder: Path,
    db_folder: Path,
    *,
    system: System | None = None,
    keeps_old: bool = True,
) -> Contents:
    """Open storage type 0 or 1; type 2 is a WarcContents over the archive of a workspace."""
    processed: ProcessedContents
    if storage is StorageType.WARC:
        raise StoreError("content storage type 2 has no files of its own: use the archive")
    if storage is StorageType.TABLE:
        processed = ContentTables(db_folder)
    else:
        processed = KeyValueFiles(db_folder)
    return FileContents(RawFiles(data_folder, system=system, keeps_old=keeps_old), processed)


def _raw_of(document: StoredDocument) -> bytes:
    return document.raw or b""
