"""The workspace: the folder that holds all state of a crawl, and its locks.

    W/catalog.db      what is known (SQLite)
    W/archive/        what was fetched (WARC)
    W/lock            held by the process that crawls; holds its process id
    W/workers.lock    held, shared, by every worker
    W/gossamer.toml   the settings of the last run, for people

Two locks, because a worker may outlive its coordinator for a moment: a new coordinator waits
until the last worker of the old one has gone, so that there are never two fleets on one site.
"""

import fcntl
import os
from pathlib import Path
from typing import Final, Self

from gossamer.clock import Clock
from gossamer.errors import WorkspaceError

_OLD_WORKERS_SECONDS: Final = 10.0


class Workspace:
    """A folder, locked for writing while it is entered."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.catalog = directory / "catalog.db"
        self.archive = directory / "archive"
        self.workers_lock = directory / "workers.lock"
        self.settings_file = directory / "gossamer.toml"
        self._lock: int | None = None

    def exists(self) -> bool:
        """Whether there is a workspace here."""
        return self.catalog.exists()

    def require(self) -> Self:
        """Complain unless there is a workspace here."""
        if not self.exists():
            raise WorkspaceError(
                f"no workspace in {self.directory}: there is no {self.catalog.name}; "
                f"make one with: gossamer crawl URL --dir {self.directory}"
            )
        return self

    def lock(self, clock: Clock) -> None:
        """Make the folder if need be and become the only process that crawls in it."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.archive.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(
                self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise WorkspaceError(
                f"cannot use {self.directory} as a workspace: {error.strerror}; "
                "choose a folder that you may write to"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._lock)
            self._lock = None
            raise WorkspaceError(
                f"workspace {self.directory} is in use by process {holder}; "
                "wait for it or stop it, or choose another --dir"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        self._await_old_workers(clock)

    def unlock(self) -> None:
        """Let others use the workspace."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def _await_old_workers(self, clock: Clock) -> None:
        handle = os.open(self.workers_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            give_up = clock.monotonic() + _OLD_WORKERS_SECONDS
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if clock.monotonic() >= give_up:
                        self.unlock()
                        raise WorkspaceError(
                            f"workers of an earlier crawl in {self.directory} are still running; "
                            "stop the processes that run gossamer.crawl.worker, then try again"
                        ) from None
                    clock.sleep(0.02)
                else:
                    return
        finally:
            os.close(handle)


def hold_as_worker(workers_lock: Path) -> int:
    """Hold the workers' lock until this process ends; return the descriptor."""
    handle = os.open(workers_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle
