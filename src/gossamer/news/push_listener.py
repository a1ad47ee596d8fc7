"""Where hubs call: the smallest HTTP server that serves them, and nobody else.

Theory of operation. One request for each connection, which is closed afterwards. A path that is no
callback is 404, with a token that nobody has 410 (the hub may forget it, WebSub 7.0), and neither
its body nor any other byte is read for it. Heads, bodies, their time and the number of connections
are limited. Bodies are not kept: the signature is computed as they pass. What is not signed with
our secret is answered like what is (WebSub 7.1), and ignored.
"""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator
from typing import Final

from msgspec import Struct, field

from gossamer.errors import GossamerError
from gossamer.news.push_desk import PushDesk
from gossamer.news.push_rules import Seal, call_of, token_of

_MAX_HEAD_BYTES: Final = 16_384
_MAX_FIELDS: Final = 100
_MAX_CHUNK_LINE_BYTES: Final = 256
_PIECE_BYTES: Final = 65_536
_MAX_CONNECTIONS: Final = 100
_HEAD_SECONDS: Final = 10.0
_REQUEST_SECONDS: Final = 60.0
_LINGER_SECONDS: Final = 2.0
_MAX_LINGER_BYTES: Final = 1 << 20
_MAX_LENGTH_DIGITS: Final = 12
_REQUEST_LINE: Final = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}):[ \t]*([\t -~\x80-\xff]*)")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t -~]*)?\r\n")
_REASONS: Final = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    410: "Gone",
    413: "Content Too Large",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Limits(Struct, frozen=True):
    """How much a caller may ask of us."""

    max_body_bytes: int
    head_seconds: float = _HEAD_SECONDS
    request_seconds: float = _REQUEST_SECONDS
    max_connections: int = _MAX_CONNECTIONS


class PushListener:
    """Serves the calls of hubs on a socket that listens."""

    def __init__(self, desk: PushDesk, prefix: str, limits: Limits) -> None:
        self._desk = desk
        self._prefix = prefix.rstrip("/")
        self._limits = limits
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(self, listener: socket.socket, stopped: asyncio.Event) -> None:
        """Answer until told to stop; nothing that a caller does ends it."""
        server = await asyncio.start_server(self._connected, sock=listener, limit=_MAX_HEAD_BYTES)
        await stopped.wait()
        server.close()
        left = dict(self._open)
        for task, writer in left.items():
            task.cancel()
            # Who does not hear its answer must not keep us from ending.
            writer.transport.abort()
        await asyncio.gather(*left, return_exceptions=True)
        for writer in left.values():
            # Whoever was cancelled before it began, or while it closed, has not.
            await _close(writer)
        await server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._attend(reader, writer))
        self._open[task] = writer
        task.add_done_callback(self._open.pop)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                answer = await self._answer(reader, writer)
                writer.write(_written(answer))
                await writer.drain()
                await _linger(reader, writer)
        except (OSError, TimeoutError, EOFError):
            # The caller has gone, or takes too long to say what it wants or to hear us.
            pass
        finally:
            await _close(writer)

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> "_Answer":
        if len(self._open) > self._limits.max_connections:
            return _Answer(503)
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            return _Answer(408)
        except asyncio.LimitOverrunError:
            return _Answer(431)
        try:
            request = _request(head)
            token = token_of(request.path, self._prefix)
            if token is None:
                return _Answer(404)
            if request.method == "GET":
                return await self._asked(token, request)
            if request.method == "POST":
                return await self._told(token, request, reader, writer)
            return _Answer(405)
        except _RefusedError as refusal:
            return _Answer(refusal.status)
        except GossamerError:
            # The catalog cannot be asked now; the hub will try again.
            return _Answer(500)

    async def _asked(self, token: str, request: "_Request") -> "_Answer":
        """Answer a hub that asks whether we mean it."""
        said = await asyncio.to_thread(self._desk.answer, token, call_of(request.query))
        return _Answer(404) if said is None else _Answer(200, said)

    async def _told(
        self,
        token: str,
        request: "_Request",
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> "_Answer":
        """Take what a hub tells, if it is the hub."""
        push = await asyncio.to_thread(self._desk.find, token)
        if push is None or not push.wanted:
            return _Answer(410)
        seal = Seal(push.secret, request.fields.get("x-hub-signature"))
        if request.fields.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        async for piece in _body(request, reader, self._limits.max_body_bytes):
            seal.update(piece)
        if seal.fits():
            await asyncio.to_thread(self._desk.take, push.feed_id)
        else:
            await asyncio.to_thread(self._desk.ignore, push.feed_id)
        return _Answer(202)


class _Answer(Struct, frozen=True):
    status: int
    text: str = ""


class _Request(Struct, frozen=True):
    method: str
    path: str
    query: str
    fields: dict[str, str] = field(default_factory=dict)


class _RefusedError(Exception):
    """A request that is not taken."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _request(head: bytes) -> _Request:
    """Read a request head; whatever is unclear in it is refused."""
    lines = head[:-4].split(b"\r\n")
    first = _REQUEST_LINE.fullmatch(lines[0])
    if first is None:
        raise _RefusedError(400)
    if len(lines) > _MAX_FIELDS:
        raise _RefusedError(431)
    fields: dict[str, str] = {}
    for line in lines[1:]:
        found = _FIELD.fullmatch(line)
        if found is None:
            raise _RefusedError(400)
        name = found[1].decode("ascii").lower()
        if name in fields and name in ("content-length", "transfer-encoding", "x-hub-signature"):
            raise _RefusedError(400)
        fields[name] = found[2].decode("latin-1").strip()
    path, _, query = first[2].decode("ascii").partition("?")
    return _Request(first[1].decode("ascii"), path, query, fields)


async def _body(
    request: _Request, reader: asyncio.StreamReader, limit: int
) -> AsyncIterator[bytes]:
    """Yield the body in pieces, transfer coding removed."""
    coding, length = request.fields.get("transfer-encoding"), request.fields.get("content-length")
    if coding is not None:
        if length is not None or coding.lower() != "chunked":
            raise _RefusedError(400)
        async for piece in _chunks(reader, limit):
            yield piece
        return
    digits = length if length is not None else "0"
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > _MAX_LENGTH_DIGITS:
        raise _RefusedError(400)
    if int(digits) > limit:
        raise _RefusedError(413)
    async for piece in _exactly(reader, int(digits)):
        yield piece


async def _chunks(reader: asyncio.StreamReader, limit: int) -> AsyncIterator[bytes]:
    left = limit
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            raise _RefusedError(400) from error
        found = _CHUNK.fullmatch(line) if len(line) <= _MAX_CHUNK_LINE_BYTES else None
        if found is None:
            raise _RefusedError(400)
        size = int(found[1], 16)
        if not size:
            # Trailers tell us nothing, and nothing after them is read.
            return
        left -= size
        if left < 0:
            raise _RefusedError(413)
        async for piece in _exactly(reader, size):
            yield piece
        if await reader.readexactly(2) != b"\r\n":
            raise _RefusedError(400)


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size:
        piece = await reader.read(min(size, _PIECE_BYTES))
        if not piece:
            raise EOFError
        size -= len(piece)
        yield piece


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        # All who wait for the end share one future: who is cancelled must not cancel it for others.
        await asyncio.shield(writer.wait_closed())


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let a caller finish that still speaks: it would not hear the answer to what is cut off."""
    writer.write_eof()
    left = _MAX_LINGER_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while left > 0 and (piece := await reader.read(_PIECE_BYTES)):
                left -= len(piece)


def _written(answer: _Answer) -> bytes:
    body = answer.text.encode()
    # A challenge is the caller's own text: no browser shall take it for a page.
    head = (
        f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
