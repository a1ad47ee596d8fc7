"""CPU time of what a worker does with a fetched page: store, parse, find. No network.

.venv/bin/python bench/page.py [FOLDER] [--profile]
"""

import cProfile
import pstats
import sys
import tempfile
import time
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.config.settings import Settings
from gossamer.handlers.findings import Finder
from gossamer.messages import Document, Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.parse.page import understand
from gossamer.store.store import payload_digest
from gossamer.store.warc import WarcStore
from gossamer.url.canonical import Joiner
from gossamer.url.scope import Scope

DEFAULT = "/usr/share/doc/openjdk-17-jre-headless/api"
ORIGIN = "http://127.0.0.1:8000/"


def fetches(folder: Path, most: int) -> list[Fetch]:
    files = sorted(folder.rglob("*.html"))
    step = max(1, len(files) // most)
    made = []
    for number, path in enumerate(files[::step][:most]):
        body = path.read_bytes()
        head = (
            b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sun, 15 Nov 2026 21:00:00 GMT\r\n"
            b'Content-Type: text/html\r\nContent-Length: %d\r\nETag: "abc"\r\n\r\n' % len(body)
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
                    ("content-type", "text/html"),
                    ("content-length", str(len(body))),
                    ("etag", '"abc"'),
                ),
                raw=body,
                body=body,
                address="127.0.0.1",
                fetched_at=time.time(),
                milliseconds=3,
            )
        )
    return made


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    pages = fetches(Path(arguments[0] if arguments else DEFAULT), 1500)
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
