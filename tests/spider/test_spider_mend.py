"""Heads that are mended before libcurl sees them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.spider.mend import Mended, Passed, inspect, is_head_end_after

GOOD = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello"


def mended(data: bytes) -> Mended:
    found = inspect(data)
    assert isinstance(found, Mended)
    return found


def test_an_ordinary_head_passes() -> None:
    assert inspect(GOOD) == Passed()
    assert inspect(GOOD.replace(b"Server: x", b"Transfer-Encoding: chunked")) == Passed(
        chunked=True
    )


@pytest.mark.parametrize("size", range(GOOD.index(b"\r\n\r\n") + 4))
def test_part_of_a_head_is_waited_for(size: int) -> None:
    assert inspect(GOOD[:size]) is None
    assert inspect(GOOD.replace(b"/1.1", b"/1.4")[:size]) is None


@pytest.mark.parametrize(
    "data",
    [b"SSH-2.0-x\r\n", b"<html>", b"ICY 200 OK", b"HTTP/2.0 200 OK\r\n", b"HTTP/1.1 99 X\r\n"],
)
def test_what_is_no_http_1_passes_at_once(data: bytes) -> None:
    assert inspect(data) == Passed()


def test_minor_versions_mean_nothing() -> None:
    found = mended(GOOD.replace(b"/1.1", b"/1.7"))
    assert found.replacement == GOOD.removesuffix(b"hello")
    assert found.flags == ("version_unusual",)


def test_lines_without_a_colon_are_dropped_with_their_continuation() -> None:
    data = (
        b"HTTP/1.1 200 OK\r\nno\r\n more of it\r\nA: b\r\n c\r\nnot\r\n\r\nbody without colon\r\n"
    )
    found = mended(data)
    assert found.replacement == b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"
    assert found.original + b"body without colon\r\n" == data
    assert found.head == found.original
    assert found.flags == ("header_dropped",)


def test_the_body_is_not_looked_at() -> None:
    assert inspect(b"HTTP/1.1 200 OK\nA: b\n\nno colon\r\nhere\r\n\r\n") == Passed()


def test_interim_responses_come_before_the_head() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    assert inspect(interim) is None
    assert inspect(interim + GOOD) == Passed()
    found = mended(interim + GOOD.replace(b"Server: x", b"Server"))
    assert found.head.startswith(b"HTTP/1.1 200 OK")
    assert found.replacement.startswith(interim + b"HTTP/1.1 200 OK\r\nContent-Length")


def test_cookies_by_the_thousand() -> None:
    cookies = b"".join(b"Set-Cookie: c%d=1\r\n" % number for number in range(6_000))
    found = mended(GOOD.replace(b"Server: x\r\n", cookies + b"Server: x\r\n"))
    assert found.replacement.count(b"Set-Cookie") == 1_000
    assert b"Server: x\r\n" in found.replacement


@given(st.binary(max_size=200), st.integers(0, 200))
def test_what_is_mended_needs_no_mending(data: bytes, cut: int) -> None:
    """For any bytes there is an answer, and a mended head passes."""
    whole = b"HTTP/1.1 200 OK\r\n" + data + b"\r\n\r\n"
    found = inspect(whole)
    assert found is not None
    if isinstance(found, Mended):
        assert isinstance(inspect(found.replacement), Passed)
        assert whole.startswith(found.original)
    inspect(whole[:cut])


PIECES = st.sampled_from(
    [b"\r", b"\n", b"\r\n", b"\r\n\r\n", b":", b"a", b"a: b\r\n", b" ", b"chunked", b"HTTP/1.1 200"]
)


@given(st.sampled_from([b"HTTP/1.1 200", b"HTTP/1.0 404 X", b"HTTP/1.2 200"]), st.lists(PIECES))
def test_a_head_is_judged_alike_behind_an_interim_one(start: bytes, pieces: list[bytes]) -> None:
    """The short way to see that a head is fit is taken by first heads only."""
    data = start + b"".join(pieces)
    alone, behind = inspect(data), inspect(b"HTTP/1.1 103 Early Hints\r\n\r\n" + data)
    if isinstance(alone, Mended):
        assert isinstance(behind, Mended)
        assert (alone.head, alone.flags) == (behind.head, behind.flags)
    else:
        assert alone == behind


@given(st.binary(max_size=50), st.integers(0, 50))
def test_the_end_is_found_though_it_is_cut(data: bytes, cut: int) -> None:
    whole = data + b"\r\n\r\n"
    seen = whole[:cut]
    if not is_head_end_after(seen, 0):
        assert is_head_end_after(whole, len(seen))
