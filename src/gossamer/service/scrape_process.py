"""Scraping in a process of its own: hostile pages meet the scraper there and nowhere else.

One page at a time. A page that takes too long, needs too much memory or ends the process costs that
process and nothing more; the next page has another.
"""

import resource
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Final, Self

import msgspec
from msgspec import Struct

from gossamer.crawl.duty import begin_duty
from gossamer.crawl.launch import Launched
from gossamer.crawl.link import Link, Tag
from gossamer.crawl.memory import peak_bytes
from gossamer.errors import GossamerError
from gossamer.parse.scraper import DEADLINE_SECONDS, scrape
from gossamer.parse.scraper_records import Scraped

MAX_MEMORY_BYTES: Final = 2 << 30
"""Address space of the process: a page that needs more fails."""
WORN_BYTES: Final = 512 << 20
WORN_PAGES: Final = 2_000
"""A process that has held so much memory, or has seen so many pages, is replaced."""
KILL_SECONDS: Final = 1.5 * DEADLINE_SECONDS
"""The scraper looks at its own clock between its steps; this is for a step that never ends."""
_START_SECONDS: Final = 60.0
_MODULE: Final = "gossamer.service.scrape_process"


class Page(Struct, frozen=True):
    """A page that is to be scraped."""

    body: bytes
    content_type: str
    charset: str
    url: str
    properties: dict[str, str]
    headers: dict[str, str] = {}
    max_urls_from_page: int = 0


class Failed(Struct, frozen=True):
    """There is no result."""

    why: str
    is_overdue: bool = False


class _Report(Struct, frozen=True):
    scraped: Scraped | None
    """None: it needs too much memory."""
    worn: bool


_decode_report: Final = msgspec.msgpack.Decoder(_Report).decode


class ScrapeProcess:
    """The process, as its parent sees it: started when needed; leaving the block ends it."""

    def __init__(self, *, kill_seconds: float = KILL_SECONDS, module: str = _MODULE) -> None:
        self.kill_seconds = kill_seconds
        """A page that takes longer costs the process."""
        self._module = module
        self._launched: Launched | None = None
        self._link: Link | None = None
        self.starts = 0
        """How many processes were needed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def process_id(self) -> int | None:
        """The number of the process, if there is one."""
        return None if self._launched is None else self._launched.process.pid

    def scrape(self, page: Page) -> Scraped | Failed:
        """Have a page scraped; whatever it does to the process is the result."""
        link = self._link or self._start()
        link.send(Tag.ORDERS, page)
        payload = self._wait(link, Tag.REPORT, self.kill_seconds)
        if payload is None:
            return self._lost(link)
        report = _decode_report(payload)
        if report.worn:
            self.close()
        if report.scraped is None:
            return Failed(f"scraping needs more than {MAX_MEMORY_BYTES >> 20} MiB of memory")
        return report.scraped

    def close(self) -> None:
        """End the process, whatever it is at; may be called twice."""
        launched, self._launched, self._link = self._launched, None, None
        if launched is not None:
            launched.close()

    def _start(self) -> Link:
        self._launched = Launched(self._module)
        self._link = link = Link(self._launched.end, blocking=False)
        self.starts += 1
        link.send(Tag.HELLO, None)
        if self._wait(link, Tag.READY, _START_SECONDS) is None:
            self.close()
            raise GossamerError(
                "the process that scrapes cannot begin; what it said above tells why"
            )
        return link

    def _wait(self, link: Link, wanted: Tag, seconds: float) -> bytes | None:
        """Return a message of the process; None if it died or the time is over."""
        end = time.monotonic() + seconds
        while not link.closed:
            link.flush()
            for tag, payload in link.receive():
                if tag is wanted:
                    return payload
            left = end - time.monotonic()
            if left <= 0:
                return None
            if not link.closed:
                _await(link, left)
        return None

    def _lost(self, link: Link) -> Failed:
        has_died = link.closed
        assert self._launched is not None
        process = self._launched.process
        assert isinstance(process, subprocess.Popen)
        if has_died:
            process.wait()
        self.close()
        if has_died:
            return Failed(f"scraping ended its process with code {process.returncode}")
        return Failed(f"scraping took longer than {self.kill_seconds:g} s", is_overdue=True)


def _await(link: Link, seconds: float) -> None:
    """Wait until something can be done at a link: by poll, for a service has many files open."""
    poll = select.poll()
    poll.register(link, select.POLLIN | (select.POLLOUT if link.waiting_bytes else 0))
    poll.poll(seconds * 1_000)


def scraped(page: Page) -> Scraped:
    """Scrape a page, in this process."""
    return scrape(
        page.body,
        page.content_type,
        page.charset,
        page.url,
        page.properties,
        page.headers,
        max_urls_from_page=page.max_urls_from_page,
    )


class _Worker:
    """Scrapes and counts what it costs."""

    def __init__(self) -> None:
        self._pages = 0

    def work(self, page: Page) -> _Report:
        """Scrape one page."""
        self._pages += 1
        try:
            result = scraped(page)
        except MemoryError:
            return _Report(None, worn=True)
        return _Report(result, self._pages >= WORN_PAGES or peak_bytes() >= WORN_BYTES)


def main(arguments: Sequence[str]) -> int:
    """Run the process: descriptors of the link and of the watch are its arguments."""
    link, _, _ = begin_duty(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    worker = _Worker()
    link.send(Tag.READY, None)
    _serve(link, worker, link.receive(read=False))
    while not link.closed:
        _serve(link, worker, link.receive())
    return 0


def _serve(link: Link, worker: _Worker, messages: Iterable[tuple[Tag, bytes]]) -> None:
    for tag, payload in messages:
        if tag is Tag.ORDERS:
            link.send(Tag.REPORT, worker.work(msgspec.msgpack.decode(payload, type=Page)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
