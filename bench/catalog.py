"""Measures the catalog: CPU a page of lease and commit, with few and with many known URLs.

    python bench/catalog.py [--known N] [--pages N] [--batch N] [--hosts N]
        [--shared | --in-memory | --sqlite-memory]

Without --known both sizes are measured, each in a process of its own, and the ratio is printed. A
page brings one new URL and 50 link targets, its body is new, and it is archived. CPU is that of the
process, user and system, so that other work on the machine matters little. With --shared the
catalog is opened as daemons open it, which look for each other's changes and take turns. With
--in-memory it is the one of a map, without a file; with --sqlite-memory, SQLite without a file.
"""

import argparse
import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Due, Findings, Found, Pointer
from gossamer.outcomes import Outcome, State

NOW = 1_800_000_000.0
LINKS = 50
BURST = 20
"""So many URLs of one host are found together, as on a page with a menu."""
KINDS = ("shared", "in-memory", "sqlite-memory")
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def found(number: int, hosts: int) -> Found:
    host = f"host{number // BURST % hosts}.example"
    url = f"https://{host}/section/{number % 97}/article-{number}.html"
    return Found(url, hashlib.md5(url.encode()).digest(), host, 3)


def findings(due: Due, number: int, new: list[Found]) -> Findings:
    draw = random.Random(number)
    return Findings(
        doc_id=due.doc_id,
        trans_id=number,
        outcome=int(Outcome.OK),
        status=200,
        fetched_at=NOW + number / 1_000,
        milliseconds=12,
        content_type="text/html",
        body_bytes=26_000,
        wire_bytes=6_000,
        checksum=draw.randbytes(16),
        simhash=draw.getrandbits(64),
        etag='"5f3c-5a2b"',
        last_modified="Tue, 15 Nov 2026 12:45:26 GMT",
        pointer=Pointer("crawl-00000.warc.gz", number * 6_500, 6_500),
        title="The title of an article",
        targets=draw.randbytes(8 * LINKS),
        found=tuple(new),
        payload_digest="sha1:" + "".join(draw.choices(BASE32, k=32)),
    )


def fill(catalog: SqliteCatalog | InMemoryCatalog, known: int, hosts: int) -> None:
    """Bring the catalog to its size; a tenth of it is fetched, as in the middle of a crawl."""
    for start in range(0, known, 20_000):
        catalog.add((found(n, hosts) for n in range(start, min(start + 20_000, known))), NOW)
    number = 0
    while number < known // 10:
        batch = catalog.due(min(2_000, known // 10 - number), 100, NOW)
        verdicts = [Verdict(findings(d, number + i, []), State.DONE) for i, d in enumerate(batch)]
        number += catalog.commit(verdicts, NOW).applied


def rounds(pages: int, batch: int) -> Iterator[int]:
    yield from range(pages // batch)


def measure(
    known: int, pages: int, batch: int, hosts: int, folder: Path, **options: bool
) -> dict[str, float]:
    settings = CatalogSettings()
    path = folder / "catalog.db"
    with SqliteCatalog.open(path, settings) as catalog:
        catalog.begin_run(NOW)
        fill(catalog, known, hosts)
    with SqliteCatalog.open(path, settings, **options) as catalog:
        figures = rounds_of(catalog, known, pages, batch, hosts)
    return figures | {"file_mb": path.stat().st_size / 1e6}


def measure_in_memory(
    catalog: SqliteCatalog | InMemoryCatalog, known: int, pages: int, batch: int, hosts: int
) -> dict[str, float]:
    catalog.begin_run(NOW)
    fill(catalog, known, hosts)
    return rounds_of(catalog, known, pages, batch, hosts)


def rounds_of(
    catalog: SqliteCatalog | InMemoryCatalog, known: int, pages: int, batch: int, hosts: int
) -> dict[str, float]:
    lease_cpu = commit_cpu = wall = 0.0
    catalog.begin_run(NOW)
    number = known
    new_url = known
    for _ in rounds(pages, batch):
        start, begun = time.process_time(), time.perf_counter()
        leased = catalog.due(batch, batch if hosts == 1 else max(8, batch // 4), NOW)
        lease_cpu += time.process_time() - start
        wall += time.perf_counter() - begun
        verdicts = []
        for due in leased:
            # One page in BURST brings that many new URLs: one a page on the average.
            burst = BURST if number % BURST == 0 else 0
            new = [found(new_url + i, hosts) for i in range(burst)]
            new_url += burst
            verdicts.append(Verdict(findings(due, number, new), State.DONE))
            number += 1
        start, begun = time.process_time(), time.perf_counter()
        catalog.commit(verdicts, NOW)
        commit_cpu += time.process_time() - start
        wall += time.perf_counter() - begun
    done = number - known
    begun = time.perf_counter()
    catalog.counts()
    counting = time.perf_counter() - begun
    wrong = catalog.check()
    if wrong:
        raise SystemExit("\n".join(wrong))
    return {
        "known": known,
        "pages": done,
        "lease_us": lease_cpu / done * 1e6,
        "commit_us": commit_cpu / done * 1e6,
        "page_us": (lease_cpu + commit_cpu) / done * 1e6,
        "wall_us": wall / done * 1e6,
        "counts_ms": counting * 1e3,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--known", type=int)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hosts", type=int)
    kinds = parser.add_mutually_exclusive_group()
    for kind in KINDS:
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind)
    arguments = parser.parse_args()
    if arguments.known is not None:
        hosts = arguments.hosts or max(1, arguments.known // 100)
        size = arguments.known, arguments.pages, arguments.batch, hosts
        if arguments.kind == "in-memory":
            figures = measure_in_memory(InMemoryCatalog(CatalogSettings()), *size)
        elif arguments.kind == "sqlite-memory":
            catalog = SqliteCatalog.open(":memory:", CatalogSettings())
            figures = measure_in_memory(catalog, *size)
        else:
            # On a real disk: a file system in memory would hide what syncing costs.
            with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
                figures = measure(*size, Path(folder), shared=arguments.kind == "shared")
        print(json.dumps({name: round(value, 1) for name, value in figures.items()}))
        return
    results = []
    for known in (2_000, 1_000_000):
        options = ["--known", str(known), "--pages", str(arguments.pages)]
        options += [
            "--batch",
            str(arguments.batch),
            *([f"--{arguments.kind}"] if arguments.kind else []),
        ]
        process = subprocess.run(
            [sys.executable, __file__, *options], check=True, capture_output=True, text=True
        )
        print(process.stdout, end="", flush=True)
        results.append(json.loads(process.stdout))
    print(f"CPU a page, large to small: {results[1]['page_us'] / results[0]['page_us']:.2f}")


if __name__ == "__main__":
    main()
