"""Malformed answers that are plain bytes, served at /~/raw/<name>; each closes the connection."""

import gzip
from typing import Final

_OK: Final = b"HTTP/1.1 200 OK\r\n"
_TYPE: Final = b"Content-Type: text/html\r\n"
_BODY: Final = b"<!DOCTYPE html><title>Raw</title><p>Raw bytes."
_LENGTH: Final = b"Content-Length: %d\r\n" % len(_BODY)
_END: Final = b"\r\n" + _BODY
_CHUNKED: Final = b"Transfer-Encoding: chunked\r\n"
_CHUNKS: Final = b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(_BODY), _BODY)


def _pack(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


_GZIP: Final = _pack(_BODY)


def _line(line: bytes) -> bytes:
    return line + b"\r\n" + _TYPE + _LENGTH + _END


def _extra(header: bytes) -> bytes:
    return _OK + _TYPE + header + b"\r\n" + _LENGTH + _END


def _length(value: bytes) -> bytes:
    return _OK + _TYPE + b"Content-Length: " + value + b"\r\n" + _END


def _coded(encoding: bytes, body: bytes) -> bytes:
    head = b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (encoding, len(body))
    return _OK + _TYPE + head + body


def _redirect(header: bytes) -> bytes:
    return b"HTTP/1.1 302 Found\r\n" + header + b"Content-Length: 0\r\n\r\n"


# Name -> the class of outcome that a crawler should give it, the bytes.
RAW: Final[dict[str, tuple[str, bytes]]] = {
    "http-0.9": ("proto.not_http", _BODY),
    "status-99": ("proto.status", _line(b"HTTP/1.1 99 Low")),
    "status-1000": ("proto.status", _line(b"HTTP/1.1 1000 High")),
    "status-negative": ("proto.status", _line(b"HTTP/1.1 -200 OK")),
    "status-600": ("http.5xx", _line(b"HTTP/1.1 600 Odd")),
    "no-reason": ("ok", _line(b"HTTP/1.1 200")),
    "version-2.0": ("proto.version", _line(b"HTTP/2.0 200 OK")),
    "version-1.2": ("ok", _line(b"HTTP/1.2 200 OK")),
    "icy": ("proto.not_http", _line(b"ICY 200 OK")),
    "line-feeds-only": ("ok", (_OK + _TYPE + _LENGTH + b"\r\n").replace(b"\r", b"") + _BODY),
    "header-without-colon": ("ok", _extra(b"No colon here")),
    "nul-in-header": ("proto.header", _extra(b"X-Odd: a\x00b")),
    "bare-cr-in-header": ("proto.header", _extra(b"X-Odd: a\rb")),
    "folded-header": ("ok", _extra(b"X-Long: one\r\n two")),
    "space-before-colon": ("proto.header", _OK + _TYPE + _LENGTH.replace(b":", b" :") + _END),
    "empty-header-name": ("ok", _extra(b": nameless")),
    "latin-1-header": ("ok", _extra(b"X-Caf\xe9: caf\xe9")),
    "header-100-kb": ("proto.header_limit", _extra(b"X-Long: " + b"a" * 100_000)),
    "headers-10000": ("proto.header_limit", _extra(b"\r\n".join([b"X-Many: a"] * 10_000))),
    "cookies-5000": ("ok", _extra(b"\r\n".join(b"Set-Cookie: c%d=1" % n for n in range(5_000)))),
    "length-negative": ("proto.framing", _length(b"-5")),
    "length-word": ("proto.framing", _length(b"abc")),
    "length-plus": ("proto.framing", _length(b"+%d" % len(_BODY))),
    "length-list": ("ok", _length(b"%d, %d" % (len(_BODY), len(_BODY)))),
    "length-twice-equal": ("ok", _OK + _TYPE + _LENGTH + _LENGTH + _END),
    "length-twice-different": (
        "proto.framing",
        _OK + _TYPE + b"Content-Length: 5\r\n" + _LENGTH + _END,
    ),
    "length-too-small": ("ok", _length(b"20")),
    "length-2-63": ("body.too_large", _length(b"9223372036854775807")),
    "length-and-chunked": ("ok", _OK + _TYPE + b"Content-Length: 5\r\n" + _CHUNKED + _CHUNKS),
    "chunk-overflow": (
        "proto.chunk",
        _OK + _TYPE + _CHUNKED + b"\r\nfffffffffffffffff\r\n" + _BODY,
    ),
    "chunk-cut": ("body.short", _OK + _TYPE + _CHUNKED + b"\r\nfff\r\n" + _BODY),
    "chunk-no-last": ("body.short", _OK + _TYPE + _CHUNKED + _CHUNKS[: -len(b"0\r\n\r\n")]),
    "chunk-extension-1-mb": (
        "proto.chunk",
        _OK + _TYPE + _CHUNKED + b"\r\n1;" + b"a" * 1_000_000 + b"\r\na\r\n0\r\n\r\n",
    ),
    "chunk-trailers": ("ok", _OK + _TYPE + _CHUNKED + _CHUNKS[:-2] + b"X-Trailer: 1\r\n\r\n"),
    "te-gzip-chunked": (
        "body.encoding",
        _OK + _TYPE + b"Transfer-Encoding: gzip, chunked\r\n"
        b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(_GZIP), _GZIP),
    ),
    "te-chunked-identity": (
        "proto.framing",
        _OK + _TYPE + b"Transfer-Encoding: chunked, identity\r\n" + _CHUNKS,
    ),
    "te-unknown": ("proto.framing", _OK + _TYPE + b"Transfer-Encoding: xchunked\r\n" + _CHUNKS),
    "gzip-label-plain-body": ("body.decode", _coded(b"gzip", _BODY)),
    "gzip-bad-crc": ("body.decode", _coded(b"gzip", _GZIP[:-8] + b"\0\0\0\0" + _GZIP[-4:])),
    "gzip-trailing-bytes": ("ok", _coded(b"gzip", _GZIP + b"trailing bytes")),
    "gzip-two-members": ("ok", _coded(b"gzip", _GZIP + _GZIP)),
    "unknown-encoding": ("body.encoding", _coded(b"sdch", _BODY)),
    "br-label-gzip-body": ("body.decode", _coded(b"br", _GZIP)),
    "gzip-3-fold": ("ok", _coded(b"gzip, gzip, gzip", _pack(_pack(_GZIP)))),
    "gzip-20-fold": ("body.encoding", _coded(b", ".join([b"gzip"] * 20), _GZIP)),
    "204-with-body": ("ok", b"HTTP/1.1 204 No Content\r\n" + _LENGTH + _END),
    "304-unasked": ("proto.status", b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "206-unasked": (
        "proto.framing",
        b"HTTP/1.1 206 Partial Content\r\n"
        + _TYPE
        + b"Content-Range: bytes 0-9/99\r\n"
        + _LENGTH
        + _END,
    ),
    "interim-500": (
        "proto.interim",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 500 + _OK + _TYPE + _LENGTH + _END,
    ),
    "interim-only": ("net.closed_early", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "interim-103": ("ok", b"HTTP/1.1 103 Early Hints\r\n\r\n" + _OK + _TYPE + _LENGTH + _END),
    "upgrade-unasked": (
        "proto.upgrade",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ),
    "redirect-without-location": ("redir.none", _redirect(b"")),
    "redirect-empty-location": ("redir.none", _redirect(b"Location:\r\n")),
    "redirect-two-locations": ("redir.bad", _redirect(b"Location: /a\r\nLocation: /b\r\n")),
    "redirect-file": ("redir.scheme", _redirect(b"Location: file:///etc/passwd\r\n")),
    "redirect-data": ("redir.scheme", _redirect(b"Location: data:text/html,hello\r\n")),
    "redirect-bad": ("redir.bad", _redirect(b"Location: http://[::bad/\r\n")),
    "redirect-64-kb": ("redir.bad", _redirect(b"Location: /" + b"a" * 60_000 + b"\r\n")),
    "body-to-end": ("ok", _OK + _TYPE + _END),
    "glued-response": ("ok", (_OK + _TYPE + _LENGTH + _END) * 2),
    "no-content-type": ("ok", _OK + _LENGTH + _END),
    "html-as-image": ("ok", _OK + b"Content-Type: image/png\r\n" + _LENGTH + _END),
}
