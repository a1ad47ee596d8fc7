"""The extractor: a process of its own that extracts while an engine fetches.

It looks for queued jobs twice a second, and has processes of its own that do them. It ends with the
engine, however that ends. When it dies, nothing is lost, and its handle starts it again.
"""

import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from gossamer.catalog.connection import Database
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.clock import Clock, ShiftedClock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.duty import begin_duty
from gossamer.crawl.launch import Launched
from gossamer.crawl.link import Link, Tag
from gossamer.crawl.workspace import Workspace
from gossamer.errors import GossamerError
from gossamer.news.extract_crew import Crew
from gossamer.news.extract_drain import LOOK_SECONDS, Drain
from gossamer.news.extract_worker import EXTRACTOR, Duty

_MODULE: Final = "gossamer.news.extractor"
_BUSY_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 10.0
_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 60.0
_LONG_LIFE_SECONDS: Final = 60.0
_MAX_TRIES_TO_DRAIN: Final = 5


class Extractor:
    """The engine's handle: keeps the process alive until it is stopped."""

    def __init__(
        self,
        directory: Path,
        settings: Settings,
        clock: Clock | None = None,
        extractor: str = EXTRACTOR,
    ) -> None:
        self._duty = Duty(str(Workspace(directory).require().directory), settings, extractor)
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._draining = self._stopping = False
        self._process = _Process(self._now())
        # The kernel ends the process with the thread that began it: this one lives longer.
        self._guard = threading.Thread(target=self._keep_alive, name="extractor", daemon=True)
        self.restarts = 0
        """How often the process had to be started again."""
        self._guard.start()

    @property
    def alive(self) -> bool:
        """Whether the process runs at this moment."""
        return self._process.popen.poll() is None

    @property
    def process_id(self) -> int:
        """The process that runs now, or ran last."""
        return self._process.popen.pid

    def stop(self, *, drain: bool) -> bool:
        """Have it end, after the whole queue if `drain`; return whether it ended as told.

        May be called again: to end at once what was to drain first.
        """
        with self._lock:
            self._draining, self._stopping = drain, not drain
            self._process.tell_end(drain=drain)
        self._wake.set()
        self._guard.join(None if drain else _STOP_SECONDS)
        if self._guard.is_alive():
            self._process.popen.kill()
            self._guard.join()
        self._process.close()
        return self._process.popen.returncode == 0

    def _now(self) -> Duty:
        """Return its duty, with the time of this moment."""
        if self._clock is None:
            return self._duty
        return msgspec.structs.replace(self._duty, at=self._clock.time())

    def _keep_alive(self) -> None:
        pause, deaths = _FIRST_PAUSE_SECONDS, 0
        while True:
            began = SystemClock.monotonic()
            self._process.popen.wait()
            if SystemClock.monotonic() - began > _LONG_LIFE_SECONDS:
                pause, deaths = _FIRST_PAUSE_SECONDS, 0
            deaths += 1
            if self._is_over(deaths):
                return
            self._wake.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            with self._lock:
                if self._stopping:
                    return
                self._process.close()
                self._process = _Process(self._now())
                self.restarts += 1
                if self._draining:
                    self._process.tell_end(drain=True)

    def _is_over(self, deaths: int) -> bool:
        with self._lock:
            told = self._draining or self._stopping
            as_told = told and self._process.popen.returncode == 0
            return self._stopping or as_told or (told and deaths >= _MAX_TRIES_TO_DRAIN)


class _Process:
    """One life of the process."""

    def __init__(self, duty: Duty) -> None:
        self._launched = Launched(_MODULE)
        assert isinstance(self._launched.process, subprocess.Popen)
        self.popen = self._launched.process
        self._link = Link(self._launched.end, blocking=False)
        self._link.send(Tag.HELLO, duty)

    def tell_end(self, *, drain: bool) -> None:
        self._link.send(Tag.STOP, drain)

    def close(self) -> None:
        self._launched.close()


@contextmanager
def opened(duty: Duty) -> Iterator[Database]:
    """Open the catalog of a workspace as one of several writers."""
    workspace = Workspace(Path(duty.directory)).require()
    with NewsCatalog.open(workspace.catalog, duty.settings.catalog, shared=True) as catalog:
        yield catalog.database


def main(arguments: Sequence[str]) -> int:
    """Run the process: descriptors of its link and of its watch are its arguments."""
    link, _, first = begin_duty(arguments)
    duty = msgspec.msgpack.decode(first, type=Duty)
    clock = SystemClock() if duty.at is None else ShiftedClock(duty.at)
    news = duty.settings.news
    try:
        with opened(duty) as database, Crew(max(1, news.extractors), duty) as crew:
            return _serve(link, Drain(database, crew, news, clock))
    except GossamerError as error:
        print(f"gossamer: extraction: {error}", file=sys.stderr)
        return error.exit_code


def _serve(link: Link, drain: Drain) -> int:
    """Work off the queue until told to end; return the exit code."""
    draining = False
    # What came along with the first message does not make the descriptor readable any more.
    heard = list(link.receive(read=False))
    while True:
        for tag, payload in heard:
            if tag is Tag.STOP:
                draining = msgspec.msgpack.decode(payload, type=bool)
                if not draining:
                    drain.keep()
                    return 0
        if link.closed:
            return 1
        drain.step(_BUSY_SECONDS)
        if drain.is_idle and draining and not drain.look():
            return 0
        wait = LOOK_SECONDS if drain.is_idle else 0.0
        heard = list(link.receive()) if select.select([link], [], [], wait)[0] else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
