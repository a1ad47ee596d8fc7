"""Heads read in one go say what they say line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.spider import SpiderSettings
from gossamer.spider.head import Head, read_head
from gossamer.spider.plain_head import PlainHeads

SETTINGS = SpiderSettings()
OK = b"HTTP/1.1 200 OK"
NGINX = (
    b"Server: nginx/1.22.1",
    b"Date: Mon, 16 Nov 2026 19:01:43 GMT",
    b"Content-Type: text/html",
    b"Content-Length: 4000",
    b'ETag: "65-1"',
    b"Accept-Ranges: bytes",
)

lines = st.one_of(
    st.sampled_from(
        [
            *NGINX,
            b"content-length: 7",
            b"Content-Length:",
            b"Content-Length: 1234567890123456789",
            "Content-Length: \xb2".encode("latin-1"),
            b"Content-Encoding: gzip, br",
            b"Transfer-Encoding: chunked",
            b"Location: /a",
            b"Location: /b",
            b"Retry-After: 5",
            b"Set-Cookie: a=b",
            b" folded",
            b"No colon",
            b": no name",
            b"Spaced : value",
            b"X:\tvalue\t ",
            b"X: a\rb",
            b"X: a\nb",
            b"X: a\0b",
            b"X: caf\xe9",
            b"X: \x80",
            b"HTTP/1.1 200 OK",
        ]
    ),
    st.binary(max_size=30),
)
status_lines = st.one_of(
    st.sampled_from(
        [
            OK,
            b"HTTP/1.0 404 Not Found",
            b"HTTP/1.1 301",
            b"HTTP/1.1 100 Continue",
            b"HTTP/1.1 2000 OK",
            b"HTTP/1.2 200 OK",
            b"HTTP/1.1 200OK",
            b"HTTP/1.1  200 OK",
        ]
    ),
    st.binary(max_size=20).map(b"HTTP/1.1 ".__add__),
)


def of(*fields: bytes, status: bytes = OK) -> bytes:
    return b"\r\n".join((status, *fields, b"", b""))


def by_line(raw: bytes) -> Head:
    return read_head([line + b"\n" for line in raw.split(b"\n")[:-1]], SETTINGS)


def same_but_for_usual(head: Head) -> Head:
    head.is_usual = False
    return head


def test_heads_of_common_servers_are_plain() -> None:
    heads = PlainHeads(SETTINGS)
    data = of(*NGINX)
    for _ in range(2):
        head = heads.read(data + b"<p>body\r\n\r\n")
        assert head is not None
        assert head.is_usual
        assert head.raw == data
        assert head.content_length == 4000
        assert same_but_for_usual(head) == by_line(data)


@given(status_lines, st.lists(lines, max_size=6), st.binary(max_size=10))
def test_whatever_is_read_is_read_as_by_line(
    status: bytes, fields: list[bytes], rest: bytes
) -> None:
    data = of(*fields, status=status)
    # A second time: from what was remembered.
    heads = PlainHeads(SETTINGS)
    for _ in range(2):
        head = heads.read(data + rest)
        if head is not None:
            expected = by_line(head.raw)
            assert data.startswith(head.raw)
            assert expected.complete
            assert expected.fault is None
            assert same_but_for_usual(head) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"",
        OK + b"\r\n\r\n",
        of(*NGINX)[:-1],
        of(*NGINX).replace(b"\r\n", b"\n"),
        of(*NGINX, status=b"HTTP/1.1 100 Continue") + of(*NGINX),
        of(*NGINX, b" folded"),
        of(*NGINX, b"no colon"),
        of(*NGINX, b"Transfer-Encoding: chunked"),
        of(*NGINX, b"Content-Length: 4000"),
        of(b"Content-Length: 12345678901234567890"),
        of(b"Location: /a", b"Location: /a"),
        of(b"X: " + b"y" * SETTINGS.max_header_line_bytes),
        of(*[b"X: y"] * (SETTINGS.max_header_count + 1)),
        of(*[b"Set-Cookie: a=b"] * 51),
    ],
)
def test_what_needs_a_closer_look_is_not_read(data: bytes) -> None:
    assert PlainHeads(SETTINGS).read(data) is None


@pytest.mark.parametrize(
    "data",
    [
        of(*NGINX, status=b"HTTP/1.1 404 Not Found"),
        of(*NGINX, b"Content-Encoding: gzip"),
        of(*NGINX, b"Retry-After: 5"),
        of(b"Content-Type: text/html"),
    ],
)
def test_only_a_page_with_a_length_and_no_more_is_usual(data: bytes) -> None:
    head = PlainHeads(SETTINGS).read(data)
    assert head is not None
    assert not head.is_usual
    assert head == by_line(data)


def test_lines_by_the_thousand_are_not_all_remembered() -> None:
    heads = PlainHeads(SETTINGS)
    for number in range(20_000):
        data = of(b"X-%d: %d" % (number, number), status=OK + b" %d" % number)
        head = heads.read(data)
        assert head is not None
        assert head.headers == ((f"x-{number}", str(number)),)
    assert heads.remembered() <= 3 * 2_048


def test_lines_that_do_not_come_again_are_not_remembered() -> None:
    heads = PlainHeads(SETTINGS)
    remembered = set()
    for number in range(10):
        head = heads.read(of(*NGINX, b'ETag: "%d"' % number))
        assert head is not None
        assert head.headers[-1] == ("etag", f'"{number}"')
        remembered.add(heads.remembered())
    assert len(remembered) == 1
