"""Binary results: byte for byte as documented, in bounded memory, always in step."""

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from wire_samples import (
    GOLDEN,
    RESULTS,
    cut_at,
    golden_bytes,
    result_in,
    results,
    text_of,
)

from gossamer.errors import WireError
from gossamer.wire.results import HEADER, Result, ResultReader, encode

VECTORS = RESULTS["results"]
# Distinct bytes everywhere, so that no two fields can stand for each other.
DISTINCT = Result(0x01020304, True, 5, 6, 0x08090A0B, b"u" * 0x0C0D, b"n" * 0x0E0F, b"d" * 0x101112)


def named(vector):
    return vector["file"].removesuffix(".bin")


def read_by_the_document(data):
    """Read a stream with `struct` alone, from the table of the document and nothing of ours."""
    position, found = 0, []
    while position < len(data):
        (doc_id,) = struct.unpack_from(">L", data, position)
        success, specific, http, padding = data[position + 4 : position + 8]
        (milliseconds,) = struct.unpack_from(">L", data, position + 8)
        url_len, new_url_len = struct.unpack_from(">HH", data, position + 12)
        (length,) = struct.unpack_from(">L", data, position + 16)
        url_at = position + 20
        new_url_at = url_at + url_len
        document_at = new_url_at + new_url_len
        position = document_at + length
        found.append(
            {
                "doc_id": doc_id,
                "success": {0: False, 1: True}[success],
                "specific": specific,
                "http": http,
                "padding": padding,
                "milliseconds": milliseconds,
                "url": data[url_at:new_url_at],
                "new_url": data[new_url_at:document_at],
                "document": data[document_at:position],
            }
        )
    assert position == len(data)
    return found


@pytest.mark.req("S0.31", "S0.44", "S0.45")
@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_golden_results_are_read(vector):
    reader = ResultReader()
    assert reader.feed(golden_bytes(vector)) == [result_in(vector)]
    assert reader.waiting_bytes == 0


@pytest.mark.req("S0.31", "S0.44", "S0.45")
@pytest.mark.parametrize("vector", [v for v in VECTORS if v["padding"] < 2], ids=named)
def test_golden_results_are_written(vector):
    assert encode(result_in(vector)) == golden_bytes(vector)


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        pytest.param(0, 4, "01020304", id="doc_id", marks=pytest.mark.req("S0.32")),
        pytest.param(4, 5, "01", id="success", marks=pytest.mark.req("S0.33")),
        pytest.param(5, 6, "05", id="specific", marks=pytest.mark.req("S0.34")),
        pytest.param(6, 7, "06", id="http", marks=pytest.mark.req("S0.35")),
        pytest.param(7, 8, "00", id="padding", marks=pytest.mark.req("S0.36")),
        pytest.param(8, 12, "08090a0b", id="milliseconds", marks=pytest.mark.req("S0.37")),
        pytest.param(12, 14, "0c0d", id="url_len", marks=pytest.mark.req("S0.38")),
        pytest.param(14, 16, "0e0f", id="new_url_len", marks=pytest.mark.req("S0.39")),
        pytest.param(16, 20, "00101112", id="document_len", marks=pytest.mark.req("S0.40")),
        pytest.param(20, 20 + 0x0C0D, "75" * 0x0C0D, id="url", marks=pytest.mark.req("S0.41")),
        pytest.param(
            20 + 0x0C0D,
            20 + 0x0C0D + 0x0E0F,
            "6e" * 0x0E0F,
            id="new_url",
            marks=pytest.mark.req("S0.42"),
        ),
        pytest.param(
            20 + 0x0C0D + 0x0E0F,
            None,
            "64" * 0x101112,
            id="document",
            marks=pytest.mark.req("S0.43"),
        ),
    ],
)
def test_each_field_stands_where_the_document_says(start, stop, expected):
    data = encode(DISTINCT)
    assert data[start:stop].hex() == expected
    assert ResultReader().feed(data) == [DISTINCT]


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_a_reader_made_from_the_document_alone_agrees_with_the_vectors(vector):
    (read,) = read_by_the_document(golden_bytes(vector))
    assert len(golden_bytes(vector)) == vector["bytes"]
    for name in ("doc_id", "success", "specific", "http", "padding", "milliseconds"):
        assert read[name] == vector[name]
    assert read["url"] == text_of(vector["url"])
    assert read["new_url"] == text_of(vector["new_url"])
    assert read["document"].hex() == vector["document_hex"]


@pytest.mark.req("S0.31", "S0.44")
@given(st.lists(results, max_size=4))
def test_a_reader_made_from_the_document_alone_agrees_with_what_we_write(sent):
    data = b"".join(map(encode, sent))
    read = read_by_the_document(data)
    assert [(one["doc_id"], one["url"], one["document"]) for one in read] == [
        (one.doc_id, one.url, one.document) for one in sent
    ]
    assert ResultReader().feed(data) == sent


def test_the_golden_stream_has_nothing_between_results():
    vectors = {vector["file"]: vector for vector in VECTORS}
    expected = [result_in(vectors[name]) for name in RESULTS["stream"]["holds"]]
    data = (GOLDEN / RESULTS["stream"]["file"]).read_bytes()
    assert ResultReader().feed(data) == expected
    assert len(read_by_the_document(data)) == len(expected)


@pytest.mark.req("S0.45")
def test_the_header_is_twenty_bytes():
    assert HEADER.size == 20
    assert len(encode(Result(0, False, 0, 0, 0, b""))) == 20


@pytest.mark.req("S0.45")
@pytest.mark.parametrize(
    "change",
    [
        {"doc_id": 2**32},
        {"doc_id": -1},
        {"url": b"x" * 65_536},
        {"new_url": b"x" * 65_536},
        {"specific": 256},
        {"http": -1},
        {"form": 256},
    ],
    ids=str,
)
def test_what_does_not_fit_is_not_written(change):
    with pytest.raises(WireError):
        encode(structs.replace(Result(0, False, 0, 0, 0, b""), **change))


def test_times_beyond_the_field_are_the_longest_it_can_say():
    (read,) = ResultReader().feed(encode(Result(0, False, 0, 0, 2**40, b"")))
    assert read.milliseconds == 2**32 - 1


@given(
    st.lists(results, max_size=4),
    st.lists(st.integers(0, 10_000), max_size=12),
    st.integers(0, 400),
)
def test_results_are_the_same_wherever_the_stream_is_cut(sent, places, limit):
    """Also those of which the reader keeps a part only: it stays in step."""
    data = b"".join(map(encode, sent))
    reader = ResultReader(max_document_bytes=limit)
    read = [result for piece in cut_at(data, places) for result in reader.feed(piece)]
    assert read == [
        structs.replace(one, document=one.document[:limit], cut=len(one.document) > limit)
        for one in sent
    ]
    assert reader.waiting_bytes == 0


@given(results, st.integers(0, 10_000))
def test_a_result_comes_out_with_its_last_byte_and_not_before(result, place):
    data = encode(result)
    reader = ResultReader()
    assert reader.feed(data[:-1]) == []
    assert reader.waiting_bytes == len(data) - 1
    assert reader.feed(data[-1:]) == [result]


@given(st.binary(max_size=2_000), st.lists(st.integers(0, 2_000), max_size=5))
def test_garbage_raises_nothing_else_and_fills_no_memory(data, places):
    reader = ResultReader(max_document_bytes=100)
    try:
        for piece in cut_at(data, places):
            reader.feed(piece)
    except WireError as error:
        assert str(error).isprintable()  # noqa: PT017 - the message is about the garbage
    assert reader.waiting_bytes <= 20 + 2 * 65_535 + 100


@given(st.lists(results, max_size=3), st.lists(st.integers(0, 2_000), max_size=5))
def test_what_came_before_nonsense_comes_out_wherever_the_stream_is_cut(sent, places):
    data = b"".join(map(encode, sent)) + b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
    reader, read = ResultReader(), []
    for piece in cut_at(data, places):
        try:
            read += reader.feed(piece)
        except WireError:
            break
    assert read == sent
    assert reader.waiting_bytes == 0
    with pytest.raises(WireError):
        reader.feed(encode(Result(0, False, 0, 0, 0, b"")))


def test_text_is_no_result():
    """Somebody who calls the wrong port is found out by the first header."""
    with pytest.raises(WireError, match="success"):
        ResultReader().feed(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")


@pytest.mark.req("S0.33")
@pytest.mark.parametrize("success", [2, 255])
def test_success_is_0_or_1(success):
    with pytest.raises(WireError, match="success"):
        ResultReader().feed(struct.pack("!IBBBBIHHI", 1, success, 0, 0, 0, 0, 0, 0, 0))


@pytest.mark.parametrize("url", [b"http://a/\n", b"a b", b"\xff", b"\0"])
def test_a_url_that_no_order_can_have_is_a_reader_out_of_step(url):
    header = struct.pack("!IBBBBIHHI", 1, 0, 0, 0, 0, 0, len(url), 0, 0)
    with pytest.raises(WireError, match="URL"):
        ResultReader().feed(header + url)
    with pytest.raises(WireError, match="URL"):
        encode(Result(1, False, 0, 0, 0, url))


def test_a_document_of_gigabytes_takes_no_memory():
    """What exceeds the limit is thrown away as it comes; the next result is found."""
    limit, length, piece = 100_000, 64_000_000, b"x" * 65_536
    url = b"http://example.org/big"
    reader = ResultReader(max_document_bytes=limit)
    tracemalloc.start()
    found = reader.feed(struct.pack("!IBBBBIHHI", 1, 1, 0, 10, 0, 5, len(url), 0, length) + url)
    sent = 0
    while sent < length:
        part = piece[: length - sent]
        found += reader.feed(part)
        sent += len(part)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (big,) = found
    assert big.cut
    assert len(big.document) == limit
    assert peak < 4 * limit
    assert reader.feed(encode(Result(2, True, 0, 10, 1, url))) == [Result(2, True, 0, 10, 1, url)]


def test_single_bytes_take_no_more_memory_than_whole_pieces():
    limit = 200_000
    reader = ResultReader(max_document_bytes=limit)
    reader.feed(struct.pack("!IBBBBIHHI", 1, 1, 0, 10, 0, 5, 0, 0, 2**32 - 1))
    tracemalloc.start()
    for _ in range(limit - 1):
        reader.feed(b"x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reader.waiting_bytes == 20 + limit - 1
    assert peak < 3 * limit
