"""AdminInterfaceServer: the port for administrators. It asks the classes and joins what they tell.

Theory of operation. Each class has registered here when it started. A command becomes one question
for each class; the answer goes out when all have told, or when the time is up. STOP is answered
last of all, when every class that had to stop has stopped.
"""

import os
import platform
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.service.curve import ZAP_ENDPOINT, ServerKeys, answer_gate
from gossamer.service.envelope import (
    AdminAnswer,
    AdminRequest,
    Ask,
    Problem,
    RefusedError,
    Told,
    check_size,
    read_admin_request,
)
from gossamer.service.names import ADMIN_COMMANDS
from gossamer.service.settings import ServiceSettings
from gossamer.service.threaded import ADMIN, REFUSED, Event, EventKind, Place, ThreadedObject
from gossamer.service.transport import Frames, Kind, TransportItem, inproc, tcp_address
from gossamer.service.zeromq import zmq

_NEED_FIELDS: Final = frozenset({"SET", "GET", "SQL_CUSTOM"})
_NEED_CLASSES: Final = frozenset({"SET", "GET"})
_NO_ANSWER: Final = 1
_ENVELOPE_WITH_GAP: Final = 3
_MOST_OPEN: Final = 100

Pair = tuple[dict[str, Any], int]


class Question(Struct):
    """A command that some classes still have to tell about."""

    envelope: list[bytes]
    id: str
    classes: list[str]
    deadline: float
    told: dict[str, Pair]


class AdminInterfaceServer(ThreadedObject):
    """Statistics, settings and the end of the service, for administrators."""

    def __init__(self, place: Place, instance: str, keys: ServerKeys | None) -> None:
        super().__init__(ADMIN, place)
        server = place.settings.server
        self._instance = instance
        self._sequence = list(server.instantiate_sequence)
        self._registered: dict[str, str] = {}
        """When each class came."""
        self._questions: dict[int, Question] = {}
        self._numbers = 0
        self._stop: Question | None = None
        self._known_keys = keys.clients if keys else frozenset()
        self.counters |= {"commands": 0, "commands_refused": 0, "keys_refused": 0}
        self.variables.show(_configuration(place.settings))
        self._classes = self.add_server(
            TransportItem("CLASSES", Kind.SERVER, inproc(ADMIN), self._on_class)
        )
        # Before any port is open, so that nobody slips in unasked.
        self._gate = (
            self.add_server(TransportItem("GATE", Kind.SERVER, ZAP_ENDPOINT, self._on_knock))
            if keys
            else None
        )
        self._server = self.add_server(
            TransportItem(
                "ADMINS",
                Kind.SERVER,
                tcp_address(server.host, server.admin_port),
                self._on_admin,
                curve=keys.own if keys else None,
                max_bytes=2 * server.max_message_bytes,
            )
        )

    def look_around(self) -> None:
        """Answer questions whose time is up with what there is."""
        now = self.clock.monotonic()
        for number, question in list(self._questions.items()):
            if question.deadline <= now:
                self._close(number)

    def wait_seconds(self) -> float | None:
        """Return the time to the next deadline."""
        deadlines = [question.deadline for question in self._questions.values()]
        return max(0.0, min(deadlines) - self.clock.monotonic()) if deadlines else None

    def class_stopped(self, name: str) -> None:
        """Take note, and answer the administrator who wanted it when all are."""
        self._registered.pop(name, None)
        if self._stop is not None:
            self._stop.told[name] = (_object(name, {"stopped": True}), 0)
            if set(self._stop.classes) <= set(self._stop.told):
                self._answer_stop(self._stop)

    def finish(self) -> None:
        """Answer the administrator who wanted everything to stop: this class is the last."""
        for number in list(self._questions):
            self._close(number)
        if self._stop is not None:
            self._stop.told[self.name] = (_object(self.name, {"stopped": True}), 0)
            self._answer_stop(self._stop)

    def extra_statistics(self) -> dict[str, Any]:
        """Return who has registered."""
        return {"CLIENTS": dict(self._registered)}

    def tell(self, ask: Ask) -> Told:
        """Carry out a command; SYSTEM tells about the process as well."""
        told = super().tell(ask)
        if ask.command != "SYSTEM":
            return told
        process = {
            "NAME": self._instance,
            "PID": os.getpid(),
            "PYTHON": platform.python_version(),
            "ZMQ": zmq.zmq_version(),
            "PLATFORM": platform.platform(),
            "DATA_DIR": str(self.settings.data_dir),
            "SEQUENCE": self._sequence,
        }
        return msgspec.structs.replace(told, fields=process | told.fields)

    # From administrators.

    def _on_admin(self, frames: Frames) -> None:
        self.count("commands")
        envelope = frames[: 2 if len(frames) == _ENVELOPE_WITH_GAP and not frames[1] else 1]
        identifier = ""
        try:
            request = self._request(frames, envelope)
            identifier = request.id
            self._take(envelope, request)
        except RefusedError as refusal:
            self.count("commands_refused")
            self._send(envelope, identifier, [(_object("", {"error": str(refusal)}), REFUSED)])

    def _request(self, frames: Frames, envelope: Frames) -> AdminRequest:
        if len(frames) != len(envelope) + 1:
            raise RefusedError(Problem.MALFORMED, "several frames; one is expected")
        server = self.settings.server
        check_size(frames[-1], server.max_message_bytes, server.max_json_depth)
        return read_admin_request(frames[-1])

    def _take(self, envelope: Frames, request: AdminRequest) -> None:
        classes = self._classes_of(request)
        if len(self._questions) >= _MOST_OPEN:
            raise RefusedError(Problem.BUSY, "too many commands are in work; try later")
        deadline = self.clock.monotonic() + self.settings.server.admin_timeout_seconds
        question = Question(envelope, request.id, classes, deadline, {})
        if request.command == "STOP":
            self._begin_stop(question)
            return
        self._numbers += 1
        number = self._numbers
        self._questions[number] = question
        ask = Ask(number, request.command, request.fields)
        for name in classes:
            if name == self.name:
                self._note(name, self.tell(ask))
            elif name in self._registered:
                self._classes.send([name.encode(), msgspec.json.encode(ask)])
            else:
                self._note(name, Told(number, {"error": "it does not run"}, _NO_ANSWER))

    def _classes_of(self, request: AdminRequest) -> list[str]:
        command = request.command
        if command not in ADMIN_COMMANDS:
            raise RefusedError(
                Problem.UNKNOWN_OPERATION, f"{command}; allowed are {', '.join(ADMIN_COMMANDS)}"
            )
        if command in _NEED_FIELDS and not request.fields:
            raise RefusedError(Problem.MALFORMED, f"{command} needs fields")
        if command in _NEED_CLASSES and not request.classes:
            raise RefusedError(Problem.MALFORMED, f"{command} needs classes")
        if command == "SET" and not isinstance(request.fields, dict):
            raise RefusedError(Problem.MALFORMED, "SET needs fields with a value each")
        unknown = [name for name in request.classes if name not in self._sequence]
        if unknown:
            raise RefusedError(
                Problem.MALFORMED,
                f"there is no class {unknown[0]}; allowed are {', '.join(self._sequence)}",
            )
        if command == "SQL_CUSTOM" and not request.classes:
            return ["SitesManager"]
        return list(dict.fromkeys(request.classes)) or self._sequence

    def _begin_stop(self, question: Question) -> None:
        if self._stop is not None:
            raise RefusedError(Problem.BUSY, "a stop is under way")
        # Without this class nobody could say anything to the others: they stop as well.
        everything = ADMIN in question.classes
        chosen = self._sequence if everything else question.classes
        order = [name for name in reversed(self._sequence) if name in chosen]
        question.classes = order
        self._stop = question
        self.journal.info(f"told to stop {', '.join(order)}")
        self.report(Event(EventKind.STOP_WANTED, names=order))

    # From classes, and from libzmq.

    def _on_class(self, frames: Frames) -> None:
        name = frames[0].decode()
        told = msgspec.json.decode(frames[-1], type=Told)
        if told.id == 0:
            moment = datetime.fromtimestamp(self.clock.time(), UTC)
            self._registered[name] = moment.isoformat()
        elif told.id in self._questions:
            self._note(name, told)

    def _on_knock(self, frames: Frames) -> None:
        answer, known = answer_gate(frames, self._known_keys)
        if not known:
            self.count("keys_refused")
            self.journal.warning("somebody with an unknown key was turned away")
        if self._gate is not None:
            self._gate.send(answer)

    # To administrators.

    def _note(self, name: str, told: Told) -> None:
        question = self._questions[told.id]
        question.told[name] = (_object(name, told.fields), told.error)
        if set(question.classes) <= set(question.told):
            self._close(told.id)

    def _close(self, number: int) -> None:
        question = self._questions.pop(number)
        silent = (_object("", {}), _NO_ANSWER)
        pairs = [
            question.told.get(name, (silent[0] | {"className": name}, silent[1]))
            for name in question.classes
        ]
        self._send(question.envelope, question.id, pairs)

    def _answer_stop(self, question: Question) -> None:
        self._stop = None
        pairs = [question.told[name] for name in question.classes if name in question.told]
        self._send(question.envelope, question.id, pairs)

    def _send(self, envelope: Frames, identifier: str, pairs: list[Pair]) -> None:
        answer = msgspec.json.encode(AdminAnswer(identifier, pairs))
        self._server.send([*envelope, answer])


def _object(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"className": name, "fields": fields}


def _configuration(settings: ServiceSettings) -> dict[str, Any]:
    """Return what the ini file says, as `section.key`."""
    plain: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
    del plain["folder"]
    return {
        f"{section}.{key}": value for section, keys in plain.items() for key, value in keys.items()
    }
