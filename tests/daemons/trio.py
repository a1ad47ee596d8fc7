"""The three daemons as real processes over a fake web: started, killed, started again."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from gossamer.catalog.catalog import Counts
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.fakeweb.process import FakeWeb
from held_ports import HeldPort

STORE, URL_SERVER = "store-server", "url-server"
_START_SECONDS = 30.0


def spider_name(number: int) -> str:
    """Return the name of one of the Spiders."""
    return f"spider-{number}"


class Trio:
    """A Store Server, one or more Spiders and a URL Server over one workspace."""

    def __init__(
        self,
        web: FakeWeb,
        folder: Path,
        *,
        spiders: int = 1,
        settings: tuple[str, ...] = (),
        url_server: tuple[str, ...] = (),
    ) -> None:
        self._web = web
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = [word for setting in settings for word in ("--set", setting)]
        if web.dns:
            self._settings += ["--set", f'urlserver.dns_servers=["{web.dns}"]']
        self._url_server_words = url_server
        listeners = [STORE, *(spider_name(number) for number in range(spiders))]
        self._held = {name: HeldPort() for name in listeners}
        self._ports = {name: held.port for name, held in self._held.items()}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.starts: list[tuple[str, float]] = []
        """Who was started, and when (monotonic)."""

    @property
    def workspace(self) -> Path:
        """The folder that URL Server and Store Server share."""
        return self._folder / "w"

    @property
    def names(self) -> list[str]:
        """Everybody, the URL Server last."""
        return [*self._ports, URL_SERVER]

    def __enter__(self) -> Self:
        for name in self.names:
            self.start(name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for held in self._held.values():
            held.close()

    def start(self, name: str) -> None:
        """Start one of them, and wait until a listener listens."""
        self.starts.append((name, time.monotonic()))
        with (self._folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self.command(name), stdout=log, stderr=log, start_new_session=True
            )
        if name in self._ports:
            wait_for(lambda: can_connect(self._ports[name]), f"{name} to listen")

    def kill(self, name: str) -> None:
        """Kill one of them with everything it has started, at once."""
        process = self.processes[name]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, name: str, timeout: float = 60.0) -> int:
        """Ask one of them to end; return its exit code."""
        process = self.processes[name]
        process.terminate()
        return process.wait(timeout)

    def command(self, name: str) -> list[str]:
        """Return the command line of one of them."""
        command = [sys.executable, "-m", "gossamer.cli"]
        if name == STORE:
            command += [STORE, "--listen", self._at(STORE), "--dir", str(self.workspace)]
            command += ["--workers", "1"]
        elif name == URL_SERVER:
            command += [URL_SERVER, *self._web.start_urls, "--dir", str(self.workspace)]
            for spider in self._ports:
                if spider != STORE:
                    command += ["--spider", self._at(spider)]
            command += self._url_server_words
        else:
            command += ["spider", "--listen", self._at(name), "--store", self._at(STORE)]
            command += ["--spool", str(self._folder / f"{name}-spool")]
        return [*command, "--allow-private", "--set", 'crawl.scope="any"', *self._settings]

    def log(self, name: str) -> str:
        """Return what one of them has said."""
        return (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def counts(self) -> Counts:
        """Return where all URLs stand."""
        with self.catalog() as catalog:
            return catalog.counts()

    def catalog(self) -> SqliteCatalog:
        """Open the doc index for reading."""
        return SqliteCatalog.open(self.workspace / "catalog.db", CatalogSettings(), read_only=True)

    def wait_until_done(self, timeout: float = 300.0) -> None:
        """Wait until nothing is pending or leased; say what was logged if that never comes."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            counts = self.counts()
            if counts.done and not counts.pending and not counts.leased:
                return
            for name, process in self.processes.items():
                assert process.poll() in (None, 0), f"{name} ended:\n{self.log(name)[-3000:]}"
            time.sleep(0.05)
        logs = "\n".join(f"{name}: {self.log(name)[-1500:]}" for name in self.names)
        raise AssertionError(f"not done after {timeout} s: {self.counts()}\n{logs}")

    def assert_nobody_broke(self) -> None:
        """No daemon has printed a traceback."""
        for name in self.names:
            assert "Traceback" not in self.log(name), self.log(name)[-3000:]

    def _at(self, name: str) -> str:
        return f"127.0.0.1:{self._ports[name]}"


class Killer:
    """Kills random ones of the three at random moments, and starts them again after a while."""

    def __init__(self, trio: Trio, requests: "RequestCount", seed: int) -> None:
        self._trio = trio
        self._requests = requests
        self._random = random.Random(seed)
        self.kills: list[tuple[float, float]] = []
        """Monotonic times just before and just after each kill."""
        self.killed: list[str] = []

    def run(self, kills: int, most_requests_between: int) -> None:
        """Kill so often, unless the crawl is over before."""
        while len(self.kills) < kills:
            if not self._await_requests(most_requests_between):
                return
            name = self._random.choice(self._trio.names)
            before = time.monotonic()
            self._trio.kill(name)
            self.kills.append((before, time.monotonic()))
            self.killed.append(name)
            time.sleep(self._random.choice((0.0, 0.0, 0.05, 0.3)))
            self._trio.start(name)

    def _await_requests(self, most: int) -> bool:
        """Wait for a few more requests; False when there are none to come."""
        enough = self._requests() + self._random.randint(1, most)
        deadline = time.monotonic() + 60.0
        while self._requests() < enough:
            if time.monotonic() > deadline:
                counts = self._trio.counts()
                assert counts.pending + counts.leased == 0, f"nothing moves: {counts}"
                return False
            if self._is_over():
                return False
            time.sleep(0.01)
        return True

    def _is_over(self) -> bool:
        counts = self._trio.counts()
        return bool(counts.done) and not counts.pending and not counts.leased


class RequestCount:
    """Counts the requests in a growing log of the fake web."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._count = 0

    def __call__(self) -> int:
        with self._path.open("rb") as log:
            log.seek(self._offset)
            fresh = log.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._count += len(re.findall(rb"^S\t", whole, re.MULTILINE))
        return self._count


def can_connect(port: int) -> bool:
    """Whether somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_for(condition: object, what: str, timeout: float = _START_SECONDS) -> None:
    """Wait until a condition holds."""
    assert callable(condition)
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
        time.sleep(0.02)
