"""What workers found and the catalog does not know yet, in files that outlive a killed process.

A visit gives its place to the next as soon as its findings are here, so that transactions can be
large while a crash repeats nothing but open fetches: `begin_run` commits what is found here.
Nothing is synced. After a loss of power some of it may be missing, or what it points to in the
archive; those visits are repeated.

Theory of operation. There are two files. New findings go to one of them; `turn` says that they are
about to be committed, and later ones go to the other; `forget` says that they have been, and
empties the first. A file begins with the run that wrote it and its own number, which tells the
older of the two; a record is its length, a CRC-32 of it and of the file's beginning, and findings
in MessagePack. What cannot be read, or belongs to another run than the catalog's last, is as if it
had never been written.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from struct import Struct as Layout
from typing import Final
from zlib import crc32

import msgspec

from gossamer.catalog.catalog import Catalog, Recovery, Verdict
from gossamer.config.settings import Settings
from gossamer.crawl.admission import Admission
from gossamer.crawl.archive_sync import ArchiveSync
from gossamer.crawl.recall import struck
from gossamer.messages import Findings
from gossamer.store import disk

NAMES: Final = ("reports.0", "reports.1")
_FILE: Final = Layout(">8sQQ")
_MAGIC: Final = b"GREPORT1"
_RECORD: Final = Layout(">II")
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[Findings]).decode

Judge = Callable[[Findings, float], Verdict]


class ReportLog:
    """The two files of a workspace; only for who holds its lock."""

    def __init__(self, folder: Path, system: disk.System | None = None) -> None:
        self._folder = folder
        self._system = system or disk.System()
        self._files: list[int] = []
        self._run_id = 0
        self._number = 0
        """Of the file that is being written."""
        self._end = 0
        """Where it ends."""
        try:
            for name in NAMES:
                self._files.append(self._system.open(folder / name, _OPEN, 0o600))
        except OSError as error:
            self.close()
            raise disk.refusal("write to", folder, error) from error

    def left(self, run_id: int) -> list[Findings]:
        """Return what a run has left here, in the order in which it came."""
        found = [_read(file) for file in self._files]
        return [
            findings
            for _, data in sorted((number, data) for run, number, data in found if run == run_id)
            for findings in chain.from_iterable(_whole_records(data))
        ]

    def use(self, run_id: int) -> None:
        """Begin anew, for a run."""
        self.drop()
        self._run_id = run_id
        self._number = self._end = 0

    def append(self, findings: Sequence[Findings]) -> None:
        """Take findings; whatever kills this process, they are there."""
        head = _FILE.pack(_MAGIC, self._run_id, self._number)
        data = _encode(findings)
        record = _RECORD.pack(len(data), crc32(data, crc32(head))) + data
        if not self._end:
            record = head + record
        which = self._number % 2
        try:
            disk.write_all(self._system, self._files[which], record)
        except OSError as error:
            # Half a record would hide all that come after it.
            self._cut(which, self._end)
            raise disk.refusal("write to", self._folder / NAMES[which], error) from error
        self._end += len(record)

    def turn(self) -> int:
        """Let what comes go to the other file; return the number of the one that is complete."""
        complete = self._number
        self._number += 1
        self._end = 0
        return complete

    def forget(self, complete: int) -> None:
        """Note that a complete file has been committed, before the next one is; any thread may."""
        self._cut(complete % 2, 0)

    def drop(self) -> None:
        """Make nothing of what is here be found again; any thread may."""
        for which in range(len(self._files)):
            self._cut(which, 0)

    def _cut(self, which: int, size: int) -> None:
        try:
            self._system.ftruncate(self._files[which], size)
        except OSError as error:
            raise disk.refusal("cut", self._folder / NAMES[which], error) from error

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files:
            os.close(file)
        self._files.clear()


def begin_run(
    catalog: Catalog,
    log: ReportLog,
    settings: Settings,
    judge: Judge,
    now: float,
    archive: ArchiveSync | None = None,
) -> Recovery:
    """Start a run, after what the last one had found and could not commit any more.

    `archive`: where that may not have been synced. It has been repaired.
    """
    left = log.left(catalog.last_run_id())
    if archive is not None:
        left = archive.present(left)
    if left:
        gate = Admission(settings.url, catalog.traps())
        clocks = struck(catalog, left, settings.urlserver)
        catalog.commit([judge(findings, now) for findings in left], now, clocks, gate=gate)
    recovery = catalog.begin_run(now)
    log.use(recovery.run_id)
    return recovery


def _read(file: int) -> tuple[int, int, bytes]:
    """Return the run, the number and all bytes of a file; run 0 is none."""
    data = os.pread(file, os.fstat(file).st_size, 0)
    if len(data) < _FILE.size:
        return 0, 0, b""
    magic, run_id, number = _FILE.unpack_from(data)
    return run_id if magic == _MAGIC else 0, number, data


def _whole_records(data: bytes) -> Iterator[list[Findings]]:
    """Yield what is whole of a file."""
    seed = crc32(data[: _FILE.size])
    start = _FILE.size
    while start + _RECORD.size <= len(data):
        length, check = _RECORD.unpack_from(data, start)
        start += _RECORD.size + length
        record = data[start - length : start]
        if len(record) < length or crc32(record, seed) != check:
            return
        try:
            yield _decode(record)
        except msgspec.DecodeError:
            return  # Of another version: the visits that it tells of are made once more.
