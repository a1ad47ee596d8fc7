"""A memory bounded in bytes that forgets what was not asked for lately."""

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


class Generations(dict[str, Value]):
    """Answers by key, made when missing; when the young generation is full it becomes the old one.

    Cheaper than an exact order of use: what is young costs one look-up in a plain dict, what is old
    is moved back when asked for, what is older is made anew.
    """

    def __init__(
        self, make: Callable[[str], Value], weigh: Callable[[str, Value], int], max_bytes: int
    ) -> None:
        super().__init__()
        self._make = make
        self._weigh = weigh
        self._half = max(max_bytes // 2, 1)
        self._old: dict[str, Value] = {}
        self._bytes = 0
        self.turn = 0
        """How often a generation grew old: a value taken before may be about to be forgotten."""

    def __missing__(self, key: str) -> Value:
        value = self._old.pop(key, None)
        # What would fill a good part of a generation by itself is begun anew instead of moved.
        if value is None or self._weigh(key, value) > self._half // 4:
            value = self._make(key)
        self[key] = value
        self.grow(self._weigh(key, value))
        return value

    def forget(self) -> None:
        """Forget everything."""
        self.clear()
        self._old = {}
        self._bytes = 0
        self.turn += 1

    def grow(self, count_bytes: int) -> None:
        """Account for bytes added; may begin a new generation."""
        self._bytes += count_bytes
        if self._bytes > self._half:
            self._old = dict(self)
            self.clear()
            self._bytes = 0
            self.turn += 1
