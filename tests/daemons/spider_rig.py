"""A URL Server and a Store Server written from the documents alone, and the Spider as a process.

Nothing here uses our own code for the links: only sockets and `struct`. A result is a header of 20
bytes in network byte order, then URL, new URL and document.
"""

import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from gossamer.fakeweb.process import FakeWeb

GREETING = b"STORE gossamer 1\n"
LAYOUT = "!IBBBBIHHI"
WAIT = 60.0
QUICK = ("wire.flow_grace_ms=0",)
"""No time is lost waiting for a greeting that does not come."""


class Stored(NamedTuple):
    """A result as a Store Server reads it."""

    doc_id: int
    success: int
    specific: int
    http: int
    padding: int
    milliseconds: int
    url: str
    new_url: str
    document: bytes


def read_results(data: bytes) -> tuple[list[Stored], bytes]:
    """Return the whole results in a stream, and what is left of it."""
    found = []
    while len(data) >= 20:
        fields = struct.unpack(LAYOUT, data[:20])
        url_len, new_url_len, document_len = fields[6:]
        ends = [20, 20 + url_len, 20 + url_len + new_url_len]
        end = ends[2] + document_len
        if len(data) < end:
            break
        url, new_url = data[ends[0] : ends[1]].decode(), data[ends[1] : ends[2]].decode()
        found.append(Stored(*fields[:6], url, new_url, data[ends[2] : end]))
        data = data[end:]
    return found, data


def host_in(url: str) -> str:
    """Return the host name of a URL."""
    return url.split("/")[2].rpartition(":")[0].strip("[]")


def oddity(web: FakeWeb, name: str) -> str:
    """Return the URL of a misbehaving path on the first host of a fake web."""
    return f"{web.start_url}~/{name}"


class UrlServer:
    """Dials a Spider, sends orders, and writes down what it says and when."""

    def __init__(self, port: int, *, host: str = "127.0.0.1", receive_buffer: int = 0) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            self.socket.connect((host, port))
        except OSError:
            self.socket.close()
            raise
        self.name = "{}:{}".format(*self.socket.getsockname())
        """Where it calls from."""
        self.said: list[tuple[float, str]] = []
        self.closed = False
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True
        self.socket.close()

    def order(self, trans: int, url: str, *, doc: int | None = None, address: str = "") -> None:
        """Send an order with five fields."""
        self.send_all([order_line(trans, url, doc=doc, address=address)])

    def send_all(self, lines: Sequence[bytes]) -> None:
        """Send lines in one piece."""
        self.socket.sendall(b"".join(lines))

    def listen(self, seconds: float) -> None:
        """Take in what comes until the time is up or the link ends."""
        until = time.monotonic() + seconds
        while not self.closed:
            left = until - time.monotonic()
            if not select.select([self.socket], [], [], max(left, 0))[0]:
                return
            try:
                data = self.socket.recv(65_536)
            except ConnectionError:
                data = b""
            if not data:
                self.close()
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            now = time.monotonic()
            self.said += [(now, line.decode("ascii")) for line in lines]
            if left <= 0:
                return

    def wait_for(self, condition: Callable[[Self], bool], seconds: float = WAIT) -> None:
        """Take in what comes until the condition holds."""
        until = time.monotonic() + seconds
        while not condition(self):
            assert not self.closed, f"the Spider hung up: {self.lines[-5:]}"
            assert time.monotonic() < until, f"nothing of the kind was said: {self.lines[-10:]}"
            self.listen(0.02)

    def wait_closed(self, seconds: float = WAIT) -> None:
        """Take in what comes until the Spider hangs up."""
        until = time.monotonic() + seconds
        while not self.closed:
            assert time.monotonic() < until, "the Spider did not hang up"
            self.listen(0.05)

    def wait_done(self, *trans: int, seconds: float = WAIT) -> None:
        """Wait until DONE was said for each of these."""
        self.wait_for(lambda server: set(trans) <= set(server.done), seconds)

    @property
    def lines(self) -> list[str]:
        return [line for _, line in self.said]

    @property
    def done(self) -> list[int]:
        return [int(line[5:]) for line in self.lines if line.startswith("DONE ")]

    @property
    def credit(self) -> int:
        """All orders that were ever asked for."""
        return sum(int(line[4:]) for line in self.lines if line.startswith("GET "))

    def times(self, line: str) -> list[float]:
        """Return when this was said."""
        return [at for at, said in self.said if said == line]


def order_line(trans: int, url: str, *, doc: int | None = None, address: str = "") -> bytes:
    """Return an order with five fields; without an address, the host of the URL is one."""
    doc_id = trans if doc is None else doc
    return f"{trans} {doc_id} {address or host_in(url)} {host_in(url)} {url}\n".encode()


class StoreServer:
    """Listens for Spiders and reads results; with `greets`, it says what it has saved."""

    def __init__(self, *, greets: bool = False, port: int = 0, receive_buffer: int = 0) -> None:
        self.greets = greets
        self._listener = socket.create_server(("127.0.0.1", port))
        if receive_buffer:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.port: int = self._listener.getsockname()[1]
        self.results: list[Stored] = []
        self.began: list[int] = []
        """How many results there were when each connection began."""
        self.raw = b""
        """Everything that arrived, byte for byte."""
        self._peer: socket.socket | None = None
        self._rest = b""
        self._of_connection = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Go away: hang up and listen no longer."""
        self.hang_up()
        self._listener.close()

    def hang_up(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def reset(self) -> None:
        """Hang up as one that dies does: what is on its way is refused."""
        assert self._peer is not None
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.hang_up()

    @property
    def connections(self) -> int:
        """How often a Spider called."""
        return len(self.began)

    def say(self, text: bytes) -> None:
        """Send something on the link."""
        assert self._peer is not None
        self._peer.sendall(text)

    def accept(self, seconds: float = WAIT) -> None:
        """Wait for a Spider."""
        self._listener.settimeout(seconds)
        self._peer, _ = self._listener.accept()
        self._peer.settimeout(WAIT)
        self._rest, self._of_connection = b"", 0
        self.began.append(len(self.results))
        if self.greets:
            # A Spider that is gone may have left results here all the same.
            with suppress(ConnectionError):
                self._peer.sendall(GREETING)

    def step(self, seconds: float, *, saves: bool = True) -> None:
        """Take in what comes in this time; accepts, too."""
        sockets = [self._listener, *([self._peer] if self._peer else [])]
        ready = select.select(sockets, [], [], seconds)[0]
        if self._listener in ready:
            # What an earlier connection brought has arrived, whoever has a turn when.
            while self._peer is not None:
                self._receive(self._peer, saves=saves)
            self.accept()
        elif ready and self._peer is not None:
            self._receive(self._peer, saves=saves)

    def _receive(self, peer: socket.socket, *, saves: bool) -> None:
        """Take in what has come on a connection; hang up when it has ended."""
        try:
            data = peer.recv(1 << 20)
        except ConnectionError:
            data = b""
        if not data:
            self.hang_up()
            return
        self.raw += data
        fresh, self._rest = read_results(self._rest + data)
        self.results += fresh
        self._of_connection += len(fresh)
        if self.greets and saves and fresh:
            with suppress(ConnectionError):
                peer.sendall(b"SAVED %d\n" % self._of_connection)

    def wait_for(self, count: int, seconds: float = WAIT, *, saves: bool = True) -> list[Stored]:
        """Take in results until there are so many; returns all."""
        until = time.monotonic() + seconds
        while len(self.results) < count:
            assert time.monotonic() < until, f"{len(self.results)} of {count} results came"
            self.step(0.05, saves=saves)
        return self.results

    def by_doc(self) -> dict[int, Stored]:
        return {result.doc_id: result for result in self.results}


class SpiderProcess:
    """`gossamer spider` from entry to exit."""

    def __init__(
        self,
        store: int,
        spool: Path,
        *settings: str,
        flags: Sequence[str] = ("--allow-private",),
        wrap: Sequence[str] = (),
        environment: dict[str, str] | None = None,
        listen: str = "127.0.0.1:0",
    ) -> None:
        self.spool = spool
        self.log = spool.parent / f"{spool.name}.log"
        command = [*wrap, sys.executable, "-m", "gossamer.cli", "spider", "--listen", listen]
        command += ["--store", f"127.0.0.1:{store}", "--spool", str(spool), "--json", *flags]
        command += [word for setting in settings for word in ("--set", setting)]
        spool.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env=os.environ | (environment or {}),
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.said()
        ready = json.loads(line)
        assert ready["event"] == "listening"
        self.port: int = ready["port"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        assert "Traceback" not in self.said(), self.said()
        assert "internal error" not in self.said(), self.said()

    def said(self) -> str:
        """Return all messages for people so far."""
        return self.log.read_text()

    def kill(self) -> None:
        """Kill it as a crash would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds: float = WAIT) -> dict[str, object]:
        """End it with SIGTERM; returns the account that it gives."""
        self.process.terminate()
        assert self.process.wait(seconds) == 0, self.said()
        assert self.process.stdout is not None
        account: dict[str, object] = json.loads(self.process.stdout.read().splitlines()[-1])
        return account

    def spool_bytes(self) -> int:
        """Return how much the spool takes on disk."""
        return sum(path.stat().st_size for path in self.spool.glob("*.spool"))

    def memory_bytes(self) -> int:
        """Return how much memory it uses."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def wait_said(self, text: str, seconds: float = WAIT) -> None:
        """Wait for a message."""
        until = time.monotonic() + seconds
        while text not in self.said():
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)


def numbers(results: Sequence[Stored]) -> list[int]:
    """Return the doc_ids in order of arrival."""
    return [result.doc_id for result in results]


def until(seconds: float = WAIT, step: float = 0.02) -> Iterator[None]:
    """Give a loop that waits for something its turns, and fail when time is up."""
    end = time.monotonic() + seconds
    while True:
        assert time.monotonic() < end, "it did not happen in time"
        yield
        time.sleep(step)
