"""Politeness of the service when its processes are killed: whoever follows waits for who was."""

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from service_rig import wait_for
from test_service_kills import Killed

from gossamer.crawl.workspace import hold_as_worker
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb

DELAY_MS = 3_000
SOON_MS = 50


def kill_all(service: Killed) -> None:
    service.kill(whole=True)
    service.start()


def kill_daemon(service: Killed) -> None:
    """Its engine finds out by itself, and ends."""
    service.kill(whole=False)
    service.start()


def kill_engine(service: Killed) -> None:
    """Its workers find out by themselves; the daemon starts another."""
    os.kill(engine_of(service), signal.SIGKILL)


def engine_of(service: Killed) -> int:
    return int((service.data / "url-server.lock").read_text().split()[0])


def workers_of(engine: int) -> list[int]:
    """Return the processes that an engine has started."""
    return [
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if _parent_of(process) == engine
    ]


def _parent_of(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


@pytest.mark.parametrize("kill", [kill_all, kill_daemon, kill_engine])
def test_a_site_keeps_its_delay_when_processes_are_killed_after_its_first_request(
    tmp_path: Path, kill: Callable[[Killed], None]
) -> None:
    """Nothing was stored of the host yet: only the site says how long it is to be left alone."""
    with FakeWeb(pages=20, hosts=1) as web, Killed(tmp_path / "d") as service:
        site = {"urls": list(web.truth()["pages"])[:3], "requestDelay": DELAY_MS}
        assert service.tell("SITE_NEW", site)["errorCode"] == 0
        wait_for(lambda: len(web.log().requests) >= 1, "the first request")
        kill(service)
        wait_for(lambda: len(web.log().requests) >= 3, "two more requests")
        service.kill(whole=True)
        assert judge.gap_violations(web.log(), DELAY_MS / 1_000) == []
        assert judge.max_concurrency(web.log()) == 1


@contextmanager
def stopped_engine(service: Killed) -> Iterator[None]:
    """Kill the daemon while its engine can do nothing, not even end."""
    engine = engine_of(service)
    # Not in the middle of a transaction: there nobody else could do anything until it goes on.
    with ExitStack() as turns:
        for name in ("catalog.db-next", "catalog.db-turn"):
            file = turns.enter_context((service.data / name).open("rb+"))
            fcntl.flock(file, fcntl.LOCK_EX)
        os.kill(engine, signal.SIGSTOP)
        wait_for(lambda: is_stopped(engine), "the engine to stop")
    service.kill(whole=False)
    try:
        yield
    finally:
        os.kill(engine, signal.SIGCONT)


def is_stopped(process: int) -> bool:
    """Whether no thread of a process goes on."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return {(each / "stat").read_text().rpartition(")")[2].split()[0] for each in threads} == {"T"}


@contextmanager
def lasting_worker(service: Killed) -> Iterator[None]:
    """Kill all, but for one that holds what a worker holds."""
    handle = hold_as_worker(service.data / "workers.lock")
    service.kill(whole=True)
    try:
        yield
    finally:
        os.close(handle)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "complaint"),
    [(stopped_engine, "is in use by process"), (lasting_worker, "workers of an earlier crawl")],
)
def test_nothing_is_fetched_while_a_process_of_a_killed_service_is_left(
    tmp_path: Path, left: Callable[[Killed], AbstractContextManager[None]], complaint: str
) -> None:
    """The next engine gives up rather than fetch beside it."""
    with FakeWeb(pages=400, hosts=1) as web, Killed(tmp_path / "d") as service:
        site = {"urls": list(web.truth()["pages"])[:200], "requestDelay": SOON_MS}
        assert service.tell("SITE_NEW", site)["errorCode"] == 0
        wait_for(lambda: len(web.log().requests) > 5, "some requests")
        with left(service):
            before = len(web.log().requests)
            service.start()
            wait_for(lambda: complaint in service.log, "an engine to give up")
            # What the old engine had ordered before: a request at a time and host.
            assert len(web.log().requests) <= before + 1
        wait_for(lambda: len(web.log().requests) > before + 5, "requests of the next engine")
        service.kill(whole=True)
        assert judge.gap_violations(web.log(), SOON_MS / 1_000) == []
        assert judge.max_concurrency(web.log()) == 1


def test_workers_end_with_their_engine_even_if_they_hear_nothing(tmp_path: Path) -> None:
    """Workers that are stopped cannot notice that they are alone."""
    with FakeWeb(pages=20, hosts=1) as web, Killed(tmp_path / "d") as service:
        site = {"urls": list(web.truth()["pages"])[:3], "requestDelay": DELAY_MS}
        assert service.tell("SITE_NEW", site)["errorCode"] == 0
        wait_for(lambda: len(web.log().requests) >= 1, "the first request")
        engine = engine_of(service)
        workers = workers_of(engine)
        assert workers
        for worker in workers:
            wait_for(lambda worker=worker: is_on_duty(worker), "a worker to have begun")
            os.kill(worker, signal.SIGSTOP)
        os.kill(engine, signal.SIGKILL)
        for worker in workers:
            wait_for(lambda worker=worker: not lives(worker), "a worker to end")


def is_on_duty(worker: int) -> bool:
    """Whether a worker has bound itself to its parent: after that it ignores SIGTERM."""
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    (ignored,) = [line.split()[1] for line in lines if line.startswith("SigIgn:")]
    return bool(int(ignored, 16) & 1 << (signal.SIGTERM - 1))


def lives(process: int) -> bool:
    """Whether a process can still do anything: one that nobody has waited for cannot."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
