"""What stands in the headers and fields of WARC records, safe against anything the web can send."""

import hashlib
import os
import re
import time
from functools import lru_cache
from itertools import count
from typing import Final
from urllib.parse import quote

from gossamer.messages import Fetch
from gossamer.outcomes import Outcome, name_of
from gossamer.store.base32 import base32

_ADDRESS: Final = re.compile(r"[0-9a-fA-F:.]{2,45}")
_LINE_BREAKS: Final = dict.fromkeys((*range(32), 127, 0x85, 0x2028, 0x2029), " ")
_MAX_FIELD_CHARACTERS: Final = 4_000
_MAX_CHAIN: Final = 50

TRUNCATED: Final[dict[Outcome, str]] = {
    Outcome.OK_PARTIAL: "unspecified",
    Outcome.BODY_TOO_LARGE: "length",
    Outcome.BODY_BOMB: "length",
    Outcome.NET_TIMEOUT_TOTAL: "time",
    Outcome.NET_TIMEOUT_HEADERS: "time",
    Outcome.NET_SLOW: "time",
    Outcome.BODY_SHORT: "disconnect",
    Outcome.NET_RESET: "disconnect",
    Outcome.NET_CLOSED_EARLY: "disconnect",
    Outcome.PROTO_CHUNK: "disconnect",
}
"""Why a body is incomplete, in the words of WARC-Truncated."""


class RecordIds:
    """Makes record ids: UUIDs of version 8 (RFC 9562), random for the writer, then a counter.

    The last digit is the place of a record in its group.
    """

    def __init__(self) -> None:
        seed = os.urandom(9).hex()
        first, second, third = seed[:8], seed[8:12], seed[12:15]
        variant = "89ab"[int(seed[15], 16) & 3]
        fourth = seed[15:18]
        self._prefix = f"<urn:uuid:{first}-{second}-8{third}-{variant}{fourth}-".encode()
        self._numbers = count()

    def new_group(self) -> bytes:
        """Return what the ids of a group begin with, and no others; see `record_id`."""
        return b"%b%011x" % (self._prefix, next(self._numbers))


def record_id(group: bytes, place: int) -> bytes:
    """Return the id of a record of a group."""
    return b"%b%d>" % (group, place)


def shared_headers(fetch: Fetch) -> bytes:
    """Return the header lines that all records of a fetch have in common."""
    date, uri = record_date(fetch.fetched_at), target_uri(fetch.visit.url)
    if _ADDRESS.fullmatch(fetch.address):
        return b"WARC-Date: %b\r\nWARC-Target-URI: %b\r\nWARC-IP-Address: %b\r\n" % (
            date,
            uri,
            fetch.address.encode(),
        )
    return b"WARC-Date: %b\r\nWARC-Target-URI: %b\r\n" % (date, uri)


def metadata_block(fetch: Fetch, parent: str | None) -> bytes:
    """Return what is worth keeping of a fetch besides its bytes, as warc-fields."""
    visit = fetch.visit
    text = (
        f"outcome: {name_of(fetch.outcome)}\r\nfetchTimeMs: {fetch.milliseconds}\r\n"
        f"docId: {visit.doc_id}\r\ndepth: {visit.depth}\r\ntries: {visit.tries}\r\n"
    )
    if fetch.status and not fetch.head:
        # Elsewhere the response itself says it.
        text += f"status: {fetch.status}\r\n"
    if parent:
        text += f"via: {one_line(parent)}\r\n"
    for url in visit.via[:_MAX_CHAIN]:
        text += f"redirectedFrom: {one_line(url)}\r\n"
    if fetch.flags:
        text += f"flags: {one_line(' '.join(fetch.flags))}\r\n"
    if fetch.detail:
        text += f"detail: {one_line(fetch.detail)}\r\n"
    return text.encode("utf-8", "replace")


def record_date(moment: float) -> bytes:
    """Return a time as WARC 1.1 writes it, with microseconds."""
    second, rest = divmod(max(0, round(moment * 1_000_000)), 1_000_000)
    return b"%b.%06dZ" % (_second_date(second), rest)


def target_uri(url: str) -> bytes:
    """Return a URL that cannot break its header line; a canonical one comes back as it is."""
    if url.isascii() and url.isprintable() and " " not in url:
        return url.encode()
    return quote(url, safe="%/:?#[]@!$&'()*+,;=~", errors="replace").encode()


def one_line(text: str) -> str:
    """Return text without anything that could end a line, cut to a length nobody needs more of."""
    if text.isprintable() and len(text) <= _MAX_FIELD_CHARACTERS:
        return text
    return text[:_MAX_FIELD_CHARACTERS].translate(_LINE_BREAKS)


def digest_of(block: bytes) -> bytes:
    """Return the SHA-1 of a block as WARC writes it."""
    return b"sha1:" + base32(hashlib.sha1(block, usedforsecurity=False).digest())


@lru_cache(maxsize=64)
def _second_date(second: int) -> bytes:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()
