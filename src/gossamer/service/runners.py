"""The threads below the BatchTasksManager: they do what takes long, one thing at a time."""

import math
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from gossamer.errors import GossamerError, ServiceError
from gossamer.objects.batch import Batch
from gossamer.objects.coding import decode, decode_answer, encode
from gossamer.objects.enumerations import Operation, ResponseItemError
from gossamer.objects.problems import ObjectError
from gossamer.service.envelope import Done, Problem, RefusedError, Task
from gossamer.service.managers import NOTHING
from gossamer.service.operations import OpenBatches, OpenPeriodics, Periodic, RunBatch
from gossamer.service.threaded import Place, ThreadedObject
from gossamer.service.transport import Frames, TransportItem, inproc
from gossamer.wording import shortened

RUNNERS: Final = "BatchTasksManager.runners"
PERIODICS: Final = "PeriodicRunner"
_LOST_SECONDS: Final = 3_600.0
"""An operation that takes longer is thought to be lost."""
_MOST_COMPLAINTS: Final = 100
"""That one run may make."""


class Offer(Struct, frozen=True):
    """From the runner of periodic processes: what there is, with the period of each."""

    periods: dict[str, float]


class Run(Struct, frozen=True):
    """To the runner: run this, at this time."""

    name: str
    now: float


class Ran(Struct, frozen=True):
    """From the runner: what came of it. `fault` is empty if it went well."""

    name: str
    seconds: float
    counters: dict[str, float]
    fault: str = ""
    complaints: list[str] = []
    """What was wrong with sites and pages."""


class DistantOperations:
    """Operations that another thread carries out; the caller waits for its message."""

    def __init__(self, owner: ThreadedObject, item: TransportItem) -> None:
        self._owner = owner
        self._item = item
        self._numbers = 0
        """How many were asked for; each has its number."""
        self._open: dict[int, tuple[Operation, float]] = {}
        """What was asked for and is not answered, by its number, and when it was asked for."""

    @property
    def asked(self) -> int:
        """How many operations were asked for so far."""
        return self._numbers

    def unanswered(self, operation: Operation) -> int:
        """Return how many operations of a kind still go on, though nobody waits for them."""
        while (frames := self._item.receive()) is not None:
            self.note(frames)
        # Who was to answer may have been started anew, and will never do so.
        since = self._owner.clock.monotonic() - _LOST_SECONDS
        self._open = {number: each for number, each in self._open.items() if each[1] > since}
        return sum(each is operation for each, _ in self._open.values())

    def note(self, frames: Frames) -> Done:
        """Take an answer, however late."""
        done = msgspec.json.decode(frames[-1], type=Done)
        self._open.pop(done.id, None)
        return done

    def execute(self, operation: Operation, payload: object) -> object:
        """Have it done, and return the answer object."""
        self._numbers += 1
        task = Task(self._numbers, operation, Raw(encode(payload)))
        self._item.send([msgspec.json.encode(task)])
        self._open[task.id] = (operation, self._owner.clock.monotonic())
        seconds = self._owner.settings.server.request_timeout_seconds
        deadline = self._owner.clock.monotonic() + seconds
        while (left := deadline - self._owner.clock.monotonic()) > 0:
            self._item.socket.poll(int(left * 1000) + 1)
            frames = self._item.receive()
            done = self.note(frames) if frames else None
            if done is not None and done.id == self._numbers:
                return _restored(operation, done)
        raise ServiceError(f"{operation.name} was not answered within {seconds:g} s")

    def close(self) -> None:
        """Do nothing: the thread closes its items itself."""


def _restored(operation: Operation, done: Done) -> object:
    if done.error_code:
        raise ServiceError(done.error_message)
    return decode_answer(operation, bytes(done.object))


class PeriodicRunner(ThreadedObject):
    """Runs periodic processes, as it is told, one after another."""

    def __init__(self, place: Place, open_periodics: OpenPeriodics) -> None:
        super().__init__(PERIODICS, place)
        self._open_periodics = open_periodics
        self._manager = self.add_client("MANAGER", inproc(RUNNERS), self._on_run)
        self._sites = self.add_client("SITESMANAGER", inproc("SitesManager"), self._on_late)
        self._distant = DistantOperations(self, self._sites)
        self._periodics: dict[str, Periodic] = {}

    def prepare(self) -> None:
        """Make the processes in this thread, and offer them to the manager."""
        made = self._open_periodics(self.settings, self._distant)
        self._periodics = {periodic.name: periodic for periodic in made}
        offer = Offer({name: periodic.period_seconds for name, periodic in self._periodics.items()})
        self._manager.send([b"offer", msgspec.json.encode(offer)])

    def _on_late(self, frames: Frames) -> None:
        """Take an answer that nobody waits for any more."""
        self._distant.note(frames)

    def finish(self) -> None:
        """Have each process give back what it opened, the last first."""
        for periodic in reversed(self._periodics.values()):
            periodic.close()

    def _on_run(self, frames: Frames) -> None:
        run = msgspec.json.decode(frames[-1], type=Run)
        started = self.clock.monotonic()
        asked = self._distant.asked
        counters: dict[str, float] = {}
        fault = ""
        try:
            counters = _checked(self._periodics[run.name].run(run.now))
        except GossamerError as error:
            fault = str(error)
        except Exception as error:  # noqa: BLE001 - the next run of another may well succeed
            self.journal.error(f"{run.name} failed: {type(error).__name__}", error)
            fault = f"internal error: {type(error).__name__}"
        if asked != self._distant.asked:
            counters["common_operations_cnt"] = self._distant.asked - asked
        seconds = self.clock.monotonic() - started
        ran = Ran(run.name, seconds, counters, fault, self._complaints(run.name))
        self._manager.send([b"ran", msgspec.json.encode(ran)])

    def _complaints(self, name: str) -> list[str]:
        """Return what a process has to complain about, not endlessly much."""
        said = dict.fromkeys(shortened(each, 300) for each in self._periodics[name].complaints())
        return list(said)[:_MOST_COMPLAINTS]


class BatchRunner(ThreadedObject):
    """Carries out real-time batches, one at a time."""

    def __init__(self, name: str, place: Place, open_batches: OpenBatches) -> None:
        super().__init__(name, place)
        self._open_batches = open_batches
        self._run_batch: RunBatch | None = None
        self._manager = self.add_client("MANAGER", inproc(RUNNERS), self._on_batch)

    def prepare(self) -> None:
        """Open what batches need, in this thread, and say that it is free."""
        self._run_batch = self._open_batches(self.settings)
        self._manager.send([b"free", b"null"])

    def _on_batch(self, frames: Frames) -> None:
        task = msgspec.json.decode(frames[-1], type=Task)
        self._manager.send([b"done", msgspec.json.encode(self._carry_out(task))])

    def _carry_out(self, task: Task) -> Done:
        started = self.clock.monotonic()
        code, message, answer = ResponseItemError.OK, "", NOTHING
        try:
            answer = Raw(encode(self._contents(decode(Operation.BATCH, bytes(task.object)))))
        except ObjectError as error:
            code = ResponseItemError.NOT_RESTORED
            message = str(RefusedError(Problem.BAD_OBJECT, str(error)))
        except GossamerError as error:
            code = ResponseItemError.EXECUTION
            message = str(RefusedError(Problem.FAILED, str(error)))
        except Exception as error:  # noqa: BLE001 - one batch that fails must not end the thread
            self.journal.error(f"BATCH failed: {type(error).__name__}", error)
            code = ResponseItemError.EXECUTION
            message = str(RefusedError(Problem.FAILED, f"internal error: {type(error).__name__}"))
        milliseconds = (self.clock.monotonic() - started) * 1000
        return Done(task.id, code, message, round(milliseconds, 3), answer)

    def _contents(self, batch: object) -> list[object]:
        """Run the batch; the answer is what each of its items brought."""
        if self._run_batch is None or not isinstance(batch, Batch):
            raise RuntimeError("there is nothing to run")
        most = self.settings.realtime.max_urls
        if len(batch.items) > most:
            raise ObjectError("Batch", "items", f"at most {most} items are expected")
        result = self._run_batch(batch, self.is_told_to_stop)
        return [item.url_content_response for item in result.items if item.url_content_response]


def _checked(counters: Mapping[str, float]) -> dict[str, float]:
    """Return counters that can be sent and added up; raise ValueError for others."""
    checked = msgspec.convert(dict(counters), dict[str, float])
    if not all(map(math.isfinite, checked.values())):
        raise ValueError("a counter is not a finite number")
    return checked
