"""Broken servers by the rows of the fault matrix: how each behaves, and what comes of it."""

import gzip
import struct
import zlib
from dataclasses import dataclass

import brotli
import zstandard
from rawserver import Behaviour, Connection, chunked, page

from gossamer.outcomes import Outcome

OK = b"HTTP/1.1 200 OK\r\n"
TEXT = b"<html><p>some text that compresses well, compresses well</p></html>" * 20
_ZEROS = bytes(1 << 20)


@dataclass(frozen=True)
class Case:
    """One row: the name of the path, the server's behaviour, and the expected outcome."""

    row: str
    name: str
    behaviour: bytes | Behaviour
    outcome: Outcome
    status: int | None = None
    body: bytes | None = None
    flag: str | None = None
    whole_head: bool = True
    """Sent byte by byte it means the same (not so for floods and clocks)."""


def _raw(*lines: bytes, body: bytes = b"hello") -> bytes:
    return OK + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def _coded(coding: bytes, body: bytes) -> bytes:
    return page(body, b"Content-Encoding: " + coding)


def _gzip_times(count: int) -> bytes:
    body = TEXT
    for _ in range(count):
        body = gzip.compress(body)
    return _coded(b", ".join([b"gzip"] * count), body)


def _bad_crc() -> bytes:
    body = bytearray(gzip.compress(TEXT))
    body[-6] ^= 0xFF
    return bytes(body)


def _raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(body) + compressor.flush()


def _close(_: Connection) -> bool:
    return False


def _reset(connection: Connection) -> bool:
    connection.reset()
    return False


def _hang(connection: Connection) -> bool:
    connection.hang()
    return False


def _say_then_hang(data: bytes) -> Behaviour:
    def behave(connection: Connection) -> bool:
        connection.send(data)
        connection.hang()
        return False

    return behave


def _drip(before: bytes, data: bytes, seconds: float = 0.02) -> Behaviour:
    def behave(connection: Connection) -> bool:
        connection.send(before)
        connection.drip(data, seconds)
        return False

    return behave


def _flood(before: bytes, piece: bytes, limit: int = 64 << 20) -> Behaviour:
    def behave(connection: Connection) -> bool:
        connection.send(before)
        connection.flood(piece, limit)
        return False

    return behave


def _bomb(coding: bytes, status: bytes = b"200 OK") -> Behaviour:
    """10 GiB of zeros, made while they are sent."""

    def behave(connection: Connection) -> bool:
        connection.send(
            b"HTTP/1.1 "
            + status
            + b"\r\nLocation: /elsewhere\r\nContent-Encoding: "
            + coding
            + b"\r\n\r\n"
        )
        if coding == b"gzip":
            connection.flood(gzip.compress(_ZEROS), 10 << 20)
        elif coding == b"deflate":
            compressor = zlib.compressobj()
            for _ in range(10 << 10):
                connection.peer.sendall(compressor.compress(_ZEROS))
        elif coding == b"zstd":
            connection.flood(zstandard.compress(_ZEROS * 16), 10 << 20)
        else:
            compressor = brotli.Compressor(quality=1)
            for _ in range(10 << 10):
                connection.peer.sendall(compressor.process(_ZEROS) + compressor.flush())
        return False

    return behave


def _one_byte_chunks(count: int) -> Behaviour:
    def behave(connection: Connection) -> bool:
        connection.send(_raw(b"Transfer-Encoding: chunked", body=b""))
        connection.flood(b"1\r\nx\r\n" * 1_000, 6 * count)
        connection.send(b"0\r\n\r\n")
        return False

    return behave


def _redirect(*locations: bytes, status: bytes = b"302 Found") -> bytes:
    return page(b"moved", *(b"Location: " + location for location in locations), status=status)


_TLS_ALERT = struct.pack(">BHHBB", 21, 0x0303, 2, 2, 80)

CASES: tuple[Case, ...] = (
    Case("H01", "close-at-once", _close, Outcome.NET_CLOSED_EARLY),
    Case("H02", "reset", _reset, Outcome.NET_RESET),
    Case("H03", "never-answer", _hang, Outcome.NET_TIMEOUT_HEADERS),
    Case(
        "H04", "status-then-hang", _say_then_hang(OK), Outcome.NET_TIMEOUT_HEADERS, whole_head=False
    ),
    Case(
        "H05",
        "headers-then-hang",
        _say_then_hang(_raw(b"Content-Length: 9", body=b"")),
        Outcome.NET_TIMEOUT_TOTAL,
        200,
    ),
    Case(
        "H06",
        "headers-dripped",
        _drip(b"", OK + b"X: y\r\n" * 40),
        Outcome.NET_SLOW,
        whole_head=False,
    ),
    Case(
        "H07",
        "body-dripped",
        _drip(_raw(b"Content-Length: 200", body=b"kept "), b"z" * 195),
        Outcome.NET_SLOW,
        200,
        whole_head=False,
    ),
    Case("H08", "ssh-banner", b"SSH-2.0-OpenSSH_9.2\r\n", Outcome.PROTO_NOT_HTTP),
    Case("H09", "http-0.9", b"<html>no header at all</html>", Outcome.PROTO_NOT_HTTP),
    Case("H10", "status-99", b"HTTP/1.1 99 X\r\n\r\n", Outcome.PROTO_STATUS),
    Case(
        "H11", "status-1000", b"HTTP/1.1 1000 X\r\nContent-Length: 0\r\n\r\n", Outcome.PROTO_STATUS
    ),
    Case("H12", "status-negative", b"HTTP/1.1 -200 X\r\n\r\n", Outcome.PROTO_STATUS),
    Case("H13", "status-600", page(status=b"600 X"), Outcome.HTTP_5XX, 600, flag="status_unknown"),
    Case("H13", "status-999", page(status=b"999 X"), Outcome.HTTP_5XX, 999, flag="status_unknown"),
    Case("H14", "no-reason", page(status=b"200"), Outcome.OK, 200, b"hello"),
    Case(
        "H15", "http-2.0", b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", Outcome.PROTO_VERSION
    ),
    Case(
        "H16",
        "http-1.2",
        b"HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        Outcome.OK,
        200,
        b"hello",
        "version_unusual",
    ),
    Case(
        "H16",
        "http-1.9-after-100",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.9 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        Outcome.OK,
        200,
        b"hello",
    ),
    Case("H17", "icy", b"ICY 200 OK\r\n\r\nmusic", Outcome.PROTO_NOT_HTTP),
    Case(
        "H18",
        "lf-only",
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        Outcome.OK,
        200,
        b"hello",
        "bare_lf",
    ),
    Case(
        "H19",
        "no-colon",
        page(b"hello" * 50_000, b"this is no header", b"X: y", b"nor this", b"  nor this"),
        Outcome.OK,
        200,
        b"hello" * 50_000,
        "header_dropped",
        whole_head=False,
    ),
    Case(
        "H19",
        "no-colon-chunked",
        chunked(b"hello", lines=(b"this is no header",)),
        Outcome.OK,
        200,
        b"hello",
        "header_dropped",
    ),
    Case(
        "H19",
        "no-colon-and-short",
        _raw(b"this is no header", b"Content-Length: 50"),
        Outcome.BODY_SHORT,
        200,
        b"hello",
    ),
    Case("H20", "nul", _raw(b"X: a\0b", b"Content-Length: 5"), Outcome.PROTO_HEADER),
    Case("H21", "bare-cr", _raw(b"X: a\rb", b"Content-Length: 5"), Outcome.PROTO_HEADER),
    Case("H22", "folded", _raw(b"X: a", b"  b", b"Content-Length: 5"), Outcome.OK, 200, b"hello"),
    Case("H23", "space-length", _raw(b"Content-Length : 5"), Outcome.PROTO_HEADER),
    Case(
        "H23",
        "space-other",
        page(b"hello", b"X-Y : z"),
        Outcome.OK,
        200,
        b"hello",
        "header_dropped",
    ),
    Case("H24", "empty-name", page(b"hello", b": z"), Outcome.OK, 200, b"hello", "header_dropped"),
    Case("H25", "latin-1", page(b"hello", b"X: caf\xe9"), Outcome.OK, 200, b"hello"),
    Case(
        "H26",
        "long-line",
        _raw(b"X: " + b"y" * 100_000),
        Outcome.PROTO_HEADER_LIMIT,
        whole_head=False,
    ),
    Case(
        "H27",
        "10000-headers",
        _raw(*[b"X: y"] * 10_000),
        Outcome.PROTO_HEADER_LIMIT,
        whole_head=False,
    ),
    Case(
        "H28",
        "endless-headers",
        _flood(OK, b"X: " + b"y" * 80 + b"\r\n"),
        Outcome.PROTO_HEADER_LIMIT,
    ),
    Case(
        "H29",
        "5000-cookies",
        page(b"hello", *[b"Set-Cookie: c%d=1" % number for number in range(5_000)]),
        Outcome.OK,
        200,
        b"hello",
        "cookies_dropped",
        whole_head=False,
    ),
    Case(
        "H26",
        "one-line-of-1-mb",
        _flood(OK, b"X" * 65_536, 1 << 20),
        Outcome.PROTO_HEADER_LIMIT,
    ),
    Case(
        "H26",
        "status-line-of-1-mb",
        _flood(b"HTTP/1.1 200 ", b"X" * 65_536, 1 << 20),
        Outcome.PROTO_HEADER_LIMIT,
    ),
    Case(
        "H28",
        "endless-interim",
        _flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000),
        Outcome.PROTO_INTERIM,
    ),
    Case(
        "-",
        "long-head",
        page(b"hello", *[b"X-%d: " % number + b"y" * 1_000 for number in range(60)]),
        Outcome.OK,
        200,
        b"hello",
        whole_head=False,
    ),
    Case("H30", "length-negative", _raw(b"Content-Length: -5"), Outcome.PROTO_FRAMING),
    Case("H31", "length-abc", _raw(b"Content-Length: abc"), Outcome.PROTO_FRAMING),
    Case("H32", "length-plus", _raw(b"Content-Length: +5"), Outcome.PROTO_FRAMING),
    Case("H33", "length-5-5", _raw(b"Content-Length: 5, 5"), Outcome.OK, 200, b"hello"),
    Case("H34", "length-twice", page(b"hello", b"Content-Length: 5"), Outcome.OK, 200, b"hello"),
    Case(
        "H35",
        "length-differs",
        _raw(b"Content-Length: 5", b"Content-Length: 6"),
        Outcome.PROTO_FRAMING,
    ),
    Case("H36", "length-larger", _raw(b"Content-Length: 50"), Outcome.BODY_SHORT, 200, b"hello"),
    Case("H37", "length-smaller", _raw(b"Content-Length: 2"), Outcome.OK, 200, b"he"),
    Case(
        "H38",
        "length-2-63",
        _raw(b"Content-Length: 9223372036854775808"),
        Outcome.BODY_TOO_LARGE,
        200,
        b"",
    ),
    Case(
        "H38",
        "length-2-62",
        _raw(b"Content-Length: 4611686018427387904"),
        Outcome.BODY_TOO_LARGE,
        200,
        b"",
    ),
    Case(
        "H39",
        "length-and-chunked",
        chunked(b"hello", lines=(b"Content-Length: 3", b"X-Keep: yes")),
        Outcome.OK,
        200,
        b"hello",
        "length_and_chunked",
    ),
    Case(
        "H40",
        "chunk-not-hex",
        _raw(b"Transfer-Encoding: chunked", body=b"zz\r\nhello\r\n0\r\n\r\n"),
        Outcome.PROTO_CHUNK,
    ),
    Case(
        "H41",
        "chunk-overflow",
        _raw(b"Transfer-Encoding: chunked", body=b"f" * 20 + b"\r\nhi"),
        Outcome.PROTO_CHUNK,
    ),
    Case(
        "H42",
        "chunk-cut",
        _raw(b"Transfer-Encoding: chunked", body=b"50\r\nhello"),
        Outcome.BODY_SHORT,
        200,
        b"hello",
    ),
    Case("H43", "no-last-chunk", chunked(b"hello", end=b""), Outcome.BODY_SHORT, 200, b"hello"),
    Case(
        "H44",
        "chunk-extension",
        _raw(
            b"Transfer-Encoding: chunked",
            body=b"5;" + b"x" * 1_000_000 + b"\r\nhello\r\n0\r\n\r\n",
        ),
        Outcome.PROTO_CHUNK,
        200,
        whole_head=False,
    ),
    Case(
        "H44",
        "short-chunk-extension",
        _raw(
            b"Transfer-Encoding: chunked",
            body=b"5;" + b"x" * 1_000 + b"\r\nhello\r\n0\r\n\r\n",
        ),
        Outcome.OK,
        200,
        b"hello",
        whole_head=False,
    ),
    Case(
        "H45",
        "trailers",
        chunked(b"hello", end=b"0\r\nX: y\r\nLocation: z\r\n\r\n"),
        Outcome.OK,
        200,
        b"hello",
    ),
    Case("H46", "20000-chunks", _one_byte_chunks(20_000), Outcome.OK, 200, b"x" * 20_000),
    Case("H47", "10-million-chunks", _one_byte_chunks(10_000_000), Outcome.BODY_TOO_LARGE, 200),
    Case(
        "H48",
        "te-gzip",
        chunked(b"hello").replace(b"chunked", b"gzip, chunked", 1),
        Outcome.BODY_ENCODING,
    ),
    Case(
        "H49",
        "te-identity",
        chunked(b"hello").replace(b"chunked", b"chunked, identity", 1),
        Outcome.PROTO_FRAMING,
    ),
    Case(
        "H50",
        "te-xchunked",
        chunked(b"hello").replace(b"chunked", b"xchunked", 1),
        Outcome.PROTO_FRAMING,
    ),
    Case(
        "H51",
        "gzip-plain",
        _coded(b"gzip", TEXT),
        Outcome.BODY_DECODE,
        200,
        TEXT,
        "identity_sniffed",
    ),
    Case("H52", "gzip-half", _coded(b"gzip", gzip.compress(TEXT)[:60]), Outcome.BODY_SHORT, 200),
    Case("H53", "gzip-crc", _coded(b"gzip", _bad_crc()), Outcome.BODY_DECODE, 200, TEXT),
    Case(
        "H54",
        "gzip-trailing",
        _coded(b"gzip", gzip.compress(TEXT) + b"junk"),
        Outcome.OK,
        200,
        TEXT,
        "trailing_bytes",
    ),
    Case(
        "H55",
        "gzip-twice",
        _coded(b"gzip", gzip.compress(b"a") + gzip.compress(b"b")),
        Outcome.OK,
        200,
        b"ab",
    ),
    Case("H56", "deflate-raw", _coded(b"deflate", _raw_deflate(TEXT)), Outcome.OK, 200, TEXT),
    Case("H56", "deflate-zlib", _coded(b"deflate", zlib.compress(TEXT)), Outcome.OK, 200, TEXT),
    Case("H56", "gzip", _coded(b"gzip", gzip.compress(TEXT)), Outcome.OK, 200, TEXT),
    Case("H56", "br", _coded(b"br", brotli.compress(TEXT)), Outcome.OK, 200, TEXT),
    Case("H56", "zstd", _coded(b"zstd", zstandard.compress(TEXT)), Outcome.OK, 200, TEXT),
    Case("H57", "unknown-coding", _coded(b"snappy", TEXT), Outcome.BODY_ENCODING, 200),
    Case(
        "H58",
        "br-is-gzip",
        _coded(b"br", gzip.compress(TEXT)),
        Outcome.BODY_DECODE,
        200,
        TEXT,
        "coding_sniffed",
    ),
    Case("H59", "gzip-3-fold", _gzip_times(3), Outcome.OK, 200, TEXT),
    Case("H60", "gzip-20-fold", _gzip_times(20), Outcome.BODY_ENCODING, 200),
    Case("H61", "bomb-gzip", _bomb(b"gzip"), Outcome.BODY_BOMB, 200),
    Case("H61", "bomb-deflate", _bomb(b"deflate"), Outcome.BODY_BOMB, 200),
    Case("H61", "bomb-br", _bomb(b"br"), Outcome.BODY_BOMB, 200),
    Case("H61", "bomb-zstd", _bomb(b"zstd"), Outcome.BODY_BOMB, 200),
    Case(
        "H62",
        "bomb-in-404",
        _bomb(b"gzip", b"404 Not Found"),
        Outcome.HTTP_4XX,
        404,
        flag="body_cut",
    ),
    Case("H62", "bomb-in-302", _bomb(b"gzip", b"302 Found"), Outcome.OK, 302, flag="body_cut"),
    Case("H63", "204-with-body", page(status=b"204 No Content"), Outcome.OK, 204, b""),
    Case("H65", "304-unasked", b"HTTP/1.1 304 Not Modified\r\n\r\n", Outcome.PROTO_STATUS, 304),
    Case(
        "H66",
        "206-unasked",
        page(status=b"206 Partial Content"),
        Outcome.PROTO_FRAMING,
        206,
        b"hello",
    ),
    Case(
        "H67", "500-interim", b"HTTP/1.1 100 Continue\r\n\r\n" * 500 + page(), Outcome.PROTO_INTERIM
    ),
    Case(
        "H67",
        "16-interim",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 16 + page(),
        Outcome.OK,
        200,
        b"hello",
    ),
    Case("H68", "only-100", b"HTTP/1.1 100 Continue\r\n\r\n", Outcome.NET_CLOSED_EARLY),
    Case(
        "H69",
        "103-then-200",
        b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + page(),
        Outcome.OK,
        200,
        b"hello",
    ),
    Case(
        "H70",
        "101-with-data",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\ndata",
        Outcome.PROTO_UPGRADE,
        101,
    ),
    Case(
        "H70",
        "101-then-hang",
        _say_then_hang(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        Outcome.PROTO_UPGRADE,
        101,
    ),
    Case(
        "H70",
        "101-then-close",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        Outcome.PROTO_UPGRADE,
        101,
    ),
    Case(
        "H29",
        "5000-cookies-then-close",
        _raw(*[b"Set-Cookie: c%d=1" % number for number in range(5_000)], b"Content-Length: 5"),
        Outcome.OK,
        200,
        b"hello",
        whole_head=False,
    ),
    Case("H71", "302-nowhere", page(b"doc", status=b"302 Found"), Outcome.REDIR_NONE, 302, b"doc"),
    Case("H72", "302-empty", _redirect(b""), Outcome.REDIR_NONE, 302),
    Case("H73", "302-two-places", _redirect(b"/a", b"/b"), Outcome.REDIR_BAD, 302),
    Case("H73", "302-same-place-twice", _redirect(b"/a", b"/a"), Outcome.OK, 302),
    Case("H74", "302-file", _redirect(b"file:///etc/passwd"), Outcome.REDIR_SCHEME, 302),
    Case("H74", "302-data", _redirect(b"data:text/html,x"), Outcome.REDIR_SCHEME, 302),
    Case("H74", "302-ftp", _redirect(b"ftp://a.example/"), Outcome.REDIR_SCHEME, 302),
    Case("H75", "302-unreadable", _redirect(b"http://[::bad"), Outcome.REDIR_BAD, 302),
    Case("H76", "302-itself", _redirect(b"/302-itself"), Outcome.REDIR_LOOP, 302),
    Case(
        "H78", "302-64k", _redirect(b"/" + b"x" * 60_000), Outcome.REDIR_BAD, 302, whole_head=False
    ),
    Case("H80", "endless-body", _flood(_raw(body=b""), b"y" * 65_536), Outcome.BODY_TOO_LARGE, 200),
    Case(
        "H81",
        "body-to-eof",
        _raw(b"Content-Type: text/html"),
        Outcome.OK,
        200,
        b"hello",
        "length_unknown",
    ),
    Case("H82", "glued", page() + page(b"other"), Outcome.OK, 200, b"hello"),
    Case("H84", "429", page(status=b"429 Slow down"), Outcome.HTTP_429, 429),
    Case("H84", "503", page(status=b"503 Busy"), Outcome.HTTP_5XX, 503),
    Case(
        "H85",
        "lying-type",
        page(b"<p>hi</p>", b"Content-Type: image/png"),
        Outcome.OK,
        200,
        b"<p>hi</p>",
    ),
    Case("H85", "long-type", page(b"hi", b"Content-Type: " + b"x" * 4_000), Outcome.OK, 200, b"hi"),
    Case("H86", "tls-on-http", _TLS_ALERT, Outcome.PROTO_NOT_HTTP),
    Case("-", "cut-in-header", OK + b"Content-Le", Outcome.NET_CLOSED_EARLY),
    Case("-", "cut-in-status", b"HTTP/1.1 200", Outcome.NET_CLOSED_EARLY),
    Case(
        "-",
        "te-identity-alone",
        _raw(b"Transfer-Encoding: identity", b"Content-Length: 5"),
        Outcome.OK,
        200,
        b"hello",
    ),
    Case(
        "-",
        "head-only-404",
        b"HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n",
        Outcome.HTTP_4XX,
        404,
        b"",
    ),
)
