"""Response heads, as far as libcurl lets them through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.spider import SpiderSettings
from gossamer.outcomes import Outcome
from gossamer.spider.head import Head, read_head

SETTINGS = SpiderSettings()


def read(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK", end: bytes = b"\r\n") -> Head:
    return read_head([status + end, *(line + end for line in lines), end], SETTINGS)


def test_an_ordinary_head() -> None:
    head = read(b"Content-Type:  text/html ", b"X-A:b:c", b"Content-Length: 12")
    assert (head.status, head.version, head.complete, head.fault) == (200, "1.1", True, None)
    assert head.headers == (("content-type", "text/html"), ("x-a", "b:c"), ("content-length", "12"))
    assert head.content_length == 12
    assert head.raw.endswith(b"Content-Length: 12\r\n\r\n")


def test_trailers_and_interim_responses_are_not_the_head() -> None:
    lines = [b"HTTP/1.1 103 Early Hints\r\n", b"Link: </a>\r\n", b"\r\n"]
    lines += [b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n", b"Trailer: c\r\n"]
    head = read_head(lines, SETTINGS)
    assert (head.status, head.headers) == (200, (("a", "b"),))


def test_a_head_without_its_end_is_not_complete() -> None:
    assert not read_head([b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"], SETTINGS).complete
    assert not read_head([], SETTINGS).complete
    assert not read_head([b"HTTP/1.1 100 Continue\r\n", b"\r\n"], SETTINGS).complete


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([b"Content-Length: 5", b"Content-Length: 6"], Outcome.PROTO_FRAMING),
        ([b"Content-Length: 5, 6"], Outcome.PROTO_FRAMING),
        ([b"Content-Length: +5"], Outcome.PROTO_FRAMING),
        ([b"Content-Length: 0x5"], Outcome.PROTO_FRAMING),
        ([b"Content-Length: "], Outcome.PROTO_FRAMING),
        ([b"Content-Length: 5,"], Outcome.PROTO_FRAMING),
        (["Content-Length: \xb2".encode("latin-1")], Outcome.PROTO_FRAMING),
        ([b"Content-Length : 5"], Outcome.PROTO_HEADER),
        ([b"Transfer-Encoding\t: chunked"], Outcome.PROTO_HEADER),
        ([b"Transfer-Encoding: chunked, identity"], Outcome.PROTO_FRAMING),
        ([b"Transfer-Encoding: xchunked"], Outcome.PROTO_FRAMING),
        ([b"Transfer-Encoding: chunked, chunked"], Outcome.PROTO_FRAMING),
        ([b"Transfer-Encoding: gzip, chunked"], Outcome.BODY_ENCODING),
        ([b"X: a\rb"], Outcome.PROTO_HEADER),
        ([b"X: a\0b"], Outcome.PROTO_HEADER),
        ([b"X: " + b"y" * 70_000], Outcome.PROTO_HEADER_LIMIT),
        ([b"X: y"] * 1_001, Outcome.PROTO_HEADER_LIMIT),
        ([b"X: " + b"y" * 60_000] * 5, Outcome.PROTO_HEADER_LIMIT),
        ([b"Content-Length: 5, 5"], None),
        ([b"Content-Length: 5", b"content-length: 05"], None),
        ([b"Transfer-Encoding: Chunked"], None),
        ([b"Transfer-Encoding: identity"], None),
        ([b"X: y"] * 1_000, None),
    ],
)
def test_faults_of_the_head(lines: list[bytes], fault: Outcome | None) -> None:
    head = read(*lines)
    assert head.fault is fault
    assert bool(head.detail) == (fault is not None)


@pytest.mark.parametrize(
    ("status", "fault", "code"),
    [
        (b"HTTP/1.0 404", None, 404),
        (b"HTTP/2 200 ", None, 200),
        (b"HTTP/2.0 200 OK", Outcome.PROTO_VERSION, 200),
        (b"HTTP/1.1 1000 X", Outcome.PROTO_STATUS, 0),
        (b"HTTP/1.1 20x X", Outcome.PROTO_STATUS, 0),
        (b"HTTP/1.1 ", Outcome.PROTO_STATUS, 0),
    ],
)
def test_status_lines(status: bytes, fault: Outcome | None, code: int) -> None:
    head = read(status=status)
    assert (head.fault, head.status) == (fault, code)


def test_too_many_interim_responses() -> None:
    interim = [b"HTTP/1.1 100 Continue\r\n", b"\r\n"]
    assert read_head(interim * 16 + [b"HTTP/1.1 200 OK\r\n", b"\r\n"], SETTINGS).fault is None
    head = read_head(interim * 17 + [b"HTTP/1.1 200 OK\r\n", b"\r\n"], SETTINGS)
    assert head.fault is Outcome.PROTO_INTERIM


def test_cookies_beyond_fifty_are_dropped() -> None:
    """H29: 5,000 cookies are no reason to refuse a page, nor to keep them."""
    head = read(*[b"Set-Cookie: a=%d" % number for number in range(4_900)], b"X: y")
    assert head.fault is None
    assert len(head.headers) == 51
    assert head.flags == ("cookies_dropped",)


def test_lines_that_end_in_a_bare_line_feed() -> None:
    head = read(b"A: b", b"Content-Length: 3", end=b"\n")
    assert (head.headers, head.flags) == ((("a", "b"), ("content-length", "3")), ("bare_lf",))


def test_length_beside_chunked_is_ignored_and_the_connection_distrusted() -> None:
    head = read(b"Content-Length: 3", b"Transfer-Encoding: chunked")
    assert (head.content_length, head.chunked, head.ambiguous) == (None, True, True)
    assert head.flags == ("length_and_chunked",)


def test_codings_in_the_order_of_their_application() -> None:
    head = read(b"Content-Encoding: GZIP, identity", b"Content-Encoding: br")
    assert head.codings == ("gzip", "br")


@given(st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"") + b"\r\n")))
def test_any_lines_can_be_read(lines: list[bytes]) -> None:
    head = read_head(lines, SETTINGS)
    assert all(name == name.lower() and name for name, _ in head.headers)
