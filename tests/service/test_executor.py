"""Executors: the same tasks, in this process and in others."""

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from gossamer.errors import InputError, ServiceError
from gossamer.service.applications import APPLICATIONS, Output
from gossamer.service.catalog_operations import open_operations
from gossamer.service.executor import ENDED, Executor, InProcess, LocalProcesses, TaskState
from gossamer.service.settings import ApplicationSettings, ServiceSettings

SITE_NEW = b'["SITE_NEW", {"urls": ["https://example.org/"]}]'
STATUS = b'["SITE_STATUS", {"id": "0"}]'


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    return ServiceSettings(application=ApplicationSettings(data_dir="data"), folder=tmp_path)


@pytest.fixture(params=["in-process", "processes"])
def executor(request: pytest.FixtureRequest, settings: ServiceSettings) -> Iterator[Executor]:
    made: Executor = (
        InProcess({name: partial(run, settings) for name, run in APPLICATIONS.items()})
        if request.param == "in-process"
        else LocalProcesses(settings, 2)
    )
    yield made
    made.close()


@pytest.mark.req("S3.10", "S3.16")
def test_a_task_gives_the_same_wherever_it_runs(executor: Executor) -> None:
    made = executor.submit("db", SITE_NEW, 300)
    executor.wait([made])
    assert executor.state(made) is TaskState.FINISHED
    assert msgspec.json.decode(executor.take(made).body)["errorCode"] == 0
    asked = [executor.submit("db", STATUS, 300) for _ in range(3)]
    executor.wait(asked)
    answers = [msgspec.json.decode(executor.take(number).body) for number in asked]
    assert [answer["id"] for answer in answers] == ["0"] * 3


def test_a_task_that_cannot_be_done_says_why(executor: Executor) -> None:
    number = executor.submit("db", b"{", 300)
    executor.wait([number])
    assert executor.state(number) is TaskState.CRASHED
    with pytest.raises(ServiceError, match="not JSON"):
        executor.take(number)


def test_a_task_is_taken_once(executor: Executor) -> None:
    number = executor.submit("db", STATUS, 300)
    executor.wait([number])
    executor.take(number)
    assert executor.state(number) is TaskState.NOT_FOUND
    with pytest.raises(ServiceError, match="no task"):
        executor.take(number)
    assert executor.state(99) is TaskState.NOT_FOUND


def test_an_error_of_another_kind_is_not_hidden() -> None:
    def broken(body: bytes) -> Output:
        raise ZeroDivisionError

    def refuses(body: bytes) -> Output:
        raise InputError("never")

    executor = InProcess({"broken": broken, "refuses": refuses})
    with pytest.raises(ZeroDivisionError):
        executor.submit("broken", b"", 1)
    assert executor.state(executor.submit("refuses", b"", 1)) is TaskState.CRASHED


@contextmanager
def endless(settings: ServiceSettings) -> Iterator[bytes]:
    """Give the input of a task that cannot end in this block: it waits for its turn to write."""
    open_operations(settings).close()
    with (settings.data_dir / "catalog.db-turn").open("rb+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield SITE_NEW


def test_some_run_and_others_wait(settings: ServiceSettings) -> None:
    executor = LocalProcesses(settings, 1)
    with endless(settings) as body:
        first, second = (executor.submit("db", body, 300) for _ in range(2))
        assert executor.state(first) is TaskState.IN_PROGRESS
        assert executor.state(second) is TaskState.NEW
    executor.wait([first, second])
    assert executor.state(second) is TaskState.FINISHED


def test_a_task_ends_with_its_time(settings: ServiceSettings) -> None:
    executor = LocalProcesses(settings, 1)
    with endless(settings) as body:
        number = executor.submit("db", body, 0.0)
        executor.wait([number])
    assert executor.state(number) is TaskState.TERMINATED_BY_TTL
    with pytest.raises(ServiceError, match="longer than 0 s"):
        executor.take(number)


def test_a_process_that_is_killed_is_a_crash(settings: ServiceSettings) -> None:
    executor = LocalProcesses(settings, 1)
    with endless(settings) as body:
        number = executor.submit("db", body, 300)
        process = executor.process_of(number)
        assert process is not None
        os.kill(process, signal.SIGKILL)
        executor.wait([number])
    assert executor.state(number) is TaskState.CRASHED
    with pytest.raises(ServiceError, match="-9"):
        executor.take(number)


def test_closing_terminates_what_runs_and_what_waits(settings: ServiceSettings) -> None:
    executor = LocalProcesses(settings, 1)
    with endless(settings) as body:
        numbers = [executor.submit("db", body, 300) for _ in range(3)]
        process = executor.process_of(numbers[0])
        assert process is not None
        executor.close()
    assert {executor.state(number) for number in numbers} == {TaskState.TERMINATED}
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_ended_is_what_does_not_change_any_more() -> None:
    assert {TaskState.NEW, TaskState.IN_PROGRESS} == set(TaskState) - ENDED
