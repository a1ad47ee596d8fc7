"""What is committed points to bytes that a loss of power leaves; what it takes is fetched again."""

import errno
import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from harness import command, crawl
from msgspec.structs import replace
from test_report_log import STUCK, requests_when_all_is_quiet

from disk_faults import Faults
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock, SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.config.store import StoreSettings
from gossamer.crawl.archive_sync import ArchiveSync
from gossamer.crawl.pipeline import Ground, crew_of, wired
from gossamer.crawl.report_log import ReportLog
from gossamer.crawl.stops import Stops
from gossamer.errors import StorageError, StoreError
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb
from gossamer.messages import Fetch, Findings, Found, Visit
from gossamer.outcomes import Outcome
from gossamer.store.disk import System
from gossamer.store.names import OPEN_SUFFIX, unfinished_files
from gossamer.store.reading import read_document
from gossamer.store.repair import repair
from gossamer.store.verify import verify_folder
from gossamer.store.warc import WarcStore
from gossamer.url.parts import md5_of
from power_loss import Disk, lose_half_of_what_waits

# Small, so that files are full now and then.
SETTINGS = StoreSettings(max_file_bytes=6_000, buffer_bytes=4_096)
URL = "http://a.example/"


def fetch_of(number: int) -> Fetch:
    raw = random.Random(number).randbytes(700)
    return Fetch(
        Visit(number, number, "127.0.0.1", f"{URL}{number}"),
        Outcome.OK,
        status=200,
        request_head=b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        head=b"HTTP/1.1 200 OK\r\nContent-Length: 700\r\n\r\n",
        raw=raw,
        body=raw,
        fetched_at=1_800_000_000.0 + number,
    )


def store_in(folder: Path, system: System | None = None) -> WarcStore:
    return WarcStore(folder, "w1", SETTINGS, ManualClock(), system=system)


def reported(store: WarcStore, *numbers: int) -> list[Findings]:
    """Return what a worker reports of pages that it has kept and written."""
    stored = [store.append(fetch_of(number)) for number in numbers]
    store.write_out()
    return [
        Findings(number, number, int(Outcome.OK), 200, 1_000.5, 3, pointer=each.pointer)
        for number, each in zip(numbers, stored, strict=True)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_what_was_synced_outlives_a_loss_of_power(tmp_path, seed):
    chance = random.Random(seed)
    folder = tmp_path / "archive"
    folder.mkdir()
    disk = Disk(folder, whole=False)
    store = store_in(folder, disk.system())
    every: list[Findings] = []
    synced: list[Findings] = []
    with closing(disk), closing(ArchiveSync(folder, disk.system())) as archive:
        waiting: list[Findings] = []
        for number in range(chance.randint(1, 12)):
            waiting += reported(store, *range(5 * number, 5 * number + 5))
            if chance.random() < 0.4:
                archive.sync(waiting)
                synced += waiting
                every += waiting
                waiting = []
        every += waiting
        after = tmp_path / "after"
        disk.lose_power(after, chance)
        rename_as_a_whole(disk, folder, after, chance)
    known_good: dict[str, int] = {}
    for each in synced:
        end = each.pointer.offset + each.pointer.length
        known_good[each.pointer.file] = max(end, known_good.get(each.pointer.file, 0))
    repairs = repair(after, known_good)
    assert not any(each.missing_bytes or each.damaged_bytes for each in repairs)
    with closing(ArchiveSync(after)) as archive:
        present = archive.present(every)
    assert [each for each in every if each in synced] == [
        each for each in present if each in synced
    ]
    for each in present:
        assert read_document(after, each.pointer).raw == fetch_of(each.doc_id).raw


def rename_as_a_whole(disk: Disk, folder: Path, after: Path, chance: random.Random) -> None:
    """Give files their final names, or not: the disk takes a rename for two changes."""
    for path in folder.glob("*.warc.gz"):
        names = path.name, path.name + OPEN_SUFFIX
        for name in names:
            (after / name).unlink(missing_ok=True)
        assert disk.durable(path) == path.read_bytes(), "a file with its final name is whole"
        (after / chance.choice(names)).write_bytes(path.read_bytes())


def test_what_was_written_outlives_the_process(tmp_path):
    """The store is never closed: its process was killed."""
    store = store_in(tmp_path)
    every = reported(store, *range(20)) + reported(store, *range(20, 23))
    assert unfinished_files(tmp_path), "full files got their names, the last did not"
    with closing(ArchiveSync(tmp_path)) as archive:
        assert archive.present(every) == every


def test_findings_without_their_bytes_are_left_out(tmp_path):
    store = store_in(tmp_path)
    every = reported(store, 1, 2, 3)
    nothing_kept = Findings(4, 4, int(Outcome.NET_RESET), 0, 1_000.5, 3)
    last = every[-1].pointer
    os.truncate(tmp_path / (last.file + OPEN_SUFFIX), last.offset + last.length // 2)
    with closing(ArchiveSync(tmp_path)) as archive:
        assert archive.present([*every, nothing_kept]) == [*every[:2], nothing_kept]


def test_a_refused_write_leaves_what_was_reported(tmp_path):
    """The file is cut back to what others were told of, not to what was synced."""
    faults = Faults("write", {2}, errno.ENOSPC, short=True)
    store = store_in(tmp_path, faults.system())
    every = reported(store, 1, 2)
    with pytest.raises(StorageError):
        reported(store, 3)
    every += reported(store, 4)
    store.close()
    with closing(ArchiveSync(tmp_path)) as archive:
        assert archive.present(every) == every
    assert verify_folder(tmp_path).sound


def test_a_failed_sync_is_one_of_the_store_whatever_its_cause(tmp_path):
    """A full disk is tried again, and a sync must not be."""
    every = reported(store_in(tmp_path), 1)
    faults = Faults("fdatasync", {1}, errno.ENOSPC)
    with closing(ArchiveSync(tmp_path, faults.system())) as archive, pytest.raises(StoreError):
        archive.sync(every)


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_committed_before_the_archive_is_durable(tmp_path, fails):
    settings = Settings()
    settings = replace(settings, crawl=replace(settings.crawl, workers=0))
    # What is kept here, another process has kept.
    settings = replace(settings, store=replace(settings.store, keep=False))
    folder = tmp_path / "archive"
    store = store_in(folder)
    faults = Faults("fdatasync", {1} if fails else set())
    stops = Stops()
    with (
        SqliteCatalog.open(tmp_path / "catalog.db", settings.catalog) as catalog,
        closing(ReportLog(tmp_path)) as log,
        closing(ArchiveSync(folder, faults.system())) as archive,
    ):
        catalog.discover([Found(URL, md5_of(URL), "a.example", 0)], 1_000.0)
        recovery = catalog.begin_run(1_000.0)
        log.use(recovery.run_id)
        (due,) = catalog.due(1, 1, 1_000.0)
        (findings,) = reported(store, due.doc_id)
        ground = Ground(None, catalog, recovery, (), settings, stops, SystemClock(), log, archive)
        with wired(ground, partial(crew_of, ground, "", ())) as parts:
            parts.ledger.ordered(findings.trans_id, due, 0)
            parts.keeper.take([findings], 0.0)
            parts.keeper.commit((), ())
        assert faults.count == 1
        assert catalog.counts().pages == (0 if fails else 1)
        assert isinstance(stops.error, StoreError) is fails
        # What the disk did not keep is not believed by the next run either.
        assert log.left(recovery.run_id) == []


def test_a_crawl_after_a_loss_of_power_fetches_what_was_lost(tmp_path):
    """The findings that waited are there, and half of the bytes that they point to are not."""
    script, marker = tmp_path / "stuck.py", tmp_path / "stuck"
    script.write_text(STUCK.format(marker=str(marker), most=60))
    with FakeWeb(pages=400, hosts=4, seed=5) as web:
        workspace = tmp_path / "w"
        flags = ["--concurrency", "4", "--per-host", "4", "--delay", "0", "--quiet"]
        argv = command(web, workspace, *flags)
        process = subprocess.Popen([sys.executable, str(script), *argv[3:]], start_new_session=True)
        try:
            requests_when_all_is_quiet(web, process, marker)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        lost = lose_half_of_what_waits(workspace)
        crawl(web, workspace, *flags)
        log, truth = web.log(), web.truth()
    assert lost, "nothing was lost, so that nothing is proved"
    assert judge.missing(log, truth) == set()
    assert sum(judge.refetches(log).values()) >= 1
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True) as catalog:
        for row in catalog.rows():
            if row.fetch is not None and row.fetch.pointer is not None:
                read_document(workspace / "archive", row.fetch.pointer)
    assert verify_folder(workspace / "archive").sound
