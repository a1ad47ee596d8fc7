"""Several processes write to one catalog: numbers stay unique, nobody is passed over."""

import fcntl
import os
import threading
import time

import pytest
from catalog_rig import NOW, SqliteBackend, done, found

from gossamer.catalog.turns import Turns
from gossamer.errors import CatalogError

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


@pytest.fixture
def pair(tmp_path):
    """A catalog as two writers have it open."""
    backend = SqliteBackend(tmp_path, shared=True)
    first, second = backend.open(), backend.open()
    first.begin_run(NOW)
    yield first, second
    backend.close()


class TestNumbers:
    def test_documents_and_hosts_of_two_writers_are_numbered_in_one_row(self, pair):
        first, second = pair
        assert first.add([found(A)], NOW) == [1]
        assert second.add([found(B)], NOW) == [2]
        assert first.add([found(B), found(C), found(A + "1")], NOW) == [3, 4]
        assert second.add([found(C + "1")], NOW) == [5]
        assert [row.host for row in first.rows()] == [
            "a.example", "b.example", "c.example", "a.example", "c.example",
        ]  # fmt: skip
        assert first.check() == []

    def test_tries_of_two_writers_are_numbered_in_one_row(self, pair):
        first, second = pair
        first.add([found(A), found(B), found(C)], NOW)
        one, two, three = second.due(9, 9, NOW)
        first.commit([done(one)], NOW)
        second.commit([done(two)], NOW)
        first.commit([done(three)], NOW)
        assert [learned.fetch_id for learned in second.results_after(0, 9)] == [1, 2, 3]
        assert second.check() == []

    def test_what_one_leased_the_other_does_not_lease(self, pair):
        first, second = pair
        first.add([found(f"{A}{number}") for number in range(10)], NOW)
        mine, yours = first.due(5, 5, NOW), second.due(9, 9, NOW)
        assert {due.doc_id for due in mine + yours} == set(range(1, 11))
        assert len(mine) + len(yours) == 10
        assert second.check() == []

    def test_a_verdict_of_the_other_makes_mine_stale(self, pair):
        first, second = pair
        first.add([found(A)], NOW)
        (due,) = first.due(1, 1, NOW)
        assert second.commit([done(due)], NOW).applied == 1
        assert first.commit([done(due)], NOW).stale == (due.doc_id,)

    def test_numbers_are_right_after_a_transaction_that_failed(self, pair):
        first, second = pair
        first.add([found(A)], NOW)
        (due,) = first.due(1, 1, NOW)
        with pytest.raises(CatalogError):
            first.commit([done(due, [found(B)], detail=None)], NOW)
        assert second.add([found(C)], NOW) == [2]
        assert first.add([found(B)], NOW) == [3]
        assert first.check() == []


class TestNotice:
    def test_only_the_writing_of_others_is_noticed(self, pair):
        first, second = pair
        seen = first.data_version()
        first.add([found(A)], NOW)
        assert first.data_version() == seen
        second.add([found(B)], NOW)
        changed = first.data_version()
        assert changed != seen
        assert first.data_version() == changed

    def test_reading_is_no_change(self, pair):
        first, second = pair
        seen = first.data_version()
        second.counts()
        assert second.next_due_at(NOW) is None
        assert first.data_version() == seen

    def test_starts_given_by_two_at_once_are_all_kept(self, pair):
        first, second = pair
        first.extend_note("starts", [A])
        second.extend_note("starts", [B])
        assert first.extend_note("starts", [C]) == [A, B, C]


def is_locked(path):
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


class TestTurns:
    def test_who_waits_comes_before_who_has_just_had_a_turn(self, tmp_path):
        path = str(tmp_path / "catalog.db")
        first, second = Turns(path), Turns(path)
        order = []

        def wait_for_a_turn():
            with second:
                order.append("second")

        thread = threading.Thread(target=wait_for_a_turn)
        with first:
            order.append("first")
            thread.start()
            while not is_locked(f"{path}-next"):
                time.sleep(0.001)
        with first:
            order.append("first again")
        thread.join()
        assert order == ["first", "second", "first again"]
        first.close()
        second.close()

    def test_a_transaction_that_fails_gives_its_turn_back(self, pair):
        first, second = pair
        with pytest.raises(CatalogError):
            first.add([found("x", kind="no number")], NOW)
        second.add([found(A)], NOW)
        assert second.counts().discovered == 1

    def test_a_writer_that_is_alone_makes_no_locks(self, tmp_path):
        backend = SqliteBackend(tmp_path)
        backend.open().add([found(A)], NOW)
        assert {path.name for path in tmp_path.iterdir()} == {
            "catalog.db", "catalog.db-wal", "catalog.db-shm",
        }  # fmt: skip
        backend.close()

    def test_only_the_owner_may_touch_the_locks(self, pair, tmp_path):
        for name in ("catalog.db-next", "catalog.db-turn"):
            assert (tmp_path / name).stat().st_mode & 0o077 == 0
