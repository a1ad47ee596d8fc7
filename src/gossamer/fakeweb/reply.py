"""What the server and the parts that answer requests tell each other."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

HTML = "text/html; charset=utf-8"


@dataclass(slots=True)
class Asked:
    """A request as it was read from the wire."""

    method: str
    target: str
    host: str
    head: bytes
    """All header lines, in lower case."""
    keep_alive: bool = True

    def header(self, name: str) -> str:
        """Return the value of a header, in lower case; empty when it is missing."""
        start = self.head.find(b"\r\n" + name.encode() + b":")
        if start < 0:
            return ""
        start += len(name) + 3
        end = self.head.find(b"\r\n", start)
        return self.head[start : end if end >= 0 else None].strip().decode("latin-1")


class Reply(NamedTuple):
    """A well-formed answer; the server adds the framing."""

    status: int
    body: bytes = b""
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()


class Exchange(Protocol):
    """What a script may do with the connection that a request came on."""

    async def send(self, data: bytes) -> None:
        """Send bytes as they are and wait until the kernel took them."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; ends at once when the client is gone."""
        ...

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        ...


Script = Callable[[Exchange, Asked], Awaitable[int]]
"""Misbehaves on a connection; returns the status to log. The connection is closed afterwards."""
