"""What the daemons share about each other: endpoints, listeners, the secret, buffered sockets."""

import errno
import os
import socket
import sys
from fcntl import ioctl
from termios import TIOCOUTQ
from typing import Final

from gossamer.daemons.endpoints import (
    Endpoint,
    dial,
    endpoint_of,
    is_loopback,
    listen,
    parse_endpoint,
    parse_target,
    tune,
)
from gossamer.daemons.handshake import (
    HANDSHAKE_SECONDS,
    DiallerHandshake,
    Handshake,
    ListenerHandshake,
    is_challenge,
    load_secret,
)
from gossamer.errors import WireError

__all__ = [
    "HANDSHAKE_SECONDS",
    "BackOff",
    "DiallerHandshake",
    "Endpoint",
    "ListenerHandshake",
    "PeerSocket",
    "accept",
    "dial",
    "endpoint_of",
    "is_challenge",
    "is_loopback",
    "listen",
    "load_secret",
    "parse_endpoint",
    "parse_target",
]

READ_BYTES: Final = 1 << 18
MAX_WAITING_BYTES: Final = 64 << 20
_FIRST_WAIT_SECONDS: Final = 0.1
_LONGEST_WAIT_SECONDS: Final = 5.0


class PeerSocket:
    """One end of a link: never blocks; what the socket does not take waits in a buffer.

    Takes a socket that is connected or about to be. With a handshake, nothing of ours is sent and
    nothing of theirs is handed out before it has succeeded: `ready` tells. The caller ends a link
    that is not ready HANDSHAKE_SECONDS after it began. A link that ended says why in `reason`.
    """

    def __init__(
        self,
        end: socket.socket,
        handshake: Handshake | None = None,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
    ) -> None:
        tune(end)
        self._socket = end
        self._handshake = handshake
        self._max_waiting = max_waiting_bytes
        self._connected = False
        self._out = bytearray()
        self._held = bytearray()
        """What is to be sent after the handshake."""
        self._last_words = b""
        """What had arrived when writing failed."""
        self.name = ""
        """Where it called from, if it did."""
        self.closed = False
        self.reason = ""
        self.flush()

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    @property
    def ready(self) -> bool:
        """Whether the connection stands and the handshake, if there is one, has succeeded."""
        return self._connected and self._handshake is None and not self.closed

    @property
    def waiting_bytes(self) -> int:
        """How much is still to be handed to the system."""
        return len(self._out) + len(self._held)

    @property
    def wants_to_write(self) -> bool:
        """Whether `flush` should be called when the socket can be written."""
        return not self.closed and (not self._connected or bool(self._out))

    @property
    def unacknowledged_bytes(self) -> int:
        """How much the system has taken of us but the peer has not acknowledged (SIOCOUTQ)."""
        if self.closed:
            return 0
        return int.from_bytes(ioctl(self._socket, TIOCOUTQ, bytes(4)), sys.byteorder)

    def send(self, data: bytes) -> None:
        """Send, or keep it until the peer reads; a peer that reads far too slowly is left."""
        if self.closed:
            return
        if self.waiting_bytes > self._max_waiting:
            self.close(f"{self.waiting_bytes} bytes wait that the other side does not read")
            return
        if self._handshake is not None:
            self._held += data
            return
        self._out += data
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as the socket takes it."""
        if self.closed or not (self._connected or self._check_connection()):
            return
        while self._out:
            try:
                sent = self._socket.send(self._out)
            except BlockingIOError:
                return
            except OSError as error:
                self._last_words = self._unread()
                self.close(_words(error))
                return
            del self._out[:sent]

    def receive(self, max_bytes: int = READ_BYTES) -> bytes:
        """Return what has arrived, at most so much; nothing also when the link has ended.

        But what the other side said before it died is handed out though writing to it has failed.
        """
        if self.closed:
            words, self._last_words = self._last_words, b""
            return words
        if not (self._connected or self._check_connection()):
            return b""
        try:
            data = self._socket.recv(max_bytes)
        except BlockingIOError:
            return b""
        except OSError as error:
            self.close(_words(error))
            return b""
        if not data:
            self.close(self._parting())
            return b""
        return data if self._handshake is None else self._shake(data)

    def _parting(self) -> str:
        """Say how it looks when the other side hangs up: it never tells why it did not like us."""
        if self._handshake is None:
            return "closed by the other side"
        return "closed by the other side during the handshake; do both ends have the same secret?"

    def _unread(self) -> bytes:
        """Return what has arrived on a link that cannot be written any more."""
        if self._handshake is not None:
            return b""
        try:
            return self._socket.recv(READ_BYTES)
        except OSError:
            return b""

    def close(self, reason: str = "closed by this side") -> None:
        """End the link; what still waits is given up."""
        if not self.closed:
            self.closed = True
            self.reason = reason
            self._out.clear()
            self._held.clear()
            self._socket.close()

    def _check_connection(self) -> bool:
        """Find out whether connecting has succeeded; the handshake begins when it has."""
        problem = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem:
            self.close(os.strerror(problem))
            return False
        try:
            self._socket.getpeername()
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                self.close(_words(error))
            return False
        self._connected = True
        if self._handshake is not None:
            self._shake(b"")
        return not self.closed

    def _shake(self, data: bytes) -> bytes:
        """Go on with the handshake; returns what came after it."""
        assert self._handshake is not None
        try:
            reply, done, rest = self._handshake.feed(data)
        except WireError as error:
            self.close(str(error))
            return b""
        self._out += reply
        if done:
            self._handshake = None
            self._out += self._held
            self._held.clear()
        self.flush()
        return rest


def _words(error: OSError) -> str:
    return error.strerror or str(error)


def accept(listener: socket.socket, secret: bytes | None) -> PeerSocket | None:
    """Return the next peer that has called; None if nobody has, or it is gone again."""
    try:
        end, address = listener.accept()
    except OSError:
        return None
    peer = PeerSocket(end, ListenerHandshake(secret))
    peer.name = str(Endpoint(*address[:2]))
    return peer


class BackOff:
    """How long to wait before the next try: longer each time, up to five seconds."""

    def __init__(self) -> None:
        self._tries = 0

    def next_seconds(self) -> float:
        """Return the wait after one more failure."""
        wait = min(_FIRST_WAIT_SECONDS * 2.0**self._tries, _LONGEST_WAIT_SECONDS)
        self._tries = min(self._tries + 1, 16)
        return wait

    def reset(self) -> None:
        """It worked: the next failure begins anew."""
        self._tries = 0
