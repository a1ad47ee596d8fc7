"""Waits for descriptors to become readable or writable, and calls back."""

import selectors
from collections.abc import Callable


class Poll:
    """The event loop of a daemon without a spider."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, tuple[int, Callable[[], None]]] = {}

    def watch(
        self,
        descriptor: int,
        callback: Callable[[], None],
        *,
        reading: bool = True,
        writing: bool = False,
    ) -> None:
        """Call back when it can be read or written; calling it again changes what is watched for.

        With neither it is let be altogether: not even its end is told, which would be told again
        and again as long as nobody reads.
        """
        mask = (reading and selectors.EVENT_READ) | (writing and selectors.EVENT_WRITE)
        before = self._watched.get(descriptor, (0, callback))[0]
        self._watched[descriptor] = (mask, callback)
        if mask == before:
            return
        if not before:
            self._selector.register(descriptor, mask)
        elif mask:
            self._selector.modify(descriptor, mask)
        else:
            self._selector.unregister(descriptor)

    def unwatch(self, descriptor: int) -> None:
        """Watch it no more; call it before anything else gets its number."""
        mask, _ = self._watched.pop(descriptor, (0, None))
        if mask:
            self._selector.unregister(descriptor)

    def wait(self, seconds: float) -> None:
        """Wait until something happens, or time is up."""
        for key, _ in self._selector.select(max(seconds, 0.0)):
            # A callback may have ended the watch of another.
            mask, callback = self._watched.get(key.fd, (0, _ignore))
            if mask:
                callback()

    def close(self) -> None:
        """Let go of everything."""
        self._selector.close()


def _ignore() -> None:
    pass
