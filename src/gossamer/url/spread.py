"""How many values the parameters of a path take, in little memory."""

from collections.abc import Iterable
from math import log
from typing import Final

_BITS: Final = 4_096
_MAX_PARAMETERS: Final = 12
# A bit map this full has seen more values than it can tell apart.
_FULL: Final = _BITS * 15 // 16


class Spread:
    """Tells an identifier (many values, one a page) from combined choices (few values each).

    Each parameter has a bit map in which the hash of a value sets one bit (linear counting).
    """

    def __init__(self, first_check: int) -> None:
        self._seen: dict[str, bytearray] = {}
        self._count = 0
        self._next_check = first_check

    @property
    def marks(self) -> tuple[int, int]:
        """What must be put back to take URLs back: a bit that is set twice is set once."""
        return self._count, self._next_check

    @marks.setter
    def marks(self, marks: tuple[int, int]) -> None:
        self._count, self._next_check = marks

    def add(self, parameters: Iterable[str]) -> None:
        """Take note of the parameters of one more URL."""
        self._count += 1
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            bits = self._seen.get(name)
            if bits is None:
                if len(self._seen) == _MAX_PARAMETERS:
                    continue
                bits = self._seen[name] = bytearray(_BITS // 8)
            place = hash(value) % _BITS
            bits[place >> 3] |= 1 << (place & 7)

    def is_combined(self) -> bool:
        """Whether no parameter has as many values as an id would; asked at growing distances."""
        if self._count <= self._next_check:
            return False
        self._next_check = 2 * self._count
        # Four URLs for one id are common: a view to print, an order, a second page.
        return max(map(_distinct, self._seen.values()), default=0) * 4 < self._count


def _distinct(bits: bytearray) -> float:
    ones = int.from_bytes(bits, "little").bit_count()
    return float("inf") if ones >= _FULL else -_BITS * log(1 - ones / _BITS)
