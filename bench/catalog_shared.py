"""Measures two processes on one catalog: how long each waits, and how many pages pass.

    python bench/catalog_shared.py [--seconds S] [--batch N] [--known N]

One process leases URLs and marks them as delivered, as the URL server does; the other commits a
verdict on each, in four transactions a batch, as the store server does. Neither pauses.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from catalog import BURST, NOW, findings, found
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Due
from gossamer.outcomes import State

HOSTS = 200


def spread(seconds: Sequence[float]) -> str:
    ranked = sorted(seconds)
    shares = [("half", 0.5), ("9 in 10", 0.9), ("99 in 100", 0.99), ("all", 1.0)]
    marks = [(name, ranked[min(int(len(ranked) * q), len(ranked) - 1)]) for name, q in shares]
    within = ", ".join(f"{name} {mark * 1e3:.1f}" for name, mark in marks)
    return f"{len(ranked)} transactions, milliseconds within which they were over: {within}"


def url_server(path: Path, queue: Any, seconds: float, batch: int) -> None:
    """Lease and mark without a pause."""
    leases, marks = [], []
    end = time.monotonic() + seconds
    with SqliteCatalog.open(path, CatalogSettings(), shared=True) as catalog:
        while time.monotonic() < end:
            begun = time.perf_counter()
            leased = catalog.due(batch, max(8, batch // 4), NOW)
            leases.append(time.perf_counter() - begun)
            queue.put(leased)
            begun = time.perf_counter()
            catalog.mark_delivered([due.doc_id for due in leased], NOW)
            marks.append(time.perf_counter() - begun)
    queue.put(None)
    print(f"lease:  {spread(leases)}\nmark:   {spread(marks)}", flush=True)


def store_server(path: Path, queue: Any, known: int) -> None:
    """Commit what was leased without a pause."""
    commits: list[float] = []
    number = known
    began = time.monotonic()
    with SqliteCatalog.open(path, CatalogSettings(), shared=True) as catalog:
        while (leased := queue.get()) is not None:
            verdicts = [verdict(due, number + place) for place, due in enumerate(leased)]
            number += len(leased)
            share = max(1, len(verdicts) // 4)
            for start in range(0, len(verdicts), share):
                begun = time.perf_counter()
                catalog.commit(verdicts[start : start + share], NOW)
                commits.append(time.perf_counter() - begun)
    pages = number - known
    cpu = time.process_time() / pages * 1e6
    print(f"commit: {spread(commits)}; {cpu:.0f} µs of CPU a page, with making it up")
    print(f"{pages / (time.monotonic() - began):.0f} pages a second", flush=True)


def verdict(due: Due, number: int) -> Verdict:
    """Return what a page brought: one in BURST brings that many new URLs."""
    new = [found(number + place, HOSTS) for place in range(BURST)] if number % BURST == 0 else []
    return Verdict(findings(due, number, new), State.DONE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--known", type=int, default=200_000)
    arguments = parser.parse_args()
    # On a real disk: a file system in memory would hide what syncing costs.
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        path = Path(folder) / "catalog.db"
        with SqliteCatalog.open(path, CatalogSettings()) as catalog:
            catalog.begin_run(NOW)
            catalog.add((found(number, HOSTS) for number in range(arguments.known)), NOW)
        queue = multiprocessing.Queue(maxsize=4)
        timing = (path, queue, arguments.seconds, arguments.batch)
        processes = [
            multiprocessing.Process(target=url_server, args=timing),
            multiprocessing.Process(target=store_server, args=(path, queue, arguments.known)),
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        with SqliteCatalog.open(path, CatalogSettings()) as catalog:
            wrong = catalog.check()
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
