"""The links to URL Servers: lines in, lines out, and when to listen."""

import select
import socket
from collections.abc import Callable
from typing import Final, Protocol

from gossamer.daemons.peers import PeerSocket
from gossamer.daemons.spider_orders import Transaction, check_host
from gossamer.errors import WireError
from gossamer.wire.lines import LineReader, Order, Patience, credit_line, parse_order

# So much may wait for a URL Server that does not read what we tell it, before it is left.
_MOST_UNREAD_BYTES: Final = 1 << 20
# About what the orders that were asked for take: who sends more must wait for us to read it.
_ORDER_BYTES: Final = 128
_LEAST_READ_BYTES: Final = 1 << 10
_MOST_READ_BYTES: Final = 1 << 16


class Watcher(Protocol):
    """What a link needs of the spider's loop."""

    def watch(
        self, fd: int, callback: Callable[[], None], *, reading: bool = ..., writing: bool = ...
    ) -> None:
        """Call back when something can be done."""
        ...

    def unwatch(self, fd: int) -> None:
        """Call back no more."""
        ...


class Link:
    """One URL Server that is connected."""

    def __init__(
        self, peer: PeerSocket, watcher: Watcher, wake: "Callable[[Link], None]", now: float
    ) -> None:
        self._peer = peer
        self._watcher = watcher
        self._wake = wake
        self._descriptor = peer.fileno()
        self._lines = LineReader()
        self._patience = Patience()
        self._interest: tuple[bool, bool] | None = None
        self._is_watched = False
        self._is_ending = False
        self.began_at = now
        self.open: dict[int, Transaction] = {}
        """By TRANS_ID."""
        self.credit = 0
        """How many orders we asked for and have not got."""
        self.is_asked = False
        """Whether it was ever asked for orders, and so knows that we do."""
        self._tend(reading=True)

    @property
    def name(self) -> str:
        """Where it called from."""
        return self._peer.name

    @property
    def closed(self) -> bool:
        """Whether the link is gone."""
        return self._peer.closed

    @property
    def reason(self) -> str:
        """Why it is gone."""
        return self._peer.reason

    @property
    def is_ready(self) -> bool:
        """Whether the other side has proved itself, where it has to."""
        return self._peer.ready

    @property
    def is_flushed(self) -> bool:
        """Whether the system has taken all that was said."""
        return not self._peer.waiting_bytes

    def receive(self, *, wanted: bool) -> tuple[list[Order], list[str]]:
        """Return the orders that have arrived, and what is to be complained about.

        Everything that one look at the socket brings is returned at once: nothing is held back
        here. After ten bad lines in a row the link is closed. Without a wish for orders it is only
        seen whether the other side is still there.
        """
        self._peer.flush()
        if self.closed or not (wanted or self._is_ending or not self._peer.ready):
            if not self.closed and _is_left(self._descriptor):
                self._peer.close("closed by the other side")
            self._let_go()
            return [], []
        size = min(max(self.credit * _ORDER_BYTES, _LEAST_READ_BYTES), _MOST_READ_BYTES)
        data = self._peer.receive(size)
        if data and not self._is_ending and _is_left(self._descriptor):
            # Who sent these orders is gone, and somebody else may be timing that host by now.
            self._peer.close("closed by the other side")
        self._let_go()
        if self._is_ending or self.closed:
            return [], []
        orders: list[Order] = []
        complaints: list[str] = []
        for line in self._lines.feed(data):
            try:
                orders.append(_order(line))
                self._patience.good()
            except WireError as error:
                complaints.append(str(error))
                if self._patience.bad():
                    self.close("ten lines in a row could not be understood")
                    break
        return orders, complaints

    def ask_for(self, count: int) -> None:
        """Say GET."""
        self.credit += count
        self.is_asked = True
        self.say(credit_line(count))

    def say(self, line: bytes) -> None:
        """Send a line; a URL Server that reads none of them for too long is left."""
        self._peer.send(line)
        if self._peer.waiting_bytes > _MOST_UNREAD_BYTES:
            self._peer.close("it does not read what it is told")
        self._let_go()

    def tend(self, *, reading: bool) -> None:
        """Listen from now on, or do not; and go on writing if something waits."""
        if not self.closed:
            self._tend(reading=reading or not self._peer.ready or self._is_ending)

    def end(self) -> None:
        """Say no more, once all is said; what still arrives is thrown away.

        Closing at once could cost the other side the lines that it has not read yet.
        """
        if self._is_ending or self.closed:
            return
        self._is_ending = True
        try:
            with socket.socket(fileno=self._descriptor) as borrowed:
                try:
                    borrowed.shutdown(socket.SHUT_WR)
                finally:
                    borrowed.detach()
        except OSError:
            self.close("closed by the other side")
            return
        self.tend(reading=True)

    def close(self, reason: str) -> None:
        """Close the link now."""
        self._peer.close(reason)
        self._let_go()

    def _tend(self, *, reading: bool) -> None:
        interest = (reading, self._peer.wants_to_write)
        if interest != self._interest:
            self._interest = interest
            self._is_watched = True
            self._watcher.watch(
                self._descriptor, self._on_event, reading=reading, writing=interest[1]
            )

    def _on_event(self) -> None:
        self._wake(self)

    def _let_go(self) -> None:
        """Watch no more what was just closed: at once, and once, for its number is free."""
        if self._peer.closed and self._is_watched:
            self._is_watched = False
            self._watcher.unwatch(self._descriptor)


def _is_left(descriptor: int) -> bool:
    """Whether the other side has hung up, though there may be more of it to read."""
    poller = select.poll()
    poller.register(descriptor, getattr(select, "POLLRDHUP", 0))
    return bool(poller.poll(0))


def _order(line: bytes | None) -> Order:
    if line is None:
        raise WireError("a line of more than 70,000 bytes")
    order = parse_order(line)
    check_host(order)
    return order
