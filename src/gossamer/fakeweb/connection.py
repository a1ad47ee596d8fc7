"""One client connection: reads requests, sends answers, writes both ends of each to the log."""

import asyncio
import socket
import struct
import sys
import time
from collections.abc import Coroutine
from http import HTTPStatus
from random import Random
from typing import Final, Protocol

from gossamer.fakeweb.log import CUT, DONE, GONE, LogWriter
from gossamer.fakeweb.options import Options
from gossamer.fakeweb.reply import Asked, Reply, Script

_MAX_HEAD_BYTES: Final = 65_536
_MAX_BODY_BYTES: Final = 1_048_576
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_RESET: Final = struct.pack("ii", 1, 0)
# Where struct tcp_info of Linux has tcpi_last_data_recv, in milliseconds.
_TCP_INFO: Final = struct.Struct("52xI")
# CLOCK_MONOTONIC_COARSE of Linux: it moves with the ticks in which that is counted.
_TICKING_CLOCK: Final = 6
# A coarser clock than this would be wrong by more than the judge tolerates.
_LONGEST_TICK_SECONDS: Final = 0.004
# Two questions that are answered within this time are asked in the same moment.
_AT_ONCE_NS: Final = 500_000
_MOST_LOOKS: Final = 20


class House(Protocol):
    """What all connections of a server share."""

    options: Options
    log: LogWriter
    random: Random
    connections: set["Connection"]

    def answer(self, asked: Asked) -> Reply | Script:
        """Decide what is answered."""
        ...

    def run(self, script: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run a script as a task that ends with the server."""
        ...

    def next_connection(self) -> int:
        """Return a fresh number."""
        ...


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, one request at a time; the exchange of the scripts, too.

    Theory of operation. `_request` is the log number of the open request, 0 when there is none. A
    request is opened by `_serve` and closed exactly once, by `_finish`: when the kernel took the
    last byte, when a script is through, or when the connection is lost.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self._transport: asyncio.Transport
        self._number = house.next_connection()
        self._address = ""
        self._inbox = b""
        self._request = 0
        self._status = 0
        self._sent = 0
        self._keep_alive = True
        self._ended = False
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept clients on loopback only, though the socket listens on every address."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]
        if not self._address.startswith("127."):
            transport.abort()
            return
        # With a limit of 0, resume_writing is called exactly when the kernel has taken every byte.
        transport.set_write_buffer_limits(0)
        self._touch()
        self._house.connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client."""
        self._inbox = self._inbox + data if self._inbox else data
        if not self._request:
            self._serve()
        elif len(self._inbox) > _MAX_HEAD_BYTES + _MAX_BODY_BYTES:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close what is open; the client went away or we closed."""
        del exc
        self._house.connections.discard(self)
        if self._timer:
            self._timer.cancel()
        if self._task:
            self._task.cancel()
        if self._drained and not self._drained.done():
            self._drained.cancel()
        if self._request:
            self._finish(GONE)

    def resume_writing(self) -> None:
        """Go on: the kernel has taken every byte so far."""
        if self._drained and not self._drained.done():
            self._drained.set_result(None)
        elif self._ended:
            self._finish(DONE)

    def close_if_idle(self, since: float) -> None:
        """Close a connection that has not been used for long."""
        if not self._request and self.idle_since < since:
            self._transport.close()

    def stop(self) -> None:
        """End at once: the server stops."""
        self._transport.abort()

    async def send(self, data: bytes) -> None:
        """Send bytes as they are and wait until the kernel took them."""
        if self._transport.is_closing():
            raise asyncio.CancelledError
        self._sent += len(data)
        self._drained = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        if self._transport.get_write_buffer_size():
            await self._drained
        self._drained = None

    async def sleep(self, seconds: float) -> None:
        """Wait; the task is cancelled when the client goes."""
        await asyncio.sleep(seconds)

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        raw: socket.socket = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def _serve(self) -> None:
        """Start the next request if it is here as a whole."""
        end = self._inbox.find(b"\r\n\r\n")
        if end < 0:
            if len(self._inbox) > _MAX_HEAD_BYTES:
                self._transport.abort()
            return
        asked = _read_head(self._inbox[: end + 2])
        length = _body_length(asked)
        if len(self._inbox) < end + 4 + length:
            return
        self._inbox = self._inbox[end + 4 + length :]
        log = self._house.log
        seen_ns, waited_ns = _seen(self._transport.get_extra_info("socket"))
        self._request = log.start(
            self._number,
            self._address,
            asked.host,
            asked.method,
            asked.target,
            waited_ns,
            seen_ns=seen_ns,
        )
        self._sent = self._status = 0
        self._ended = False
        self._keep_alive = asked.keep_alive
        options = self._house.options
        delay = options.latency_ms + self._house.random.random() * options.jitter_ms
        if delay:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay / 1_000, self._answer, asked)
        else:
            self._answer(asked)

    def _answer(self, asked: Asked) -> None:
        self._timer = None
        if not asked.method:
            self._reply(Reply(400, b"<p>That is not a request."), asked)
        elif asked.method not in ("GET", "HEAD", "POST"):
            self._reply(Reply(405, b"<p>GET and HEAD only."), asked)
        else:
            answer = self._house.answer(asked)
            if isinstance(answer, Reply):
                self._reply(answer, asked)
            else:
                self._task = self._house.run(self._perform(answer, asked))

    def _reply(self, reply: Reply, asked: Asked) -> None:
        self._status = reply.status
        body = b"" if asked.method == "HEAD" else reply.body
        self._sent = len(body)
        self._ended = True
        self._transport.write(_head(reply, self._keep_alive) + body)
        if not self._transport.get_write_buffer_size():
            self._finish(DONE)

    async def _perform(self, script: Script, asked: Asked) -> None:
        self._keep_alive = False
        self._status = await script(self, asked)
        self._task = None
        if self._request:
            self._finish(CUT)

    def _finish(self, how: str) -> None:
        request, self._request = self._request, 0
        self._house.log.end(request, self._status, self._sent, how)
        self._touch()
        if how == GONE:
            return
        if not self._keep_alive:
            self._transport.close()
        elif self._inbox:
            self._serve()

    def _touch(self) -> None:
        self.idle_since = asyncio.get_running_loop().time()


def _has_fine_ticks() -> bool:
    """Whether the system tells how long bytes have been here, and exactly enough."""
    if sys.platform != "linux":
        return False
    return time.clock_getres(_TICKING_CLOCK) <= _LONGEST_TICK_SECONDS


_HAS_FINE_TICKS: Final = _has_fine_ticks()


def _seen(connection: socket.socket) -> tuple[int, int | None]:
    """Return what time it is, and how long a request has been here by then.

    Who loses the processor between these two questions would tell of another moment.
    """
    for _ in range(_MOST_LOOKS):
        before = time.monotonic_ns()
        waited = _waited_ns(connection)
        seen = time.monotonic_ns()
        if seen - before < _AT_ONCE_NS:
            break
    return seen, waited


def _waited_ns(connection: socket.socket) -> int | None:
    """Return how long ago the last bytes of a connection came in, to a tick of the system.

    A busy machine lets them lie, so that the moment when we see them says less.
    """
    if not _HAS_FINE_TICKS:
        return None
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
    return int(_TCP_INFO.unpack(info)[0]) * 1_000_000


def _read_head(head: bytes) -> Asked:
    """Return the request that a header block holds; its method is empty when it holds none."""
    first, _, _ = head.partition(b"\r\n")
    words = first.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return Asked("", words[1] if len(words) > 1 else "", "", b"", keep_alive=False)
    asked = Asked(words[0], words[1], "", head.lower())
    asked.host = asked.header("host")
    wish = asked.header("connection")
    asked.keep_alive = wish != "close" if words[2] != "HTTP/1.0" else wish == "keep-alive"
    if asked.target.startswith("http://"):
        asked.host, slash, rest = asked.target[len("http://") :].partition("/")
        asked.target = slash + rest or "/"
    return asked


def _body_length(asked: Asked) -> int:
    value = asked.header("content-length") if asked.head else ""
    return min(int(value), _MAX_BODY_BYTES) if value.isascii() and value.isdigit() else 0


def _head(reply: Reply, keep_alive: bool) -> bytes:
    lines = f"HTTP/1.1 {reply.status} {_PHRASES.get(reply.status, 'Unknown')}\r\n"
    for name, value in reply.headers:
        lines += f"{name}: {value}\r\n"
    if reply.status != 304:
        lines += f"Content-Type: {reply.content_type}\r\nContent-Length: {len(reply.body)}\r\n"
    lines += "\r\n" if keep_alive else "Connection: close\r\n\r\n"
    return lines.encode("latin-1", "replace")
