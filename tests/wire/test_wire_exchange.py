"""A Fetch on its way to the Store Server and back, in both forms."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from wire_samples import RESULTS, VISIT, fetches, golden_bytes, results

from gossamer.errors import WireError
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome, outcome_named
from gossamer.wire.enumerations import Specific
from gossamer.wire.exchange import BODY_CUT, STATUS_ASSUMED, fetch_of, new_url_of, result_of
from gossamer.wire.results import FULL, PLAIN, Result, ResultReader, encode

FULL_VECTORS = [vector for vector in RESULTS["results"] if "fetch" in vector]
URL = VISIT.url


def plain(**fields):
    good = {
        "doc_id": 12,
        "success": True,
        "specific": 0,
        "http": 10,
        "milliseconds": 500,
        "url": URL.encode(),
        "document": b"<p>hello</p>",
    }
    return Result(**good | fields)


def fetch_in(vector, visit):
    said = dict(vector["fetch"])
    raw = bytes.fromhex(said.pop("raw_hex")) if "raw_hex" in said else said["raw"].encode()
    del said["url"]
    return Fetch(
        visit,
        **said
        | {
            "outcome": outcome_named(said["outcome"]),
            "request_head": said["request_head"].encode(),
            "head": said["head"].encode(),
            "headers": tuple(map(tuple, said["headers"])),
            "raw": raw,
            "body": said["body"].encode(),
            "flags": tuple(said["flags"]),
        },
    )


@pytest.mark.parametrize("vector", FULL_VECTORS, ids=lambda vector: vector["file"])
def test_golden_full_forms_are_read_and_written(vector):
    visit = Visit(7, vector["doc_id"], "192.0.2.1", vector["url"])
    (result,) = ResultReader().feed(golden_bytes(vector))
    fetch = fetch_of(result, visit)
    assert fetch == fetch_in(vector, visit)
    assert encode(result_of(fetch, FULL, None)) == golden_bytes(vector)


@pytest.mark.parametrize("vector", FULL_VECTORS, ids=lambda vector: vector["file"])
def test_the_full_form_is_plain_message_pack(vector):
    """Any MessagePack reader sees an array in the documented order."""
    (result,) = ResultReader().feed(golden_bytes(vector))
    values = msgspec.msgpack.decode(result.document)
    said = vector["fetch"]
    assert len(values) == 16
    assert values[0] == said["url"]
    assert values[1] == outcome_named(said["outcome"])
    assert values[3] == said["status"]
    assert values[12:] == [
        said[name] for name in ("fetched_at", "milliseconds", "retry_after_seconds", "redirect_to")
    ]


@given(fetches)
def test_the_full_form_loses_nothing(fetch):
    """Everything but the visit and our own monotonic clock crosses the link."""
    (result,) = ResultReader().feed(encode(result_of(fetch, FULL, fetch.redirect_to)))
    assert result.form == FULL
    assert fetch_of(result, fetch.visit) == fetch


@pytest.mark.req("S0.36", "S0.43")
@given(fetches)
def test_the_plain_form_carries_the_decoded_document_and_no_trace_of_ours(fetch):
    data = encode(result_of(fetch, PLAIN, None))
    assert data[7] == 0
    (result,) = ResultReader().feed(data)
    assert result.document == fetch.body
    back = fetch_of(result, fetch.visit, received_at=1e9)
    assert back.body == back.raw == fetch.body
    assert back.head == b""
    assert back.milliseconds == fetch.milliseconds
    assert back.success == fetch.success


@given(results, st.booleans())
def test_any_result_becomes_a_fetch(result, cut):
    """Whatever a peer puts into a result, reading it never fails."""
    fetch = fetch_of(structs.replace(result, cut=cut), VISIT, received_at=1e9)
    assert fetch.outcome in Outcome
    assert fetch.redirect_to is None or fetch.redirect_to.startswith("http")


@given(st.binary(max_size=200))
def test_a_document_that_only_seems_full_is_read_as_plain(document):
    """Dirt in the padding of somebody else's Spider costs nothing."""
    fetch = fetch_of(plain(form=FULL, document=document), VISIT)
    assert (fetch.outcome, fetch.body) == (Outcome.OK, document)


@pytest.mark.parametrize(
    "change",
    [{1: 4}, {3: 1000}, {3: -1}, {12: float("nan")}, {12: float("inf")}, {13: -1}, {14: -1.0}],
    ids=str,
)
def test_a_full_form_out_of_range_is_not_believed(change):
    (result,) = ResultReader().feed(golden_bytes(FULL_VECTORS[0]))
    values = msgspec.msgpack.decode(result.document)
    for place, value in change.items():
        values[place] = value
    forged = structs.replace(result, document=msgspec.msgpack.encode(values))
    assert fetch_of(forged, VISIT).head == b""


def test_a_full_form_may_be_longer_in_a_later_version():
    (result,) = ResultReader().feed(golden_bytes(FULL_VECTORS[0]))
    values = msgspec.msgpack.decode(result.document)
    newer = structs.replace(result, document=msgspec.msgpack.encode([*values, "more"]))
    assert fetch_of(newer, VISIT) == fetch_of(result, VISIT)


def test_a_full_form_with_a_tower_of_arrays_is_not_believed():
    """No depth of nesting in a message ends the process."""
    (result,) = ResultReader().feed(golden_bytes(FULL_VECTORS[0]))
    count = b"\xdc\x00\x10"
    assert result.document.startswith(count)
    tower = b"\xdc\x00\x11" + result.document[len(count) :] + b"\x91" * 1_000_000
    assert fetch_of(structs.replace(result, document=tower), VISIT).head == b""


def test_a_redirect_of_a_peer_is_made_canonical_or_dropped():
    (result,) = ResultReader().feed(golden_bytes(FULL_VECTORS[0]))
    values = msgspec.msgpack.decode(result.document)
    for said, meant in (("HTTP://EXAMPLE.org", "http://example.org/"), ("javascript:x", None)):
        values[15] = said
        forged = structs.replace(result, document=msgspec.msgpack.encode(values))
        assert fetch_of(forged, VISIT).redirect_to == meant


def test_a_cut_document_is_too_large_in_either_form():
    fetch = fetch_of(plain(cut=True), VISIT)
    assert (fetch.outcome, fetch.body) == (Outcome.BODY_TOO_LARGE, b"<p>hello</p>")
    assert BODY_CUT in fetch.flags
    full = fetch_of(plain(cut=True, form=FULL), VISIT)
    assert (full.outcome, full.body) == (Outcome.BODY_TOO_LARGE, b"")


@pytest.mark.parametrize("http", [0, 5, 64, 255])
def test_success_is_believed_when_the_enumeration_is_another(http):
    """Somebody else's Spider may number its codes differently; success is sure."""
    fetch = fetch_of(plain(http=http, specific=77), VISIT)
    assert (fetch.outcome, fetch.status, fetch.success) == (Outcome.OK, 200, True)
    assert STATUS_ASSUMED in fetch.flags


def test_failure_without_a_reason_is_an_incomplete_document():
    assert fetch_of(plain(success=False), VISIT).outcome is Outcome.BODY_SHORT
    assert fetch_of(plain(success=False, http=0), VISIT).outcome is Outcome.INTERNAL


def test_the_time_of_a_plain_result_is_counted_back_from_its_arrival():
    assert fetch_of(plain(), VISIT, received_at=1000.0).fetched_at == 999.5
    assert fetch_of(plain(), VISIT).fetched_at == 0.0


@pytest.mark.req("S0.39", "S0.42")
def test_a_new_url_is_a_redirect():
    fetch = fetch_of(
        plain(success=False, specific=1, http=31, new_url=b"http://Example.org/new#x"), VISIT
    )
    assert (fetch.outcome, fetch.status) == (Outcome.OK, 301)
    assert fetch.redirect_to == "http://example.org/new"


def test_a_new_url_without_a_status_of_a_redirect_is_one_all_the_same():
    fetch = fetch_of(plain(new_url=b"http://example.org/new"), VISIT)
    assert (fetch.status, fetch.redirect_to) == (301, "http://example.org/new")
    assert STATUS_ASSUMED in fetch.flags


@pytest.mark.parametrize("new_url", [b"", b"/relative", b"javascript:x", b"\xff\xfe", URL.encode()])
def test_a_new_url_that_leads_nowhere_is_none(new_url):
    fetch = fetch_of(plain(new_url=new_url), VISIT)
    assert fetch.redirect_to is None
    assert fetch.outcome is Outcome.OK


def test_a_chain_that_was_given_up_is_not_begun_again():
    fetch = fetch_of(
        plain(success=False, specific=2, http=31, new_url=b"http://example.org/new"), VISIT
    )
    assert (fetch.outcome, fetch.redirect_to) == (Outcome.REDIR_TOO_MANY, None)


@pytest.mark.req("S0.39", "S0.42")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("followed", [True, False])
def test_the_new_url_is_given_when_it_replaces_or_is_left_to_others(status, followed):
    """301 and 308 replace the URL; others name the target only when nobody follows it in place."""
    target = "https://example.org/there"
    fetch = Fetch(VISIT, Outcome.OK, status=status, redirect_to=target)
    given_url = new_url_of(fetch, followed=followed)
    assert given_url == (target if status in (301, 308) or not followed else None)
    result = result_of(fetch, PLAIN, given_url)
    assert result.specific == Specific.REDIRECTED
    assert result.success is False
    assert result.new_url == (given_url or "").encode()
    back = fetch_of(result, VISIT)
    assert (back.outcome, back.status, back.redirect_to) == (Outcome.OK, status, given_url)


def test_a_fetch_without_redirect_has_no_new_url():
    assert new_url_of(Fetch(VISIT, Outcome.OK, status=301), followed=False) is None


def test_a_url_that_is_not_ascii_is_not_sent():
    fetch = Fetch(Visit(1, 1, "192.0.2.1", "http://exämple.org/"), Outcome.OK)
    with pytest.raises(WireError, match="ASCII"):
        result_of(fetch, PLAIN, None)
