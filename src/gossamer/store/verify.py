"""Verification: reads every record of a folder and checks framing, checksums and digests."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct, field

from gossamer.errors import StoreError
from gossamer.store.members import GZIP_HEADER, Member, Record, members, record_of, salvaged
from gossamer.store.names import OPEN_SUFFIX, archive_files, final_name, open_archive
from gossamer.store.reading import PAYLOAD_TYPES, verified_payload
from gossamer.store.store import payload_digest

_TARGET_URI: Final = re.compile(rb"\r\nWARC-Target-URI: ([^\r\n]+)\r\n")
_MAX_FAULTS: Final = 1_000


class Fault(Struct, frozen=True):
    """Something wrong in an archive file."""

    file: str
    offset: int
    length: int
    url: str
    """The document concerned, if it can still be told."""
    problem: str


class Report(Struct):
    """What verification found."""

    files: int = 0
    records: Counter[str] = field(default_factory=Counter)
    """How many sound records there are of each type."""
    fault_count: int = 0
    faults: list[Fault] = field(default_factory=list)
    """The first thousand."""
    torn_bytes: int = 0
    """Incomplete ends of unfinished files: normal while they are written or before repair."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault_count == 0


def verify_folder(folder: Path, known_good: Mapping[str, int] | None = None) -> Report:
    """Verify every archive file of a folder.

    `known_good`: how far files must reach at least, since a catalog points to what is there.
    """
    report = Report()
    verify_lengths(folder, known_good or {}, report)
    for path in archive_files(folder):
        verify_file(path, report)
    return report


def verify_lengths(folder: Path, known_good: Mapping[str, int], report: Report) -> None:
    """Enter the files that are missing, or shorter than a catalog knows them."""
    for name, end in known_good.items():
        try:
            with open_archive(folder, name) as file:
                size = file.seek(0, os.SEEK_END)
        except StoreError:
            _fault(report, Fault(name, 0, end, "", "the catalog points to it, and it is missing"))
            continue
        if size < end:
            problem = (
                f"the file ends here, and the catalog points to what was there up to byte {end}"
            )
            _fault(report, Fault(name, size, end - size, "", problem))


def verify_file(path: Path, report: Report) -> None:
    """Verify one archive file and enter what is found."""
    name = final_name(path.name)
    for file, member, record in readable(path, report):
        if problem := _problem(file, member, record):
            url = record.header("warc-target-uri")
            _fault(report, Fault(name, member.offset, member.length, url, problem))
        else:
            report.records[record.header("warc-type")] += 1


def readable(path: Path, report: Report) -> Iterator[tuple[BinaryIO, Member, Record]]:
    """Give the records of an archive file that can be read; enter what cannot."""
    report.files += 1
    name = final_name(path.name)
    unfinished = path.name.endswith(OPEN_SUFFIX)
    try:
        with open_archive(path.parent, name) as file:
            size = file.seek(0, os.SEEK_END)
            for member in members(file):
                if member.fault and unfinished and member.offset + member.length >= size:
                    report.torn_bytes += member.length
                elif (record := _record(report, name, file, member)) is not None:
                    yield file, member, record
    except (StoreError, OSError) as error:
        _fault(report, Fault(name, 0, 0, "", f"cannot be read: {error}"))


def _record(report: Report, name: str, file: BinaryIO, member: Member) -> Record | None:
    """Take a member apart; if that cannot be done, enter why."""
    problem = member.fault
    if not problem:
        try:
            return record_of(member.data)
        except StoreError as error:
            problem = str(error)
    url = _salvaged_url(file, member.offset)
    _fault(report, Fault(name, member.offset, member.length, url, problem))
    return None


def _problem(file: BinaryIO, member: Member, record: Record) -> str:
    """Say what is wrong with a record that can be read; nothing if it is sound."""
    try:
        _check_digests(record)
    except StoreError as error:
        return str(error)
    if os.pread(file.fileno(), len(GZIP_HEADER), member.offset) != GZIP_HEADER:
        return "gzip header altered"
    return ""


def _salvaged_url(file: BinaryIO, offset: int) -> str:
    position = file.tell()
    found = _TARGET_URI.search(salvaged(file, offset))
    file.seek(position)
    return found[1].decode("latin-1") if found else ""


def _check_digests(record: Record) -> None:
    if record.header("warc-type") in PAYLOAD_TYPES:
        verified_payload(record)
    expected = record.header("warc-block-digest")
    if expected and payload_digest(record.block) != expected:
        raise StoreError(f"block does not match {expected}")


def _fault(report: Report, fault: Fault) -> None:
    report.fault_count += 1
    if len(report.faults) < _MAX_FAULTS:
        report.faults.append(fault)
