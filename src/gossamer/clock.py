"""Time as an argument, so that rules about time can be tested without waiting."""

import time
from datetime import UTC
from typing import Protocol


class Clock(Protocol):
    """Where rules get the time from."""

    def time(self) -> float:
        """Seconds since 1970 (UTC): for what is stored."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start that never go back: for delays."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    # Last, because from here on `time` is this method and no longer the module.
    time = staticmethod(time.time)


class ShiftedClock:
    """The machine's clock, but it shows another time of day: for rehearsals."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)

    def __init__(self, start: float) -> None:
        self._offset = start - time.monotonic()

    def time(self) -> float:
        """Return the wall time, as if it had been `start` when the clock was made."""
        return self._offset + self.monotonic()


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._wall = start
        self._monotonic = 1_000.0

    def time(self) -> float:
        """Return the wall time."""
        return self._wall

    def monotonic(self) -> float:
        """Return the monotonic time."""
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        """Advance instead of waiting."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self._wall += seconds
        self._monotonic += seconds


def header_moment(text: str | None) -> float | None:
    """Return the moment that a header such as Last-Modified names; None if it names none."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few servers are asked for one

    try:
        moment = parsedate_to_datetime(text or "")
        # One of the three forms names no zone; all of them are in UTC (RFC 9110, 5.6.7).
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
