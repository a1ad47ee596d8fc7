"""The workspace: the folder that holds all state of a crawl, and its locks.

    W/catalog.db           what is known (SQLite)
    W/archive/             what was fetched (WARC)
    W/reports.0 and .1     what was found and is not in the catalog yet
    W/lock                 held by the process that crawls; shared by all others that write
    W/url-server.lock      held by who hands out what is due: a URL server, news or a service
    W/store-server.lock    held by the store server daemon
    W/dc-daemon.lock       held by the daemon of a service, whose engine holds url-server.lock
    W/workers.lock         held, shared, by every worker that fetches
    W/store-workers.lock   held, shared, by every worker of the store server
    W/gossamer.toml        the settings of the last run, for people

So a crawl excludes everybody else, each daemon excludes a crawl and another of its kind, and
`gossamer add` excludes only a crawl. Whoever holds `lock` or a daemon's lock writes its process id
and role into it, for messages; what is left in a file that nobody holds means nothing.

Workers have locks of their own because one may outlive its parent for a moment: the next parent
waits until the last worker of the old one has gone, so that there are never two fleets on one
site, nor two that write one archive.
"""

import fcntl
import os
import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Final, Literal, Self

from gossamer.clock import Clock
from gossamer.config.describe import rows, to_toml
from gossamer.config.load import Loaded
from gossamer.config.secrets import without_secrets
from gossamer.config.settings import Settings
from gossamer.errors import WorkspaceError
from gossamer.store import disk
from gossamer.store.names import archive_files

Role = Literal["crawl", "news", "service", "url-server", "store-server", "dc-daemon", "add"]

_DAEMONS: Final[tuple[Role, ...]] = ("url-server", "store-server", "dc-daemon")
_OWN_NAME: Final = r"catalog\.db.*|reports\.[01]|(?:.+\.)?lock|gossamer\.toml"
_OLD_WORKERS_SECONDS: Final = 10.0
_SIGNATURE_BYTES: Final = 64


class Workspace:
    """A folder, locked for writing while it is entered."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.catalog = directory / "catalog.db"
        self.archive = directory / "archive"
        self.workers_lock = directory / "workers.lock"
        """What the workers of the role that was locked hold."""
        self.settings_file = directory / "gossamer.toml"
        self._held: list[int] = []
        self._signed: list[int] = []

    def keep_settings(self, settings: Settings) -> None:
        """Write down the settings of this run, for people, without what is secret in them."""
        kept = Loaded(without_secrets(settings), {})
        try:
            self.settings_file.touch(mode=0o600)
            self.settings_file.write_text(to_toml(rows(kept)), encoding="utf-8")
        except OSError as error:
            raise disk.refusal("write", self.settings_file, error) from error

    def exists(self) -> bool:
        """Whether there is a workspace here; complain of one that has lost its catalog.

        Who began anew beside its archive would fetch everything again, and know of half of it.
        """
        found = True
        try:
            # Not with `exists`: from Python 3.14 on it takes what may not be looked at for missing.
            is_lost = not self.catalog.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            found, is_lost = False, True
        except OSError as error:
            raise WorkspaceError(
                f"cannot look into {self.directory}: {error.strerror}; "
                "choose a folder that you may read"
            ) from error
        if is_lost:
            self.require_nothing_fetched()
        return found

    def require_nothing_fetched(self) -> None:
        """Complain if there are archive files: for a workspace whose catalog knows of none."""
        if self.archive.is_dir() and archive_files(self.archive):
            raise WorkspaceError(
                f"cannot use workspace {self.directory}: its {self.catalog.name} is missing or "
                f"empty, and {self.archive.name}/ holds what was fetched; put "
                f"{self.catalog.name} back, with the {self.catalog.name}-wal that belongs to it "
                "(from a copy, or is a disk not mounted?), or begin anew in another folder"
            )

    def require(self, make: str = "gossamer crawl URL") -> Self:
        """Complain unless there is a workspace here; `make` is the command that makes one."""
        if not self.exists():
            raise WorkspaceError(
                f"no workspace in {self.directory}: there is no {self.catalog.name}; "
                f"make one with: {make} --dir {quote(str(self.directory))}"
            )
        return self

    def owns(self, path: Path) -> bool:
        """Whether a file that somebody wants to write is a part of the workspace."""
        try:
            place, here, archive = map(os.path.realpath, (path, self.directory, self.archive))
        except OSError:
            return False
        folder, name = os.path.split(place)
        return folder == archive or (folder == here and re.fullmatch(_OWN_NAME, name) is not None)

    def lock(self, clock: Clock, role: Role = "crawl") -> None:
        """Make the folder if need be and become the only process that has this role in it."""
        fetchers, storers = self.directory / "workers.lock", self.directory / "store-workers.lock"
        self.workers_lock = storers if role == "store-server" else fetchers
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.archive.mkdir(mode=0o700, exist_ok=True)
            self._hold(role)
            self.exists()
            if role in ("crawl", "news", "service", "url-server"):
                _await_old_workers(fetchers, clock)
            if role in ("crawl", "store-server"):
                _await_old_workers(storers, clock)
        except OSError as error:
            self.unlock()
            raise WorkspaceError(
                f"cannot use {self.directory} as a workspace: {error.strerror}; "
                "choose a folder that you may write to"
            ) from error
        except BaseException:
            self.unlock()
            raise

    def unlock(self) -> None:
        """Let others use the workspace."""
        for handle in self._signed:
            os.ftruncate(handle, 0)
        for handle in self._held:
            os.close(handle)
        self._signed, self._held = [], []

    def holders(self) -> list[str]:
        """Return who crawls here or runs as a daemon, such as `process 12 (url-server)`."""
        places: list[tuple[Path, Role]] = [(self._lock, "crawl")]
        places += [(self._lock_of(role), role) for role in _DAEMONS]
        return [_signature(place, role) for place, role in places if _is_held_alone(place)]

    def _hold(self, role: Role) -> None:
        if role == "crawl":
            if not self._take(self._lock, role, fcntl.LOCK_EX):
                # Nobody alone in it: somebody adds URLs, and is named in the lock itself.
                raise self._in_use(self.holders() or [_signature(self._lock, "add")])
            return
        if not self._take(self._lock, role, fcntl.LOCK_SH):
            raise self._in_use([_signature(self._lock, "crawl")])
        if role != "add" and not self._take(self._lock_of(role), role, fcntl.LOCK_EX):
            raise self._in_use([_signature(self._lock_of(role), role)])

    def _take(self, place: Path, role: Role, kind: int) -> bool:
        """Hold a lock until `unlock`; False if somebody is in the way."""
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._held.append(handle)
        if not _flock(handle, kind):
            return False
        if kind == fcntl.LOCK_EX or role == "add":
            self._signed.append(handle)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()} {role}\n".encode(), 0)
        return True

    @property
    def _lock(self) -> Path:
        return self.directory / "lock"

    def _lock_of(self, role: Role) -> Path:
        # All of these hand out what is due: one of them at a time.
        hands_out = role in ("news", "service", "url-server")
        return self.directory / f"{'url-server' if hands_out else role}.lock"

    def _in_use(self, holders: Sequence[str]) -> WorkspaceError:
        return WorkspaceError(
            f"workspace {self.directory} is in use by {' and '.join(holders)}; "
            "wait for it or stop it, or choose another folder"
        )


def hold_as_worker(workers_lock: Path) -> int:
    """Hold the workers' lock until this process ends; return the descriptor."""
    handle = os.open(workers_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def _await_old_workers(workers_lock: Path, clock: Clock) -> None:
    handle = os.open(workers_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        give_up = clock.monotonic() + _OLD_WORKERS_SECONDS
        while not _flock(handle, fcntl.LOCK_EX):
            if clock.monotonic() >= give_up:
                raise WorkspaceError(
                    f"workers of an earlier crawl in {workers_lock.parent} are still running; "
                    "stop the processes whose command line names a worker of gossamer, "
                    "then try again"
                )
            clock.sleep(0.02)
    finally:
        os.close(handle)


def _flock(handle: int, kind: int) -> bool:
    """Take a lock if it is free."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_held_alone(place: Path) -> bool:
    """Whether somebody holds a lock and shares it with nobody."""
    try:
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise WorkspaceError(
            f"cannot see who uses {place.parent}: {place.name}: {error.strerror}; "
            "make it a file that you may read, or remove it while nothing runs"
        ) from error
    try:
        return not _flock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _signature(place: Path, role: Role) -> str:
    """Return who signed a lock; `role` if the signature does not say."""
    try:
        with place.open("rb") as file:
            words = file.read(_SIGNATURE_BYTES).decode("ascii", "replace").split()
    except OSError:
        words = []
    return f"process {words[0] if words else 'unknown'} ({words[1] if len(words) > 1 else role})"
