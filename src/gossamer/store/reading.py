"""A pointer becomes a document again; any process may read a folder of archive files."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from gossamer.errors import StoreError
from gossamer.messages import Pointer
from gossamer.store.heads import split_block
from gossamer.store.members import Member, Record, member_at, members, record_of
from gossamer.store.names import open_archive
from gossamer.store.store import Known, StoredDocument, payload_digest

# The payload of a repetition is one step away. There are archives in which a page that was visited
# often repeats its repetitions; each step leads to an earlier record.
_MAX_STEPS: Final = 10_000
PAYLOAD_TYPES: Final = ("response", "resource")
"""Types of records that hold a payload themselves."""
_FIELD: Final = re.compile(r"([^:\r\n]+): ([^\r\n]*)\r\n")


def read_document(folder: Path, pointer: Pointer) -> StoredDocument:
    """Read the document at a pointer, with the request and the metadata stored beside it."""
    with _reading(folder, pointer) as file:
        return _document(folder, file, pointer)


def original_of(folder: Path, pointer: Pointer) -> Known:
    """Find the payload of a document: that of itself, or the one that it repeats; verified."""
    with _reading(folder, pointer) as file:
        record, place = record_of(_member_of(file, pointer).data), pointer
        if record.header("warc-type") == "revisit":
            original = _original(folder, record)
            if original is None:
                raise StoreError("it repeats a payload and does not say where that is")
            record, place = original
        verified_payload(record)
    return Known(
        uri=record.header("warc-target-uri"),
        fetched_at=moment_of(record.header("warc-date")),
        payload_digest=record.header("warc-payload-digest"),
        pointer=place,
    )


def moment_of(date: str) -> float:
    """Return the time that a WARC-Date states, 0.0 if it states none."""
    try:
        return datetime.fromisoformat(date).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0


def fields_of(block: bytes) -> tuple[tuple[str, str], ...]:
    """Return the fields of a warc-fields block."""
    return tuple(_FIELD.findall(block.decode("utf-8", "replace")))


def verified_payload(record: Record) -> tuple[bytes, bytes]:
    """Give head and payload of a response or resource (no head); StoreError: another digest."""
    is_resource = record.header("warc-type") == "resource"
    head, raw = (b"", record.block) if is_resource else split_block(record.block)
    expected = record.header("warc-payload-digest")
    if expected and payload_digest(raw) != expected:
        raise StoreError(f"payload of {record.header('warc-target-uri')} does not match {expected}")
    return head, raw


@contextmanager
def _reading(folder: Path, pointer: Pointer) -> Iterator[BinaryIO]:
    """Give the file of a pointer; errors say where in it they were met."""
    with open_archive(folder, pointer.file) as file:
        try:
            yield file
        except (StoreError, OSError) as error:
            raise StoreError(
                f"cannot read {pointer.file} at byte {pointer.offset}: {error}"
            ) from error


def _document(folder: Path, file: BinaryIO, pointer: Pointer) -> StoredDocument:
    record = record_of(_member_of(file, pointer).data)
    revisit_of: Known | None = None
    raw: bytes | None
    if record.header("warc-type") == "revisit":
        head, _ = split_block(record.block)
        original = _original(folder, record)
        raw = None if original is None else verified_payload(original[0])[1]
        revisit_of = Known(
            uri=record.header("warc-refers-to-target-uri"),
            fetched_at=moment_of(record.header("warc-refers-to-date")),
            payload_digest=record.header("warc-payload-digest"),
            pointer=None if original is None else original[1],
        )
    elif record.header("warc-type") in PAYLOAD_TYPES:
        head, raw = verified_payload(record)
    else:
        raise StoreError("the record there is not a document")
    request_head, metadata = _companions(file, pointer, record.header("warc-record-id"))
    return StoredDocument(
        url=record.header("warc-target-uri"),
        fetched_at=moment_of(record.header("warc-date")),
        request_head=request_head,
        head=head,
        raw=raw,
        payload_digest=record.header("warc-payload-digest"),
        revisit_of=revisit_of,
        truncated=record.header("warc-truncated"),
        metadata=metadata,
        record_headers=record.headers,
    )


def _member_of(file: BinaryIO, pointer: Pointer) -> Member:
    member = member_at(file, pointer.offset)
    if member.length != pointer.length:
        raise StoreError(f"the record there has {member.length} bytes, not {pointer.length}")
    return member


def _companions(
    file: BinaryIO, pointer: Pointer, identity: str
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """Return the request head and the metadata that follow a document."""
    request_head = b""
    metadata: tuple[tuple[str, str], ...] = ()
    for member in members(file, pointer.offset + pointer.length):
        if member.fault:
            break
        record = record_of(member.data)
        if record.header("warc-concurrent-to") != identity:
            break
        if record.header("warc-type") == "request":
            request_head = record.block
        else:
            metadata = fields_of(record.block)
    return request_head, metadata


def _original(folder: Path, record: Record) -> tuple[Record, Pointer] | None:
    """Follow a repetition to the record whose payload it repeats; None if it names none."""
    expected = record.header("warc-payload-digest")
    for _ in range(_MAX_STEPS):
        name = record.header("warc-refers-to-filename")
        offset = record.header("warc-refers-to-file-offset")
        if not name or not offset.isdecimal():
            return None
        with open_archive(folder, name) as file:
            member = member_at(file, int(offset))
        record = record_of(member.data)
        if record.header("warc-type") in PAYLOAD_TYPES:
            if record.header("warc-payload-digest") != expected:
                raise StoreError(f"{name} at byte {offset} does not hold the payload {expected}")
            return record, Pointer(name, member.offset, member.length)
    raise StoreError(f"it repeats a repetition, and so on for more than {_MAX_STEPS:,} steps")
