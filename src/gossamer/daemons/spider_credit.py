"""How many orders a Spider asks for: a pure rule."""

from typing import Final

# Small grants are put together, so that not every DONE is followed by a GET.
_WORTH_ASKING: Final = 8


def room_in(free_bytes: float, typical_bytes: float, promised: int) -> int:
    """Return how many more results the spool can take, when each promised order brings one.

    While there is any space, one order is always possible, or the largest result of all would keep
    a small spool idle for ever.
    """
    if free_bytes <= 0:
        return 0
    return max(int(free_bytes / max(typical_bytes, 1.0)) - promised, 0 if promised else 1)


def grant(share: int, open_orders: int, credit: int, room: int) -> int:
    """Return how many orders to ask a URL Server for now; 0 if it is not worth a line."""
    count = min(share - open_orders - credit, room)
    if count <= 0 or (credit and count < share // _WORTH_ASKING):
        return 0
    return count
