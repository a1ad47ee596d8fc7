"""BatchTasksManager: has periodic processes run when they are due, and real-time batches at once.

Theory of operation. The manager itself never does anything that takes long. One runner thread has
the periodic processes and gets one order at a time; several have batches. So administrators are
answered while a batch runs, and a slow process delays the others of its kind only.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.objects.enumerations import ResponseItemError
from gossamer.service import counters
from gossamer.service.envelope import Ask, Done, Problem, RefusedError, Task, Told
from gossamer.service.managers import NOTHING
from gossamer.service.nursery import ChildError, Nursery
from gossamer.service.operations import OpenBatches, OpenPeriodics
from gossamer.service.runners import (
    PERIODICS,
    RUNNERS,
    BatchRunner,
    Offer,
    PeriodicRunner,
    Ran,
    Run,
)
from gossamer.service.schedule import Schedule
from gossamer.service.threaded import EventKind, Order, OrderKind, Place, ThreadedObject
from gossamer.service.transport import Frames, Kind, TransportItem, inproc
from gossamer.service.variables import Seconds

_MOST_TOLD: Final = 10_000


class Waiting(Struct, frozen=True):
    """A batch, and who waits for it."""

    sender: bytes
    task: Task


class BatchTasksManager(ThreadedObject):
    """Drives crawling and processing."""

    def __init__(
        self,
        place: Place,
        open_periodics: Sequence[OpenPeriodics],
        open_batches: OpenBatches | None,
    ) -> None:
        super().__init__("BatchTasksManager", place)
        self.counters |= counters.zeros()
        self.join_administration()
        self._server = self.add_server(
            TransportItem("TASKS", Kind.SERVER, inproc(self.name), self._on_task)
        )
        self._runners = self.add_server(
            TransportItem("RUNNERS", Kind.SERVER, inproc(RUNNERS), self._on_runner)
        )
        self._children = Nursery(f"{self.name}.children", self.place_of_child(""))
        self.add_server(self._children.item)
        self._open_periodics = open_periodics
        self._open_batches = open_batches
        self._schedule = Schedule()
        self._runner_of: dict[str, bytes] = {}
        """Which runner has a periodic process."""
        self._running: set[bytes] = set()
        """The runners of which a periodic process runs now."""
        self._waiting: deque[Waiting] = deque()
        self._free: deque[bytes] = deque()
        self._busy: dict[bytes, Waiting] = {}
        self._told: dict[str, None] = {}
        """Complaints that are in the journal, the oldest first."""

    def prepare(self) -> None:
        """Start the runners."""
        for number, open_periodics in enumerate(self._open_periodics, start=1):
            self._start_periodics(f"{PERIODICS}{number}", open_periodics)
        if self._open_batches is not None:
            for number in range(self.settings.realtime.threads):
                self._start_batch_runner(f"BatchRunner{number + 1}", self._open_batches)
        self._hear_runners()

    def _start_periodics(self, name: str, open_periodics: OpenPeriodics) -> None:
        self._children.start(name, lambda place: PeriodicRunner(name, place, open_periodics))

    def _start_batch_runner(self, name: str, open_batches: OpenBatches) -> None:
        self._children.start(name, lambda place: BatchRunner(name, place, open_batches))

    def look_around(self) -> None:
        """Look after the runners, give out batches, and have processes run that are due."""
        while (told := self._children.next_event()) is not None:
            name, event = told
            if event.kind is EventKind.DIED:
                self._on_death(name, event.text)
        self._give_out()
        if not self.variables["SUSPENDED"]:
            self._run_what_is_due()

    def _run_what_is_due(self) -> None:
        """Have each runner that is free run the process of its own that is the longest overdue."""
        now = self.clock.monotonic()
        for name in self._schedule.due(now):
            runner = self._runner_of[name]
            if runner not in self._running:
                self._schedule.started(name, now)
                self._running.add(runner)
                run = Run(name, self.clock.time())
                self._runners.send([runner, msgspec.json.encode(run)])

    def wait_seconds(self) -> float | None:
        """Return the time until a process is due; a runner that is busy will wake us itself."""
        if self.variables["SUSPENDED"]:
            return None
        busy = {name for name, runner in self._runner_of.items() if runner in self._running}
        return self._schedule.wait_seconds(self.clock.monotonic(), busy)

    def tell(self, ask: Ask) -> Told:
        """Carry out an administrator's command; a new period counts at once."""
        told = super().tell(ask)
        now = self.clock.monotonic()
        for name in self._schedule.periods:
            self._schedule.set(name, self.variables[_variable(name)], now)
        return told

    def class_restarted(self, name: str) -> None:
        """Have the runners connect anew, too."""
        self._children.tell_all(Order(OrderKind.RESTARTED, name))

    def finish(self) -> None:
        """Wait for the runners to end what they do, and refuse what waits."""
        for waiting in self._waiting:
            self._refuse(waiting, Problem.LOST, "the service stops")
        for name in reversed(self._children.names):
            self._children.stop(name)
        # What they did meanwhile is still counted, and answered.
        self._hear_runners()

    # Batches.

    def _on_task(self, frames: Frames) -> None:
        waiting = Waiting(frames[0], msgspec.json.decode(frames[-1], type=Task))
        self.count("batches_realtime_total")
        if self._open_batches is None:
            self._refuse(waiting, Problem.NOT_ALLOWED, "this service takes no real-time batches")
        elif self.variables["SUSPENDED"]:
            self._refuse(waiting, Problem.SUSPENDED, f"{self.name} is suspended")
        elif len(self._waiting) >= self.settings.realtime.max_waiting + len(self._free):
            self._refuse(waiting, Problem.BUSY, f"{len(self._waiting)} batches wait; try later")
        else:
            self._waiting.append(waiting)
            self._give_out()

    def _give_out(self) -> None:
        while self._waiting and self._free:
            runner = self._free.popleft()
            self._busy[runner] = self._waiting.popleft()
            self._runners.send([runner, msgspec.json.encode(self._busy[runner].task)])
        self.counters["batches_realtime_queue"] = len(self._waiting) + len(self._busy)

    def _refuse(self, waiting: Waiting, problem: Problem, text: str) -> None:
        self.count("batches_realtime_refused")
        message = str(RefusedError(problem, text))
        done = Done(waiting.task.id, ResponseItemError.EXECUTION, message, 0, NOTHING)
        self._server.send([waiting.sender, msgspec.json.encode(done)])

    # Runners.

    def _hear_runners(self) -> None:
        """Take all that they have said by now."""
        while (frames := self._runners.receive()) is not None:
            self._on_runner(frames)

    def _on_runner(self, frames: Frames) -> None:
        runner, kind, body = frames[0], frames[-2], frames[-1]
        match kind:
            case b"offer":
                self._take_offer(runner, msgspec.json.decode(body, type=Offer))
            case b"ran":
                self._running.discard(runner)
                self._note(msgspec.json.decode(body, type=Ran))
            case b"free":
                self._free.append(runner)
            case b"done":
                waiting = self._busy.pop(runner)
                self._free.append(runner)
                done = msgspec.json.decode(body, type=Done)
                self.count("batches_realtime_fault", 1 if done.error_code else 0)
                self._server.send([waiting.sender, body])

    def _take_offer(self, runner: bytes, offer: Offer) -> None:
        now = self.clock.monotonic()
        for name, period in offer.periods.items():
            self._runner_of[name] = runner
            # A runner that was started again offers the same; what was set meanwhile stays.
            if name not in self._schedule.periods:
                self.variables.declare(_variable(name), Seconds, period)
                self._schedule.set(name, period, now)

    def _note(self, ran: Ran) -> None:
        self.count("periodic_runs")
        counters.add(self.counters, ran.counters)
        if ran.fault:
            self.count("periodic_faults")
            self.journal.warning(f"{ran.name} failed: {ran.fault}")
        for complaint in ran.complaints:
            self._complain(f"{ran.name}: {complaint}")
        self.journal.debug(f"{ran.name} took {ran.seconds:.3f} s")

    def _complain(self, text: str) -> None:
        """Write a complaint to the journal, unless it is there: it comes with every run."""
        if text not in self._told:
            self.journal.warning(text)
        self._told.pop(text, None)
        self._told[text] = None
        while len(self._told) > _MOST_TOLD:
            del self._told[next(iter(self._told))]

    def _on_death(self, name: str, text: str) -> None:
        """Start a runner again, once; a second death is more than this class can bear."""
        self.journal.warning(f"{name} died: {text}")
        if self._children.restarts.get(name):
            raise ChildError(f"{name} died again: {text}")
        runner = name.encode()
        if runner in self._busy:
            self._refuse(self._busy.pop(runner), Problem.LOST, f"{name} died: {text}")
        self._running.discard(runner)
        self.count("runners_restarted")
        self._children.restart(name, {})


def _variable(name: str) -> str:
    return f"{name}_PERIOD"
