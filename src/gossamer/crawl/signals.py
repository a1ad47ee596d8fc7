"""Signals: Ctrl-C and SIGTERM become an orderly stop."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from gossamer.crawl.stops import Stops


class Loop(Protocol):
    """What waits for descriptors: the spider, or a daemon's own loop."""

    def watch(self, fd: int, callback: Callable[[], None], /) -> None:
        """Call back when a descriptor can be read."""
        ...

    def unwatch(self, fd: int, /) -> None:
        """Watch it no more."""
        ...


@contextlib.contextmanager
def signals(stops: Stops, loop: Loop) -> Iterator[None]:
    """Have signals stop what runs, also while its loop waits."""
    wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def drain() -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(wake)

    def on_signal(number: int, frame: FrameType | None) -> None:
        del frame
        (stops.interrupt if number == signal.SIGINT else stops.terminate)()
        os.eventfd_write(wake, 1)

    loop.watch(wake, drain)
    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
        loop.unwatch(wake)
        os.close(wake)
