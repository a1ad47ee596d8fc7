"""CPU time of the url room: python bench/url.py [folder with HTML].

Without a folder, pages are made up: 400 pages in 40 folders with 60 references each.
"""

import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gossamer.config.crawl import CrawlSettings
from gossamer.config.url import UrlSettings
from gossamer.url.address import AddressPolicy
from gossamer.url.canonical import Joiner, canonicalize, host_of
from gossamer.url.scope import Scope
from gossamer.url.traps import TrapWatch, path_trap

Pages = list[tuple[str, list[str]]]


def main() -> None:
    pages = _read(Path(sys.argv[1])) if len(sys.argv) > 1 else list(_make_up())
    references = sum(len(hrefs) for _, hrefs in pages)
    joiner = Joiner()
    print(f"{len(pages)} pages, {references / len(pages):.0f} distinct references each")
    for visit in ("first", "second"):
        used = _used(lambda: [joiner.join_all(base, hrefs) for base, hrefs in pages])
        _show(f"join_all, {visit} visit of each page", used, references)
    joined = [joiner.join_all(base, hrefs) for base, hrefs in pages]
    urls = [url for found in joined for url in found if url is not None]
    for visit in ("first", "second"):
        _show(f"keys, {visit} time", _used(lambda: joiner.keys(urls)), len(urls))
    settings = UrlSettings()
    scope = Scope(CrawlSettings(), [pages[0][0]])
    watch = TrapWatch(settings)
    policy = AddressPolicy(settings)
    distinct = list(dict.fromkeys(urls))
    tasks: dict[str, Callable[[str], object]] = {
        "canonicalize": canonicalize,
        "host_of": host_of,
        "Scope.verdict": lambda url: scope.verdict(url, "example.org", 1),
        "path_trap": lambda url: path_trap(url, settings),
        "TrapWatch.admit": lambda url: watch.admit("example.org", url),
        "AddressPolicy.allows": lambda _: policy.allows("example.org", "93.184.216.34"),
    }
    for name, task in tasks.items():
        _show(name, _used(lambda task=task: [task(url) for url in distinct]), len(distinct))


def _used(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _show(name: str, seconds: float, count: int) -> None:
    print(f"{name:40} {seconds / count * 1e6:8.2f} µs")


def _read(folder: Path) -> Pages:
    pages: Pages = []
    for file in sorted(folder.rglob("*.html"))[:1_500]:
        hrefs = re.findall(r'href="([^"#]*)', file.read_text(errors="replace"))
        pages.append((f"http://example.org/{file.relative_to(folder)}", list(dict.fromkeys(hrefs))))
    return pages


def _make_up() -> Iterator[tuple[str, list[str]]]:
    chance = random.Random(7)
    for number in range(400):
        folder = f"section{number % 40}"
        near = [f"page{chance.randrange(400)}.html" for _ in range(30)]
        far = [
            f"../section{chance.randrange(40)}/page{chance.randrange(400)}.html" for _ in range(20)
        ]
        fixed = [f"/menu/item{item}.html" for item in range(10)]
        yield (
            f"http://example.org/{folder}/page{number}.html",
            list(dict.fromkeys(near + far + fixed)),
        )


if __name__ == "__main__":
    main()
