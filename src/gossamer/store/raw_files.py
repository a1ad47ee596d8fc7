"""Raw contents as files: one folder for each URL, one group of files for each version.

    <folder>/<site>/<first 2 of md5>/<other 30>/<md5>_<yyyymmddHHMMSSffffff>.bin
                                                                            .headers.txt
                                                                            .request.txt
                                                                            .meta.txt
                                                                            .cookies.txt

Theory of operation: `put` keeps a version in memory; `sync` writes all that waits under names of
their own into `.new`, makes the bytes durable, gives them their names, the .bin of a version last,
and makes the names durable: a version is there if its .bin is. Both times one sync of the whole
file system does for all versions; where that cannot be trusted, each file and folder is synced.
A site is removed by one rename into `.gone`, which `sweep` empties later.

No path is walked twice: each folder is opened from the one above it, and never through a link.
"""

import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import Final

from msgspec import Struct

from gossamer.errors import StoreError
from gossamer.objects.paths import path_of
from gossamer.store import disk
from gossamer.store.contents import RawContent, Which, md5_name, site_name
from gossamer.store.folder_lock import FolderLock

BUFFER_BYTES: Final = 8 << 20
"""More than this does not wait in memory: a put syncs."""
_NEW, _GONE = ".new", ".gone"
_BODY: Final = ".bin"
_SUFFIXES: Final = {
    "headers": ".headers.txt",
    "request": ".request.txt",
    "meta": ".meta.txt",
    "cookies": ".cookies.txt",
}
_OTHER_REQUEST: Final = ".requests.txt"
_VERSION: Final = re.compile(r"[0-9a-f]{32}(?:_(\d{14})(\d{6})?)?\.bin")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_THREADS: Final = 8
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = 253_402_300_799


class _Waiting(Struct):
    """A version on its way to the disk."""

    site: str
    md5: str
    stem: str
    parts: list[tuple[str, bytes]]
    """Suffix and bytes, the body last."""


class RawFiles:
    """The raw contents below one folder."""

    def __init__(
        self, folder: Path, *, system: disk.System | None = None, keeps_old: bool = True
    ) -> None:
        """`keeps_old`: earlier versions of a URL stay when it gets another."""
        self._folder = folder
        self._keeps_old = keeps_old
        self._system = system or disk.System()
        self._waiting: list[_Waiting] = []
        self._waiting_bytes = 0
        try:
            for each in (folder, folder / _NEW, folder / _GONE):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise disk.refusal("make", folder, error) from error
        self._lock = FolderLock(folder)

    def put(
        self, site_id: str, md5: str, stamp: float, body: bytes, parts: dict[str, bytes | None]
    ) -> None:
        """Take a version; `parts` are what is kept beside the body, by name."""
        site, md5 = site_name(site_id), md5_name(md5)
        files = [(_SUFFIXES[name], part) for name, part in parts.items() if part is not None]
        stem = f"{md5}_{stamp_text(stamp)}"
        self._waiting.append(_Waiting(site, md5, stem, [*files, (_BODY, body)]))
        self._waiting_bytes += sum(len(part) for _, part in files) + len(body)
        if self._waiting_bytes > BUFFER_BYTES:
            self.sync()

    def sync(self) -> None:
        """Write what waits, and make it durable."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if not waiting:
            return
        parts = [part for version in waiting for _, part in version.parts]
        names = [token_hex(16) for _ in parts]
        with self._lock.together(), self._refusing("write to"), self._root() as root:
            # Asked of the folder that was opened before anything is written: so it hears of losses.
            whole = self._system.syncs_whole(root)
            try:
                self._write_all(root, list(zip(names, parts, strict=True)), whole=whole)
                unused = iter(names)
                for version in waiting:
                    _place(root, version, [next(unused) for _ in version.parts])
                self._sync_names(root, waiting, whole=whole)
                if not self._keeps_old:
                    # Now, and not before: at every moment there is a version that is durable.
                    for place in {(version.site, version.md5) for version in waiting}:
                        _remove_old(root, *place)
            except BaseException:
                for name in names:
                    with suppress(OSError):
                        os.unlink(f"{_NEW}/{name}", dir_fd=root)
                raise

    def versions(self, site_id: str, md5: str, which: Which) -> list[RawContent]:
        """Return versions of a URL, the oldest first."""
        site, md5 = site_name(site_id), md5_name(md5)
        self.sync()
        with self._lock.together(), self._refusing("read from"), self._root() as root:
            folder = _open_below(root, *_path(site, md5))
            if folder is None:
                return []
            with _closing(folder):
                stems = _stems(folder, md5)
                wanted = stems if which == "all" else stems[-1:] if which == "last" else stems[:1]
                versions = [_read(folder, stem, moment) for moment, stem in wanted]
        return [version for version in versions if version is not None]

    def delete(self, site_id: str, md5: str) -> bool:
        """Remove every file of a URL; return whether there was any."""
        site, md5 = site_name(site_id), md5_name(md5)
        self.sync()
        # Alone, for a version that is put beside this must not lose some of its files.
        with self._lock.alone(), self._refusing("delete from"), self._root() as root:
            folder = _open_below(root, *_path(site, md5))
            if folder is None:
                return False
            with _closing(folder):
                names = _names_in(folder, md5)
                # The bodies first: a version without one is none.
                for name in sorted(names, key=lambda each: not each.endswith(_BODY)):
                    os.unlink(name, dir_fd=folder)
                self._system.fsync(folder)
            path = _path(site, md5)
            for depth in (3, 2):
                # It stays if anything is left in it.
                with suppress(OSError):
                    os.rmdir("/".join(path[:depth]), dir_fd=root)
        return bool(names)

    def create_site(self, site_id: str) -> None:
        """Make the folder of a site."""
        site = site_name(site_id)
        with self._lock.together(), self._refusing("make a folder in"), self._root() as root:
            os.close(_made(root, site))
            self._system.fsync(root)

    def remove_site(self, site_id: str) -> None:
        """Put the folder of a site aside."""
        site = site_name(site_id)
        self.sync()
        with self._lock.alone(), self._refusing("remove a folder in"), self._root() as root:
            try:
                os.rename(site, f"{_GONE}/{token_hex(16)}", src_dir_fd=root, dst_dir_fd=root)
            except FileNotFoundError:
                return
            self._system.fsync(root)

    def size_of(self, site_id: str) -> int:
        """Return the bytes of all bodies of a site."""
        site = site_name(site_id)
        self.sync()
        total = 0
        with self._refusing("read from"), self._root() as root, suppress(FileNotFoundError):
            for _, _, names, folder in os.fwalk(site, dir_fd=root, onerror=_raise_unless_gone):
                for name in names:
                    if name.endswith(_BODY):
                        with suppress(FileNotFoundError):
                            total += os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        return total

    def sweep(self, most: int) -> bool:
        """Delete files of sites put aside, and what a killed writer left; return if more wait."""
        with self._refusing("delete from"):
            if any((self._folder / _NEW).iterdir()):
                with self._lock.alone():
                    # Whoever writes holds the lock, so whatever is here belongs to nobody.
                    for path in (self._folder / _NEW).iterdir():
                        path.unlink(missing_ok=True)
            for site in (self._folder / _GONE).iterdir():
                if site.is_symlink():
                    site.unlink(missing_ok=True)
                    continue
                for folder in _resource_folders(site):
                    if most <= 0:
                        return True
                    # Does not follow links, and works from descriptors.
                    shutil.rmtree(folder, ignore_errors=True)
                    most -= 1
                shutil.rmtree(site, ignore_errors=True)
            return False

    @contextmanager
    def _root(self) -> Iterator[int]:
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _refusing(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise disk.refusal(action, self._folder, error) from error

    def _write_all(self, root: int, files: list[tuple[str, bytes]], *, whole: bool) -> None:
        """Write files that nobody reads yet, durable."""
        if not whole:
            _at_once(self._write_durable, files)
            return
        for name, data in files:
            os.close(self._write(name, data))
        self._system.syncfs(root)

    def _write_durable(self, name: str, data: bytes) -> None:
        with _closing(self._write(name, data)) as descriptor:
            self._system.fdatasync(descriptor)

    def _write(self, name: str, data: bytes) -> int:
        """Return the new file, open."""
        descriptor = self._system.open(self._folder / _NEW / name, _CREATE, 0o600)
        try:
            disk.write_all(self._system, descriptor, data)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _sync_names(self, root: int, waiting: list[_Waiting], *, whole: bool) -> None:
        """Make new names durable; one by one from the lowest folder to the highest."""
        if whole:
            self._system.syncfs(root)
            return
        places = {_path(each.site, each.md5) for each in waiting}
        for depth in (3, 2, 1):
            paths = sorted({place[:depth] for place in places})
            _at_once(self._sync_folder, [(root, *path) for path in paths])
        self._system.fsync(root)

    def _sync_folder(self, root: int, *path: str) -> None:
        folder = _open_below(root, *path)
        if folder is not None:
            with _closing(folder):
                self._system.fsync(folder)


def _at_once(work: Callable[..., None], calls: Sequence[tuple[object, ...]]) -> None:
    """Do several things at once: a file system keeps many syncs together as quickly as one."""
    with ThreadPoolExecutor(_THREADS) as pool:
        futures = [pool.submit(work, *arguments) for arguments in calls]
    for future in futures:
        future.result()


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


def _place(root: int, version: _Waiting, names: list[str]) -> None:
    """Give the parts of a version their names, the body's last."""
    suffixes = {suffix for suffix, _ in version.parts}
    with _closing(_made(root, *_path(version.site, version.md5))) as folder:
        for suffix in (*_SUFFIXES.values(), _OTHER_REQUEST):
            if suffix not in suffixes:
                # Of an earlier version of the same moment.
                with suppress(FileNotFoundError):
                    os.unlink(version.stem + suffix, dir_fd=folder)
        for (suffix, _), name in zip(version.parts, names, strict=True):
            os.rename(f"{_NEW}/{name}", version.stem + suffix, src_dir_fd=root, dst_dir_fd=folder)


def _remove_old(root: int, site: str, md5: str) -> None:
    """Remove all versions of a URL but the newest."""
    folder = _open_below(root, *_path(site, md5))
    if folder is None:
        return
    with _closing(folder):
        for _, stem in _stems(folder, md5)[:-1]:
            # The body first: a version without one is none.
            for suffix in (_BODY, *_SUFFIXES.values(), _OTHER_REQUEST):
                with suppress(FileNotFoundError):
                    os.unlink(stem + suffix, dir_fd=folder)


def _path(site: str, md5: str) -> tuple[str, ...]:
    return (site, *path_of(md5).split("/"))


def _made(root: int, *names: str) -> int:
    """Open a folder below another, each part made if it is missing."""
    descriptor = os.dup(root)
    for name in names:
        with _closing(descriptor):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=descriptor)
            descriptor = os.open(name, _FOLDER, dir_fd=descriptor)
    return descriptor


def _open_below(root: int, *names: str) -> int | None:
    """Open a folder below another; None if it is not there."""
    descriptor = os.dup(root)
    for name in names:
        with _closing(descriptor):
            try:
                descriptor = os.open(name, _FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                return None
    return descriptor


@contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _stems(folder: int, md5: str) -> list[tuple[float, str]]:
    """Return moment and name without suffix of each version, the oldest first."""
    found: list[tuple[float, str]] = []
    for name in _names_in(folder, md5):
        if _VERSION.fullmatch(name):
            moment = moment_in(name)
            if moment is None:
                with suppress(FileNotFoundError):
                    moment = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
            if moment is not None:
                found.append((moment, name.removesuffix(_BODY)))
    return sorted(found)


def _names_in(folder: int, md5: str) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.name.startswith(md5)]


def _read(folder: int, stem: str, moment: float) -> RawContent | None:
    body = _bytes_of(folder, stem + _BODY)
    if body is None:
        return None
    parts = {name: _bytes_of(folder, stem + suffix) for name, suffix in _SUFFIXES.items()}
    if parts["request"] is None:
        parts["request"] = _bytes_of(folder, stem + _OTHER_REQUEST)
    return RawContent(moment, body, **parts)


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


def _resource_folders(site: Path) -> Iterator[Path]:
    """Yield the folders of URLs in the folder of a site; links are not followed."""
    for first in _folders_in(site):
        yield from _folders_in(first)


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(each.path) for each in entries if each.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
