"""A look at the first bytes of each plain response before libcurl sees them.

Theory of operation. libcurl is strict about heads where browsers are not. So when a request is
about to go out, its transfer is told to take nothing in (`enter`), and the connection is watched
instead (`settle`). Once the whole head has arrived, `look` peeks at it and lets libcurl read; a
head that must be mended, or is too long to be peeked at, goes through a relay. Responses under TLS
cannot be looked at.

A head about which nothing is odd is understood on this occasion. Of all others libcurl hands over
the lines.
"""

import select
import socket
from collections.abc import Callable
from typing import Any, Final, Protocol

import pycurl

from gossamer.clock import Clock
from gossamer.messages import Visit
from gossamer.spider.head import Head
from gossamer.spider.lane import Carried
from gossamer.spider.loop import Loop, Tap
from gossamer.spider.mend import Mended, Passed, inspect
from gossamer.spider.plain_head import Peek, PlainHeads
from gossamer.spider.relay import Relay
from gossamer.spider.sockets import bytes_taken

_FIRST_PEEK_BYTES: Final = 4_096
# Well below what the system takes in for a connection that nobody reads.
_LARGEST_PEEK_BYTES: Final = 32_768
# How much may be looked at again and again while a head trickles in.
_PATIENCE_BYTES: Final = 8_388_608
_PEEK: Final = socket.MSG_PEEK
_SOCKET: Final = pycurl.ACTIVESOCKET
_HOLD: Final = pycurl.PAUSE_RECV
_LET_GO: Final = pycurl.PAUSE_CONT
_GO_ON: Final = int(pycurl.PREREQFUNC_OK)
# What stands for the descriptor of a transfer that is not here, or whose request is not out yet.
OUTSIDE: Final = -1
_ENTERED: Final = -2
EDGES: Final = (
    getattr(select, "EPOLLIN", 0) | getattr(select, "EPOLLRDHUP", 0) | getattr(select, "EPOLLET", 0)
)


class Held(Protocol):
    """What the gate needs of a transfer."""

    visit: Visit
    pause: Callable[[int], None]
    getinfo: Callable[[int], Any]
    """Both of its handle."""
    is_held: bool
    """Whether its response is looked at before libcurl sees it."""
    has_lines: bool
    """Whether libcurl hands over the lines of the head."""
    sent_at: float
    """When the request left: rather later than it did, so that gaps are kept."""
    carried: Carried | None
    """The connection that it was given, if libcurl did not choose it."""
    gate_descriptor: int
    gate_peeked: int
    tap: Tap
    """Has `Gate.look` called for it."""

    def know(self, head: Head) -> None:
        """Take a head that was read here."""
        ...

    def report_sent(self) -> None:
        """Tell whoever asked for it that the request has left."""
        ...

    def start_over(self) -> None:
        """Forget what a kept connection said that proved dead: it is not the response."""
        ...

    def want_lines(self) -> None:
        """Have libcurl hand over the lines of the head."""
        ...

    def note_relay(self, relay: Relay) -> None:
        """Remember that a relay reads the connection."""
        ...

    def note_mended(self, mended: Mended) -> None:
        """Remember that libcurl sees another head than the server sent."""
        ...

    def note_wire_start(self, taken: int) -> None:
        """Remember how many bytes of the connection came before this response."""
        ...

    def note_error(self, number: int) -> None:
        """Remember an error that libcurl will not see, because looking consumed it."""
        ...


class Gate:
    """Holds transfers back until their response can be looked at."""

    def __init__(self, loop: Loop, clock: Clock, plain_heads: PlainHeads) -> None:
        self._loop = loop
        self._clock = clock
        self._read_plain = plain_heads.read
        self._peek_head: Peek = plain_heads.peek or self._peek
        # A dict for its keys: in order, and quick to leave.
        self._entered: dict[Held, None] = {}
        self.is_open = not hasattr(select, "EPOLLET")
        """Whether nobody is held back, because this system cannot tell of edges."""
        # Only numbers: a socket object here follows whatever connection has the number at the time.
        self._borrowed: dict[int, socket.socket] = {}
        self.on_usual: Callable[[Any, Head], bool] | None = None
        """Called with a transfer whose head is usual; True if it is no longer libcurl's."""
        loop.on_settled = self.settle

    def enter(
        self, transfer: Held, _peer: object, _own: object, _peer_port: object, _own_port: object
    ) -> int:
        """Hold back a transfer whose request is about to go out: libcurl calls this."""
        if transfer.sent_at:
            # It has been here before, on a kept connection that proved dead.
            self.leave(transfer)
            transfer.start_over()
        if transfer.is_held:
            transfer.pause(_HOLD)
        transfer.gate_descriptor = _ENTERED
        self._entered[transfer] = None
        return _GO_ON

    def settle(self) -> None:
        """Note whose request is out by now, and watch their connections."""
        entered = self._entered
        if not entered:
            return
        loop = self._loop
        self._entered = {}
        now = self._clock.monotonic()
        for transfer in entered:
            descriptor = transfer.getinfo(_SOCKET)
            if descriptor < 0 or not (
                loop.tap_sent(descriptor, transfer.tap)
                if transfer.is_held
                else not loop.is_sending(descriptor)
            ):
                self._entered[transfer] = None
                transfer.sent_at = transfer.sent_at or now
                continue
            transfer.sent_at = now
            if transfer.carried is not None:
                transfer.sent_at = transfer.carried.put_in_place(descriptor, loop, now)
            transfer.gate_descriptor = descriptor if transfer.is_held else OUTSIDE
            if transfer.carried is not None and transfer.carried.taken:
                self._begin_relay(transfer, descriptor, transfer.carried.taken)
            if transfer.visit.report_start:
                transfer.report_sent()

    def leave(self, transfer: Held) -> None:
        """Forget a transfer that ended while it was held back."""
        if transfer.gate_descriptor >= 0:
            self._loop.untap(transfer.gate_descriptor)
        else:
            self._entered.pop(transfer, None)
        transfer.gate_descriptor = OUTSIDE

    def close(self) -> None:
        """Forget all sockets."""
        for borrowed in self._borrowed.values():
            borrowed.detach()
        self._borrowed.clear()
        self._entered.clear()

    def __del__(self) -> None:
        # Left to themselves the socket objects would close descriptors that are not theirs.
        self.close()

    def look(self, transfer: Held) -> None:
        """Look at what has arrived, and let libcurl have it once the head is there."""
        descriptor = transfer.gate_descriptor
        try:
            arrived = self._peek_head(descriptor)
            if isinstance(arrived, bytes):
                data = arrived
                head = self._read_plain(data)
            else:
                head, data = arrived, arrived.raw
            if head is not None and not transfer.has_lines:
                transfer.know(head)
                if self.on_usual is None or not head.is_usual or not self.on_usual(transfer, head):
                    self._let_pass(transfer)
                return
            found, seen = self._inspect(descriptor, data)
            if found is None and seen < _LARGEST_PEEK_BYTES and self._has_ended(descriptor):
                # What came between the two calls is there now; more will not come.
                data = self._peek(descriptor)
                found, seen = self._inspect(descriptor, data)
                found = found or Passed()
        except BlockingIOError:
            return
        except OSError as error:
            transfer.note_error(error.errno or 0)
            found, seen = Passed(), 0
        if found is None and seen < _LARGEST_PEEK_BYTES and transfer.gate_peeked < _PATIENCE_BYTES:
            transfer.gate_peeked += seen
            return
        if isinstance(found, Passed):
            transfer.want_lines()
            if found.chunked:
                transfer.note_wire_start(bytes_taken(self._borrow(descriptor)))
            self._let_pass(transfer)
        else:
            self._begin_relay(transfer, descriptor)

    def _let_pass(self, transfer: Held) -> None:
        self._loop.untap(transfer.gate_descriptor)
        transfer.gate_descriptor = OUTSIDE
        try:
            transfer.pause(_LET_GO)
        except pycurl.error:
            # The transfer failed at once, and libcurl reports it in its own way.
            pass

    def _inspect(self, descriptor: int, data: bytes) -> tuple[Passed | Mended | None, int]:
        found = inspect(data) if data else Passed()
        if found is None and len(data) == _FIRST_PEEK_BYTES:
            data = self._peek(descriptor, _LARGEST_PEEK_BYTES)
            found = inspect(data)
        return found, len(data)

    def _begin_relay(self, transfer: Held, descriptor: int, taken: bytes = b"") -> None:
        transfer.want_lines()
        self.leave(transfer)

        def let_read(mended: Mended | None) -> None:
            if mended is not None:
                transfer.note_mended(mended)
            _let_read(transfer)

        relay = Relay(self._loop, descriptor, let_read, taken)
        transfer.note_relay(relay)
        relay.start()

    def _has_ended(self, descriptor: int) -> bool:
        poller = select.poll()
        poller.register(descriptor, select.POLLRDHUP)
        return bool(poller.poll(0))

    def _peek(self, descriptor: int, size: int = _FIRST_PEEK_BYTES) -> bytes:
        return self._borrow(descriptor).recv(size, _PEEK)

    def _borrow(self, descriptor: int) -> socket.socket:
        borrowed = self._borrowed.get(descriptor)
        if borrowed is None:
            borrowed = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)
            self._borrowed[descriptor] = borrowed
        return borrowed


def _let_read(transfer: Held) -> None:
    try:
        transfer.pause(_LET_GO)
    except pycurl.error:
        # The transfer failed at once, and libcurl reports it in its own way.
        pass
