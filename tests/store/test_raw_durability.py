"""What is durable when: bytes before their names, names before anybody is told.

A disk that remembers: it knows which bytes and which names a loss of power would leave.
"""

import errno
import os
import threading
from pathlib import Path

import pytest
from contents_samples import NOW, ONE, SITE, TWO, put

from gossamer.store import file_system
from gossamer.store.content_storage import StorageType, open_files
from gossamer.store.disk import System

MD5S = [ONE, TWO, "b" * 32]


class Disk:
    """Knows what was made durable; looks whenever somebody asks for it."""

    def __init__(self, folder: Path, *, whole: bool) -> None:
        self.folder, self.whole = folder, whole
        self.bytes: dict[int, int] = {}
        """Of each file, by inode: how many of its bytes are durable."""
        self.names: set[Path] = set()
        self.too_early: list[Path] = []
        """Names that were given to bytes that a loss of power could take."""
        self.syncs: list[str] = []
        self.lock = threading.Lock()

    def system(self) -> System:
        return System(
            fdatasync=self._fdatasync,
            fsync=self._fsync,
            syncfs=self._syncfs,
            syncs_whole=lambda _: self.whole,
        )

    def _fdatasync(self, descriptor: int) -> None:
        self._look("fdatasync")
        self._keep(os.stat(descriptor))

    def _fsync(self, descriptor: int) -> None:
        self._look("fsync")
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        assert place.is_dir()
        with self.lock:
            self.names |= set(place.iterdir())

    def _syncfs(self, descriptor: int) -> None:
        assert os.path.samestat(os.fstat(descriptor), self.folder.stat())
        self._look("syncfs")
        for path in self.folder.rglob("*"):
            self.names.add(path)
            self._keep(path.stat())

    def _keep(self, status: os.stat_result) -> None:
        with self.lock:
            self.bytes[status.st_ino] = status.st_size

    def _look(self, call: str) -> None:
        with self.lock:
            self.syncs.append(call)
            self.too_early += [path for path in self.named() if not self._has_bytes(path)]

    def named(self) -> list[Path]:
        return [path for path in (self.folder / SITE).rglob("*.*") if path.is_file()]

    def _has_bytes(self, path: Path) -> bool:
        status = path.stat()
        return self.bytes.get(status.st_ino) == status.st_size

    def survives(self, path: Path) -> bool:
        """Whether a file would be there, whole, after a loss of power."""
        way = [path, *path.parents[: len(path.relative_to(self.folder).parts) - 1]]
        return self._has_bytes(path) and self.names.issuperset(way)


@pytest.fixture(params=[True, False], ids=["whole", "each"])
def disk(request, tmp_path: Path) -> Disk:
    return Disk(tmp_path / "data", whole=request.param)


@pytest.mark.parametrize("again", [False, True], ids=["fresh", "beside older versions"])
def test_bytes_are_durable_before_their_names_and_names_before_sync_returns(
    tmp_path: Path, disk: Disk, again: bool
) -> None:
    contents = open_files(
        StorageType.KEY_VALUE, tmp_path / "data", tmp_path / "db", system=disk.system()
    )
    for stamp in (NOW, NOW + 1) if again else (NOW,):
        for md5 in MD5S:
            put(contents, md5=md5, stamp=stamp, body=b"x" * 5_000)
        contents.sync()
        assert disk.too_early == []
        assert [path for path in disk.named() if not disk.survives(path)] == []
    assert len(disk.named()) == 3 * len(MD5S) * (2 if again else 1)


def test_one_sync_of_bytes_and_one_of_names_do_for_all_versions(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data", whole=True)
    contents = open_files(
        StorageType.TABLE, tmp_path / "data", tmp_path / "db", system=disk.system()
    )
    for number in range(50):
        put(contents, md5=f"{number:032x}")
    contents.sync()
    assert disk.syncs == ["syncfs", "syncfs"]


def test_a_whole_file_system_can_be_synced_or_says_that_it_cannot(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if file_system.syncs_whole(folder):
            (tmp_path / "x").write_bytes(b"x")
            file_system.syncfs(folder)
    finally:
        os.close(folder)
    with pytest.raises(OSError) as refused:
        file_system.syncfs(folder)
    assert refused.value.errno == errno.EBADF


@pytest.mark.parametrize("place", ["/proc", "/dev/shm"])
def test_a_file_system_without_a_disk_is_not_trusted(place: str) -> None:
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert not file_system.syncs_whole(folder)
    finally:
        os.close(folder)
