"""Starts real crawls, kills them, and reads what the fake web saw."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from gossamer.fakeweb.log import Log
from gossamer.fakeweb.process import FakeWeb

RunGossamer = Callable[..., "subprocess.CompletedProcess[str]"]


def read_jsonl(text: str) -> list[dict[str, object]]:
    """Return the objects of a JSON Lines text."""
    return [json.loads(line) for line in text.splitlines()]


def command(web: FakeWeb, workspace: Path, *flags: str) -> list[str]:
    """Return the command line of a crawl of a fake web from its first page."""
    names = ["--set", f'urlserver.dns_servers=["{web.dns}"]'] if web.dns else []
    return [
        sys.executable,
        "-m",
        "gossamer.cli",
        "crawl",
        *web.start_urls,
        "--dir",
        str(workspace),
        "--scope",
        "any",
        "--allow-private",
        *names,
        *flags,
    ]


def crawl(web: FakeWeb, workspace: Path, *flags: str, timeout: float = 540.0) -> str:
    """Run a crawl to its end; fail unless it says that it is finished."""
    result = subprocess.run(
        command(web, workspace, *flags),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert result.returncode == 0, (result.returncode, result.stdout, result.stderr)
    assert "Traceback" not in result.stderr, result.stderr
    return result.stderr


def children_of(parent: int) -> list[int]:
    """Return the processes whose parent this is."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def pages_in(log: Log) -> Counter[str]:
    """Return how often each URL but robots.txt was asked for."""
    return Counter(request.url for request in log.requests if not request.is_robots)


class Onlooker:
    """Counts the requests in a growing log without reading it again and again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._count = 0

    def requests(self) -> int:
        """Return how many requests the server has seen so far."""
        with self._path.open("rb") as log:
            log.seek(self._offset)
            fresh = log.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._count += sum(line.startswith(b"S\t") for line in whole.splitlines())
        return self._count


class Killer:
    """Kills a crawl again and again at random moments until it has had enough."""

    def __init__(self, web: FakeWeb, argv: Sequence[str], seed: int) -> None:
        self._onlooker = Onlooker(web.log_path)
        self._argv = argv
        self._random = random.Random(seed)
        self.kills_of_all = 0
        self.kills_of_one = 0
        self.kills: list[tuple[float, float]] = []
        """Monotonic times just before and just after each kill."""
        self.restarts: list[float] = []

    def run(self, kills: int, most_requests_between: int) -> None:
        """Start, kill and restart until there were so many kills, then let it finish."""
        while self.kills_of_all + self.kills_of_one < kills:
            with self._start() as process:
                self._torment(process, most_requests_between, kills)
                if process.poll() == 0:
                    return
        with self._start() as process:
            assert process.wait(timeout=300) == 0

    def _start(self) -> "subprocess.Popen[bytes]":
        self.restarts.append(time.monotonic())
        return subprocess.Popen(
            self._argv,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _torment(
        self, process: "subprocess.Popen[bytes]", most_requests_between: int, kills: int
    ) -> None:
        """Kill single workers for a while, then all at once or the coordinator alone."""
        while process.poll() is None and self.kills_of_all + self.kills_of_one < kills:
            enough = self._onlooker.requests() + self._random.randint(1, most_requests_between)
            while process.poll() is None and self._onlooker.requests() < enough:
                time.sleep(0.005)
            if process.poll() is not None:
                return
            kind = self._random.random()
            workers = children_of(process.pid)
            if kind < 0.5 and workers:
                with suppress(ProcessLookupError):  # it may have ended since it was looked up
                    self._kill(os.kill, self._random.choice(workers))
                    self.kills_of_one += 1
                continue
            self._kill(os.killpg if kind < 0.8 else os.kill, process.pid)
            self.kills_of_all += 1
            process.wait()
            return

    def _kill(self, how: Callable[[int, int], None], target: int) -> None:
        before = time.monotonic()
        how(target, signal.SIGKILL)
        self.kills.append((before, time.monotonic()))
