"""CDXJ: the index by which replay tools find a URL in the archive files.

One line a document: key, time, JSON. Rows come from the catalog or, for repair and verification,
from the archive files themselves; for the same documents both give the same lines.
"""

import heapq
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.messages import Pointer
from gossamer.store.heads import media_type_of, split_block, status_of
from gossamer.store.members import Member, Record
from gossamer.store.names import archive_files, final_name
from gossamer.store.reading import PAYLOAD_TYPES, moment_of
from gossamer.store.surt import surt_key
from gossamer.store.verify import Report, readable

_BATCH_LINES: Final = 100_000


class Row(Struct, frozen=True):
    """One document of an index."""

    url: str
    fetched_at: float
    mime: str
    """Empty when the response names none."""
    status: int
    """0 when it is not known, as that of a document that came without its HTTP head."""
    digest: str
    pointer: Pointer
    revisit: bool = False


class _Fields(Struct, frozen=True):
    """The JSON of a line; numbers are text there by convention."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str


def cdxj_lines(rows: Iterable[Row], *, batch_lines: int = _BATCH_LINES) -> Iterator[str]:
    """Give the lines of an index in its order, each ended; more than a batch is sorted on disk."""
    lines = map(_line, rows)
    with ExitStack() as stack:
        batches: list[Iterable[bytes]] = []
        while batch := sorted(islice(lines, batch_lines)):
            if len(batch) < batch_lines and not batches:
                batches.append(batch)
                break
            spilled = stack.enter_context(tempfile.TemporaryFile())
            spilled.writelines(batch)
            spilled.seek(0)
            batches.append(spilled)
        for line in heapq.merge(*batches):
            yield line.decode()


def index_file(path: Path, report: Report) -> Iterator[Row]:
    """Give a row for each document in an archive file, in its order; enter what is damaged."""
    name = final_name(path.name)
    for _, member, record in readable(path, report):
        if record.header("warc-type") in (*PAYLOAD_TYPES, "revisit"):
            yield _row(name, member, record)


def index_folder(folder: Path, report: Report) -> Iterator[Row]:
    """Give a row for each document in the archive files of a folder; enter what is damaged."""
    for path in archive_files(folder):
        yield from index_file(path, report)


def _line(row: Row) -> bytes:
    """Write a row; as bytes, because an index is sorted by its bytes."""
    fields = _Fields(
        url=row.url,
        mime="warc/revisit" if row.revisit else row.mime or "unk",
        status=str(row.status or "-"),
        digest=row.digest or "-",
        length=str(row.pointer.length),
        offset=str(row.pointer.offset),
        filename=row.pointer.file,
    )
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(max(0.0, row.fetched_at)))
    return f"{surt_key(row.url)} {stamp} ".encode() + msgspec.json.encode(fields) + b"\n"


def _row(name: str, member: Member, record: Record) -> Row:
    kind = record.header("warc-type")
    is_resource = kind == "resource"
    head = b"" if is_resource else split_block(record.block)[0]
    return Row(
        url=record.header("warc-target-uri"),
        fetched_at=moment_of(record.header("warc-date")),
        mime=record.header("content-type") if is_resource else media_type_of(head),
        status=status_of(head),
        digest=record.header("warc-payload-digest"),
        pointer=Pointer(name, member.offset, member.length),
        revisit=kind == "revisit",
    )
