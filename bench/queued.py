"""CPU and memory of a crawl with few URLs waiting, and with a million waiting on 10,000 hosts.

.venv/bin/python bench/queued.py [--hosts 10000] [--per-host 100] [--pages 10000]

Unlike bench/known.py, where the million are known but not to be fetched, here every one of them is
pending and every host has its share. Each host is an address of its own on loopback; nginx answers
for all of them.
"""

import argparse
import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import known
import sites

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Found

# Of a million on 10,000 hosts, the first 10,000 pages come from the 2,000 hosts that have a queue,
# five from each: so do the few here, for a new host costs a robots.txt and a connection.
FEW_HOSTS, FEW_PER_HOST = 400, 5
BATCH = 10_000
_CONFIGURATION = """\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{
        listen {port} backlog=4096;
        location = /robots.txt {{ return 404; }}
        {locations}
    }}
}}
"""
_PAGES = """location / {
            default_type text/html;
            return 200 "<title>$host$uri</title><p>$host$uri<a href=/section/0.html>up</a>";
        }"""


@contextmanager
def web(folder: Path, locations: str = _PAGES) -> Iterator[int]:
    """Answer on one port of every loopback address."""
    port = sites.free_port()
    file = folder / "nginx.conf"
    text = _CONFIGURATION.format(folder=folder, port=port, locations=locations)
    file.write_text(text, encoding="utf-8")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    server = subprocess.Popen([program, "-c", str(file), "-e", str(folder / "error.log")])
    time.sleep(1.0)
    try:
        yield port
    finally:
        server.terminate()
        server.wait()


def fill(workspace: Path, hosts: int, per_host: int, port: int) -> None:
    """Make a workspace in which every host has so many URLs pending."""
    workspace.mkdir(parents=True)
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings()) as catalog:
        batch: list[Found] = []
        for number in range(hosts * per_host):
            batch.append(waiting_url(number % hosts, number // hosts, port))
            if len(batch) == BATCH:
                catalog.add(batch, time.time())
                batch = []
        catalog.add(batch, time.time())


def waiting_url(host: int, page: int, port: int) -> Found:
    name = f"127.{20 + (host >> 16)}.{host >> 8 & 255}.{host & 255}"
    url = f"http://{name}:{port}/section/{page}.html"
    md5 = hashlib.md5(url.encode(), usedforsecurity=False).digest()
    return Found(url, md5, name, depth=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--per-host", type=int, default=100)
    parser.add_argument("--pages", type=int, default=10_000)
    given = parser.parse_args()
    cpu: list[float] = []
    with tempfile.TemporaryDirectory() as folder, web(Path(folder)) as port:
        for hosts, per_host in ((FEW_HOSTS, FEW_PER_HOST), (given.hosts, given.per_host)):
            workspace = Path(folder) / f"w{hosts}"
            fill(workspace, hosts, per_host, port)
            pages = min(given.pages, hosts * per_host)
            start = f"http://127.20.0.0:{port}/section/0.html"
            spent, peak = known.measured(workspace, start, ["--max-pages", str(pages)])
            cpu.append(spent)
            print(
                f"{hosts * per_host:>9} pending on {hosts:>6} hosts: "
                f"{spent:.3f} ms CPU a page over {pages} pages, peak {peak >> 20} MB",
                flush=True,
            )
    print(f"ratio: {cpu[1] / cpu[0]:.2f}")


if __name__ == "__main__":
    main()
