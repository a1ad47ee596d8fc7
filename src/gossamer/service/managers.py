"""URLManager and SitesManager: the threads that carry out operations."""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw

from gossamer.errors import GossamerError
from gossamer.objects.coding import MAX_MESSAGE, decode, encode
from gossamer.objects.enumerations import HOST_OPERATIONS, Operation, ResponseItemError
from gossamer.objects.extras import CustomRequest
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import is_absent
from gossamer.service.envelope import Ask, Done, Problem, RefusedError, Task, Told
from gossamer.service.operations import OpenOperations, Operations
from gossamer.service.threaded import REFUSED, Place, ThreadedObject
from gossamer.service.transport import Frames, Kind, TransportItem, inproc

NOTHING: Final = Raw(b"null")
URL_OPERATIONS: Final = frozenset(
    operation for operation in Operation if operation.name.startswith("URL_")
)


class OperationsThread(ThreadedObject):
    """A thread with operations of its own, for those it serves."""

    def __init__(self, name: str, place: Place, open_operations: OpenOperations) -> None:
        super().__init__(name, place)
        self._open_operations = open_operations
        self._operations: Operations | None = None
        self.counters |= {"operations": 0, "operations_failed": 0, "operations_refused": 0}
        self.join_administration()
        self._server = self.add_server(
            TransportItem("TASKS", Kind.SERVER, inproc(name), self._on_task)
        )

    def serves(self, operation: Operation) -> bool:
        """Whether this class carries it out."""
        del operation
        return True

    def prepare(self) -> None:
        """Open what the operations need, in this thread."""
        self._operations = self._open_operations(self.settings)

    def finish(self) -> None:
        """Close it again."""
        if self._operations is not None:
            self._operations.close()

    def command(self, ask: Ask) -> Told | None:
        """Carry out SQL_CUSTOM; the statement is the one field."""
        if ask.command != Operation.SQL_CUSTOM.name:
            return None
        words = list(ask.fields.values()) if isinstance(ask.fields, dict) else list(ask.fields)
        request = CustomRequest(query=", ".join(map(str, words)))
        done = self._carry_out(Operation.SQL_CUSTOM, lambda: request, 0)
        if done.error_code:
            return Told(ask.id, {"error": done.error_message}, REFUSED)
        return Told(ask.id, {"response": msgspec.json.decode(done.object)})

    def _on_task(self, frames: Frames) -> None:
        sender, body = frames[0], frames[-1]
        task = msgspec.json.decode(body, type=Task)
        operation = Operation(task.operation)
        done = self._carry_out(operation, lambda: decode(operation, bytes(task.object)), task.id)
        self._server.send([sender, msgspec.json.encode(done)])

    def _carry_out(self, operation: Operation, read: Callable[[], object], number: int) -> Done:
        started = self.clock.monotonic()
        code, message, answer = ResponseItemError.OK, "", NOTHING
        try:
            self._check(operation)
            made = self._execute(operation, read())
            answer = fitting(encode(made))
            if is_absent(made):
                # The answer is a Site that says so (S3.133), and an error (S3.29).
                code, message = ResponseItemError.EXECUTION, f"site id not found: {made.id}"
        except ObjectError as error:
            code = ResponseItemError.NOT_RESTORED
            message = str(RefusedError(Problem.BAD_OBJECT, str(error)))
        except RefusedError as error:
            code, message = ResponseItemError.EXECUTION, str(error)
        except GossamerError as error:
            code = ResponseItemError.EXECUTION
            message = str(RefusedError(Problem.FAILED, str(error)))
        except Exception as error:  # noqa: BLE001 - one request that fails must not end the thread
            self.journal.error(f"{operation.name} failed: {type(error).__name__}", error)
            code = ResponseItemError.EXECUTION
            message = str(RefusedError(Problem.FAILED, f"internal error: {type(error).__name__}"))
        milliseconds = (self.clock.monotonic() - started) * 1000
        self._note(operation, code, milliseconds)
        return Done(number, code, message, round(milliseconds, 3), answer)

    def _check(self, operation: Operation) -> None:
        if self.variables["SUSPENDED"]:
            raise RefusedError(Problem.SUSPENDED, f"{self.name} is suspended")
        if not self.serves(operation):
            raise RefusedError(
                Problem.UNKNOWN_OPERATION, f"{self.name} does not serve {operation.name}"
            )
        if operation in HOST_OPERATIONS and not self.settings.peers.hosts:
            raise RefusedError(
                Problem.NOT_ALLOWED, f"{operation.name}: this host crawls alone; see [Peers] hosts"
            )
        if operation is Operation.SQL_CUSTOM and not self.settings.sql.sql_custom:
            raise RefusedError(
                Problem.NOT_ALLOWED, "SQL_CUSTOM is off; [SQL] sql_custom = 1 switches it on"
            )

    def _execute(self, operation: Operation, payload: object) -> object:
        if self._operations is None:
            raise RuntimeError("the operations are not open")
        return self._operations.execute(operation, payload)

    def _note(self, operation: Operation, code: int, milliseconds: float) -> None:
        self.count("operations")
        self.count(f"{operation.name}_CNT")
        if code:
            self.count(
                "operations_failed" if code == ResponseItemError.EXECUTION else "operations_refused"
            )
        self.journal.debug(f"{operation.name}: error {code}, {milliseconds:.1f} ms")


def fitting(encoded: bytes) -> Raw:
    """Return an answer; one that no client would read is refused, and not carried around."""
    if len(encoded) > MAX_MESSAGE:
        text = f"the answer has {len(encoded)} bytes, allowed are {MAX_MESSAGE}; ask for less"
        raise RefusedError(Problem.FAILED, text)
    return Raw(encoded)


class URLManager(OperationsThread):
    """Serves URL operations."""

    def serves(self, operation: Operation) -> bool:
        """Whether it is about URLs."""
        return operation in URL_OPERATIONS


class SitesManager(OperationsThread):
    """Serves Site operations, and for periodic processes those of URLs as well."""


def target_of(operation: Operation) -> str:
    """Return the class to which the client interface hands an operation."""
    if operation is Operation.BATCH:
        return "BatchTasksManager"
    return "URLManager" if operation in URL_OPERATIONS else "SitesManager"
