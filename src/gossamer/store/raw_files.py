"""Raw contents as files: one folder for each URL, one group of files for each version.

    <folder>/<site>/<first 2 of md5>/<other 30>/<md5>_<yyyymmddHHMMSSffffff>.bin
                                                                            .headers.txt
                                                                            .request.txt
                                                                            .meta.txt
                                                                            .cookies.txt

Theory of operation: `put` keeps a version in memory. `sync` appends all that waits to a journal of
this process, one file in `.journal`, makes that durable, and writes the files without waiting for
the disk: many small files cost little then. After some megabytes one sync of the whole file system
makes all of them durable, and the journal starts anew. Whoever opens the folder writes once more
what is in journals that a killed process, or a loss of power, left behind; whoever deletes does so
with all journals, so that nothing deleted comes back. Where a sync of the whole file system cannot
be trusted there is no journal: each file and folder is synced by itself.

A site is removed by one rename into `.gone`, which `sweep` empties later.
"""

import errno
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from gossamer.errors import StoreError
from gossamer.store import disk, raw_versions
from gossamer.store.contents import RawContent, Which, md5_name, site_name
from gossamer.store.folder_lock import FolderLock
from gossamer.store.raw_journal import Journal, journals, settling
from gossamer.store.raw_versions import BODY, SUFFIXES, Version, closing, path_in

_OF_ONE_PLACE: Final = frozenset(
    (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.EACCES, errno.EPERM)
)
"""What is wrong with one folder or file, and says nothing about others."""
BUFFER_BYTES: Final = 8 << 20
"""More than this does not wait in memory: a put syncs."""
JOURNAL_BYTES: Final = 16 << 20
"""More than this does not stay in a journal: it is what has to be written again after a crash."""
_JOURNALS, _GONE = ".journal", ".gone"
_THREADS: Final = 8


class NotKeptError(StoreError):
    """Some versions cannot be kept where they belong; all others were."""

    def __init__(self, message: str, refused: Collection[Version]) -> None:
        super().__init__(message)
        self.refused = frozenset((version.site, version.md5) for version in refused)
        """The sites and URLs of those, as in names."""


class RawFiles:
    """The raw contents below one folder."""

    def __init__(
        self, folder: Path, *, system: disk.System | None = None, keeps_old: bool = True
    ) -> None:
        """`keeps_old`: earlier versions of a URL stay when it gets another."""
        self._folder = folder
        self._keeps_old = keeps_old
        self._system = system or disk.System()
        self._waiting: list[Version] = []
        self._waiting_bytes = 0
        self._journal: Journal | None = None
        try:
            self._make_folders()
        except OSError as error:
            raise disk.refusal("make", folder, error) from error
        self._lock = FolderLock(folder)
        self._settle_what_was_left()

    def put(
        self, site_id: str, md5: str, stamp: float, body: bytes, parts: dict[str, bytes | None]
    ) -> None:
        """Take a version; `parts` are what is kept beside the body, by name."""
        site, md5 = site_name(site_id), md5_name(md5)
        files = [(SUFFIXES[name], part) for name, part in parts.items() if part is not None]
        stem = f"{md5}_{raw_versions.stamp_text(stamp)}"
        self._waiting.append(Version(site, md5, stem, [*files, (BODY, body)]))
        self._waiting_bytes += sum(len(part) for _, part in files) + len(body)
        if self._waiting_bytes > BUFFER_BYTES:
            self.sync()

    def sync(self) -> None:
        """Write what waits, and make it durable; NotKeptError if that cannot be for some of it."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if not waiting:
            return
        if self._journal is None:
            self._settle_what_was_left()
        with self._lock.together(), self._refusing("write to"), self._root() as root:
            refused: dict[int, OSError] = {}
            if self._system.syncs_whole(root):
                refused = self._write_by_journal(root, waiting)
            else:
                self._write(root, waiting, whole=False)
            self._remove_old(root, _without(waiting, refused))
        for error in refused.values():
            told = disk.refusal("write to", self._folder / waiting[next(iter(refused))].site, error)
            raise NotKeptError(str(told), [waiting[each] for each in refused]) from error

    def close(self) -> None:
        """Write what waits, and leave nothing to be done by others."""
        self.sync()
        if self._journal is not None:
            with self._lock.together(), self._refusing("write to"):
                self._settle_own(self._journal)
                journal, self._journal = self._journal, None
                journal.remove()

    def versions(self, site_id: str, md5: str, which: Which) -> list[RawContent]:
        """Return versions of a URL, the oldest first."""
        site, md5 = site_name(site_id), md5_name(md5)
        self.sync()
        with self._lock.together(), self._refusing("read from"), self._root() as root:
            folder = raw_versions.open_below(root, *path_in(site, md5))
            if folder is None:
                return []
            with closing(folder):
                stems = raw_versions.stems(folder, md5)
                wanted = stems if which == "all" else stems[-1:] if which == "last" else stems[:1]
                versions = [raw_versions.read(folder, stem, moment) for moment, stem in wanted]
        return [version for version in versions if version is not None]

    def delete(self, site_id: str, md5: str) -> bool:
        """Remove every file of a URL; return whether there was any."""
        site, md5 = site_name(site_id), md5_name(md5)
        self.sync()
        # Alone, for a version that is put beside this must not lose some of its files.
        with self._lock.alone(), self._refusing("delete from"), self._root() as root:
            self._settle(root, also_living=True)
            folder = raw_versions.open_below(root, *path_in(site, md5))
            if folder is None:
                return False
            with closing(folder):
                names = raw_versions.names_in(folder, md5)
                # The bodies first: a version without one is none.
                for name in sorted(names, key=lambda each: not each.endswith(BODY)):
                    os.unlink(name, dir_fd=folder)
                self._system.fsync(folder)
            path = path_in(site, md5)
            for depth in (3, 2):
                # It stays if anything is left in it.
                with suppress(OSError):
                    os.rmdir("/".join(path[:depth]), dir_fd=root)
        return bool(names)

    def create_site(self, site_id: str) -> None:
        """Make the folder of a site."""
        site = site_name(site_id)
        with self._lock.together(), self._refusing("make a folder in"), self._root() as root:
            raw_versions.make_folder(root, site)
            self._system.fsync(root)

    def remove_site(self, site_id: str) -> None:
        """Put the folder of a site aside."""
        site = site_name(site_id)
        self.sync()
        with self._lock.alone(), self._refusing("remove a folder in"), self._root() as root:
            self._settle(root, also_living=True)
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
                    if name.endswith(BODY):
                        with suppress(FileNotFoundError):
                            total += os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        return total

    def sweep(self, most: int) -> bool:
        """Delete files of sites put aside; return if more wait."""
        with self._refusing("delete from"):
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
        with closing(descriptor):
            yield descriptor

    @contextmanager
    def _refusing(self, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise disk.refusal(action, self._folder, error) from error

    def _make_folders(self) -> None:
        inner = (self._folder / _JOURNALS, self._folder / _GONE)
        if not all(each.is_dir() for each in inner):
            for each in inner:
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            disk.sync_folder(self._system, self._folder)
            disk.sync_folder(self._system, self._folder.parent)

    def _write_by_journal(self, root: int, versions: list[Version]) -> dict[int, OSError]:
        """Write versions; return which of them the disk refused, though it takes others."""
        if self._journal is None:
            self._journal = Journal(self._folder / _JOURNALS, root, self._system)
        journal = self._journal
        try:
            size = journal.append(versions)
            refused = self._place_all(root, versions)
            if refused:
                journal.take_back()
                size = journal.append(_without(versions, refused))
        except BaseException:
            self._take_back(root, journal, versions)
            raise
        if size > JOURNAL_BYTES:
            self._settle_own(journal)
        return refused

    def _place_all(self, root: int, versions: Sequence[Version]) -> dict[int, OSError]:
        refused = {}
        for number, version in enumerate(versions):
            try:
                raw_versions.place(self._system, root, version, durable=False)
            except OSError as error:
                if error.errno not in _OF_ONE_PLACE:
                    raise
                raw_versions.remove_unfinished(root, version)
                refused[number] = error
        return refused

    def _take_back(self, root: int, journal: Journal, versions: list[Version]) -> None:
        for version in versions:
            raw_versions.remove_unfinished(root, version)
        try:
            journal.take_back()
        except OSError:
            # Half a record at its end would hide what comes after.
            self._leave(journal)

    def _settle_own(self, journal: Journal) -> None:
        try:
            journal.settle()
        except BaseException:
            # What the disk lost is in the journal: somebody has to write it again.
            self._leave(journal)
            raise

    def _leave(self, journal: Journal) -> None:
        journal.let_go()
        self._journal = None

    def _settle_what_was_left(self) -> None:
        """Write once more what is in the journals of processes that are no more."""
        with self._refusing("write to"):
            if journals(self._folder / _JOURNALS):
                with self._lock.alone(), self._root() as root:
                    self._settle(root, also_living=False)

    def _settle(self, root: int, *, also_living: bool) -> None:
        """Make durable what is in journals; only for who is alone."""
        for path in journals(self._folder / _JOURNALS):
            for versions in settling(path, self._system, also_living=also_living):
                self._write(root, versions, whole=self._system.syncs_whole(root))
                self._remove_old(root, versions)

    def _write(self, root: int, versions: list[Version], *, whole: bool) -> None:
        """Write versions, and sync them."""
        if whole:
            for version in versions:
                raw_versions.place(self._system, root, version, durable=False)
            self._system.syncfs(root)
            return
        # Of the same moment the last counts, and no other may be written beside it.
        last = {(version.site, version.stem): version for version in versions}
        _at_once(self._place_durable, [(root, version) for version in last.values()])
        # From the lowest folder to the highest.
        for depth in (3, 2, 1):
            paths = sorted({version.path[:depth] for version in versions})
            _at_once(self._sync_folder, [(root, *path) for path in paths])
        self._system.fsync(root)

    def _place_durable(self, root: int, version: Version) -> None:
        try:
            raw_versions.place(self._system, root, version, durable=True)
        except BaseException:
            raw_versions.remove_unfinished(root, version)
            raise

    def _sync_folder(self, root: int, *path: str) -> None:
        folder = raw_versions.open_below(root, *path)
        if folder is not None:
            with closing(folder):
                self._system.fsync(folder)

    def _remove_old(self, root: int, versions: list[Version]) -> None:
        """Remove what has an heir, if old ones are not kept: the heir is durable by now."""
        if not self._keeps_old:
            for place in {(version.site, version.md5) for version in versions}:
                raw_versions.remove_old(root, *place)


def _without(versions: Sequence[Version], refused: Collection[int]) -> list[Version]:
    return [version for number, version in enumerate(versions) if number not in refused]


def _at_once(work: Callable[..., None], calls: Sequence[tuple[object, ...]]) -> None:
    """Do several things at once: a file system keeps many syncs together as quickly as one."""
    with ThreadPoolExecutor(_THREADS) as pool:
        futures = [pool.submit(work, *arguments) for arguments in calls]
    for future in futures:
        future.result()


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
