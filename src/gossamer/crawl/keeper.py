"""The way into the catalog: findings in batches, changes one by one, through full disks.

Whatever is handed over here is committed, or done again when the disk has room, or left leased for
the next run to pick up; it is never forgotten while the process lives.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from gossamer.catalog.catalog import Catalog, Committed, Counts, HostClock, RobotsRecord, Verdict
from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.crawl.admission import Admission
from gossamer.crawl.archive_sync import ArchiveSync
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.report_log import Judge, ReportLog
from gossamer.crawl.stops import Stops
from gossamer.crawl.verdict import verdict
from gossamer.crawl.writer import Writer
from gossamer.errors import DiskFullError, StorageError
from gossamer.messages import Due, Findings
from gossamer.outcomes import Outcome, State
from gossamer.store.disk import free_bytes

_PATIENCE_SECONDS: Final = 0.1
_HUNGRY_SECONDS: Final = 0.005
_RETRY_SECONDS: Final = 2.0
_LEAST_FREE_BYTES: Final = 1 << 20

_Result = TypeVar("_Result")


class Keeper:
    """Keeps what workers and the URL server report."""

    def __init__(
        self,
        settings: Settings,
        directory: Path | None,
        clock: Clock,
        writer: Writer,
        admission: Admission,
        ledger: Ledger,
        stops: Stops,
        counts: Counts,
        log: ReportLog | None = None,
        archive: ArchiveSync | None = None,
    ) -> None:
        """`log`: where findings are kept that wait; `archive`: synced before they are committed."""
        self._settings = settings
        self._directory = directory
        self._clock = clock
        self._writer = writer
        self._admission = admission
        self._ledger = ledger
        self._stops = stops
        self._log = log
        self._archive = archive
        self._enough = ledger.backlog // 2 or max(1, settings.crawl.concurrency // 2)
        self.hungry = True
        """Whether there is nothing to order before more is committed, or will be soon."""
        self._findings: list[Findings] = []
        self._oldest = 0.0
        self._committing = False
        self._stuck: list[Callable[[], None]] = []
        self._retry_at = 0.0
        self._refused_since: float | None = None
        """When the disk first refused, if nothing was kept since: the space that a file system says
        is free is not all that counts (inodes, quotas, rights)."""
        self.paused = ""
        """Why nothing is fetched at the moment; empty when all is well."""
        self.counts = counts
        """Where all URLs stood after the last transaction."""
        self.received_bytes = 0
        self.on_committed: Callable[[Sequence[Verdict], Committed], None] = lambda _, __: None
        self.judge: Judge = lambda findings, now: verdict(findings, settings.urlserver, now)
        """Whether an outcome is final, and if not, when the URL is tried again."""

    @property
    def idle(self) -> bool:
        """Whether everything that was handed over is in the catalog."""
        return not self._findings and not self._stuck and self._writer.idle

    def take(self, batch: Sequence[Findings], now: float) -> None:
        """Take what a worker found, unless its orders were given up meanwhile."""
        if not self._findings:
            self._oldest = now
        reported = self._ledger.all_reported(batch)
        self._findings += reported
        self.received_bytes += sum([findings.wire_bytes for findings in reported])
        if self._log is not None and reported:
            try:
                self._log.append(reported)
            except StorageError as error:
                self._refused(error)

    def conclude(
        self, due: Due, outcome: Outcome, detail: str, retry_after: float | None = None
    ) -> None:
        """Take a URL that ends without a fetch: forbidden, unresolvable, quarantined."""
        if not self._findings:
            self._oldest = self._clock.monotonic()
        findings = Findings(
            doc_id=due.doc_id,
            trans_id=0,
            outcome=int(outcome),
            status=0,
            fetched_at=0.0,
            milliseconds=0,
            tries=due.tries + 1,
            detail=detail,
            retry_after_seconds=retry_after,
        )
        self._ledger.wait_for(findings)
        self._findings.append(findings)

    def commit_at(self) -> float | None:
        """Return when findings that wait for company are committed all the same."""
        return self._oldest + self._patience if self.may_commit else None

    @property
    def may_commit(self) -> bool:
        """Whether there is anything to commit, and nothing in its way."""
        return bool(self._findings) and not self._committing and not self.paused

    @property
    def _patience(self) -> float:
        may_wait = self._ledger.backlog and not self.hungry
        return _PATIENCE_SECONDS if may_wait else _HUNGRY_SECONDS

    def wants_to_commit(self, now: float) -> bool:
        """Whether there is enough to commit, or it waited long enough, or nothing else comes."""
        return self.may_commit and (
            len(self._findings) >= self._enough
            or now - self._oldest >= self._patience
            or not self._ledger.in_flight
        )

    def commit(self, clocks: Sequence[HostClock], robots: Sequence[RobotsRecord]) -> None:
        """Have all findings committed in one transaction, with the hosts' clocks and rules."""
        batch, self._findings = self._findings, []
        self._committing = True
        wall = self._clock.time()
        verdicts = [self.judge(findings, wall) for findings in batch]
        log = self._log
        complete = log.turn() if log is not None else 0

        def job(catalog: Catalog) -> tuple[Committed, Counts]:
            self._sync_archive(batch)
            committed = catalog.commit(verdicts, wall, clocks, (), robots, self._admission)
            if log is not None:
                log.forget(complete)
            return committed, catalog.counts()

        def then(answer: tuple[Committed, Counts]) -> None:
            self._committing = False
            if self._archive is None or any(each.pointer is not None for each in batch):
                self._refused_since = None
            committed, self.counts = answer
            self._ledger.committed(batch, self.counts.pages)
            self.on_committed(verdicts, committed)

        self.write(job, then)

    def _sync_archive(self, batch: Sequence[Findings]) -> None:
        """In the writer's thread: have the disk keep what is about to be pointed to."""
        if self._archive is None:
            return
        try:
            self._archive.sync(batch)
        except StorageError:
            # What the disk did not keep must not be believed by the next run either.
            if self._log is not None:
                self._log.drop()
            raise

    def write(self, job: Callable[[Catalog], _Result], then: Callable[[_Result], None]) -> None:
        """Have the catalog changed; what a full disk refuses is done when there is room again."""

        def failed(error: BaseException) -> None:
            if isinstance(error, DiskFullError):
                self._stuck.append(lambda: self.write(job, then))
            self._refused(error)

        self._writer.submit(job, then, failed)

    def _refused(self, error: BaseException) -> None:
        if isinstance(error, DiskFullError):
            self.pause("disk", str(error))
        else:
            self._stops.fail(error)

    def pause(self, what: str, detail: str) -> None:
        """Fetch nothing until the disk has recovered."""
        now = self._clock.monotonic()
        if self._refused_since is None:
            self._refused_since = now
        self._stops.paused_at = self._refused_since
        self.paused = f"paused: {what}"
        self._stops.pause_detail = detail
        self._retry_at = now + _RETRY_SECONDS

    def watch_disk(self, now: float) -> None:
        """Pause before the disk is full; go on when it has room again."""
        if self._directory is None:
            return
        free = free_bytes(self._directory)
        reserve = max(self._settings.store.reserve_bytes, _LEAST_FREE_BYTES if self.paused else 0)
        if free < reserve:
            self.pause(
                "disk",
                f"{free >> 20} MiB free on the disk of {self._directory}, fewer than the "
                f"{reserve >> 20} MiB kept in reserve",
            )
        elif self.paused and now >= self._retry_at:
            self._try_again(now)

    def _try_again(self, now: float) -> None:
        """Do what a full disk refused; when there is nothing more of that, go on."""
        self._retry_at = now + _RETRY_SECONDS
        stuck, self._stuck = self._stuck, []
        for retry in stuck:
            retry()
        if not stuck and self._writer.idle:
            self.paused = ""


def next_try_at(verdicts: Sequence[Verdict]) -> float | None:
    """Return the wall time at which the first of these is to be tried again."""
    return min((each.due_at for each in verdicts if each.state is State.PENDING), default=None)
