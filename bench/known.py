"""CPU and memory of a crawl in a workspace that knows few URLs, and in one that knows a million.

.venv/bin/python bench/known.py [--known 1000000] [--hosts 10000] [--pages 3000]
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.fakeweb.process import FakeWeb
from gossamer.messages import Found
from gossamer.outcomes import Outcome, State

BATCH = 10_000


def fill(workspace: Path, known: int, hosts: int) -> None:
    """Make a workspace that knows this many URLs, none of them to be fetched."""
    workspace.mkdir(parents=True)
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings()) as catalog:
        for start in range(0, known, BATCH):
            catalog.add(
                [known_url(number, hosts) for number in range(start, min(start + BATCH, known))],
                time.time(),
            )


def known_url(number: int, hosts: int) -> Found:
    host = f"h{number % hosts}.known.example"
    url = f"http://{host}/section/{number // hosts}/page-{number}.html"
    return Found(
        url,
        hashlib.md5(url.encode(), usedforsecurity=False).digest(),
        host,
        depth=3,
        state=int(State.EXCLUDED),
        outcome=int(Outcome.POLICY_TRAP),
    )


def tree(process: int) -> list[int]:
    """Return a process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children")
    try:
        return [process, *map(int, children.read_text().split())]
    except OSError:
        return []


def resident(processes: list[int]) -> int:
    total = 0
    for process in processes:
        try:
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total


def crawl(workspace: Path, pages: int) -> tuple[float, int]:
    """Crawl a fake web; return CPU milliseconds a page and the peak memory of all processes."""
    with FakeWeb(pages=pages, hosts=20, seed=3) as web:
        return measured(workspace, web.start_url, [])


def measured(workspace: Path, start_url: str, options: list[str]) -> tuple[float, int]:
    """Crawl; return CPU milliseconds a page and the peak memory of all processes."""
    argv = [sys.executable, "-m", "gossamer.cli", "crawl", start_url, "--dir", str(workspace)]
    argv += ["--scope", "any", "--allow-private", "--delay", "0", "--per-host", "16"]
    argv += ["--concurrency", "16", "--workers", "2", "--json", *options]
    before = os.times()
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(tree(process.pid)))
        time.sleep(0.2)
    output, _ = process.communicate()
    after = os.times()
    fetched = json.loads(output)["progress"]["pages"]
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return spent / fetched * 1000.0, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--known", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=3_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    best: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(arguments.repeat):
            for known in (2_000, arguments.known):
                workspace = Path(folder) / f"w{known}-{turn}"
                fill(workspace, known, min(arguments.hosts, known))
                cpu, peak = crawl(workspace, arguments.pages)
                best[known] = min(cpu, best.get(known, cpu))
                print(
                    f"{known:>9} known: {cpu:.3f} ms CPU a page, peak {peak >> 20} MB", flush=True
                )
    print(f"ratio of the best: {best[arguments.known] / best[2_000]:.2f}")


if __name__ == "__main__":
    main()
