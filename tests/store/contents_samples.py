"""Content storages of every type, over fresh folders."""

from collections.abc import Sequence

from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.messages import Pointer
from gossamer.store.content_storage import StorageType, WarcContents, open_files
from gossamer.store.key_value import KeyValueFiles
from gossamer.store.warc import WarcStore

SITE = "0123456789abcdef0123456789abcdef"
OTHER = "f" * 32
ONE, TWO = "a" * 32, "ab" + "0" * 30
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
NOW = 1_794_798_000.123456


class MemoryPointers:
    """Pointers in memory: the promise in its simplest form."""

    def __init__(self) -> None:
        self._pointers: dict[tuple[str, str], list[Pointer]] = {}

    def of(self, site_id: str, md5: str) -> Sequence[Pointer]:
        return tuple(self._pointers.get((site_id, md5), ()))

    def add(self, site_id: str, md5: str, pointer: Pointer) -> None:
        self._pointers.setdefault((site_id, md5), []).append(pointer)

    def hide(self, site_id: str, md5: str) -> bool:
        return self._pointers.pop((site_id, md5), None) is not None

    def hide_site(self, site_id: str) -> None:
        for key in [key for key in self._pointers if key[0] == site_id]:
            del self._pointers[key]

    def bytes_of(self, site_id: str) -> int:
        return sum(
            pointer.length
            for key, pointers in self._pointers.items()
            for pointer in pointers
            if key[0] == site_id
        )


class Storage:
    """A storage that can be opened again and again, as by other processes."""

    def __init__(self, storage, folder):
        self.storage = StorageType(storage)
        self.folder = folder
        self.pointers = MemoryPointers()
        self.archive = None
        self.opened = []

    def open(self):
        if self.storage is StorageType.WARC:
            if self.archive is None:
                self.archive = WarcStore(self.folder / "warc", "w1", StoreSettings(), ManualClock())
            processed = KeyValueFiles(self.folder / "db")
            contents = WarcContents(self.archive, self.pointers, processed)
        else:
            contents = open_files(self.storage, self.folder / "data", self.folder / "db")
        self.opened.append(contents)
        return contents

    def close(self):
        for contents in self.opened:
            contents.close()
        if self.archive is not None:
            self.archive.close()


def put(contents, site=SITE, md5=ONE, stamp=NOW, body=b"<p>x", **more):
    more = {"headers": HEAD, "request": REQUEST} | more
    contents.put_raw(site, md5, stamp, body=body, **more)
