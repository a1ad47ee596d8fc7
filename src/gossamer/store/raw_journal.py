"""What a process has put and whose files may not be on the disk yet, in one file that is.

A record is its length, the CRC-32 of what follows, and a version in MessagePack. What was appended
is durable before `append` returns. The process that writes a journal holds a lock on it; one
without a lock is left from a process that died, and may end in the middle of a record.
"""

import fcntl
import os
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Final
from zlib import crc32

import msgspec

from gossamer.errors import StoreError
from gossamer.store import disk
from gossamer.store.contents import md5_name
from gossamer.store.raw_versions import BODY, SUFFIXES, Version, closing

_HEAD: Final = struct.Struct(">II")
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Version).decode
_OPEN: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_SITE: Final = re.compile(r"[0-9a-z_^-]+")
_MOMENT: Final = re.compile(r"_\d{20}")


class Journal:
    """The journal of this process."""

    def __init__(self, folder: Path, root: int, system: disk.System) -> None:
        """`root` is the folder of all contents, opened before any of these versions is placed."""
        self._system = system
        self._path = folder / token_hex(16)
        self._descriptor = disk.create(system, self._path)
        # Kept open: a sync through it tells of every loss since it was opened.
        self._root = os.dup(root)
        self._end = 0
        try:
            disk.sync_folder(system, folder)
        except BaseException:
            self.let_go()
            raise

    def append(self, versions: Sequence[Version]) -> int:
        """Take note of versions, durable; return how many bytes the journal has."""
        # Others may have emptied it.
        self._end = os.lseek(self._descriptor, 0, os.SEEK_END)
        data = b"".join(map(_record, versions))
        disk.write_all(self._system, self._descriptor, data)
        self._system.fdatasync(self._descriptor)
        return self._end + len(data)

    def take_back(self) -> None:
        """Undo the last `append`, also one that failed half-way."""
        os.ftruncate(self._descriptor, self._end)

    def settle(self) -> None:
        """Make the files of all versions durable, then forget them."""
        self._system.syncfs(self._root)
        empty(self._system, self._descriptor)

    def remove(self) -> None:
        """Remove it; nothing may be in it."""
        self._path.unlink()
        self.let_go()

    def let_go(self) -> None:
        """Close it; what is in it is for the next who looks after journals."""
        os.close(self._descriptor)
        os.close(self._root)


def journals(folder: Path) -> list[Path]:
    """Return all journals in a folder."""
    return sorted(folder.iterdir())


def settling(path: Path, system: disk.System, *, also_living: bool) -> Iterator[list[Version]]:
    """Yield what a journal holds, if anything; it is forgotten when it is asked to go on.

    Only for who is alone in the storage. The journal of a process that died is removed, that of one
    that lives is left alone or, with `also_living`, emptied.
    """
    with closing(os.open(path, _OPEN)) as descriptor:
        lives = _is_locked(descriptor)
        if lives and not (also_living and os.fstat(descriptor).st_size):
            return
        try:
            versions = [_checked(data) for data in _records(descriptor)]
        except StoreError as error:
            raise StoreError(
                f"{path} is no journal of raw contents: {error}; move it away"
            ) from error
        if versions:
            yield versions
        if lives:
            empty(system, descriptor)
        else:
            path.unlink()
            disk.sync_folder(system, path.parent)


def empty(system: disk.System, descriptor: int) -> None:
    """Forget what a journal holds, durable: what is deleted later must not come back."""
    os.ftruncate(descriptor, 0)
    system.fsync(descriptor)


def _record(version: Version) -> bytes:
    data = _encode(version)
    return _HEAD.pack(len(data), crc32(data)) + data


def _records(descriptor: int) -> Iterator[bytes]:
    """Yield what is whole of a journal."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        left = os.fstat(descriptor).st_size
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, check = _HEAD.unpack(head)
            left -= _HEAD.size + length
            if left < 0 or crc32(data := file.read(length)) != check:
                return
            yield data


def _checked(data: bytes) -> Version:
    """Return a version whose names lead nowhere else."""
    try:
        version = _decode(data)
    except msgspec.DecodeError as error:
        raise StoreError(str(error)) from error
    moment = version.stem.removeprefix(md5_name(version.md5))
    suffixes = {suffix for suffix, _ in version.parts}
    if (
        not _SITE.fullmatch(version.site)
        or not _MOMENT.fullmatch(moment)
        or not suffixes <= {BODY, *SUFFIXES.values()}
    ):
        raise StoreError(f"{version.stem[:80]!r} in {version.site[:80]!r} cannot be")
    return version


def _is_locked(descriptor: int) -> bool:
    """Whether another holds the lock of a journal; else it is held from now on."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
