"""A disk that refuses, a writer that is killed: versions are whole or not there."""

import errno
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from contents_samples import NOW, ONE, SITE, put

from gossamer.errors import DiskFullError, StorageError, StoreError
from gossamer.store.content_storage import StorageType, open_files
from gossamer.store.disk import System
from gossamer.store.folder_lock import FolderLock
from gossamer.store.raw_files import NotKeptError, RawFiles


class Faults:
    """Counts calls to the system and makes one of them fail."""

    def __init__(self, call, number, error=errno.EIO, whole=False):
        self.call, self.number, self.error, self.whole = call, number, error, whole
        self.count = 0
        self.lock = threading.Lock()

    def system(self):
        real = {"open": os.open, "write": os.write, "fdatasync": os.fdatasync, "fsync": os.fsync}
        calls = {name: self._failing(name, call) for name, call in real.items()}
        calls["open_in"] = self._failing("open", System().open_in)
        # What syncfs promises has tests of its own; here it matters when it is called.
        calls["syncfs"] = self._failing("syncfs", lambda _: None)
        return System(**calls, syncs_whole=lambda _: self.whole)

    def _failing(self, name, real):
        def call(*arguments):
            if name == self.call:
                with self.lock:
                    self.count += 1
                    count = self.count
                if count == self.number:
                    if name == "write":
                        real(arguments[0], bytes(arguments[1][:1]))
                    raise OSError(self.error, os.strerror(self.error))
            return real(*arguments)

        return call


def opened(folder, system=None):
    return open_files(StorageType.KEY_VALUE, folder / "data", folder / "db", system=system)


def sizes(folder):
    return {path.name: path.stat().st_size for path in (folder / "data").rglob("*.bin")}


@pytest.mark.parametrize(
    ("call", "whole"),
    [
        ("open", False),
        ("write", False),
        ("fdatasync", False),
        ("fsync", False),
        ("open", True),
        ("write", True),
        ("fdatasync", True),
        ("fsync", True),
        ("syncfs", True),
    ],
)
def test_a_refusal_at_any_call_loses_nothing_and_leaves_no_litter(tmp_path, call, whole):
    """The n-th call of a kind fails, for every n that happens; all is put again, as one should."""
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        faults = Faults(call, number, errno.ENOSPC, whole)
        refusals: list[DiskFullError] = []
        contents = tried(refusals, opened, folder, faults.system())
        tried(refusals, put_three, contents, 0)
        tried(refusals, put_three, contents, 3)
        tried(refusals, contents.close)
        again = opened(folder)
        for each in range(6):
            assert [one.body for one in again.raw(SITE, f"{each:032x}", "all")] == [b"x" * 100]
        assert set(sizes(folder).values()) == {100}
        assert list((folder / "data" / ".journal").iterdir()) == []
        assert list((folder / "data").rglob("*.new")) == []
        if faults.count < number:
            assert refusals == []
            break
        assert len(refusals) == 1
    # With a journal few syncs are needed; each file by itself needs more.
    fewest = {("syncfs", True): 1, ("fdatasync", True): 2, ("fsync", True): 4}
    assert number > fewest.get((call, whole), 6)


@pytest.mark.parametrize("whole", [True, False])
def test_a_write_that_stops_half_way_leaves_no_torn_version(tmp_path, whole):
    number = refused = 0
    while refused == number:
        number += 1
        faults = Faults("write", number, errno.ENOSPC, whole)
        contents = opened(tmp_path / str(number), faults.system())
        put(contents, body=b"x" * 100)
        with suppress(DiskFullError):
            contents.sync()
        refused += faults.count >= number
        assert set(sizes(tmp_path / str(number)).values()) <= {100}
    # Three files, and the journal.
    assert number == (5 if whole else 4)


def put_three(contents, start):
    for each in range(start, start + 3):
        put(contents, md5=f"{each:032x}", body=b"x" * 100)
    contents.sync()


def tried(refusals, work, *arguments):
    """Do something until it is not refused."""
    while True:
        try:
            return work(*arguments)
        except DiskFullError as error:
            refusals.append(error)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(errno.ENOSPC, DiskFullError), (errno.EDQUOT, DiskFullError), (errno.EIO, StoreError)],
)
def test_a_full_disk_is_told_from_a_broken_one(tmp_path, error, kind):
    contents = opened(tmp_path, Faults("write", 1, error).system())
    put(contents)
    with pytest.raises(kind):
        contents.sync()
    assert contents.raw(SITE, ONE) == []


@pytest.mark.parametrize("faults", [Faults("fdatasync", 2), Faults("fdatasync", 1, whole=True)])
def test_nothing_is_acknowledged_while_the_disk_refuses(tmp_path, faults):
    contents = opened(tmp_path, faults.system())
    put(contents, body=b"one")
    with pytest.raises(StorageError):
        contents.raw(SITE, ONE)
    # What failed does not wait any longer.
    contents.sync()
    assert contents.raw(SITE, ONE) == []


def test_much_does_not_wait_in_memory(tmp_path):
    contents = opened(tmp_path)
    for number in range(3):
        put(contents, md5=f"{number:032x}", body=b"x" * (4 << 20))
    assert len(sizes(tmp_path)) >= 2


WRITER = """
import hashlib, sys
from pathlib import Path
from gossamer.store.content_storage import StorageType, open_files
folder, start = Path(sys.argv[1]), int(sys.argv[2])
contents = open_files(StorageType.KEY_VALUE, folder / "data", folder / "db")
site = "5" * 32
for number in range(start, start + 100_000, 4):
    for each in range(number, number + 4):
        body = b"%d " % each * (each % 97 * 50 + 1)
        md5 = hashlib.md5(body).hexdigest()
        contents.put_raw(site, md5, 1_794_798_000 + each, body=body, headers=b"h" * each,
                         request=b"r")
        contents.put_processed(site, md5, b'"%d"' % each, 1_794_798_000)
    contents.sync()
    print(number + 4, flush=True)
    if number % 40 == 0:
        contents.clear_site("6" * 32)
        contents.put_raw("6" * 32, md5, 5.0, body=b"6", headers=None, request=None)
    contents.sweep(2)
"""


def test_a_killed_writer_leaves_whole_versions_and_all_it_acknowledged(tmp_path):
    """Kill -9 at moments of chance: every version is whole, none that was acknowledged is lost."""
    chance = random.Random(5)
    acknowledged = 0
    rounds = 8
    for start in range(0, rounds * 100_000, 100_000):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(start)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            # The first line says that it is at work.
            lines = [process.stdout.readline()]
            time.sleep(chance.random() * 0.2)
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().splitlines()
        done = int([line for line in lines if line.strip()][-1])
        contents = opened(tmp_path)
        for each in range(start, done):
            body = b"%d " % each * (each % 97 * 50 + 1)
            md5 = hashlib.md5(body).hexdigest()
            (version,) = contents.raw("5" * 32, md5, "all")
            assert (version.body, version.headers, version.request) == (body, b"h" * each, b"r")
            assert contents.processed("5" * 32, md5) == (b'"%d"' % each, 1_794_798_000)
            acknowledged += 1
        for path in (tmp_path / "data" / ("5" * 32)).rglob("*.bin"):
            body = path.read_bytes()
            assert re.match(r"[0-9a-f]{32}_", path.name)
            assert hashlib.md5(body).hexdigest() == path.name[:32]
            assert path.with_name(path.name.replace(".bin", ".headers.txt")).exists()
    while contents.sweep():
        pass
    assert list((tmp_path / "data" / ".journal").iterdir()) == []
    assert list((tmp_path / "data").rglob("*.new")) == []
    assert list((tmp_path / "data" / ".gone").iterdir()) == []
    assert acknowledged >= rounds * 4


def test_who_is_alone_is_alone_and_gets_his_turn(tmp_path):
    """Those who work together come without a pause, and still let somebody be alone."""
    lock = FolderLock(tmp_path)
    over = threading.Event()
    alone, together, clashes = [], [], []

    def work():
        while not over.is_set():
            with lock.together():
                together.append(1)
                if alone:
                    clashes.append("worked beside somebody who is alone")
                time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            with lock.alone():
                alone.append(1)
                before = len(together)
                time.sleep(0.002)
                clashes += ["others worked on"] * (len(together) != before)
                alone.clear()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert clashes == []
    assert together


def test_a_site_removed_beside_a_writer_keeps_what_was_put_after(tmp_path):
    """Two objects, as of two processes: the order of calls is the order of effects."""
    one, two = opened(tmp_path), opened(tmp_path)
    for number in range(20):
        put(one, body=b"%d" % number, stamp=NOW + number)
        one.sync()
        one.put_processed(SITE, ONE, b"%d" % number, NOW)
        assert len(two.raw(SITE, ONE, "all")) == 1
        assert two.processed(SITE, ONE) == (b"%d" % number, int(NOW))
        two.clear_site(SITE)
        assert one.raw(SITE, ONE, "all") == []
        assert one.processed(SITE, ONE) is None
        two.sweep(1)


def test_what_has_no_place_is_told_and_all_else_is_kept(tmp_path):
    """Its journal has nothing of it, or nobody could ever open the folder again."""
    sites = [f"{number:032x}" for number in range(3)]
    files = RawFiles(tmp_path / "data")
    (tmp_path / "data" / sites[1]).write_bytes(b"in the way")
    for site in sites:
        files.put(site, ONE, NOW, b"body of " + site.encode(), {})
    with pytest.raises(NotKeptError, match=f"{sites[1]}: Not a directory") as caught:
        files.sync()
    assert caught.value.refused == {(sites[1], ONE)}
    files._journal.let_go()  # As if it had been killed: the next one writes all of it once more.
    again = RawFiles(tmp_path / "data")
    for site in (sites[0], sites[2]):
        (kept,) = again.versions(site, ONE, "all")
        assert kept.body == b"body of " + site.encode()
    again.close()
