"""The sites, served by nginx on loopback; its access log is the judge of what was fetched."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gossamer.fakeweb.graph import Graph
from gossamer.fakeweb.hosts import Hosts
from gossamer.fakeweb.options import Options
from gossamer.fakeweb.pages import Writer, assets, css, png

ADDRESS = "127.16.0.1"
GENERATED = "generated"
DOCUMENTS = {
    "openjdk": Path("/usr/share/doc/openjdk-17-jre-headless/api"),
    "pike": Path("/usr/share/doc/pike8.0-doc/html/reference"),
    "python": Path("/usr/share/doc/python3.11/html"),
}
PACKAGES = {"openjdk": "openjdk-17-doc", "pike": "pike8.0-doc", "python": "python3.11-doc"}
_CONFIGURATION = """\
daemon off;
worker_processes 1;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
    include /etc/nginx/mime.types;
    log_format judge "$status $sent_http_content_type $body_bytes_sent $request_uri";
    access_log {folder}/access.log judge;
    open_file_cache off;
    sendfile on;
    tcp_nopush on;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    server {{
        listen {address}:{port} backlog=4096;
        root {root};
        index index.html;
        disable_symlinks off;
    }}
}}
"""


@dataclass(frozen=True)
class Counts:
    """What the access log shows of one run."""

    responses: int
    pages: int
    page_bytes: int


class Site:
    """One site while nginx serves it."""

    def __init__(self, name: str, url: str, documents: int, log: Path) -> None:
        self.name = name
        self.url = url
        self.documents = documents
        self._log = log
        self._read = 0

    def forget(self) -> None:
        """Count anew from here."""
        self._read = self._log.stat().st_size

    def counts(self) -> Counts:
        """Count what was fetched since `forget`: responses, and distinct HTML pages among them."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            lines = log.read().splitlines()
        pages: dict[bytes, int] = {}
        for line in lines:
            status, kind, *_, size, target = line.split(b" ")
            if status == b"200" and kind.startswith(b"text/html"):
                path = target.partition(b"?")[0]
                pages[b"/" if path == b"/index.html" else path] = int(size)
        return Counts(len(lines), len(pages), sum(pages.values()))


def available() -> list[str]:
    """Return the names of the sites that can be served here."""
    if not _nginx():
        return []
    return [
        GENERATED,
        *(name for name, root in DOCUMENTS.items() if (root / "index.html").exists()),
    ]


@contextmanager
def serve(name: str, folder: Path, generated_pages: int) -> Iterator[Site]:
    """Serve a site with nginx for as long as the block lasts."""
    port = free_port()
    root = DOCUMENTS.get(name)
    if root is None:
        root = folder / "site"
        write_generated(root, generated_pages, port)
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        _CONFIGURATION.format(user=user, folder=folder, address=ADDRESS, port=port, root=root)
    )
    process = subprocess.Popen(
        [_nginx(), "-c", str(configuration), "-e", str(folder / "error.log")]
    )
    try:
        _wait_for(port, process)
        documents = sum(1 for _ in _documents(root))
        yield Site(name, f"http://{ADDRESS}:{port}/", documents, folder / "access.log")
    finally:
        process.terminate()
        process.wait()


def write_generated(root: Path, pages: int, port: int) -> None:
    """Write a fake web of one host as files, with pages like those of openjdk-17-doc."""
    options = Options(
        pages=pages,
        hosts=1,
        seed=17,
        links_per_page=107,
        page_bytes=26_000,
        query_every=0,
        redirects=0,
        duplicates=0,
        near_duplicates=0,
        disallowed=0,
        nofollow=0,
        gone=0,
    )
    graph = Graph(options, Hosts(options, port))
    writer = Writer(graph)
    for place in graph.places():
        path = graph.path(place)
        _write(root / (path[1:] or "index.html"), writer.html(place))
    for path in assets():
        _write(root / path[1:], css() if path.endswith(".css") else png())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _documents(root: Path) -> Iterator[str]:
    for _, _, names in os.walk(root, followlinks=True):
        yield from (name for name in names if name.endswith((".html", ".htm")))


def _nginx() -> str:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin") or ""


def free_port() -> int:
    """Return a port that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((ADDRESS, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("nginx did not start; see its messages above")
