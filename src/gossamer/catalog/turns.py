"""Turns: processes that write to one catalog do so one after the other, and none is passed over.

SQLite lets a writer that finds the database taken sleep and try again; one that commits without
a pause then keeps all others out for long. Here the next one waits in a room for one, and whoever
has just had its turn must go through that room again, so that it cannot be faster.
"""

import fcntl
import os
from typing import Final

_MODE: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class Turns:
    """Two locks beside a catalog: to enter is to wait for one's turn; death gives it back."""

    def __init__(self, path: str) -> None:
        self._room = os.open(f"{path}-next", _MODE, 0o600)
        try:
            self._turn = os.open(f"{path}-turn", _MODE, 0o600)
        except BaseException:
            os.close(self._room)
            raise

    def __enter__(self) -> None:
        fcntl.flock(self._room, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._room, fcntl.LOCK_UN)

    def __exit__(self, *exception: object) -> None:
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._room)
        os.close(self._turn)
