"""The engine in a process of its own, beside the daemon: it ends with whoever started it."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.config.settings import Settings
from gossamer.crawl.progress import Progress
from gossamer.crawl.stops import Stops
from gossamer.errors import GossamerError
from gossamer.wording import visible

_STOP_SECONDS = 20.0


class Orders(Struct, frozen=True):
    """Where to crawl, and how."""

    directory: str
    settings: Settings


class EngineProcess:
    """Keeps an engine running; what it was doing when it died is done again by the next."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        self._orders = msgspec.json.encode(Orders(str(directory), settings)) + b"\n"
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        """How often an engine was started."""
        self._last_code: int | None = None
        self._complaints: list[str] = []

    @property
    def process_id(self) -> int | None:
        """The number of the process, if there is one."""
        return None if self._process is None else self._process.pid

    def tend(self) -> None:
        """Start the engine unless it runs."""
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                self._last_code = None
                return
            self._note_end(code)
        self.stop()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gossamer.service.engine_process"], stdin=subprocess.PIPE
        )
        self.starts += 1
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(self._orders)
            self._process.stdin.flush()

    def _note_end(self, code: int) -> None:
        """Complain of an engine that has ended by itself; once, if the next ones do the same."""
        if code != self._last_code:
            self._complaints.append(
                f"the engine has ended by itself (exit code {code}) and is started again; "
                "what it complained of is on standard error"
            )
        self._last_code = code

    def take_complaints(self) -> list[str]:
        """Return what people should know, once."""
        taken, self._complaints = self._complaints, []
        return taken

    def stop(self) -> None:
        """End the engine in good order."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Pauses:
    """Tells people once why nothing is fetched, and once that it goes on."""

    def __init__(self, stops: Stops, say: Callable[[str], None]) -> None:
        self._stops = stops
        self._say = say
        self._is_paused = False

    def look_at(self, progress: Progress) -> None:
        """Take a snapshot."""
        is_paused = progress.state != "running"
        if is_paused and not self._is_paused:
            self._say(f"crawling has {progress.state}: {self._stops.pause_detail}")
        elif self._is_paused and not is_paused:
            self._say("there is room again: crawling goes on")
        self._is_paused = is_paused


def _complain(text: str) -> None:
    print(f"gossamer: {visible(text)}", file=sys.stderr, flush=True)


def main() -> int:
    """Run an engine until standard input ends."""
    from gossamer.service.engine import run_engine  # noqa: PLC0415 - the handle does without

    line = sys.stdin.buffer.readline()
    if not line:
        return 1
    orders = msgspec.json.decode(line, type=Orders)
    descriptor = sys.stdin.fileno()
    stops = Stops()

    def until_end() -> None:
        # Not through the buffer, whose lock would keep the interpreter from ending before this.
        while os.read(descriptor, 4_096):
            pass
        stops.terminate()

    threading.Thread(target=until_end, name="gossamer-parent", daemon=True).start()
    try:
        run_engine(
            Path(orders.directory),
            orders.settings,
            stops=stops,
            on_progress=Pauses(stops, _complain).look_at,
        )
    except GossamerError as error:
        _complain(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
