"""Lines for the operator, without a lock: each is one write to a descriptor."""

import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gossamer.clock import Clock
from gossamer.errors import StorageError
from gossamer.wording import visible

LEVELS: Final = ("debug", "info", "warning", "error")


def open_journal(path: Path | None) -> int:
    """Return the descriptor to log to: of a file that grows, or standard error."""
    if path is None:
        return sys.stderr.fileno()
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"cannot log to {path}: {error.strerror}") from error


class Journal:
    """What one thread has to say; threads share the descriptor only, and lines stay whole."""

    def __init__(self, name: str, level: str, descriptor: int, clock: Clock) -> None:
        self._name = name
        self.level = level
        self._descriptor = descriptor
        self._clock = clock

    def named(self, name: str) -> "Journal":
        """Return the log of another thread, with the same level to begin with."""
        return Journal(name, self.level, self._descriptor, self._clock)

    def debug(self, text: str) -> None:
        """Tell what is of use when looking for a fault."""
        self._write("debug", text)

    def info(self, text: str) -> None:
        """Tell what happens rarely and as expected."""
        self._write("info", text)

    def warning(self, text: str) -> None:
        """Tell what went wrong and was dealt with."""
        self._write("warning", text)

    def error(self, text: str, error: BaseException | None = None) -> None:
        """Tell what went wrong, with the way it took through the program."""
        self._write("error", text)
        if error is not None:
            for line in "".join(traceback.format_exception(error)).splitlines():
                self._write("error", f"  {line}")

    def _write(self, level: str, text: str) -> None:
        if LEVELS.index(level) < LEVELS.index(self.level):
            return
        moment = datetime.fromtimestamp(self._clock.time(), UTC).isoformat(timespec="milliseconds")
        line = f"{moment.removesuffix('+00:00')}Z {level} {self._name}: {visible(text)}\n"
        try:
            os.write(self._descriptor, line.encode())
        except OSError:
            pass  # Nobody reads it any more, or the disk is full: no reason to stop serving.
