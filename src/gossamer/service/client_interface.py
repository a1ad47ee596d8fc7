"""ClientInterfaceService: the port for clients, a proxy to the three classes that do the work.

Theory of operation. Nothing waits here: a request is checked, noted with a deadline, and handed on;
the answer finds its client by the number of the note, whenever it comes. A note whose time is up is
answered with NO_ANSWER, and what comes later is dropped. Requests in work are limited by number and
by bytes, so that clients who ask faster than they can be served are told BUSY instead of filling
memory.
"""

from typing import Final

import msgspec
from msgspec import Raw, Struct

from gossamer.objects.answers import ClientResponse, ClientResponseItem
from gossamer.objects.coding import encode
from gossamer.objects.enumerations import (
    Operation,
    ResponseError,
    ResponseItemError,
    response_code,
)
from gossamer.service.envelope import (
    Answer,
    Done,
    Problem,
    RefusedError,
    Task,
    check_size,
    operation_of,
    read_request,
)
from gossamer.service.managers import target_of
from gossamer.service.threaded import Place, ThreadedObject
from gossamer.service.transport import (
    CurveKeys,
    Frames,
    Kind,
    TransportItem,
    inproc,
    tcp_address,
)
from gossamer.service.variables import AtLeastOne, Seconds

TARGETS: Final = ("URLManager", "SitesManager", "BatchTasksManager")
_MOST_FRAMES: Final = 3


class Note(Struct, frozen=True):
    """A request in work."""

    envelope: list[bytes]
    """The frames that lead back to the client."""
    id: str
    operation: Operation
    deadline: float
    size: int
    target: str


class ClientInterfaceService(ThreadedObject):
    """Accepts clients and forwards what they ask for."""

    def __init__(self, place: Place, instance: str, curve: CurveKeys | None) -> None:
        super().__init__("ClientInterfaceService", place)
        server = place.settings.server
        self._instance = instance
        self._notes: dict[int, Note] = {}
        self._pending_bytes = 0
        self._numbers = 0
        self.counters |= {"requests": 0, "answers": 0, "requests_refused": 0, "timeouts": 0}
        self.variables.declare("REQUEST_TIMEOUT", Seconds, server.request_timeout_seconds)
        self.variables.declare("MAX_PENDING_REQUESTS", AtLeastOne, server.max_pending_requests)
        self.variables.declare("MAX_PENDING_BYTES", AtLeastOne, server.max_pending_bytes)
        self.join_administration()
        self._targets = {
            name: self.add_client(name.upper(), inproc(name), self._on_done) for name in TARGETS
        }
        self._server = self.add_server(
            TransportItem(
                "CLIENTS",
                Kind.SERVER,
                tcp_address(server.host, server.client_port),
                self._on_client,
                curve=curve,
                # Up to here it is refused with a message; beyond, the connection is closed.
                max_bytes=2 * server.max_message_bytes,
            )
        )

    def look_around(self) -> None:
        """Answer those whose time is up."""
        now = self.clock.monotonic()
        late = [number for number, note in self._notes.items() if note.deadline <= now]
        for number in late:
            note = self._forget(number)
            self.count("timeouts")
            seconds = self.variables["REQUEST_TIMEOUT"]
            text = f"{Problem.TIMEOUT}: {note.target} did not answer within {seconds:g} s"
            self._answer_nobody(note, text)

    def wait_seconds(self) -> float | None:
        """Return the time to the next deadline."""
        if not self._notes:
            return None
        # All get the same time, so the first in is the first that is up, but for a SET between.
        return max(0.0, min(n.deadline for n in self._notes.values()) - self.clock.monotonic())

    def class_restarted(self, name: str) -> None:
        """Answer what was lost with a thread that died."""
        lost = [number for number, note in self._notes.items() if note.target == name]
        for number in lost:
            note = self._forget(number)
            self._answer_nobody(note, f"{Problem.LOST}: {name} was started again")

    def finish(self) -> None:
        """Answer those who still wait."""
        for number in list(self._notes):
            note = self._forget(number)
            self._answer_nobody(note, f"{Problem.LOST}: the service stops")

    def extra_statistics(self) -> dict[str, float]:
        """Return how much is in work."""
        return {"pending_requests": len(self._notes), "pending_bytes": self._pending_bytes}

    # From the client.

    def _on_client(self, frames: Frames) -> None:
        self.count("requests")
        # REQ sockets put an empty frame between; it goes back where it came from.
        envelope = frames[: 2 if len(frames) == _MOST_FRAMES and not frames[1] else 1]
        identifier, code = "", 0
        try:
            body = self._body(frames, envelope)
            request = read_request(body)
            identifier = request.id
            operation = operation_of(request.operation)
            code = response_code(operation)
            self._forward(envelope, identifier, operation, request.object)
        except RefusedError as refusal:
            self._refuse(envelope, identifier, code, refusal)

    def _body(self, frames: Frames, envelope: Frames) -> bytes:
        if len(frames) != len(envelope) + 1:
            raise RefusedError(Problem.MALFORMED, "several frames; one is expected")
        server = self.settings.server
        check_size(frames[-1], server.max_message_bytes, server.max_json_depth)
        return frames[-1]

    def _forward(
        self, envelope: Frames, identifier: str, operation: Operation, payload: Raw
    ) -> None:
        if self.variables["SUSPENDED"]:
            raise RefusedError(Problem.SUSPENDED, f"{self.name} is suspended")
        size = len(bytes(payload))
        busy = len(self._notes) >= self.variables["MAX_PENDING_REQUESTS"]
        if busy or self._pending_bytes + size > self.variables["MAX_PENDING_BYTES"]:
            raise RefusedError(Problem.BUSY, f"{len(self._notes)} requests are in work; try later")
        self._numbers += 1
        deadline = self.clock.monotonic() + self.variables["REQUEST_TIMEOUT"]
        target = target_of(operation)
        task = Task(self._numbers, operation, payload)
        if not self._targets[target].send([msgspec.json.encode(task)]):
            raise RefusedError(Problem.LOST, f"{target} does not run")
        self._notes[self._numbers] = Note(envelope, identifier, operation, deadline, size, target)
        self._pending_bytes += size

    def _forget(self, number: int) -> Note:
        note = self._notes.pop(number)
        self._pending_bytes -= note.size
        return note

    # To the client.

    def _on_done(self, frames: Frames) -> None:
        done = msgspec.json.decode(frames[-1], type=Done)
        if done.id not in self._notes:
            return  # Its time was up before.
        note = self._forget(done.id)
        item = self._item(done.id, done.error_code, done.error_message, done.milliseconds)
        # Put together by hand: the object stays the JSON that it is.
        whole = msgspec.structs.replace(item, item_object=done.object)
        response = ClientResponse(items_list=[whole])
        self._answer(note.envelope, note.id, response_code(note.operation), response)

    def _refuse(self, envelope: Frames, identifier: str, code: int, refusal: RefusedError) -> None:
        self.count("requests_refused")
        self.journal.debug(f"refused: {refusal}")
        restored = refusal.problem in {Problem.BUSY, Problem.SUSPENDED, Problem.LOST}
        error = ResponseItemError.EXECUTION if restored else ResponseItemError.NOT_RESTORED
        response = ClientResponse(items_list=[self._item(0, error, str(refusal), 0)])
        self._answer(envelope, identifier, code, response)

    def _answer_nobody(self, note: Note, text: str) -> None:
        response = ClientResponse(error_code=ResponseError.NO_ANSWER, error_message=text)
        self._answer(note.envelope, note.id, response_code(note.operation), response)

    def _item(self, number: int, code: int, message: str, time: float) -> ClientResponseItem:
        host, _, port = self._server.endpoint.removeprefix("tcp://").rpartition(":")
        return ClientResponseItem(
            id=number,
            host=host,
            port=int(port),
            node=self._instance,
            time=time,
            error_code=int(code),
            error_message=message,
        )

    def _answer(
        self, envelope: Frames, identifier: str, code: int, response: ClientResponse
    ) -> None:
        answer = Answer(identifier, code, Raw(encode(response)))
        if self._server.send([*envelope, msgspec.json.encode(answer)]):
            self.count("answers")
