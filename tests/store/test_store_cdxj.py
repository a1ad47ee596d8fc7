"""The index that replay tools read."""

import json
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import BASE, fetch_of

from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.messages import Pointer
from gossamer.store.cdxj import Row, cdxj_lines, index_file, index_folder
from gossamer.store.heads import media_type_of
from gossamer.store.members import GZIP_HEADER
from gossamer.store.names import archive_files
from gossamer.store.store import Known
from gossamer.store.surt import surt_key
from gossamer.store.verify import Report
from gossamer.store.warc import WarcStore

POINTER = Pointer("gossamer-20270115080000-w1-00001.warc.gz", 400, 300)


def test_a_line_has_key_time_and_fields():
    row = Row("https://www.example.org/B?b=2&a=1", BASE, "text/html", 200, "sha1:X", POINTER)
    (line,) = cdxj_lines([row])
    key, stamp, fields = line.split(" ", 2)
    assert (key, stamp) == ("org,example)/b?a=1&b=2", "20270115080000")
    assert line.endswith("}\n")
    assert json.loads(fields) == {
        "url": "https://www.example.org/B?b=2&a=1",
        "mime": "text/html",
        "status": "200",
        "digest": "sha1:X",
        "length": "300",
        "offset": "400",
        "filename": POINTER.file,
    }


def test_what_is_not_known_has_a_sign_for_it():
    (line,) = cdxj_lines([Row("http://a/", BASE, "", 304, "", POINTER)])
    assert '"mime":"unk"' in line
    assert '"digest":"-"' in line
    (line,) = cdxj_lines([Row("http://a/", BASE, "text/html", 200, "d", POINTER, revisit=True)])
    assert '"mime":"warc/revisit"' in line


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 10))
def test_lines_are_sorted_however_many_there_are(numbers, batch_lines):
    """More lines than fit into memory are sorted on disk, with the same result."""
    rows = [Row(f"http://h{number}.org/", BASE, "", 200, "", POINTER) for number in numbers]
    lines = list(cdxj_lines(rows, batch_lines=batch_lines))
    assert lines == sorted(lines)
    assert lines == list(cdxj_lines(rows))
    assert len(lines) == len(numbers)


def test_an_index_left_half_read_leaves_no_file_open():
    rows = [Row(f"http://h{number}.org/", BASE, "", 200, "", POINTER) for number in range(9)]
    lines = cdxj_lines(rows, batch_lines=2)
    next(lines)
    lines.close()


def test_rows_of_a_crawl_and_rows_of_its_files_agree(tmp_path):
    store = WarcStore(tmp_path, "w1", StoreSettings(max_file_bytes=3_000), ManualClock())
    rows, known = [], None
    for number in range(1, 30):
        changes = {}
        if number % 5 == 0:
            changes = {"raw": b"", "status": 304, "head": b"HTTP/1.1 304 Not Modified\r\n\r\n"}
        elif number % 3 == 0:
            changes = {"raw": b"always the same"}
        elif number % 7 == 0:
            changes = {"status": 404, "head": b"HTTP/2 404\r\ncontent-type: Text/Plain\r\n\r\n"}
        fetch = fetch_of(number, **changes)
        stored = store.append(fetch, known=known)
        rows.append(
            Row(
                fetch.visit.url,
                fetch.fetched_at,
                media_type_of(fetch.head),
                fetch.status,
                stored.payload_digest,
                stored.pointer,
                stored.revisit,
            )
        )
        if number == 3:
            known = Known(fetch.visit.url, fetch.fetched_at, stored.payload_digest, stored.pointer)
    store.close()
    report = Report()
    assert list(cdxj_lines(index_folder(tmp_path, report))) == list(cdxj_lines(rows))
    assert report.sound
    assert sum(row.revisit for row in rows) > 8


def test_an_index_of_a_damaged_file_has_the_rest(tmp_path):
    store = WarcStore(tmp_path, "w1", StoreSettings(), ManualClock())
    pointers = [store.append(fetch_of(number)).pointer for number in range(5)]
    store.close()
    (path,) = archive_files(tmp_path)
    with path.open("r+b") as file:
        file.seek(pointers[2].offset + 50)
        file.write(bytes(20))
    report = Report()
    assert [row.pointer for row in index_file(path, report)] == [*pointers[:2], *pointers[3:]]
    assert [fault.offset for fault in report.faults] == [pointers[2].offset]


def test_a_torn_end_of_a_file_that_is_being_written_is_no_damage(tmp_path):
    with closing(WarcStore(tmp_path, "w1", StoreSettings(), ManualClock())) as store:
        pointers = [store.append(fetch_of(number)).pointer for number in range(2)]
        store.sync()
        (path,) = archive_files(tmp_path)
        with path.open("ab") as file:
            file.write(GZIP_HEADER + b"torn")
        report = Report()
        assert [row.pointer for row in index_folder(tmp_path, report)] == pointers
        assert report.sound


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.archive.org/", "org,archive)/"),
        ("https://archive.org", "org,archive)/"),
        ("http://www34.archive.org/index.html?b=a&b=b&a=b", "org,archive)/index.html?a=b&b=a&b=b"),
        ("http://archive.org/goo/?", "org,archive)/goo"),
        ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
        ("http://archive.org:8080/Big/", "org,archive:8080)/big"),
        ("https://archive.org:443/", "org,archive)/"),
        ("http://archive.org:443/", "org,archive:443)/"),
        ("http://www2foo.com//a///b", "com,www2foo)/a/b"),
        ("http://user:secret@host.com/ab%23cd", "com,host)/ab%23cd"),
        ("http://host/%25%32%35", "host)/%25"),
        ("http://a.b/x?q=%28windows%3B%20en%29", "b,a)/x?q=(windows;%20en)"),
        ("http://a.b/%C3%89", "b,a)/%c3%89"),
        (
            "http://archive.org/index.php?PHPSESSID=0123456789abcdefghijklemopqrstuv&action=profile;u=4221",
            "org,archive)/index.php?action=profile;u=4221",
        ),
        ("http://a.b/?CFID=1169580&CFTOKEN=48630702&dt=22", "b,a)/?dt=22"),
        ("http://127.0.0.1:8000/x", "1,0,0,127:8000)/x"),
        ("http://[::1]/x", "[::1])/x"),
    ],
)
def test_keys_are_those_that_replay_tools_compute(url, key):
    assert surt_key(url) == key


@given(st.text(st.sampled_from("aB/%2?&=#;é \x00"), max_size=30))
def test_a_key_is_one_word_and_stable(path):
    key = surt_key("http://Example.org/" + path)
    assert key.startswith("org,example)/")
    assert " " not in key
    assert key.isascii()


def test_a_document_alone_has_a_type_and_no_status(tmp_path):
    with closing(WarcStore(tmp_path, "w1", StoreSettings(), ManualClock())) as store:
        stored = store.append(fetch_of(1, head=b"", raw=b"<!doctype html>x"))
    (row,) = index_folder(tmp_path, Report())
    assert (row.mime, row.status, row.revisit) == ("text/html", 0, False)
    assert (row.digest, row.pointer) == (stored.payload_digest, stored.pointer)
    (line,) = cdxj_lines([row])
    assert json.loads(line.split(" ", 2)[2])["status"] == "-"
