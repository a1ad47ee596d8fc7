"""CPU time of what a worker does with a fetched page: store, parse, find. No network.

.venv/bin/python bench/page.py [FOLDER] [--profile]
.venv/bin/python bench/page.py [FOLDER] --map|--crawl [--profile]   as a worker does it, reports too
"""

import cProfile
import pstats
import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import SystemClock
from gossamer.config.handlers import HandlerSettings
from gossamer.config.settings import Settings
from gossamer.crawl.intake import Intake, archive_store
from gossamer.crawl.link import Assignment, frame
from gossamer.crawl.watch import Watch
from gossamer.handlers.findings import Finder
from gossamer.messages import Document, Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.parse.page import understand
from gossamer.site.observation import HANDLER
from gossamer.store.store import payload_digest
from gossamer.store.warc import WarcStore
from gossamer.url.canonical import Joiner
from gossamer.url.scope import Scope

DEFAULT = "/usr/share/doc/openjdk-17-jre-headless/api"
ORIGIN = "http://127.0.0.1:8000/"
ROUNDS = 10
TOGETHER = 4
"""So many fetches are mostly done when a worker looks."""


def fetches(folder: Path, most: int) -> list[Fetch]:
    files = sorted(folder.rglob("*.html"))
    step = max(1, len(files) // most)
    made = []
    for number, path in enumerate(files[::step][:most], 1):
        body = path.read_bytes()
        head = (
            b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sun, 15 Nov 2026 21:00:00 GMT\r\n"
            b'Content-Type: text/html\r\nContent-Length: %d\r\nETag: "%d"\r\n\r\n'
            % (len(body), number)
        )
        url = ORIGIN + str(path.relative_to(folder))
        made.append(
            Fetch(
                visit=Visit(number, number, "127.0.0.1", url),
                outcome=Outcome.OK,
                status=200,
                request_head=b"GET /x HTTP/1.1\r\nHost: h:8000\r\nUser-Agent: gossamer\r\n\r\n",
                head=head,
                headers=(
                    ("server", "nginx"),
                    ("date", "Sun, 15 Nov 2026 21:00:00 GMT"),
                    ("content-type", "text/html"),
                    ("content-length", str(len(body))),
                    ("last-modified", f"Sun, 07 Aug 2022 22:{number % 60:02}:15 GMT"),
                    ("connection", "keep-alive"),
                    ("etag", f'"{number}"'),
                    ("accept-ranges", "bytes"),
                ),
                raw=body,
                body=body,
                address="127.0.0.1",
                fetched_at=time.time(),
                milliseconds=3,
            )
        )
    return made


def as_a_worker(pages: list[Fetch], *, is_map: bool, profile: cProfile.Profile) -> float:
    settings = Settings()
    if is_map:
        settings = replace(
            settings,
            parse=replace(settings.parse, near_duplicates=False),
            store=replace(settings.store, keep=False),
            handlers=HandlerSettings(use=(HANDLER,)),
        )
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        catalog = f"{folder}/catalog.db"
        SqliteCatalog.open(catalog, settings.catalog).close()
        assignment = Assignment("w1", folder, catalog, "", settings, (ORIGIN,), b"", syncs=False)
        store = archive_store(assignment, clock)
        intake = Intake(assignment, store, Watch.make(), clock, frame)
        if "--profile" in sys.argv:
            profile.enable()
        start = time.process_time()
        for first in range(0, len(pages), TOGETHER):
            intake.step(pages[first : first + TOGETHER])
        intake.flush()
        spent = time.process_time() - start
        profile.disable()
        intake.close()
    return spent / len(pages) * 1e6


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    folder = Path(arguments[0] if arguments else DEFAULT)
    if "--map" in sys.argv or "--crawl" in sys.argv:
        profile = cProfile.Profile()
        files = fetches(folder, 20_000)
        # Some that lie beside each other, for that is how most of them refer to each other.
        middle = len(files) // 2
        pages = files[max(0, middle - 1_000) : middle + 1_000]
        rounds = [
            as_a_worker(pages, is_map="--map" in sys.argv, profile=profile) for _ in range(ROUNDS)
        ]
        print(f"{len(pages)} pages: {min(rounds):.1f} microseconds of CPU a page, at least")
        if "--profile" in sys.argv:
            pstats.Stats(profile).sort_stats("tottime").print_stats(60)
        return
    pages = fetches(folder, 1500)
    settings = Settings()
    joiner = Joiner(settings.url)
    finder = Finder(Scope(settings.crawl, [ORIGIN]), joiner, settings.url, settings.handlers)
    spent = {"store": 0.0, "parse": 0.0, "find": 0.0}
    now = time.process_time
    profile = cProfile.Profile()
    with tempfile.TemporaryDirectory() as folder:
        store = WarcStore(Path(folder), "w1", settings.store, SystemClock())
        if "--profile" in sys.argv:
            profile.enable()
        for fetch in pages:
            start = now()
            stored = store.append(fetch, digest=payload_digest(fetch.raw))
            after_store = now()
            document = Document(fetch, stored.pointer, stored.payload_digest)
            page = understand(document, settings.parse, joiner)
            after_parse = now()
            finder.findings(document, page)
            spent["store"] += after_store - start
            spent["parse"] += after_parse - after_store
            spent["find"] += now() - after_parse
        profile.disable()
        store.close()
    size = sum(len(fetch.body) for fetch in pages) / len(pages)
    print(f"{len(pages)} pages, mean {size / 1024:.1f} KiB; microseconds of CPU a page:")
    for name, seconds in spent.items():
        print(f"  {name:6} {seconds / len(pages) * 1e6:7.1f}")
    print(f"  all    {sum(spent.values()) / len(pages) * 1e6:7.1f}")
    if "--profile" in sys.argv:
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    main()
