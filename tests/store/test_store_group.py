"""The compiled part writes what records.py writes, to the byte, or nothing."""

import hashlib
from functools import partial
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_fetches import fetches
from store_samples import fetch_of

from effort import least_cpu
from gossamer.config.store import StoreSettings
from gossamer.outcomes import Outcome
from gossamer.store import group
from gossamer.store.base32 import base32
from gossamer.store.fields import record_date
from gossamer.store.group import ordinary_group
from gossamer.store.records import RecordWriter

pytestmark = pytest.mark.skipif(not group.is_compiled(), reason="gossamer.store._group is missing")
IDENTITY = b"<urn:uuid:01234567-89ab-8cde-8f01-23456789abc"
DIGEST = "sha1:" + "A" * 32


def written_by_python(fetch):
    writer = RecordWriter(StoreSettings())
    first = writer._first(fetch, IDENTITY, DIGEST, None, None)
    return (first, *writer._beside(fetch, None, IDENTITY))


def test_what_it_writes_is_what_python_writes():
    made = fetches(Random(5), 4_000)
    ordinary = 0
    for fetch in made:
        records = ordinary_group(fetch, None, IDENTITY, DIGEST)
        if records is not None:
            ordinary += 1
            assert records == written_by_python(fetch)
    assert len(made) / 3 < ordinary < len(made)


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=200))
def test_any_head_becomes_what_python_makes_of_it(head, request_head, raw):
    fetch = fetch_of(
        head=b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n",
        request_head=b"GET / HTTP/1.1\r\n" + request_head + b"\r\n\r\n",
        raw=raw,
    )
    assert ordinary_group(fetch, None, IDENTITY, DIGEST) in (None, written_by_python(fetch))


@given(st.floats(0, 99_999_999_999))
def test_dates_are_those_of_python(moment):
    records = ordinary_group(fetch_of(fetched_at=moment), None, IDENTITY, DIGEST)
    assert b"\r\nWARC-Date: %b\r\n" % record_date(moment) in records[0]


def test_every_day_has_its_date():
    fetch = fetch_of()
    for day in range(200_000):
        fetch.fetched_at = day * 86_400.0
        records = ordinary_group(fetch, None, IDENTITY, DIGEST)
        assert record_date(day * 86_400.0) in records[0]


def test_blocks_of_all_lengths_have_their_digest():
    for length in range(200):
        request_head = b"GET /%b HTTP/1.1\r\n\r\n" % (b"x" * length)
        records = ordinary_group(fetch_of(request_head=request_head), None, IDENTITY, DIGEST)
        expected = base32(hashlib.sha1(request_head, usedforsecurity=False).digest())
        assert b"WARC-Block-Digest: sha1:%b\r\n" % expected in records[1]


@given(st.binary(min_size=20, max_size=20))
def test_digests_are_written_as_python_writes_them(sha1_sum):
    assert group.digest_text(sha1_sum) == group._digest_text(sha1_sum)


@pytest.mark.parametrize("length", [0, 19, 21])
def test_a_digest_of_another_length_is_refused(length):
    with pytest.raises(ValueError, match="20 bytes"):
        group.digest_text(b"x" * length)


@pytest.mark.parametrize(
    "change",
    [
        {"flags": ("length_unknown",)},
        {"detail": "why"},
        {"outcome": Outcome.BODY_TOO_LARGE},
        {"via": ("http://a/",)},
        {"connected": "localhost"},
        {"url": "http://a/ b"},
        {"head": b"HTTP/2 200\r\n\r\n"},
        {"head": b""},
        {"request_head": b""},
        {"request_head": b"GET /\r\n\r\nx\r\n\r\n"},
        {"fetched_at": -1.0},
        {"fetched_at": float("nan")},
        {"fetched_at": float("inf")},
        {"milliseconds": -1},
        {"doc_id": 1 << 64},
    ],
)
def test_what_is_not_ordinary_is_left_to_python(change):
    assert ordinary_group(fetch_of(), None, IDENTITY, DIGEST) is not None
    assert ordinary_group(fetch_of(), "http://parent/", IDENTITY, DIGEST) is None
    assert ordinary_group(fetch_of(**change), None, IDENTITY, DIGEST) is None


@pytest.mark.parametrize(
    "line",
    [b"Transfer-Encoding: chunked", b"Content-Length: 9\r\ntransfer-encoding:gzip", b" \r\nX: y"],
)
def test_a_head_that_has_to_be_changed_is_written_as_it_is_stored(line):
    """Most of what is made while it is sent comes chunked."""
    fetch = fetch_of(head=b"HTTP/1.1 200 OK\r\n%b\r\n\r\n" % line)
    records = ordinary_group(fetch, None, IDENTITY, DIGEST)
    assert records == written_by_python(fetch)


@pytest.mark.parametrize(
    "settings",
    [
        StoreSettings(write_requests=False),
        StoreSettings(write_metadata=False),
        StoreSettings(response_block_digests=True),
    ],
)
def test_other_records_are_written_where_they_are_asked_for(settings):
    """Whoever asks for fewer records, or for more in them, gets that."""
    usual = RecordWriter(StoreSettings()).group(fetch_of(), None, None)
    assert len(RecordWriter(settings).group(fetch_of(), None, None).data) != len(usual.data)


def test_something_else_than_a_fetch_is_refused():
    with pytest.raises(TypeError):
        ordinary_group(msgspec.structs.replace(fetch_of(), raw="text"), None, IDENTITY, DIGEST)
    with pytest.raises(TypeError):
        group._group.group(IDENTITY)


def test_the_time_grows_with_the_length_and_not_faster():
    """Of a head of a megabyte of what seems blank, each byte is looked at a few times."""
    for line in (b"\n \x85", b" ", b"\r", b"\n", b"\nTransfer-Encodin"):
        lines = line * (1_000_000 // len(line))
        fetch = fetch_of(head=b"HTTP/1.1 200 OK\r\nX: " + lines + b"x\r\n\r\n")
        assert least_cpu(partial(ordinary_group, fetch, None, IDENTITY, DIGEST)) < 0.5
