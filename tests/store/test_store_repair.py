"""Files that were not closed: torn ends are cut, nothing else is."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_samples import fetch_of, warcio_problems

from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.errors import StoreError
from gossamer.messages import Pointer
from gossamer.store.names import archive_files, unfinished_files
from gossamer.store.reading import read_document
from gossamer.store.repair import Repaired, repair
from gossamer.store.verify import verify_folder
from gossamer.store.warc import WarcStore


def archive(folder, count=40):
    """Make a file as a killed writer leaves it; return its pointers."""
    store = WarcStore(folder, "w1", StoreSettings(), ManualClock())
    stored = [
        store.append(fetch_of(number, raw=random.Random(number).randbytes(2_000)))
        for number in range(count)
    ]
    store.close()
    (path,) = archive_files(folder)
    path.rename(folder / (path.name + ".open"))
    return [one.pointer for one in stored]


def end(pointer):
    return pointer.offset + pointer.length


@pytest.fixture
def torn(tmp_path):
    folder = tmp_path / "a"
    pointers = archive(folder)
    (path,) = archive_files(folder)
    return folder, path, pointers


def test_a_file_cut_anywhere_in_its_last_64_kib_is_repaired(torn, tmp_path):
    """Lengths around record borders and a sample of others: what was committed is always there."""
    _, path, pointers = torn
    data = path.read_bytes()
    borders = [border for pointer in pointers for border in (pointer.offset, end(pointer))]
    near = {border + step for border in borders for step in (-8, -1, 0, 1, 9, 10, 11)}
    lowest = max(pointers[5].offset, len(data) - 65_536)
    cuts = {cut for cut in near if lowest <= cut <= len(data)}
    cuts |= set(random.Random(7).sample(range(lowest, len(data)), 60)) | {len(data)}
    for cut in sorted(cuts):
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        (scratch / path.name).write_bytes(data[:cut])
        whole = [pointer for pointer in pointers if end(pointer) <= cut]
        committed = whole[: len(whole) - 3]
        (report,) = repair(scratch, {pointers[0].file: end(committed[-1])})
        assert 0 <= report.cut_bytes < 2_600
        assert report.missing_bytes == report.damaged_bytes == 0
        assert report.records_beyond >= 9 - 1
        (repaired,) = archive_files(scratch)
        assert repaired.name == pointers[0].file
        assert repaired.stat().st_size == cut - report.cut_bytes
        assert warcio_problems(repaired) == 0
        assert verify_folder(scratch).sound
        for pointer in (committed[-1], whole[-1]):
            assert read_document(scratch, pointer).raw
        shutil.rmtree(scratch)


def test_only_what_the_catalog_does_not_know_is_read(torn):
    """Damage before the hint is not even seen: a large file is repaired as fast as a small one."""
    folder, path, pointers = torn
    with path.open("r+b") as file:
        file.seek(pointers[3].offset + 100)
        file.write(b"damage")
        file.truncate(end(pointers[-1]) - 5)
    (report,) = repair(folder, {pointers[0].file: end(pointers[-2])})
    assert report == Repaired(
        pointers[0].file,
        cut_bytes=pointers[-1].length - 5,
        records_beyond=2,
    )
    assert verify_folder(folder).fault_count == 1


def test_damage_beyond_the_hint_was_never_acknowledged_and_goes(torn):
    folder, path, pointers = torn
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(pointers[30].offset + 100)
        file.write(bytes(500))
    (report,) = repair(folder, {pointers[0].file: end(pointers[20])})
    assert report.cut_bytes == size - pointers[30].offset
    assert verify_folder(folder).sound


def test_without_a_catalog_no_complete_record_is_thrown_away(torn):
    folder, path, pointers = torn
    with path.open("r+b") as file:
        file.seek(pointers[3].offset + 100)
        file.write(b"damage")
        file.truncate(end(pointers[-1]) - 5)
    (report,) = repair(folder, None)
    assert report.cut_bytes == pointers[-1].length - 5
    assert report.damaged_bytes == pointers[3].length
    assert report.records_beyond == 1 + 3 * 39 - 1
    for pointer in (*pointers[:3], *pointers[4:-1]):
        assert read_document(folder, pointer).raw


def test_bytes_the_catalog_knows_and_the_file_lacks_are_reported(torn):
    folder, path, pointers = torn
    os.truncate(path, end(pointers[10]) + 7)
    (report,) = repair(folder, {pointers[0].file: end(pointers[20])})
    assert report.missing_bytes == end(pointers[20]) - end(pointers[10]) - 7
    assert report.cut_bytes == 7
    assert read_document(folder, pointers[10]).raw


@pytest.mark.parametrize("size", [0, 5, 300])
def test_a_file_without_a_document_is_removed(torn, size):
    folder, path, pointers = torn
    os.truncate(path, size if size < 300 else pointers[0].offset + 300)
    (report,) = repair(folder, {})
    assert report.removed
    assert report.cut_bytes == (size if size < 300 else pointers[0].offset + 300)
    assert archive_files(folder) == []


def test_a_sound_file_only_gets_its_name(torn):
    folder, path, pointers = torn
    size = path.stat().st_size
    (report,) = repair(folder, {pointers[0].file: size})
    assert report == Repaired(pointers[0].file)
    assert repair(folder, {}) == []
    assert [path.name for path in archive_files(folder)] == [pointers[0].file]


def test_the_file_of_a_living_writer_is_left_alone(tmp_path):
    store = WarcStore(tmp_path, "w1", StoreSettings(), ManualClock())
    pointer = store.append(fetch_of(1)).pointer
    store.sync()
    assert repair(tmp_path, {}) == [Repaired(pointer.file, busy=True)]
    store.close()
    assert read_document(tmp_path, pointer).raw == fetch_of(1).raw


def test_repair_can_be_limited_to_one_writer(tmp_path):
    for writer in ("w1", "w2"):
        store = WarcStore(tmp_path, writer, StoreSettings(), ManualClock())
        name = store.append(fetch_of(1)).pointer.file
        store.close()
        (tmp_path / name).rename(tmp_path / (name + ".open"))
    assert [one.file[24:26] for one in repair(tmp_path, {}, writer="w2")] == ["w2"]
    assert [name[24:26] for name in unfinished_files(tmp_path)] == ["w1"]


def test_a_finished_file_is_never_overwritten(torn):
    folder, _, pointers = torn
    (folder / pointers[0].file).write_bytes(b"precious")
    with pytest.raises(StoreError, match="exists; move one of them away"):
        repair(folder, {})
    assert (folder / pointers[0].file).read_bytes() == b"precious"


def test_a_folder_that_is_not_there_needs_no_repair(tmp_path):
    assert repair(tmp_path / "missing", {}) == []


WRITER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from store_samples import fetch_of
from gossamer.clock import SystemClock
from gossamer.config.store import StoreSettings
from gossamer.store.warc import WarcStore

settings = StoreSettings(max_file_bytes=200_000, buffer_bytes=4_096)
store = WarcStore(Path(sys.argv[1]), "w1", settings, SystemClock())
for number in range(1_000_000):
    pointer = store.append(fetch_of(number)).pointer
    if number % 10 == 9:
        store.sync()
        print(number, pointer.file, pointer.offset, pointer.length, flush=True)
"""


def test_killed_writers_lose_nothing_they_acknowledged(tmp_path):
    """A writer is killed at random moments, and each time the next start repairs."""
    script = WRITER.format(path=[str(Path(__file__).parent)])
    moments = random.Random(11)
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        lines = [
            line.split() for line in process.stdout.read().splitlines() if line.count(" ") == 3
        ]
        process.stdout.close()
        process.wait()
        known: dict[str, int] = {}
        for _, file, offset, length in lines:
            known[file] = int(offset) + int(length)
        assert not any(report.missing_bytes for report in repair(tmp_path, known))
        assert unfinished_files(tmp_path) == []
        for number, file, offset, length in lines[-50:]:
            pointer = Pointer(file, int(offset), int(length))
            assert read_document(tmp_path, pointer).raw == fetch_of(int(number)).raw
        assert verify_folder(tmp_path).sound
    assert warcio_problems(*archive_files(tmp_path)) == 0
