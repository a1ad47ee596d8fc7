"""A server that says exactly what it is told to, right or wrong: one path for each misbehaviour."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Self

Behaviour = Callable[["Connection"], bool]
"""Answers one request; True keeps the connection for the next."""


class Connection:
    """One accepted connection and the request that is being answered."""

    def __init__(self, server: "RawServer", peer: socket.socket) -> None:
        self.server = server
        self.peer = peer
        self.request = b""
        self.number = 0
        self._buffer = b""

    def read_request(self) -> bool:
        while b"\r\n\r\n" not in self._buffer:
            got = self.peer.recv(65_536)
            if not got:
                return False
            self._buffer += got
        self.request, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        self.request += b"\r\n\r\n"
        self.number += 1
        return True

    @property
    def path(self) -> str:
        return self.request.split(b" ", 2)[1].decode()

    def send(self, data: bytes) -> None:
        if "split" in self.path:
            for position in range(len(data)):
                self.peer.sendall(data[position : position + 1])
        else:
            self.peer.sendall(data)

    def drip(self, data: bytes, seconds: float) -> None:
        for position in range(len(data)):
            self.peer.sendall(data[position : position + 1])
            if self.server.closing.wait(seconds):
                return

    def hang(self) -> None:
        """Say nothing until the peer or the test has had enough."""
        self.peer.settimeout(0.05)
        until = time.monotonic() + 30
        while time.monotonic() < until and not self.server.closing.is_set():
            try:
                if not self.peer.recv(1):
                    return
            except TimeoutError:
                continue

    def flood(self, piece: bytes, limit: int = 64 << 20) -> None:
        """Send the same again and again until the peer has had enough."""
        for _ in range(max(limit // len(piece), 1)):
            self.peer.sendall(piece)

    def reset(self) -> None:
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class RawServer:
    """Listens on loopback in threads of its own; logs every request head in order."""

    def __init__(
        self,
        behaviours: dict[str, bytes | Behaviour],
        context: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
        before: Callable[[socket.socket], None] | None = None,
    ) -> None:
        self.behaviours = behaviours
        self.requests: list[bytes] = []
        self.accepted = 0
        self.closing = threading.Event()
        self._context = context
        self._before = before
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family, backlog=2_048)
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._peers: set[socket.socket] = set()
        self._main = threading.Thread(target=self._accept, daemon=True)
        self._main.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._main.join()
        self._listener.close()
        for peer in list(self._peers):
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(5)

    def paths(self) -> list[str]:
        return [request.split(b" ", 2)[1].decode() for request in self.requests]

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: socket.socket) -> None:
        try:
            with peer:
                self._peers.add(peer)
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._before is not None:
                    self._before(peer)
                if self._context is None:
                    self._talk(peer)
                else:
                    with self._context.wrap_socket(peer, server_side=True) as secure:
                        self._peers.add(secure)
                        self._talk(secure)
        except (OSError, ValueError):
            pass
        finally:
            self._peers.discard(peer)

    def _talk(self, peer: socket.socket) -> None:
        connection = Connection(self, peer)
        while connection.read_request():
            self.requests.append(connection.request)
            name = connection.path.lstrip("/").partition("?")[0]
            behaviour = self.behaviours[name]
            if isinstance(behaviour, bytes):
                connection.send(behaviour)
                if not _is_kept(behaviour):
                    break
            elif not behaviour(connection):
                return
        try:
            peer.shutdown(socket.SHUT_WR)
            peer.settimeout(2)
            while peer.recv(65_536):
                pass
        except OSError:
            pass


def _is_kept(answer: bytes) -> bool:
    """A plain answer says itself whether the connection stays."""
    return b"X-Keep: yes" in answer


def page(
    body: bytes = b"hello", *lines: bytes, status: bytes = b"200 OK", keep: bool = True
) -> bytes:
    """Return an ordinary response."""
    fields = [*lines, b"Content-Type: text/html", b"Content-Length: %d" % len(body)]
    if keep:
        fields.append(b"X-Keep: yes")
    return b"HTTP/1.1 " + status + b"\r\n" + b"".join(f + b"\r\n" for f in fields) + b"\r\n" + body


def chunked(*chunks: bytes, lines: tuple[bytes, ...] = (), end: bytes = b"0\r\n\r\n") -> bytes:
    """Return a chunked response."""
    fields = [*lines, b"Transfer-Encoding: chunked"]
    return (
        b"HTTP/1.1 200 OK\r\n"
        + b"".join(field + b"\r\n" for field in fields)
        + b"\r\n"
        + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
        + end
    )
