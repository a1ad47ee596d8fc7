"""Figures of the process, and the counters that outlive it."""

import os
import sys
import threading
from pathlib import Path
from typing import Final

import msgspec

Figures = dict[str, float]
Statistics = dict[str, Figures]
"""Counters by the name of the thread class."""

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_MAX_BYTES: Final = 1 << 22
_decoder = msgspec.json.Decoder(Statistics)


def process_figures() -> dict[str, float]:
    """Return memory in bytes, processor time in seconds, and the number of threads."""
    virtual, resident = _memory()
    times = os.times()
    return {
        "RAMV": virtual,
        "RAMR": resident,
        "CPUU": times.user,
        "CPUS": times.system,
        "THREADS": threading.active_count(),
    }


def _memory() -> tuple[int, int]:
    if sys.platform != "linux":
        import resource  # noqa: PLC0415 - only where /proc is missing

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most, most
    words = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(words[0]) * _PAGE_BYTES, int(words[1]) * _PAGE_BYTES


def read_statistics(path: Path) -> Statistics:
    """Return the counters of earlier runs; none if there is no file.

    Raises ValueError if the file is not what was written.
    """
    try:
        content = path.read_bytes()[:_MAX_BYTES]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    try:
        return _decoder.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path} does not hold statistics: {error}") from error


def write_statistics(path: Path, statistics: Statistics) -> None:
    """Replace the file in one step, so that a crash leaves the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(statistics, order="sorted"), indent=2))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
