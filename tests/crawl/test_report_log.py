"""Findings that wait for their transaction outlive the process, whole, in order, and once."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from harness import command, crawl, pages_in
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from disk_faults import Faults
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.crawl.report_log import NAMES, ReportLog, begin_run
from gossamer.errors import DiskFullError, StoreError
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb
from gossamer.messages import Findings, Found
from gossamer.outcomes import Outcome, State
from gossamer.url.parts import host_of, md5_of

RUN = 7


def findings(doc_id: int, *urls: str) -> Findings:
    """Return what a visit to a page found."""
    return Findings(
        doc_id=doc_id,
        trans_id=100 + doc_id,
        outcome=int(Outcome.OK),
        status=200,
        fetched_at=1_000.5,
        milliseconds=3,
        title=f"page {doc_id}",
        found=tuple(found(url) for url in urls),
    )


def found(url: str) -> Found:
    return Found(url, md5_of(url), host_of(url), depth=1)


def opened(folder: Path) -> "closing[ReportLog]":
    return closing(ReportLog(folder))


def left(folder: Path, run_id: int = RUN) -> list[int]:
    """Return the documents that a later process finds."""
    with opened(folder) as log:
        return [each.doc_id for each in log.left(run_id)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[ReportLog]:
    with opened(tmp_path) as log:
        log.use(RUN)
        yield log


def test_findings_come_back_as_they_were(tmp_path, log):
    first, second = findings(1, "http://a.example/x"), findings(2)
    log.append([first])
    log.append([second])
    with opened(tmp_path) as later:
        assert later.left(RUN) == [first, second]


def test_what_is_being_committed_is_there_until_it_is_forgotten(tmp_path, log):
    log.append([findings(1), findings(2)])
    complete = log.turn()
    log.append([findings(3)])
    assert left(tmp_path) == [1, 2, 3]
    log.forget(complete)
    assert left(tmp_path) == [3]
    second = log.turn()
    log.append([findings(4)])
    assert left(tmp_path) == [3, 4], "the older file first, whichever of the two that is"
    log.forget(second)
    assert left(tmp_path) == [4]


def test_a_transaction_without_findings_of_workers_forgets_nothing_else(tmp_path, log):
    complete = log.turn()
    log.append([findings(1)])
    log.forget(complete)
    assert left(tmp_path) == [1]


def test_what_another_run_wrote_counts_for_nothing(tmp_path, log):
    log.append([findings(1)])
    assert left(tmp_path, RUN + 1) == []
    assert left(tmp_path, 0) == []
    log.use(RUN + 1)
    assert left(tmp_path) == left(tmp_path, RUN + 1) == []


@given(cut=st.integers(0, 2_000), flipped=st.integers(0, 2_000) | st.none())
def test_a_torn_or_damaged_end_costs_only_itself(tmp_path_factory, cut, flipped):
    folder = tmp_path_factory.mktemp("log")
    ends = []
    with opened(folder) as log:
        log.use(RUN)
        for doc_id in range(1, 6):
            log.append([findings(doc_id, f"http://a.example/{doc_id}")])
            ends.append((folder / NAMES[0]).stat().st_size)
    data = bytearray((folder / NAMES[0]).read_bytes()[:cut])
    if flipped is not None and flipped < len(data):
        data[flipped] ^= 1
    (folder / NAMES[0]).write_bytes(data)
    sound = len(data) if flipped is None else min(flipped, len(data))
    assert left(folder) == [doc_id for doc_id, end in enumerate(ends, 1) if end <= sound]


def test_a_full_disk_is_told_and_costs_nothing_that_was_written(tmp_path):
    faults = Faults("write", {2}, errno.ENOSPC, short=True)
    with closing(ReportLog(tmp_path, faults.system())) as log:
        log.use(RUN)
        log.append([findings(1)])
        with pytest.raises(DiskFullError, match=r"reports\.0"):
            log.append([findings(2)])
        log.append([findings(3)])
    assert left(tmp_path) == [1, 3]


def test_a_disk_that_does_not_cut_a_file_is_an_error_of_ours(tmp_path):
    """At the start, after half a record, and when all has been committed."""
    cuts = Faults("ftruncate", {1, 4, 5}).system()
    half_a_record = Faults("write", {2}, errno.ENOSPC, short=True).system().write
    with closing(ReportLog(tmp_path, replace(cuts, write=half_a_record))) as log:
        with pytest.raises(StoreError, match=r"cannot cut .*reports\.0"):
            log.use(RUN)
        log.use(RUN)
        log.append([findings(1)])
        with pytest.raises(StoreError, match=r"cannot cut .*reports\.0"):
            log.append([findings(2)])
        with pytest.raises(StoreError, match=r"cannot cut .*reports\.0"):
            log.forget(log.turn())


def done(each: Findings, now: float) -> Verdict:
    del now
    return Verdict(each, State.DONE, 0.0)


def begun(catalog: SqliteCatalog, log: ReportLog) -> int:
    return begin_run(catalog, log, Settings(), done, 2_000.0).run_id


def test_the_next_run_commits_what_the_last_one_could_not(tmp_path):
    urls = [f"http://a.example/{number}" for number in range(4)]
    with (
        SqliteCatalog.open(tmp_path / "catalog.db", CatalogSettings()) as catalog,
        opened(tmp_path) as log,
    ):
        catalog.add([found(url) for url in urls], 1_000.0)
        begun(catalog, log)
        one, two, _ = [due.doc_id for due in catalog.due(3, 3, 1_000.0)]
        catalog.commit([done(findings(one), 0.0)], 1_000.0)
        # The first was committed, and not forgotten before the end came.
        log.append([findings(one)])
        log.append([findings(two, "http://a.example/new")])
    with (
        SqliteCatalog.open(tmp_path / "catalog.db", CatalogSettings()) as catalog,
        opened(tmp_path) as log,
    ):
        begun(catalog, log)
        counts = catalog.counts()
        assert (counts.pages, counts.pending, counts.leased) == (2, 3, 0)
        assert catalog.find("http://a.example/new") is not None
        assert catalog.check() == []
        begun(catalog, log)
        assert catalog.counts().pages == 2


@pytest.mark.parametrize(("retry_after", "held"), [(30.0, 30.0), (None, 5.0), (0.0, 5.0)])
def test_the_next_run_knows_whom_the_last_one_had_to_leave_alone(tmp_path, retry_after, held):
    """By what a server asked for; or by the usual back-off, which is longer here than nothing."""
    urls = [f"http://{host}.example/{number}" for host in "ab" for number in range(2)]
    busy = {"outcome": int(Outcome.HTTP_429), "status": 429, "retry_after_seconds": retry_after}
    with (
        SqliteCatalog.open(tmp_path / "catalog.db", CatalogSettings()) as catalog,
        opened(tmp_path) as log,
    ):
        catalog.add([found(url) for url in urls], 1_000.0)
        begun(catalog, log)
        by_host = {due.host: due.doc_id for due in catalog.due(4, 1, 1_000.0)}
        log.append(
            [findings(by_host["a.example"]), replace(findings(by_host["b.example"]), **busy)]
        )
    for _ in range(2):
        with (
            SqliteCatalog.open(tmp_path / "catalog.db", CatalogSettings()) as catalog,
            opened(tmp_path) as log,
        ):
            begun(catalog, log)
            well, clock = map(catalog.host_clock, ("a.example", "b.example"))
            assert well is not None
            assert clock is not None
            assert (well.next_allowed_at, well.failures_in_a_row) == (0.0, 0)
            assert clock.next_allowed_at == pytest.approx(1_000.503 + held)
            assert (clock.failures_in_a_row, clock.delay_seconds) == (1, 5.0)


STUCK = """
import sys, time
from pathlib import Path

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.cli.main import main

commit, committed = SqliteCatalog.commit, 0

def stuck(self, verdicts, *rest, **named):
    global committed
    if committed >= {most} and verdicts:
        Path({marker!r}).touch()
        time.sleep(600)
    committed += len(verdicts)
    return commit(self, verdicts, *rest, **named)

SqliteCatalog.commit = stuck
sys.exit(main())
"""


@pytest.mark.req("S1.37", "S1.38")
def test_a_crawl_killed_while_a_transaction_waits_repeats_nothing(tmp_path):
    """The disk is slow: pages of more than one transaction wait, and all of them are kept."""
    script, marker = tmp_path / "stuck.py", tmp_path / "stuck"
    script.write_text(STUCK.format(marker=str(marker), most=60))
    concurrency = 4
    with FakeWeb(pages=400, hosts=4, seed=5) as web:
        workspace = tmp_path / "w"
        flags = ["--concurrency", str(concurrency), "--per-host", "4", "--delay", "0", "--quiet"]
        argv = command(web, workspace, *flags)
        with killed_after([sys.executable, str(script), *argv[3:]]) as process:
            waiting = requests_when_all_is_quiet(web, process, marker)
        with SqliteCatalog.open(
            workspace / "catalog.db", CatalogSettings(), read_only=True
        ) as catalog:
            committed = catalog.counts().pages
        assert waiting - committed > 2 * concurrency, "places were given away before the commit"
        crawl(web, workspace, *flags)
        log, truth = web.log(), web.truth()
    assert judge.refetches(log) == {}
    assert judge.missing(log, truth) == set()


@pytest.mark.req("S1.37")
def test_a_server_that_asked_for_patience_gets_it_from_the_run_after_a_kill(tmp_path):
    """Killed after the answer was written down, and before the host's clock was stored."""
    script, marker = tmp_path / "stuck.py", tmp_path / "stuck"
    script.write_text(STUCK.format(marker=str(marker), most=0))
    patience = 3.0
    flags = ["--dir", str(tmp_path / "w"), "--delay", "0", "--quiet", "--max-depth", "0",
             "--set", "urlserver.retry_back_off_seconds=0"]  # fmt: skip
    with FakeWeb(pages=3, hosts=1, seed=5) as web:
        start = f"{web.oddities}status/429?retry_after={patience:.0f}"
        argv = [sys.executable, str(script), "crawl", start, *flags]
        with killed_after(argv) as process:
            requests_when_all_is_quiet(web, process, marker, for_seconds=0.1)
        argv = [sys.executable, "-m", "gossamer.cli", "crawl", f"{web.oddities}status/200", *flags]
        with killed_after(argv):
            until = time.monotonic() + 60.0
            while len(pages := [each for each in web.log().requests if not each.is_robots]) < 2:
                assert time.monotonic() < until, "nothing is asked for any more"
                time.sleep(0.05)
    assert pages[0].url == start
    assert pages[1].arrived_ns - pages[0].start_ns >= (patience - 0.1) * 1e9


@contextmanager
def killed_after(argv: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(argv, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def requests_when_all_is_quiet(
    web: FakeWeb, process: "subprocess.Popen[bytes]", marker: Path, for_seconds: float = 2.0
) -> int:
    """Wait until a crawl has come to a standstill; return how many pages it asked for."""
    seen, since = -1, 0.0
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        assert process.poll() is None, "it ended by itself"
        now = len(pages_in(web.log()))
        if not marker.exists() or now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > for_seconds:
            return seen
        time.sleep(0.1)
    raise AssertionError("it never came to a standstill")
