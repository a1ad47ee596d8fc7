"""A disk that refuses: nothing that was acknowledged is lost, nothing that was not is believed."""

import errno
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from store_samples import fetch_of, warcio_problems

from disk_faults import Faults
from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.errors import DiskFullError, StorageError, StoreError
from gossamer.store.disk import System
from gossamer.store.names import archive_files, unfinished_files
from gossamer.store.reading import read_document
from gossamer.store.repair import repair
from gossamer.store.verify import verify_folder
from gossamer.store.warc import WarcStore

ROUNDS = 10
SETTINGS = StoreSettings(max_file_bytes=4_000, buffer_bytes=4_096)


def crawl(folder, system):
    """Append and sync as a crawl does; return what was acknowledged and the number of refusals."""
    store = WarcStore(folder, "w1", SETTINGS, ManualClock(), system=system)
    acknowledged, refusals = {}, 0
    for start in range(0, ROUNDS * 5, 5):
        missing = list(range(start, start + 5))
        while missing:
            stored = {}
            try:
                for number in missing:
                    stored[number] = store.append(fetch_of(number)).pointer
            except StorageError:
                refusals += 1
                with pytest.raises(StorageError):
                    store.sync()
                continue
            try:
                store.sync()
            except StorageError:
                refusals += 1
                continue
            acknowledged.update(stored)
            missing = []
    store.close()
    return acknowledged, refusals


def assert_whole(folder, acknowledged):
    repair(folder, {})
    assert unfinished_files(folder) == []
    assert sorted(acknowledged) == list(range(ROUNDS * 5))
    for number, pointer in acknowledged.items():
        assert read_document(folder, pointer).raw == fetch_of(number).raw
    assert verify_folder(folder).sound
    assert warcio_problems(*archive_files(folder)) == 0


@pytest.mark.parametrize(
    ("call", "error", "short"),
    [
        ("open", errno.ENOSPC, False),
        ("write", errno.ENOSPC, False),
        ("write", errno.ENOSPC, True),
        ("write", errno.EIO, True),
        ("fdatasync", errno.EIO, False),
        ("fsync", errno.EIO, False),
    ],
)
def test_a_refusal_at_any_call_loses_nothing(tmp_path, call, error, short):
    """The n-th call of a kind fails, for every n that happens."""
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        faults = Faults(call, {number}, error, short=short)
        acknowledged, refusals = crawl(folder, faults.system())
        assert_whole(folder, acknowledged)
        if faults.count < number:
            assert refusals == 0
            break
        assert refusals == 1
        shutil.rmtree(folder)
    assert number > 8


def test_refusals_in_a_row_leave_no_litter(tmp_path):
    """A disk that stays full is tried again and again with new files, all of them removed."""
    faults = Faults("write", set(range(4, 40)), errno.ENOSPC, short=True)
    acknowledged, refusals = crawl(tmp_path, faults.system())
    assert refusals == 36
    assert_whole(tmp_path, acknowledged)
    assert len(archive_files(tmp_path)) < 20


def test_short_writes_and_interruptions_are_no_failures(tmp_path):
    calls = []

    def write(descriptor, data):
        calls.append(len(data))
        if len(calls) % 3 == 0:
            raise InterruptedError
        return os.write(descriptor, data[: 1 + len(data) // 2])

    acknowledged, refusals = crawl(tmp_path, System(write=write))
    assert refusals == 0
    assert len(calls) > 100
    assert_whole(tmp_path, acknowledged)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(errno.ENOSPC, DiskFullError), (errno.EDQUOT, DiskFullError), (errno.EIO, StoreError)],
)
def test_a_full_disk_is_told_from_a_broken_one(tmp_path, error, kind):
    store = WarcStore(
        tmp_path, "w1", SETTINGS, ManualClock(), system=Faults("write", {1}, error).system()
    )
    store.append(fetch_of(1))
    with pytest.raises(kind, match=str(tmp_path)):
        store.sync()
    store.close()


def test_what_failed_is_cut_off_and_what_was_synced_stays(tmp_path):
    store = WarcStore(
        tmp_path, "w1", StoreSettings(), ManualClock(), system=Faults("fdatasync", {2}).system()
    )
    kept = store.append(fetch_of(1)).pointer
    store.sync()
    (path,) = archive_files(tmp_path)
    durable = path.stat().st_size
    void = store.append(fetch_of(2)).pointer
    with pytest.raises(StoreError, match="sync"):
        store.sync()
    assert path.stat().st_size == durable
    again = store.append(fetch_of(2)).pointer
    store.sync()
    assert again.file != void.file == kept.file
    assert store.read(again).raw == fetch_of(2).raw
    assert store.read(kept).raw == fetch_of(1).raw
    with pytest.raises(StoreError):
        store.read(void)
    store.close()
    assert unfinished_files(tmp_path) == []


def test_closing_after_a_refusal_nobody_heard_of_raises(tmp_path):
    """The append that met the refusal was told; whoever closes must not take it for a success."""
    settings = StoreSettings(buffer_bytes=4_096)
    store = WarcStore(tmp_path, "w1", settings, ManualClock(), system=Faults("write", {1}).system())
    large = fetch_of(1, raw=random.Random(1).randbytes(5_000))
    with pytest.raises(StoreError):
        store.append(large)
    store.append(fetch_of(2))
    with pytest.raises(StoreError):
        store.close()
    assert archive_files(tmp_path) == []


def test_a_sync_that_waited_for_one_that_failed_fails_too(tmp_path):
    """What the second caller appended went with the first one's file."""
    syncing, waiting = threading.Event(), threading.Event()
    outcomes = []

    def fdatasync(_descriptor):
        syncing.set()
        waiting.wait(10)
        raise OSError(errno.EIO, "Input/output error")

    store = WarcStore(
        tmp_path, "w1", StoreSettings(), ManualClock(), system=System(fdatasync=fdatasync)
    )

    def sync():
        try:
            store.sync()
        except StoreError as error:
            outcomes.append(str(error))
        else:
            outcomes.append("durable")

    store.append(fetch_of(1))
    threads = [threading.Thread(target=sync), threading.Thread(target=sync)]
    threads[0].start()
    assert syncing.wait(10)
    store.append(fetch_of(2))
    threads[1].start()
    time.sleep(0.2)
    waiting.set()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 2
    assert "durable" not in outcomes
    store.close()
    assert archive_files(tmp_path) == []


@pytest.mark.parametrize("early", [False, True], ids=["by sync", "by append"])
def test_an_interrupted_write_is_not_taken_for_a_success(tmp_path, early):
    def write(_descriptor, _data):
        raise KeyboardInterrupt

    settings = StoreSettings(buffer_bytes=4_096)
    store = WarcStore(tmp_path, "w1", settings, ManualClock(), system=System(write=write))
    if early:
        with pytest.raises(KeyboardInterrupt):
            store.append(fetch_of(1, raw=random.Random(1).randbytes(5_000)))
        with pytest.raises(StoreError, match="interrupted"):
            store.sync()
    else:
        store.append(fetch_of(1))
        with pytest.raises(KeyboardInterrupt):
            store.sync()
    assert archive_files(tmp_path) == []
    store.close()


FULL_DISK = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from store_samples import fetch_of, warcio_problems
from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.errors import DiskFullError
from gossamer.store.disk import System
from gossamer.store.names import archive_files
from gossamer.store.warc import WarcStore

folder = Path(sys.argv[1])
ballast = folder / "ballast"
store = WarcStore(folder, "w1", StoreSettings(buffer_bytes=65_536), ManualClock())
acknowledged, pending, refusals, number = {{}}, {{}}, 0, 0
while len(acknowledged) < 400:
    try:
        for number in range(len(acknowledged), len(acknowledged) + 20):
            pending[number] = store.append(fetch_of(number)).pointer
    except DiskFullError:
        pass
    try:
        store.sync()
    except DiskFullError:
        refusals += 1
        pending = {{}}
        if refusals == 3:
            ballast.unlink()
        continue
    acknowledged.update(pending)
    pending = {{}}
    if not refusals and len(acknowledged) == 100:
        try:
            ballast.write_bytes(bytes(1 << 24))
        except OSError:
            pass
store.close()
assert refusals == 3, refusals
for number, pointer in acknowledged.items():
    assert store.read(pointer).raw == fetch_of(number).raw
assert warcio_problems(*archive_files(folder)) == 0
print("whole", len(acknowledged))
"""


def test_a_disk_that_is_really_full_and_then_is_not(tmp_path):
    """A file system of 1 MiB fills up, then has space again; all that was acknowledged is there."""
    mount = f"mount -t tmpfs -o size=1m none {tmp_path}"
    probe = subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("mounting a small file system needs root")
    script = FULL_DISK.format(path=[str(Path(__file__).parent)])
    run = subprocess.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            f'{mount} && exec "$0" -c "$1" {tmp_path}',
            sys.executable,
            script,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "whole 400" in run.stdout
