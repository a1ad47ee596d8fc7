"""CPU time of WarcStore.append, step by step: python bench/store_append.py [FOLDER OF HTML]."""

import sys
import tempfile
import time
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.config.store import StoreSettings
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.store.warc import WarcStore

PAGES = 1_000
ROUNDS = 5
BATCH = 64
REQUEST = (
    b"GET /api/%d.html HTTP/1.1\r\nHost: docs.example.org\r\nAccept-Encoding: gzip, br\r\n"
    b"User-Agent: gossamer/0.1 (+https://example.org/bot)\r\nAccept: text/html,*/*;q=0.8\r\n\r\n"
)
HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 15 Nov 2026 21:10:00 GMT\r\n"
    b"Content-Type: text/html\r\nContent-Length: %d\r\nConnection: keep-alive\r\n"
    b'Last-Modified: Sat, 18 Oct 2025 10:15:36 GMT\r\nETag: "68f36798-6e9d"\r\n'
    b"Accept-Ranges: bytes\r\n\r\n"
)


def fetches(folder):
    now = time.time()
    pages = []
    paths = sorted(folder.rglob("*.html"))
    for number, path in enumerate(paths[:: max(1, len(paths) // PAGES)]):
        raw = path.read_bytes()
        visit = Visit(number, number, "127.0.0.1", f"https://docs.example.org/api/{number}.html", 3)
        pages.append(
            Fetch(
                visit,
                Outcome.OK,
                status=200,
                request_head=REQUEST % number,
                head=HEAD % len(raw),
                raw=raw,
                body=raw,
                address="127.0.0.1",
                fetched_at=now + number / 997,
                milliseconds=12,
            )
        )
    return pages


def measure(pages, settings):
    best = best_sync = 1e9
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            store = WarcStore(Path(folder), "bench", settings, SystemClock())
            append = sync = 0.0
            for start in range(0, len(pages), BATCH):
                begin = time.process_time()
                for page in pages[start : start + BATCH]:
                    store.append(page)
                middle = time.process_time()
                store.sync()
                append += middle - begin
                sync += time.process_time() - middle
            store.close()
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
            best, best_sync = min(best, append), min(best_sync, sync)
    return best / len(pages) * 1e6, best_sync / len(pages) * 1e6, size / len(pages)


def main():
    folder = Path(
        sys.argv[1] if len(sys.argv) > 1 else "/usr/share/doc/openjdk-17-jre-headless/api"
    )
    pages = fetches(folder)
    mean = sum(len(page.raw) for page in pages) / len(pages)
    print(f"{len(pages)} pages, mean {mean:.0f} bytes, sync every {BATCH}")
    variants = {
        "default": StoreSettings(),
        "with response block digests": StoreSettings(response_block_digests=True),
        "response only": StoreSettings(write_requests=False, write_metadata=False),
        "level 0": StoreSettings(compression_level=0),
    }
    for name, settings in variants.items():
        append, sync, size = measure(pages, settings)
        print(f"{name:30} append {append:6.1f} µs  sync {sync:5.1f} µs  {size:6.0f} bytes a page")


if __name__ == "__main__":
    main()
