"""Sockets for libcurl, and looks at those that belong to it."""

import os
import socket
import struct
from array import array
from fcntl import ioctl
from termios import FIONREAD
from typing import Final

# tcpi_bytes_received and tcpi_state (the first byte) of Linux's struct tcp_info.
_ESTABLISHED: Final = b"\x01"
_RECEIVED: Final = slice(128, 136)


class Handover:
    """A new socket on its way to pycurl, which makes a copy and drops this one at once."""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        self._descriptor = socket.socket(family, kind, protocol).detach()

    def fileno(self) -> int:
        """Return the descriptor to copy."""
        return self._descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)


class KnownHandover(Handover):
    """A connection that was there before, and is the caller's no more."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor


def bytes_received(descriptor: int) -> int:
    """Return how many bytes a connection has brought in all; 0 where the system does not tell."""
    return _received(_tcp_info(descriptor))


def bytes_taken(connection: socket.socket) -> int:
    """Return how many bytes of a connection were read so far, rather more than less."""
    pending = _pending(connection)
    return _received(_info_of(connection)) - pending


def bytes_read(descriptor: int) -> int:
    """Return how many bytes of a connection were read so far, rather less than more."""
    try:
        borrowed = socket.socket(fileno=descriptor)
    except OSError:
        return 0
    try:
        received = _received(_info_of(borrowed))
        return received - _pending(borrowed)
    except OSError:
        return 0
    finally:
        borrowed.detach()


def _pending(connection: socket.socket) -> int:
    waiting = array("i", [0])
    ioctl(connection.fileno(), FIONREAD, waiting)
    return waiting[0]


def is_established(descriptor: int) -> bool:
    """Whether a connection that is being made has got as far as TCP."""
    return _tcp_info(descriptor)[:1] == _ESTABLISHED


def _tcp_info(descriptor: int) -> bytes:
    if descriptor < 0:
        return b""
    try:
        borrowed = socket.socket(fileno=descriptor)
    except OSError:
        return b""
    try:
        return _info_of(borrowed)
    finally:
        borrowed.detach()


def _info_of(connection: socket.socket) -> bytes:
    if not hasattr(socket, "TCP_INFO"):
        return b""
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.stop)
    except OSError:
        return b""


def _received(info: bytes) -> int:
    field = info[_RECEIVED]
    return int(struct.unpack("=Q", field)[0]) if len(field) == 8 else 0


def spoil(descriptor: int) -> None:
    """Make sure that a connection is not used again: libcurl checks that it is alive."""
    if descriptor < 0:
        return
    try:
        borrowed = socket.socket(fileno=descriptor)
    except OSError:
        return
    try:
        borrowed.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    finally:
        borrowed.detach()
