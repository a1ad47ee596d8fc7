"""Stands between a server and libcurl for one response that libcurl may not see as it is."""

import os
import select
import socket
from collections.abc import Callable
from errno import ECONNRESET
from typing import Final

from gossamer.spider.loop import Loop
from gossamer.spider.mend import Mended, inspect, is_head_end_after

_PIECE_BYTES: Final = 65_536
# A little more than libcurl allows: it shall be libcurl that refuses.
_MAX_HEAD_BYTES: Final = 327_680


class Relay:
    """Takes a connection over: reads the head, has it mended, and hands on the rest as it comes.

    libcurl's descriptor is made to refer to one end of a socket pair; the real connection lives on
    under another number. Such a connection carries one response and is never used again.
    """

    def __init__(
        self,
        loop: Loop,
        descriptor: int,
        on_ready: Callable[[Mended | None], None],
        taken: bytes = b"",
    ) -> None:
        """`taken`: what has been read of the response already, if anything then its whole head."""
        self._loop = loop
        self._on_ready = on_ready
        theirs, self._ours = socket.socketpair()
        self._real = socket.socket(fileno=os.dup(descriptor))
        loop.forget(descriptor)
        with theirs:
            theirs.setblocking(False)
            # If it is still unread when we close our end, the other end hears of a reset.
            theirs.send(b"!")
            os.dup2(theirs.fileno(), descriptor, inheritable=False)
        for each in (self._ours, self._real):
            loop.note_new(each.fileno())
        self._ours.setblocking(False)
        self._real.setblocking(False)
        self._pending = taken
        self._is_reading_head = True
        self._ended = False
        self.received = len(taken)
        self.error_number = 0

    def start(self) -> None:
        """Begin to read."""
        self._loop.tap(self._real.fileno(), (select.POLLIN, Relay._pull, self))
        if self._pending:
            self._read_head(0)
            self._push()
        else:
            self._pull()

    def close(self) -> None:
        """Close the real connection."""
        for end in (self._real, self._ours):
            if end.fileno() >= 0:
                self._loop.untap(end.fileno())
                self._loop.forget(end.fileno())
                end.close()

    def _pull(self) -> None:
        try:
            piece = self._real.recv(_PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self.error_number = error.errno or 0
            piece = b""
        self._ended = not piece
        self.received += len(piece)
        looked_at = len(self._pending)
        self._pending += piece
        if self._is_reading_head:
            self._read_head(looked_at)
        if not self._is_reading_head:
            self._push()

    def _read_head(self, looked_at: int) -> None:
        found = None
        is_last = self._ended or len(self._pending) > _MAX_HEAD_BYTES
        if is_last or is_head_end_after(self._pending, looked_at):
            found = inspect(self._pending)
        if found is None and not is_last:
            return
        self._is_reading_head = False
        if isinstance(found, Mended):
            self._pending = found.replacement + self._pending[len(found.original) :]
        self._on_ready(found if isinstance(found, Mended) else None)

    def _push(self) -> None:
        """Hand on what is pending before any more is read."""
        try:
            sent = self._ours.send(self._pending) if self._pending else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self.close()
            return
        self._pending = self._pending[sent:]
        if self._pending:
            self._loop.untap(self._real.fileno())
            self._loop.tap(self._ours.fileno(), (select.POLLOUT, Relay._push, self))
        elif self._ended:
            if self.error_number != ECONNRESET:
                self._ours.recv(1)
            self.close()
        else:
            self._loop.untap(self._ours.fileno())
            self._loop.tap(self._real.fileno(), (select.POLLIN, Relay._pull, self))
