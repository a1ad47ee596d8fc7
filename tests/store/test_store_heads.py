"""Heads are written so that every reader finds the body."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gossamer.store.heads import (
    BLANK_BYTES,
    ended_head,
    media_type_of,
    protocol_of,
    split_block,
    status_of,
    stored_head,
)

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n"
PIECES = st.lists(
    st.sampled_from(
        [
            b"HTTP/1.1 200 OK",
            b"HTTP/2 204",
            b"X: y",
            b"Transfer-Encoding: chunked",
            b"content-length : 7",
            b"\r\n",
            b"\n",
            b"\r",
            b" ",
            b"\t",
            b"\x85",
            b"\xa0",
            b"\x1c",
            b"\x00",
            b"a",
        ]
    ),
    max_size=20,
).map(b"".join)


def test_an_ordinary_head_is_kept_to_the_byte():
    assert stored_head(PLAIN, 3) == PLAIN


def test_lines_ended_by_line_feeds_are_kept_to_the_byte():
    head = b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n"
    assert stored_head(head, 3) == head


def test_a_removed_transfer_coding_is_not_announced():
    head = b"HTTP/1.1 200 OK\r\nTRANSFER-encoding : chunked\r\nContent-Length: 99\r\nA: b\r\n\r\n"
    assert stored_head(head, 3) == (
        b"HTTP/1.1 200 OK\r\nX-Archive-Orig-TRANSFER-encoding : chunked\r\n"
        b"X-Archive-Orig-Content-Length: 99\r\nA: b\r\nContent-Length: 3\r\n\r\n"
    )


def test_a_value_that_mentions_a_transfer_coding_does_not_matter():
    head = b"HTTP/1.1 200 OK\r\nVary: Transfer-Encoding\r\n\r\n"
    assert stored_head(head, 3) == head


@pytest.mark.parametrize(
    ("head", "line", "protocol"),
    [
        (b"HTTP/2 200\r\na: b\r\n\r\n", b"HTTP/1.1 200 OK\r\na: b\r\n\r\n", b"h2"),
        (b"HTTP/2 200 \r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"h2"),
        (b"HTTP/3 404 Gone fishing\r\n\r\n", b"HTTP/1.1 404 Gone fishing\r\n\r\n", b"h3"),
        (b"HTTP/2 799\r\n\r\n", b"HTTP/1.1 799 Unknown\r\n\r\n", b"h2"),
        (b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n", b""),
        (b"HTTP/1.2 200 OK\r\n\r\n", b"HTTP/1.2 200 OK\r\n\r\n", b""),
    ],
)
def test_newer_versions_are_written_as_text(head, line, protocol):
    assert stored_head(head, 0) == line
    assert protocol_of(head) == protocol


def test_of_several_heads_the_last_is_kept():
    assert ended_head(b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" + PLAIN) == PLAIN


def test_a_line_of_spaces_does_not_end_a_head():
    head = b"HTTP/1.1 200 OK\r\nA: b\r\n \t\r\nC: d\r\n\r\n"
    assert ended_head(head) == b"HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"


@given(PIECES, st.binary(max_size=40))
def test_the_body_is_found_behind_any_head(head, raw):
    """Whatever a server sent as its head, no reader takes a part of it for the body."""
    assume(head.strip(BLANK_BYTES))
    stored = stored_head(head, len(raw))
    assert split_block(stored + raw) == (stored, raw)
    lines = stored.decode("latin-1").split("\n")
    assert all(line.strip() for line in lines[:-2])
    assert not re.search(rb"^transfer-encoding[ \t]*:", stored, re.IGNORECASE | re.MULTILINE)


@given(PIECES)
def test_storing_a_head_again_changes_nothing(head):
    stored = stored_head(head, 5)
    assert stored_head(stored, 5) == stored


def test_status_and_media_type_are_read_from_a_head():
    assert status_of(PLAIN) == 200
    assert media_type_of(PLAIN) == "text/html"
    assert status_of(b"HTTP/1.1 abc\r\n\r\n") == 0
    assert (
        media_type_of(b"HTTP/1.1 200 OK\r\nCONTENT-TYPE:Text/HTML;charset=x\r\n\r\n") == "text/html"
    )
    assert media_type_of(b"HTTP/1.1 200 OK\r\nContent-Type: nonsense\r\n\r\n") == ""
    assert media_type_of(b'HTTP/1.1 200 OK\r\nContent-Type: a"b/c\r\n\r\n') == ""
    assert media_type_of(b"HTTP/1.1 200 OK\r\n\r\n") == ""
