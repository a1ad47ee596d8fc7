"""Verification finds every kind of damage, names the document and reads on."""

import os
import random
from contextlib import closing
from pathlib import Path

import pytest
from store_samples import fetch_of

from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.errors import StoreError
from gossamer.store.members import members, record_of
from gossamer.store.names import archive_files
from gossamer.store.records import _member
from gossamer.store.verify import verify_folder
from gossamer.store.warc import WarcStore


@pytest.fixture
def archive(tmp_path):
    store = WarcStore(tmp_path, "w1", StoreSettings(), ManualClock())
    pointers = [store.append(fetch_of(number)).pointer for number in range(6)]
    store.close()
    (path,) = archive_files(tmp_path)
    return path, pointers


def test_a_sound_archive_is_counted(archive):
    path, _ = archive
    report = verify_folder(path.parent)
    assert report.sound
    assert report.files == 1
    assert report.records == {"warcinfo": 1, "response": 6, "request": 6, "metadata": 6}


def inflated(path):
    with path.open("rb") as file:
        return [member.data for member in members(file)]


def test_every_flipped_bit_is_found(archive):
    """Whichever bit changes, it is reported; only bits that fill up a last byte mean nothing."""
    path, _ = archive
    data, contents, meaningless = path.read_bytes(), inflated(path), 0
    for bit in random.Random(5).sample(range(len(data) * 8), 1_000):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        report = verify_folder(path.parent)
        assert report.records.total() >= 17, bit
        if report.sound:
            meaningless += 1
            assert inflated(path) == contents, bit
    assert meaningless < 15


def test_damage_is_reported_with_the_document_it_hit(archive):
    path, pointers = archive
    with path.open("r+b") as file:
        file.seek(pointers[2].offset + pointers[2].length - 12)
        file.write(b"\x00\x00\x00")
    (fault,) = verify_folder(path.parent).faults
    assert (fault.offset, fault.length) == (pointers[2].offset, pointers[2].length)
    assert fault.url == "https://docs.example.org/page/2"
    assert "gzip" in fault.problem


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"<title>2", b"<title>x", "payload of https://docs.example.org/page/2 does not match"),
        (b"GET /page/2 ", b"GET /page/x ", "block does not match"),
        (b"Content-Length: 48\r\n\r\nGET", b"Content-Length: 50\r\n\r\nGET", "announces '50'"),
        (b"WARC/1.1\r\nWARC-Type: request", b"WORC/1.1\r\nWARC-Type: request", "not a WARC record"),
    ],
)
def test_a_record_that_was_rewritten_is_found_out(archive, old, new, problem):
    """The checksum of the gzip member is right; only digests and framing tell."""
    path, _ = archive
    parts = []
    with path.open("rb") as file:
        for member in members(file):
            target = b"page/2\r\n" in member.data
            parts.append(_member(member.data.replace(old, new) if target else member.data, 1))
    path.write_bytes(b"".join(parts))
    (fault,) = verify_folder(path.parent).faults
    assert problem in fault.problem


def test_a_torn_end_is_normal_only_in_an_unfinished_file(archive):
    path, _ = archive
    data = path.read_bytes()
    path.write_bytes(data[:-9])
    assert verify_folder(path.parent).fault_count == 1
    path.rename(path.with_name(path.name + ".open"))
    report = verify_folder(path.parent)
    assert report.sound
    assert report.torn_bytes > 0


def test_what_a_catalog_points_to_must_be_there(archive):
    """A file that is gone, or was cut between two records, has no damaged record to be found by."""
    path, pointers = archive
    end = pointers[-1].offset + pointers[-1].length
    gone = path.name.replace("00001", "00002")
    assert verify_folder(path.parent, {path.name: end}).sound
    with path.open("r+b") as file:
        file.truncate(pointers[-1].offset)
    report = verify_folder(path.parent, {path.name: end, gone: 77})
    assert [(fault.file, fault.offset, fault.length) for fault in report.faults] == [
        (path.name, pointers[-1].offset, pointers[-1].length),
        (gone, 0, 77),
    ]
    assert "is missing" in report.faults[1].problem


def test_garbage_between_records_is_passed_over(archive):
    path, pointers = archive
    data = path.read_bytes()
    cut = pointers[3].offset
    junk = bytes(70_000) + b"\x1f\x8b\x08" * 50 + random.Random(1).randbytes(70_000)
    path.write_bytes(data[:cut] + junk + data[cut:])
    report = verify_folder(path.parent)
    assert report.records["response"] == 6
    assert [(fault.offset, fault.length) for fault in report.faults] == [(cut, len(junk))]


def test_a_file_that_is_no_archive_is_one_fault(archive):
    path, _ = archive
    path.write_bytes(b"hello" * 10)
    (fault,) = verify_folder(path.parent).faults
    assert (fault.offset, fault.length) == (0, 50)


def test_the_list_of_faults_is_bounded(archive):
    path, pointers = archive
    data = path.read_bytes()
    record = bytearray(data[pointers[0].offset : pointers[0].offset + pointers[0].length])
    record[-6] ^= 1
    path.write_bytes(bytes(record) * 1_200)
    report = verify_folder(path.parent)
    assert report.fault_count == 1_200
    assert len(report.faults) == 1_000


@pytest.mark.parametrize("data", [b"", b"WARC/1.1\r\n", b"HTTP/1.1 200 OK\r\n\r\n\r\n\r\n"])
def test_what_is_no_record_is_refused(data):
    with pytest.raises(StoreError, match="not a WARC record"):
        record_of(data)


def test_every_flipped_bit_of_a_document_alone_is_found(tmp_path):
    with closing(WarcStore(tmp_path, "w1", StoreSettings(), ManualClock())) as store:
        store.append(fetch_of(1, head=b"", raw=b"<p>" + b"web" * 99))
    report = verify_folder(tmp_path)
    assert report.sound
    assert report.records["resource"] == 1
    (path,) = tmp_path.glob("*.warc.gz")
    whole = path.read_bytes()
    for position in range(300, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert not verify_folder(tmp_path).sound


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_reported_and_keeps_nobody_waiting(archive, make):
    path, _ = archive
    odd = path.with_name("gossamer-20270115080000-w2-00001.warc.gz")
    make(odd)
    report = verify_folder(path.parent)
    assert [fault.file for fault in report.faults] == [odd.name]
    assert report.records.total() == 19
