"""Files of the archive: names, rotation, several writers, threads."""

import stat
import threading

import pytest
from store_samples import fetch_of, warcio_problems, warcio_records

from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.errors import StoreError
from gossamer.messages import Pointer
from gossamer.store.disk import free_bytes
from gossamer.store.names import archive_files, file_name, unfinished_files
from gossamer.store.reading import read_document
from gossamer.store.store import Known
from gossamer.store.verify import verify_folder
from gossamer.store.warc import WarcStore


@pytest.fixture
def make_store(tmp_path):
    stores = []

    def make(writer="w1", clock=None, **settings):
        store = WarcStore(tmp_path / "a", writer, StoreSettings(**settings), clock or ManualClock())
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_called_open_until_it_is_closed(make_store, tmp_path):
    store = make_store()
    assert names(tmp_path / "a") == []
    pointer = store.append(fetch_of(1)).pointer
    store.sync()
    assert pointer.file == "gossamer-20270115080000-w1-00001.warc.gz"
    assert names(tmp_path / "a") == [pointer.file + ".open"]
    assert read_document(tmp_path / "a", pointer).raw == fetch_of(1).raw
    store.close()
    assert names(tmp_path / "a") == [pointer.file]
    assert read_document(tmp_path / "a", pointer).raw == fetch_of(1).raw
    assert warcio_problems(tmp_path / "a" / pointer.file) == 0


def test_nothing_is_written_before_a_sync(make_store, tmp_path):
    store = make_store()
    for number in range(100):
        store.append(fetch_of(number))
    assert names(tmp_path / "a") == []


def test_what_waits_in_memory_is_bounded(make_store, tmp_path):
    """A buffer that is full is written without waiting for a sync."""
    store = make_store(buffer_bytes=4_096)
    for number in range(100):
        store.append(fetch_of(number))
    (path,) = archive_files(tmp_path / "a")
    assert store._waiting_bytes <= 4_096
    assert path.stat().st_size > 50_000


def test_files_are_for_the_owner_alone(make_store, tmp_path):
    store = make_store()
    store.append(fetch_of(1))
    store.sync()
    (path,) = archive_files(tmp_path / "a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_full_file_is_finished_and_a_new_one_begun(make_store, tmp_path):
    clock = ManualClock()
    store = make_store(clock=clock, max_file_bytes=5_000)
    stored = []
    for number in range(60):
        stored.append(store.append(fetch_of(number)))
        if number % 7 == 0:
            store.sync()
        clock.advance(1)
    store.sync()
    assert len(unfinished_files(tmp_path / "a")) == 1
    assert len({one.pointer.file for one in stored}) > 5
    for number, one in enumerate(stored):
        assert store.read(one.pointer).raw == fetch_of(number).raw
    store.close()
    files = archive_files(tmp_path / "a")
    assert unfinished_files(tmp_path / "a") == []
    assert warcio_problems(*files) == 0
    for path in files:
        assert warcio_records(path)[0][0] == "warcinfo"
        assert 5_000 <= path.stat().st_size < 8_000 or path == files[-1]


def test_a_pointer_frames_exactly_the_response(make_store, tmp_path):
    store = make_store()
    pointers = [store.append(fetch_of(number)).pointer for number in range(5)]
    store.close()
    data = (tmp_path / "a" / pointers[0].file).read_bytes()
    for number, pointer in enumerate(pointers):
        one = tmp_path / "one.warc.gz"
        one.write_bytes(data[pointer.offset : pointer.offset + pointer.length])
        ((kind, _, _, content),) = warcio_records(one)
        assert (kind, content) == ("response", fetch_of(number).raw)


def test_a_restarted_writer_takes_new_names(make_store, tmp_path):
    """The clock may stand still or go back; the serial number never does."""
    for _ in range(3):
        store = make_store()
        store.append(fetch_of(1))
        store.close()
    assert [name[-13:] for name in names(tmp_path / "a")] == [
        "00001.warc.gz",
        "00002.warc.gz",
        "00003.warc.gz",
    ]


def test_writers_share_a_folder(make_store, tmp_path):
    stores = [make_store(writer) for writer in ("w1", "w2", "w3")]
    stored = [store.append(fetch_of(number)) for number, store in enumerate(stores)]
    for store in stores:
        store.close()
    assert len({one.pointer.file for one in stored}) == 3
    for number, one in enumerate(stored):
        assert read_document(tmp_path / "a", one.pointer).raw == fetch_of(number).raw


def test_two_writers_of_one_name_do_not_overwrite_each_other(make_store, tmp_path):
    first, second = make_store(), make_store()
    pointer = first.append(fetch_of(1)).pointer
    first.sync()
    second.append(fetch_of(2))
    with pytest.raises(StoreError, match="File exists"):
        second.sync()
    assert read_document(tmp_path / "a", pointer).raw == fetch_of(1).raw


@pytest.mark.parametrize("writer", ["", "a/b", "..", "a-b", "x" * 33, "é"])
def test_a_writer_is_named_so_that_files_can_be(tmp_path, writer):
    with pytest.raises(StoreError, match="file name"):
        WarcStore(tmp_path, writer, StoreSettings(), ManualClock())


def test_appending_goes_on_while_another_thread_syncs(make_store, tmp_path):
    store = make_store(max_file_bytes=20_000, buffer_bytes=8_192)
    done = threading.Event()
    stored = []

    def append(thread):
        numbers = range(thread * 1_000, thread * 1_000 + 300)
        stored.extend((number, store.append(fetch_of(number))) for number in numbers)

    def sync():
        while not done.is_set():
            store.sync()

    syncing = threading.Thread(target=sync)
    appending = [threading.Thread(target=append, args=(thread,)) for thread in range(3)]
    for thread in (syncing, *appending):
        thread.start()
    for thread in appending:
        thread.join()
    done.set()
    syncing.join()
    store.close()
    assert len(stored) == 900
    for number, one in stored:
        assert read_document(tmp_path / "a", one.pointer).raw == fetch_of(number).raw
    report = verify_folder(tmp_path / "a")
    assert report.sound
    assert report.records["response"] == 900


@pytest.mark.parametrize("change", [(1, 0), (0, 1), (0, -1)], ids=["offset", "longer", "shorter"])
def test_a_wrong_pointer_is_noticed(make_store, change):
    store = make_store()
    right = store.append(fetch_of(1)).pointer
    wrong = Pointer(right.file, right.offset + change[0], right.length + change[1])
    with pytest.raises(StoreError, match=r"cannot read gossamer-.*at byte"):
        store.read(wrong)


def test_repetitions_of_repetitions_lead_to_the_payload_too(make_store):
    """Archives have them in which pages were visited often before each led there itself."""
    store = make_store()
    stored = store.append(fetch_of(1, raw=b"same"))
    for number in range(2, 30):
        known = Known(f"https://a.example/{number}", 1.0, stored.payload_digest, stored.pointer)
        stored = store.append(fetch_of(number, raw=b"same"), known=known)
    store.sync()
    assert store.read(stored.pointer).raw == b"same"


def test_a_pointer_to_a_request_is_no_document(make_store):
    store = make_store()
    right = store.append(fetch_of(1)).pointer
    with pytest.raises(StoreError):
        store.read(Pointer(right.file, 0, right.offset))


def test_a_symbolic_link_is_not_followed(tmp_path):
    name = file_name("w1", 1, 0.0)
    (tmp_path / name).symlink_to("/etc/passwd")
    with pytest.raises(StoreError, match="symbolic links"):
        read_document(tmp_path, Pointer(name, 0, 10))


def test_free_space_is_told(tmp_path):
    assert free_bytes(tmp_path) > 0
    with pytest.raises(StoreError, match="missing"):
        free_bytes(tmp_path / "missing")
