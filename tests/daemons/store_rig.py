"""A Spider written from the documents alone, and the real store server as a process.

Nothing here uses our own code for the link: only sockets and `struct`. The URL server is played by
the test: it leases what the catalog offers.
"""

import json
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import msgspec

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings

SITE = "http://site.example/"
GREETING = b"STORE gossamer 1\n"
HTML = b"<!doctype html><title>A page</title>"


# ------------------------------------------------------------- what goes over the link


def result(
    doc_id: int,
    url: str = "",
    document: bytes = b"",
    *,
    success: int = 1,
    specific: int = 0,
    http: int = 10,
    padding: int = 0,
    milliseconds: int = 7,
    new_url: str = "",
) -> bytes:
    """Return a result: 20 bytes in network byte order, then URL, new URL, document."""
    return (
        struct.pack(
            "!IBBBBIHHI",
            doc_id,
            success,
            specific,
            http,
            padding,
            milliseconds,
            len(url),
            len(new_url),
            len(document),
        )
        + url.encode()
        + new_url.encode()
        + document
    )


def full_document(
    url: str,
    body: bytes = b"",
    *,
    outcome: int = 1,
    status: int = 200,
    fetched_at: float = 0.0,
    redirect_to: str | None = None,
    content_type: str = "text/html",
    raw: bytes | None = None,
    coding: str = "",
) -> bytes:
    """Return the document of the full form: an array in MessagePack (docs/reference/wire.md)."""
    sent = body if raw is None else raw
    headers = [("content-type", content_type), ("content-length", str(len(sent)))]
    headers += [("content-encoding", coding)] if coding else []
    headers += [("location", redirect_to)] if redirect_to else []
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in headers)
    return msgspec.msgpack.encode(
        [
            url,
            outcome,
            "",
            status,
            "1.1",
            b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n",
            f"HTTP/1.1 {status} Word\r\n{lines}\r\n".encode(),
            headers,
            sent,
            None if raw is None else body,
            [],
            "192.0.2.1",
            fetched_at or time.time(),
            7,
            None,
            redirect_to,
        ]
    )


HTTP = {200: 10, 301: 31, 302: 32, 404: 64, 503: 123}
"""The HTTP enumeration, as far as it is needed here."""


def full(doc_id: int, url: str, body: bytes = b"", **more: Any) -> bytes:
    """Return a result in the full form; its header says what it says in the other form."""
    status, target = more.get("status", 200), more.get("redirect_to") or ""
    specific = 1 if target else 0 if status == 200 else 12
    return result(
        doc_id,
        url,
        full_document(url, body, **more),
        success=int(status == 200),
        specific=specific,
        http=HTTP[status],
        padding=1,
        new_url=target,
    )


class Spider:
    """One connection to a store server."""

    def __init__(self, port: int, *, wait_for_greeting: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._heard = b""
        self.saved = 0
        if wait_for_greeting:
            while not self._heard.startswith(GREETING):
                self._heard += self._received()
            self._heard = self._heard[len(GREETING) :]

    def _received(self) -> bytes:
        data = self.socket.recv(65_536)
        if not data:
            raise ConnectionError("the store server has closed the link")
        return data

    def send(self, *results: bytes) -> None:
        """Send results."""
        self.socket.sendall(b"".join(results))

    def wait_until_saved(self, count: int, seconds: float = 30.0) -> None:
        """Read SAVED lines until so many results are saved."""
        deadline = time.monotonic() + seconds
        while self.saved < count:
            assert time.monotonic() < deadline, f"only {self.saved} of {count} are saved"
            self.hear(1.0)

    def hear(self, seconds: float = 0.0) -> bool:
        """Read what there is; return whether the link still stands."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return True
        try:
            data = self.socket.recv(65_536)
        except ConnectionError:
            return False
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            word, number = line.split(b" ")
            assert word == b"SAVED"
            assert int(number) >= self.saved
            self.saved = int(number)
        return bool(data)

    def is_left(self, seconds: float = 30.0) -> bool:
        """Whether the store server ends the link in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self.hear(0.2):
                return True
        return False

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


# ---------------------------------------------------------------------- the two servers


class StoreServer:
    """The real command."""

    def __init__(self, workspace: Path, *flags: str, **environment: str) -> None:
        self.workspace = workspace
        self.flags = flags
        self._log = workspace.parent / "store-server.log"
        self._process = self._start(environment)
        self.port = self._read_event()["port"]

    def _start(self, environment: dict[str, str]) -> "subprocess.Popen[str]":
        import os

        with self._log.open("a") as log:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "gossamer.cli", "store-server"),
                    *("--listen", "127.0.0.1:0", "--dir", str(self.workspace), "--json"),
                    *(() if "--workers" in self.flags else ("--workers", "2")),
                    *self.flags,
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | environment,
            )

    def _read_event(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        assert line, self.log()
        return json.loads(line)

    @property
    def pid(self) -> int:
        return self._process.pid

    def workers(self) -> list[int]:
        """Return the processes of its workers."""
        out = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.pid)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return [int(pid) for pid in out.stdout.split()]

    def memory_bytes(self) -> int:
        """Return the resident memory of the process that talks to Spiders."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4096

    def log(self) -> str:
        return self._log.read_text()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()

    def terminate(self, timeout: float = 40.0) -> dict[str, Any]:
        """Ask it to stop; return what it says it did."""
        self._process.terminate()
        assert self._process.wait(timeout) == 0, self.log()
        lines = self._process.stdout.read().splitlines()
        self._process.stdout.close()
        assert "Traceback" not in self.log(), self.log()
        return json.loads(lines[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.is_running():
            self.kill()


@contextmanager
def catalog_of(workspace: Path) -> Iterator[SqliteCatalog]:
    """Open the catalog as a second writer, as the URL server does."""
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), shared=True) as catalog:
        yield catalog


def add(workspace: Path, *urls: str) -> None:
    """Put start URLs into a workspace."""
    subprocess.run(
        [sys.executable, "-m", "gossamer.cli", "add", *urls, "--dir", str(workspace)],
        check=True, capture_output=True,
    )  # fmt: skip


def lease(workspace: Path, count: int = 100_000) -> dict[str, int]:
    """Play the URL server: lease what is due; return the doc_id of each URL."""
    with catalog_of(workspace) as catalog:
        return {due.url: due.doc_id for due in catalog.due(count, count, time.time())}


def leased(workspace: Path, *urls: str) -> list[int]:
    """Add start URLs, lease them; return their doc_ids."""
    add(workspace, *urls)
    dues = lease(workspace)
    return [dues[url] for url in urls]


def row_of(workspace: Path, url: str) -> Any:
    """Return what the catalog knows of a URL."""
    with catalog_of(workspace) as catalog:
        return catalog.find(url)


def rows_of(workspace: Path) -> dict[str, Any]:
    """Return what the catalog knows."""
    with catalog_of(workspace) as catalog:
        return {row.url: row for row in catalog.rows()}


def wait_until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until something is true; return it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.02)


def wait_for_outcome(workspace: Path, url: str) -> Any:
    """Wait until a URL has an outcome; return its row."""

    def found() -> Any:
        row = row_of(workspace, url)
        return row if row is not None and row.outcome is not None else None

    return wait_until(found)


def assert_sound(workspace: Path) -> None:
    """The catalog's accounts agree, and a stranger's tool can read the archive."""
    with catalog_of(workspace) as catalog:
        assert catalog.check() == []
    files = sorted((workspace / "archive").glob("*.warc.gz"))
    assert files
    assert list((workspace / "archive").glob("*.open")) == []
    checked = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", *map(str, files)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr


def links_to(*urls: str) -> bytes:
    """Return a page that links to these."""
    return HTML + b"".join(f'<a href="{url}">x</a>'.encode() for url in urls)


def records(workspace: Path) -> list[tuple[str, str, dict[str, str], bytes]]:
    """Read the archive with a stranger's tool: type, URI, headers and payload of each record."""
    from warcio.archiveiterator import ArchiveIterator

    found = []
    for path in sorted((workspace / "archive").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                headers = {name.lower(): value for name, value in record.rec_headers.headers}
                payload = record.content_stream().read()
                uri = headers.get("warc-target-uri", "")
                found.append((record.rec_type, uri, headers, payload))
    return found


def many_urls(count: int, site: str = SITE) -> Sequence[str]:
    """Return URLs to be fetched."""
    return [f"{site}p{number}" for number in range(count)]
