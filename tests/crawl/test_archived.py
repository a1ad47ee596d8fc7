"""A payload that is stored already is found, whoever stored it, and new ones cost no question."""

import contextlib

import pytest
import xxhash

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.store import StoreSettings
from gossamer.crawl import archived as archived_module
from gossamer.crawl.archived import Archived
from gossamer.messages import Fetch, Findings, Found, Pointer, Visit
from gossamer.outcomes import Outcome, State
from gossamer.store.store import Known, Stored, payload_digest
from gossamer.store.warc import WarcStore
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

    def __init__(self, folder):
        path = str(folder / "catalog.db")
        self.folder = folder / "archive"
        self.catalog = SqliteCatalog.open(path, CatalogSettings())
        self.clock = ManualClock()
        self.store = WarcStore(self.folder, "w2", StoreSettings(), self.clock)
        self._stored = 0
        self.archived = Archived(path, self.folder, CatalogSettings(), self.clock)
        self.questions = Questions(self.archived._catalog)
        self.archived._catalog = self.questions

    def others_store(self, *bodies, digest=None):
        """Commit bodies as other workers brought them; return where each is."""
        first = self._stored
        self._stored += len(bodies)
        urls = [f"http://a.example/{number}" for number in range(first, self._stored)]
        self.catalog.add([Found(url, md5_of(url), "a.example", 0) for url in urls], NOW)
        dues = sorted(self.catalog.due(1_000, 1_000, NOW), key=lambda due: due.doc_id)
        return [
            self.commit(due, fetch_of(body, due.url), digest=digest)
            for due, body in zip(dues, bodies, strict=True)
        ]

    def commit(self, due, fetch, *, known=None, digest=None):
        """Store and commit what a visit brought; return where it is."""
        stored = self.store.append(fetch, known=known)
        self.store.sync()
        found = success(due, fetch, stored.pointer, digest or stored.payload_digest)
        self.catalog.commit([Verdict(found, State.DONE)], NOW)
        return stored.pointer

    def visit_again(self, fetch):
        """Store and commit a visit to the first URL as the one who looks would."""
        self.catalog.requeue_due(NOW + 1e9, 1)
        (due,) = self.catalog.due(1, 1, NOW)
        return self.commit(due, fetch, known=self._find(fetch))

    def look_for(self, body):
        return self._find(fetch_of(body))

    def _find(self, fetch):
        checksum = xxhash.xxh3_128_digest(fetch.body)
        return self.archived.find(fetch, payload_digest(fetch.raw), checksum)

    def close(self):
        self.archived.close()
        self.store.close()
        self.catalog.close()


def findings(due, outcome, **brought):
    return Findings(
        doc_id=due.doc_id,
        trans_id=0,
        outcome=int(outcome),
        status=brought.pop("status", 0),
        fetched_at=NOW,
        milliseconds=1,
        tries=1,
        **brought,
    )


def success(due, fetch, pointer, digest):
    return findings(
        due,
        fetch.outcome,
        status=fetch.status,
        body_bytes=len(fetch.body),
        checksum=xxhash.xxh3_128_digest(fetch.body) if fetch.body else None,
        pointer=pointer,
        payload_digest=digest,
    )


def fetch_of(body, url="http://a.example/new"):
    return Fetch(
        Visit(1, 1, "", url),
        Outcome.OK,
        status=200,
        head=b"HTTP/1.1 200 OK\r\n\r\n",
        raw=body,
        body=body,
        fetched_at=NOW,
    )


def unchanged(url):
    """Return what a server says of a page that is as it was."""
    return Fetch(
        Visit(1, 1, "", url),
        Outcome.NOT_MODIFIED,
        status=304,
        head=b"HTTP/1.1 304 Not Modified\r\n\r\n",
        fetched_at=NOW,
    )


def body_of(number):
    return b"%d" % number * 600


@pytest.fixture
def bench(tmp_path):
    with contextlib.closing(Bench(tmp_path)) as bench:
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


def test_a_page_that_never_changes_can_be_read_after_any_number_of_visits(bench):
    """Each repetition leads to the payload itself, whether the server sends it again or a 304."""
    (original,) = bench.others_store(body_of(1))
    url = "http://a.example/0"
    for number in range(12):
        again = unchanged(url) if number % 3 == 0 else fetch_of(body_of(1), url)
        bench.clock.advance(1.0)
        bench.archived.forget()
        document = bench.store.read(bench.visit_again(again))
        assert document.revisit_of == Known(url, NOW, payload_digest(body_of(1)), original)
        assert document.raw == body_of(1)


def test_a_payload_that_is_damaged_or_gone_is_stored_again(bench):
    """A reference to it would be all that is left of what was just fetched."""
    (pointer,) = bench.others_store(body_of(1))
    path = bench.folder / f"{pointer.file}.open"
    whole = path.read_bytes()
    path.write_bytes(whole[: pointer.offset + 40])
    assert bench.look_for(body_of(1)) is None
    path.unlink()
    assert bench.look_for(body_of(1)) is None
    path.write_bytes(whole)
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
