"""Transport items: the sockets of a thread, each a client or a server, over TCP or inside."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.errors import InputError
from gossamer.service.zeromq import zmq

_SEND_LIMIT: Final = 64
"""Answers that may wait for one slow peer outside; more are dropped, as for one that is gone."""
MOST_FRAMES: Final = 16
"""No message has more, and a peer may send a million: what is kept of one does not grow with it."""
_BIND_TRIES: Final = 50
_BIND_PAUSE_SECONDS: Final = 0.1
_HEARTBEAT_MS: Final = 15_000

Frames = list[bytes]
Socket: TypeAlias = "zmq.Socket[bytes]"
Context: TypeAlias = "zmq.Context[zmq.Socket[bytes]]"
Handler = Callable[[Frames], None]


class Kind(StrEnum):
    """Whether others connect to it, or it connects to others."""

    SERVER = "server"
    CLIENT = "client"


class Protocol(StrEnum):
    """Whether it reaches other processes."""

    TCP = "tcp"
    INPROC = "inproc"


class CurveKeys(Struct, frozen=True):
    """The pair of keys of one side."""

    public: bytes
    secret: bytes


def inproc(name: str) -> str:
    """Return the address of something inside of this process."""
    return f"inproc://{name}"


def tcp_address(host: str, port: int) -> str:
    """Return the address of a port for ZMQ."""
    name = f"[{host}]" if ":" in host else host
    return f"tcp://{name}:{port or '*'}"


class TransportItem:
    """One socket with its counters. It is opened, used and closed by one thread."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        endpoint: str,
        handler: Handler,
        *,
        identity: str = "",
        curve: CurveKeys | None = None,
        max_bytes: int = -1,
    ) -> None:
        self.name = name
        self.kind = kind
        self.protocol = Protocol(endpoint.partition("://")[0])
        self.endpoint = endpoint
        self.handler = handler
        self._identity = identity
        self._curve = curve
        self._max_bytes = max_bytes
        self._socket: Socket | None = None
        self.sent = self.sent_bytes = self.received = self.received_bytes = 0

    @property
    def socket(self) -> Socket:
        """The open socket."""
        if self._socket is None:
            raise RuntimeError(f"the transport item {self.name} is not open")
        return self._socket

    def resume(self, figures: Mapping[str, float]) -> None:
        """Go on counting where an earlier run ended."""
        counts = [int(figures.get(name, 0)) for name in self.figures()]
        self.sent, self.sent_bytes, self.received, self.received_bytes = counts

    def open(self, context: Context, clock: Clock, *, patient: bool = False) -> None:
        """Bind or connect; with patience, an address that is still in use is waited for."""
        server = self.kind is Kind.SERVER
        made = context.socket(zmq.ROUTER if server else zmq.DEALER)
        try:
            self._set_options(made)
            if server:
                self.endpoint = _bind(made, self.endpoint, clock, _BIND_TRIES if patient else 1)
            else:
                made.connect(self.endpoint)
        except BaseException:
            made.close(linger=0)
            raise
        self._socket = made

    def _set_options(self, made: Socket) -> None:
        made.setsockopt(zmq.LINGER, 0)
        if self._identity:
            made.setsockopt(zmq.ROUTING_ID, self._identity.encode())
        if self.protocol is Protocol.INPROC:
            # Limits are set where requests come in; inside nothing is ever dropped.
            made.setsockopt(zmq.SNDHWM, 0)
            made.setsockopt(zmq.RCVHWM, 0)
            if self.kind is Kind.SERVER:
                made.setsockopt(zmq.ROUTER_HANDOVER, 1)
            return
        made.setsockopt(zmq.SNDHWM, _SEND_LIMIT)
        made.setsockopt(zmq.MAXMSGSIZE, self._max_bytes)
        made.setsockopt(zmq.HEARTBEAT_IVL, _HEARTBEAT_MS)
        made.setsockopt(zmq.IPV6, int("[" in self.endpoint))
        if self._curve is not None:
            made.curve_server = True
            made.curve_secretkey = self._curve.secret
            made.curve_publickey = self._curve.public
            made.setsockopt_string(zmq.ZAP_DOMAIN, "gossamer")
            # Without this, libzmq lets everybody in while nobody answers at the gate.
            made.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)

    def reopen(self, context: Context, clock: Clock) -> None:
        """Connect anew: what was at the other end is no more."""
        self.close()
        self.open(context, clock)

    def close(self) -> None:
        """Drop what is not sent yet, and close."""
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None

    def flush(self, milliseconds: int) -> None:
        """Close, but give what was said to a peer outside so much time to get there."""
        if self._socket is not None:
            self._socket.close(linger=milliseconds)
            self._socket = None

    def receive(self) -> Frames | None:
        """Return a message, or None if there is none now; frames beyond the limit are dropped."""
        try:
            part = self.socket.recv(zmq.NOBLOCK)
        except zmq.Again:
            return None
        frames = [part]
        size = len(part)
        while self.socket.getsockopt(zmq.RCVMORE):
            part = self.socket.recv()
            size += len(part)
            if len(frames) < MOST_FRAMES:
                frames.append(part)
        self.received += 1
        self.received_bytes += size
        return frames

    def send(self, frames: Frames) -> bool:
        """Send a message; False if the peer is gone or does not read."""
        try:
            self.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError:
            return False
        self.sent += 1
        self.sent_bytes += sum(map(len, frames))
        return True

    def figures(self) -> dict[str, float]:
        """Return the counters by their names in statistics."""
        return {
            f"{self.name}_SEND_CNT": self.sent,
            f"{self.name}_SEND_BYTES": self.sent_bytes,
            f"{self.name}_RECV_CNT": self.received,
            f"{self.name}_RECV_BYTES": self.received_bytes,
        }

    def describe(self) -> dict[str, Any]:
        """Return what it is, for statistics."""
        return {
            "name": self.name,
            "type": self.kind.value,
            "protocol": self.protocol.value,
            "endpoint": self.endpoint,
        }


def _bind(made: Socket, endpoint: str, clock: Clock, tries: int) -> str:
    """Bind, and return the address with its real port."""
    for attempt in range(tries):
        try:
            made.bind(endpoint)
            break
        except zmq.ZMQError as error:
            # A thread that is started again finds the address of its forerunner just being freed.
            if error.errno == zmq.EADDRINUSE and attempt + 1 < tries:
                clock.sleep(_BIND_PAUSE_SECONDS)
                continue
            raise InputError(f"cannot listen on {endpoint}: {error.strerror}") from error
    if endpoint.startswith("tcp://"):
        return made.getsockopt_string(zmq.LAST_ENDPOINT)
    return endpoint
