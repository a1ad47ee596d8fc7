"""The link between URL Server and Spider: both dialects in, one out, nonsense without harm."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import LINES, cut_at, orders

from gossamer.errors import WireError
from gossamer.wire import lines
from gossamer.wire.lines import Credit, Finished, LineReader, Order, Patience, Working

WRITERS = {"GET": lines.credit_line, "WORKING": lines.working_line, "DONE": lines.done_line}
KINDS = {"GET": Credit, "WORKING": Working, "DONE": Finished}


def said(vector):
    return vector["line"].strip()


def order_in(vector):
    return Order(
        vector["trans_id"], vector["doc_id"], vector["address"], vector["host"], vector["url"]
    )


def read_lines(data):
    return LineReader().feed(data)


@pytest.mark.req("S0.16", "S1.28", "S1.31")
@pytest.mark.parametrize("vector", LINES["orders"], ids=said)
def test_golden_orders_are_read(vector):
    """Orders with four and with five fields are understood, IPv4 and IPv6."""
    (line,) = read_lines(vector["line"].encode("ascii"))
    assert lines.parse_order(line) == order_in(vector)


@pytest.mark.req("S0.16", "S1.31")
@pytest.mark.parametrize("vector", [v for v in LINES["orders"] if v["written"]], ids=said)
def test_golden_orders_are_written(vector):
    """What we write has five fields, single spaces and LF, in ASCII."""
    assert lines.order_line(order_in(vector)) == vector["line"].encode("ascii")


@pytest.mark.req("S0.15", "S0.17", "S0.18", "S1.30", "S1.31", "S1.32")
@pytest.mark.parametrize("vector", LINES["statuses"], ids=said)
def test_golden_statuses_are_read(vector):
    """GET, and WORKING and DONE with the keyword first and with the id first."""
    (line,) = read_lines(vector["line"].encode("ascii"))
    read = lines.parse_status(line)
    assert type(read) is KINDS[vector["kind"]]
    assert read == KINDS[vector["kind"]](vector["number"])


@pytest.mark.req("S0.15", "S0.17", "S0.18")
@pytest.mark.parametrize("vector", [v for v in LINES["statuses"] if v["written"]], ids=said)
def test_golden_statuses_are_written(vector):
    """What we write has the keyword first."""
    assert WRITERS[vector["kind"]](vector["number"]) == vector["line"].encode("ascii")


@pytest.mark.req("S1.31")
@pytest.mark.parametrize("text", LINES["bad"]["orders"], ids=repr)
def test_what_is_no_order_is_refused(text):
    with pytest.raises(WireError):
        lines.parse_order(text.encode())


@pytest.mark.req("S1.31")
@pytest.mark.parametrize("text", LINES["bad"]["statuses"], ids=repr)
def test_what_is_no_status_is_refused(text):
    with pytest.raises(WireError):
        lines.parse_status(text.encode())


@pytest.mark.parametrize(
    ("write", "number"),
    [
        (lines.credit_line, 0),
        (lines.credit_line, 2**31),
        (lines.working_line, -1),
        (lines.done_line, 2**64),
    ],
)
def test_numbers_out_of_range_are_not_written(write, number):
    with pytest.raises(WireError, match="out of range"):
        write(number)


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://exämple.org/"},
        {"url": "http://example.org/a b"},
        {"url": "http://example.org/\n8 8 192.0.2.1 a http://a/"},
        {"host": "a b"},
        {"host": ""},
        {"host": "x" * 2_000},
        {"address": "example.org"},
        {"doc_id": 2**32},
        {"trans_id": -1},
        {"url": "http://example.org/" + "x" * 65_535},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_order_that_would_be_misread_is_not_written(change):
    """No URL of a hostile page can become a second order."""
    good = {
        "trans_id": 1,
        "doc_id": 1,
        "address": "192.0.2.1",
        "host": "example.org",
        "url": "http://example.org/",
    }
    with pytest.raises(WireError):
        lines.order_line(Order(**good | change))


def test_the_longest_order_fits_a_line():
    """No order that may be written is longer than what a reader must take."""
    url = "http://example.org/".ljust(lines.MAX_URL_BYTES, "x")
    order = Order(2**64 - 1, 2**32 - 1, "ffff:" * 7 + "ffff", "h" * 1_024, url)
    line = lines.order_line(order)
    assert len(line) <= lines.MAX_LINE_BYTES
    assert read_lines(line) == [line[:-1]]


@given(orders)
def test_orders_come_back_as_they_were(order):
    (line,) = read_lines(lines.order_line(order))
    assert lines.parse_order(line) == order


@given(st.integers(0, 2**64 - 1))
def test_both_dialects_of_a_status_mean_the_same(trans_id):
    for keyword in ("WORKING", "DONE"):
        first = lines.parse_status(f"{keyword} {trans_id}".encode())
        assert first == lines.parse_status(f"{trans_id} {keyword}".encode())


@given(st.binary(max_size=200))
def test_garbage_raises_nothing_else(data):
    for parse in (lines.parse_order, lines.parse_status):
        try:
            parse(data)
        except WireError as error:
            assert str(error).isprintable()  # noqa: PT017 - the message is about the garbage


@given(
    st.lists(st.binary(max_size=30).map(lambda piece: piece.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(0, 10_000), max_size=10),
)
def test_lines_are_the_same_wherever_the_stream_is_cut(pieces, places):
    """Short lines, empty ones, over-long ones: how TCP cuts them makes no difference."""
    data = b"\n".join(pieces)
    whole = LineReader(max_bytes=12)
    cut = LineReader(max_bytes=12)
    expected = whole.feed(data)
    assert [line for piece in cut_at(data, places) for line in cut.feed(piece)] == expected
    assert cut.waiting_bytes == whole.waiting_bytes <= 12


@given(st.lists(st.integers(0, 60), max_size=8))
def test_an_over_long_line_is_told_once_for_each_limit_it_exceeds(lengths):
    data = b"".join(b"x" * length + b"\n" for length in lengths)
    read = LineReader(max_bytes=12).feed(data)
    expected = []
    for length in lengths:
        expected += [b"x" * length] if length <= 12 else [None] * ((length - 1) // 12)
    assert read == expected


@pytest.mark.req("S1.31")
def test_the_limit_is_70_000_bytes():
    reader = LineReader()
    assert reader.feed(b"x" * 70_000 + b"\n") == [b"x" * 70_000]
    assert reader.feed(b"x" * 70_001 + b"\nDONE 7\n") == [None, b"DONE 7"]


def test_a_line_without_end_takes_no_memory_and_uses_up_the_patience():
    """A gigabyte without LF would be thrown away as it comes, long after the link is closed."""
    reader, patience = LineReader(), Patience()
    piece = b"x" * 65_536
    tracemalloc.start()
    lost = False
    for _ in range(1_000):
        for line in reader.feed(piece):
            assert line is None
            lost = patience.bad() or lost
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lost
    assert reader.waiting_bytes == 0
    assert peak < 1_000_000


def test_ten_bad_lines_in_a_row_are_too_many():
    patience = Patience()
    assert [patience.bad() for _ in range(10)] == [False] * 9 + [True]


def test_a_good_line_makes_up_for_bad_ones():
    patience = Patience()
    for _ in range(5):
        assert not any(patience.bad() for _ in range(9))
        patience.good()
