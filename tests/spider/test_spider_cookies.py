"""Cookies: kept for the one repetition of a page that waits for its own, and for nothing else."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rawserver import Connection, RawServer, page

from conftest import MakeSpider, fetch_one, visit
from gossamer.messages import Kind
from gossamer.outcomes import Outcome
from gossamer.spider.cookies import Cookies, cookie_value

NOW = 1_800_000_000.0
SET = (("set-cookie", "a=1"),)


def value_of(*lines: str) -> str:
    return cookie_value([("set-cookie", line) for line in lines], NOW)


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (("a=1",), "a=1"),
        (("a=1; Path=/x; HttpOnly", "b=2;Secure"), "a=1; b=2"),
        (("a=1", "a=2"), "a=2"),
        ((" a = x=y ",), "a=x=y"),
        (('a="q r"',), 'a="q r"'),
        (("a=",), "a="),
        (("a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",), "a=1"),
        (("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT",), "a=1"),
        (("a=1; Expires=one day; Max-Age=long",), "a=1"),
        (("a=1", "a=x; Max-Age=0"), ""),
        (("a=x; max-age=-5", "b=1"), "b=1"),
        (("a=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT",), ""),
        (("a", "=b", "", ";"), ""),
        (("a=\x00", "b=caf\xe9", "c=1\rX: y"), ""),
        (("a=" + "x" * 5_000,), ""),
        ((), ""),
    ],
)
def test_what_is_given_back(lines: tuple[str, ...], value: str) -> None:
    assert value_of(*lines) == value


@given(st.lists(st.text(max_size=40), max_size=5))
def test_nothing_given_back_can_start_another_header(lines: list[str]) -> None:
    value = value_of(*lines)
    assert value.isascii()
    assert value.isprintable()


def test_a_cookie_is_for_one_url_and_for_one_time() -> None:
    cookies = Cookies()
    cookies.keep(visit(1, "http://a.example/x"), SET, NOW)
    assert cookies.take("http://b.example/x") == ""
    assert cookies.take("http://a.example/x") == "a=1"
    assert cookies.take("http://a.example/x") == ""


def test_nothing_is_kept_for_a_url_that_is_not_asked_for_again() -> None:
    cookies = Cookies()
    cookies.keep(visit(1, "http://a.example/x", tries=1), SET, NOW)
    cookies.keep(visit(1, "http://a.example/robots.txt", kind=int(Kind.ROBOTS)), SET, NOW)
    cookies.keep(visit(1, "http://a.example/y"), (), NOW)
    assert len(cookies) == 0


def test_what_nobody_comes_back_for_makes_room() -> None:
    cookies = Cookies()
    for number in range(1_500):
        cookies.keep(visit(number, f"http://a.example/{number}"), SET, NOW)
    assert len(cookies) == 1_000
    assert cookies.take("http://a.example/0") == ""
    assert cookies.take("http://a.example/1499") == "a=1"


def _ask_for_cookie(connection: Connection) -> bool:
    if b"\r\nCookie: seen=yes; b=2\r\n" in connection.request:
        connection.send(page(b"welcome"))
    else:
        lines = (b"Location: /wall", b"Set-Cookie: seen=yes; Path=/", b"Set-Cookie: b=2")
        connection.send(page(b"", *lines, status=b"302 Found"))
    return True


def _unchanged(connection: Connection) -> bool:
    if b"Cookie:" in connection.request:
        connection.send(b"HTTP/1.1 304 Not Modified\r\nX-Keep: yes\r\n\r\n")
    else:
        lines = (b"Location: /unchanged", b"Set-Cookie: a=1")
        connection.send(page(b"", *lines, status=b"302 Found"))
    return True


@pytest.fixture
def server() -> Iterator[RawServer]:
    with RawServer({"wall": _ask_for_cookie, "unchanged": _unchanged, "x": page(b"x")}) as server:
        yield server


@pytest.mark.req("S0.29")
def test_a_page_gets_its_cookie_back_once(server: RawServer, make_spider: MakeSpider) -> None:
    """H76: allowed once; before and after it nobody gets a cookie."""
    spider = make_spider()
    wall, other = (f"http://a.example:{server.port}/{path}" for path in ("wall", "x"))
    assert fetch_one(spider, wall).outcome is Outcome.REDIR_LOOP
    assert fetch_one(spider, other, tries=1).outcome is Outcome.OK
    elsewhere = wall.replace("a.example", "b.example")
    assert fetch_one(spider, elsewhere, tries=1).outcome is Outcome.REDIR_LOOP
    assert not any(b"Cookie" in request for request in server.requests)
    shown = fetch_one(spider, wall, tries=1, etag='"1"')
    assert (shown.outcome, shown.body) == (Outcome.OK, b"welcome")
    assert shown.request_head == server.requests[-1]
    assert b'If-None-Match: "1"\r\nCookie: seen=yes; b=2\r\n' in shown.request_head
    assert fetch_one(spider, other).outcome is Outcome.OK
    assert fetch_one(spider, wall, tries=1).outcome is Outcome.REDIR_LOOP
    assert sum(b"Cookie" in request for request in server.requests) == 1


def test_a_cookie_makes_no_request_conditional(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider()
    url = f"http://a.example:{server.port}/unchanged"
    assert fetch_one(spider, url).outcome is Outcome.REDIR_LOOP
    assert fetch_one(spider, url, tries=1).outcome is Outcome.PROTO_STATUS


def test_no_cookie_joins_that_of_the_user(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider(headers={"cookie": "mine=1"})
    url = f"http://a.example:{server.port}/wall"
    assert fetch_one(spider, url).outcome is Outcome.REDIR_LOOP
    assert fetch_one(spider, url, tries=1).outcome is Outcome.REDIR_LOOP
    assert all(request.count(b"ookie:") == 1 for request in server.requests)
    assert all(b"cookie: mine=1\r\n" in request for request in server.requests)
