"""Misbehaviour that takes time or breaks the connection: one script a path, each ends by itself."""

import gzip
import zlib
from typing import Final

from gossamer.fakeweb.reply import Asked, Exchange, Script

LONGEST_SECONDS: Final = 120.0
_STEP_SECONDS: Final = 0.25
_ENDLESS_BYTES: Final = 1 << 30
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
_TEXT: Final = b"<!DOCTYPE html><title>Slow</title><p>" + b"All of this arrives in time. " * 400
_BOMB_BLOCK: Final = 1 << 24
_BOMB_BLOCKS: Final = 64
_BOMB_CRC: Final = 0x5B64C2B0


async def _drop(_exchange: Exchange, _asked: Asked) -> int:
    return 0


async def _reset(exchange: Exchange, _asked: Asked) -> int:
    exchange.reset()
    return 0


async def _hang(exchange: Exchange, _asked: Asked) -> int:
    await exchange.sleep(LONGEST_SECONDS)
    return 0


async def _hang_in_headers(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    await exchange.sleep(LONGEST_SECONDS)
    return 200


async def _hang_in_body(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD + b"Content-Length: 1000\r\n\r\n")
    await exchange.sleep(LONGEST_SECONDS)
    return 200


async def _slow_headers(exchange: Exchange, _asked: Asked) -> int:
    await _drip(exchange, _HEAD + b"X-Padding: " + b"a" * 2_000 + b"\r\nContent-Length: 0\r\n\r\n")
    return 200


async def _slow_body(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD + b"Content-Length: %d\r\n\r\n" % len(_TEXT))
    await _drip(exchange, _TEXT)
    return 200


async def _endless_body(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD + b"Connection: close\r\n\r\n<p>")
    line = b"And on, and on, and on it goes.\n" * 2_048
    for _ in range(_ENDLESS_BYTES // len(line)):
        await exchange.send(line)
    return 200


async def _endless_headers(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD)
    for number in range(100_000):
        await exchange.send(b"X-Line-%d: %s\r\n" % (number, b"a" * 900))
    return 200


async def _short_body(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD + b"Content-Length: %d\r\n\r\n" % (2 * len(_TEXT)) + _TEXT)
    return 200


async def _broken_chunked(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(
        _HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n<p>ab\r\nnot hex\r\n<p>cd\r\n0\r\n\r\n"
    )
    return 200


async def _many_chunks(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    await exchange.send(b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n")
    return 200


async def _gzip_bomb(exchange: Exchange, _asked: Asked) -> int:
    first, block = bomb_parts()
    total = _BOMB_BLOCK * _BOMB_BLOCKS
    end = b"\x03\x00" + _BOMB_CRC.to_bytes(4, "little") + (total & 0xFFFFFFFF).to_bytes(4, "little")
    length = len(first) + len(block) * (_BOMB_BLOCKS - 1) + len(end)
    await exchange.send(_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % length)
    await exchange.send(first)
    for _ in range(_BOMB_BLOCKS - 1):
        await exchange.send(block)
    await exchange.send(end)
    return 200


async def _gzip_truncated(exchange: Exchange, _asked: Asked) -> int:
    data = gzip.compress(_TEXT + bytes(range(256)) * 8, 6, mtime=0)
    half = data[: len(data) // 2]
    await exchange.send(
        _HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(half) + half
    )
    return 200


async def _huge_header(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD + b"X-Huge: " + b"a" * 1_000_000 + b"\r\nContent-Length: 0\r\n\r\n")
    return 200


async def _not_http(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n")
    return 0


async def _close_after(exchange: Exchange, _asked: Asked) -> int:
    await exchange.send(_HEAD + b"Connection: keep-alive\r\nContent-Length: 9\r\n\r\n<p>Bye...")
    return 200


async def _drip(exchange: Exchange, data: bytes) -> None:
    for number in range(min(len(data), int(LONGEST_SECONDS / _STEP_SECONDS))):
        await exchange.send(data[number : number + 1])
        await exchange.sleep(_STEP_SECONDS)


def bomb_parts() -> tuple[bytes, bytes]:
    """Return the compressed first 16 MiB of zeros, with the gzip header, and any further 16 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = bytes(_BOMB_BLOCK)
    first = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    return bytes.fromhex("1f8b08000000000000ff") + first, first


# Name -> what it does, the class of outcome that a crawler should give it, the script.
SCRIPTS: Final[dict[str, tuple[str, str, Script]]] = {
    "drop": ("closes the connection without a byte", "net.closed_early", _drop),
    "reset": ("resets the connection after the request", "net.reset", _reset),
    "hang": ("never answers", "net.timeout.headers", _hang),
    "hang-in-headers": (
        "sends a status line, then nothing",
        "net.timeout.headers",
        _hang_in_headers,
    ),
    "hang-in-body": ("sends headers, then nothing", "net.timeout.total", _hang_in_body),
    "slow-headers": ("drips headers, four bytes a second", "net.slow", _slow_headers),
    "slow-body": ("drips the body, four bytes a second", "net.slow", _slow_body),
    "endless-body": ("sends a body without end", "body.too_large", _endless_body),
    "endless-headers": ("sends headers without end", "proto.header_limit", _endless_headers),
    "huge-header": ("sends one header line of 1 MB", "proto.header_limit", _huge_header),
    "short-body": ("closes after half of the promised body", "body.short", _short_body),
    "broken-chunked": ("sends a chunk size that is no number", "proto.chunk", _broken_chunked),
    "many-chunks": ("sends 20,000 chunks of one byte", "ok", _many_chunks),
    "gzip-bomb": ("sends 1 MB that unpacks to 1 GiB", "body.bomb", _gzip_bomb),
    "gzip-truncated": ("sends half of a gzip stream, framed well", "body.short", _gzip_truncated),
    "not-http": ("sends an SSH banner", "proto.not_http", _not_http),
    "close-after": ("promises keep-alive, then closes", "ok", _close_after),
}
