"""Repair of archive files that were not closed: a process was killed, or the power went.

Only unfinished files (`….warc.gz.open`) are looked at, and in them only what lies beyond the last
byte that the catalog knows of. What is incomplete there was never acknowledged, so it is cut off;
then the file gets its final name. Complete records that the catalog does not know of stay: they are
true, if unused.
"""

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from gossamer.errors import StoreError
from gossamer.store import disk
from gossamer.store.members import members
from gossamer.store.names import OPEN_SUFFIX, unfinished_files


class Repaired(Struct, frozen=True):
    """What was found in one unfinished file, and done."""

    file: str
    """The final name."""
    cut_bytes: int = 0
    records_beyond: int = 0
    """Complete records (of all kinds) beyond the last byte that the catalog knows of."""
    damaged_bytes: int = 0
    """Damage that was left in place because complete records follow it."""
    missing_bytes: int = 0
    """Bytes that the catalog knows of and the file does not have: acknowledged work was lost."""
    removed: bool = False
    """It held no document and is gone."""
    busy: bool = False
    """A living process is writing it; it was left alone."""


class _Scan(Struct):
    end: int
    records: int
    damaged_bytes: int


def repair(
    folder: Path, known_good: Mapping[str, int] | None, *, writer: str | None = None
) -> list[Repaired]:
    """Repair all unfinished files of a folder, or those of one writer.

    `known_good` gives for a file the end of the last record that the catalog has committed; a file
    that is not in it has none. Without it (None) anything in a file may have been acknowledged:
    then only a tail that no complete record follows is cut, and damage before that is reported.
    """
    return [
        repair_file(folder, name, None if known_good is None else known_good.get(name, 0))
        for name in unfinished_files(folder, writer)
    ]


def repair_file(folder: Path, name: str, known_good: int | None) -> Repaired:
    """Repair the unfinished file of this final name."""
    path = folder / (name + OPEN_SUFFIX)
    try:
        with path.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return Repaired(name, busy=True)
            return _repair_locked(folder, name, file, known_good)
    except OSError as error:
        raise disk.refusal("repair", path, error) from error


def _repair_locked(folder: Path, name: str, file: BinaryIO, known_good: int | None) -> Repaired:
    size = os.fstat(file.fileno()).st_size
    missing = max(0, (known_good or 0) - size)
    start = 0 if missing else known_good or 0
    scan = _scan(file, start, careful=known_good is None or missing > 0)
    path, final = folder / (name + OPEN_SUFFIX), folder / name
    # The first record of a file describes the file; alone it is worth nothing.
    empty = start == 0 and scan.records <= 1 and not scan.damaged_bytes
    if empty:
        path.unlink()
    else:
        if scan.end < size:
            file.truncate(scan.end)
            os.fsync(file.fileno())
        if final.exists():
            raise StoreError(f"cannot finish {path}: {final} exists; move one of them away")
        path.rename(final)
    disk.sync_folder(disk.System(), folder)
    return Repaired(
        name,
        cut_bytes=size - (0 if empty else scan.end),
        records_beyond=0 if empty else scan.records,
        damaged_bytes=scan.damaged_bytes,
        missing_bytes=missing,
        removed=empty,
    )


def _scan(file: BinaryIO, start: int, *, careful: bool) -> _Scan:
    """Find where complete records end: at the first damage or, carefully, after the last one."""
    scan = _Scan(end=start, records=0, damaged_bytes=0)
    damage = 0
    for member in members(file, start):
        if member.fault:
            if not careful:
                break
            damage += member.length
            continue
        scan.end = member.offset + member.length
        scan.records += 1
        scan.damaged_bytes = damage
    return scan
