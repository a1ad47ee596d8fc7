"""Calls to a service, from a program that waits: the sync half of the client."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from gossamer.daemons.endpoints import Endpoint
from gossamer.errors import ServiceError
from gossamer.objects.answers import ClientResponse
from gossamer.objects.enumerations import Operation
from gossamer.service.curve import ClientKeys
from gossamer.service.envelope import AdminAnswer, AdminRequest
from gossamer.service.exchange import combine, new_id, read_answer, requests_for
from gossamer.service.transport import Socket, tcp_address
from gossamer.service.zeromq import zmq


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
        for socket, (_, body) in zip(sockets, bodies, strict=True):
            socket.send_multipart([b"", body])
        answers = _collect(sockets, timeout_seconds)
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
        sockets[0].send_multipart([b"", msgspec.json.encode(marked)])
        (answer,) = _collect(sockets, timeout_seconds)
    if answer is None:
        raise ServiceError(f"{node} did not answer within {timeout_seconds:g} s")
    try:
        return msgspec.json.decode(answer, type=AdminAnswer)
    except msgspec.MsgspecError as error:
        raise ServiceError(f"{node} answered something that is not understood: {error}") from error


def connect(socket: "zmq.Socket[Any]", node: Endpoint, keys: ClientKeys | None) -> None:
    """Connect a socket; it gets there as soon as the node is there."""
    socket.setsockopt(zmq.LINGER, 0)
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


def _collect(sockets: Sequence[Socket], timeout_seconds: float) -> list[bytes | None]:
    """Return an answer for each socket; None for those that are silent until the time is up."""
    answers: dict[Socket, bytes] = {}
    poller = zmq.Poller()
    for socket in sockets:
        poller.register(socket, zmq.POLLIN)
    deadline = time.monotonic() + timeout_seconds
    while len(answers) < len(sockets) and (left := deadline - time.monotonic()) > 0:
        for socket, _ in poller.poll(int(left * 1000) + 1):
            answers[socket] = socket.recv_multipart()[-1]
            poller.unregister(socket)
    return [answers.get(socket) for socket in sockets]
