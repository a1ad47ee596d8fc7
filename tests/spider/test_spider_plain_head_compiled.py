"""The compiled part reads heads as plain_head.py does, or not at all."""

import socket
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_heads import FIELDS, LENGTHS, heads

from gossamer.config.spider import SpiderSettings
from gossamer.spider import plain_head
from gossamer.spider.head import Head
from gossamer.spider.plain_head import PlainHeads

pytestmark = pytest.mark.skipif(
    not plain_head.is_compiled(), reason="gossamer.spider._plain_head is missing"
)
SETTINGS = SpiderSettings()
USUAL = b"\r\n".join((b"HTTP/1.1 200 OK", *FIELDS[:9], LENGTHS[0], b"", b""))


def reader(max_end: int = 16_000, max_lines: int = 100) -> "plain_head._plain_head.Reader":
    return plain_head._plain_head.Reader(Head, max_end, max_lines)


def by_python(data: bytes) -> Head | None:
    return PlainHeads(SETTINGS).read(data)


def test_what_it_reads_is_what_python_reads() -> None:
    """Also when lines are remembered, and when others have taken their places."""
    compiled, read = reader(), 0
    made = heads(Random(3), 6_000)
    for data in made:
        head = compiled.read(data)
        if head is not None:
            read += 1
            assert head == by_python(data)
    assert len(made) / 3 < read < len(made)


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=10))
def test_any_bytes_are_read_as_by_python(status: bytes, field: bytes, rest: bytes) -> None:
    compiled = reader()
    for data in (
        status + rest,
        b"HTTP/1.1 200 " + status + b"\r\nContent-Length: 1\r\n\r\n" + rest,
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" + field + b"\r\n\r\n" + rest,
        b"HTTP/1.1 200 OK\r\nX: " + field + b"\r\nContent-Length:" + status + b"\r\n\r\n" + rest,
    ):
        for _ in range(2):
            assert compiled.read(data) in (None, by_python(data))


@given(st.integers(0, 255))
def test_each_letter_is_in_names_where_python_has_it(letter: int) -> None:
    for data in (
        b"HTTP/1.1 200 OK\r\nX%b: y\r\nContent-Length: 1\r\n\r\n" % bytes((letter,)),
        b"HTTP/1.1 200 OK\r\nX: %b\r\nContent-Length: 1\r\n\r\n" % bytes((letter,)),
    ):
        head = reader().read(data)
        assert head == (by_python(data) if letter < 128 else None)


def test_usual_heads_are_read() -> None:
    head = reader().read(USUAL + b"body")
    assert head == by_python(USUAL)
    assert head.is_usual


def test_limits_are_those_of_python() -> None:
    settings = SpiderSettings(max_header_bytes=len(USUAL), max_header_count=11)
    for more in (b"", b"X: y\r\n", b"X:\r\n", b"\r\n"):
        data = USUAL[:-2] + more + b"\r\n"
        heads = PlainHeads(settings)
        compiled = reader(heads._max_end, heads._max_lines)
        assert compiled.read(data) == heads.read(data)
    assert reader(max_lines=11).read(USUAL) is not None
    assert reader(max_lines=10).read(USUAL) is None
    assert reader(max_end=len(USUAL) - 3).read(USUAL) is not None
    assert reader(max_end=len(USUAL) - 4).read(USUAL) is None


def test_lines_by_the_thousand_are_read_rightly() -> None:
    """There are fewer places than lines: each is told from what is in its place."""
    compiled = reader()
    for number in range(20_000):
        data = b"HTTP/1.1 200 OK\r\nX-%d: %d\r\nContent-Length: 1\r\n\r\n" % (number, number % 7)
        assert compiled.read(data).headers[0] == (f"x-{number}", str(number % 7))


def test_a_look_takes_nothing_away() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        compiled = reader()
        with pytest.raises(BlockingIOError):
            compiled.peek(ours.fileno())
        theirs.sendall(USUAL[:-1])
        assert compiled.peek(ours.fileno()) == USUAL[:-1]
        theirs.sendall(USUAL[-1:] + b"body")
        assert compiled.peek(ours.fileno()) == by_python(USUAL)
        assert ours.recv(10_000) == USUAL + b"body"
        theirs.sendall(b"x" * 5_000)
        assert compiled.peek(ours.fileno()) == b"x" * 4_096
        assert len(ours.recv(10_000)) == 5_000
        theirs.close()
        assert compiled.peek(ours.fileno()) == b""


def test_what_is_no_connection_is_an_error() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        reader().peek(-1)
    with pytest.raises(TypeError):
        reader().peek("1")
    with pytest.raises(TypeError):
        reader().read("text")
    with pytest.raises(TypeError):
        plain_head._plain_head.Reader(Head, max_end=1, max_lines=1)
