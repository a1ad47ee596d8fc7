"""A daemon in a process of its own, on free ports, with its programs beside it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gossamer.daemons.endpoints import Endpoint, parse_endpoint
from gossamer.service.calling import ask
from gossamer.service.envelope import AdminRequest

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
EXAMPLES = HERE.parent.parent / "examples" / "service"
PATIENCE_SECONDS = 180.0
"""How long is waited for what must happen, however busy the machine is."""

TOY = {
    "Application": {
        "operations": "toy_operations:open_operations",
        "periodics": "toy_operations:open_periodics",
        "batches": "toy_operations:open_batches",
        "data_dir": "data",
    },
    "Server": {"admin_port": "0", "client_port": "0"},
    "Crawling": {"period_seconds": "0"},
    "Purge": {"period_seconds": "0"},
    "RealTime": {"threads": "2"},
}


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(HERE)}


def program(name: str, *words: object, cwd: Path, timeout: float = PATIENCE_SECONDS):
    """Run one of the installed programs to its end."""
    return subprocess.run(
        [str(BIN / name), *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(),
        timeout=timeout,
        check=False,
    )


def write_ini(path: Path, sections: dict[str, dict[str, str]]) -> Path:
    lines = []
    for title, keys in sections.items():
        lines += [f"[{title}]", *(f"{name} = {value}" for name, value in keys.items()), ""]
    path.write_text("\n".join(lines))
    return path


def toy_settings(**changes: dict[str, str]) -> dict[str, dict[str, str]]:
    titles = [*TOY, *(title for title in changes if title not in TOY)]
    return {title: TOY.get(title, {}) | changes.get(title, {}) for title in titles}


class Daemon:
    """A running dc-daemon."""

    own_group = False
    """Whether it and its processes are a group that can be killed as a whole."""

    def __init__(self, folder: Path, *words: str, **changes: dict[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.config = write_ini(folder / "dc-daemon.ini", toy_settings(**changes))
        self._words = words
        self._log = folder / "daemon.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.client: Endpoint | None = None
        self.admin: Endpoint | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait()

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        before = len(self.log)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(BIN / "dc-daemon"), "-c", str(self.config), *self._words],
                stdout=log,
                stderr=log,
                env=environment(),
                start_new_session=self.own_group,
            )
        wait_for(lambda: ": ready\n" in self.log[before:] or self._ended, "the daemon to be ready")
        said = self.log[before:]
        self.admin = _address(said, "AdminInterfaceServer")
        self.client = _address(said, "ClientInterfaceService")
        clients = {"hosts": str(self.client), "admin_host": str(self.admin)}
        self.client_config = write_ini(self.folder / "dc-client.ini", {"Client": clients})

    @property
    def _ended(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"the daemon ended: {self.log}")
        return False

    @property
    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def await_busy(self) -> None:
        """Wait until it carries out something that lasts until `wake`."""
        wait_for((self.data / "busy").exists, "an operation to begin")

    def wake(self) -> None:
        """Let what the daemon is busy with come to its end."""
        (self.data / "wake").touch()

    def wait(self, timeout: float = PATIENCE_SECONDS) -> int:
        assert self.process is not None
        return self.process.wait(timeout)

    def terminate(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.wait()

    def call(self, command: str, data: Any, *words: str, code: int | None = 0) -> Any:
        """Run dc-client; return its answer."""
        file = self.folder / "request.json"
        file.write_text(json.dumps(data))
        done = program(
            "dc-client",
            *("--command", command, "--file", file, "--config", self.client_config),
            *words,
            cwd=self.folder,
        )
        if code is not None:
            assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def ask(self, command: str, *words: str, code: int | None = 0) -> dict[str, Any]:
        """Run dc-admin; return the fields of each class, with the error as `error code`."""
        done = program(
            "dc-admin", "--cmd", command, "--config", self.client_config, *words, cwd=self.folder
        )
        if code is not None:
            assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        pairs = json.loads(done.stdout)
        return {thing["className"]: thing["fields"] | {"error code": err} for thing, err in pairs}

    def administer(self, command: str, classes: list[str], fields: Any = ()) -> dict[str, Any]:
        """Like ask, but without a process for it."""
        assert self.admin is not None
        request = AdminRequest(command, classes, fields or [])
        answer = ask(self.admin, request, timeout_seconds=PATIENCE_SECONDS)
        return {
            thing["className"]: thing["fields"] | {"error code": error}
            for thing, error in answer.pairs
        }


def _address(text: str, name: str) -> Endpoint:
    found = re.findall(rf"started {name}, listens on tcp://(\S+)", text)
    assert found, text
    return parse_endpoint(found[-1])


def item_of(answer: Any) -> Any:
    """Return the object of the only item of an answer."""
    assert answer["errorCode"] == 0, answer
    (item,) = answer["itemsList"]
    assert item["errorCode"] == 0, answer
    return item["itemObject"]


def wait_for(condition, what: str, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
