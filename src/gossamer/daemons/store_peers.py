"""The Spiders that are connected to the store server: who is read, greeted, told, left.

Theory of operation. Memory is bounded twice: by the results that are complete and not saved (the
caller says whether there is room for more), and by the unfinished results of all links together.
When the latter pass their bound, only the link whose result is unfinished for longest is read,
until it is finished, its Spider has been silent for too long, or it has had so long for itself: so
one always gets on, and drops of a result hold up nobody for ever.

A Spider of ours waits for a greeting before it says anything. One that speaks first is not of ours,
and is never greeted: what it does not read would turn its closing into a reset.
"""

import socket
from collections.abc import Callable
from fcntl import ioctl
from sys import byteorder
from termios import FIONREAD
from typing import Final

from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.daemons.deposits import Account, Arrival
from gossamer.daemons.peers import HANDSHAKE_SECONDS, Endpoint, ListenerHandshake, PeerSocket
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.store_poll import Poll
from gossamer.errors import WireError
from gossamer.wire.results import Result, ResultReader

GREETING: Final = b"STORE gossamer 1\n"
_GREET_SECONDS: Final = 0.05
_READ_BYTES: Final = 1 << 18
_ACCEPT_AGAIN_SECONDS: Final = 1.0
_SLACK_BYTES: Final = 1 << 20
_MOST_DOCUMENT_BYTES: Final = 3 << 30
_TCP_ESTABLISHED: Final = 1


class StorePeer:
    """One Spider."""

    def __init__(self, link: PeerSocket, name: str, max_document_bytes: int, now: float) -> None:
        self.link = link
        self.name = name
        self.descriptor = link.fileno()
        self.reader = ResultReader(max_document_bytes)
        self.account = Account()
        self.began_at = now
        self.heard_at = now
        self.unfinished_since = now
        self.greet_at: float | None = None
        """When to greet it unless it speaks before; None when that is decided."""
        self.greeted = False
        self.told = 0
        """The last SAVED."""
        self.last_bytes: int | None = None
        """How much may still be read, when we are about to end."""

    @property
    def unfinished_bytes(self) -> int:
        """How much is kept of a result that has not arrived completely."""
        return self.reader.waiting_bytes


class StorePeers:
    """All of them, and the listener."""

    def __init__(
        self,
        listener: socket.socket,
        secret: bytes | None,
        settings: Settings,
        poll: Poll,
        clock: Clock,
        notes: Notes,
        has_room: Callable[[], bool],
        on_results: Callable[[list[Arrival]], None],
    ) -> None:
        self._listener = listener
        self._secret = secret
        self._settings = settings
        self._poll = poll
        self._clock = clock
        self._notes = notes
        self._has_room = has_room
        self._on_results = on_results
        self._max_document = _max_document_bytes(settings)
        self._peers: dict[int, StorePeer] = {}
        self._to_greet: list[StorePeer] = []
        self._unfinished_bytes = 0
        self._is_reading = True
        self._first: StorePeer | None = None
        """The only one that is read, while too much is unfinished."""
        self._first_since = 0.0
        self._deaf_until = 0.0
        self._ending = False
        self._listen(now=0.0)

    def __len__(self) -> int:
        return len(self._peers)

    # ------------------------------------------------------------------ reading

    def admit(self) -> None:
        """Read from Spiders, or do not, as far as memory allows."""
        first, is_reading = self._first_unfinished(), self._has_room()
        if is_reading == self._is_reading and first is self._first:
            return
        self._is_reading, self._first = is_reading, first
        self._first_since = now = self._clock.monotonic()
        for peer in self._peers.values():
            # The time in which nobody listened is no silence.
            peer.heard_at = now
            self._tend(peer)

    def _first_unfinished(self) -> StorePeer | None:
        if self._unfinished_bytes < self._settings.store.unsaved_bytes:
            return None
        unfinished = [peer for peer in self._peers.values() if peer.unfinished_bytes]
        return min(unfinished, key=lambda peer: peer.unfinished_since, default=None)

    def _may_read(self, peer: StorePeer) -> bool:
        if not peer.link.ready:
            return True
        if peer.last_bytes is not None and peer.last_bytes <= 0:
            return False
        return self._is_reading and self._first in (None, peer)

    def _on_event(self, peer: StorePeer) -> None:
        peer.link.flush()
        # Others may have filled what room there was since this turn began.
        if self._may_read(peer) and (self._has_room() or not peer.link.ready):
            self._read(peer)
        self._tend(peer)

    def _read(self, peer: StorePeer) -> None:
        was_ready = peer.link.ready
        limit = _READ_BYTES if peer.last_bytes is None else min(_READ_BYTES, peer.last_bytes)
        data = peer.link.receive(max(limit, 1))
        now = self._clock.monotonic()
        if peer.link.ready and not was_ready:
            self._welcome(peer, now)
        if not data:
            return
        peer.heard_at = now
        # When there is room again, the system tells of them in this order: he who was read last is
        # last, or one who always has more would leave nothing for the others.
        self._peers[peer.descriptor] = self._peers.pop(peer.descriptor)
        if peer.last_bytes is not None:
            peer.last_bytes -= len(data)
        if peer.greet_at is not None:
            peer.greet_at = None
            self._to_greet.remove(peer)
        self._take(peer, data, now)

    def _take(self, peer: StorePeer, data: bytes, now: float) -> None:
        before = peer.unfinished_bytes
        fault = ""
        try:
            results = peer.reader.feed(data)
            self._hand_on(peer, results)
            if results or not before:
                peer.unfinished_since = now
            # Nonsense after good results is told by the next call.
            peer.reader.feed(b"")
        except WireError as error:
            fault = str(error)
        self._unfinished_bytes += peer.unfinished_bytes - before
        if fault:
            self._leave(peer, f"sent what is not a result ({fault})")

    def _hand_on(self, peer: StorePeer, results: list[Result]) -> None:
        if results:
            wall = self._clock.time()
            self._on_results(
                [Arrival(each, peer.account, peer.account.take(), wall) for each in results]
            )

    # ------------------------------------------------------------------- coming

    def _listen(self, now: float) -> None:
        is_open = not self._ending and now >= self._deaf_until
        self._poll.watch(self._listener.fileno(), self._accept, reading=is_open)

    def _accept(self) -> None:
        now = self._clock.monotonic()
        try:
            end, address = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            # No descriptor is left, or no memory; asking again at once would only burn time.
            self._deaf_until = now + _ACCEPT_AGAIN_SECONDS
            self._listen(now)
            self._notes.say("connections", f"cannot accept a connection: {error.strerror}")
            return
        name = str(Endpoint(*address[:2]))
        if len(self._peers) >= self._settings.wire.max_peers and not self._leave_unproved():
            end.close()
            self._notes.say(
                "connections",
                f"{name} was turned away: {len(self._peers)} Spiders are connected, and [wire] "
                "max_peers allows no more",
            )
            return
        link = PeerSocket(end, ListenerHandshake(self._secret))
        peer = StorePeer(link, name, self._max_document, now)
        self._peers[peer.descriptor] = peer
        if link.ready:
            self._welcome(peer, now)
        self._tend(peer)

    def _leave_unproved(self) -> bool:
        """Make room for a caller: strangers that only hold on must not keep others out."""
        unproved = [peer for peer in self._peers.values() if not peer.link.ready]
        if unproved:
            self._leave(unproved[0], "has not proved the secret, and others call")
        return bool(unproved)

    def _welcome(self, peer: StorePeer, now: float) -> None:
        """It has proved itself, if it had to: see whether it waits for a greeting."""
        self._notes.say("connections", f"Spider {peer.name} has connected")
        if self._settings.store.greeting and not self._ending:
            peer.greet_at = now + _GREET_SECONDS
            self._to_greet.append(peer)

    # ------------------------------------------------------------------ telling

    def next_at(self) -> float | None:
        """Return when somebody is to be greeted."""
        return self._to_greet[0].greet_at if self._to_greet else None

    def greet(self, now: float) -> None:
        """Greet those who have waited for it."""
        while self._to_greet and (self._to_greet[0].greet_at or 0.0) <= now:
            peer = self._to_greet.pop(0)
            peer.greet_at = None
            peer.greeted = True
            peer.link.send(GREETING)
            self._tend(peer)

    def acknowledge(self) -> None:
        """Tell Spiders how many of their results are saved."""
        for peer in list(self._peers.values()):
            if peer.greeted and peer.account.saved > peer.told:
                self._acknowledge(peer)

    def _acknowledge(self, peer: StorePeer) -> None:
        # Only the latest number is worth sending: one who does not read fills nothing here. One who
        # has closed does not listen, and answering would cost what it has sent and we not read.
        if peer.link.waiting_bytes or not _is_standing(peer.descriptor):
            return
        peer.told = peer.account.saved
        peer.link.send(b"SAVED %d\n" % peer.told)
        self._tend(peer)

    # ------------------------------------------------------------------ leaving

    def tick(self, now: float) -> None:
        """Leave those who do not get on."""
        self._listen(now)
        silence = self._settings.store.silence_seconds
        for peer in list(self._peers.values()):
            if not peer.link.ready and now - peer.began_at > HANDSHAKE_SECONDS:
                self._leave(peer, f"did not prove itself within {HANDSHAKE_SECONDS:.0f} s")
            elif peer.unfinished_bytes and self._may_read(peer) and now - peer.heard_at > silence:
                self._leave(peer, f"stopped in the middle of a result for {silence:.0f} s")
            elif peer is self._first and self._is_reading and now - self._first_since > silence:
                self._leave(peer, f"kept all others waiting for a result for {silence:.0f} s")

    def _leave(self, peer: StorePeer, why: str) -> None:
        self._notes.say("Spiders that were left", f"Spider {peer.name} was left: it {why}")
        peer.link.close()
        self._tend(peer)

    def _tend(self, peer: StorePeer) -> None:
        """Watch a link for what is to be expected of it, or forget it if it has ended."""
        if not peer.link.closed:
            self._poll.watch(
                peer.descriptor,
                lambda: self._on_event(peer),
                reading=self._may_read(peer),
                writing=peer.link.wants_to_write,
            )
        elif self._peers.get(peer.descriptor) is peer:
            del self._peers[peer.descriptor]
            self._poll.unwatch(peer.descriptor)
            self._unfinished_bytes -= peer.unfinished_bytes
            if peer in self._to_greet:
                self._to_greet.remove(peer)
            account = peer.account
            self._notes.say(
                "connections",
                f"Spider {peer.name} is gone ({peer.link.reason}); it sent {account.taken} "
                f"results, {account.taken - account.saved} of them not saved yet",
            )

    # ------------------------------------------------------------------ the end

    def begin_to_end(self) -> None:
        """Accept nobody more, and read only what has arrived on this machine already."""
        self._ending = True
        self._listen(now=0.0)
        for peer in list(self._peers.values()):
            if peer.link.ready:
                peer.last_bytes = _received_bytes(peer.descriptor)
            else:
                peer.link.close()
            self._tend(peer)

    def has_more(self) -> bool:
        """Whether something that has arrived is still to be read."""
        return any((peer.last_bytes or 0) > 0 for peer in self._peers.values())

    def is_telling(self) -> bool:
        """Whether something is still to be told to somebody."""
        return any(
            peer.link.waiting_bytes or (peer.greeted and peer.account.saved > peer.told)
            for peer in self._peers.values()
        )

    def close(self) -> None:
        """End all links."""
        for peer in list(self._peers.values()):
            peer.link.close()
            self._tend(peer)
        self._poll.unwatch(self._listener.fileno())
        self._listener.close()


def _max_document_bytes(settings: Settings) -> int:
    """Return how long the longest document is: in the FULL form there may be two bodies in it.

    Whatever the settings say, it must fit the frame in which a worker gets it.
    """
    spider = settings.spider
    heads = 4 * spider.max_header_bytes + _SLACK_BYTES
    return min(spider.max_doc_bytes + spider.max_wire_bytes + heads, _MOST_DOCUMENT_BYTES)


def _received_bytes(descriptor: int) -> int:
    """Return how much has arrived that nobody has read."""
    return int.from_bytes(ioctl(descriptor, FIONREAD, bytes(4)), byteorder)


def _is_standing(descriptor: int) -> bool:
    """Whether a connection stands in both directions (on Linux; elsewhere nobody knows)."""
    if not hasattr(socket, "TCP_INFO"):
        return True
    end = socket.socket(fileno=descriptor)
    try:
        return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_ESTABLISHED
    finally:
        end.detach()
