"""The resource guard: new tasks wait while the machine is busy (4b.8).

What the kernel says is read by a function that is handed in; all else is a decision.
"""

from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.service.settings import GuardSettings

_PROC: Final = Path("/proc")
_IDLE, _IO_WAIT, _COUNTED = 3, 4, 8
"""Places in the line `cpu` of /proc/stat; guests are counted in others already."""
_LEAST_TICKS: Final = 100


class Reading(Struct, frozen=True):
    """What the kernel says, at one moment."""

    ticks: int = 0
    """Processor time since the start, of all kinds."""
    idle_ticks: int = 0
    """Of it: nothing to do, or waiting for disks."""
    io_ticks: int = 0
    """Of it: waiting for disks."""
    free_bytes: int | None = None
    """Memory that new work may use; None if the kernel does not say."""


class Word(IntEnum):
    """What the guard says."""

    GO = 0
    WAIT = 1
    GIVE_UP = 2
    """It was asked as often as is allowed; the next look begins anew."""


class Guard:
    """Asked before each task; it never sleeps."""

    def __init__(self, settings: GuardSettings, read: Callable[[], Reading] | None = None) -> None:
        self._settings = settings
        self._read = read or machine_reading
        self._before = self._after = self._read()
        self._looks = 0
        self._look_at = 0.0
        self.why = ""
        """What was too much at the last look; empty if nothing was."""

    def ask(self, now: float) -> Word:
        """Say whether a task may begin now; a busy machine is looked at again only later."""
        if now < self._look_at:
            return Word.WAIT
        reading = self._read()
        if reading.ticks - self._after.ticks >= _LEAST_TICKS:
            self._before, self._after = self._after, reading
        # Between looks that follow each other closely, a single tick would be all or nothing.
        after = replace(self._after, free_bytes=reading.free_bytes)
        self.why = trouble(self._before, after, self._settings)
        if not self.why:
            self._looks, self._look_at = 0, 0.0
            return Word.GO
        self._look_at = now + self._settings.retry_seconds
        self._looks += 1
        if self._looks > self._settings.tries:
            self._looks = 0
            return Word.GIVE_UP
        return Word.WAIT


def trouble(before: Reading, after: Reading, settings: GuardSettings) -> str:
    """Return what there is too much or too little of; shares are those between two readings."""
    if after.free_bytes is not None and after.free_bytes < settings.min_free_bytes:
        return f"{after.free_bytes} bytes of memory are free"
    busy, waiting = shares(before, after)
    if waiting > settings.max_io_wait_percent:
        return f"{waiting:.0f} % of the time is spent waiting for disks"
    if busy > settings.max_cpu_percent:
        return f"processors are busy {busy:.0f} % of the time"
    return ""


def shares(before: Reading, after: Reading) -> tuple[float, float]:
    """Return which percentage of the time processors were busy, and waited for disks.

    The kernel's count of the time that is spent waiting for disks may go back a little (proc(5)):
    whoever allows 100 % must not hear of more.
    """
    ticks = after.ticks - before.ticks
    if ticks <= 0:
        return 0.0, 0.0
    waiting = 100.0 * (after.io_ticks - before.io_ticks) / ticks
    busy = 100.0 - 100.0 * (after.idle_ticks - before.idle_ticks) / ticks
    return _percentage(busy), _percentage(waiting)


def _percentage(share: float) -> float:
    return min(max(share, 0.0), 100.0)


def machine_reading(proc: Path = _PROC) -> Reading:
    """Return what the kernel says of this machine; nothing where it says nothing."""
    try:
        stat = (proc / "stat").read_text(encoding="ascii", errors="replace")
        memory = (proc / "meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return Reading()
    return parse_reading(stat, memory)


def parse_reading(stat: str, memory: str) -> Reading:
    """Read /proc/stat and /proc/meminfo; what is not as expected counts as nothing."""
    words = stat.partition("\n")[0].split()
    numbers = [int(word) for word in words[1 : 1 + _COUNTED] if word.isdecimal()]
    free = None
    for line in memory.splitlines():
        name, _, value = line.partition(":")
        amount = value.split()[:1]
        if name == "MemAvailable" and amount and amount[0].isdecimal():
            free = 1024 * int(amount[0])
    if words[:1] != ["cpu"] or len(numbers) < _IO_WAIT + 1:
        return Reading(free_bytes=free)
    idle = numbers[_IDLE] + numbers[_IO_WAIT]
    return Reading(sum(numbers), idle, numbers[_IO_WAIT], free)
