"""gossamer as three daemons: the same crawl over the wire, with as many processes that parse."""

import socket
import subprocess
import sys
import time
from pathlib import Path

URL, FOLDER, CONCURRENCY = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
GOSSAMER = [sys.executable, "-m", "gossamer.cli"]
LIMITS = ["--concurrency", CONCURRENCY, "--per-host", CONCURRENCY, "--delay", "0"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_listener(port: int) -> None:
    for _ in range(1_000):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise SystemExit(f"nobody listens on port {port}")


def main() -> int:
    store_port, spider_port = free_port(), free_port()
    store, spider = f"127.0.0.1:{store_port}", f"127.0.0.1:{spider_port}"
    workspace = str(FOLDER / "w")
    servers = [
        [*GOSSAMER, "store-server", "--listen", store, "--dir", workspace, "--workers", "2"],
        [*GOSSAMER, "spider", "--listen", spider, "--store", store, "--spool", str(FOLDER / "s")],
    ]
    running = [subprocess.Popen([*server, "--allow-private"]) for server in servers]
    await_listener(store_port)
    await_listener(spider_port)
    scheduler = [*GOSSAMER, "url-server", URL, "--dir", workspace, "--spider", spider]
    done = subprocess.run([*scheduler, *LIMITS, "--allow-private", "--until-idle"], check=False)
    for server in running:
        server.terminate()
    codes = [server.wait() for server in running]
    return done.returncode or max(codes)


if __name__ == "__main__":
    sys.exit(main())
