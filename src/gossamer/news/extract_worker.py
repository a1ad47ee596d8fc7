"""A process that extracts articles, one page after the other, within limits of time and memory.

Hostile pages meet the extractor here and nowhere else. The process says in shared memory which page
it is at (crawl/watch.py), so that its parent can end it when it takes too long, and knows whose
fault it was when it dies.
"""

import importlib
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.catalog.extractions import Extraction, Job
from gossamer.config.settings import Settings
from gossamer.crawl.duty import begin_duty
from gossamer.crawl.link import Link, Tag
from gossamer.crawl.memory import peak_bytes
from gossamer.crawl.watch import Watch
from gossamer.crawl.workspace import Workspace
from gossamer.news.articles import Extract, extraction_of

EXTRACTOR: Final = "gossamer.parse.article:extract"
MAX_MEMORY_BYTES: Final = 2 << 30
"""Address space of one process: a page that needs more fails."""
WORN_BYTES: Final = 512 << 20
WORN_PAGES: Final = 2_000
"""A process that has held so much memory, or has seen so many pages, is replaced."""


class Duty(Struct, frozen=True):
    """What a process that extracts is told first."""

    directory: str
    settings: Settings
    extractor: str = EXTRACTOR
    """Module and function."""
    at: float | None = None
    """What the clock shows now, if it is not the machine's."""


class Report(Struct, frozen=True, array_like=True, gc=False):
    """What became of a job, and whether the process should be replaced."""

    result: Extraction
    worn: bool


class PageWorker:
    """Does jobs and counts what they cost."""

    def __init__(self, duty: Duty) -> None:
        self._archive = Workspace(Path(duty.directory)).archive
        self._settings = duty.settings.spider
        self._extract = loaded(duty.extractor)
        self._pages = 0

    def work(self, job: Job) -> Report:
        """Do one job."""
        self._pages += 1
        try:
            result = extraction_of(job, self._archive, self._settings, self._extract)
        except MemoryError:
            detail = f"the extraction needs more than {MAX_MEMORY_BYTES >> 20} MiB of memory"
            return Report(Extraction(job.download_id, job.story_id, None, detail), worn=True)
        return Report(result, self._pages >= WORN_PAGES or peak_bytes() >= WORN_BYTES)


def loaded(extractor: str) -> Extract:
    """Return the function that this name stands for."""
    module, _, name = extractor.partition(":")
    function: Extract = getattr(importlib.import_module(module), name)
    return function


def main(arguments: Sequence[str]) -> int:
    """Run the process: descriptors of the link and of the watch are its arguments."""
    link, watch, first = begin_duty(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    worker = PageWorker(msgspec.msgpack.decode(first, type=Duty))
    link.send(Tag.READY, None)
    # What came along with the first message does not make the descriptor readable any more.
    _serve(link, watch, worker, link.receive(read=False))
    while not link.closed:
        _serve(link, watch, worker, link.receive())
    return 0


def _serve(
    link: Link, watch: Watch, worker: PageWorker, messages: Iterable[tuple[Tag, bytes]]
) -> None:
    for tag, payload in messages:
        if tag is Tag.ORDERS:
            job = msgspec.msgpack.decode(payload, type=Job)
            watch.enter(job.download_id, time.monotonic())
            link.send(Tag.REPORT, worker.work(job))
            watch.leave()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
