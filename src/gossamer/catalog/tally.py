"""Counters of one transaction: gathered while rows change, written once at its end."""

import sqlite3
from typing import Final

from gossamer.catalog.queries import QUERIES
from gossamer.outcomes import State

STATES: Final = len(State)
_PENDING: Final = int(State.PENDING)


class HostTally:
    """What one transaction changes for one host."""

    __slots__ = ("fresh", "moves", "wake")

    def __init__(self) -> None:
        self.moves = [0] * STATES
        """Change of the number of URLs in each state."""
        self.fresh = False
        """Whether something of it became due at once."""
        self.wake: float | None = None
        """When the earliest retry of this transaction is due."""


class Tally:
    """What one transaction changes in all."""

    def __init__(self) -> None:
        self._hosts: dict[int, HostTally] = {}
        self._outcomes: dict[int, int] = {}
        self.pages = 0
        self.duplicates = 0

    def move(
        self,
        host_id: int,
        before: int | None,
        after: int,
        due_at: float = 0.0,
        *,
        count: int = 1,
    ) -> None:
        """Count URLs that enter a state, out of another one unless they are new."""
        host = self._hosts.get(host_id)
        if host is None:
            host = self._hosts[host_id] = HostTally()
        if before is not None:
            host.moves[before] -= count
        host.moves[after] += count
        if after == _PENDING:
            if due_at <= 0.0:
                host.fresh = True
            elif host.wake is None or due_at < host.wake:
                host.wake = due_at

    def judge(self, before: int | None, after: int | None, *, count: int = 1) -> None:
        """Count URLs whose outcome changes."""
        if before == after:
            return
        if before is not None:
            self._outcomes[before] = self._outcomes.get(before, 0) - count
        if after is not None:
            self._outcomes[after] = self._outcomes.get(after, 0) + count

    def write(self, connection: sqlite3.Connection, turn: int, now: float) -> None:
        """Move the stored counters; hosts with new work get into the line at `turn`."""
        hosts = self._hosts.items()
        connection.executemany(
            QUERIES["count_host"], [(*tally.moves, host_id) for host_id, tally in hosts]
        )
        lined_up = [
            {"host_id": host_id, "fresh": tally.fresh, "wake": tally.wake, "turn": turn, "now": now}
            for host_id, tally in hosts
            if tally.fresh or tally.wake is not None
        ]
        connection.executemany(QUERIES["line_up_host"], lined_up)
        totals = [sum(column) for column in zip(*(t.moves for _, t in hosts), strict=True)]
        connection.execute(
            QUERIES["count_total"], (*(totals or [0] * STATES), self.pages, self.duplicates)
        )
        connection.executemany(
            QUERIES["count_outcome"], [change for change in self._outcomes.items() if change[1]]
        )
