"""Files of the service that properties of sites may refer to by name, such as `file:agents.txt`."""

import os
from pathlib import Path
from stat import S_ISREG
from typing import Final

from gossamer.objects.headers import MAX_TEXT

FOLDER: Final = "files"
"""In the folder of the service."""
_MOST: Final = 1_000


class RequestFiles:
    """Reads texts from one folder, and nothing else; what cannot be read is empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[tuple[int, int], str]] = {}

    def __call__(self, name: str) -> str:
        """Return the text of a file, as it is now."""
        if not name or "/" in name or name.startswith(".") or "\0" in name:
            return ""
        try:
            descriptor = os.open(
                self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            )
        except OSError:
            return ""
        try:
            state = os.fstat(descriptor)
            if not S_ISREG(state.st_mode) or state.st_size > MAX_TEXT:
                return ""
            version = (state.st_mtime_ns, state.st_size)
            known = self._known.get(name)
            if known is not None and known[0] == version:
                return known[1]
            text = os.read(descriptor, MAX_TEXT).decode("utf-8", "replace")
        except OSError:
            return ""
        finally:
            os.close(descriptor)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[name] = (version, text)
        return text
