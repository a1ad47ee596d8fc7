"""The files of one version of a raw content: how they are named, written and read.

Everything works on an open folder and names in it: no path is walked twice, and none through a
link. A version is there if its .bin is, so that is written last, under a name of its own until it
is complete.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from gossamer.errors import StoreError
from gossamer.objects.paths import path_of
from gossamer.store import disk
from gossamer.store.contents import RawContent

BODY: Final = ".bin"
SUFFIXES: Final = {
    "headers": ".headers.txt",
    "request": ".request.txt",
    "meta": ".meta.txt",
    "cookies": ".cookies.txt",
}
_OTHER_REQUEST: Final = ".requests.txt"
_UNFINISHED: Final = ".new"
_VERSION: Final = re.compile(r"[0-9a-f]{32}(?:_(\d{14})(\d{6})?)?\.bin")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = 253_402_300_799


class Version(Struct, array_like=True):
    """A version on its way to the disk."""

    site: str
    """As in names, like all that follows."""
    md5: str
    stem: str
    parts: list[tuple[str, bytes]]
    """Suffix and bytes, the body last."""

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the folders that lead to it."""
        return path_in(self.site, self.md5)


def place(system: disk.System, root: int, version: Version, *, durable: bool) -> None:
    """Write the files of a version; `durable`: their bytes are, before the body has its name."""
    *above, last = version.path
    with closing(_made(root, *above)) as parent:
        is_new = _is_made(parent, last)
        with closing(os.open(last, _FOLDER, dir_fd=parent)) as folder:
            if not is_new:
                _remove_others(folder, version)
            for suffix, data in version.parts:
                name = version.stem + suffix
                # Nobody asks for the files beside a body that is not there.
                written = name if is_new and suffix != BODY else name + _UNFINISHED
                _write(system, folder, written, data, durable=durable)
                if written != name:
                    os.rename(written, name, src_dir_fd=folder, dst_dir_fd=folder)


def remove_unfinished(root: int, version: Version) -> None:
    """Remove what `place` left when it failed; nothing happens if that cannot be done."""
    with suppress(OSError), _opened(root, *version.path) as folder:
        for suffix, _ in version.parts:
            with suppress(FileNotFoundError):
                os.unlink(version.stem + suffix + _UNFINISHED, dir_fd=folder)


def remove_old(root: int, site: str, md5: str) -> None:
    """Remove all versions of a URL but the newest."""
    with suppress(FileNotFoundError), _opened(root, *path_in(site, md5)) as folder:
        for _, stem in stems(folder, md5)[:-1]:
            # The body first: a version without one is none.
            for suffix in (BODY, *SUFFIXES.values(), _OTHER_REQUEST):
                with suppress(FileNotFoundError):
                    os.unlink(stem + suffix, dir_fd=folder)


def stamp_text(stamp: float) -> str:
    """Write a moment as names have it."""
    if not 0 <= stamp <= _LATEST:
        raise StoreError(f"{stamp!r} is not a moment between 1970 and 9999")
    return (_EPOCH + timedelta(microseconds=round(stamp * 1_000_000))).strftime("%Y%m%d%H%M%S%f")


def moment_in(name: str) -> float | None:
    """Return the moment that the name of a body states, None if it states none."""
    version = _VERSION.fullmatch(name)
    if not version or not version[1]:
        return None
    try:
        digits = version[1] + (version[2] or "000000")
        moment = datetime.strptime(digits, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1) / 1_000_000


def path_in(site: str, md5: str) -> tuple[str, ...]:
    """Return the names of the folders that lead to the versions of a URL."""
    return (site, *path_of(md5).split("/"))


def make_folder(root: int, name: str) -> None:
    """Make a folder in another; nothing happens if it is there."""
    os.close(_made(root, name))


def open_below(root: int, *names: str) -> int | None:
    """Open a folder below another; None if it is not there."""
    descriptor = os.dup(root)
    for name in names:
        with closing(descriptor):
            try:
                descriptor = os.open(name, _FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                return None
    return descriptor


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """Close a file or folder at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def stems(folder: int, md5: str) -> list[tuple[float, str]]:
    """Return moment and name without suffix of each version, the oldest first."""
    found: list[tuple[float, str]] = []
    for name in names_in(folder, md5):
        if _VERSION.fullmatch(name):
            moment = moment_in(name)
            if moment is None:
                with suppress(FileNotFoundError):
                    moment = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
            if moment is not None:
                found.append((moment, name.removesuffix(BODY)))
    return sorted(found)


def names_in(folder: int, md5: str) -> list[str]:
    """Return the names of all files of a URL."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.name.startswith(md5)]


def read(folder: int, stem: str, moment: float) -> RawContent | None:
    """Return a version; None if it has gone."""
    body = _bytes_of(folder, stem + BODY)
    if body is None:
        return None
    parts = {name: _bytes_of(folder, stem + suffix) for name, suffix in SUFFIXES.items()}
    if parts["request"] is None:
        parts["request"] = _bytes_of(folder, stem + _OTHER_REQUEST)
    return RawContent(moment, body, **parts)


def _remove_others(folder: int, version: Version) -> None:
    """Remove what an earlier version of the same moment has and this one has not."""
    kept = {suffix for suffix, _ in version.parts}
    for suffix in (*SUFFIXES.values(), _OTHER_REQUEST):
        if suffix not in kept:
            with suppress(FileNotFoundError):
                os.unlink(version.stem + suffix, dir_fd=folder)


def _write(system: disk.System, folder: int, name: str, data: bytes, *, durable: bool) -> None:
    with closing(system.open_in(folder, name, _WRITE, 0o600)) as descriptor:
        disk.write_all(system, descriptor, data)
        if durable:
            system.fdatasync(descriptor)


def _made(root: int, *names: str) -> int:
    """Open a folder below another, each part made if it is missing."""
    descriptor = os.dup(root)
    for name in names:
        with closing(descriptor):
            try:
                below = os.open(name, _FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                _is_made(descriptor, name)
                below = os.open(name, _FOLDER, dir_fd=descriptor)
        descriptor = below
    return descriptor


def _is_made(parent: int, name: str) -> bool:
    """Make a folder; return whether it was missing."""
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return False
    return True


@contextmanager
def _opened(root: int, *names: str) -> Iterator[int]:
    folder = open_below(root, *names)
    if folder is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/".join(names))
    with closing(folder):
        yield folder


def _bytes_of(folder: int, name: str) -> bytes | None:
    """Return what is in a file; None if it is missing or no ordinary file."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
    with os.fdopen(descriptor, "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
