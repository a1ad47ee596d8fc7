"""What all threads have in common, and the manager of periodic processes under a manual clock."""

import ast
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hosts_rig import held_ports
from service_rig import wait_for
from toy_operations import open_operations as toy

import gossamer.service
from gossamer.clock import Clock, ManualClock, SystemClock
from gossamer.daemons.endpoints import parse_endpoint
from gossamer.service import admin_interface, batch_tasks, client_interface, managers, runners
from gossamer.service.calling import ask
from gossamer.service.envelope import AdminRequest
from gossamer.service.journal import Journal, open_journal
from gossamer.service.nursery import ChildError, Nursery
from gossamer.service.operations import Periodic
from gossamer.service.settings import ServerSettings, ServiceSettings
from gossamer.service.threaded import ADMIN, EventKind, Place, ThreadedObject
from gossamer.service.zeromq import zmq

SOURCE = Path(gossamer.service.__file__).parent
QUICK = ServiceSettings(server=ServerSettings(poll_timeout_ms=2))
THREAD_CLASSES = (
    admin_interface.AdminInterfaceServer,
    managers.URLManager,
    managers.SitesManager,
    batch_tasks.BatchTasksManager,
    client_interface.ClientInterfaceService,
    runners.PeriodicRunner,
    runners.BatchRunner,
)


def threads_made_in(path: Path) -> list[str]:
    """Return what a file takes from the module threading, and other ways to lock or share."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "threading":
            found.append(node.attr)
        if isinstance(node, ast.ImportFrom) and node.module == "threading":
            found += [alias.name for alias in node.names]
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in {"queue", "_thread"}]
        if isinstance(node, ast.ImportFrom) and node.module in {"queue", "multiprocessing"}:
            found.append(node.module)
    return found


@pytest.mark.req("S3.4")
def test_there_is_no_lock_in_the_whole_room():
    used = {path.name: threads_made_in(path) for path in SOURCE.glob("*.py")}
    assert used["nursery.py"], "the check sees nothing"
    for name, words in used.items():
        assert set(words) <= {"Thread", "active_count"}, name


@pytest.mark.req("S3.11", "S3.12")
def test_all_thread_classes_are_one_kind_of_object():
    for kind in THREAD_CLASSES:
        assert issubclass(kind, ThreadedObject)
    # The daemon has no other threads: they are made at one place. (The engine is another process.)
    made = {path.name for path in SOURCE.glob("*.py") if "Thread" in threads_made_in(path)}
    assert made - {"engine_process.py"} == {"nursery.py"}


@contextmanager
def nursery(clock: Clock, settings: ServiceSettings = QUICK) -> Iterator[Nursery]:
    journal = Journal("test", "error", open_journal(Path("/dev/null")), clock)
    context = zmq.Context()
    parent = Nursery("parent", Place(context, settings, clock, journal, ""))
    parent.item.open(context, clock)
    try:
        yield parent
    finally:
        for name in reversed(parent.names):
            parent.stop(name)
        parent.item.close()
        context.term()


def test_processes_run_when_they_are_due_and_not_before():
    clock = ManualClock(start=5_000.0)
    runs: list[tuple[str, float]] = []

    def periodic(name: str, period: float) -> Periodic:
        def run(now: float) -> dict[str, float]:
            runs.append((name, now))
            return {}

        return Periodic(name, period, run)

    def open_periodics(_settings, _operations):
        return [periodic("OFTEN", 1.0), periodic("SELDOM", 20.0), periodic("NEVER", 0.0)]

    with nursery(clock) as parent:
        parent.start(
            "BatchTasksManager",
            lambda place: batch_tasks.BatchTasksManager(place, [open_periodics], None),
        )
        for second in range(1, 20):
            clock.advance(1.0)
            wait_for(lambda count=second: len(runs) == count, "a run")
        assert runs == [("OFTEN", 5_000.0 + second) for second in range(1, 20)]
        clock.advance(1.0)
        wait_for(lambda: len(runs) == 21, "two runs")
        assert {name for name, _ in runs[19:]} == {"OFTEN", "SELDOM"}
        # What was missed is not made up for.
        clock.advance(100.0)
        wait_for(lambda: len(runs) == 23, "one run of each")
        clock.advance(0.5)
        clock.advance(0.5)
        wait_for(lambda: len(runs) == 24, "the next run")
        assert runs[23] == ("OFTEN", 5_121.0)


def test_a_process_that_takes_long_keeps_those_of_other_threads_from_nothing():
    """Crawling goes on while pages are processed."""
    clock = ManualClock(start=5_000.0)
    runs: list[str] = []
    begun, may_end = threading.Event(), threading.Event()

    def long(_now: float) -> dict[str, float]:
        begun.set()
        may_end.wait(120.0)
        runs.append("LONG")
        return {}

    def short(_now: float) -> dict[str, float]:
        runs.append("SHORT")
        return {}

    openers = [
        lambda *_: [Periodic("LONG", 1.0, long), Periodic("BEHIND", 1.0, short)],
        lambda *_: [Periodic("SHORT", 1.0, short)],
    ]
    with nursery(clock) as parent:
        parent.start(
            "BatchTasksManager", lambda place: batch_tasks.BatchTasksManager(place, openers, None)
        )
        clock.advance(1.0)
        assert begun.wait(120.0)
        for count in (1, 2, 3):
            wait_for(lambda count=count: runs == ["SHORT"] * count, "a run beside the long one")
            clock.advance(1.0)
        may_end.set()
        wait_for(lambda: "LONG" in runs, "the long run's end")


class Mortal(ThreadedObject):
    """Dies when it looks around for the first time."""

    def look_around(self) -> None:
        """Die."""
        raise KeyError("gone")


def test_a_parent_hears_of_every_death_and_can_start_again():
    clock = ManualClock()
    with nursery(clock) as parent:
        parent.start("Mortal", lambda place: Mortal("Mortal", place))
        for times in (1, 2):
            told = []
            wait_for(lambda heard=told: heard.append(parent.next_event()) or heard[-1], "a death")
            name, event = told[-1]
            assert (name, event.kind, event.text) == ("Mortal", EventKind.DIED, "KeyError: 'gone'")
            if times == 1:
                parent.restart(name, event.statistics)
                assert parent.restarts == {"Mortal": 1}
        parent.bury("Mortal")
        assert parent.names == []
    assert "Mortal" not in [thread.name for thread in threading.enumerate()]


class FragileAdmin(admin_interface.AdminInterfaceServer):
    """Dies when a file appears."""

    def look_around(self) -> None:
        """Die, once for each time the file is put there."""
        super().look_around()
        switch = self.settings.data_dir / "die"
        if switch.exists():
            switch.unlink()
            raise RuntimeError("told to die")


def test_the_port_for_administrators_survives_the_death_of_its_thread(tmp_path):
    """It is bound again, the others register again, and its keepers count on."""
    with ExitStack() as closing:
        (port,) = closing.enter_context(held_ports(1))
        settings = ServiceSettings(
            server=ServerSettings(poll_timeout_ms=5, admin_port=port), folder=tmp_path
        )
        settings.data_dir.mkdir()
        parent = closing.enter_context(nursery(SystemClock(), settings))
        parent.start(ADMIN, lambda place: FragileAdmin(place, "test", None))
        parent.start("URLManager", lambda place: managers.URLManager("URLManager", place, toy))

        def told() -> dict[str, object]:
            node = parse_endpoint(f"127.0.0.1:{port}")
            request = AdminRequest("STAT", [ADMIN], ["CLIENTS", "RESTARTS", "commands"])
            return ask(node, request, timeout_seconds=60).pairs[0][0]["fields"]

        wait_for(lambda: "URLManager" in told()["CLIENTS"], "the first registration")
        before = told()
        assert before["RESTARTS"] == 0
        (settings.data_dir / "die").touch()
        deaths = []
        wait_for(lambda: deaths.append(parent.next_event()) or deaths[-1], "a death")
        name, event = deaths[-1]
        assert parent.restart(name, event.statistics) == f"tcp://127.0.0.1:{port}"
        wait_for(lambda: "URLManager" in told()["CLIENTS"], "the second registration")
        after = told()
        assert after["RESTARTS"] == 1
        assert after["commands"] > before["commands"]


def test_what_cannot_start_is_told_with_its_reason():
    class Stillborn(ThreadedObject):
        def prepare(self) -> None:
            raise ChildError("no disk")

    with (
        nursery(ManualClock()) as parent,
        pytest.raises(ChildError, match="Stillborn cannot start: no disk"),
    ):
        parent.start("Stillborn", lambda place: Stillborn("Stillborn", place))
