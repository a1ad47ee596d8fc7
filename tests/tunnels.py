"""A proxy on loopback: it knows CONNECT, and a log of what it was asked for judges."""

import socket
import threading
from contextlib import closing
from typing import Self


class Tunnels:
    """A proxy that knows CONNECT and nothing else; all names are this machine to it.

    `answer`: what it says itself in the place of every server, as a liar in the middle would.
    `status`: with which it refuses everything.
    """

    def __init__(
        self, address: str = "127.0.0.1", *, answer: bytes = b"", status: str = ""
    ) -> None:
        self.heads: list[str] = []
        self._answer = answer
        self._status = status
        self._listener = socket.create_server((address, 0))
        self.name = f"{address}:{self._listener.getsockname()[1]}"
        self.url = f"http://{self.name}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    @property
    def targets(self) -> list[str]:
        """What tunnels were asked for, in order."""
        return [head.split(" ", 2)[1] for head in self.heads]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with closing(client):
            head = _head(client)
            if not head:
                return
            self.heads.append(head.decode())
            method, target, _ = self.heads[-1].split(" ", 2)
            if self._status:
                client.sendall(f"HTTP/1.1 {self._status}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            if method != "CONNECT":
                client.sendall(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
                return
            if self._answer:
                client.sendall(b"HTTP/1.1 200 Go ahead\r\n\r\n")
                while _head(client):
                    client.sendall(self._answer)
                return
            port = int(target.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port)) as server:
                client.sendall(b"HTTP/1.1 200 Go ahead\r\n\r\n")
                back = threading.Thread(target=_pour, args=(server, client), daemon=True)
                back.start()
                _pour(client, server)
                back.join()


def _head(client: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        try:
            piece = client.recv(1)
        except OSError:
            return b""
        if not piece:
            return b""
        head += piece
    return head


def _pour(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65_536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return
