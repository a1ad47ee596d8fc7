"""Compares crawlers on the same sites in one run: pages a second, CPU a page, memory.

`make bench`, or `python bench/run.py --sites openjdk,pike --tools gossamer,wget2 --repeats 3`.

What the crawlers wrote is deleted at the end only: ext4 passes over inodes that were freed in the
last five minutes, one by one, so that whoever writes many files after a deletion seems several
times slower than he is. Leave the disk alone for five minutes before a run, too.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import measure
import sites
import tools

RESULTS = Path(__file__).parent / "results"
# A run that is not capped and saw fewer pages than this share of the best did not do the work.
WHOLE = 0.99
MEDIANS = (
    "pages",
    "responses",
    "seconds",
    "pages_per_second",
    "responses_per_second",
    "cpu_ms_per_page",
    "peak_mb",
)


def main() -> int:
    """Measure, print the tables, write the JSON."""
    given = _arguments()
    measure.adopt_orphans()
    chosen = _prepared(given.tools.split(","))
    names = [name for name in given.sites.split(",") if name in sites.available()]
    _tell_missing(given.sites.split(","), names)
    if not chosen or not names:
        print("nothing to measure: no tool or no site is there", file=sys.stderr)
        return 1
    versions = {tool.name: tool.version() for tool in chosen}
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=given.temporary) as written:
        for name in names:
            folder = Path(written) / name
            folder.mkdir()
            with sites.serve(name, folder, given.generated_pages) as site:
                results[name] = _measure_site(site, chosen, given, folder)
            _print_table(name, results[name])
        _write(given, versions, results)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", default=",".join(["generated", *sites.DOCUMENTS]))
    parser.add_argument("--tools", default=",".join(tools.TOOLS))
    parser.add_argument("--repeats", type=int, default=3, help="runs of each tool, interleaved")
    parser.add_argument(
        "--cap", type=float, default=420.0, help="seconds after which a run is ended"
    )
    parser.add_argument("--generated-pages", type=int, default=10_000)
    parser.add_argument(
        "--temporary", help="folder for what the crawlers write; a disk, not memory"
    )
    parser.add_argument(
        "--once", default="scrapy,scrapy-resumable,crawlee", help="tools that are run a single time"
    )
    return parser.parse_args()


def _prepared(wanted: list[str]) -> list[tools.Tool]:
    unknown = set(wanted) - set(tools.TOOLS)
    if unknown:
        raise SystemExit(f"no such tool: {', '.join(unknown)}; there are {', '.join(tools.TOOLS)}")
    ready = []
    for name in wanted:
        if tools.TOOLS[name].prepare():
            ready.append(tools.TOOLS[name])
        else:
            print(f"left out: {name} is not here and could not be installed", file=sys.stderr)
    return ready


def _tell_missing(wanted: list[str], there: list[str]) -> None:
    for name in wanted:
        if name not in there:
            package = sites.PACKAGES.get(name, "nginx")
            print(f"left out: site {name} needs nginx and {package}", file=sys.stderr)


def _measure_site(
    site: sites.Site, chosen: list[tools.Tool], given: argparse.Namespace, folder: Path
) -> list[dict[str, Any]]:
    runs = []
    for repeat in range(given.repeats):
        for tool in chosen:
            if repeat and tool.name in given.once.split(","):
                continue
            run = _one_run(site, tool, given.cap, folder)
            print(
                f"{site.name} {tool.name} #{repeat + 1}: {run['pages']} pages, "
                f"{run['seconds']:.1f} s, exit {run['exit_code']}",
                file=sys.stderr,
            )
            runs.append(run)
    return _summary(runs, site.documents)


def _one_run(site: sites.Site, tool: tools.Tool, cap: float, folder: Path) -> dict[str, Any]:
    work = Path(tempfile.mkdtemp(prefix=f"{tool.name}-", dir=folder))
    os.sync()
    site.forget()
    measured = measure.run(tool.command(site.url, work), work, cap, tool.environment)
    counts = site.counts()
    output = (work / "output.txt").read_text(errors="replace")[-2_000:]
    pages = counts.pages or 1
    return {
        "tool": tool.name,
        "seconds": measured.seconds,
        "finished": measured.finished,
        "exit_code": measured.exit_code,
        "responses": counts.responses,
        "pages": counts.pages,
        "mean_page_bytes": counts.page_bytes // pages,
        "pages_per_second": counts.pages / measured.seconds,
        "responses_per_second": counts.responses / measured.seconds,
        "cpu_ms_per_page": measured.cpu_seconds * 1_000 / pages,
        "peak_mb": measured.peak_bytes / 1e6,
        "output": output if measured.exit_code else "",
    }


def _summary(runs: list[dict[str, Any]], documents: int) -> list[dict[str, Any]]:
    """Return one row for each tool: medians over its runs, the runs themselves, and its ratios."""
    rows = []
    for name in dict.fromkeys(run["tool"] for run in runs):
        own = [run for run in runs if run["tool"] == name]
        row = {number: median(run[number] for run in own) for number in MEDIANS}
        finished = all(run["finished"] for run in own)
        rows.append(
            {"tool": name, "finished": finished, "documents": documents, **row, "runs": own}
        )
    best = max(row["pages"] for row in rows)
    reference = next((row for row in rows if row["tool"] == "gossamer"), rows[0])
    for row in rows:
        row["whole"] = row["pages"] >= WHOLE * best
        row["speed_ratio"] = reference["pages_per_second"] / max(row["pages_per_second"], 1e-9)
        row["cpu_ratio"] = row["cpu_ms_per_page"] / max(reference["cpu_ms_per_page"], 1e-9)
    return rows


def _print_table(name: str, rows: list[dict[str, Any]]) -> None:
    first = rows[0]["tool"]
    print(f"\n{name}: {rows[0]['documents']} HTML files; medians; ratios are {first} against each")
    print(
        f"{'tool':11}{'pages':>8}{'answers':>9}{'s':>8}{'pages/s':>10}{'answers/s':>11}"
        f"{'CPU ms/page':>13}{'peak MB':>9}{'speed x':>9}{'CPU x':>8}"
    )
    for row in rows:
        note = "" if row["finished"] else "  ended by the time cap"
        if row["finished"] and not row["whole"]:
            note = "  FETCHED LESS than others"
        print(
            f"{row['tool']:11}{row['pages']:8.0f}{row['responses']:9.0f}{row['seconds']:8.1f}"
            f"{row['pages_per_second']:10.1f}{row['responses_per_second']:11.1f}"
            f"{row['cpu_ms_per_page']:13.3f}{row['peak_mb']:9.0f}"
            f"{row['speed_ratio']:9.2f}{row['cpu_ratio']:8.2f}{note}"
        )


def _write(
    given: argparse.Namespace, versions: dict[str, str], results: dict[str, list[dict[str, Any]]]
) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / time.strftime("%Y%m%dT%H%M%SZ.json", time.gmtime())
    about = {
        "command": " ".join(sys.argv),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "versions": versions,
        "cap_seconds": given.cap,
        "concurrency": tools.CONCURRENCY,
    }
    path.write_text(json.dumps({"about": about, "sites": results}, indent=1))
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    sys.exit(main())
