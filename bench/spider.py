"""What one request costs the spider: `python bench/spider.py [--requests N] [--concurrency N]`.

A server in a process of its own (nginx when it is installed, else a raw epoll server) serves one
page over loopback; the CPU time of the spider's process alone is divided by the number of
requests.
"""

import argparse
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.config.spider import SpiderSettings
from gossamer.config.url import UrlSettings
from gossamer.messages import Visit
from gossamer.outcomes import Outcome
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy


def main() -> None:
    arguments = _arguments()
    page = (b"<p>All work and no play makes a dull page.</p>\n" * arguments.bytes)[
        : arguments.bytes
    ]
    with tempfile.TemporaryDirectory() as folder:
        server, port = _start_server(Path(folder), page, arguments.server)
        try:
            _measure(port, arguments)
        finally:
            server.terminate()
            server.wait()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--bytes", type=int, default=26_000)
    parser.add_argument("--server", choices=("auto", "nginx", "raw"), default="auto")
    parser.add_argument("--report-start", action="store_true")
    parser.add_argument("--profile", action="store_true")
    return parser.parse_args()


def _measure(port: int, arguments: argparse.Namespace) -> None:
    policy = AddressPolicy(UrlSettings(allow_private=True))
    spider = Spider(SpiderSettings(), policy, SystemClock())
    urls = [f"http://site.example:{port}/page.html?{number}" for number in range(100)]
    _run(spider, urls, 1_000, arguments)
    wall, cpu = time.perf_counter(), time.process_time()
    if arguments.profile:
        import cProfile  # noqa: PLC0415 - only when asked for

        profile = cProfile.Profile()
        profile.runcall(_run, spider, urls, arguments.requests, arguments)
        profile.print_stats("tottime")
    else:
        _run(spider, urls, arguments.requests, arguments)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    spider.close()
    print(
        f"{cpu / arguments.requests * 1e6:.1f} µs CPU a request, "
        f"{arguments.requests / wall:,.0f} requests/s, {arguments.bytes} bytes each, "
        f"{arguments.concurrency} at once"
    )


def _run(spider: Spider, urls: list[str], count: int, arguments: argparse.Namespace) -> None:
    begun = done = 0
    while done < count:
        room = min(count - begun, arguments.concurrency - (begun - done))
        spider.start(*(_visit(begun + number, urls, arguments) for number in range(room)))
        begun += room
        for fetch in spider.poll(1.0):
            if fetch.outcome is not Outcome.OK or len(fetch.body) != arguments.bytes:
                sys.exit(f"unexpected answer: {fetch.outcome!r} {fetch.detail}")
            done += 1
        spider.started()


def _visit(number: int, urls: list[str], arguments: argparse.Namespace) -> Visit:
    url = urls[number % len(urls)]
    return Visit(number, number, "127.0.0.1", url, report_start=arguments.report_start)


def _start_server(folder: Path, page: bytes, kind: str) -> tuple[subprocess.Popen[bytes], int]:
    (folder / "page.html").write_bytes(page)
    nginx = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    if nginx and kind != "raw":
        command = [nginx, "-p", str(folder), "-c", str(_nginx_configuration(folder, port))]
    else:
        command = [sys.executable, __file__, "--serve", str(folder / "page.html"), str(port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return server, port
    sys.exit("the server did not start")


def _nginx_configuration(folder: Path, port: int) -> Path:
    path = folder / "nginx.conf"
    path.write_text(
        f"daemon off; pid {folder}/pid; error_log /dev/null; worker_processes 1;\n"
        + ("user root;\n" if os.geteuid() == 0 else "")
        + "events { worker_connections 4096; }\n"
        "http { access_log off; keepalive_requests 10000000; default_type text/html;\n"
        # No two pages of a site have the same tag.
        "etag off; add_header ETag '\"$request_id\"';\n"
        f"server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n"
    )
    return path


def _serve(page: bytes, port: int) -> None:
    """Answer every request with the page, on kept connections."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n"
    answer = head.encode() + page
    listener = socket.create_server(("127.0.0.1", port))
    poller = select.epoll()
    poller.register(listener, select.EPOLLIN)
    connections: dict[int, socket.socket] = {}
    while True:
        for fd, _ in poller.poll():
            if fd == listener.fileno():
                connection, _ = listener.accept()
                connections[connection.fileno()] = connection
                poller.register(connection, select.EPOLLIN)
                continue
            asked = connections[fd].recv(65_536)
            if not asked:
                connections.pop(fd).close()
            for _ in range(asked.count(b"\r\n\r\n")):
                connections[fd].sendall(answer)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        _serve(Path(sys.argv[2]).read_bytes(), int(sys.argv[3]))
    else:
        main()
