"""One link from the URL Server to a Spider: dialled again and again, orders out, status lines in.

A link that ends takes its transactions with it: whoever ordered them orders them again (S1.38).
"""

import queue
import socket
import threading
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

from gossamer.config.settings import Settings
from gossamer.daemons.flow import Flow
from gossamer.daemons.peers import (
    HANDSHAKE_SECONDS,
    BackOff,
    DiallerHandshake,
    Endpoint,
    PeerSocket,
    dial,
    is_challenge,
)
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.transactions import Start, Transactions, Word
from gossamer.errors import GossamerError, WireError
from gossamer.messages import Visit
from gossamer.spider.spider import Spider
from gossamer.url.parts import host_of
from gossamer.wire.lines import (
    Credit,
    Finished,
    LineReader,
    Order,
    Patience,
    Status,
    Working,
    order_line,
    parse_status,
)

_LOOK_UP_SECONDS: Final = 0.02
_LONGEST_HOP_SECONDS: Final = 0.1
# At most so much of one link in one turn: a Spider that floods us keeps nobody else waiting.
_READ_BYTES: Final = 1 << 16
# A connection that lasted this long was a good one: the next try need not wait.
_SOUND_SECONDS: Final = 5.0


class OrderLink:
    """What the URL Server knows of one Spider; `go_on` moves it, the lists tell what came of it."""

    def __init__(
        self,
        endpoint: Endpoint,
        secret: bytes | None,
        settings: Settings,
        loop: Spider,
        notes: Notes,
    ) -> None:
        self._endpoint = endpoint
        self._secret = secret
        self._settings = settings
        self._loop = loop
        self._notes = notes
        rate = settings.urlserver.host_per_second
        self._hop_seconds = min(0.5 / rate, _LONGEST_HOP_SECONDS) if rate else 0.0
        """How far ahead of its request a further WORKING may run."""
        self._back_off = BackOff()
        self._attempt = 0
        self._dial_at: float | None = 0.0
        self._dialling: _Dialling | None = None
        self._socket: PeerSocket | None = None
        self._watched: tuple[int, bool] | None = None
        self._began = 0.0
        self._is_open = False
        self._is_told = False
        """Whether it was said that this connection stands."""
        self._reasons: set[str] = set()
        """Why it could not be reached or hung up, since it was last of use: each is told once."""
        self._is_stirred = False
        """Whether the descriptor has something for us."""
        self._is_silence_told = False
        self._begin(0.0)
        self.is_lost = False
        """Whether a connection that stood has ended; whoever reads it clears it."""
        self.started: list[Start] = []
        self.working: list[int] = []
        self.done: list[int] = []

    def room(self, now: float) -> int:
        """Return how many orders it takes now."""
        if not self._is_open or self._socket is None or self._socket.waiting_bytes:
            return 0
        return self._flow.room(now)

    def order(self, visits: Sequence[Visit], now: float) -> None:
        """Send orders; there is room for them."""
        if self._socket is None or not self._is_open:
            # It ended since there was room: what is lost with it includes these.
            return
        self._is_of_use()
        self._flow.spent(len(visits))
        self._transactions.ordered(visit.trans_id for visit in visits)
        self._socket.send(b"".join(map(_line, visits)))
        self._go_on_writing(now)

    def withdraw(self, trans_id: int, now: float) -> None:
        """Forget an order that was given up for want of a word about it."""
        self._transactions.withdraw(trans_id)
        if now - self._heard_at > self._settings.spider.timeout_update_ms / 1000.0:
            # It had something to report and was silent altogether: it hangs, by all appearances.
            # Not for ever: one that merely lost an order has nothing to say until it gets others.
            patience = self._settings.urlserver.timeout_spider_status_seconds
            self._doubted_until = now + patience
            if not self._is_silence_told:
                self._is_silence_told = True
                self._tell(
                    f"the Spider at {self._endpoint} has not said a word for "
                    f"{now - self._heard_at:.0f} seconds; what it has is ordered again, from "
                    "another one if there is any"
                )

    def is_doubtful(self, now: float) -> bool:
        """Whether it seems to hang, so that others are better asked."""
        return now < self._doubted_until

    def wake_at(self) -> float | None:
        """Return when `go_on` has something to do that no descriptor tells."""
        if self._is_open:
            moments = [self._flow.decides_at, self._transactions.starts_at()]
        elif self._socket is not None:
            moments = [self._began + HANDSHAKE_SECONDS]
        else:
            moments = [self._dial_at]
        return min((moment for moment in moments if moment is not None), default=None)

    def go_on(self, now: float) -> None:
        """Dial, listen, write: whatever can be done now."""
        if self._socket is None:
            self._dial(now)
        if self._socket is None:
            return
        if self._is_stirred or not self._is_open:
            self._is_stirred = False
            self._read(self._socket, now)
        if self._is_open:
            self._go_on_writing(now)
            self._flow.room(now)
            self.started += self._transactions.starts(now)
            if now - self._began > _SOUND_SECONDS:
                self._is_of_use()
        elif self._socket.ready:
            self._open(now)
        elif now - self._began > HANDSHAKE_SECONDS:
            self._socket.close(f"no handshake within {HANDSHAKE_SECONDS:.0f} s")
        if self._socket.closed:
            self._ended(self._socket.reason, now)
        else:
            self._watch(self._socket)

    def close(self) -> None:
        """End the link for good."""
        self._dial_at = None
        if self._socket is not None:
            self._unwatch()
            self._socket.close()
            self._socket = None
            self.is_lost = self._is_open
            self._is_open = False

    # ------------------------------------------------------------------ connecting

    def _begin(self, now: float) -> None:
        """Forget all that belonged to an earlier connection: credit, transactions, bad lines."""
        grace_seconds = self._settings.wire.flow_grace_ms / 1000.0
        self._flow = Flow(self._settings.urlserver.flow_mode, grace_seconds, now)
        self._transactions = Transactions(self._settings.spider.timeout_update_ms / 1000.0)
        self._lines = LineReader()
        self._patience = Patience()
        self._began = self._heard_at = now
        self._doubted_until = 0.0
        """Until when others are preferred, unless it says a word before."""
        self._is_silence_told = False

    def _dial(self, now: float) -> None:
        if self._dial_at is None or now < self._dial_at:
            return
        if self._dialling is None:
            self._dialling = _Dialling(self._endpoint, self._attempt)
            self._attempt += 1
        result = self._dialling.result()
        if result is None:
            self._dial_at = now + _LOOK_UP_SECONDS
            return
        self._dialling = None
        if isinstance(result, Exception):
            self._ended(str(result), now)
            return
        self._begin(now)
        self._socket = PeerSocket(result, DiallerHandshake(self._secret))

    def _open(self, now: float) -> None:
        self._begin(now)
        self._is_open = True
        self._is_told = False
        if not self._reasons:
            self._is_of_use()

    def _is_of_use(self) -> None:
        """Say that the connection stands.

        After a failure it is not said before: a Spider whose spool is full takes each call, and
        hangs up.
        """
        if not self._is_told:
            self._is_told = True
            self._reasons.clear()
            self._tell(f"connected to the Spider at {self._endpoint}")

    def _ended(self, reason: str, now: float) -> None:
        self._unwatch()
        self._socket = None
        if self._is_open:
            self._is_open = False
            self.is_lost = True
            if now - self._began > _SOUND_SECONDS:
                self._back_off.reset()
            if self._is_told or reason not in self._reasons:
                self._tell(
                    f"the Spider at {self._endpoint} is gone ({reason}); orders that were open: "
                    f"{len(self._transactions)}; connecting again"
                )
        elif reason not in self._reasons:
            self._tell(f"cannot connect to the Spider at {self._endpoint}: {reason}; trying on")
        self._reasons.add(reason)
        self._dial_at = now + self._back_off.next_seconds()

    def _watch(self, peer: PeerSocket) -> None:
        wanted = (peer.fileno(), peer.wants_to_write)
        if wanted != self._watched:
            self._loop.watch(wanted[0], self._stir, writing=wanted[1])
            self._watched = wanted

    def _stir(self) -> None:
        self._is_stirred = True

    def _unwatch(self) -> None:
        if self._watched is not None:
            self._loop.unwatch(self._watched[0])
            self._watched = None

    # ------------------------------------------------------------------ lines

    def _go_on_writing(self, now: float) -> None:
        assert self._socket is not None
        if self._socket.waiting_bytes:
            self._socket.flush()
        if not self._socket.waiting_bytes:
            self._transactions.written(now)

    def _read(self, peer: PeerSocket, now: float) -> None:
        peer.flush()
        data = peer.receive(_READ_BYTES)
        if data and not self._is_open:
            self._open(now)
        for line in self._lines.feed(data):
            if line is not None and is_challenge(line):
                # It listens to nothing but a proof: orders would only be said to strangers.
                peer.close("it asks for a secret: set [wire] secret_file or GOSSAMER_SECRET here")
                return
            if not self._hear(line, now):
                peer.close("too many lines in a row that are no status")
                return

    def _hear(self, line: bytes | None, now: float) -> bool:
        """Take one line; return whether the link may go on."""
        try:
            status = _status(line)
        except WireError as error:
            self._complain(str(error))
            return not self._patience.bad()
        self._patience.good()
        self._back_off.reset()
        self._heard_at = now
        self._doubted_until = 0.0
        self._is_silence_told = False
        self._is_of_use()
        if isinstance(status, Credit):
            self._flow.granted(status.count)
        elif isinstance(status, Working):
            self._working(status.trans_id, now)
        elif isinstance(status, Finished):
            if self._transactions.done(status.trans_id):
                self.done.append(status.trans_id)
            else:
                self._complain(f"DONE {status.trans_id}, which is not open here: ignored")
        return True

    def _working(self, trans_id: int, now: float) -> None:
        word = self._transactions.working(trans_id, now)
        if word is Word.STALE:
            self._complain(f"WORKING {trans_id}, which is not open here: ignored")
            return
        self.working.append(trans_id)
        # A further one may announce a redirect that is about to be followed in place.
        self.started.append((trans_id, now if word is Word.FIRST else now + self._hop_seconds))

    def _tell(self, what: str) -> None:
        self._notes.say(f"links to the Spider at {self._endpoint}", what)

    def _complain(self, what: str) -> None:
        kind = f"lines of the Spider at {self._endpoint}"
        self._notes.say(kind, f"the Spider at {self._endpoint}: {what}")


class _Dialling:
    """One attempt to connect; a name is looked up in a thread of its own, because that may last."""

    def __init__(self, endpoint: Endpoint, attempt: int) -> None:
        self._endpoint = endpoint
        self._attempt = attempt
        self._results: queue.SimpleQueue[socket.socket | Exception] = queue.SimpleQueue()
        if _is_address(endpoint.host):
            self._run()
        else:
            threading.Thread(target=self._run, name="gossamer-dial", daemon=True).start()

    def result(self) -> socket.socket | Exception | None:
        """Return what came of it, once; None while nothing did."""
        return None if self._results.empty() else self._results.get()

    def _run(self) -> None:
        try:
            self._results.put(dial(self._endpoint, self._attempt))
        except (OSError, GossamerError) as error:
            self._results.put(error)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _line(visit: Visit) -> bytes:
    return order_line(
        Order(visit.trans_id, visit.doc_id, visit.address, host_of(visit.url), visit.url)
    )


def _status(line: bytes | None) -> Status:
    if line is None:
        raise WireError("a line longer than any status")
    return parse_status(line)
