"""Ports on which nobody listens, and which nobody else is given meanwhile."""

import socket
from typing import Self


class HeldPort:
    """A port of loopback, bound but not listening: who calls is refused.

    A port that was found free and let go may be anybody's a moment later. This one stays ours, and
    whoever sets SO_REUSEADDR, as our daemons do, may listen on it, end, and listen again.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let it go."""
        self._socket.close()
