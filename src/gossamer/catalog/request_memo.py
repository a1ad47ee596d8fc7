"""What the engine remembers of requests between transactions; nothing that must survive a crash."""

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct

from gossamer.objects.file_references import ReadFile, no_files

_MOST: Final = 100_000

ItemKey = tuple[int, int, int]
"""Batch, set and document."""
AskedMember = tuple[int, int, str, float, float | None]
"""Set, document, what its item asked for itself; and by which moments a URL that has started again,
or left and come back, is told from what it was."""


class Asked(Struct, frozen=True, gc=False):
    """How a URL was asked for."""

    proxy: str = ""
    proxy_id: int = 0
    """Its number in the catalog; 0 if it is not there."""
    tries_count: int = 1
    status_after_tries: int = 0
    rotates: bool = True
    counts_faults: bool = True
    is_look: bool = False
    """Only its head was asked for, to see whether it has changed."""
    members: frozenset[AskedMember] = frozenset()
    """Those that it was asked for, whatever became of their batches."""


class PatternTime:
    """How long patterns of clients may take in one transaction: only their own time counts."""

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._left = seconds

    def is_over(self) -> bool:
        """Whether no further pattern is looked for."""
        return self._left <= 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time that the block takes."""
        began = self._monotonic()
        try:
            yield
        finally:
            self._left -= self._monotonic() - began


class RequestMemo:
    """Who was asked through what, and when the next request may be made."""

    def __init__(self) -> None:
        self.asked: dict[int, Asked] = {}
        """Requests that are out, by document."""
        self.tried: dict[ItemKey, list[str]] = {}
        """Proxies that failed for an item of a batch."""
        self.looked: dict[ItemKey, None] = {}
        """Items whose head has shown a change: the whole is asked for."""
        self.proxy_uses: dict[str, int] = {}
        self.read_file: ReadFile = no_files
        self._next: dict[str, float] = {}

    def ask(self, doc_id: int, asked: Asked) -> None:
        """Remember how a URL is asked for now."""
        trim(self.asked)
        self.asked[doc_id] = asked
        if asked.proxy:
            trim(self.proxy_uses)
            self.proxy_uses[asked.proxy] = self.proxy_uses.get(asked.proxy, 0) + 1

    def is_free(self, key: str, max_delay: float, now: float) -> bool:
        """Whether a request would not have to wait for longer than this."""
        return self._next.get(key, 0.0) - now <= max_delay

    def reserve(self, key: str, gap: float, now: float) -> None:
        """Give away the next moment for a request."""
        trim(self._next)
        # A clock that was set back must not keep anybody waiting.
        due = min(max(self._next.get(key, 0.0), now), now + 86_400.0)
        self._next[key] = due + gap


def trim(memory: MutableMapping[Any, Any]) -> None:
    """Forget what is oldest, if there is too much."""
    while len(memory) >= _MOST:
        del memory[next(iter(memory))]
