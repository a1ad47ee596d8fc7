"""How a fetch is written as WARC 1.1 records (ISO 28500:2017), one gzip member each. No I/O.

Order of a group: response (or revisit, or resource when only the document is known), request,
metadata; the latter two name the first in WARC-Concurrent-To. The pointer of a document is that of
the first.
"""

import hashlib
from typing import Final

from isal import igzip_lib
from msgspec import Struct

from gossamer.config.store import StoreSettings
from gossamer.messages import Fetch
from gossamer.parse.sniff import content_type_of
from gossamer.store.base32 import base32
from gossamer.store.fields import (
    TRUNCATED,
    RecordIds,
    digest_of,
    metadata_block,
    one_line,
    record_date,
    shared_headers,
    target_uri,
)
from gossamer.store.heads import ended_head, protocol_of, stored_head
from gossamer.store.members import GZIP_HEADER
from gossamer.store.repeats import Profile, classify
from gossamer.store.store import Known

# Requests and metadata are a few hundred bytes: the fixed Huffman table of level 0 makes of 726
# bytes 597 in 1.6 µs, a table of their own (level 1) 447 in 6.9 µs (bench/store_append.py).
_SMALL_RECORD_LEVEL: Final = 0
_START: Final = b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: %b\r\n"
_HTTP_RESPONSE: Final = (
    b"Content-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n"
)
_SMALL: Final = (
    b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: %b\r\n%bWARC-Block-Digest: %b\r\n"
    b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
)
_REQUEST_TYPE: Final = b"application/http;msgtype=request"
_FIELDS_TYPE: Final = b"application/warc-fields"
_SPECIFICATION: Final = (
    "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
)


class Group(Struct, frozen=True):
    """The records of one fetch, compressed."""

    data: bytes
    length: int
    """Bytes of the first record alone."""
    payload_digest: str
    revisit: bool


class RecordWriter:
    """Turns fetches into records; safe to call from several threads."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._ids = RecordIds()

    def group(
        self, fetch: Fetch, parent: str | None, known: Known | None, digest: str = ""
    ) -> Group:
        """Return all records of a fetch."""
        settings = self._settings
        digest, profile = classify(fetch, known, settings, digest)
        identity = self._ids.new()
        shared = shared_headers(fetch)
        if not fetch.head:
            first = self._resource(fetch, _START % (b"resource", identity) + shared, digest)
        elif profile is None:
            first = self._response(fetch, _START % (b"response", identity) + shared, digest)
        else:
            own = _START % (b"revisit", identity) + shared + _reference(profile, digest, known)
            first = self._revisit(fetch, own)
        data = first
        beside = shared + b"WARC-Concurrent-To: %b\r\n" % identity
        if settings.write_requests and fetch.request_head:
            data += self._small(b"request", beside, _REQUEST_TYPE, ended_head(fetch.request_head))
        if settings.write_metadata:
            data += self._small(b"metadata", beside, _FIELDS_TYPE, metadata_block(fetch, parent))
        return Group(data, len(first), digest, profile is not None)

    def warcinfo(self, file: str, now: float) -> bytes:
        """Return the record that opens a file."""
        lines = {
            "software": "gossamer",
            "format": "WARC File Format 1.1",
            "conformsTo": _SPECIFICATION,
            "operator": one_line(self._settings.operator),
        }
        block = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        headers = b"WARC-Date: %b\r\nWARC-Filename: %b\r\n" % (record_date(now), file.encode())
        return self._small(b"warcinfo", headers, _FIELDS_TYPE, block.encode("utf-8", "replace"))

    def _response(self, fetch: Fetch, headers: bytes, digest: str) -> bytes:
        raw = fetch.raw
        head = stored_head(fetch.head, len(raw))
        own = b"WARC-Payload-Digest: %b\r\n%b" % (digest.encode(), _oddities(fetch))
        if self._settings.response_block_digests:
            whole = hashlib.sha1(head, usedforsecurity=False)
            whole.update(raw)
            own += b"WARC-Block-Digest: sha1:%b\r\n" % base32(whole.digest())
        framing = _HTTP_RESPONSE % (len(head) + len(raw))
        data = b"".join((headers, own, framing, head, raw, b"\r\n\r\n"))
        return _member(data, self._settings.compression_level)

    def _resource(self, fetch: Fetch, headers: bytes, digest: str) -> bytes:
        """A document without its HTTP head: the block is the payload, its type is a guess."""
        own = b"WARC-Payload-Digest: %b\r\nWARC-Block-Digest: %b\r\n" % ((digest.encode(),) * 2)
        media_type = content_type_of("", fetch.raw).encode()
        framing = b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n" % (media_type, len(fetch.raw))
        data = b"".join((headers, own, _oddities(fetch), framing, fetch.raw, b"\r\n\r\n"))
        return _member(data, self._settings.compression_level)

    def _revisit(self, fetch: Fetch, headers: bytes) -> bytes:
        head = stored_head(fetch.head, len(fetch.raw))
        own = b"WARC-Block-Digest: %b\r\n" % digest_of(head) + _oddities(fetch)
        framing = _HTTP_RESPONSE % len(head)
        data = b"".join((headers, own, framing, head, b"\r\n\r\n"))
        return _member(data, self._settings.compression_level)

    def _small(self, kind: bytes, headers: bytes, media_type: bytes, block: bytes) -> bytes:
        digest = digest_of(block)
        data = _SMALL % (kind, self._ids.new(), headers, digest, media_type, len(block), block)
        return _member(data, _SMALL_RECORD_LEVEL)


def _reference(profile: Profile, digest: str, known: Known | None) -> bytes:
    """Return the headers by which a revisit names what it repeats."""
    headers = b"WARC-Profile: %b\r\n" % profile.value
    if digest:
        headers += b"WARC-Payload-Digest: %b\r\n" % target_uri(digest)
    if known is None:
        return headers
    headers += b"WARC-Refers-To-Target-URI: %b\r\nWARC-Refers-To-Date: %b\r\n" % (
        target_uri(known.uri),
        record_date(known.fetched_at),
    )
    if known.pointer is None:
        return headers
    return headers + b"WARC-Refers-To-Filename: %b\r\nWARC-Refers-To-File-Offset: %d\r\n" % (
        target_uri(known.pointer.file),
        known.pointer.offset,
    )


def _oddities(fetch: Fetch) -> bytes:
    """Return the headers that most documents do not need."""
    headers = b""
    reason = TRUNCATED.get(fetch.outcome)
    if reason is not None:
        headers += b"WARC-Truncated: %b\r\n" % reason.encode()
    protocol = protocol_of(fetch.head)
    if protocol:
        headers += b"WARC-Protocol: %b\r\n" % protocol
    return headers


def _member(data: bytes, level: int) -> bytes:
    return GZIP_HEADER + igzip_lib.compress(data, level, igzip_lib.COMP_GZIP_NO_HDR)
