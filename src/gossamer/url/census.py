"""Counts by host and pattern: bounded, saved with the catalog, taken back when a commit fails."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

Count = tuple[str, str, int, str]
"""Host, pattern, count, and the reason if the pattern is in quarantine, else ''."""

# Counts below this are not worth keeping on disk, and most patterns never pass it.
WORTH_KEEPING: Final = 16


class Entry:
    """A pattern on a host, how much was counted of it, and why it is in quarantine."""

    __slots__ = ("count", "host", "pattern", "reason")

    def __init__(self, host: str, pattern: str, count: int, reason: str = "") -> None:
        self.host = host
        self.pattern = pattern
        self.count = count
        self.reason = reason

    def saved(self) -> Count:
        """Return it in the form in which it is kept."""
        return self.host, self.pattern, self.count, self.reason


_Before = tuple[Entry | None, int, str]
"""What an undo puts back: entry, count, reason; without an entry, the count of the young."""


class Census:
    """Counts patterns, and forgets those that have not been met for long.

    Theory of operation. A pattern is first counted in a small table of two generations; from a
    handful on it has an entry, least recently used first out. What is counted between `begin` and
    `end` belongs to one transaction: the next `begin` without an `end` before it takes it back.
    """

    def __init__(self, max_entries: int = 20_000) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._changed: dict[str, Entry] = {}
        self._before: dict[str, _Before] | None = None

    def begin(self) -> None:
        """Begin a transaction; one that was begun earlier and never ended did not happen."""
        for key, (entry, count, reason) in (self._before or {}).items():
            if entry is None:
                self._entries.pop(key, None)
                self._young[key] = count
            else:
                entry.count, entry.reason = count, reason
                self._entries[key] = entry
            self._changed.pop(key, None)
        self._before = {}

    def end(self) -> None:
        """Take what was counted for good."""
        self._before = None
        self._changed.clear()

    def find(self, host: str, pattern: str) -> Entry | None:
        """Return the entry of a pattern, if it has one; it was met just now."""
        key = host + pattern
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def met(self, host: str, pattern: str, worth: int = WORTH_KEEPING) -> Entry | None:
        """Count one more, unless the pattern is in quarantine.

        Return the entry, or None while there are fewer than `worth`.
        """
        key = host + pattern
        entry = self._entries.get(key)
        if entry is None:
            count = self._young_count(key)
            if count < worth:
                return None
            return self._mark(key, self._enter(key, Entry(host, pattern, count)))
        self._entries.move_to_end(key)
        if entry.reason:
            return entry
        self._note(key, entry)
        entry.count += 1
        return self._mark(key, entry)

    def put(self, host: str, pattern: str, count: int, reason: str = "") -> None:
        """Set a count, and the reason for quarantine with it."""
        key = host + pattern
        entry = self.find(host, pattern)
        self._note(key, entry)
        if entry is None:
            entry = self._enter(key, Entry(host, pattern, count))
        entry.count, entry.reason = count, reason
        self._mark(key, entry)

    def counts(self) -> Iterable[Count]:
        """Yield all entries, to be saved."""
        for entry in self._entries.values():
            yield entry.saved()

    def changed(self) -> list[Count]:
        """Return what has changed since the last `end` and is worth saving."""
        return [entry.saved() for entry in self._changed.values()]

    def load(self, counts: Iterable[Count]) -> None:
        """Take up counts that were saved."""
        for host, pattern, count, reason in counts:
            self._enter(host + pattern, Entry(host, pattern, count, reason))

    def _note(self, key: str, entry: Entry | None) -> None:
        """Remember how things stand before the first change of a transaction."""
        if self._before is None or key in self._before:
            return
        if entry is None:
            self._before[key] = (None, self._young.get(key) or self._old.get(key, 0), "")
        else:
            self._before[key] = (entry, entry.count, entry.reason)

    def _mark(self, key: str, entry: Entry) -> Entry:
        if entry.count >= WORTH_KEEPING or entry.reason:
            self._changed[key] = entry
        return entry

    def _young_count(self, key: str) -> int:
        count = self._young.get(key) or self._old.get(key, 0)
        if self._before is not None:
            self._before.setdefault(key, (None, count, ""))
        count += 1
        self._young[key] = count
        if len(self._young) > 2 * self._max_entries:
            self._old, self._young = self._young, {}
        return count

    def _enter(self, key: str, entry: Entry) -> Entry:
        self._young.pop(key, None)
        self._entries[key] = entry
        if len(self._entries) > self._max_entries:
            forgotten, _ = self._entries.popitem(last=False)
            self._changed.pop(forgotten, None)
        return entry
