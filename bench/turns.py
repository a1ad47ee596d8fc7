"""CPU a page of the same crawl by several trees of the source, in turns: for one change.

.venv/bin/python bench/turns.py [--site openjdk] [--tool site] [--rounds 4] TREE [TREE ...]

A tree is a checkout of this project; its modules are used with this environment's packages. All
trees are run once in each round, forwards and backwards by turns, so that what else the machine
does hits all of them. Trust the CPU time: pages a second say little unless the machine is idle.
"""

import argparse
import compileall
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

import measure
import sites
import tools

CAP_SECONDS = 120.0


def main() -> None:
    given = _arguments()
    measure.adopt_orphans()
    spent: dict[Path, list[float]] = {tree: [] for tree in given.trees}
    pages: dict[Path, set[int]] = {tree: set() for tree in given.trees}
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        sites.serve(given.site, Path(folder), 10_000) as site,
    ):
        for number in range(given.rounds):
            for tree in given.trees[:: -1 if number % 2 else 1]:
                cpu_ms, count = _one_run(site, tools.TOOLS[given.tool], tree, Path(folder))
                spent[tree].append(cpu_ms)
                pages[tree].add(count)
    first = median(spent[given.trees[0]])
    for tree, each in spent.items():
        print(
            f"{tree}: {median(each):.3f} ms CPU a page (least {min(each):.3f}), "
            f"{median(each) / first:.3f} of the first; pages {sorted(pages[tree])}"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", default="openjdk", choices=sites.available())
    parser.add_argument("--tool", default="site", choices=("gossamer", "site"))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    given = parser.parse_args()
    for tree in given.trees:
        compileall.compile_dir(tree / "src", quiet=1)
    return given


def _one_run(site: sites.Site, tool: tools.Tool, tree: Path, folder: Path) -> tuple[float, int]:
    work = folder / "work"
    work.mkdir()
    os.sync()
    site.forget()
    environment = {"PYTHONPATH": str((tree / "src").resolve())}
    measured = measure.run(tool.command(site.url, work), work, CAP_SECONDS, environment)
    shutil.rmtree(work)
    count = site.counts().pages
    return measured.cpu_seconds / max(count, 1) * 1e3, count


if __name__ == "__main__":
    main()
