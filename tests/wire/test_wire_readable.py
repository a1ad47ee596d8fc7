"""What people see of a link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import GOLDEN, LINES, cut_at, orders, results

from gossamer.wire.lines import order_line
from gossamer.wire.readable import Kind, StreamReader, said_of, said_on
from gossamer.wire.results import Result, encode

AUTH = b"AUTH " + b"0" * 64 + b" " + b"1" * 64 + b"\n"
MOVED = (
    "RESULT 258 failure 301 redirected http://example.org/old -> https://example.org/new "
    "(12 ms, 6 bytes)"
)
STREAM = (GOLDEN / "stream.bin").read_bytes()


def whats(said):
    return [one.what for one in said]


def test_golden_results_are_one_line_each():
    assert [said.text for said in StreamReader().feed(STREAM)] == [
        "RESULT 1 success 200 ok http://example.org/ (250 ms, 36 bytes)",
        MOVED,
        "RESULT 16909060 failure - not_connected http://192.0.2.7:8080/a?b=c (3 ms, 0 bytes)",
    ]


def test_a_full_form_is_looked_into():
    (said,) = StreamReader().feed((GOLDEN / "full-form-coded.bin").read_bytes())
    assert said.text.endswith("(0 ms, 7 bytes, http.429 from 2001:db8::1)")
    assert (said.parts["raw_bytes"], said.parts["body_bytes"]) == (5, 7)


def test_a_code_of_somebody_else_is_shown_as_a_number():
    assert "code-77" in said_of(Result(1, False, 77, 0, 0, b"")).text


@pytest.mark.parametrize(
    ("line", "what"),
    [
        *((vector["line"].strip(), "order") for vector in LINES["orders"]),
        *((vector["line"].strip(), vector["kind"]) for vector in LINES["statuses"]),
        ("STORE gossamer 1", "STORE"),
        ("SAVED 7", "SAVED"),
        (AUTH.decode().strip(), "AUTH"),
        ("OK " + "0" * 64, "OK"),
        ("hello", "bad"),
        ("", "bad"),
    ],
)
def test_every_line_is_told_for_what_it_is(line, what):
    assert said_on(line.encode()).what == what


def test_an_over_long_line_is_told_and_not_shown():
    reader = StreamReader(Kind.LINES)
    assert whats(reader.feed(b"x" * 80_000 + b"\nDONE 7\n")) == ["bad", "DONE"]


@given(
    st.lists(results, min_size=1, max_size=3),
    st.booleans(),
    st.lists(st.integers(0, 2_000), max_size=6),
)
def test_results_are_found_out_with_and_without_a_handshake(sent, with_secret, places):
    """Wherever the stream is cut: the kind is decided by bytes, not by reads."""
    data = (AUTH if with_secret else b"") + b"".join(map(encode, sent))
    reader = StreamReader()
    said = [one for piece in cut_at(data, places) for one in reader.feed(piece)]
    assert whats(said) == ["AUTH"] * with_secret + ["result"] * len(sent)
    assert reader.end() is None


def test_the_byte_of_a_line_end_in_a_doc_id_makes_no_line_of_a_result():
    data = encode(Result(10, False, 0, 0, 0, b""))
    for place in range(1, len(data)):
        reader = StreamReader()
        assert whats([*reader.feed(data[:place]), *reader.feed(data[place:])]) == ["result"]


@given(
    st.lists(orders, min_size=1, max_size=3),
    st.booleans(),
    st.lists(st.integers(0, 2_000), max_size=6),
)
def test_lines_are_found_out_with_and_without_a_handshake(sent, with_secret, places):
    data = (AUTH if with_secret else b"") + b"".join(map(order_line, sent))
    reader = StreamReader()
    said = [one for piece in cut_at(data, places) for one in reader.feed(piece)]
    assert whats(said) == ["AUTH"] * with_secret + ["order"] * len(sent)


@given(
    st.lists(st.binary(max_size=100), max_size=5),
    st.sampled_from(Kind),
)
def test_any_bytes_can_be_looked_at(pieces, kind):
    reader = StreamReader(kind)
    for piece in pieces:
        reader.feed(piece)
    reader.end()


def test_what_came_before_nonsense_is_shown_and_nothing_after_it():
    reader = StreamReader(Kind.RESULTS)
    said = reader.feed(STREAM + b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n" + STREAM)
    assert whats(said) == ["result", "result", "result", "bad"]
    assert reader.is_lost
    assert reader.feed(STREAM) == []
    assert reader.end() is None


@pytest.mark.parametrize(
    ("data", "what"),
    [(STREAM[:-1], "result"), (b"DONE 7\nDON", "line"), (b"DO", "message"), (AUTH[:-1], "message")],
)
def test_an_unfinished_message_is_told_at_the_end(data, what):
    reader = StreamReader()
    reader.feed(data)
    assert f"within a {what}" in reader.end().text
