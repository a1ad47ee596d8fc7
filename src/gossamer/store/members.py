"""Archive files read member by member, one record in memory at a time."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, Final, cast

from isal import isal_zlib
from msgspec import Struct

from gossamer.errors import StoreError

_CHUNK_BYTES: Final = 65_536
_SALVAGE_BYTES: Final = 2_048
_MAX_RECORD_BYTES: Final = 1 << 31
# The stubs call this an instance; it is a class.
_DAMAGE: Final = cast("type[Exception]", isal_zlib.IsalError)
GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""How every member begins: deflate, no name, no time, no system."""
_START: Final = b"WARC/1."
_HEADER_LINE: Final = re.compile(rb"([^:\r\n]+):[ \t]*([^\r\n]*)\r\n")


class Member(Struct, frozen=True):
    """A stretch of an archive file: one compressed record, or damage."""

    offset: int
    length: int
    data: bytes
    fault: str = ""
    """What is wrong with this stretch; its data is empty then."""


class Record(Struct, frozen=True):
    """A WARC record, its framing checked."""

    headers: tuple[tuple[str, str], ...]
    block: bytes

    def header(self, name: str) -> str:
        """Return the value of a header, empty if there is none; `name` in lower case."""
        for key, value in self.headers:
            if key.lower() == name:
                return value
        return ""


def members(file: BinaryIO, start: int = 0) -> Iterator[Member]:
    """Give the members from `start` on; after damage, go on where the next record begins."""
    file.seek(start)
    offset, pending = start, b""
    while True:
        pending = pending or file.read(_CHUNK_BYTES)
        if not pending:
            return
        try:
            data, length, pending = _member(file, pending)
        except StoreError as error:
            following = _next_start(file, offset + 1)
            yield Member(offset, following - offset, b"", str(error))
            offset, pending = following, b""
            file.seek(following)
            continue
        yield Member(offset, length, data)
        offset += length


def member_at(file: BinaryIO, offset: int) -> Member:
    """Give the member that begins at `offset`."""
    file.seek(offset)
    data, length, _ = _member(file, file.read(_CHUNK_BYTES))
    return Member(offset, length, data)


def salvaged(file: BinaryIO, offset: int) -> bytes:
    """Give what can be had of the beginning of a member that is damaged further on."""
    file.seek(offset)
    compressed = file.read(_SALVAGE_BYTES)
    inflater = isal_zlib.decompressobj(31)
    parts: list[bytes] = []
    with suppress(_DAMAGE):
        for start in range(0, len(compressed), 64):
            parts.append(inflater.decompress(compressed[start : start + 64]))  # noqa: PERF401 - what came before the damage counts
    return b"".join(parts)


def record_of(data: bytes) -> Record:
    """Take a record apart; a StoreError says what is wrong with its framing."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(_START):
        raise StoreError("not a WARC record")
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in _HEADER_LINE.findall(data, data.index(b"\r\n") + 2, end + 2)
    )
    record = Record(headers, data[end + 4 : -4])
    length = record.header("content-length")
    if not length.isdecimal() or int(length) != len(record.block) or not data.endswith(b"\r\n\r\n"):
        raise StoreError(f"record of {len(record.block)} bytes announces {length!r}")
    return record


def _member(file: BinaryIO, pending: bytes) -> tuple[bytes, int, bytes]:
    """Inflate one member; return its data, its compressed length and the bytes read beyond it."""
    inflater = isal_zlib.decompressobj(31)
    parts: list[bytes] = []
    taken = size = 0
    chunk = pending
    while chunk:
        taken += len(chunk)
        try:
            part = inflater.decompress(chunk, _MAX_RECORD_BYTES - size)
        except _DAMAGE as error:
            raise StoreError(f"damaged gzip member ({error})") from error
        parts.append(part)
        size += len(part)
        if inflater.eof:
            rest: bytes = inflater.unused_data
            return b"".join(parts), taken - len(rest), rest
        if size >= _MAX_RECORD_BYTES:
            raise StoreError("gzip member larger than any record")
        chunk = file.read(_CHUNK_BYTES)
    raise StoreError("incomplete gzip member")


def _next_start(file: BinaryIO, offset: int) -> int:
    """Find where the next record begins, from `offset` on; the end of the file if none does."""
    while True:
        file.seek(offset)
        window = file.read(_CHUNK_BYTES)
        at = window.find(GZIP_HEADER)
        while at >= 0:
            if salvaged(file, offset + at).startswith(_START):
                return offset + at
            at = window.find(GZIP_HEADER, at + 1)
        if len(window) < _CHUNK_BYTES:
            return offset + len(window)
        offset += len(window) - len(GZIP_HEADER) + 1
