"""How far a crawl is: numbers for people, taken a few times a second."""

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from gossamer.catalog.catalog import Counts

_RATE_SECONDS = 10.0
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


class Progress(Struct, frozen=True, kw_only=True):
    """A snapshot of a running crawl."""

    pages: int = 0
    pages_per_second: float = 0.0
    discovered: int = 0
    pending: int = 0
    leased: int = 0
    done: int = 0
    excluded: int = 0
    failed: int = 0
    hosts: int = 0
    in_flight: int = 0
    errors: int = 0
    memory_bytes: int = 0
    bytes: int = 0
    state: str = "running"


class Rate:
    """Pages a second over the last few seconds."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def note(self, now: float, pages: int) -> float:
        """Take a reading; return the rate."""
        self._marks.append((now, pages))
        while len(self._marks) > 2 and now - self._marks[0][0] > _RATE_SECONDS:
            self._marks.popleft()
        first_at, first_pages = self._marks[0]
        elapsed = now - first_at
        return (pages - first_pages) / elapsed if elapsed > 0 else 0.0


def progress_of(
    counts: Counts,
    *,
    rate: float,
    hosts: int,
    in_flight: int,
    memory: int,
    received: int,
    state: str,
) -> Progress:
    """Put a snapshot together."""
    return Progress(
        pages=counts.pages,
        pages_per_second=rate,
        discovered=counts.discovered,
        pending=counts.pending,
        leased=counts.leased,
        done=counts.done,
        excluded=counts.excluded,
        failed=counts.failed,
        hosts=hosts,
        in_flight=in_flight,
        errors=counts.failed,
        memory_bytes=memory,
        bytes=received,
        state=state,
    )


def memory_of(process_ids: Iterable[int]) -> int:
    """Return the resident memory of this process and of these, in bytes (Linux; elsewhere 0)."""
    total = 0
    for process_id in ("self", *process_ids):
        try:
            fields = Path(f"/proc/{process_id}/statm").read_text().split()
        except OSError:
            continue
        total += int(fields[1]) * _PAGE_SIZE
    return total
