"""A payload that is stored already is found, whoever stored it, and new ones cost no question."""

import contextlib

import pytest
import xxhash

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock
from gossamer.config.catalog import CatalogSettings
from gossamer.crawl import archived as archived_module
from gossamer.crawl.archived import Archived
from gossamer.messages import Fetch, Findings, Found, Pointer, Visit
from gossamer.outcomes import Outcome, State
from gossamer.store.store import Known, Stored, payload_digest
from gossamer.url.parts import md5_of

NOW = 1_800_000_000.0


class Questions:
    """A catalog that counts what it is asked."""

    def __init__(self, catalog):
        self._catalog = catalog
        self.asked = 0

    def find_content(self, checksum):
        self.asked += 1
        return self._catalog.find_content(checksum)

    def __getattr__(self, name):
        return getattr(self._catalog, name)


class Bench:
    """One who looks, and others who store."""

    def __init__(self, path):
        self._path = str(path)
        self.catalog = SqliteCatalog.open(self._path, CatalogSettings())
        self.clock = ManualClock()
        self._stored = 0
        self.open()

    def open(self):
        self.archived = Archived(self._path, CatalogSettings(), self.clock)
        self.questions = Questions(self.archived._catalog)
        self.archived._catalog = self.questions

    def others_store(self, *bodies, digest=None):
        """Commit bodies as other workers brought them; return where each is."""
        first = self._stored
        self._stored += len(bodies)
        urls = [f"http://a.example/{number}" for number in range(first, self._stored)]
        self.catalog.add([Found(url, md5_of(url), "a.example", 0) for url in urls], NOW)
        dues = sorted(self.catalog.due(1_000, 1_000, NOW), key=lambda due: due.doc_id)
        pointers = [Pointer("w2.warc.gz", due.doc_id * 100, 100) for due in dues]
        self.catalog.commit(
            [
                Verdict(success(due, body, pointer, digest), State.DONE)
                for due, body, pointer in zip(dues, bodies, pointers, strict=True)
            ],
            NOW,
        )
        return pointers

    def look_for(self, body):
        return self.archived.find(fetch_of(body), payload_digest(body))

    def close(self):
        self.archived.close()
        self.catalog.close()


def findings(due, outcome, **brought):
    return Findings(
        doc_id=due.doc_id,
        trans_id=0,
        outcome=int(outcome),
        status=200 if brought else 0,
        fetched_at=NOW,
        milliseconds=1,
        tries=1,
        **brought,
    )


def success(due, body, pointer, digest):
    return findings(
        due,
        Outcome.OK,
        body_bytes=len(body),
        checksum=xxhash.xxh3_128_digest(body),
        pointer=pointer,
        payload_digest=digest or payload_digest(body),
    )


def fetch_of(body):
    return Fetch(
        Visit(1, 1, "", "http://a.example/new"), Outcome.OK, status=200, raw=body, body=body
    )


def body_of(number):
    return b"%d" % number * 600


@pytest.fixture
def bench(tmp_path):
    with contextlib.closing(Bench(tmp_path / "catalog.db")) as bench:
        yield bench


def test_what_an_earlier_run_stored_is_found(bench):
    (pointer,) = bench.others_store(body_of(1))
    assert bench.look_for(body_of(1)) == Known(
        "http://a.example/0", NOW, payload_digest(body_of(1)), pointer
    )


def test_what_another_worker_stores_is_found_a_second_later(bench):
    assert bench.look_for(body_of(1)) is None
    bench.others_store(body_of(1))
    assert bench.look_for(body_of(1)) is None
    bench.clock.advance(1.0)
    assert bench.look_for(body_of(1)) is not None
    bench.others_store(body_of(2))
    bench.clock.advance(1.0)
    assert bench.look_for(body_of(2)) is not None
    assert bench.look_for(body_of(1)) is not None


def test_the_same_body_in_another_coding_is_another_payload(bench):
    bench.others_store(body_of(1), digest=payload_digest(b"as it was sent"))
    assert bench.look_for(body_of(1)) is None


def test_what_is_new_costs_no_question(bench):
    bench.others_store(*map(body_of, range(20)))
    for number in range(100, 200):
        assert bench.look_for(body_of(number)) is None
        bench.clock.advance(0.1)
    assert bench.questions.asked == 0
    assert bench.look_for(body_of(7)) is not None
    assert bench.questions.asked == 1


def test_one_who_looks_never_keeps_the_log_from_being_emptied(bench):
    """With a view held by each of two workers, a crawl of 90,000 pages had a log of 1.4 GB."""
    writer = bench.catalog._database.connection
    writer.execute("PRAGMA busy_timeout = 0")
    bench.others_store(body_of(1))
    for number in (1, 2):
        bench.look_for(body_of(number))
        bench.others_store(body_of(number + 10))
        is_busy, *_ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not is_busy
        bench.clock.advance(1.0)


def test_own_documents_are_found_without_the_catalog(bench):
    stored = Stored(Pointer("w1.warc.gz", 0, 10), payload_digest(body_of(1)), revisit=False)
    bench.archived.note(fetch_of(body_of(1)), stored)
    found = bench.look_for(body_of(1))
    assert found is not None
    assert found.pointer == stored.pointer
    assert bench.questions.asked == 0


@pytest.mark.parametrize("limit", ["_MAX_LEARNED", "_MAX_BODIES"])
def test_a_catalog_that_knows_too_many_to_remember_is_asked_for_each(bench, monkeypatch, limit):
    monkeypatch.setattr(archived_module, limit, 4)
    bench.others_store(*map(body_of, range(3)))
    assert bench.look_for(body_of(100)) is None
    assert bench.questions.asked == 0
    bench.others_store(*map(body_of, range(10, 20)))
    bench.clock.advance(1.0)
    assert bench.look_for(body_of(101)) is None
    assert bench.questions.asked == 1
    assert all(bench.look_for(body_of(number)) for number in (*range(3), *range(10, 20)))
    bench.others_store(body_of(30))
    bench.clock.advance(1.0)
    assert bench.look_for(body_of(30)) is not None


def test_bodies_that_were_not_known_are_no_bodies(bench):
    """A try that brought none has no checksum."""
    assert bench.archived._bodies.may_have(b"x" * 16) is False
    url = "http://a.example/broken"
    bench.catalog.add([Found(url, md5_of(url), "a.example", 0)], NOW)
    (due,) = bench.catalog.due(10, 10, NOW)
    failed = findings(due, Outcome.NET_RESET)
    bench.catalog.commit([Verdict(failed, State.FAILED)], NOW)
    assert bench.look_for(body_of(1)) is None
    assert bench.questions.asked == 0
