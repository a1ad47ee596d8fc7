"""Sockets for libcurl, and looks at those that belong to it."""

import os
import socket
import struct
from typing import Final

# Where Linux keeps tcpi_bytes_received in struct tcp_info.
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


def bytes_received(descriptor: int) -> int:
    """Return how many bytes a connection has brought in all; 0 where the system does not tell."""
    if descriptor < 0 or not hasattr(socket, "TCP_INFO"):
        return 0
    try:
        borrowed = socket.socket(fileno=descriptor)
    except OSError:
        return 0
    try:
        field = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.stop)[_RECEIVED]
    except OSError:
        return 0
    finally:
        borrowed.detach()
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
