"""Time from starting `gossamer site` to its first request, and to that for the start page.

.venv/bin/python bench/startup.py [RUNS]

The moments are those at which a server on loopback has read the requests; it does nothing else. On
a busy machine most of that time is spent waiting for a core: the CPU time that the process had used
until its first request (from the kernel's scheduler) tells the two apart. What its workers load
meanwhile, on another core, is not in it: on a busy machine that is waited for, too.
"""

import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

PAGE = b"<!DOCTYPE html><title>x</title>"


def serve(listener: socket.socket, seen: dict[str, float], cpu: list[float]) -> None:
    """Answer each connection's requests; note when each path came first."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=answer, args=(connection, seen, cpu), daemon=True).start()


def answer(connection: socket.socket, seen: dict[str, float], cpu: list[float]) -> None:
    buffer = b""
    with connection:
        while piece := connection.recv(65_536):
            now = time.monotonic()
            buffer += piece
            while b"\r\n\r\n" in buffer:
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                if not seen:
                    cpu.append(cpu_of_child())
                seen.setdefault(path, now)
                status, body = (b"200 OK", PAGE) if path == "/" else (b"404 Not Found", b"")
                connection.sendall(
                    b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
                    % (status, len(body), body)
                )


def cpu_of_child() -> float:
    """Return the seconds on a core of our one child, all threads together."""
    own = f"/proc/{os.getpid()}/task"
    children = [pid for each in Path(own).glob("*/children") for pid in each.read_text().split()]
    tasks = Path(f"/proc/{children[0]}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in tasks) / 1e9


def one_run() -> tuple[float, float, float]:
    """Return seconds to the first request and to that for the start page, and the CPU time."""
    seen: dict[str, float] = {}
    cpu: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener, seen, cpu), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        command = Path(sys.executable).with_name("gossamer")
        began = time.monotonic()
        subprocess.run([command, "site", url, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return seen["/robots.txt"] - began, seen["/"] - began, cpu[0]


def main() -> None:
    runs = [one_run() for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10)]
    names = ("first request", "start page", "CPU until the first request")
    for name, times in zip(names, zip(*runs, strict=True), strict=True):
        low, middle, high = min(times), statistics.median(times), max(times)
        print(f"{name}: median {middle:.3f} s, {low:.3f} to {high:.3f} ({len(times)} runs)")


if __name__ == "__main__":
    main()
