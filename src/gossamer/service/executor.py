"""Where the applications of the service run: in this process, or in local ones beside it.

A task is an application and the JSON text that it is given. Whoever has tasks run does not need to
know where; an executor for other machines is one more class with these five methods.
"""

import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import IO, Final, Protocol

import msgspec
from msgspec import Struct, field

from gossamer.clock import Clock, SystemClock
from gossamer.errors import GossamerError, ServiceError
from gossamer.objects.coding import MAX_MESSAGE
from gossamer.service.applications import APPLICATIONS, Output
from gossamer.service.settings import ServiceSettings
from gossamer.wording import shortened

_LOOK_SECONDS: Final = 0.02
_MAX_COMPLAINT: Final = 4_096


class TaskState(IntEnum):
    """Where a task stands (4b.8)."""

    FINISHED = 0
    IN_PROGRESS = 1
    NEW = 2
    NOT_FOUND = 3
    TERMINATED = 4
    CRASHED = 5
    TERMINATED_BY_TTL = 11


ENDED: Final = frozenset(TaskState) - {TaskState.IN_PROGRESS, TaskState.NEW}


def _never() -> bool:
    return False


class Executor(Protocol):
    """What runs tasks."""

    def submit(self, application: str, body: bytes, seconds: float) -> int:
        """Take a task that may run for so long; return its number."""
        ...

    def state(self, number: int) -> TaskState:
        """Return where a task stands."""
        ...

    def wait(self, numbers: Sequence[int], is_called_away: Callable[[], bool] = _never) -> None:
        """Return when these tasks have ended, each in its own way, or when called away."""
        ...

    def take(self, number: int) -> Output:
        """Return what a task that has ended gave, once; raise ServiceError if it failed."""
        ...

    def close(self) -> None:
        """Terminate what runs."""
        ...


class Ended(Struct, frozen=True):
    """A task that has ended."""

    state: TaskState
    output: Output = Output(b"")
    why: str = ""


class InProcess:
    """Runs a task when it is submitted, in the thread of whoever submits it.

    Time cannot be limited here: applications bound what each of their steps may take.
    """

    def __init__(self, applications: Mapping[str, Callable[[bytes], Output]]) -> None:
        self._applications = applications
        self._ended: dict[int, Ended] = {}
        self._numbers = 0

    def submit(self, application: str, body: bytes, seconds: float) -> int:
        """Run a task to its end."""
        del seconds
        self._numbers += 1
        try:
            ended = Ended(TaskState.FINISHED, self._applications[application](body))
        except GossamerError as error:
            ended = Ended(TaskState.CRASHED, why=str(error))
        self._ended[self._numbers] = ended
        return self._numbers

    def state(self, number: int) -> TaskState:
        """Return where a task stands."""
        ended = self._ended.get(number)
        return TaskState.NOT_FOUND if ended is None else ended.state

    def wait(self, numbers: Sequence[int], is_called_away: Callable[[], bool] = _never) -> None:
        """Return at once: what was submitted has ended."""

    def take(self, number: int) -> Output:
        """Return what a task gave, once; raise ServiceError if it failed."""
        return _taken(self._ended, number)

    def close(self) -> None:
        """Do nothing: nothing runs."""


class Running(Struct):
    """A task that waits for its turn, or has a process."""

    application: str
    body: bytes
    seconds: float
    process: subprocess.Popen[bytes] | None = None
    deadline: float = 0.0
    output: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    complaint: IO[bytes] = field(default_factory=tempfile.TemporaryFile)


class Orders(Struct, frozen=True):
    """The first line of a process's input: what to run. The rest is what it is given."""

    application: str
    settings: ServiceSettings


class LocalProcesses:
    """Runs each task in a process of its own, some at a time; others wait for their turn."""

    def __init__(
        self, settings: ServiceSettings, at_a_time: int, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._at_a_time = at_a_time
        self._clock = clock or SystemClock()
        self._tasks: dict[int, Running] = {}
        self._waiting: deque[int] = deque()
        self._ended: dict[int, Ended] = {}
        self._numbers = 0

    def submit(self, application: str, body: bytes, seconds: float) -> int:
        """Take a task; its time begins with its process."""
        self._numbers += 1
        self._tasks[self._numbers] = Running(application, body, seconds)
        self._waiting.append(self._numbers)
        self._tend()
        return self._numbers

    def state(self, number: int) -> TaskState:
        """Return where a task stands."""
        self._tend()
        if number in self._ended:
            return self._ended[number].state
        if number not in self._tasks:
            return TaskState.NOT_FOUND
        return TaskState.NEW if self._tasks[number].process is None else TaskState.IN_PROGRESS

    def wait(self, numbers: Sequence[int], is_called_away: Callable[[], bool] = _never) -> None:
        """Return when these tasks have ended, or when whoever waits is called away."""
        while any(self.state(number) not in ENDED for number in numbers) and not is_called_away():
            self._clock.sleep(_LOOK_SECONDS)

    def take(self, number: int) -> Output:
        """Return what a task gave, once; raise ServiceError if it failed."""
        return _taken(self._ended, number)

    def close(self) -> None:
        """Terminate what runs, and drop what waits."""
        self._waiting.clear()
        for number, task in list(self._tasks.items()):
            if task.process is not None:
                task.process.kill()
                task.process.wait()
            self._end(number, Ended(TaskState.TERMINATED, why="it was terminated"))

    def process_of(self, number: int) -> int | None:
        """Return the number of the process that has a task."""
        task = self._tasks.get(number)
        return None if task is None or task.process is None else task.process.pid

    def _tend(self) -> None:
        """End what has ended or has run for too long; start what has its turn."""
        now = self._clock.monotonic()
        for number, task in list(self._tasks.items()):
            if task.process is None:
                continue
            if task.process.poll() is not None:
                self._end(number, _ended(task))
            elif now >= task.deadline:
                task.process.kill()
                task.process.wait()
                why = f"it took longer than {task.seconds:g} s"
                self._end(number, Ended(TaskState.TERMINATED_BY_TTL, why=why))
        running = sum(task.process is not None for task in self._tasks.values())
        while self._waiting and running < self._at_a_time:
            self._start(self._tasks[self._waiting.popleft()])
            running += 1

    def _start(self, task: Running) -> None:
        orders = msgspec.json.encode(Orders(task.application, self._settings), enc_hook=str)
        # In a file: a pipe would make this thread wait for whoever is slow to read it.
        with tempfile.TemporaryFile() as source:
            source.write(orders + b"\n" + task.body)
            source.seek(0)
            task.process = subprocess.Popen(
                [sys.executable, "-m", "gossamer.service.executor"],
                stdin=source,
                stdout=task.output,
                stderr=task.complaint,
            )
        task.deadline = self._clock.monotonic() + task.seconds

    def _end(self, number: int, ended: Ended) -> None:
        task = self._tasks.pop(number)
        task.output.close()
        task.complaint.close()
        self._ended[number] = ended


def _ended(task: Running) -> Ended:
    """Return what a process that is no more has left."""
    assert task.process is not None
    task.output.seek(0)
    task.complaint.seek(0)
    complaint = task.complaint.read(_MAX_COMPLAINT).decode(errors="replace").strip()
    body = task.output.read(MAX_MESSAGE + 1)
    if task.process.returncode == 0 and len(body) <= MAX_MESSAGE:
        return Ended(TaskState.FINISHED, Output(body.strip(), tuple(complaint.splitlines())))
    why = complaint or f"its process ended with {task.process.returncode}"
    return Ended(TaskState.CRASHED, why=why)


def _taken(ended: dict[int, Ended], number: int) -> Output:
    if number not in ended:
        raise ServiceError(f"there is no task {number} that has ended")
    task = ended.pop(number)
    if task.state is not TaskState.FINISHED:
        raise ServiceError(f"task {number}: {shortened(task.why, 1_000)}")
    return task.output


def main() -> int:
    """Run one task: orders and input on standard input, what it gives on standard output."""
    line = sys.stdin.buffer.readline()
    orders = msgspec.json.decode(line, type=Orders, dec_hook=lambda kind, text: kind(text))
    try:
        output = APPLICATIONS[orders.application](orders.settings, sys.stdin.buffer.read())
    except GossamerError as error:
        print(error, file=sys.stderr)
        return 1
    for message in output.messages:
        print(message, file=sys.stderr)
    sys.stdout.buffer.write(output.body)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
