"""Messages for the person who runs a daemon: a peer must not be able to fill a disk with them."""

from collections.abc import Callable
from typing import Final

from gossamer.clock import Clock

_MOST: Final = 10
_SECONDS: Final = 10.0


class Notes:
    """Passes on a few messages of each kind in a while, and how many were left out."""

    def __init__(self, out: Callable[[str], None], clock: Clock) -> None:
        self._out = out
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}

    def say(self, kind: str, text: str) -> None:
        """Pass a message on, unless there were many of its kind just now."""
        now = self._clock.monotonic()
        began, count = self._kinds.get(kind, (now, 0))
        if now - began >= _SECONDS:
            if count > _MOST:
                self._out(f"{count - _MOST} more messages about {kind}")
            began, count = now, 0
        self._kinds[kind] = (began, count + 1)
        if count < _MOST:
            self._out(text)
