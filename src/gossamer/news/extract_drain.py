"""The queue of extraction jobs is worked off: read from the catalog, given out, and kept.

Theory of operation. Jobs stay queued in the catalog while they are worked at, and only the
transaction that keeps their results ends them; what is known of them here is lost without harm. So
the queue is read in rounds: from its beginning to its end, and over again, leaving out what is at
work. What was queued again behind our back is found in the next round.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog import extractions
from gossamer.catalog.connection import Database
from gossamer.catalog.extractions import Extraction, Job
from gossamer.clock import Clock
from gossamer.config.news import NewsSettings
from gossamer.news.extract_crew import Collected

MAX_TRIES: Final = 2
"""A page that has ended so many processes is given up."""
LOOK_SECONDS: Final = 0.5
"""How often an empty queue is looked at."""
_READ: Final = 64
_FEW: Final = 16
_KEPT_AT_ONCE: Final = 32
_KEEP_SECONDS: Final = 0.2


class Workers(Protocol):
    """Those who extract: processes, or this one."""

    def take(self, next_job: Callable[[], Job | None]) -> None:
        """Take as many jobs as there is room for."""
        ...

    def collect(self, wait_seconds: float) -> Collected:
        """Wait a little, and return what has happened."""
        ...


class Only(Struct, frozen=True):
    """Which jobs: those of a story, of a source, or all."""

    story_id: int | None = None
    source_id: int | None = None

    def jobs(self, database: Database, limit: int, after: int = 0) -> list[Job]:
        """Return the next of them that are queued."""
        return extractions.jobs(
            database, limit, after, story_id=self.story_id, source_id=self.source_id
        )


class Extracted(Struct, frozen=True):
    """How far the extraction is."""

    done: int = 0
    failed: int = 0
    seconds: float = 0.0


class Drain:
    """Works the queue off, step by step."""

    def __init__(
        self,
        database: Database,
        workers: Workers,
        settings: NewsSettings,
        clock: Clock,
        only: Only | None = None,
    ) -> None:
        self._database = database
        self._only = only or Only()
        self._workers = workers
        self._settings = settings
        self._clock = clock
        self._began = clock.monotonic()
        self._ready: deque[Job] = deque()
        self._known: set[int] = set()
        """The jobs that are here: ready, at work, or done and not kept yet."""
        self._results: list[Extraction] = []
        self._first_result_at = 0.0
        self._after = 0
        self._look_at = 0.0
        self._done = self._failed = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is here; the queue may hold more."""
        return not self._known

    @property
    def progress(self) -> Extracted:
        """How much was done since the beginning."""
        seconds = self._clock.monotonic() - self._began
        return Extracted(self._done, self._failed, seconds)

    def look(self) -> bool:
        """Read jobs from the beginning of the queue; return whether any are here."""
        self._after = 0
        self._read()
        return not self.is_idle

    def step(self, wait_seconds: float) -> bool:
        """Give out jobs and take results; return whether any were kept."""
        if len(self._ready) < _FEW and self._clock.monotonic() >= self._look_at:
            self._read()
        self._workers.take(self._next)
        collected = self._workers.collect(0.0 if self.is_idle else wait_seconds)
        for result in collected.results:
            self._note(result)
        for lost in collected.lost:
            self._try_again(lost.job, lost.why)
        self._ready.extendleft(reversed(collected.untouched))
        return self._keep_if_due()

    def keep(self) -> None:
        """Keep all results that are here."""
        if self._results:
            results, self._results = self._results, []
            done, failed = extractions.finish(
                self._database, results, self._clock.time(), self._settings.near_distance
            )
            self._done += done
            self._failed += failed
            self._known.difference_update(result.download_id for result in results)

    def _next(self) -> Job | None:
        return self._ready.popleft() if self._ready else None

    def _read(self) -> None:
        jobs = self._only.jobs(self._database, _READ, self._after)
        fresh = [job for job in jobs if job.download_id not in self._known]
        self._ready.extend(fresh)
        self._known.update(job.download_id for job in fresh)
        if len(jobs) < _READ:
            self._after = 0
            self._look_at = self._clock.monotonic() + LOOK_SECONDS
        else:
            self._after = jobs[-1].download_id

    def _note(self, result: Extraction) -> None:
        if not self._results:
            self._first_result_at = self._clock.monotonic()
        self._results.append(result)

    def _try_again(self, job: Job, why: str) -> None:
        tries = job.tries + 1
        if tries >= MAX_TRIES:
            detail = f"{why}; it was tried {tries} times"
            self._note(Extraction(job.download_id, job.story_id, None, detail))
        else:
            extractions.count_try(self._database, job.download_id, why)
            self._ready.append(replace(job, tries=tries))

    def _keep_if_due(self) -> bool:
        waited = self._clock.monotonic() - self._first_result_at
        all_done = len(self._results) == len(self._known)
        if self._results and (
            all_done or waited >= _KEEP_SECONDS or len(self._results) >= _KEPT_AT_ONCE
        ):
            self.keep()
            return True
        return False
