"""What was said on links, in a file: JSON Lines, one record for each piece of a stream.

The first line is a CaptureHead. Each further one is a Record: an event of a link, or bytes that one
end sent, as `text` when they are ASCII text and as `base64` when they are not.
"""

import os
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from gossamer.errors import InputError

VERSION: Final = 1
MAX_PIECE_BYTES: Final = 1 << 16
_MAX_LINE_BYTES: Final = 1 << 20
_MAGIC: Final = b'{"gossamer_capture"'
_TEXT: Final = bytes(range(0x20, 0x7F)) + b"\r\n"

Sender = Literal["dialler", "listener"]
Event = Literal["", "opened", "closed"]


class CaptureHead(Struct, frozen=True):
    """The first line: which version of the format, and what time 0.0 of the records is."""

    gossamer_capture: int
    began_at: Annotated[float, Meta(ge=0, le=2e11)]


class Record(Struct, frozen=True, omit_defaults=True):
    """One line: what happened on which link, how many seconds after the beginning."""

    seconds: Annotated[float, Meta(ge=0, le=1e9)]
    link: Annotated[int, Meta(ge=0, le=2**31)]
    event: Event = ""
    sender: Sender | None = field(default=None, name="from")
    text: str = ""
    base64: str = ""

    @property
    def data(self) -> bytes:
        """The bytes that were sent."""
        return b64decode(self.base64) if self.base64 else self.text.encode("ascii")


def sent_record(seconds: float, link: int, sender: Sender, data: bytes) -> Record:
    """Return the record of one piece of a stream."""
    if data.translate(None, _TEXT):
        return Record(seconds, link, sender=sender, base64=b64encode(data).decode())
    return Record(seconds, link, sender=sender, text=data.decode("ascii"))


class CaptureWriter:
    """Writes a capture; only its owner may read it, because pages and proofs are in it."""

    def __init__(self, path: Path, began_at: float) -> None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InputError(f"cannot write the capture {path}: {error.strerror}") from error
        self._file: BinaryIO = os.fdopen(descriptor, "wb")
        self._encode = msgspec.json.Encoder().encode
        self._put(CaptureHead(VERSION, began_at))

    def write(self, record: Record) -> None:
        """Add a record; whoever stops the program loses none."""
        self._put(record)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _put(self, value: Struct) -> None:
        self._file.write(self._encode(value) + b"\n")
        self._file.flush()


def read_capture(file: BinaryIO, name: str) -> tuple[CaptureHead, Iterator[Record]] | None:
    """Return head and records of a capture; None, with nothing read, if the file is something else.

    Raises InputError at the first line that is not a record.
    """
    if not _peek(file, len(_MAGIC)).startswith(_MAGIC):
        return None
    decode = msgspec.json.Decoder(CaptureHead).decode
    try:
        head = decode(file.readline(_MAX_LINE_BYTES))
    except msgspec.DecodeError as error:
        raise InputError(f"{name}, line 1: not the head of a capture: {error}") from error
    if head.gossamer_capture != VERSION:
        raise InputError(
            f"{name} is a capture of version {head.gossamer_capture}, this program reads "
            f"{VERSION}; use the version that made it"
        )
    return head, _records(file, name)


def read_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield what a file holds, piece by piece."""
    while piece := file.read(MAX_PIECE_BYTES):
        yield piece


def _records(file: BinaryIO, name: str) -> Iterator[Record]:
    decode = msgspec.json.Decoder(Record).decode
    number = 1
    while line := file.readline(_MAX_LINE_BYTES):
        number += 1
        try:
            record = decode(line)
            record.data  # noqa: B018 - raises when it cannot be read
        except (msgspec.DecodeError, Base64Error, ValueError) as error:
            if not line.endswith(b"\n") and len(line) < _MAX_LINE_BYTES:
                return  # Whoever wrote it was killed in the middle.
            raise InputError(
                f"{name}, line {number}: not a record of a capture: {error}"
            ) from error
        yield record


def _peek(file: BinaryIO, count: int) -> bytes:
    """Return the first bytes without taking them; the file must be buffered."""
    peek = getattr(file, "peek", None)
    return bytes(peek(count)[:count]) if peek else b""
