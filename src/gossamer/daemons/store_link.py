"""The link to the Store Server: delivers the spool, over as many connections as it takes.

When a connection ends, for whatever reason, the Store Server is called again, with pauses that grow
from a tenth of a second to five seconds, and everything after the spool's mark is sent again. One
that greeted on the last connection is given more time to greet again: it may be busy, and without
its greeting nobody would tell what it has saved.
"""

import ipaddress
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from gossamer.daemons.peers import (
    HANDSHAKE_SECONDS,
    BackOff,
    DiallerHandshake,
    Endpoint,
    PeerSocket,
    dial,
)
from gossamer.daemons.spider_delivery import Delivery
from gossamer.daemons.spider_links import Watcher
from gossamer.daemons.spool import Spool
from gossamer.errors import InputError

if TYPE_CHECKING:
    import socket

_LOOK_SECONDS: Final = 0.02
_MARK_SECONDS: Final = 0.25
_STEADY_SECONDS: Final = 5.0


class StoreLink:
    """Keeps one Store Server supplied."""

    def __init__(
        self,
        endpoint: Endpoint,
        secret: bytes | None,
        spool: Spool,
        grace_seconds: float,
        watcher: Watcher,
        say: Callable[[str], None],
    ) -> None:
        self._endpoint = endpoint
        self._secret = secret
        self._spool = spool
        self._grace = grace_seconds
        self._watcher = watcher
        self._say = say
        self._back_off = BackOff()
        self._attempt = 0
        self._retry_at = 0.0
        self._dialling: _Dialling | None = None
        self._delivery: Delivery | None = None
        self._greets = False
        """Whether the Store Server did so when results could last be sent."""
        self._mark_saved_at = 0.0
        self._reasons: set[str] = set()
        """Why the Store Server could not be reached since it last was: each is told once."""
        self.delivered = 0
        """How many results have arrived in all."""

    @property
    def is_connected(self) -> bool:
        """Whether results can be sent."""
        return self._delivery is not None and self._delivery.is_open

    def step(self, now: float) -> None:
        """Do all that can be done now."""
        delivery = self._delivery or self._connect(now)
        if delivery is not None:
            arrived = delivery.step(now)
            self.delivered += arrived
            self._note_life(delivery, now, arrived=bool(arrived))
            if delivery.failure is not None:
                self._lose(delivery.failure, now)
        if now - self._mark_saved_at >= _MARK_SECONDS:
            self._mark_saved_at = now
            self._spool.save_mark()

    def next_at(self, now: float) -> float:
        """Return when `step` is to be called, if nothing happens before."""
        if self._delivery is not None:
            at = self._delivery.next_at(now)
        else:
            at = now + _LOOK_SECONDS if self._dialling is not None else self._retry_at
        if self._spool.is_mark_saved:
            return at
        return min(at, self._mark_saved_at + _MARK_SECONDS)

    def close(self) -> None:
        """End the connection."""
        if self._delivery is not None:
            self._delivery.close()
            self._delivery = None

    def _connect(self, now: float) -> Delivery | None:
        if self._dialling is None:
            if now < self._retry_at:
                return None
            self._dialling = _Dialling(self._endpoint, self._attempt)
            self._attempt += 1
        if self._dialling.is_busy:
            return None
        dialling, self._dialling = self._dialling, None
        if dialling.end is None:
            self._lose(dialling.problem, now)
            return None
        peer = PeerSocket(dialling.end, DiallerHandshake(self._secret))
        grace = max(self._grace, HANDSHAKE_SECONDS) if self._greets else self._grace
        self._delivery = Delivery(peer, self._spool, self._watcher, grace, now)
        return self._delivery

    def _note_life(self, delivery: Delivery, now: float, *, arrived: bool) -> None:
        if delivery.is_open:
            self._greets = delivery.is_acknowledged
            if self._reasons:
                self._reasons.clear()
                self._say(f"connected to the Store Server {self._endpoint} again")
        # One that takes the call and hangs up at once must not be called ten times a second.
        if arrived or (delivery.is_open and now - delivery.began_at >= _STEADY_SECONDS):
            self._back_off.reset()

    def _lose(self, reason: str, now: float) -> None:
        self.close()
        self._retry_at = now + self._back_off.next_seconds()
        if reason not in self._reasons:
            self._reasons.add(reason)
            self._say(
                f"no connection to the Store Server {self._endpoint}: {reason}; results wait in "
                "the spool, and it is called again and again"
            )


class _Dialling:
    """An attempt to begin a connection; looking up a name does not hold up the loop."""

    def __init__(self, endpoint: Endpoint, attempt: int) -> None:
        self.end: socket.socket | None = None
        self.problem = ""
        self.is_busy = True
        if _is_address(endpoint.host):
            self._dial(endpoint, attempt)
        else:
            threading.Thread(target=self._dial, args=(endpoint, attempt), daemon=True).start()

    def _dial(self, endpoint: Endpoint, attempt: int) -> None:
        try:
            self.end = dial(endpoint, attempt)
        except OSError as error:
            self.problem = error.strerror or str(error)
        except InputError as error:
            self.problem = str(error)
        self.is_busy = False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
