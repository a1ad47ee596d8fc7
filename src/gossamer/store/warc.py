"""A store of WARC files in a folder that several writers share, each with files of its own.

Theory of operation. `append` compresses records and puts them in memory, in the order and at the
offsets that they will have in the file; `sync` writes and syncs what waits there, `write_out` only
writes it. Two locks:
`_memory` guards the waiting records and is held for moments, `_disk` is held while files are
written; who needs both takes `_disk` first. A file that has reached its size is finished by the
call after.

When the disk refuses anything, all that waits is dropped, every file of the moment is cut back to
what was promised, and the next append begins a new file: an fdatasync that failed is never repeated
and believed.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from gossamer.clock import Clock
from gossamer.config.store import StoreSettings
from gossamer.errors import StorageError, StoreError
from gossamer.messages import Fetch, Pointer
from gossamer.store import disk
from gossamer.store.names import OPEN_SUFFIX, check_writer, file_name, last_serial
from gossamer.store.reading import read_document
from gossamer.store.records import RecordWriter
from gossamer.store.repair import repair_file
from gossamer.store.store import Known, Stored, StoredDocument


class WarcStore:
    """Keeps documents as WARC 1.1, one gzip member a record."""

    def __init__(
        self,
        folder: Path,
        writer: str,
        settings: StoreSettings,
        clock: Clock,
        *,
        system: disk.System | None = None,
    ) -> None:
        self._folder = folder
        self._writer = check_writer(writer)
        self._settings = settings
        self._clock = clock
        self._system = system or disk.System()
        self._records = RecordWriter(settings)
        self._memory = Lock()
        self._disk = Lock()
        self._files: list[_File] = []
        self._waiting_bytes = 0
        self._voids = 0
        self._unreported: StorageError | None = None
        self._abandoned: list[str] = []
        self._closed = False
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise disk.refusal("make", folder, error) from error
        self._serial = last_serial(folder, writer)

    def append(
        self,
        fetch: Fetch,
        *,
        parent: str | None = None,
        known: Known | None = None,
        digest: str = "",
    ) -> Stored:
        """Take a fetch that got a response; touches the disk only when the buffer is full."""
        group = self._records.group(fetch, parent, known, digest)
        with self._memory:
            if self._closed:
                raise StoreError(f"the store in {self._folder} is closed")
            file = self._current()
            pointer = Pointer(file.name, file.size, group.length)
            file.add(group.data)
            self._waiting_bytes += len(group.data)
            full = self._waiting_bytes > self._settings.buffer_bytes
        if full:
            self._write_early()
        return Stored(pointer, group.payload_digest, group.revisit)

    def sync(self) -> None:
        """Write and sync everything appended so far."""
        self._settle(self._make_durable)

    def write_out(self) -> None:
        """Write everything appended so far; who was told of it syncs it."""
        self._settle(self._promise)

    def _settle(self, settle: Callable[[], None]) -> None:
        with self._memory:
            voids = self._voids
        with self._disk:
            unreported, self._unreported = self._unreported, None
            if unreported is not None:
                raise unreported
            if self._voids != voids:
                raise StoreError(f"another sync in {self._folder} failed; append again")
            self._write()
            settle()

    def read(self, pointer: Pointer) -> StoredDocument:
        """Give a document back."""
        with self._memory:
            waits = any(
                file.name == pointer.file and pointer.offset + pointer.length > file.written
                for file in self._files
            )
        if waits:
            self._write_early()
        return read_document(self._folder, pointer)

    def close(self) -> None:
        """Sync, and finish every file of this writer."""
        with self._memory:
            if self._closed:
                return
            self._closed = True
        try:
            self.sync()
        finally:
            with self._disk:
                self._finish_all()
                for name in self._abandoned:
                    with suppress(StorageError):
                        repair_file(self._folder, name, None)
                self._abandoned = []

    def _finish_all(self) -> None:
        """Let go of every file; what an earlier failure left unsynced was never promised."""
        with self._memory:
            files, self._files = self._files, []
        for file in files:
            if file.size == file.synced:
                file.finish(self._folder)
            elif file.cut_back(self._folder):
                self._abandoned.append(file.name)

    def _current(self) -> "_File":
        """Return the file to append to, a new one if the last is full."""
        if not self._files or self._files[-1].size >= self._settings.max_file_bytes:
            self._serial += 1
            now = self._clock.time()
            name = file_name(self._writer, self._serial, now)
            file = _File(name)
            file.add(self._records.warcinfo(name, now))
            self._files.append(file)
        return self._files[-1]

    def _write_early(self) -> None:
        """Write, outside a sync, what waits in memory."""
        with self._disk:
            try:
                self._write()
            except StorageError as error:
                self._unreported = error
                raise
            except BaseException:
                self._unreported = StoreError(f"writing to {self._folder} was interrupted")
                raise

    def _write(self) -> None:
        with self._memory:
            work = [(file, file.take()) for file in self._files]
            self._waiting_bytes = 0
        try:
            for file, data in work:
                file.write(self._system, self._folder, data)
        except OSError as error:
            self._void()
            raise disk.refusal("write to", self._folder, error) from error
        except BaseException:
            self._void()
            raise

    def _make_durable(self) -> None:
        with self._memory:
            files = list(self._files)
        try:
            self._sync_files(files)
            for file in files:
                file.promised = file.written
        except OSError as error:
            self._void()
            raise disk.refusal("sync", self._folder, error) from error
        except BaseException:
            self._void()
            raise
        self._finish_full(files)

    def _promise(self) -> None:
        with self._memory:
            files = list(self._files)
        for file in files:
            file.promised = file.written
        if len(files) > 1:
            # A file with its final name is whole. One that is not gets its name by a repair.
            with suppress(OSError):
                self._sync_files(files[:-1])
            self._finish_full(files)

    def _sync_files(self, files: "list[_File]") -> None:
        new = any(file.synced == 0 < file.written for file in files)
        for file in files:
            file.sync(self._system)
        if new:
            disk.sync_folder(self._system, self._folder)
        for file in files:
            file.synced = file.written

    def _finish_full(self, files: "list[_File]") -> None:
        """Close all files but the one that is appended to."""
        with self._memory:
            full = [
                file for file in files if file is not self._files[-1] and file.size == file.promised
            ]
            self._files = [file for file in self._files if file not in full]
        for file in full:
            if file.size == file.synced:
                file.finish(self._folder)
            elif file.cut_back(self._folder):
                self._abandoned.append(file.name)

    def _void(self) -> None:
        """Forget everything that was not promised."""
        with self._memory:
            files, self._files = self._files, []
            self._waiting_bytes = 0
            self._voids += 1
        for file in files:
            if file.cut_back(self._folder):
                self._abandoned.append(file.name)


class _File:
    """A file being written: its records in memory, then written, promised and synced."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = 0
        self.written = 0
        self.promised = 0
        self.synced = 0
        self._waiting: list[bytes] = []
        self._descriptor = -1

    def add(self, data: bytes) -> None:
        """Put bytes at the end, in memory."""
        self._waiting.append(data)
        self.size += len(data)

    def take(self) -> bytes:
        """Hand over what waits in memory."""
        waiting, self._waiting = self._waiting, []
        return b"".join(waiting)

    def write(self, system: disk.System, folder: Path, data: bytes) -> None:
        """Write bytes that were taken; the file is made by the first of them."""
        if not data:
            return
        if self._descriptor < 0:
            self._descriptor = disk.create(system, folder / (self.name + OPEN_SUFFIX))
        disk.write_all(system, self._descriptor, data)
        self.written += len(data)

    def sync(self, system: disk.System) -> None:
        """Ask the disk to keep what was written."""
        if self.written > self.synced:
            system.fdatasync(self._descriptor)

    def finish(self, folder: Path) -> None:
        """Close a durable file and give it its final name.

        A name that cannot be given costs nothing: the next start looks at the file and names it.
        """
        self._close()
        with suppress(OSError):
            (folder / (self.name + OPEN_SUFFIX)).rename(folder / self.name)

    def cut_back(self, folder: Path) -> bool:
        """Leave on disk only what was promised; return whether that is anything."""
        if self._descriptor < 0:
            return False
        with suppress(OSError):
            os.ftruncate(self._descriptor, self.promised)
        self._close()
        if self.promised == 0:
            with suppress(OSError):
                (folder / (self.name + OPEN_SUFFIX)).unlink()
        return self.promised > 0

    def _close(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
