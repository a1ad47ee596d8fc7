"""Calls to a service, from a program that waits: the sync half of the client."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from gossamer.daemons.endpoints import Endpoint
from gossamer.errors import ServiceError
from gossamer.objects.answers import ClientResponse
from gossamer.objects.enumerations import Operation
from gossamer.service.curve import ClientKeys
from gossamer.service.envelope import AdminAnswer, AdminRequest
from gossamer.service.exchange import CHECKS, combine, new_id, read_answer, requests_for
from gossamer.service.transport import Socket, tcp_address
from gossamer.service.zeromq import zmq

_Socket = TypeVar("_Socket", bound="zmq.Socket[Any]")
CONNECT_SECONDS: Final = 10.0
"""Who has not been reached by then is not there, however long an answer may take."""


def call(
    nodes: Sequence[Endpoint],
    operation: Operation,
    payload: object,
    *,
    timeout_seconds: float,
    merge: bool = True,
    keys: ClientKeys | None = None,
) -> ClientResponse:
    """Have all nodes carry out an operation, and return one answer, also for their silence."""
    bodies = requests_for(operation, payload, len(nodes))
    with _lines(nodes, [body for _, body in bodies], keys) as lines:
        answers = _exchange(lines, timeout_seconds)
    responses = [
        read_answer(operation, identifier, answer) if answer is not None else None
        for (identifier, _), answer in zip(bodies, answers, strict=True)
    ]
    return combine(operation, nodes, responses, payload, merge=merge)


def ask(
    node: Endpoint,
    request: AdminRequest,
    *,
    timeout_seconds: float,
    keys: ClientKeys | None = None,
) -> AdminAnswer:
    """Have an administrator's command carried out; raise ServiceError if there is no answer."""
    marked = msgspec.structs.replace(request, id=new_id())
    with _lines([node], [msgspec.json.encode(marked)], keys) as lines:
        (answer,) = _exchange(lines, timeout_seconds)
    if answer is None:
        raise ServiceError(f"no answer from {node}{CHECKS}")
    try:
        return msgspec.json.decode(answer, type=AdminAnswer)
    except msgspec.MsgspecError as error:
        raise ServiceError(f"{node} answered something that is not understood: {error}") from error


def watched(socket: _Socket) -> _Socket:
    """Return where one hears when a socket, connected after this, has reached its node.

    The option IMMEDIATE would tell it, too, but with it an answer is lost whose sender leaves.
    """
    return socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)


def connect(socket: "zmq.Socket[Any]", node: Endpoint, keys: ClientKeys | None) -> None:
    """Connect a socket; it gets there as soon as the node is there."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.IPV6, int(":" in node.host))
    if keys is not None:
        socket.curve_secretkey = keys.own.secret
        socket.curve_publickey = keys.own.public
        socket.curve_serverkey = keys.server
    socket.connect(tcp_address(node.host, node.port))


class _Line(Struct):
    """A socket to a node."""

    socket: Socket
    monitor: Socket
    body: bytes
    answer: bytes | None = None
    is_sent: bool = False


@contextmanager
def _lines(
    nodes: Sequence[Endpoint], bodies: Sequence[bytes], keys: ClientKeys | None
) -> Iterator[list[_Line]]:
    with zmq.Context() as context:
        lines = []
        try:
            for node, body in zip(nodes, bodies, strict=True):
                socket = context.socket(zmq.DEALER)
                lines.append(_Line(socket, watched(socket), body))
                connect(socket, node, keys)
            yield lines
        finally:
            for line in lines:
                line.socket.disable_monitor()
                line.monitor.close(linger=0)
                line.socket.close(linger=0)


def _exchange(lines: Sequence[_Line], timeout_seconds: float) -> list[bytes | None]:
    """Return an answer for each line; None for those that are silent until the time is up."""
    begun = time.monotonic()
    poller = zmq.Poller()
    for line in lines:
        poller.register(line.monitor, zmq.POLLIN)
    while any(line.answer is None for line in lines):
        # When only those are missing that cannot be reached, there is less to wait for.
        is_waiting = any(line.is_sent and line.answer is None for line in lines)
        most = timeout_seconds if is_waiting else min(timeout_seconds, CONNECT_SECONDS)
        if (left := begun + most - time.monotonic()) <= 0:
            break
        ready = dict(poller.poll(int(left * 1000) + 1))
        for line in lines:
            if line.monitor in ready:
                poller.unregister(line.monitor)
                poller.register(line.socket, zmq.POLLIN)
                line.socket.send_multipart([b"", line.body])
                line.is_sent = True
            elif line.socket in ready:
                poller.unregister(line.socket)
                line.answer = line.socket.recv_multipart()[-1]
    return [line.answer for line in lines]
