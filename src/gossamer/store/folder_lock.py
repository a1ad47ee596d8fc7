"""Who may touch a content storage when: many at once, but only one who moves whole sites away.

Two locks of the operating system on files of the storage, taken for moments and gone with the
process that held them. Whoever comes passes the first to ask for the second, and who has to wait
there keeps the first: so those who come later cannot keep him waiting for ever.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.store import disk


class FolderLock:
    """The lock of one folder; each holder, in any thread or process, has one of its own."""

    def __init__(self, folder: Path) -> None:
        self._door = folder / ".door"
        self._room = folder / ".room"

    @contextmanager
    def together(self) -> Iterator[None]:
        """Work beside others who do, while nobody moves sites."""
        with self._locked(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work while nobody else does."""
        with self._locked(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        room = _opened(self._room)
        try:
            door = _opened(self._door)
            try:
                fcntl.flock(door, fcntl.LOCK_EX)
                fcntl.flock(room, how)
            finally:
                os.close(door)
            yield
        finally:
            os.close(room)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise disk.refusal("lock", path, error) from error
