"""A publisher on loopback: feeds and stories that a test may change, and a log that judges."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Reply = tuple[int, dict[str, str], bytes]
Route = Reply | Callable[["Request"], Reply]


class Request(NamedTuple):
    """What was asked, and when."""

    at: float
    path: str
    headers: dict[str, str]
    method: str = "GET"


class Press:
    """What a server answers, and what it was asked."""

    def __init__(self, port: int, address: str) -> None:
        self.root = f"http://{address}:{port}"
        self.routes: dict[str, Route] = {}
        self.log: list[Request] = []
        self._lock = threading.Lock()

    def url(self, path: str) -> str:
        """Return an absolute URL."""
        return self.root + path

    def feed(self, path: str, items: Sequence[dict[str, Any]], **channel: str) -> None:
        """Answer with an RSS feed of these items; a link that begins with / is on this server."""
        document = rss(self, items, channel)
        self.routes[path] = (200, {"Content-Type": "application/rss+xml"}, document)

    def story(self, path: str, title: str, words: str = "") -> None:
        """Answer with the page of a story."""
        text = "".join(f"<p>{escape(words or title)} {number}.</p>" for number in range(12))
        head = f"<html lang=en><title>{escape(title)}</title>"
        page = f"{head}<article><h1>{escape(title)}</h1>{text}"
        self.routes[path] = (200, {"Content-Type": "text/html; charset=utf-8"}, page.encode())

    def asked(self, path: str) -> int:
        """Return how often a path was asked for."""
        return sum(request.path == path for request in self.log)

    def answer(self, request: Request) -> Reply:
        """Log a request and return its answer."""
        with self._lock:
            self.log.append(request)
        route = self.routes.get(request.path)
        if route is None:
            return 404, {"Content-Type": "text/plain"}, b"no such thing"
        return route(request) if callable(route) else route


def rss(press: Press, items: Sequence[dict[str, Any]], channel: dict[str, str]) -> bytes:
    """Return an RSS 2.0 document."""
    parts = [f"<{name}>{escape(value)}</{name}>" for name, value in channel.items()]
    for item in items:
        link = item["link"]
        fields = {
            "title": item.get("title", ""),
            "link": press.url(link) if link.startswith("/") else link,
            "guid": item.get("guid", ""),
            "pubDate": formatdate(item["published"], usegmt=True) if "published" in item else "",
            "description": item.get("description", ""),
        }
        said = {name: text for name, text in fields.items() if text}
        inside = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in said.items())
        parts.append(f"<item>{inside}</item>")
    title = "" if "title" in channel else "<title>The Daily Loop</title>"
    head = '<?xml version="1.0"?><rss version="2.0"><channel>'
    return f"{head}{title}{''.join(parts)}</channel></rss>".encode()


@contextmanager
def press(address: str = "127.0.0.1") -> Iterator[Press]:
    """Serve until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(time.monotonic(), self.path, headers, self.command)
            status, fields, body = paper.answer(request)
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(0 if status == 304 else len(body)))
            self.end_headers()
            if status != 304 and self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - so the library calls it

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Clients are killed in the middle of a request; that is what the tests are for."""

    server = Server((address, 0), Handler)
    server.daemon_threads = True
    paper = Press(server.server_address[1], address)
    paper.routes["/robots.txt"] = (404, {}, b"")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield paper
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
