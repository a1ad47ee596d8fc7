"""Findings that wait for their transaction outlive the process, whole, in order, and once."""

import dataclasses
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from harness import command, crawl, pages_in
from hypothesis import given
from hypothesis import strategies as st

from disk_faults import Faults
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.url import UrlSettings
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
    with closing(ReportLog(tmp_path, dataclasses.replace(cuts, write=half_a_record))) as log:
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
    return begin_run(catalog, log, UrlSettings(), done, 2_000.0).run_id


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


STUCK = """
import sys, time
from pathlib import Path

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.cli.main import main

commit, committed = SqliteCatalog.commit, 0

def stuck(self, verdicts, *rest, **named):
    global committed
    if committed >= 60 and verdicts:
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
    script.write_text(STUCK.format(marker=str(marker)))
    concurrency = 4
    with FakeWeb(pages=400, hosts=4, seed=5) as web:
        workspace = tmp_path / "w"
        flags = ["--concurrency", str(concurrency), "--per-host", "4", "--delay", "0", "--quiet"]
        argv = command(web, workspace, *flags)
        process = subprocess.Popen([sys.executable, str(script), *argv[3:]], start_new_session=True)
        try:
            waiting = requests_when_all_is_quiet(web, process, marker)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with SqliteCatalog.open(
            workspace / "catalog.db", CatalogSettings(), read_only=True
        ) as catalog:
            committed = catalog.counts().pages
        assert waiting - committed > 2 * concurrency, "places were given away before the commit"
        crawl(web, workspace, *flags)
        log, truth = web.log(), web.truth()
    assert judge.refetches(log) == {}
    assert judge.missing(log, truth) == set()


def requests_when_all_is_quiet(
    web: FakeWeb, process: "subprocess.Popen[bytes]", marker: Path
) -> int:
    """Wait until a crawl has come to a standstill; return how many pages it asked for."""
    seen, since = -1, 0.0
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        assert process.poll() is None, "it ended by itself"
        now = len(pages_in(web.log()))
        if not marker.exists() or now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > 2.0:
            return seen
        time.sleep(0.1)
    raise AssertionError("it never came to a standstill")
