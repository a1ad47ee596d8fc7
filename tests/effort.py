"""How much work something is, told in ways that a busy machine does not change."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType


def least_cpu(action: Callable[[], object], tries: int = 5) -> float:
    """Return the CPU seconds of the cheapest try: what else the machine does can only add."""
    return min(_cpu_of(action) for _ in range(tries))


def _cpu_of(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


def least_used(process_id: int, seconds: float, tries: int = 3) -> float:
    """Return the CPU seconds that a process uses in such a time, in the quietest of some tries."""
    used = []
    for _ in range(tries):
        before = _used_so_far(process_id)
        time.sleep(seconds)
        used.append(_used_so_far(process_id) - before)
    return min(used)


def _used_so_far(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def calls_of(action: Callable[[], object]) -> int:
    """Return how many functions, ours and those of libraries, this thread calls meanwhile."""
    calls = 0

    def count(_frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event in {"call", "c_call"}:
            calls += 1

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls
