"""The link between the coordinator and a worker: frames of msgpack over a socket pair.

A frame is a 4-byte length, a one-byte tag and a payload. The coordinator's end never blocks (what
the socket does not take waits in a buffer); the worker's end may block on sending, because the
coordinator always reads.
"""

import socket
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.config.settings import Settings
from gossamer.errors import ProtocolError
from gossamer.messages import Done, Findings, Visit
from gossamer.wire.results import Result

_MAX_FRAME: Final = 7 << 29
# As much as is taken from the heap: more would be mapped and given back each time.
_READ_SIZE: Final = 1 << 16


class Tag(IntEnum):
    """What a frame holds."""

    HELLO = 1  # to the worker: Assignment
    ORDERS = 2  # to the worker: list[Visit]
    POLICY = 3  # to the worker: the address policy, serialised
    STOP = 4  # to the worker: finish what is stored, cancel what is open, end
    DEPOSITS = 5  # to a worker of the store server: list[Deposit]
    START_URLS = 6  # to a worker of the store server: list[str], all there are
    RECALL = 7  # to the worker: give back what has not been started
    READY = 10  # from the worker: nothing
    UNFIT = 11  # from the worker: (kind of error, text); why it cannot begin
    STARTED = 12  # from the worker: list[(trans_id, sent_at)]
    WORKING = 13  # from the worker: list[trans_id]
    REPORT = 14  # from the worker: Report
    VOID = 15  # from the worker: Void; these could not be kept
    CANCELLED = 16  # from the worker: list[doc_id] that were open when STOP came
    DELIVERED = 17  # from a spider over the wire: list[trans_id]; the store server gets the results
    UNSENT = 18  # from the worker: list[trans_id] that it was given ahead of time and gives back


# Looked up here, for the class takes ten times as long to find a member.
_TAGS: Final = {int(tag): tag for tag in Tag}
_TAG_BYTES: Final = {tag: bytes((tag,)) for tag in Tag}


class Assignment(Struct, frozen=True):
    """What a worker is told first."""

    name: str
    archive: str
    catalog: str
    workers_lock: str
    """Empty when there is no workspace: then nobody else could work in it."""
    settings: Settings
    start_urls: tuple[str, ...]
    policy: bytes
    main_script: str = ""
    syncs: bool = True
    """Whether a worker syncs what it keeps before it reports it; else that is done later."""
    most_open: int = 0
    """How many fetches a worker may have open: it is given more orders, each for when another has
    ended. 0: it starts what it is ordered to at once."""


class Deposit(Struct, frozen=True, array_like=True, gc=False):
    """What another process fetched, as it came, and the visit that it belongs to."""

    visit: Visit
    result: Result
    received_at: float
    """Wall time."""


class Report(Struct, frozen=True, array_like=True):
    """What became of visits: their slots are free, and what they brought is on disk."""

    done: list[Done]
    findings: list[Findings]


class Void(Struct, frozen=True, array_like=True):
    """Results that are lost because the store failed; their URLs return to pending."""

    done: list[Done]
    doc_ids: list[int]
    detail: str
    disk_full: bool


_encoder: Final = msgspec.msgpack.Encoder()
decode_orders: Final = msgspec.msgpack.Decoder(list[Visit]).decode
decode_deposits: Final = msgspec.msgpack.Decoder(list[Deposit]).decode
decode_start_urls: Final = msgspec.msgpack.Decoder(list[str]).decode
decode_report: Final = msgspec.msgpack.Decoder(Report).decode
decode_void: Final = msgspec.msgpack.Decoder(Void).decode
decode_ids: Final = msgspec.msgpack.Decoder(list[int]).decode
decode_unfit: Final = msgspec.msgpack.Decoder(tuple[str, str]).decode
decode_started: Final = msgspec.msgpack.Decoder(list[tuple[int, float]]).decode
decode_assignment: Final = msgspec.msgpack.Decoder(Assignment).decode


def frame(tag: Tag, payload: object) -> bytes:
    """Return a frame."""
    body: bytes = _encoder.encode(payload)
    return b"%b%b%b" % ((len(body) + 1).to_bytes(4, "big"), _TAG_BYTES[tag], body)


class Link:
    """One end of the socket pair."""

    def __init__(self, end: socket.socket, *, blocking: bool) -> None:
        self._socket = end
        self._blocking = blocking
        end.setblocking(blocking)
        self._out = bytearray()
        self._in: bytes | bytearray = b""
        """What was read last; put together where a frame came in parts."""
        self._heard = 0
        """How much of it has been given out."""
        self.closed = False

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    @property
    def waiting_bytes(self) -> int:
        """How much is still to be sent."""
        return len(self._out)

    def send(self, tag: Tag, payload: object) -> None:
        """Send a frame, or keep it until the other side reads; nobody reads it if that is gone."""
        data = frame(tag, payload)
        if self._blocking:
            try:
                self._socket.sendall(data)
            except OSError:
                self.closed = True
        else:
            if not self._out and not self.closed:
                # All of it, as a rule: then nothing has to be kept.
                data = data[self._sent(data) :]
            self._out += data
            self.flush()

    def flush(self) -> None:
        """Send what waits, as far as the socket takes it."""
        while self._out and not self.closed:
            sent = self._sent(self._out)
            if not sent:
                return
            del self._out[:sent]

    def _sent(self, data: bytes | bytearray) -> int:
        """Return how much of this the socket takes now."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self.closed = True
            return 0

    def receive(self, *, read: bool = True) -> Iterator[tuple[Tag, bytes]]:
        """Yield the frames that have arrived; sets `closed` when the other side is gone.

        With `read` off, only those that came along with an earlier one.
        """
        if read:
            self._read()
        while (start := self._heard) + 4 <= len(data := self._in):
            length = int.from_bytes(data[start : start + 4], "big")
            if not 1 <= length <= _MAX_FRAME:
                raise ProtocolError(f"a frame of {length} bytes on the link between our processes")
            end = start + 4 + length
            if len(data) < end:
                return
            tag, payload = _TAGS[data[start + 4]], bytes(data[start + 5 : end])
            if len(data) == end:
                self._in, self._heard = b"", 0
            else:
                self._heard = end
            yield tag, payload

    def _read(self) -> None:
        while True:
            try:
                data = self._socket.recv(_READ_SIZE, 0 if self._blocking else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.closed = True
                return
            self._take(data)
            if self._blocking or len(data) < _READ_SIZE:
                return

    def _take(self, data: bytes) -> None:
        """Put what was read behind what has not been given out yet: nothing, most of the time."""
        if not self._in:
            self._in = data
            return
        if not isinstance(self._in, bytearray):
            self._in = bytearray(self._in)
        del self._in[: self._heard]
        self._heard = 0
        self._in += data

    def close(self) -> None:
        """Close this end."""
        self.closed = True
        self._socket.close()
