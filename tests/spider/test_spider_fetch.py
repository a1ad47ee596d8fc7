"""How a visit becomes a fetch, against a real server."""

import errno
import gzip
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from rawserver import Connection, RawServer, chunked, page

from conftest import LOOPBACK, QUICK, MakeSpider, fetch_all, fetch_one, visit
from gossamer.clock import SystemClock
from gossamer.config.spider import SpiderSettings
from gossamer.config.url import UrlSettings
from gossamer.errors import ConfigError
from gossamer.messages import Kind, Manner
from gossamer.outcomes import Outcome
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy
from held_ports import HeldPort


def _slow(connection: Connection) -> bool:
    time.sleep(0.25)
    connection.send(page(b"slow page"))
    return True


def _hang(connection: Connection) -> bool:
    connection.hang()
    return False


def _not_modified(connection: Connection) -> bool:
    if b"If-None-Match:" in connection.request:
        connection.send(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 7\r\n\r\n')
    else:
        connection.send(page(b"whole", b'ETag: "1"'))
    return True


def _keep_once(connection: Connection) -> bool:
    """Promise to keep the connection, then close it."""
    connection.send(page(b"promised"))
    return False


def _close_second(connection: Connection) -> bool:
    """Close a connection on its second request without a word."""
    if connection.number > 1:
        return False
    connection.send(page(b"answered"))
    return True


def _last_words(connection: Connection) -> bool:
    """Answer, and say in the same breath that nothing will follow; but go on listening."""
    connection.send(page(b"last words"))
    connection.peer.shutdown(socket.SHUT_WR)
    connection.hang()
    return False


def _half_and_hang(connection: Connection) -> bool:
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"k" * 40)
    connection.hang()
    return False


@pytest.fixture
def server() -> Iterator[RawServer]:
    behaviours = {
        "": page(b"root"),
        "a": page(b"page a", b"X-Twice: 1", b"X-Twice: 2"),
        "b": page(b"page b"),
        "chunked": chunked(b"one ", b"two", lines=(b"X-Keep: yes",)),
        "tabbed": page(b"tabbed", b"X-Wide: one\ttwo"),
        "interim": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + page(b"late"),
        "slow": _slow,
        "hang": _hang,
        "known": _not_modified,
        "keep-once": _keep_once,
        "close-second": _close_second,
        "last-words": _last_words,
        "half": _half_and_hang,
        "moved": page(b"moved", b"Location: /a?q=1#part", status=b"301 Moved"),
        "utf-8": page(b"", "Location: /caf\xe9".encode(), status=b"302 Found"),
        "busy": page(b"", b"Retry-After: 120", status=b"503 Busy"),
        "large": page(b"z" * 50_000),
        "large-gzip": page(gzip.compress(b"z" * 50_000), b"Content-Encoding: gzip"),
        "error": page(b"z" * 100_000, status=b"404 Not Found"),
        "clte": chunked(b"x", lines=(b"Content-Length: 1", b"X-Keep: yes")),
        "204": page(b"late", status=b"204 No Content"),
    }
    with RawServer(behaviours) as server:
        yield server


def url(server: RawServer, path: str, host: str = "a.example") -> str:
    return f"http://{host}:{server.port}/{path}"


@pytest.mark.req("S0.1", "S0.2", "S0.3", "S0.11", "S0.25")
def test_a_fetch_tells_all_about_a_page(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider()
    before_wall, before = time.time(), time.monotonic()
    fetch = fetch_one(spider, url(server, "a"), depth=3)
    assert (fetch.outcome, fetch.status, fetch.http_version) == (Outcome.OK, 200, "1.1")
    assert fetch.success
    assert fetch.visit.depth == 3
    assert fetch.body == b"page a"
    assert fetch.raw is fetch.body, "an uncoded body is not copied"
    assert fetch.head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert fetch.head.endswith(b"X-Keep: yes\r\n\r\n")
    assert fetch.headers[:2] == (("x-twice", "1"), ("x-twice", "2"))
    assert fetch.header("content-type") == "text/html"
    assert fetch.address == "127.0.0.1"
    assert before_wall <= fetch.fetched_at <= time.time()
    assert before <= fetch.sent_at <= time.monotonic()
    assert 0 <= fetch.milliseconds < 5_000
    assert fetch.redirect_to is None
    assert fetch.flags == ()


@pytest.mark.parametrize("path", ["", "a", "b?x=%7B&y=/../z|", "a;p?", "b?a=b?c"])
def test_the_request_head_is_byte_for_byte_what_the_server_got(
    path: str, server: RawServer, make_spider: MakeSpider
) -> None:
    spider = make_spider(headers={"From": "someone@example.org", "Accept": "text/html"})
    server.behaviours["a;p"] = page()
    fetch = fetch_one(spider, url(server, path), etag='"abc"', last_modified="yesterday")
    assert [fetch.request_head] == server.requests
    assert b"Accept-Encoding: gzip, deflate, br, zstd\r\n" in fetch.request_head
    assert b"Accept: text/html\r\n" in fetch.request_head
    assert fetch.request_head.count(b"Accept:") == 1


def test_what_is_secret_is_sent_and_not_in_the_request_that_is_kept(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """The archive is given to others, and ends up in backups."""
    spider = make_spider(headers={"authorization": "Bearer k3y", "Cookie": "id=k3y", "From": "me"})
    fetch = fetch_one(spider, url(server, "a"))
    (sent,) = server.requests
    assert b"authorization: Bearer k3y\r\n" in sent
    assert b"Cookie: id=k3y\r\n" in sent
    assert b"From: me\r\n" in fetch.request_head
    assert b"k3y" not in fetch.request_head


def test_conditions_do_not_leak_into_the_next_visit(
    server: RawServer, make_spider: MakeSpider
) -> None:
    spider = make_spider()
    known = fetch_one(spider, url(server, "known"), etag='"1"')
    assert (known.outcome, known.status, known.body) == (Outcome.NOT_MODIFIED, 304, b"")
    assert known.success
    fresh = fetch_one(spider, url(server, "known"))
    assert (fresh.outcome, fresh.body) == (Outcome.OK, b"whole")
    assert b"If-None-Match" not in server.requests[1]
    assert server.accepted == 1, "304 with a length left the connection usable"


def test_deadlines_of_a_visit_are_not_those_of_the_next(
    server: RawServer, make_spider: MakeSpider
) -> None:
    spider = make_spider(min_rate_seconds=0.4)
    hurried = fetch_one(spider, url(server, "slow"), manner=Manner(timeout_ms=100))
    assert not hurried.success
    assert fetch_one(spider, url(server, "a"), manner=Manner(timeout_ms=2_000)).success
    assert fetch_one(spider, url(server, "a"), manner=Manner(timeout_ms=100)).success
    assert fetch_one(spider, url(server, "slow")).success


def test_a_handle_asks_for_each_visit_as_a_new_one_would(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """One handle is used for all of them, whatever the visit before was."""
    own = Manner(headers=(("X-Own", "1"), ("User-Agent", "other")))
    kinds: list[tuple[str, dict[str, object]]] = [
        ("a", {}),
        ("a", {"kind": int(Kind.CHECK)}),
        ("known", {"etag": '"1"'}),
        ("known", {"last_modified": "Mon, 16 Nov 2026 19:01:43 GMT"}),
        ("chunked", {}),
        ("a", {"manner": own}),
        ("a", {"tries": 1}),
        ("a", {"address": "127.0.0.2"}),
    ]

    def asked(spider: Spider, path: str, fields: dict[str, object]) -> tuple[object, ...]:
        earlier = len(server.requests)
        fetch = fetch_one(spider, url(server, path), **fields)
        seen = (fetch.outcome, fetch.head, fetch.headers, fetch.body, fetch.flags, fetch.address)
        return server.requests[earlier:], fetch.request_head, *seen

    fresh = [asked(make_spider(), *kind) for kind in kinds]
    spider = make_spider()
    for before, expected_before in zip(kinds, fresh, strict=True):
        for kind, expected in zip(kinds, fresh, strict=True):
            assert asked(spider, *before) == expected_before
            assert asked(spider, *kind) == expected


def test_a_validator_cannot_add_a_header_line(server: RawServer, make_spider: MakeSpider) -> None:
    fetch = fetch_one(
        make_spider(), url(server, "a"), etag='"x"\r\nX-Evil: 1', last_modified="a\nb"
    )
    assert fetch.outcome is Outcome.OK
    assert b"Evil" not in server.requests[0]
    assert b"If-" not in server.requests[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"X": "a\r\nY: b"}},
        {"headers": {"Host": "other"}},
        {"headers": {"X Y": "z"}},
        {"headers": {"": "z"}},
        {"user_agent": "a\nb"},
        {"ca_file": "/nowhere/at/all.pem"},
        {"ca_file": "/dev/null"},
    ],
)
def test_settings_that_cannot_be_sent_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="spider"):
        Spider(SpiderSettings(**settings), LOOPBACK, SystemClock())


def test_connections_are_kept_for_each_host(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider()
    for number in range(5):
        fetch_one(spider, url(server, "a"))
        fetch_one(spider, url(server, "chunked"))
        fetch_one(spider, url(server, "b", f"host{number}.example"))
    assert server.accepted == 6


@pytest.mark.parametrize("path", ["clte", "204"])
def test_a_connection_of_doubtful_framing_is_not_used_again(
    path: str, server: RawServer, make_spider: MakeSpider
) -> None:
    spider = make_spider()
    assert fetch_one(spider, url(server, path)).outcome is Outcome.OK
    assert fetch_one(spider, url(server, "a")).body == b"page a"
    assert server.accepted == 2


def test_the_host_of_the_url_is_named_though_the_address_is_given(
    server: RawServer, make_spider: MakeSpider
) -> None:
    fetch_one(make_spider(), url(server, "a", "www.some-site.example"))
    assert f"Host: www.some-site.example:{server.port}\r\n".encode() in server.requests[0]


def test_ipv6(make_spider: MakeSpider) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        server = RawServer({"": page(b"six")}, address="::1")
    except OSError:
        pytest.skip("no IPv6 loopback")
    with server:
        fetch = fetch_one(make_spider(), f"http://six.example:{server.port}/", address="::1")
        assert (fetch.body, fetch.address) == (b"six", "::1")


def test_proxies_of_the_environment_are_ignored(
    server: RawServer, make_spider: MakeSpider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T24: a proxy would connect where it likes."""
    with RawServer({"": page(b"proxied")}) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert fetch_one(make_spider(), url(server, "a")).body == b"page a"
        assert proxy.accepted == 0


@pytest.mark.req("S0.27", "S0.28")
def test_a_redirect_is_reported_and_never_followed(
    server: RawServer, make_spider: MakeSpider
) -> None:
    fetch = fetch_one(make_spider(), url(server, "moved"))
    assert (fetch.outcome, fetch.status, fetch.body) == (Outcome.OK, 301, b"moved")
    assert fetch.redirect_to == url(server, "a?q=1")
    assert not fetch.success
    assert server.paths() == ["/moved"]


def test_a_location_in_utf_8_is_understood(server: RawServer, make_spider: MakeSpider) -> None:
    assert fetch_one(make_spider(), url(server, "utf-8")).redirect_to == url(server, "caf%C3%A9")


def test_retry_after_is_handed_on(server: RawServer, make_spider: MakeSpider) -> None:
    fetch = fetch_one(make_spider(), url(server, "busy"))
    assert (fetch.outcome, fetch.retry_after_seconds) == (Outcome.HTTP_5XX, 120.0)


@pytest.mark.req("S0.10")
def test_a_document_beyond_the_limit_is_cut_there(
    server: RawServer, make_spider: MakeSpider
) -> None:
    fetch = fetch_one(make_spider(max_doc_bytes=10_000), url(server, "large"))
    assert (fetch.outcome, len(fetch.body)) == (Outcome.BODY_TOO_LARGE, 10_000)
    assert not fetch.success
    wire = fetch_one(make_spider(max_wire_bytes=9_000), url(server, "large"))
    assert (wire.outcome, len(wire.raw)) == (Outcome.BODY_TOO_LARGE, 9_000)


@pytest.mark.parametrize(("status", "number"), [(b"404 Gone", 2), (b"421 Elsewhere", 1)])
def test_after_a_misdirected_request_comes_a_new_connection(
    server: RawServer, make_spider: MakeSpider, status: bytes, number: int
) -> None:
    def tell(connection: Connection) -> bool:
        connection.send(page(b"%d" % connection.number))
        return True

    server.behaviours |= {"wrong": page(b"no", status=status), "told": tell}
    spider = make_spider()
    assert fetch_one(spider, url(server, "wrong")).outcome is Outcome.HTTP_4XX
    assert fetch_one(spider, url(server, "told")).body == b"%d" % number


def test_a_sitemap_may_be_longer_than_a_page(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider(max_doc_bytes=10_000, max_wire_bytes=9_000, max_sitemap_bytes=40_000)
    # One handle after the other, so that the limits of one visit could reach the next.
    for kind, most in ((Kind.PAGE, 9_000), (Kind.SITEMAP, 40_000), (Kind.PAGE, 9_000)):
        fetch = fetch_one(spider, url(server, "large"), kind=int(kind))
        assert (fetch.outcome, len(fetch.body)) == (Outcome.BODY_TOO_LARGE, most)
        coded = fetch_one(spider, url(server, "large-gzip"), kind=int(kind))
        assert (coded.outcome, len(coded.body)) == (Outcome.BODY_TOO_LARGE, max(most, 10_000))
        error = fetch_one(spider, url(server, "error"), kind=int(kind))
        assert len(error.body) == 65_536


def test_an_error_page_is_kept_in_part(server: RawServer, make_spider: MakeSpider) -> None:
    fetch = fetch_one(make_spider(), url(server, "error"))
    assert (fetch.outcome, len(fetch.body)) == (Outcome.HTTP_4XX, 65_536)
    assert "body_cut" in fetch.flags


def test_what_came_before_a_deadline_is_kept(server: RawServer, make_spider: MakeSpider) -> None:
    fetch = fetch_one(make_spider(**QUICK), url(server, "half"))
    assert (fetch.outcome, fetch.raw) == (Outcome.NET_TIMEOUT_TOTAL, b"k" * 40)


def test_nobody_listens(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider()
    fetch_one(spider, url(server, "a"))
    with HeldPort() as nobody:
        fetch = fetch_one(spider, f"http://a.example:{nobody.port}/")
    assert (fetch.outcome, fetch.sent_at, fetch.request_head) == (Outcome.NET_REFUSED, 0.0, b"")


def test_an_error_number_does_not_outlive_its_transfer(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """The handle that saw a refusal must not report it again."""
    spider = make_spider()
    with HeldPort() as nobody:
        fetch = fetch_one(spider, f"http://a.example:{nobody.port}/")
    assert fetch.outcome is Outcome.NET_REFUSED
    server.behaviours["nothing"] = lambda _: False
    assert fetch_one(spider, url(server, "nothing")).outcome is Outcome.NET_CLOSED_EARLY


def test_a_full_backlog_is_a_connect_timeout(make_spider: MakeSpider) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        try:
            for each in waiting:
                each.setblocking(False)
                assert each.connect_ex(("127.0.0.1", port)) in (0, errno.EINPROGRESS)
            fetch = fetch_one(make_spider(**QUICK), f"http://a.example:{port}/")
        finally:
            for each in waiting:
                each.close()
    assert fetch.outcome is Outcome.NET_TIMEOUT_CONNECT


@pytest.mark.parametrize("address", ["not-an-address", "", "127.0.0.1 ", "::1%lo;x"])
def test_what_is_no_address_is_never_resolved(
    address: str, server: RawServer, make_spider: MakeSpider
) -> None:
    fetch = fetch_one(make_spider(), url(server, "a"), address=address)
    assert fetch.outcome is Outcome.POLICY_PRIVATE_ADDRESS


@pytest.mark.req("S0.20")
def test_a_request_goes_out_without_a_poll(server: RawServer, make_spider: MakeSpider) -> None:
    """On a kept connection nothing stands between the order and the request."""
    spider = make_spider()
    fetch_one(spider, url(server, "a"))
    spider.start(visit(2, url(server, "b")))
    until = time.monotonic() + 20
    while len(server.requests) < 2 and time.monotonic() < until:
        time.sleep(0.005)
    assert server.paths() == ["/a", "/b"]


def test_a_new_policy_counts_for_kept_connections_too(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """What was allowed before is not allowed for ever."""
    spider = make_spider()
    assert fetch_one(spider, url(server, "a")).outcome is Outcome.OK
    assert fetch_one(spider, url(server, "a")).outcome is Outcome.OK
    spider.use_policy(AddressPolicy(UrlSettings()))
    assert fetch_one(spider, url(server, "b")).outcome is Outcome.POLICY_PRIVATE_ADDRESS
    assert server.paths() == ["/a", "/a"]


def test_several_visits_begin_with_one_call(server: RawServer, make_spider: MakeSpider) -> None:
    """One among them that may not be made holds up none of the others."""
    spider = make_spider()
    names = ("a", "b", "keep-once")
    visits = [visit(n, url(server, name, f"{name}.example")) for n, name in enumerate(names)]
    spider.start(visits[0], visit(9, "ftp://a.example/"), *visits[1:])
    ended: dict[int, Outcome] = {}
    until = time.monotonic() + 20
    while spider.open_count() and time.monotonic() < until:
        ended.update((each.visit.trans_id, each.outcome) for each in spider.poll(0.5))
    fine = dict.fromkeys(range(3), Outcome.OK)
    assert ended == {**fine, 9: Outcome.REDIR_SCHEME}
    assert sorted(server.paths()) == ["/a", "/b", "/keep-once"]


def test_started_is_told_live_once_and_only_when_asked(
    server: RawServer, make_spider: MakeSpider
) -> None:
    spider = make_spider()
    fetch_one(spider, url(server, "a"))
    spider.start(visit(7, url(server, "hang"), report_start=True))
    spider.start(visit(8, url(server, "hang", "b.example")))
    began = time.monotonic()
    told = spider.started()
    while not told and time.monotonic() < began + 20:
        assert spider.poll(20.0) == []
        told = spider.started()
    # Before its time is up, and before the server has had enough.
    assert time.monotonic() - began < 18, "poll returns as soon as there is something to tell"
    assert [trans_id for trans_id, _ in told] == [7]
    assert began - 0.5 <= told[0][1] <= time.monotonic()
    assert spider.started() == []
    assert {each.trans_id for each in spider.cancel()} == {7, 8}
    assert fetch_all(spider, [visit(9, url(server, "a"))])[9].outcome is Outcome.OK
    assert spider.started() == [], "the wish does not stick to the handle"


@pytest.mark.req("S0.8", "S0.13", "S0.17", "S0.19", "S0.22")
def test_a_long_fetch_is_reported_working_again_and_again(
    server: RawServer, make_spider: MakeSpider
) -> None:
    spider = make_spider(timeout_update_ms=100)
    began = time.monotonic()
    spider.start(visit(5, url(server, "hang")))
    spider.start(visit(6, url(server, "a", "b.example")))
    ended: list[int] = []
    for count in range(1, 6):
        told: list[int] = []
        while 5 not in told:
            assert time.monotonic() < began + 25, "before the server has had enough"
            ended += [fetch.visit.trans_id for fetch in spider.poll(0.02)]
            told += spider.working()
            assert not set(told) & set(ended), "what has ended is not reported"
        assert told.count(5) == 1
        assert time.monotonic() - began >= 0.1 * count, "no more often than needed"
    assert ended == [6]


@pytest.mark.req("S0.5", "S0.9", "S0.23")
def test_the_longest_time_is_kept(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider(timeout_request_ms=300)
    began = time.monotonic()
    fetch = fetch_one(spider, url(server, "hang"))
    assert fetch.outcome is Outcome.NET_TIMEOUT_TOTAL
    # The server would have had enough after thirty.
    assert 0.3 <= time.monotonic() - began < 25


@pytest.mark.req("S0.12", "S0.24")
def test_cancelled_visits_are_handed_back(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider()
    visits = [visit(number, url(server, "hang", f"h{number}.example")) for number in range(20)]
    for each in visits:
        spider.start(each)
    refused = visit(99, "ftp://a.example/")
    spider.start(refused)
    spider.poll(0.05 if spider.open_count() else 0)
    assert spider.open_count() in (20, 21)
    returned = spider.cancel()
    assert set(visits) <= set(returned)
    assert spider.open_count() == 0
    assert spider.poll(0.0) == []
    assert fetch_one(spider, url(server, "a")).body == b"page a"


def test_a_watched_descriptor_wakes_the_spider(server: RawServer, make_spider: MakeSpider) -> None:
    spider = make_spider()
    reader, writer = os.pipe()
    try:
        got: list[bytes] = []
        spider.watch(reader, lambda: got.append(os.read(reader, 100)))
        spider.start(visit(1, url(server, "hang")))
        timer = threading.Timer(0.1, os.write, (writer, b"order\n"))
        timer.start()
        assert spider.poll(7.0) == []
        assert got == [b"order\n"], "it woke before its time was up"
        timer.join()
    finally:
        os.close(reader)
        os.close(writer)


def test_our_own_lag_is_not_blamed_on_the_server(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """L02: what was answered while we were busy elsewhere is no time-out."""
    spider = make_spider(timeout_request_ms=500, timeout_first_byte_ms=400)
    spider.start(visit(1, url(server, "slow")))
    spider.poll(0.01)
    time.sleep(1.0)
    until = time.monotonic() + 5
    while not (fetches := spider.poll(0.1)):
        assert time.monotonic() < until
    assert [fetch.outcome for fetch in fetches] == [Outcome.OK]


def test_a_kept_connection_that_was_closed_is_invisible(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """H83: each page is asked for once, whatever became of the connection."""
    spider = make_spider()
    for _ in range(5):
        assert fetch_one(spider, url(server, "keep-once")).body == b"promised"
        time.sleep(0.02)
    assert server.paths() == ["/keep-once"] * 5


def test_an_end_that_came_with_the_response_is_not_forgotten(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """Who uses the connection next would wait in vain: no edge tells of the end again."""
    spider = make_spider(timeout_first_byte_ms=10_000)
    for number, path in enumerate(("last-words", "last-words", "a")):
        spider.start(visit(number, f"http://a.example:{server.port}/{path}"))
        # Both are there when we look; were they not, nothing would be proved, nor refuted.
        time.sleep(0.1)
        fetches = spider.poll(5.0)
        while not fetches:
            fetches = spider.poll(5.0)
        assert [fetch.outcome for fetch in fetches] == [Outcome.OK]


@pytest.mark.parametrize("path", ["a", "chunked", "tabbed", "interim"])
def test_the_head_is_byte_for_byte_what_the_server_sent(
    server: RawServer, make_spider: MakeSpider, path: str
) -> None:
    """Whether it was read before libcurl saw it, or as libcurl hands over the lines."""
    spider = make_spider()
    for _ in range(2):
        fetch = fetch_one(spider, f"http://a.example:{server.port}/{path}")
        sent = server.behaviours[path]
        assert isinstance(sent, bytes)
        assert fetch.head.endswith(b"\r\n\r\n")
        assert fetch.head in sent
        assert (fetch.outcome, fetch.status) == (Outcome.OK, 200)
        again = fetch_one(spider, f"http://a.example:{server.port}/b")
        assert (again.head + again.raw, again.header("content-length")) == (
            server.behaviours["b"],
            "6",
        )


def test_a_kept_connection_closed_on_use_is_replaced_once(
    server: RawServer, make_spider: MakeSpider
) -> None:
    """H83: the server that closes instead of answering gets one more try on a fresh connection."""
    spider = make_spider()
    for _ in range(3):
        assert fetch_one(spider, url(server, "close-second")).body == b"answered"
    assert len(server.requests) == 5


def test_out_of_sockets_is_our_own_fault(server: RawServer, make_spider: MakeSpider) -> None:
    """The URL stays pending, no host is blamed, and the flag tells to open fewer at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spider = make_spider(**QUICK)
    spider._shared.max_descriptor = 3
    try:
        fetch = fetch_one(spider, url(server, "a"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert fetch.outcome is Outcome.STORE_FAILED
    assert fetch.flags == ("out_of_sockets",)
