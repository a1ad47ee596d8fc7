"""A transparent relay between two daemons that tells what passes.

Theory of operation. Whoever dials us is connected to the target; bytes are passed on as they are,
in both directions, and a direction that ends is ended on the other side, too. Nothing is read from
an end while too much waits for the other, so a slow end slows the other as if we were not there.
What is told about a link is made from copies and cannot disturb it.
"""

import os
import selectors
import socket
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.daemons.capture import (
    MAX_PIECE_BYTES,
    CaptureHead,
    Event,
    Record,
    Sender,
    sent_record,
)
from gossamer.daemons.endpoints import Endpoint, dial, tune

MAX_LINKS: Final = 256
_MAX_WAITING: Final = 1 << 20
_LONGEST_WAIT_SECONDS: Final = 0.2


class Told(Struct, frozen=True, gc=False):
    """Something that happened on a link."""

    at: float
    """Wall time."""
    link: int
    event: Event = ""
    """`opened`, `closed`, or nothing: then these bytes were sent."""
    sender: Sender = "dialler"
    data: bytes = b""
    reason: str = ""


def record_of(told: Told, began_at: float) -> Record:
    """Return what a capture keeps of it."""
    seconds = round(told.at - began_at, 6)
    if told.event:
        return Record(seconds, told.link, event=told.event)
    return sent_record(seconds, told.link, told.sender, told.data)


def told_in(head: CaptureHead, record: Record) -> Told:
    """Return what a record of a capture tells."""
    at = head.began_at + record.seconds
    return Told(at, record.link, record.event, record.sender or "dialler", record.data)


class Relay:
    """All links through one listener."""

    def __init__(
        self,
        listener: socket.socket,
        target: Endpoint,
        clock: Clock,
        tell: Callable[[Told], None],
    ) -> None:
        self._listener = listener
        self._target = target
        self._clock = clock
        self._tell = tell
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._links: set[_Link] = set()
        self._opened = 0

    def run_once(self, timeout: float = _LONGEST_WAIT_SECONDS) -> None:
        """Wait for one round of events and pass on what has arrived."""
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._accept()
            elif key.data in self._links:
                self._move(key.data)

    def close(self) -> None:
        """End all links."""
        for link in list(self._links):
            self._end(link, "the relay ends")
        self._selector.close()

    def _accept(self) -> None:
        try:
            near, _ = self._listener.accept()
        except OSError:
            return
        self._opened += 1
        number = self._opened
        try:
            tune(near)
            far = dial(self._target)
        except OSError as error:
            near.close()
            self._say(number, "closed", f"cannot connect to {self._target}: {_words(error)}")
            return
        link = _Link(number, near, far)
        self._links.add(link)
        self._say(number, "opened")
        self._watch(link)
        if len(self._links) > MAX_LINKS:
            self._end(link, f"more than {MAX_LINKS} links")

    def _move(self, link: "_Link") -> None:
        try:
            if not link.is_connected():
                return
            for end, other, sender in link.directions():
                data = end.take(_MAX_WAITING - len(other.waiting))
                if data:
                    self._tell(Told(self._clock.time(), link.number, "", sender, data))
                    other.waiting += data
                other.give(ended=end.has_ended)
        except OSError as error:
            reason = _words(error)
            if not link.connected:
                reason = f"cannot connect to {self._target}: {reason}"
            self._end(link, reason)
            return
        if link.is_over():
            self._end(link, "")
        else:
            self._watch(link)

    def _watch(self, link: "_Link") -> None:
        for end, other, _ in link.directions():
            mask = 0
            if link.connected and not end.has_ended and len(other.waiting) < _MAX_WAITING:
                mask |= selectors.EVENT_READ
            if end.waiting or (end is link.far and not link.connected):
                mask |= selectors.EVENT_WRITE
            self._register(end, mask, link)

    def _register(self, end: "_End", mask: int, link: "_Link") -> None:
        if mask == end.mask:
            return
        if not mask:
            self._selector.unregister(end.socket)
        elif end.mask:
            self._selector.modify(end.socket, mask, link)
        else:
            self._selector.register(end.socket, mask, link)
        end.mask = mask

    def _end(self, link: "_Link", reason: str) -> None:
        self._links.discard(link)
        for end in (link.near, link.far):
            self._register(end, 0, link)
            end.socket.close()
        self._say(link.number, "closed", reason)

    def _say(self, link: int, event: Event, reason: str = "") -> None:
        self._tell(Told(self._clock.time(), link, event, reason=reason))


class _End:
    """One socket of a link, with what is to be sent on it."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.waiting = bytearray()
        self.has_ended = False
        """It will send no more."""
        self.is_shut = False
        """We will send it no more."""
        self.mask = 0

    def take(self, room: int) -> bytes:
        """Return what it sent, if there is room for it."""
        if self.has_ended or room <= 0:
            return b""
        try:
            data = self.socket.recv(min(room, MAX_PIECE_BYTES))
        except BlockingIOError:
            return b""
        self.has_ended = not data
        return data

    def give(self, *, ended: bool) -> None:
        """Send it what waits, and after all of it that there will be no more."""
        while self.waiting:
            try:
                del self.waiting[: self.socket.send(self.waiting)]
            except BlockingIOError:
                return
        if ended and not self.is_shut:
            self.is_shut = True
            self.socket.shutdown(socket.SHUT_WR)


class _Link:
    """A dialler and the listener that it is connected to through us."""

    def __init__(self, number: int, near: socket.socket, far: socket.socket) -> None:
        self.number = number
        self.near = _End(near)
        self.far = _End(far)
        self.connected = False

    def directions(self) -> tuple[tuple[_End, _End, Sender], tuple[_End, _End, Sender]]:
        """Return (who sends, who receives, its name) both ways."""
        return (self.near, self.far, "dialler"), (self.far, self.near, "listener")

    def is_connected(self) -> bool:
        """Whether the target has answered; raises OSError when it refused."""
        if not self.connected:
            problem = self.far.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if problem:
                raise OSError(problem, os.strerror(problem))
            self.connected = True
        return True

    def is_over(self) -> bool:
        """Whether both directions have ended."""
        return self.near.is_shut and self.far.is_shut


def _words(error: OSError) -> str:
    return error.strerror or str(error)
