"""When which periodic process is due: a pure rule over a clock that never goes back."""

from collections.abc import Collection
from typing import Final

SHORTEST_SECONDS: Final = 0.001
"""A shorter period would leave no time for anything else."""


class Schedule:
    """Periods by name. A run that comes late is not made up for: the next one counts from it."""

    def __init__(self) -> None:
        self._periods: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def set(self, name: str, period_seconds: float, now: float) -> None:
        """Run something every so many seconds, first after one period; 0: never."""
        self._periods[name] = max(period_seconds, SHORTEST_SECONDS) if period_seconds > 0 else 0.0
        self._last.setdefault(name, now)

    @property
    def periods(self) -> dict[str, float]:
        """All periods by name."""
        return dict(self._periods)

    def due(self, now: float) -> list[str]:
        """Return what is due, the longest overdue first."""
        waiting = {name: now - moment for name, moment in self._moments().items()}
        overdue = [name for name, late in waiting.items() if late >= 0]
        return sorted(overdue, key=lambda name: -waiting[name])

    def started(self, name: str, now: float) -> None:
        """Take note of a run."""
        self._last[name] = now

    def wait_seconds(self, now: float, busy: Collection[str] = ()) -> float | None:
        """Return the time until something is due, but for what is busy; None if nothing ever is."""
        moments = [moment for name, moment in self._moments().items() if name not in busy]
        return max(0.0, min(moments) - now) if moments else None

    def _moments(self) -> dict[str, float]:
        return {
            name: self._last[name] + period for name, period in self._periods.items() if period > 0
        }
