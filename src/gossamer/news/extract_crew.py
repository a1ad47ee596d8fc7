"""The processes that extract, as their parent sees them: watched, ended and replaced.

Each has a few jobs at hand, so that it never waits for its parent; the watch tells which of them it
is at. When a process dies, that one job was tried in vain, and the others have not been touched.
"""

import contextlib
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Final, Self

import msgspec
from msgspec import Struct

from gossamer.catalog.extractions import Extraction, Job
from gossamer.crawl.launch import Launched
from gossamer.crawl.link import Link, Tag
from gossamer.errors import GossamerError
from gossamer.news.extract_worker import Duty, Report

_WORKER: Final = "gossamer.news.extract_worker"
_AT_HAND: Final = 3
_MAX_FALSE_STARTS: Final = 3
_LAST_SECONDS: Final = 1.0
_decode_report: Final = msgspec.msgpack.Decoder(Report).decode


class Lost(Struct, frozen=True):
    """A job that ended its process, or had to be ended with it."""

    job: Job
    why: str


class Collected(Struct):
    """What has happened since the last look."""

    results: list[Extraction] = []
    lost: list[Lost] = []
    untouched: list[Job] = []
    """Jobs that a dead process had at hand, but had not begun."""


class _Member:
    """One process, and the jobs that it has at hand."""

    def __init__(self, duty: Duty) -> None:
        self.launched = Launched(_WORKER)
        assert isinstance(self.launched.process, subprocess.Popen)
        self.process = self.launched.process
        self.watch = self.launched.watch
        self.link = Link(self.launched.end, blocking=False)
        self.jobs: dict[int, Job] = {}
        self.has_begun = False
        self.worn = False
        self.link.send(Tag.HELLO, duty)

    def receive(self) -> list[Extraction]:
        """Take what it has said."""
        results = []
        for tag, payload in self.link.receive():
            if tag is Tag.READY:
                self.has_begun = True
            elif tag is Tag.REPORT:
                report = _decode_report(payload)
                self.worn = self.worn or report.worn
                if self.jobs.pop(report.result.download_id, None) is not None:
                    results.append(report.result)
        return results

    def overdue(self, seconds: float) -> bool:
        """Whether it has been at one page for longer than this."""
        current = self.watch.current()
        return current is not None and time.monotonic() - current[1] > seconds

    def end(self) -> tuple[list[Extraction], int | None, str]:
        """End it; return its last words, the page that it was at, and how it ended."""
        if self.link.closed:
            # It is about to end by itself: how, tells what has happened.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_LAST_SECONDS)
        self.process.kill()
        self.process.wait()
        results = []
        while not self.link.closed:
            results += self.receive()
        current = self.watch.current()
        return results, current[0] if current else None, _manner(self.process.returncode)


class Crew:
    """Processes that extract; leaving the block ends them all."""

    def __init__(self, count: int, duty: Duty) -> None:
        self._duty = duty
        self._seconds = duty.settings.news.extract_seconds
        self._false_starts = 0
        self._selector = selectors.DefaultSelector()
        self._members: list[_Member] = []
        try:
            self._members.extend(self._recruit() for _ in range(count))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, whatever they are at."""
        for member in self._members:
            member.launched.close()
        self._members = []
        self._selector.close()

    def take(self, next_job: Callable[[], Job | None]) -> None:
        """Give jobs to those that have room, the idle ones first."""
        for at_hand in range(_AT_HAND):
            for member in self._members:
                if member.worn or len(member.jobs) != at_hand:
                    continue
                job = next_job()
                if job is None:
                    return
                member.jobs[job.download_id] = job
                member.link.send(Tag.ORDERS, job)

    def collect(self, wait_seconds: float) -> Collected:
        """Wait a little for what the processes say; replace those that are gone or worn."""
        self._selector.select(wait_seconds)
        collected = Collected()
        for number, member in enumerate(self._members):
            member.link.flush()
            collected.results += member.receive()
            if member.has_begun:
                self._false_starts = 0
            if member.link.closed or (member.worn and not member.jobs):
                self._replace(number, collected, "")
            elif member.overdue(self._seconds):
                why = f"the extraction took longer than {self._seconds:g} s"
                self._replace(number, collected, why)
        return collected

    def process_ids(self) -> list[int]:
        """Return the processes that run."""
        return [member.process.pid for member in self._members]

    def _recruit(self) -> _Member:
        member = _Member(self._duty)
        self._selector.register(member.link.fileno(), selectors.EVENT_READ)
        return member

    def _replace(self, number: int, collected: Collected, why: str) -> None:
        member = self._members[number]
        self._selector.unregister(member.link.fileno())
        results, culprit, manner = member.end()
        member.launched.close()
        collected.results += results
        for download_id, job in member.jobs.items():
            if download_id == culprit:
                collected.lost.append(Lost(job, why or f"the extraction {manner}"))
            else:
                collected.untouched.append(job)
        if not member.has_begun:
            self._false_starts += 1
            if self._false_starts >= _MAX_FALSE_STARTS:
                raise GossamerError(
                    f"a process that extracts articles {manner} before it began, "
                    f"{self._false_starts} times; what it said above tells why"
                )
        self._members[number] = self._recruit()


def _manner(code: int) -> str:
    """Say how a process has ended."""
    if code >= 0:
        return f"ended its process with exit code {code}"
    try:
        return f"ended its process by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended its process by signal {-code}"
