"""A small web server that does what a table says, and the real command run against it."""

import json
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import unquote

GOSSAMER = (sys.executable, "-m", "gossamer.cli")


@dataclass(frozen=True)
class Reply:
    """One answer; a page of HTML unless the headers say otherwise."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    address: str
    """At which of the addresses of this machine."""
    peer: int = 0
    """From which port: requests over one connection have the same."""


Answer = str | Reply | Callable[[Asked], "str | Reply"]


def page(*hrefs: str, title: str = "", text: str = "") -> str:
    """Return a page with these links; different links make different pages."""
    links = "".join(f"<a href='{href}'>to {href}</a>" for href in hrefs)
    return f"<!DOCTYPE html><title>{title}</title><p>{text}</p>{links}"


def moved(to: str, status: int = 301) -> Reply:
    """Return a redirect."""
    return Reply(status=status, headers={"Location": to})


class Site:
    """Serves a table of paths, and remembers what it was asked for."""

    def __init__(
        self,
        answers: Mapping[str, Answer] | Callable[[str], Answer | None],
        tls: ssl.SSLContext | None = None,
        # Every address of 127/8 is this machine: one server can be several hosts.
        place: tuple[str, int] = ("0.0.0.0", 0),
    ) -> None:
        self._answers = answers
        self._scheme = "http" if tls is None else "https"
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(place, self._handler())
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Take no more connections; those that are open go on."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self._scheme}://{host}:{self.port}{path}"

    def counts(self, method: str = "GET") -> Counter[str]:
        """Return how often each path was asked for."""
        return Counter(each.path for each in self.asked if each.method == method)

    def answer(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
        found = (
            self._answers(asked.path) if callable(self._answers) else self._answers.get(asked.path)
        )
        if callable(found):
            found = found(asked)
        if found is None:
            return Reply(b"not here", 404)
        return Reply(found.encode()) if isinstance(found, str) else found

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def do_GET(self) -> None:
                address = self.connection.getsockname()[0]
                names = {name.lower(): value for name, value in self.headers.items()}
                peer = self.client_address[1]
                reply = site.answer(Asked(self.command, self.path, names, address, peer))
                self.send_response(reply.status)
                fields = {"Content-Type": "text/html; charset=utf-8", **reply.headers}
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(reply.body)

            do_HEAD = do_GET  # noqa: N815 - the library's names

            def log_message(self, *words: object) -> None:
                """Stay quiet."""

        return Handler


TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


class Files:
    """Answers with the files of a folder, as a static web server does."""

    def __init__(self, folder: Path, headers: Mapping[str, str] | None = None) -> None:
        self._folder = folder.resolve()
        self._headers = headers or {}

    def __call__(self, path: str) -> Reply | None:
        file = self.file_of(path)
        if file is None:
            return None
        kind = TYPES.get(file.suffix, "application/octet-stream")
        return Reply(file.read_bytes(), headers={"Content-Type": kind, **self._headers})

    def file_of(self, path: str) -> Path | None:
        name = unquote(path.partition("?")[0]).lstrip("/")
        file = self._folder / name
        if not name or name.endswith("/"):
            file = file / "index.html"
        return file if file.is_file() else None


def run_site(*arguments: str, timeout: float = 120.0) -> "subprocess.CompletedProcess[str]":
    """Run the command; nothing that it prints may be a traceback."""
    # In one process unless told otherwise: it starts faster.
    workers = () if "--workers" in arguments else ("--workers", "0")
    result = subprocess.run(
        [*GOSSAMER, "site", *arguments, *workers],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert "Traceback" not in result.stderr, result.stderr
    return result


def site_map(*arguments: str, code: int = 0) -> dict:
    """Run the command; return its JSON, with the pages by URL as well."""
    result = run_site(*arguments, "--format", "json", "--quiet")
    assert result.returncode == code, (result.returncode, result.stderr)
    found: dict = json.loads(result.stdout)
    found["by_url"] = {each["url"]: each for each in found["pages"]}
    return found


def paths(found: dict) -> list[str]:
    """Return the paths of the pages in the order of the map."""
    return ["/" + each["url"].split("/", 3)[3] for each in found["pages"]]
