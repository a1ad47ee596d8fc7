"""Nursery: threads are started, watched and stopped by whoever has one; no thread has two."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from gossamer.errors import GossamerError
from gossamer.service.figures import Figures
from gossamer.service.threaded import Event, EventKind, Order, OrderKind, Place, ThreadedObject
from gossamer.service.transport import Frames, Kind, TransportItem, inproc

Make = Callable[[Place], ThreadedObject]
_LOOK_SECONDS: Final = 0.2


class ChildError(GossamerError):
    """A thread does not start, does not stop, or keeps dying."""


class Nursery:
    """The parent's end of all its children."""

    def __init__(self, name: str, place: Place) -> None:
        self.item = TransportItem("CHILDREN", Kind.SERVER, inproc(name), self._on_frames)
        self._place = msgspec.structs.replace(place, parent=self.item.endpoint)
        self._threads: dict[str, threading.Thread] = {}
        self._makers: dict[str, Make] = {}
        self._generations: dict[str, int] = {}
        self._events: deque[tuple[str, Event]] = deque()

    @property
    def names(self) -> list[str]:
        """The children that live, in the order of their start."""
        return list(self._threads)

    @property
    def restarts(self) -> dict[str, int]:
        """How often each child had to be started again."""
        return {name: times for name, times in self._generations.items() if times}

    def start(self, name: str, make: Make, statistics: Figures | None = None) -> str:
        """Start a thread and wait until it is ready; return what it says then."""
        generation = self._generations.setdefault(name, 0)
        self._makers[name] = make
        child = make(
            msgspec.structs.replace(self._place, generation=generation, statistics=statistics or {})
        )
        thread = threading.Thread(target=child.run, name=name, daemon=True)
        self._threads[name] = thread
        thread.start()
        seconds = self._place.settings.server.start_timeout_seconds
        event = self._wait_for(name, {EventKind.READY, EventKind.DIED}, seconds)
        if event is None:
            raise ChildError(f"{name} did not start within {seconds:g} s")
        if event.kind is EventKind.DIED:
            self._threads.pop(name).join()
            raise ChildError(f"{name} cannot start: {event.text}")
        return event.text

    def restart(self, name: str, statistics: Figures) -> str:
        """Start a child again that has died, and tell the others; return what it says."""
        self.bury(name)
        self._generations[name] += 1
        words = self.start(name, self._makers[name], statistics)
        self.tell_all(Order(OrderKind.RESTARTED, name))
        return words

    def bury(self, name: str) -> None:
        """Give a child up that has died."""
        self._threads.pop(name).join()

    def stop(self, name: str) -> Figures:
        """Stop a child and wait until it has; return what it counted."""
        self.tell(name, Order(OrderKind.STOP))
        seconds = self._place.settings.server.stop_timeout_seconds
        event = self._wait_for(name, {EventKind.STOPPED, EventKind.DIED}, seconds)
        if event is None:
            raise ChildError(f"{name} did not stop within {seconds:g} s")
        self._threads.pop(name).join()
        return event.statistics

    def tell(self, name: str, order: Order) -> None:
        """Give one child an order."""
        self.item.send([name.encode(), msgspec.json.encode(order)])

    def tell_all(self, order: Order) -> None:
        """Give all children an order, but not the one it is about."""
        for name in self._threads:
            if name != order.name:
                self.tell(name, order)

    def next_event(self) -> tuple[str, Event] | None:
        """Return what a child told and nobody has heard yet."""
        self._receive()
        return self._events.popleft() if self._events else None

    def _wait_for(self, name: str, kinds: set[EventKind], seconds: float) -> Event | None:
        deadline = self._place.clock.monotonic() + seconds
        while True:
            self._receive()
            for pair in self._events:
                if pair[0] == name and pair[1].kind in kinds:
                    self._events.remove(pair)
                    return pair[1]
            left = deadline - self._place.clock.monotonic()
            if left <= 0:
                return None
            self.item.socket.poll(int(min(left, _LOOK_SECONDS) * 1000) + 1)

    def _receive(self) -> None:
        while (frames := self.item.receive()) is not None:
            self._on_frames(frames)

    def _on_frames(self, frames: Frames) -> None:
        self._events.append((frames[0].decode(), msgspec.json.decode(frames[-1], type=Event)))
