"""One connection to the Store Server: results from the spool, in order, until they have arrived.

Theory of operation. The connection proves itself if there is a secret and waits a moment for a
greeting. A Store Server that greets is sent results in the FULL form and says SAVED n: so many
results of this connection are durable there. Any other is sent the PLAIN form, and a result counts
as delivered when the other machine has acknowledged its last byte. A greeting that comes late makes
the connection an acknowledged one from then on. A few results at a time are in memory, no more.
"""

from collections import deque
from typing import Final

from gossamer.daemons.peers import HANDSHAKE_SECONDS, PeerSocket, is_challenge
from gossamer.daemons.spider_links import Watcher
from gossamer.daemons.spider_parcels import full_message, plain_message
from gossamer.daemons.spool import Place, Spool
from gossamer.wire.lines import LineReader, Patience

GREETING: Final = b"STORE gossamer 1"
_MAX_LINE_BYTES: Final = 512
_ENOUGH_WAITING_BYTES: Final = 1 << 18
_MOST_UNDERWAY: Final = 10_000
_LOOK_SECONDS: Final = 0.02
_IDLE_SECONDS: Final = 5.0


class Delivery:
    """A connection, from dialling to its end; `failure` says why it ended."""

    def __init__(
        self, peer: PeerSocket, spool: Spool, watcher: Watcher, grace_seconds: float, now: float
    ) -> None:
        self._peer = peer
        self._spool = spool
        self._watcher = watcher
        self._grace = grace_seconds
        self._descriptor = peer.fileno()
        self._interest: bool | None = None
        self._lines = LineReader(_MAX_LINE_BYTES)
        self._patience = Patience()
        self._decide_at: float | None = None
        """Until when a greeting is waited for, once the connection stands."""
        self._is_decided = False
        self._is_acknowledged = False
        self._saved = 0
        """The last SAVED."""
        self._next = spool.mark
        self._has_more = False
        self._sent_bytes = 0
        self._arrived = 0
        """How many results of this connection have arrived."""
        self._underway: deque[tuple[int, Place]] = deque()
        """For each that has not: at which byte it ends, and where in the spool the next begins."""
        self.began_at = now
        self.failure: str | None = None
        self._tend()

    @property
    def is_open(self) -> bool:
        """Whether results can be sent."""
        return self._peer.ready and self._is_decided

    @property
    def is_acknowledged(self) -> bool:
        """Whether the Store Server has greeted, and will say what it has saved."""
        return self._is_acknowledged

    def step(self, now: float) -> int:
        """Listen, send, and see what has arrived; returns how many results that was."""
        # First of all: once the connection has ended, nobody can tell what was acknowledged.
        arrived = self._take_arrived()
        self._listen()
        self._peer.flush()
        if self.failure is None and self._may_send(now):
            self._send()
        if self._peer.closed and self.failure is None:
            # What was said before the other side died counts, though writing has failed.
            self._listen()
        arrived += self._take_arrived() if self.failure is None else 0
        if self._peer.closed and self.failure is None:
            self.failure = self._peer.reason
        self._tend()
        return arrived

    def next_at(self, now: float) -> float:
        """Return when to step again, if nothing happens before."""
        if not self._peer.ready:
            return self.began_at + HANDSHAKE_SECONDS
        if not self._is_decided:
            return self._decide_at or now
        if self._has_more:
            return now
        # Nobody tells when the other machine has acknowledged: look now and then.
        is_silent = self._underway and not self._is_acknowledged
        return now + (_LOOK_SECONDS if is_silent else _IDLE_SECONDS)

    def close(self) -> None:
        """End the connection."""
        self._peer.close()
        self._tend()

    def _may_send(self, now: float) -> bool:
        if not self._peer.ready:
            if now >= self.began_at + HANDSHAKE_SECONDS:
                self.failure = f"it did not answer within {HANDSHAKE_SECONDS:.0f} seconds"
            return False
        if not self._is_decided:
            if self._decide_at is None:
                self._decide_at = now + self._grace
            self._is_decided = now >= self._decide_at
        return self._is_decided

    def _listen(self) -> None:
        for line in self._lines.feed(self._peer.receive()):
            if line == GREETING:
                self._is_decided = self._is_acknowledged = True
            elif self._is_acknowledged:
                self._take_line(line)
            elif line is not None and is_challenge(line):
                self.failure = "it asks for a secret; set [wire] secret_file or GOSSAMER_SECRET"

    def _take_line(self, line: bytes | None) -> None:
        word, _, number = (line or b"").partition(b" ")
        if word == b"SAVED" and number.isdigit() and len(number) < 20:
            self._patience.good()
            self._saved = max(self._saved, int(number))
            if self._saved > self._arrived + len(self._underway):
                self.failure = f"it says SAVED {self._saved}, but was sent fewer results"
        elif self._patience.bad():
            self.failure = "ten lines in a row could not be understood"

    def _send(self) -> None:
        pieces: list[bytes] = []
        size = 0
        self._has_more = False
        while self._peer.waiting_bytes + size < _ENOUGH_WAITING_BYTES:
            found = self._spool.read(self._next) if len(self._underway) < _MOST_UNDERWAY else None
            if found is None:
                break
            parcel, self._next = found
            message = full_message(parcel) if self._is_acknowledged else plain_message(parcel)
            pieces.append(message)
            size += len(message)
            self._underway.append((self._sent_bytes + size, self._next))
        else:
            self._has_more = not self._peer.waiting_bytes
        if pieces:
            self._sent_bytes += size
            self._peer.send(b"".join(pieces))

    def _take_arrived(self) -> int:
        """Move the spool's mark behind all that has arrived."""
        underway = self._underway
        count = 0
        place: Place | None = None
        if self._is_acknowledged:
            while underway and self._arrived + count < self._saved:
                place = underway.popleft()[1]
                count += 1
        elif underway and not self._peer.closed:
            outside = self._peer.waiting_bytes + self._peer.unacknowledged_bytes
            while underway and underway[0][0] <= self._sent_bytes - outside:
                place = underway.popleft()[1]
                count += 1
        if place is not None:
            self._arrived += count
            self._spool.deliver(place)
        return count

    def _tend(self) -> None:
        if self._peer.closed:
            # At once, and once: its number is free for others.
            if self._interest is not None:
                self._interest = None
                self._watcher.unwatch(self._descriptor)
        elif self._interest != self._peer.wants_to_write:
            self._interest = self._peer.wants_to_write
            self._watcher.watch(self._descriptor, _wake, writing=self._interest)


def _wake() -> None:
    """Nothing: the loop's turn ends, and with it comes the next step."""
