"""How a fetch is written as WARC 1.1 records (ISO 28500:2017), one gzip member each. No I/O.

Order of a group: response (or revisit, or resource when only the document is known), request,
metadata; the latter two name the first in WARC-Concurrent-To. The pointer of a document is that of
the first.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

from isal.igzip_lib import COMP_GZIP_NO_HDR, compress
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
    record_id,
    shared_headers,
    target_uri,
)
from gossamer.store.group import ordinary_group
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


class Group(Struct, frozen=True, gc=False):
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
        self._writes_all = (
            settings.write_requests
            and settings.write_metadata
            and not settings.response_block_digests
        )

    def group(
        self, fetch: Fetch, parent: str | None, known: Known | None, digest: str = ""
    ) -> Group:
        """Return all records of a fetch."""
        settings = self._settings
        digest, profile = classify(fetch, known, settings, digest)
        identity = self._ids.new_group()
        records: tuple[bytes, ...] | None = None
        if self._writes_all and profile is None:
            records = ordinary_group(fetch, parent, identity, digest)
        if records is None:
            response = self._first(fetch, identity, digest, profile, known)
            records = (response, *self._beside(fetch, parent, identity))
        members = [b"", compress(records[0], settings.compression_level, COMP_GZIP_NO_HDR)]
        for record in records[1:]:
            members += (compress(record, _SMALL_RECORD_LEVEL, COMP_GZIP_NO_HDR),)
        length = len(GZIP_HEADER) + len(members[1])
        # Members are made without their headers, which say nothing that differs.
        return Group(GZIP_HEADER.join(members), length, digest, profile is not None)

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
        identity = record_id(self._ids.new_group(), 0)
        record = _small(
            b"warcinfo", identity, headers, _FIELDS_TYPE, block.encode("utf-8", "replace")
        )
        return _member(record, _SMALL_RECORD_LEVEL)

    def _first(
        self,
        fetch: Fetch,
        group: bytes,
        digest: str,
        profile: Profile | None,
        known: Known | None,
    ) -> bytes:
        identity, shared = record_id(group, 0), shared_headers(fetch)
        if not fetch.head:
            return _resource(fetch, _START % (b"resource", identity) + shared, digest)
        if profile is None:
            return self._response(fetch, _START % (b"response", identity) + shared, digest)
        own = _START % (b"revisit", identity) + shared + _reference(profile, digest, known)
        return _revisit(fetch, own)

    def _beside(self, fetch: Fetch, parent: str | None, group: bytes) -> Iterator[bytes]:
        headers = shared_headers(fetch) + b"WARC-Concurrent-To: %b\r\n" % record_id(group, 0)
        if self._settings.write_requests and fetch.request_head:
            block = ended_head(fetch.request_head)
            yield _small(b"request", record_id(group, 1), headers, _REQUEST_TYPE, block)
        if self._settings.write_metadata:
            block = metadata_block(fetch, parent)
            yield _small(b"metadata", record_id(group, 2), headers, _FIELDS_TYPE, block)

    def _response(self, fetch: Fetch, headers: bytes, digest: str) -> bytes:
        raw = fetch.raw
        head = stored_head(fetch.head, len(raw))
        own = b"WARC-Payload-Digest: %b\r\n%b" % (digest.encode(), _oddities(fetch))
        if self._settings.response_block_digests:
            whole = hashlib.sha1(head, usedforsecurity=False)
            whole.update(raw)
            own += b"WARC-Block-Digest: sha1:%b\r\n" % base32(whole.digest())
        framing = _HTTP_RESPONSE % (len(head) + len(raw))
        return b"".join((headers, own, framing, head, raw, b"\r\n\r\n"))


def _resource(fetch: Fetch, headers: bytes, digest: str) -> bytes:
    """Write a document without its HTTP head: the block is the payload, its type is a guess."""
    own = b"WARC-Payload-Digest: %b\r\nWARC-Block-Digest: %b\r\n" % ((digest.encode(),) * 2)
    media_type = content_type_of("", fetch.raw).encode()
    framing = b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n" % (media_type, len(fetch.raw))
    return b"".join((headers, own, _oddities(fetch), framing, fetch.raw, b"\r\n\r\n"))


def _revisit(fetch: Fetch, headers: bytes) -> bytes:
    head = stored_head(fetch.head, len(fetch.raw))
    own = b"WARC-Block-Digest: %b\r\n" % digest_of(head) + _oddities(fetch)
    framing = _HTTP_RESPONSE % len(head)
    return b"".join((headers, own, framing, head, b"\r\n\r\n"))


def _small(kind: bytes, identity: bytes, headers: bytes, media_type: bytes, block: bytes) -> bytes:
    digest = digest_of(block)
    return _SMALL % (kind, identity, headers, digest, media_type, len(block), block)


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


def _member(record: bytes, level: int) -> bytes:
    return GZIP_HEADER + compress(record, level, COMP_GZIP_NO_HDR)
