"""Python's garbage collector, told how this program lives.

Almost everything here dies by reference counting: messages are structs that hold no cycles. The
collector's default pace (every 700 new objects) costs a tenth of the coordinator's time to find
nothing (`bench/run.py`); a hundred times rarer it still bounds what a cycle can hold.
"""

import gc
from typing import Final

_YOUNG_OBJECTS: Final = 70_000


def calm_collector() -> None:
    """Leave what exists now alone for good, and look at new objects rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)
