"""A URL Server as a process, Spiders written from the documents alone, and the doc index.

Nothing in here uses the project's own reading or writing of the wire: a Spider is a listening
socket, an order is a line with five fields. The test plays the Store Server by committing findings
to the catalog of the workspace.
"""

import contextlib
import json
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Self

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.urlserver import UrlServerSettings
from gossamer.crawl.verdict import verdict
from gossamer.messages import Findings, Found
from gossamer.outcomes import Outcome
from gossamer.url.parts import host_of, md5_of

SECONDS = 60.0
"""How long anything may take that must happen."""

# Where struct tcp_info of Linux has tcpi_last_data_recv, in milliseconds.
_TCP_INFO = struct.Struct("52xI")


@dataclass(frozen=True)
class Order:
    """One line from the URL Server: TRANS_ID, DOC_ID, HOST_IP, HOST_NAME, URL."""

    trans_id: str
    doc_id: int
    address: str
    host: str
    url: str
    at: float = field(compare=False)
    """When it was read."""
    spider: int = 0
    arrived: tuple[float, float] = field(default=(0.0, 0.0), compare=False)
    """Between which moments it has come, however late it was read."""

    @classmethod
    def read(
        cls, line: bytes, at: float, spider: int = 0, arrived: tuple[float, float] = (0.0, 0.0)
    ) -> "Order":
        fields = line.decode("ascii").split(" ")
        assert len(fields) == 5, line
        assert fields[0].isdigit(), line
        assert fields[1].isdigit(), line
        return cls(fields[0], int(fields[1]), *fields[2:], at=at, spider=spider, arrived=arrived)


class Wire:
    """The Spider's end of one connection, read step by step."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""
        self._empty_at = time.monotonic()
        """Whatever is read next has come after this."""
        self._came = (0.0, 0.0)
        self.arrived = (0.0, 0.0)
        """Between which moments the last line has come."""

    def line(self, seconds: float = SECONDS) -> bytes | None:
        """Return the next line without its end; None when none came in time, or the link ended."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._held:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._end.settimeout(left)
            called = time.monotonic()
            try:
                data = self._end.recv(65_536)
            except (TimeoutError, ConnectionError):
                self._empty_at = called
                return None
            if not data:
                return None
            self._held += data
            self._came = (self._empty_at, time.monotonic() - self._age())
            self._empty_at = called
        line, _, self._held = self._held.partition(b"\n")
        # Of what was read at once, the system knows only when the end of it came.
        self.arrived = self._came if self._held else (self._came[1], self._came[1])
        return line

    def _age(self) -> float:
        """Return how long ago something came last."""
        info = self._end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        return _TCP_INFO.unpack(info)[0] / 1_000

    def order(self, seconds: float = SECONDS) -> Order:
        """Return the next order; fail if there is none."""
        line = self.line(seconds)
        assert line is not None, "no order came"
        return Order.read(line, time.monotonic())

    def orders(self, count: int, seconds: float = SECONDS) -> list[Order]:
        """Return so many orders."""
        return [self.order(seconds) for _ in range(count)]

    def no_order(self, seconds: float) -> None:
        """Fail if an order comes within this time."""
        line = self.line(seconds)
        assert line is None, f"an order came: {line!r}"

    def say(self, *lines: str | bytes) -> None:
        """Send lines."""
        texts = (line.encode() if isinstance(line, str) else line for line in lines)
        self._end.sendall(b"".join(text + b"\n" for text in texts))

    def done(self, *orders: Order) -> None:
        """Say DONE."""
        self.say(*(f"DONE {order.trans_id}" for order in orders))

    def babble(self, data: bytes, times: int) -> None:
        """Send the same bytes again and again, without any end of a line."""
        for _ in range(times):
            self._end.sendall(data)

    def is_ended(self, seconds: float = SECONDS) -> bool:
        """Whether the other side closes within this time."""
        self._end.settimeout(seconds)
        try:
            while self._end.recv(65_536):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        return True

    def close(self) -> None:
        """Hang up."""
        self._end.close()


class Listener:
    """Where a Spider listens (S1.8, S1.9)."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((host, port))
        self._socket.listen(8)
        self._wires: list[Wire] = []
        self.port: int = self._socket.getsockname()[1]
        self.place = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def accept(self, seconds: float = SECONDS) -> Wire:
        """Return the next connection."""
        self._socket.settimeout(seconds)
        wire = Wire(self._socket.accept()[0])
        self._wires.append(wire)
        return wire

    def has_call(self, seconds: float) -> bool:
        """Whether somebody else connects within this time."""
        try:
            self.accept(seconds)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Stop listening and hang up."""
        self._socket.close()
        for wire in self._wires:
            wire.close()


class BusySpider:
    """A Spider that works by itself: takes each order, is at it for a while, says DONE.

    `tells` lets it say WORKING as soon as it has an order, as ours does; others need not.
    """

    def __init__(
        self,
        log: "Journal",
        number: int = 0,
        *,
        seconds: float = 0.02,
        tells: bool = False,
        on_fetched: Callable[[Order], None] | None = None,
    ) -> None:
        self._log = log
        self._number = number
        self._seconds = seconds
        self._tells = tells
        self._on_fetched = on_fetched
        self._listener = Listener()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.place = self._listener.place
        self.errors: list[BaseException] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join(SECONDS)
        self._listener.close()
        assert self.errors == []

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    self._serve(self._listener.accept(0.05))
        except BaseException as error:  # noqa: BLE001 - told when the test ends
            self.errors.append(error)

    def _serve(self, wire: Wire) -> None:
        open_orders: list[tuple[float, Order]] = []
        while not self._stop.is_set():
            wait = open_orders[0][0] - time.monotonic() if open_orders else 0.05
            line = wire.line(min(max(wait, 0.0005), 0.05))
            if line is not None:
                order = Order.read(line, time.monotonic(), self._number, wire.arrived)
                self._log.began(order)
                if self._tells:
                    wire.say(f"WORKING {order.trans_id}")
                open_orders.append((time.monotonic() + self._seconds, order))
            while open_orders and open_orders[0][0] <= time.monotonic():
                order = open_orders.pop(0)[1]
                if self._on_fetched is not None:
                    self._on_fetched(order)
                self._log.ended(order)
                with contextlib.suppress(ConnectionError):
                    wire.done(order)


class Journal:
    """What all Spiders of a test saw, with times."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.orders: list[Order] = []
        self._changes: list[tuple[float, int, Order]] = []

    def began(self, order: Order) -> None:
        with self._lock:
            self.orders.append(order)
            self._changes.append((order.at, 1, order))

    def ended(self, order: Order) -> None:
        with self._lock:
            self._changes.append((time.monotonic(), -1, order))

    def closest(self, key: Callable[[Order], str]) -> dict[str, float]:
        """Return the shortest time between two orders for each host or address.

        It is the longest that it may have been: a reader that was held up proves nothing.
        """
        moments = defaultdict(list)
        for order in sorted(self.orders, key=lambda order: order.at):
            moments[key(order)].append(order.arrived)
        return {
            name: min((b[1] - a[0] for a, b in pairwise(times)), default=99.0)
            for name, times in moments.items()
        }

    def most_open(self, key: Callable[[Order], str]) -> dict[str, int]:
        """Return how many orders were open at once at most for each host or address."""
        level: dict[str, int] = defaultdict(int)
        most: dict[str, int] = defaultdict(int)
        # An order may be sent in the moment in which the DONE before it arrives.
        for _, change, order in sorted(self._changes, key=lambda entry: (entry[0], entry[1])):
            level[key(order)] += change
            most[key(order)] = max(most[key(order)], level[key(order)])
        return dict(most)

    def shared(self, key: Callable[[Order], str]) -> list[Order]:
        """Return the orders that came while another Spider had one of the same host or address."""
        open_orders: dict[str, list[Order]] = defaultdict(list)
        found = []
        for _, change, order in sorted(self._changes, key=lambda entry: (entry[0], entry[1])):
            others = open_orders[key(order)]
            if change < 0:
                others.remove(order)
                continue
            if any(other.spider != order.spider for other in others):
                found.append(order)
            others.append(order)
        return found


class DocIndex:
    """The catalog of the workspace; here the test is the Store Server."""

    def __init__(self, workspace: Path) -> None:
        workspace.mkdir(exist_ok=True)
        self._workspace = workspace
        self._lock = threading.Lock()
        self._catalog = SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), shared=True)
        self._settings = UrlServerSettings(retry_back_off_seconds=2.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._catalog.close()

    def store(
        self,
        order: Order,
        outcome: Outcome = Outcome.OK,
        status: int = 200,
        links: Sequence[str] = (),
        retry_after: float | None = None,
    ) -> None:
        """Commit what came of an order."""
        now = time.time()
        found = tuple(Found(url, md5_of(url), host_of(url), 1) for url in links)
        findings = Findings(
            doc_id=order.doc_id,
            trans_id=0,
            outcome=int(outcome),
            status=status,
            fetched_at=now,
            milliseconds=1,
            tries=self.tries(order.url) + 1,
            retry_after_seconds=retry_after,
            found=found,
        )
        with self._lock:
            self._catalog.commit([verdict(findings, self._settings, now)], now)

    def tries(self, url: str) -> int:
        row = self._row(url)
        return row.tries

    def state(self, url: str) -> str:
        """Return where a URL stands: pending, leased, done, excluded or failed."""
        return self._row(url).state.name.lower()

    def outcome(self, url: str) -> Outcome | None:
        return self._row(url).outcome

    def doc_id(self, url: str) -> int:
        return self._row(url).doc_id

    def leased(self, host: str) -> int:
        """Return how many URLs of a host are in the URL Server's hands."""
        with self._lock:
            rows = {row.host: row.leased for row in self._catalog.host_rows(1_000)}
        return rows.get(host, 0)

    def is_delivered(self, url: str) -> bool:
        """Whether the URL Server has noted that a Spider is done with a URL."""
        question = "SELECT delivered_at IS NOT NULL FROM url WHERE doc_id = ?"
        with contextlib.closing(sqlite3.connect(self._workspace / "catalog.db")) as database:
            return bool(database.execute(question, (self.doc_id(url),)).fetchone()[0])

    def failures(self, host: str) -> int:
        """Return how many failures in a row the URL Server has noted of a host."""
        with self._lock:
            clock = self._catalog.host_clock(host)
        return clock.failures_in_a_row if clock is not None else 0

    def counts(self):
        with self._lock:
            return self._catalog.counts()

    def check(self) -> list[str]:
        with self._lock:
            return self._catalog.check()

    def _row(self, url: str):
        with self._lock:
            row = self._catalog.find(url)
        assert row is not None, url
        return row


class Server:
    """`gossamer url-server` as a process."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._lines: list[str] = []
        self.process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        assert "Traceback" not in self.said, self.said

    @property
    def said(self) -> str:
        """All it has written to standard error."""
        return "".join(self._lines)

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def stop(self, number: int = signal.SIGTERM, seconds: float = SECONDS) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def wait(self, seconds: float = SECONDS) -> int:
        """Return the exit code."""
        return self.process.wait(seconds)

    def wait_for(self, text: str, seconds: float = SECONDS) -> None:
        until(lambda: text in self.said, seconds, f"it never said {text!r}: {self.said}")

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self._lines.append(line)


def server(
    workspace: Path,
    *arguments: str,
    spiders: Sequence[str] = (),
    settings: dict[str, object] | None = None,
    ignore_robots: Sequence[str] = (),
) -> Server:
    """Return a URL Server that is not polite to strangers: there are none here."""
    values: dict[str, object] = dict(settings or {})
    if "urlserver.host_per_second" not in values:
        values.setdefault("urlserver.Req_Host_Per_Sec", 0)
    values.setdefault("wire.flow_grace_ms", 100)
    if ignore_robots:
        hosts = ", ".join(f'"{host}" = "a test"' for host in ignore_robots)
        values["urlserver.robots_ignore"] = f"{{{hosts}}}"
    named = [part for place in spiders for part in ("--spider", place)]
    chosen = [part for key, value in values.items() for part in ("--set", f"{key}={_toml(value)}")]
    return Server(
        [
            *(sys.executable, "-m", "gossamer.cli", "url-server", *arguments),
            *("--dir", str(workspace), "--allow-private", *named, *chosen),
        ]
    )


def _toml(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def until(condition: Callable[[], bool], seconds: float = SECONDS, message: str = "") -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, message or "it never came true"
        time.sleep(0.01)


def pages(host: str, count: int) -> list[str]:
    """Return URLs of one host."""
    return [f"http://{host}/{number}" for number in range(count)]


@contextlib.contextmanager
def connected(
    workspace: Path,
    urls: Sequence[str],
    *arguments: str,
    ignore_robots: Sequence[str] = (),
    settings: dict[str, object] | None = None,
) -> Iterator[tuple[Wire, DocIndex, Server]]:
    """Run a URL Server with one Spider, whose robots.txt files are set aside."""
    hosts = list(dict.fromkeys([*ignore_robots, *map(host_of, urls)]))
    with (
        Listener() as spider,
        DocIndex(workspace) as index,
        server(
            workspace,
            *urls,
            *arguments,
            spiders=[spider.place],
            settings=settings,
            ignore_robots=hosts,
        ) as running,
    ):
        yield first_call(spider, running), index, running


def first_call(spider: Listener, running: Server) -> Wire:
    """Return the connection that a URL Server makes; fail with its own words if it does not."""
    deadline = time.monotonic() + SECONDS
    while running.runs and time.monotonic() < deadline:
        with contextlib.suppress(TimeoutError):
            return spider.accept(0.1)
    raise AssertionError(f"it does not connect: {running.said}")
