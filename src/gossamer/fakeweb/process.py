"""A fake web in a process of its own: `with FakeWeb(pages=300) as web: ...`."""

import dataclasses
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self, cast

from gossamer.fakeweb.graph import Graph
from gossamer.fakeweb.hosts import Hosts
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.options import Options
from gossamer.fakeweb.truth import Truth, ground_truth

_STOP_SECONDS = 10.0


class FakeWeb:
    """Runs `python -m gossamer.fakeweb` from entry to exit; takes the fields of `Options`.

    The server also ends when this process dies, whichever way, and after `max_seconds`.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        dns_port: int = 0,
        log_path: Path | None = None,
        max_seconds: float = 900.0,
        **options: Any,
    ) -> None:
        self.options = Options(**options)
        self._port = port
        self._dns_port = dns_port
        self._given_log = log_path
        self._max_seconds = max_seconds
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._turn = Lock()
        self.log_path = Path()
        self.start_urls: list[str] = []
        """The home page of every host."""
        self.oddities = ""
        """Where the list of misbehaving paths is; append the name of one to reach it."""
        self.port = 0
        self.dns: str | None = None
        """The DNS server as address:port, when the hosts have names."""
        self.pid = 0

    def __enter__(self) -> Self:
        """Start the server and wait until it is ready."""
        self._folder = tempfile.TemporaryDirectory(prefix="fakeweb-")
        self.log_path = self._given_log or Path(self._folder.name) / "requests.log"
        self._process = subprocess.Popen(  # noqa: S603  # our own module, started with our own arguments
            self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise RuntimeError("the fake web did not start; its message is on standard error")
        ready = json.loads(line)
        self.start_urls, self.oddities = ready["start_urls"], ready["oddities"]
        self.port, self.dns, self.pid = ready["port"], ready["dns"], ready["pid"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the server and remove its files."""
        self.close()

    @property
    def start_url(self) -> str:
        """The first home page, from which every page can be reached."""
        return self.start_urls[0]

    def log(self) -> Log:
        """Return what the server has seen so far; every answer that came to its end is in it."""
        self._settle()
        return Log.read(self.log_path)

    def truth(self) -> Truth:
        """Return the ground truth of this web."""
        return ground_truth(self.graph())

    def graph(self) -> Graph:
        """Return the graph that the server serves."""
        return Graph(self.options, Hosts(self.options, self.port))

    def close(self) -> None:
        """End the server; `log()` is gone afterwards unless `log_path` was given."""
        if self._process is not None:
            process, self._process = self._process, None
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout):
                # A line that the ended server never read may still be in the buffer.
                with suppress(BrokenPipeError):
                    if stream is not None:
                        stream.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _settle(self) -> None:
        """Wait for the server's next turn: a client can have an answer before its end is logged."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        with self._turn:
            try:
                process.stdin.write("\n")
                process.stdin.flush()
            except BrokenPipeError:
                return
            process.stdout.readline()

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "gossamer.fakeweb", "--until-stdin-closes"]
        command += ["--log", str(self.log_path), "--port", str(self._port)]
        command += ["--dns-port", str(self._dns_port), "--max-seconds", str(self._max_seconds)]
        for name, value in dataclasses.asdict(self.options).items():
            flag = "--" + name.replace("_", "-")
            if name == "robots":
                for host, variant in cast("dict[int, str]", value).items():
                    command += [flag, variant if host < 0 else f"{host}={variant}"]
            elif value is True:
                command.append(flag)
            elif value is not False:
                command += [flag, str(value)]
        return command
