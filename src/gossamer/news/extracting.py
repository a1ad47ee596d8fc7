"""Articles are extracted from stored pages: now, or beside a running engine."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer.catalog import extractions
from gossamer.catalog.connection import Database
from gossamer.catalog.extractions import Job
from gossamer.catalog.subscriptions import source_named
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.errors import InputError
from gossamer.news.extract_crew import Collected, Crew
from gossamer.news.extract_drain import Drain, Extracted, Only, Workers
from gossamer.news.extract_worker import EXTRACTOR, Duty, PageWorker
from gossamer.news.extractor import Extractor, opened

__all__ = ["Extracted", "Extractor", "extract_queued", "start"]

_WAIT_SECONDS: Final = 0.1


def extract_queued(
    directory: Path,
    settings: Settings,
    *,
    clock: Clock | None = None,
    redo: bool = False,
    story_id: int | None = None,
    source: str | None = None,
    on_progress: Callable[[Extracted], None] | None = None,
    stop: Callable[[], bool] | None = None,
    _extractor: str = EXTRACTOR,
) -> Extracted:
    """Work off the queue of extraction jobs until it is empty or `stop` says so.

    Only the jobs of a story or of a source, if one is named. `redo`: those that have ended, too.
    Without processes (`[news] extractors = 0`) a page may take as long as it likes.
    """
    clock = clock or SystemClock()
    stop = stop or (lambda: False)
    duty = Duty(str(directory), settings, _extractor)
    with opened(duty) as database:
        only = Only(story_id, _source_id(database, source))
        if redo:
            extractions.requeue(database, story_id=only.story_id, source_id=only.source_id)
        if not only.jobs(database, limit=1):
            return Extracted()
        with _workers(duty) as workers:
            drain = Drain(database, workers, settings.news, clock, only)
            while not stop() and drain.look():
                while not stop() and not drain.is_idle:
                    if drain.step(_WAIT_SECONDS) and on_progress is not None:
                        on_progress(drain.progress)
            drain.keep()
            return drain.progress


def start(
    directory: Path, settings: Settings, *, clock: Clock | None = None, _extractor: str = EXTRACTOR
) -> Extractor:
    """Begin to extract in a process of its own, beside an engine, until the handle is stopped."""
    return Extractor(directory, settings, clock, _extractor)


class ThisProcess:
    """Extracts right here, one page after the other."""

    def __init__(self, duty: Duty) -> None:
        self._worker = PageWorker(duty)
        self._jobs: deque[Job] = deque()

    def take(self, next_job: Callable[[], Job | None]) -> None:
        """Take the next job."""
        job = None if self._jobs else next_job()
        if job is not None:
            self._jobs.append(job)

    def collect(self, wait_seconds: float) -> Collected:
        """Do the job."""
        del wait_seconds
        collected = Collected()
        while self._jobs:
            collected.results.append(self._worker.work(self._jobs.popleft()).result)
        return collected


@contextmanager
def _workers(duty: Duty) -> Iterator[Workers]:
    count = duty.settings.news.extractors
    if count:
        with Crew(count, duty) as crew:
            yield crew
    else:
        yield ThisProcess(duty)


def _source_id(database: Database, name: str | None) -> int | None:
    if name is None:
        return None
    source = source_named(database, name)
    if source is None:
        raise InputError(f"there is no source {name!r}; list them with: gossamer news list")
    return source.source_id
