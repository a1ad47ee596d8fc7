"""Results on their way to the Store Server, kept on disk until they have arrived.

Theory of operation. The folder holds segments, append-only files of records, each a length, a
CRC-32 and a payload. `append` only gathers; `sync` writes what was gathered and makes it durable
with one fdatasync. If the disk takes only a part, the whole records of that part are made durable
all the same: delivered and deleted, they make room for the rest, which stays gathered for the next
try. A segment that refused anything is cut back to its durable end and never written again, nor is
one of an earlier process. Records are read
in the order in which they were appended, durable ones only. `deliver` moves the mark before which
everything has arrived; segments before the mark are deleted. The mark is kept in a file now and
then, not durably: a mark that lies too far back costs a record sent twice, never one lost.

    folder/lock               held by the process that uses the spool; holds its process id
    folder/00000001.spool     a segment
    folder/position           the mark
"""

import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path
from struct import Struct as Layout
from typing import Final, NamedTuple
from zlib import crc32

from gossamer.errors import WorkspaceError
from gossamer.store.disk import System, create, refusal, sync_folder, write_all

MAGIC: Final = b"GSPOOL1\n"
HEADER: Final = Layout("!II")
"""Before each payload: its length and its CRC-32."""

_SEGMENT_NAME: Final = re.compile(r"([0-9]{8,18})\.spool")
_LARGEST_SEGMENT: Final = 64 << 20
_SMALLEST_SEGMENT: Final = 32 << 10
_SEGMENTS: Final = 16
_MOST_WRITTEN_AT_ONCE: Final = 1 << 20
_READ_AHEAD: Final = 1 << 16
_FIRST_GUESS: Final = 16_384.0
_SMOOTHING: Final = 1 / 32


class Place(NamedTuple):
    """Where a record begins."""

    segment: int
    offset: int


def _be_silent(_text: str) -> None:
    pass


class Spool:
    """A queue of payloads in a folder, locked from here to `close`."""

    def __init__(
        self,
        folder: Path,
        limit_bytes: int,
        system: System | None = None,
        say: Callable[[str], None] = _be_silent,
    ) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        self._system = system or System()
        self._say = say
        self._segment_bytes = min(
            max(limit_bytes // _SEGMENTS, _SMALLEST_SEGMENT), _LARGEST_SEGMENT
        )
        self._lock = _lock(folder)
        self._ends: dict[int, int] = {}
        """Where the durable part of each segment ends, oldest segment first."""
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self.appended = 0
        """How many records were taken in all."""
        self._writer: int | None = None
        self._reader: tuple[int, int] | None = None
        self._ahead = (Place(0, 0), b"")
        self.typical_bytes = _FIRST_GUESS
        """How large a record is, by and large, going by those of late."""
        self._mark = self._saved = Place(0, 0)
        try:
            self._number, self._mark = self._recover()
        except OSError as error:
            self.close()
            raise refusal("read", folder, error) from error
        except WorkspaceError:
            self.close()
            raise
        self._saved = self._mark

    @property
    def mark(self) -> Place:
        """Where the oldest record begins that has not been delivered."""
        return self._mark

    @property
    def is_mark_saved(self) -> bool:
        """Whether the mark was written down as it is."""
        return self._mark == self._saved

    @property
    def used_bytes(self) -> int:
        """How many bytes wait, durable or only gathered."""
        durable = sum(self._ends.values())
        delivered = self._mark.offset if self._mark.segment in self._ends else 0
        return durable - delivered + self._gathered_bytes

    @property
    def gathered_bytes(self) -> int:
        """How many bytes are not durable yet."""
        return self._gathered_bytes

    @property
    def synced(self) -> int:
        """How many of those that were appended are durable: the first so many."""
        return self.appended - len(self._gathered)

    @property
    def is_empty(self) -> bool:
        """Whether everything was delivered."""
        mark = self._mark
        return not self._gathered and not any(
            end > (mark.offset if number == mark.segment else len(MAGIC))
            for number, end in self._ends.items()
            if number >= mark.segment
        )

    def append(self, payload: bytes) -> None:
        """Take a payload; it is durable after the next `sync` that succeeds."""
        frame = HEADER.pack(len(payload), crc32(payload)) + payload
        self._gathered.append(frame)
        self._gathered_bytes += len(frame)
        self.appended += 1
        self.typical_bytes += (len(frame) - self.typical_bytes) * _SMOOTHING

    def sync(self) -> None:
        """Make durable what was gathered; what the disk refuses stays gathered, and it raises."""
        if not self._gathered:
            return
        try:
            refused = self._write()
        except OSError as error:
            refused = error
        if refused is not None:
            self._give_up_segment()
            # What has arrived may be all that fills the disk, and nothing else may arrive.
            self._forget_delivered()
            raise refusal("write to", self.folder, refused) from refused

    def read(self, place: Place) -> tuple[bytes, Place] | None:
        """Return the durable record at a place and where the next one begins; None at the end."""
        while True:
            end = self._ends.get(place.segment, 0)
            if place.offset >= end:
                following = self._segment_after(place.segment)
                if following is None:
                    return None
                place = Place(following, len(MAGIC))
                continue
            try:
                payload = self._record(place, end)
            except OSError as error:
                raise refusal("read", self._path(place.segment), error) from error
            if payload is not None:
                return payload, Place(place.segment, place.offset + HEADER.size + len(payload))
            self._say(
                f"the spool {self.folder} is damaged: {end - place.offset} bytes of segment "
                f"{place.segment} cannot be read and are left out"
            )
            self._ends[place.segment] = place.offset

    def deliver(self, place: Place) -> None:
        """Note that everything before a place has arrived."""
        self._mark = max(self._mark, place)
        self._forget_delivered()

    def save_mark(self) -> None:
        """Write the mark down; a disk that refuses costs records sent twice, no more."""
        if self._mark == self._saved:
            return
        text = f"{self._mark.segment} {self._mark.offset}"
        path = self.folder / "position"
        fresh = path.with_suffix(".new")
        try:
            fresh.write_text(f"{text} {crc32(text.encode())}\n", encoding="ascii")
            fresh.replace(path)
        except OSError:
            return
        self._saved = self._mark

    def close(self) -> None:
        """Write the mark down and let others use the folder; what is only gathered is gone."""
        if self._lock < 0:
            return
        if self._ends:
            self.save_mark()
        for descriptor in (self._writer, self._reader[1] if self._reader else None, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._writer = self._reader = None
        self._lock = -1

    def _forget_delivered(self) -> None:
        """Delete the segments before the mark, but for one that is being written."""
        finished = [
            number
            for number, end in self._ends.items()
            if self._mark >= Place(number, end) and (number != self._number or self._writer is None)
        ]
        if not finished:
            return
        following = self._segment_after(finished[-1])
        if following is not None and following > self._mark.segment:
            self._mark = Place(following, len(MAGIC))
        self.save_mark()
        for number in finished:
            self._remove(number)

    def _write(self) -> OSError | None:
        """Write and sync whole records; returns why not all of them, raises if not any."""
        if self._writer is not None and self._is_used_up(self._ends[self._number]):
            os.close(self._writer)
            self._writer = None
        is_new = self._writer is None
        if self._writer is None:
            self._number += 1
            self._writer = create(self._system, self._path(self._number))
        end = self._ends.get(self._number, len(MAGIC))
        refused: OSError | None = None
        try:
            self._write_gathered(self._writer, [MAGIC] if is_new else [])
        except OSError as error:
            refused = error
        count, size = self._whole_frames(os.fstat(self._writer).st_size - end)
        if not count and refused is not None:
            raise refused
        self._system.fdatasync(self._writer)
        if is_new:
            sync_folder(self._system, self.folder)
        self._ends[self._number] = end + size
        del self._gathered[:count]
        self._gathered_bytes -= size
        return refused

    def _write_gathered(self, descriptor: int, pieces: list[bytes]) -> None:
        size = 0
        for frame in self._gathered:
            pieces.append(frame)
            size += len(frame)
            if size >= _MOST_WRITTEN_AT_ONCE:
                write_all(self._system, descriptor, b"".join(pieces))
                pieces, size = [], 0
        write_all(self._system, descriptor, b"".join(pieces))

    def _whole_frames(self, written_bytes: int) -> tuple[int, int]:
        """Return how many of what was gathered so many bytes hold as a whole, and their size."""
        if written_bytes >= self._gathered_bytes:
            return len(self._gathered), self._gathered_bytes
        count = size = 0
        while size + len(self._gathered[count]) <= written_bytes:
            size += len(self._gathered[count])
            count += 1
        return count, size

    def _is_used_up(self, end: int) -> bool:
        """Whether a segment is large enough, or delivered and not worth going on with."""
        is_delivered = self._mark >= Place(self._number, end)
        return end >= (_SMALLEST_SEGMENT if is_delivered else self._segment_bytes)

    def _give_up_segment(self) -> None:
        """Cut the segment back to what is durable; the next try begins another."""
        if self._writer is None:
            return
        durable = self._ends.get(self._number, 0)
        try:
            if durable:
                os.ftruncate(self._writer, durable)
            else:
                self._path(self._number).unlink(missing_ok=True)
        except OSError:
            pass  # A record that is there after all is sent twice.
        os.close(self._writer)
        self._writer = None

    def _record(self, place: Place, end: int) -> bytes | None:
        """Return the payload at a place; None if there is no sound record before the end."""
        header = self._bytes_at(place, HEADER.size, end)
        if len(header) < HEADER.size:
            return None
        length, checksum = HEADER.unpack(header)
        start = place.offset + HEADER.size
        if start + length > end:
            return None
        payload = self._bytes_at(Place(place.segment, start), length, end)
        return payload if len(payload) == length and crc32(payload) == checksum else None

    def _bytes_at(self, place: Place, size: int, end: int) -> bytes:
        """Return so many bytes of a segment; more than is asked for is read and remembered."""
        (segment, first), data = self._ahead
        start = place.offset - first
        if segment == place.segment and start >= 0 and start + size <= len(data):
            return data[start : start + size]
        wanted = min(max(size, _READ_AHEAD), end - place.offset)
        data = os.pread(self._descriptor_of(place.segment), wanted, place.offset)
        self._ahead = (place, data if size <= _READ_AHEAD else b"")
        return data[:size]

    def _descriptor_of(self, number: int) -> int:
        if self._reader is None or self._reader[0] != number:
            descriptor = os.open(self._path(number), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if self._reader is not None:
                os.close(self._reader[1])
            self._reader = (number, descriptor)
        return self._reader[1]

    def _segment_after(self, number: int) -> int | None:
        return next((each for each in self._ends if each > number), None)

    def _remove(self, number: int) -> None:
        del self._ends[number]
        if self._reader is not None and self._reader[0] == number:
            os.close(self._reader[1])
            self._reader = None
        if number == self._number and self._writer is not None:
            os.close(self._writer)
            self._writer = None
        try:
            self._path(number).unlink(missing_ok=True)
        except OSError:
            pass  # It lies before the mark: nobody reads it again.

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.spool"

    def _recover(self) -> tuple[int, Place]:
        """Find what an earlier process left; returns the last number used, and the mark."""
        numbers = sorted(
            int(found[1])
            for entry in self.folder.iterdir()
            if (found := _SEGMENT_NAME.fullmatch(entry.name))
        )
        saved = self._read_mark()
        last = max([*numbers, saved.segment if saved else 0], default=0)
        for number in numbers:
            path = self._path(number)
            if (saved and number < saved.segment) or not _is_begun(path):
                path.unlink()
            else:
                self._ends[number] = path.stat().st_size
        if not self._ends:
            return last, Place(last + 1, len(MAGIC))
        oldest = next(iter(self._ends))
        mark = saved if saved and saved.segment == oldest else Place(oldest, len(MAGIC))
        newest = next(reversed(self._ends))
        self._cut_torn_end(newest, mark.offset if newest == oldest else len(MAGIC))
        return last, Place(oldest, min(mark.offset, self._ends[oldest]))

    def _read_mark(self) -> Place | None:
        try:
            words = (self.folder / "position").read_text(encoding="ascii").split()
            segment, offset, checksum = map(int, words)
        except (OSError, ValueError):
            return None
        if crc32(f"{segment} {offset}".encode()) != checksum or offset < len(MAGIC):
            return None
        return Place(segment, offset)

    def _cut_torn_end(self, number: int, start: int) -> None:
        """Cut off a record that was being written when the process or the machine died."""
        size = end = self._ends[number]
        offset = min(start, end)
        while offset < end:
            payload = self._record(Place(number, offset), end)
            if payload is None:
                end = offset
                break
            offset += HEADER.size + len(payload)
        if end < size:
            self._say(
                f"the spool {self.folder} ended in the middle of a result; {size - end} "
                "bytes are cut off, and their URL was never reported as done"
            )
            os.truncate(self._path(number), end)
            self._ends[number] = end
            self._ahead = (Place(0, 0), b"")


def _is_begun(path: Path) -> bool:
    """Whether a segment holds more than a part of its first bytes."""
    with path.open("rb") as file:
        first = file.read(len(MAGIC))
    if not MAGIC.startswith(first):
        raise WorkspaceError(
            f"cannot read {path}: it is not a segment of a spool, or of a newer version; "
            "move it away or choose another folder with --spool"
        )
    return first == MAGIC


def _lock(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise WorkspaceError(
            f"cannot use {folder} as a spool: {error.strerror}; choose a folder that you may "
            "write to with --spool"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(descriptor)
        raise WorkspaceError(
            f"the spool {folder} is in use by process {holder}; stop it, or choose another folder "
            "with --spool"
        ) from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        pass  # Only the message for others gets poorer.
    return descriptor
