"""The crawl while it runs: a live panel on a terminal, a plain line every few seconds otherwise.

Drawn by hand rather than by a table library: it is redrawn four times a second beside a crawl that
counts its CPU time in microseconds a page.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from gossamer.cli.terminal import can_draw
from gossamer.wording import bytes_in_words, seconds_in_words, visible

if TYPE_CHECKING:
    from gossamer.crawl.progress import Progress

PLAIN_SECONDS = 5.0
LIVE_SECONDS = 0.25
_BARS = "▁▂▃▄▅▆▇█"
_HISTORY = 32
_BAR_WIDTH = 60
_UP = "\x1b[{}A"
_CLEAR_LINE = "\x1b[2K"
_CLEAR_BELOW = "\r\x1b[J"
_HIDE_CURSOR = "\x1b[?25l"
_SHOW_CURSOR = "\x1b[?25h"
_DIM, _BOLD, _RED, _RESET = "\x1b[2m", "\x1b[1m", "\x1b[31m", "\x1b[0m"


class Display(Protocol):
    """What shows the progress of a crawl."""

    def show(self, progress: "Progress") -> None:
        """Take note of where the crawl stands."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


@contextmanager
def follow(
    stream: TextIO, *, quiet: bool, bar: bool = False
) -> Iterator[Callable[["Progress"], None] | None]:
    """Give a function that shows progress on the stream until the block ends.

    `bar`: on a terminal also how much of all that is known is done, for a crawl that has an end.
    """
    if quiet:
        yield None
        return
    live = can_draw(stream)
    display: Display = LiveDisplay(stream, bar=bar) if live else PlainDisplay(stream)
    try:
        yield display.show
    finally:
        display.close()


class PlainDisplay:
    """One line every few seconds, for logs."""

    def __init__(
        self,
        stream: TextIO,
        monotonic: Callable[[], float] = time.monotonic,
        every_seconds: float = PLAIN_SECONDS,
    ) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._every_seconds = every_seconds
        self._next = monotonic() + every_seconds
        self._state = ""

    def show(self, progress: "Progress") -> None:
        """Print a line when it is time, and at once when the state changes."""
        now = self._monotonic()
        changed = bool(self._state) and progress.state != self._state
        self._state = progress.state
        if now >= self._next or changed:
            self._next = now + self._every_seconds
            print(plain_line(progress), file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing to put back."""


class LiveDisplay:
    """A few lines that are drawn over and over."""

    def __init__(
        self,
        stream: TextIO,
        monotonic: Callable[[], float] = time.monotonic,
        colours: bool | None = None,
        *,
        bar: bool = False,
    ) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._colours = not os.environ.get("NO_COLOR") if colours is None else colours
        self._bar = bar
        self._rates: deque[float] = deque(maxlen=_HISTORY)
        self._started = monotonic()
        self._next = 0.0
        self._next_rate = 0.0
        self._drawn = 0

    def show(self, progress: "Progress") -> None:
        """Draw, but never more often than four times a second."""
        now = self._monotonic()
        if now < self._next:
            return
        self._next = now + LIVE_SECONDS * 0.9
        if now >= self._next_rate:
            self._rates.append(progress.pages_per_second)
            self._next_rate = now + 1.0
        width, height = _size_of(self._stream)
        lines = live_lines(progress, self._rates, now - self._started)
        if self._bar:
            lines.insert(0, bar_line(progress, width - 1))
        # What would scroll could not be drawn over.
        fitting = [line[: max(width - 1, 1)] for line in lines[: max(height - 1, 1)]]
        self._draw([self._styled(line, progress) for line in fitting])

    def close(self) -> None:
        """Show the cursor again; the last lines stay, unless there is a bar among them.

        A bar that stopped on its way would say of a crawl that has ended that it has not.
        """
        if self._drawn:
            wiped = _UP.format(self._drawn) + _CLEAR_BELOW if self._bar else ""
            self._stream.write(wiped + _SHOW_CURSOR)
            self._stream.flush()

    def _draw(self, lines: list[str]) -> None:
        start = _UP.format(self._drawn) if self._drawn else _HIDE_CURSOR
        body = "".join(f"\r{_CLEAR_LINE}{line}\n" for line in lines)
        self._stream.write(start + body)
        self._stream.flush()
        self._drawn = len(lines)

    def _styled(self, line: str, progress: "Progress") -> str:
        if not self._colours:
            return line
        if line.startswith("pages"):
            return f"{_BOLD}{line}{_RESET}"
        alarming = line.startswith("state") and progress.state != "running"
        return f"{_RED if alarming else _DIM}{line}{_RESET}"


def _size_of(stream: TextIO) -> tuple[int, int]:
    """Return columns and rows of the very terminal that is drawn on: output may go elsewhere."""
    import shutil  # here, for it takes a part of each start

    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except OSError:
        columns, rows = 0, 0
    usual = shutil.get_terminal_size()
    return columns or usual.columns, rows or usual.lines


def plain_line(progress: "Progress") -> str:
    """Return where the crawl stands, in one line."""
    return (
        f"pages {progress.pages} ({progress.pages_per_second:.1f}/s) queue {queue_of(progress)} "
        f"known {progress.discovered} hosts {progress.hosts} in-flight {progress.in_flight} "
        f"failed {progress.failed} excluded {progress.excluded} errors {progress.errors} "
        f"memory {bytes_in_words(progress.memory_bytes)} state {visible(progress.state)}"
    )


def queue_of(progress: "Progress") -> int:
    """Return how many URLs wait: in the catalog, or leased to the URL server and not in flight."""
    return max(0, progress.pending + progress.leased - progress.in_flight)


def live_lines(progress: "Progress", rates: deque[float], seconds: float) -> list[str]:
    """Return the lines of the live display."""
    p = progress
    rate = f"{p.pages_per_second:,.1f}/s {sparkline(rates)}"
    known = f"known {p.discovered:,}  excluded {p.excluded:,}"
    machine = f"memory {bytes_in_words(p.memory_bytes)}  {seconds_in_words(seconds)}"
    return [
        f"pages {p.pages:,}  {rate}  {bytes_in_words(p.bytes)}",
        f"queue {queue_of(p):,}  in flight {p.in_flight:,}  hosts {p.hosts:,}  {known}",
        f"state {visible(p.state)}  failed {p.failed:,}  errors {p.errors:,}  {machine}",
    ]


def bar_line(progress: "Progress", width: int) -> str:
    """Return a bar of this width: what is over, of all that is known and wanted."""
    wanted = progress.discovered - progress.excluded
    over = wanted - progress.pending - progress.leased
    share = min(max(over / wanted, 0.0), 1.0) if wanted > 0 else 0.0
    figure = f" {share:4.0%}"
    room = max(min(width, _BAR_WIDTH) - len(figure), 1)
    filled = int(share * room)
    return "█" * filled + "░" * (room - filled) + figure


def sparkline(values: deque[float]) -> str:
    """Draw numbers as a row of bars; the largest is a full one."""
    top = max(values, default=0.0)
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[min(int(value / top * 7.999), 7)] for value in values)
