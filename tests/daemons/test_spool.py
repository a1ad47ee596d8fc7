"""The spool: what was made durable comes back, in order, whatever the disk and the process do."""

import errno
import os
import random
import shutil
from pathlib import Path

import pytest

from disk_faults import Faults
from gossamer.daemons.spool import HEADER, MAGIC, Place, Spool
from gossamer.errors import DiskFullError, StorageError, StoreError, WorkspaceError
from gossamer.store.disk import System

LIMIT = 1 << 20


def everything(spool: Spool) -> list[bytes]:
    """Return all payloads after the mark."""
    found, place = [], spool.mark
    while (record := spool.read(place)) is not None:
        payload, place = record
        found.append(payload)
    return found


def deliver(spool: Spool, count: int) -> None:
    """Deliver the oldest records."""
    place = spool.mark
    for _ in range(count):
        record = spool.read(place)
        assert record is not None
        place = record[1]
    spool.deliver(place)


def keep(spool: Spool, *payloads: bytes) -> None:
    for payload in payloads:
        spool.append(payload)
    spool.sync()


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.spool"))


def abandon(spool: Spool) -> None:
    """Let go of a spool as a process that is killed does: nothing more is written."""
    for descriptor in (spool._writer, spool._reader and spool._reader[1], spool._lock):
        if descriptor is not None:
            os.close(descriptor)
    spool._writer = spool._reader = None
    spool._lock = -1


def test_what_is_appended_is_there_after_the_sync_and_not_before(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    assert spool.is_empty
    spool.append(b"one")
    spool.append(b"")
    assert everything(spool) == []
    assert not spool.is_empty
    spool.sync()
    assert everything(spool) == [b"one", b""]
    deliver(spool, 2)
    assert spool.is_empty
    spool.close()


def test_an_earlier_process_left_it_and_the_next_one_finds_it(tmp_path):
    payloads = [b"%d " % number * (number * 37 % 5_000) for number in range(200)]
    spool = Spool(tmp_path, LIMIT)
    for start in range(0, 200, 7):
        keep(spool, *payloads[start : start + 7])
    deliver(spool, 33)
    spool.close()
    spool = Spool(tmp_path, LIMIT)
    assert everything(spool) == payloads[33:]
    keep(spool, b"new")
    assert everything(spool) == [*payloads[33:], b"new"]
    deliver(spool, 168)
    assert spool.is_empty
    spool.close()
    spool = Spool(tmp_path, LIMIT)
    assert everything(spool) == []
    spool.close()


def test_a_killed_process_loses_only_what_was_not_synced(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    keep(spool, b"a", b"b", b"c")
    deliver(spool, 1)
    spool.save_mark()
    deliver(spool, 1)
    spool.append(b"not synced")
    abandon(spool)
    spool = Spool(tmp_path, LIMIT)
    assert everything(spool) == [b"b", b"c"], "the mark that was not saved costs one sent twice"
    spool.close()


@pytest.mark.parametrize("position", [b"", b"garbage", b"7 8 9\n", b"1 12 12345\n"])
def test_without_a_sound_mark_everything_that_is_there_comes_again(tmp_path, position):
    spool = Spool(tmp_path, LIMIT)
    keep(spool, b"a", b"b", b"c")
    deliver(spool, 2)
    spool.close()
    (tmp_path / "position").write_bytes(position)
    spool = Spool(tmp_path, LIMIT)
    assert everything(spool) == [b"a", b"b", b"c"]
    spool.close()


def test_an_end_torn_at_any_byte_is_cut_off(tmp_path):
    source = tmp_path / "source"
    spool = Spool(source, LIMIT)
    keep(spool, b"first", b"second one")
    keep(spool, b"the third")
    spool.close()
    (segment,) = segments(source)
    whole = segment.read_bytes()
    ends = [len(MAGIC)]
    for payload in (b"first", b"second one", b"the third"):
        ends.append(ends[-1] + HEADER.size + len(payload))
    for size in range(len(whole) + 1):
        folder = tmp_path / str(size)
        shutil.copytree(source, folder)
        os.truncate(folder / segment.name, size)
        said: list[str] = []
        spool = Spool(folder, LIMIT, say=said.append)
        count = sum(end <= size for end in ends[1:])
        assert everything(spool) == [b"first", b"second one", b"the third"][:count]
        assert bool(said) == (size not in ends and size > len(MAGIC))
        keep(spool, b"after")
        assert everything(spool)[count:] == [b"after"]
        spool.close()
        spool = Spool(folder, LIMIT, say=said.append)
        assert everything(spool)[count:] == [b"after"]
        spool.close()


def test_a_changed_bit_is_noticed_and_costs_no_other_segment(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    for number in range(3):
        keep(spool, *[b"%d" % number * 10_000] * 5)
        spool._give_up_segment()
    spool.close()
    first = segments(tmp_path)[0]
    data = bytearray(first.read_bytes())
    data[len(MAGIC) + 2 * (HEADER.size + 10_000) + 500] ^= 1
    first.write_bytes(data)
    said: list[str] = []
    spool = Spool(tmp_path, LIMIT, say=said.append)
    assert everything(spool) == [b"0" * 10_000] * 2 + [b"1" * 10_000] * 5 + [b"2" * 10_000] * 5
    assert "damaged" in said[0]
    deliver(spool, 12)
    assert spool.is_empty
    spool.close()


def test_what_was_delivered_is_deleted_and_what_waits_is_counted(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    payload = bytes(10_000)
    for _ in range(100):
        keep(spool, payload)
    assert spool.used_bytes == pytest.approx(100 * (10_000 + HEADER.size), rel=0.001)
    before = len(segments(tmp_path))
    assert before >= 10
    for left in range(99, -1, -1):
        deliver(spool, 1)
        size = sum(path.stat().st_size for path in segments(tmp_path))
        assert size <= left * 10_020 + LIMIT // 16 + 20_000
    assert spool.is_empty
    for _ in range(50):
        keep(spool, payload)
        deliver(spool, 1)
    assert len(segments(tmp_path)) <= 2
    assert sum(path.stat().st_size for path in segments(tmp_path)) < 100_000
    spool.close()


def test_what_a_typical_record_takes_follows_those_of_late(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    for size in (1_000, 500_000):
        for _ in range(300):
            spool.append(bytes(size))
        assert spool.typical_bytes == pytest.approx(size, rel=0.05)
    spool.close()


def test_only_one_process_uses_a_spool(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    with pytest.raises(WorkspaceError, match=f"in use by process {os.getpid()}"):
        Spool(tmp_path, LIMIT)
    spool.close()
    spool.close()
    Spool(tmp_path, LIMIT).close()


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorkspaceError, match="--spool"):
        Spool(tmp_path / "file", LIMIT)
    (tmp_path / "00000007.spool").write_bytes(b"GSPOOL9\nfrom the future")
    with pytest.raises(WorkspaceError, match="newer version"):
        Spool(tmp_path, LIMIT)
    assert (tmp_path / "00000007.spool").exists()


def synced(spool: Spool, refusal: type[StorageError]) -> bool:
    try:
        spool.sync()
    except refusal:
        return False
    return True


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
def test_a_refusal_at_any_call_loses_nothing_and_doubles_nothing(tmp_path, call, error, short):
    """The n-th call of a kind fails, for every n that happens; the spool is read back each time."""
    payloads = [bytes([number]) * 9_000 for number in range(24)]
    for number in range(1, 100):
        folder = tmp_path / str(number)
        faults = Faults(call, {number}, error, short=short)
        spool = Spool(folder, 1 << 16, system=faults.system())
        refusals = 0
        for start in range(0, 24, 3):
            for payload in payloads[start : start + 3]:
                spool.append(payload)
            while not synced(spool, DiskFullError if error == errno.ENOSPC else StoreError):
                refusals += 1
                # Records that were written as a whole before a refusal are kept.
                assert everything(spool) == payloads[: spool.synced]
                assert start <= spool.synced <= start + (call == "write" and short)
        assert everything(spool) == payloads
        abandon(spool)
        again = Spool(folder, 1 << 16)
        assert everything(again) == payloads
        again.close()
        assert refusals == (faults.count >= number)
        if not refusals:
            break
    assert number > 3


def test_a_disk_that_stays_full_is_tried_again_without_litter(tmp_path):
    faults = Faults("write", set(range(3, 50)), errno.ENOSPC, short=True)
    spool = Spool(tmp_path, LIMIT, system=faults.system())
    keep(spool, b"before")
    keep(spool, b"also before")
    spool.append(b"waits")
    for _ in range(47):
        with pytest.raises(DiskFullError, match=str(tmp_path)):
            spool.sync()
        assert spool.gathered_bytes == HEADER.size + 5
    spool.sync()
    assert everything(spool) == [b"before", b"also before", b"waits"]
    assert len(segments(tmp_path)) == 2
    spool.close()


class SmallDisk:
    """A disk that holds so many bytes of segments, and takes what fits of a write."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._size = folder, size

    def system(self) -> System:
        return System(write=self._write)

    def _write(self, descriptor: int, data: bytes | memoryview) -> int:
        free = self._size - sum(path.stat().st_size for path in segments(self._folder))
        if free <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(descriptor, data[:free])


def test_a_disk_that_only_delivered_results_fill_is_written_again(tmp_path):
    """They go when they are in the way, though nothing more can be delivered before that."""
    spool = Spool(tmp_path, 64 << 20, system=SmallDisk(tmp_path, 100_000).system())
    for _ in range(9):
        keep(spool, b"x" * 10_000)
    deliver(spool, 9)
    spool.append(b"y" * 10_000)
    spool.append(b"z" * 10_000)
    assert synced(spool, DiskFullError) or synced(spool, DiskFullError)
    assert everything(spool) == [b"y" * 10_000, b"z" * 10_000]
    assert spool.used_bytes == len(MAGIC) + 2 * (HEADER.size + 10_000)
    deliver(spool, 2)
    assert spool.is_empty
    spool.close()


def test_more_than_the_disk_can_hold_goes_through_it_in_parts(tmp_path):
    """What fits is durable at once; delivered, it makes room for the rest."""
    spool = Spool(tmp_path, 64 << 20, system=SmallDisk(tmp_path, 100_000).system())
    payloads = [bytes([number]) * 9_000 for number in range(40)]
    for payload in payloads:
        spool.append(payload)
    assert (spool.appended, spool.synced) == (40, 0)
    seen: list[bytes] = []
    for _ in range(3):
        assert not synced(spool, DiskFullError)
        there = everything(spool)
        assert there == payloads[len(seen) : spool.synced]
        assert spool.gathered_bytes == (40 - spool.synced) * (HEADER.size + 9_000)
        copy = shutil.copytree(tmp_path, tmp_path.parent / f"copy-{len(seen)}")
        again = Spool(copy, 64 << 20)
        assert everything(again) == there, "and after a crash it is there, too"
        again.close()
        deliver(spool, len(there))
        seen += there
    assert synced(spool, DiskFullError) or synced(spool, DiskFullError)
    assert seen + everything(spool) == payloads
    spool.close()


def test_a_mark_that_cannot_be_written_is_no_failure(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    keep(spool, b"a", b"b")
    (tmp_path / "position.new").mkdir()
    deliver(spool, 1)
    spool.save_mark()
    assert not spool.is_mark_saved
    assert everything(spool) == [b"b"]
    spool.close()


def test_a_disk_that_cannot_be_read_is_told(tmp_path):
    spool = Spool(tmp_path, LIMIT)
    keep(spool, b"a" * 100)
    segments(tmp_path)[0].unlink()
    with pytest.raises(StoreError, match="cannot read"):
        spool.read(spool.mark)
    spool.close()


@pytest.mark.parametrize("seed", range(12))
def test_against_a_model_with_kills_torn_ends_and_refusals(tmp_path, seed):
    """A random history: what is there is always what the model says, or began earlier."""
    chance = random.Random(seed)
    durable: list[bytes] = []
    """All that was ever made durable."""
    delivered = saved = 0
    count = 0
    faults = Faults("fdatasync", set(), errno.EIO)
    spool = Spool(tmp_path, 1 << 16, system=faults.system())
    pending: list[bytes] = []
    for _ in range(400):
        action = chance.random()
        if action < 0.5:
            count += 1
            pending.append(b"%d " % count + chance.randbytes(chance.randint(0, 4_000)))
            spool.append(pending[-1])
        elif action < 0.75:
            if chance.random() < 0.2:
                faults.numbers = {faults.count + 1}
            try:
                spool.sync()
                durable += pending
                pending = []
            except StorageError:
                pass
        elif action < 0.93:
            step = chance.randint(0, len(durable) - delivered)
            deliver(spool, step)
            delivered += step
            if chance.random() < 0.5:
                spool.save_mark()
                saved = delivered
        else:
            if chance.random() < 0.5:
                spool.close()
                saved = delivered
            else:
                abandon(spool)
                if chance.random() < 0.5 and segments(tmp_path):
                    with segments(tmp_path)[-1].open("ab") as file:
                        file.write(chance.randbytes(chance.randint(1, 300)))
            pending = []
            spool = Spool(tmp_path, 1 << 16, system=faults.system())
            there = everything(spool)
            delivered = len(durable) - len(there)
            assert there == durable[delivered:]
            # Segments that are gone moved the mark, too, so it may lie further on than was saved.
            assert saved <= delivered
        assert everything(spool) == durable[delivered:]
    spool.close()


def test_places_are_in_the_order_of_the_records(tmp_path):
    spool = Spool(tmp_path, 1 << 16)
    keep(spool, *[bytes(20_000)] * 10)
    keep(spool, *[bytes(20_000)] * 10)
    places, place = [], spool.mark
    while (record := spool.read(place)) is not None:
        place = record[1]
        places.append(place)
    assert places == sorted(places)
    assert len({each.segment for each in places}) == 2
    spool.deliver(places[4])
    spool.deliver(places[2])
    assert spool.mark == places[4]
    spool.deliver(Place(places[-1].segment, places[-1].offset))
    assert spool.is_empty
    spool.close()
