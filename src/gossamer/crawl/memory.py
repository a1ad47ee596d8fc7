"""How this program uses memory: the garbage collector's pace, and the most it ever had.

Almost everything here dies by reference counting: messages are structs that hold no cycles. The
collector's default pace (every 700 new objects) costs a tenth of the coordinator's time to find
nothing (`bench/run.py`); a hundred times rarer it still bounds what a cycle can hold.
"""

import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_KIB: Final = 1_024 if sys.platform == "linux" else 1
_YOUNG_OBJECTS: Final = 70_000


def calm_collector() -> None:
    """Leave what exists now alone for good, and look at new objects rarely."""
    gc.collect()
    gc.freeze()
    collect_rarely()


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Make much that stays: the collector would find no garbage in it, neither now nor later."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def collect_rarely() -> None:
    """Look at new objects rarely: what a program loads when it starts is no garbage either."""
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)


def peak_bytes() -> int:
    """Return the most memory that this process ever had.

    Not getrusage's figure, which a process inherits from the one that started it.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    lines = (line.split() for line in status.splitlines())
    return next((int(line[1]) * _KIB for line in lines if line[:1] == ["VmHWM:"]), 0)
