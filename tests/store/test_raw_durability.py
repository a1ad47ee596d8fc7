"""What a loss of power leaves of raw contents: all that was acknowledged, and nothing torn."""

import errno
import os
import random
from contextlib import suppress
from pathlib import Path

import pytest
from contents_samples import NOW, ONE, SITE, put
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.errors import StoreError
from gossamer.store import file_system, raw_files, raw_journal
from gossamer.store.content_storage import StorageType, open_files
from gossamer.store.contents import Contents
from gossamer.store.disk import System
from power_loss import Disk

SITES = (SITE, "0")
MD5S = [f"{number:032x}" for number in range(3)]


def opened(folder: Path, system: System | None = None, *, keeps_old: bool = True) -> Contents:
    return open_files(
        StorageType.KEY_VALUE,
        folder,
        folder.with_name("db"),
        system=system,
        keeps_old=keeps_old,
    )


class Two:
    """Two processes at one storage, and what must be found there."""

    def __init__(self, folder: Path, disk: Disk, *, keeps_old: bool) -> None:
        self.keeps_old = keeps_old
        self.folder, self.disk = folder, disk
        self.contents = [opened(folder, disk.system(), keeps_old=keeps_old) for _ in range(2)]
        self.waiting: list[list[tuple[str, str, int]]] = [[], []]
        self.there: set[tuple[str, str, int]] = set()
        """Site, md5 and number of each version that was acknowledged."""
        self.perhaps: set[tuple[str, str, int]] = set()
        self.number = 0

    def put(self, who: int, site: str, md5: str) -> None:
        self.number += 1
        key = (site, md5, self.number)
        put(self.contents[who], site, md5, stamp=NOW + self.number, body=body_of(key))
        self.waiting[who].append(key)
        self.perhaps.add(key)

    def sync(self, who: int, *_: str) -> None:
        self.contents[who].sync()
        self.there.update(self.waiting[who])
        self.waiting[who].clear()

    def delete(self, who: int, site: str, md5: str) -> None:
        self.sync(who)
        self.contents[who].delete(site, md5)
        self._forget(lambda key: key[:2] == (site, md5))

    def clear(self, who: int, site: str, _: str) -> None:
        self.sync(who)
        self.contents[who].clear_site(site)
        self._forget(lambda key: key[0] == site)

    def close(self, who: int, *_: str) -> None:
        """It ends, and another process takes its place."""
        self.sync(who)
        self.contents[who].close()
        self.contents[who] = opened(self.folder, self.disk.system(), keeps_old=self.keeps_old)

    def die(self, who: int, *_: str) -> None:
        """It is killed, and another process takes its place."""
        self.waiting[who].clear()
        die(self.contents[who])
        self.contents[who] = opened(self.folder, self.disk.system(), keeps_old=self.keeps_old)

    def _forget(self, gone) -> None:
        waiting = {key for each in self.waiting for key in each}
        self.there = {key for key in self.there if not gone(key)}
        self.perhaps = {key for key in self.perhaps if not gone(key) or key in waiting}

    def check(self, found: Contents) -> None:
        for site in SITES:
            for md5 in MD5S:
                versions = found.raw(site, md5, "all")
                numbers = [round(version.stamp - NOW) for version in versions]
                keys = {(site, md5, number) for number in numbers}
                assert keys <= self.perhaps
                acknowledged = {key for key in self.there if key[:2] == (site, md5)}
                if self.keeps_old:
                    assert acknowledged <= keys
                elif acknowledged:
                    assert max(keys) >= max(acknowledged)
                for version, number in zip(versions, numbers, strict=True):
                    assert version.body == body_of((site, md5, number))
                    # One that is being removed may have lost what is beside its body.
                    if self.keeps_old or number == max(numbers):
                        assert version.headers is not None
                        assert version.request is not None


def die(contents: Contents) -> None:
    """Let go of what goes with a process that is killed."""
    raw = contents._raw
    raw._waiting.clear()
    if raw._journal is not None:
        raw._leave(raw._journal)


def body_of(key: tuple[str, str, int]) -> bytes:
    return repr(key).encode() * (key[2] % 7)


STEPS = st.lists(
    st.tuples(
        st.sampled_from([*["put"] * 4, "sync", "sync", "delete", "clear", "close", "die"]),
        st.integers(0, 1),
        st.sampled_from(SITES),
        st.sampled_from(MD5S),
    ),
    max_size=25,
)


# A journal of a killed process that was settled and removed, then a deletion.
_SETTLED = [(step, 0, SITE, MD5S[0]) for step in ("put", "sync", "die", "delete")]


@example(steps=_SETTLED, seed=1)
@example(steps=_SETTLED, seed=2)
@example(steps=_SETTLED, seed=3)
@example(steps=_SETTLED, seed=4)
@pytest.mark.parametrize("keeps_old", [True, False], ids=["all versions", "the newest"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "each"])
@settings(max_examples=150, deadline=None)
@given(steps=STEPS, seed=st.integers(0, 1 << 32))
def test_what_was_acknowledged_survives_and_what_was_deleted_does_not_come_back(
    tmp_path_factory, steps, seed, whole, keeps_old
):
    folder = tmp_path_factory.mktemp("d")
    disk = Disk(folder / "data", whole=whole)
    two = Two(folder / "data", disk, keeps_old=keeps_old)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_files, "JOURNAL_BYTES", 2_000)
        for step, who, site, md5 in steps:
            getattr(two, step)(who, site, md5)
        two.check(opened(folder / "data", keeps_old=keeps_old))
        disk.lose_power(folder / "found", random.Random(seed))
        disk.close()
        for contents in two.contents:
            die(contents)
        two.check(opened(folder / "found", keeps_old=keeps_old))
        # What was left is settled: nothing has to be written again.
        assert list((folder / "found" / ".journal").iterdir()) == []


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "each"])
def test_of_versions_of_one_moment_the_last_is_kept(tmp_path: Path, whole: bool) -> None:
    contents = opened(tmp_path / "data", System(syncs_whole=lambda _: whole))
    for number in range(40):
        put(contents, body=b"%d" % number * 10_000, meta=b"m" if number % 2 else None)
    contents.sync()
    (version,) = contents.raw(SITE, ONE, "all")
    assert version.body == b"39" * 10_000
    assert version.meta == b"m"
    contents.close()


def test_one_sync_of_the_journal_does_for_all_versions(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data", whole=True)
    contents = opened(tmp_path / "data", disk.system())
    for turn in range(3):
        for number in range(50):
            put(contents, md5=f"{number:032x}", stamp=NOW + turn)
        disk.syncs.clear()
        contents.sync()
        # The name of the journal is durable first.
        assert disk.syncs == (["fdatasync"] if turn else ["fsync", "fdatasync"])
    contents.close()
    assert disk.syncs == ["fdatasync", "syncfs", "fsync"]
    assert list((tmp_path / "data" / ".journal").iterdir()) == []


def test_of_versions_in_a_journal_the_newest_is_kept_if_old_ones_are_not(tmp_path: Path) -> None:
    contents = opened(tmp_path / "data")
    for stamp in (NOW, NOW + 2, NOW + 1):
        put(contents, stamp=stamp)
    contents.sync()
    (journal,) = (tmp_path / "data" / ".journal").iterdir()
    (tmp_path / "found" / ".journal").mkdir(parents=True)
    (tmp_path / "found" / ".journal" / "left").write_bytes(journal.read_bytes())
    found = opened(tmp_path / "found", keeps_old=False)
    assert [version.stamp for version in found.raw(SITE, ONE, "all")] == [NOW + 2]


def test_a_journal_does_not_grow_for_ever(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(raw_files, "JOURNAL_BYTES", 10_000)
    disk = Disk(tmp_path / "data", whole=True)
    contents = opened(tmp_path / "data", disk.system())
    sizes = []
    for number in range(50):
        put(contents, md5=f"{number:032x}", body=b"x" * 1_000)
        contents.sync()
        (journal,) = (tmp_path / "data" / ".journal").iterdir()
        sizes.append(journal.stat().st_size)
    assert max(sizes) <= 10_000
    assert 3 <= sizes.count(0) == disk.syncs.count("syncfs") <= 6


def test_a_sync_that_tells_of_lost_bytes_has_them_written_again(tmp_path: Path, monkeypatch):
    """The kernel forgets bytes that it could not write, and says so once."""
    monkeypatch.setattr(raw_files, "JOURNAL_BYTES", 10_000)
    files = []

    def syncfs(_: int) -> None:
        files[:] = sorted((tmp_path / "data").rglob("*.bin"))
        if not refused:
            refused.append(1)
            for path in files:
                path.write_bytes(bytes(path.stat().st_size))
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    refused: list[int] = []
    system = System(syncfs=syncfs, syncs_whole=lambda _: True)
    contents = opened(tmp_path / "data", system)
    number = 0
    while not refused:
        put(contents, md5=f"{number:032x}", body=b"x" * 1_000)
        with suppress(StoreError):
            contents.sync()
            number += 1
    for each in range(number):
        put(contents, md5=f"{each + 100:032x}", body=b"x" * 1_000)
    contents.sync()
    for each in range(number):
        assert [one.body for one in contents.raw(SITE, f"{each:032x}")] == [b"x" * 1_000]


@pytest.mark.parametrize("keeps", [0, 1, 3])
@pytest.mark.parametrize("damage", [b"", b"\0" * 5, b"\xff" * 100, b"\0\0\0\4\0\0\0\0abcd"])
def test_a_journal_counts_as_far_as_it_is_whole(tmp_path: Path, keeps: int, damage: bytes) -> None:
    contents = opened(tmp_path / "data")
    records = []
    for number in range(3):
        put(contents, md5=MD5S[number], body=b"%d" % number * 100)
        contents.sync()
        (path,) = (tmp_path / "data" / ".journal").iterdir()
        records.append(path.read_bytes()[sum(map(len, records)) :])
    whole = b"".join(records[:keeps])
    torn = whole + b"".join(records[keeps : keeps + 1])[:-1]
    for name, journal in (("damaged", whole + damage), ("torn", torn)):
        folder = tmp_path / name
        (folder / ".journal").mkdir(parents=True)
        (folder / ".journal" / "x").write_bytes(journal)
        found = opened(folder)
        bodies = [version.body for md5 in MD5S for version in found.raw(SITE, md5)]
        assert bodies == [b"%d" % number * 100 for number in range(keeps)]
        assert list((folder / ".journal").iterdir()) == []


@pytest.mark.parametrize(
    "version",
    [
        ["..", MD5S[0], f"{MD5S[0]}_{1:020}", [(".bin", b"x")]],
        ["a/b", MD5S[0], f"{MD5S[0]}_{1:020}", [(".bin", b"x")]],
        [SITE, "../x", f"../x_{1:020}", [(".bin", b"x")]],
        [SITE, MD5S[0], f"{MD5S[0]}_1/../../x", [(".bin", b"x")]],
        [SITE, MD5S[0], f"{MD5S[0]}_{1:020}", [("/../x", b"x")]],
        [SITE, 5],
        "no version",
    ],
)
def test_a_journal_leads_to_no_other_place(tmp_path: Path, version: object) -> None:
    (tmp_path / "data" / ".journal").mkdir(parents=True)
    (tmp_path / "data" / ".journal" / "x").write_bytes(raw_journal._record(version))
    with pytest.raises(StoreError, match=r"l/x is no journal .*; move it away"):
        opened(tmp_path / "data")
    assert {path.name for path in tmp_path.iterdir()} <= {"data", "db"}
    assert [path for path in (tmp_path / "data").rglob("*") if path.suffix == ".bin"] == []


def test_a_whole_file_system_can_be_synced_or_says_that_it_cannot(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if file_system.syncs_whole(folder):
            (tmp_path / "x").write_bytes(b"x")
            file_system.syncfs(folder)
    finally:
        os.close(folder)
    with pytest.raises(OSError) as refused:
        file_system.syncfs(folder)
    assert refused.value.errno == errno.EBADF


@pytest.mark.parametrize("place", ["/proc", "/dev/shm"])
def test_a_file_system_without_a_disk_is_not_trusted(place: str) -> None:
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert not file_system.syncs_whole(folder)
    finally:
        os.close(folder)
