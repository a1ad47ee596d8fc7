"""A disk that remembers what a loss of power would leave, and loses the rest as it pleases."""

import os
import random
import threading
from pathlib import Path

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.store.disk import System
from gossamer.store.names import OPEN_SUFFIX, unfinished_files

Entry = tuple[int, bool]
"""The number of a file or folder, and whether it is a folder."""


class Disk:
    """Knows which bytes and which names were made durable below a folder."""

    def __init__(self, folder: Path, *, whole: bool) -> None:
        self.folder, self.whole = folder, whole
        self.syncs: list[str] = []
        self._names: dict[int, dict[str, Entry]] = {}
        """Of each folder, by its number."""
        self._bytes: dict[int, bytes] = {}
        self._held: dict[int, int] = {}
        """Open files and folders: their numbers are given to no others."""
        self._lock = threading.Lock()

    def system(self) -> System:
        return System(
            fdatasync=lambda descriptor: self._sync("fdatasync", descriptor),
            fsync=lambda descriptor: self._sync("fsync", descriptor),
            syncfs=self._syncfs,
            syncs_whole=lambda _: self.whole,
        )

    def close(self) -> None:
        for descriptor in self._held.values():
            os.close(descriptor)

    def durable(self, path: Path) -> bytes | None:
        """Return what of a file would be there; None: nothing for sure."""
        return self._bytes.get(path.stat().st_ino)

    def lose_power(self, target: Path, chance: random.Random) -> None:
        """Make a folder as it could be found then.

        What is durable is there. Whatever happened since may have reached the disk or not, each
        name and the bytes of each file by themselves: worse than any file system would do it.
        """
        self._found(self.folder.stat().st_ino, current_folders(self.folder), target, chance)

    def _found(
        self, number: int, current: dict[int, Path], target: Path, chance: random.Random
    ) -> None:
        target.mkdir()
        durable = self._names.get(number, {})
        present = entries(current[number]) if number in current else durable
        for name in sorted({*durable, *present}):
            choices = {durable.get(name), present.get(name)}
            choice = chance.choice(sorted(choices, key=str))
            if choice is None:
                continue
            if choice[1]:
                self._found(choice[0], current, target / name, chance)
            else:
                is_there = present.get(name) == choice and number in current
                path = current[number] / name if is_there else None
                (target / name).write_bytes(self._found_in(choice[0], path, chance))

    def _found_in(self, number: int, path: Path | None, chance: random.Random) -> bytes:
        durable = self._bytes.get(number)
        written = path.read_bytes() if path is not None else durable or b""
        if durable == written:
            return written
        torn = written[: chance.randint(0, len(written))]
        return chance.choice([durable or b"", written, torn, bytes(len(written))])

    def _sync(self, call: str, descriptor: int) -> None:
        with self._lock:
            self.syncs.append(call)
            self._keep(Path(f"/proc/self/fd/{descriptor}").readlink())

    def _syncfs(self, descriptor: int) -> None:
        assert os.path.samestat(os.fstat(descriptor), self.folder.stat())
        with self._lock:
            self.syncs.append("syncfs")
            for path in (self.folder, *self.folder.rglob("*")):
                self._keep(path)

    def _keep(self, path: Path) -> None:
        number = path.stat().st_ino
        if number not in self._held:
            self._held[number] = os.open(path, os.O_PATH)
        if path.is_dir():
            self._names[number] = entries(path)
        else:
            self._bytes[number] = path.read_bytes()


def current_folders(folder: Path) -> dict[int, Path]:
    """Return where each folder is now, by its number."""
    paths = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    return {path.stat().st_ino: path for path in paths}


def entries(folder: Path) -> dict[str, Entry]:
    """Return what the names in a folder lead to."""
    return {path.name: (path.stat().st_ino, path.is_dir()) for path in folder.iterdir()}


def lose_half_of_what_waits(workspace: Path) -> int:
    """Cut archive files in the middle of what the catalog does not know of; return the bytes."""
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True) as catalog:
        known_good = catalog.known_good()
    lost = 0
    for name in unfinished_files(workspace / "archive"):
        path = workspace / "archive" / (name + OPEN_SUFFIX)
        size, known = path.stat().st_size, known_good.get(name, 0)
        os.truncate(path, known + (size - known) // 2)
        lost += size - path.stat().st_size
    return lost
