"""Calls to a service, from a program that waits: the sync half of the client."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from gossamer.daemons.endpoints import Endpoint
from gossamer.errors import ServiceError
from gossamer.objects.answers import ClientResponse
from gossamer.objects.enumerations import Operation
from gossamer.service.curve import ClientKeys
from gossamer.service.envelope import AdminAnswer, AdminRequest
from gossamer.service.exchange import CHECKS, combine, new_id, read_answer, requests_for
from gossamer.service.transport import Socket, tcp_address
from gossamer.service.zeromq import zmq

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
    with _sockets(nodes, keys) as sockets:
        answers = _exchange(sockets, [body for _, body in bodies], timeout_seconds)
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
    with _sockets([node], keys) as sockets:
        (answer,) = _exchange(sockets, [msgspec.json.encode(marked)], timeout_seconds)
    if answer is None:
        raise ServiceError(f"no answer from {node}{CHECKS}")
    try:
        return msgspec.json.decode(answer, type=AdminAnswer)
    except msgspec.MsgspecError as error:
        raise ServiceError(f"{node} answered something that is not understood: {error}") from error


def connect(socket: "zmq.Socket[Any]", node: Endpoint, keys: ClientKeys | None) -> None:
    """Connect a socket; it gets there as soon as the node is there, and takes nothing before."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.IMMEDIATE, 1)
    socket.setsockopt(zmq.IPV6, int(":" in node.host))
    if keys is not None:
        socket.curve_secretkey = keys.own.secret
        socket.curve_publickey = keys.own.public
        socket.curve_serverkey = keys.server
    socket.connect(tcp_address(node.host, node.port))


@contextmanager
def _sockets(nodes: Sequence[Endpoint], keys: ClientKeys | None) -> Iterator[list[Socket]]:
    with zmq.Context() as context:
        sockets = [context.socket(zmq.DEALER) for _ in nodes]
        try:
            for socket, node in zip(sockets, nodes, strict=True):
                connect(socket, node, keys)
            yield sockets
        finally:
            for socket in sockets:
                socket.close(linger=0)


def _exchange(
    sockets: Sequence[Socket], bodies: Sequence[bytes], timeout_seconds: float
) -> list[bytes | None]:
    """Return an answer for each socket; None for those that are silent until the time is up."""
    begun = time.monotonic()
    unsent = dict(zip(sockets, bodies, strict=True))
    answers: dict[Socket, bytes] = {}
    poller = zmq.Poller()
    for socket in sockets:
        poller.register(socket, zmq.POLLOUT)
    while len(answers) < len(sockets):
        # When only those are missing that cannot be reached, there is less to wait for.
        is_waiting = len(unsent) + len(answers) < len(sockets)
        most = timeout_seconds if is_waiting else min(timeout_seconds, CONNECT_SECONDS)
        if (left := begun + most - time.monotonic()) <= 0:
            break
        for socket, _ in poller.poll(int(left * 1000) + 1):
            if socket in unsent:
                socket.send_multipart([b"", unsent.pop(socket)])
                poller.modify(socket, zmq.POLLIN)
            else:
                answers[socket] = socket.recv_multipart()[-1]
                poller.unregister(socket)
    return [answers.get(socket) for socket in sockets]
