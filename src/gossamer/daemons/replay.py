"""A capture sent again: what the dialler of each link said, to a listener of today."""

import select
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.daemons.capture import Record
from gossamer.daemons.endpoints import Endpoint, dial
from gossamer.daemons.handshake import HANDSHAKE_SECONDS, DiallerHandshake, is_challenge
from gossamer.daemons.peers import PeerSocket
from gossamer.daemons.wiretap import Told
from gossamer.errors import InputError, WireError

MAX_LINKS: Final = 256
_AUTH: Final = b"AUTH "
_MAX_WAITING: Final = 1 << 20
_LONGEST_WAIT_SECONDS: Final = 0.05


class Piece(Struct, frozen=True, gc=False):
    """What is to be sent on which link, and when."""

    seconds: float
    link: int
    data: bytes


def pieces_of(records: Iterable[Record]) -> Iterator[Piece]:
    """Yield what diallers sent; their part of a handshake is left out: a proof serves once."""
    held: dict[int, bytes | None] = {}
    for record in records:
        if record.sender != "dialler":
            continue
        data, before = record.data, held.get(record.link, b"")
        if before is not None:
            data, held[record.link] = _without_handshake(before + data)
        if data:
            yield Piece(record.seconds, record.link, data)


def _without_handshake(data: bytes) -> tuple[bytes, bytes | None]:
    """Return (what to send, what to hold back until more is there; None when that is over)."""
    if not data.startswith(_AUTH[: len(data)]):
        return data, None
    _, end, rest = data.partition(b"\n")
    return (rest, None) if end else (b"", data)


class Replay:
    """Sends pieces on links of its own and tells what comes back."""

    def __init__(
        self,
        target: Endpoint,
        secret: bytes | None,
        clock: Clock,
        tell: Callable[[Told], None],
    ) -> None:
        self._target = target
        self._secret = secret
        self._clock = clock
        self._tell = tell
        self._peers: dict[int, PeerSocket] = {}
        self._quiet_since = clock.monotonic()
        self.sent_bytes = 0

    def run(self, pieces: Iterable[Piece], *, fast: bool, wait_seconds: float) -> None:
        """Send everything in its time, or at once; end when nothing has come back for a while."""
        began = self._clock.monotonic()
        first: float | None = None
        for piece in pieces:
            first = piece.seconds if first is None else first
            due_at = began if fast else began + piece.seconds - first
            while (now := self._clock.monotonic()) < due_at:
                self._turn(due_at - now)
            self._send(piece)
        while any(peer.waiting_bytes for peer in self._open()):
            self._turn(_LONGEST_WAIT_SECONDS)
        self._quiet_since = self._clock.monotonic()
        while self._open() and self._clock.monotonic() < self._quiet_since + wait_seconds:
            self._turn(_LONGEST_WAIT_SECONDS)

    def close(self) -> None:
        """End all links."""
        for peer in self._peers.values():
            peer.close()

    def _open(self) -> list[PeerSocket]:
        return [peer for peer in self._peers.values() if not peer.closed]

    def _send(self, piece: Piece) -> None:
        peer = self._peers.get(piece.link) or self._connect(piece.link)
        while peer.waiting_bytes > _MAX_WAITING:
            self._turn(_LONGEST_WAIT_SECONDS)
        if peer.closed:
            raise WireError(
                f"{self._target} ended link {piece.link} before all was sent "
                f"({self.sent_bytes} bytes in all were): {peer.reason}"
            )
        peer.send(piece.data)
        self.sent_bytes += len(piece.data)
        self._turn(0.0)

    def _connect(self, link: int) -> PeerSocket:
        if len(self._peers) >= MAX_LINKS:
            raise InputError(f"the capture has more than {MAX_LINKS} links; replay a part of it")
        try:
            peer = PeerSocket(dial(self._target), DiallerHandshake(self._secret))
        except OSError as error:
            raise InputError(f"cannot connect to {self._target}: {error.strerror}") from error
        self._peers[link] = peer
        give_up_at = self._clock.monotonic() + HANDSHAKE_SECONDS
        while not peer.ready:
            self._turn(_LONGEST_WAIT_SECONDS)
            if peer.closed:
                raise InputError(f"cannot connect to {self._target}: {peer.reason}")
            if self._clock.monotonic() > give_up_at:
                raise InputError(f"cannot connect to {self._target}: no answer")
        return peer

    def _turn(self, timeout: float) -> None:
        """Pass on what waits, tell what has arrived."""
        peers = self._open()
        writing = [peer for peer in peers if peer.wants_to_write]
        select.select(peers, writing, [], min(timeout, _LONGEST_WAIT_SECONDS))
        for link, peer in self._peers.items():
            peer.flush()
            data = peer.receive()
            if data:
                self._quiet_since = self._clock.monotonic()
                if is_challenge(data.partition(b"\n")[0]):
                    raise InputError(
                        f"{self._target} asks for a secret; set [wire] secret_file or "
                        "GOSSAMER_SECRET"
                    )
                self._tell(Told(self._clock.time(), link, "", "listener", data))
