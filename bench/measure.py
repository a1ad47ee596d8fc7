"""Runs one command and measures wall time, CPU time and peak memory of its process tree."""

import ctypes
import os
import resource
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Self

SAMPLE_SECONDS = 0.2
STOP_SECONDS = 10.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Measured:
    """What one run of a command cost."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    exit_code: int
    finished: bool


def adopt_orphans() -> None:
    """Make the kernel give us the orphans of our children, so that their CPU time counts."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(
    command: list[str], folder: Path, cap_seconds: float, environment: dict[str, str]
) -> Measured:
    """Run a command to its end, or end it after `cap_seconds`."""
    before = _cpu_of_children()
    begun = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with _MemorySampler(process.pid) as sampler:
            finished = _wait(process, cap_seconds)
            seconds = time.monotonic() - begun
    _end_group(process.pid)
    cpu = _cpu_of_children() - before
    return Measured(seconds, cpu, sampler.peak_bytes, process.returncode, finished)


def _wait(process: subprocess.Popen[bytes], cap_seconds: float) -> bool:
    if _ends_within(cap_seconds, process):
        return True
    os.killpg(process.pid, signal.SIGTERM)
    if not _ends_within(STOP_SECONDS, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return False


def _ends_within(seconds: float, process: subprocess.Popen[bytes]) -> bool:
    """Wait for the end of a process, to the millisecond: Popen looks twenty times a second."""
    descriptor = os.pidfd_open(process.pid)
    try:
        ended = bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)
    if ended:
        process.wait()
    return ended


def _end_group(group: int) -> None:
    """End and reap what the command left behind; only reaped processes show in the CPU time."""
    end = time.monotonic() + STOP_SECONDS
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
    while time.monotonic() < end:
        try:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            return


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class _MemorySampler:
    """Adds up the proportional memory of a process tree at intervals and keeps the largest sum."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stop = Event()
        self._thread = Thread(target=self._sample, daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            total = sum(_proportional_bytes(pid) for pid in _tree(self._pid))
            self.peak_bytes = max(self.peak_bytes, total)


def _tree(root: int) -> list[int]:
    """Return a process and all that descend from it; asking each is cheaper than asking all."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return found


def _proportional_bytes(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
