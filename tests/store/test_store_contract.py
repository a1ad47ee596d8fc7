"""What every store promises, whichever it is."""

import pytest
from store_samples import BASE, fetch_of

from gossamer.clock import ManualClock
from gossamer.config.store import StoreSettings
from gossamer.errors import DiskFullError, StoreError
from gossamer.messages import Pointer
from gossamer.outcomes import Outcome
from gossamer.store.memory import MemoryStore
from gossamer.store.store import Known, payload_digest
from gossamer.store.warc import WarcStore


@pytest.fixture(params=["memory", "warc"])
def make_store(request, tmp_path):
    stores = []

    def make(**settings):
        if request.param == "memory":
            store = MemoryStore(StoreSettings(**settings))
        else:
            store = WarcStore(tmp_path, "w1", StoreSettings(**settings), ManualClock())
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(make_store):
    return make_store()


@pytest.mark.req("S0.30")
def test_a_document_comes_back_as_it_was_received(store):
    fetch = fetch_of(7)
    stored = store.append(fetch, parent="https://docs.example.org/")
    store.sync()
    document = store.read(stored.pointer)
    assert document.url == "https://docs.example.org/page/7"
    assert document.fetched_at == pytest.approx(BASE + 7, abs=1e-6)
    assert document.request_head == fetch.request_head
    assert document.head == fetch.head
    assert document.raw == fetch.raw
    assert document.payload_digest == stored.payload_digest == payload_digest(fetch.raw)
    assert not stored.revisit
    assert document.revisit_of is None
    assert document.truncated == ""


def test_a_document_can_be_read_before_it_is_synced(store):
    stored = [store.append(fetch_of(number)) for number in range(1, 6)]
    assert [store.read(one.pointer).raw for one in stored] == [
        fetch_of(number).raw for number in range(1, 6)
    ]


def test_metadata_says_what_the_bytes_do_not(store):
    fetch = fetch_of(
        3,
        outcome=Outcome.BODY_SHORT,
        detail="closed after 5 of 9 bytes",
        flags=("length_unknown", "tls_unverified"),
        via=("https://docs.example.org/a", "https://docs.example.org/b"),
    )
    document = store.read(store.append(fetch, parent="https://docs.example.org/up").pointer)
    assert document.metadata == (
        ("outcome", "body.short"),
        ("fetchTimeMs", "12"),
        ("docId", "3"),
        ("depth", "2"),
        ("tries", "1"),
        ("via", "https://docs.example.org/up"),
        ("redirectedFrom", "https://docs.example.org/a"),
        ("redirectedFrom", "https://docs.example.org/b"),
        ("flags", "length_unknown tls_unverified"),
        ("detail", "closed after 5 of 9 bytes"),
    )
    assert document.truncated == "disconnect"


def test_a_payload_that_is_known_is_not_stored_twice(store):
    """A repetition keeps its own head and leads to the payload stored before."""
    first = store.append(fetch_of(1, raw=b"same"))
    known = Known("https://docs.example.org/page/1", BASE + 1, first.payload_digest, first.pointer)
    second = store.append(fetch_of(2, raw=b"same"), known=known)
    store.sync()
    document = store.read(second.pointer)
    assert second.revisit
    assert second.payload_digest == first.payload_digest
    assert document.url == "https://docs.example.org/page/2"
    assert document.raw == b"same"
    assert document.revisit_of is not None
    assert document.revisit_of.uri == known.uri
    assert document.revisit_of.fetched_at == pytest.approx(known.fetched_at, abs=1e-6)
    assert document.revisit_of.pointer == first.pointer


def test_a_repetition_of_an_unknown_place_has_no_payload(store):
    known = Known("https://docs.example.org/x", BASE, payload_digest(b"same"))
    document = store.read(store.append(fetch_of(2, raw=b"same"), known=known).pointer)
    assert document.raw is None
    assert document.payload_digest == known.payload_digest


@pytest.mark.parametrize(
    ("raw", "settings"),
    [(b"other", {}), (b"", {}), (b"same", {"revisits": False})],
    ids=["another payload", "an empty payload", "switched off"],
)
def test_a_payload_is_stored_in_full_if_it_is(make_store, raw, settings):
    store = make_store(**settings)
    digest = payload_digest(b"same" if raw else b"")
    known = Known("https://docs.example.org/x", BASE, digest)
    stored = store.append(fetch_of(2, raw=raw), known=known)
    assert not stored.revisit
    assert store.read(stored.pointer).raw == raw


def test_an_unchanged_document_stands_for_the_one_before(store):
    first = store.append(fetch_of(1, raw=b"old"))
    known = Known("https://docs.example.org/page/1", BASE + 1, first.payload_digest, first.pointer)
    fetch = fetch_of(1, raw=b"", status=304, head=b"HTTP/1.1 304 Not Modified\r\n\r\n")
    stored = store.append(fetch, known=known)
    assert stored.revisit
    assert stored.payload_digest == first.payload_digest
    assert store.read(stored.pointer).raw == b"old"
    assert store.read(stored.pointer).head.startswith(b"HTTP/1.1 304 ")


def test_an_unchanged_document_without_a_known_one_has_no_digest(store):
    fetch = fetch_of(1, raw=b"", status=304, head=b"HTTP/1.1 304 Not Modified\r\n\r\n")
    stored = store.append(fetch)
    assert stored.revisit
    assert stored.payload_digest == store.read(stored.pointer).payload_digest == ""
    assert store.read(stored.pointer).raw is None


def test_requests_and_metadata_can_be_left_out(make_store):
    store = make_store(write_requests=False, write_metadata=False)
    pointers = [store.append(fetch_of(number)).pointer for number in (1, 2)]
    for pointer in pointers:
        assert store.read(pointer).request_head == b""
        assert store.read(pointer).metadata == ()


@pytest.mark.parametrize("head", [b"", b"\r\n\r\n"])
def test_a_fetch_without_a_response_is_refused(store, head):
    with pytest.raises(StoreError, match=r"page/1: there was no response"):
        store.append(fetch_of(1, head=head, raw=b"", status=0))


@pytest.mark.req("S0.30", "S0.43")
def test_a_document_without_its_head_is_kept_as_it_is(store):
    """A Spider of the source documents sends the document alone."""
    fetch = fetch_of(3, head=b"", request_head=b"", status=404, outcome=Outcome.HTTP_4XX)
    stored = store.append(fetch, known=Known("https://a.example/", BASE, payload_digest(fetch.raw)))
    store.sync()
    document = store.read(stored.pointer)
    assert (document.head, document.request_head) == (b"", b"")
    assert document.raw == fetch.raw
    assert document.payload_digest == stored.payload_digest == payload_digest(fetch.raw)
    assert not stored.revisit
    assert document.revisit_of is None
    # Nothing else says it.
    assert ("status", "404") in document.metadata


def test_a_response_may_repeat_a_document_that_came_without_its_head(store):
    alone = fetch_of(3, head=b"")
    first = store.append(alone)
    known = Known(alone.visit.url, alone.fetched_at, first.payload_digest, first.pointer)
    again = store.append(fetch_of(4, raw=alone.raw), known=known)
    store.sync()
    assert again.revisit
    assert store.read(again.pointer).raw == alone.raw


@pytest.mark.parametrize(
    "pointer",
    [
        Pointer("memory", 99, 10),
        Pointer("gossamer-20270115080000-w1-00009.warc.gz", 0, 10),
        Pointer("../../etc/passwd", 0, 10),
        Pointer("", 0, 0),
    ],
)
def test_a_pointer_to_nothing_is_refused(store, pointer):
    store.append(fetch_of(1))
    with pytest.raises(StoreError):
        store.read(pointer)


def test_nothing_can_be_appended_to_a_closed_store(make_store):
    store = make_store()
    stored = store.append(fetch_of(1))
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.append(fetch_of(2))
    assert store.read(stored.pointer).raw == fetch_of(1).raw


def test_a_store_in_memory_is_full_like_a_disk():
    store = MemoryStore(StoreSettings(), max_bytes=10_000)
    for number in range(8):
        store.append(fetch_of(number))
    with pytest.raises(DiskFullError):
        store.append(fetch_of(9))
    assert store.read(Pointer("memory", 0, 0)).raw == fetch_of(0).raw
