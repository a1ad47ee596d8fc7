"""CPU time of a feed: python bench/feeds.py [folder with feeds].

Beside our own reader, those libraries are measured that are installed: feedparser, fastfeedparser,
and turbohtml's feeds. Without a folder, feeds are made up: typical ones with 30 items of 3 KB, and
hostile ones of a megabyte. A library gets 20 s for a feed, then it is stopped.
"""

import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import turbohtml

from gossamer.parse.feed import read_feed

Reader = Callable[[bytes], int]
URL = "https://news.example/feed"
PATIENCE_SECONDS = 20
REPEATS = 30
MEGABYTE = 1 << 20


def main() -> None:
    readers = _readers()
    if len(sys.argv) > 1:
        _over_folder(Path(sys.argv[1]), readers)
        return
    print(f"{'ms of CPU':24}" + "".join(f"{name:>18}" for name in readers))
    for name, body in _typical().items():
        print(f"{name:24}" + "".join(f"{_time(read, body):>18}" for read in readers.values()))
    for name, body in _hostile().items():
        print(f"{name:24}" + "".join(f"{_time(read, body, 1):>18}" for read in readers.values()))


def _readers() -> dict[str, Reader]:
    readers: dict[str, Reader] = {"gossamer": _own}
    if find_spec("fastfeedparser"):
        fast = import_module("fastfeedparser")
        readers["fastfeedparser"] = lambda body: len(fast.parse(body).entries)
    if find_spec("feedparser"):
        known = import_module("feedparser")
        readers["feedparser"] = lambda body: len(known.parse(body).entries)
    readers["turbohtml"] = _by_turbohtml
    return readers


def _own(body: bytes) -> int:
    feed = read_feed(body, "", "", URL)
    return len(feed.items) + len(feed.children) + feed.skipped


def _by_turbohtml(body: bytes) -> int:
    feed = turbohtml.parse_xml(body.decode("utf-8", "replace")).feed()
    return len(feed.entries) if feed is not None else 0


def _stop(*_: object) -> None:
    raise TimeoutError


def _time(read: Reader, body: bytes, repeats: int = REPEATS) -> str:
    """Return milliseconds and the number of items, or what went wrong."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(PATIENCE_SECONDS)
    try:
        count = read(body)
        start = time.process_time()
        for _ in range(repeats):
            read(body)
        used = (time.process_time() - start) / repeats
    except TimeoutError:
        return f"> {PATIENCE_SECONDS} s"
    except Exception as error:  # noqa: BLE001 -- whatever a library does is its result
        return type(error).__name__
    finally:
        signal.alarm(0)
    return f"{used * 1_000:.2f} ({count})"


def _over_folder(folder: Path, readers: dict[str, Reader]) -> None:
    bodies = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    print(f"{len(bodies)} files, {sum(map(len, bodies)) / 1e6:.1f} MB")
    for name, read in readers.items():
        times, with_items, raised = [], 0, 0
        for body in bodies:
            start = time.process_time()
            try:
                with_items += read(body) > 0
            except Exception:  # noqa: BLE001 -- see above
                raised += 1
            times.append(time.process_time() - start)
        print(
            f"{name:16} {sum(times) / len(times) * 1e3:8.2f} ms mean {max(times) * 1e3:8.1f} ms max"
            f" {with_items:6} with items {raised:6} raised"
        )


def _typical() -> dict[str, bytes]:
    paragraph = "<p>The wind &amp; the <b>rain</b> went on; <a href='/x'>more</a> was said.</p>"
    content = paragraph * (3_000 // len(paragraph))
    escaped = content.replace("&", "&amp;").replace("<", "&lt;")
    rss = "".join(
        f"<item><title>Story number {n} &amp;amp; more</title><link>https://news.example/{n}</link>"
        f"<guid isPermaLink='false'>g{n}</guid><pubDate>Mon, 16 Nov 2026 03:{n:02}:01 GMT</pubDate>"
        f"<dc:creator>Ann Archer</dc:creator><category>World</category><category>Sea</category>"
        f"<description>{escaped[:600]}</description>"
        f"<content:encoded><![CDATA[{content}]]></content:encoded></item>"
        for n in range(30)
    )
    atom = "".join(
        f"<entry><title>Story {n}</title><link href='https://news.example/{n}'/><id>urn:{n}</id>"
        f"<updated>2026-11-16T03:{n:02}:01Z</updated><author><name>Ann</name></author>"
        f"<summary>Short</summary><content type='html'>{escaped}</content></entry>"
        for n in range(30)
    )
    head = (
        "<?xml version='1.0'?><rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/' "
        "xmlns:content='http://purl.org/rss/1.0/modules/content/'><channel><title>T</title>"
    )
    news = "".join(
        f"<url><loc>https://news.example/{n}</loc><n:news><n:publication><n:name>T</n:name>"
        "<n:language>en</n:language></n:publication><n:publication_date>2026-11-16T03:14:01Z"
        f"</n:publication_date><n:title>Story {n}</n:title></n:news></url>"
        for n in range(1_000)
    )
    return {
        "RSS, 30 items": f"{head}{rss}</channel></rss>".encode(),
        "RSS, undeclared &nbsp;": f"{head}{rss}</channel></rss>".replace("more", "&nbsp;").encode(),
        "Atom, 30 entries": (
            f"<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>{atom}</feed>".encode()
        ),
        "news sitemap, 1,000": (
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' "
            f"xmlns:n='http://www.google.com/schemas/sitemap-news/0.9'>{news}</urlset>".encode()
        ),
    }


def _hostile() -> dict[str, bytes]:
    head = b"<rss version='2.0'><channel>"
    item = b"<item><title>T</title><link>https://news.example/%d</link></item>"
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))

    def repeated(piece: bytes) -> bytes:
        return piece * (MEGABYTE // len(piece))

    return {
        "100,000 items": head + b"".join(item % n for n in range(100_000)) + b"</channel></rss>",
        "open tags": head + repeated(b"<a"),
        "tags left open": head + b"&nbsp;" + repeated(b"<b>"),
        "open comments": head + repeated(b"<!--"),
        "attributes": head + b"<a " + b"".join(b"a%d='>' " % n for n in range(80_000)) + b"/>",
        "less-than in a title": head + b"<item><title><![CDATA[" + repeated(b"<") + b"]]></title>",
        "open scripts in a text": (
            head + b"<item><description>" + repeated(b"&lt;script") + b"</description></item>"
        ),
        "billion laughs": b'<!DOCTYPE rss [<!ENTITY l0 "ha">' + laughs + b"]>" + head + b"&l9;",
    }


if __name__ == "__main__":
    main()
