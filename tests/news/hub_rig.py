"""A real hub, a real workspace, and the process part of WebSub run in threads of the test."""

import contextlib
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec.structs import replace

from gossamer.catalog import pushes
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.clock import ManualClock
from gossamer.config.settings import Settings
from gossamer.news.websub import serve

PATIENCE_SECONDS = 60.0
CALLBACK = "http://news.example/websub"


@dataclass
class Call:
    """What came back from a callback."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Hub:
    """Takes subscriptions as the standard says, asks back, and distributes."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.forms: list[dict[str, str]] = []
        self.heads: list[Mapping[str, str]] = []
        self.confirmed: list[Call] = []
        self.status = 202
        self.answer_headers: dict[str, str] = {}
        self.body = b""
        self.verifies = True
        self.verifies_first = False
        """Whether it asks back before it answers."""
        self.lease = "864000"
        self.says: dict[str, str] = {}
        """What it says instead of what it was asked for."""
        self.listener = ("127.0.0.1", 0)
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                form = dict(parse_qsl(self.rfile.read(length).decode(), strict_parsing=True))
                hub.heads.append({name.lower(): value for name, value in self.headers.items()})
                hub.forms.append(form)
                wanted = hub.verifies and hub.status == 202
                if wanted and hub.verifies_first:
                    hub.verify(form)
                self.send_response(hub.status)
                for name, value in hub.answer_headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(hub.body)))
                self.end_headers()
                self.wfile.write(hub.body)
                self.wfile.flush()
                if wanted and not hub.verifies_first:
                    hub.verify(form)

            def log_message(self, *words: object) -> None:
                """Stay quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}/hub"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def verify(self, form: Mapping[str, str], **says: str) -> Call:
        """Ask back whether the subscriber means it."""
        query = {
            "hub.mode": form["hub.mode"],
            "hub.topic": form["hub.topic"],
            "hub.challenge": f"challenge {len(self.confirmed)}",
            **({"hub.lease_seconds": self.lease} if form["hub.mode"] == "subscribe" else {}),
            **self.says,
            **says,
        }
        call = self.call("GET", f"{path_of(form)}?{urlencode(query)}")
        self.confirmed.append(call)
        return call

    def distribute(
        self,
        form: Mapping[str, str],
        body: bytes = b"<rss/>",
        *,
        method: str = "sha256",
        secret: str | None = None,
        signature: str | None = None,
    ) -> Call:
        """Tell the subscriber something, signed with its secret unless told otherwise."""
        key = form["hub.secret"] if secret is None else secret
        signed = hmac.new(key.encode(), body, getattr(hashlib, method)).hexdigest()
        headers = {"X-Hub-Signature": f"{method}={signed}" if signature is None else signature}
        if signature == "":
            headers = {}
        return self.call("POST", path_of(form), body, headers)

    def call(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Call:
        """Call the listener, as the proxy in front of it would."""
        connection = http.client.HTTPConnection(*self.listener, timeout=PATIENCE_SECONDS)
        with contextlib.closing(connection):
            connection.request(method, target, body, dict(headers or {}))
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Call(answer.status, answer.read(), names)


def path_of(form: Mapping[str, str]) -> str:
    return urlsplit(form["hub.callback"]).path


def settings_for(**news: object) -> Settings:
    """Settings for a hub on this machine, without waits between questions."""
    settings = Settings()
    named = {"callback_url": CALLBACK, "callback_listen": "127.0.0.1:0", **news}
    return replace(
        settings,
        url=replace(settings.url, allow_private=True),
        urlserver=replace(settings.urlserver, host_per_second=0.0),
        news=replace(settings.news, **named),
    )


class Newsroom:
    """A workspace with feeds, and what asks and listens to hubs beside it."""

    def __init__(self, directory: Path, settings: Settings | None = None) -> None:
        self.directory = directory
        self.settings = settings or settings_for()
        self.clock = ManualClock()
        self.catalog = NewsCatalog.open(
            directory / "catalog.db", self.settings.catalog, shared=True
        )
        self.failure: BaseException | None = None
        self.listener = ("", 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.catalog.close()

    @property
    def now(self) -> float:
        return self.clock.time()

    def add_feed(self, hub: str, number: int = 1, *, due_in: float | None = 5_000.0) -> int:
        """Add a feed that was polled long ago, is due later, and names a hub."""
        url = f"http://news{number}.example/feed"
        source_id = self.catalog.add_source(f"news {number}", url, self.now)
        feed_id, _ = self.catalog.add_feed(source_id, url, self.now)
        due_at = None if due_in is None else self.now + due_in
        with self.catalog.database.writing("set the stage") as connection:
            connection.execute(
                "UPDATE feed SET due_at = ?, last_attempt_at = ? WHERE feed_id = ?",
                (due_at, self.now - 1_000.0, feed_id),
            )
            pushes.note_hub(connection, feed_id, hub, url)
        return feed_id

    def row(self, feed_id: int = 1) -> pushes.PushRow:
        rows = pushes.push_rows(self.catalog.database)
        return next(row for row in rows if row.feed_id == feed_id)

    def due_at(self, feed_id: int = 1) -> float | None:
        with self.catalog.database.reading("look") as connection:
            found = connection.execute("SELECT due_at FROM feed WHERE feed_id = ?", (feed_id,))
            return found.fetchone()[0]

    @contextlib.contextmanager
    def serving(self, hub: Hub | None = None) -> Iterator[None]:
        """Ask and listen to hubs, in threads."""
        stop, ready = threading.Event(), threading.Event()

        def on_ready(host: str, port: int) -> None:
            self.listener = (host, port)
            ready.set()

        def run() -> None:
            try:
                serve(self.directory, self.settings, self.clock, stop, on_ready)
            except BaseException as error:  # noqa: BLE001 - told to the test
                self.failure = error
                ready.set()

        if hub is not None:
            # Hubs call where the listener is; a proxy would know the way.
            original = on_ready

            def on_ready(host: str, port: int) -> None:
                hub.listener = (host, port)
                original(host, port)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert ready.wait(PATIENCE_SECONDS)
            if self.failure is not None:
                raise self.failure
            yield
        finally:
            stop.set()
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
        if self.failure is not None:
            raise self.failure


def until(is_true: Callable[[], bool], what: str) -> None:
    """Wait until something is true that will be soon."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < end, f"never came true: {what}"
        time.sleep(0.02)


def say(listener: tuple[str, int], data: bytes, *, finish: bool = False) -> bytes:
    """Send raw bytes; return all that comes back until the connection is closed."""
    with socket.create_connection(listener, PATIENCE_SECONDS) as end:
        end.sendall(data)
        if finish:
            end.shutdown(socket.SHUT_WR)
        heard = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := end.recv(65_536):
                heard += piece
        return heard
