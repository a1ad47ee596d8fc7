"""The calls to the operating system that writing needs, and what their refusals mean."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from gossamer.errors import DiskFullError, StorageError, StoreError
from gossamer.store import file_system

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _open_in(folder: int, name: str, flags: int, mode: int) -> int:
    return os.open(name, flags, mode, dir_fd=folder)


class System(Struct, frozen=True):
    """The calls themselves, as values, so that the n-th of them can be made to fail."""

    open: Callable[[Path, int, int], int] = os.open
    open_in: Callable[[int, str, int, int], int] = _open_in
    """The same in an open folder."""
    write: Callable[[int, bytes | memoryview], int] = os.write
    ftruncate: Callable[[int, int], None] = os.ftruncate
    fdatasync: Callable[[int], None] = os.fdatasync
    fsync: Callable[[int], None] = os.fsync
    syncfs: Callable[[int], None] = file_system.syncfs
    syncs_whole: Callable[[int], bool] = file_system.syncs_whole


def create(system: System, path: Path) -> int:
    """Create a file for its owner alone, and lock it for as long as it is open."""
    descriptor = system.open(path, _CREATE, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def write_all(system: System, descriptor: int, data: bytes) -> None:
    """Write every byte; a disk may take only a part at a time."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[system.write(descriptor, rest) :]
        except InterruptedError:
            continue


def sync_folder(system: System, folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = system.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, 0)
    try:
        system.fsync(descriptor)
    finally:
        os.close(descriptor)


def free_bytes(folder: Path) -> int:
    """Return how many bytes can still be written into a folder."""
    try:
        figures = os.statvfs(folder)
    except OSError as error:
        raise refusal("look at", folder, error) from error
    return figures.f_bavail * figures.f_frsize


def refusal(action: str, path: Path, error: OSError) -> StorageError:
    """Return the error to raise for a call that the system refused."""
    if error.errno in _FULL:
        return DiskFullError(f"cannot {action} {path}: no space is left; free some and go on")
    return StoreError(f"cannot {action} {path}: {error.strerror or error}")
