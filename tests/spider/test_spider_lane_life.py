"""The lane beside libcurl: whose connection it is, when, and what happens meanwhile."""

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from lanes import IS_MISSING, MakeWithout, fetch_in_lane, in_lane, make_without, prove, rest_of
from rawserver import Connection, RawServer, page

from conftest import QUICK, MakeSpider, fetch_all, fetch_one, visit
from gossamer.config.url import UrlSettings
from gossamer.messages import Fetch, Kind, Visit
from gossamer.outcomes import Outcome
from gossamer.spider import lane
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy

__all__ = ["make_without"]

pytestmark = IS_MISSING


def _hang(connection: Connection) -> bool:
    connection.hang()
    return False


def _slow(connection: Connection) -> bool:
    time.sleep(0.6)
    connection.send(page(b"slow"))
    return True


def _close_when_used(connection: Connection) -> bool:
    """Answer only what comes first on a connection."""
    if connection.number > 1:
        return False
    connection.send(page(b"answered"))
    return True


def _think_then_close(connection: Connection) -> bool:
    if connection.number > 1:
        time.sleep(0.5)
        return False
    connection.send(page(b"answered"))
    return True


def _say_more_later(connection: Connection) -> bool:
    connection.send(page(b"asked for"))
    time.sleep(0.05)
    connection.send(page(b"not asked for"))
    return True


BEHAVIOURS = {
    "good": page(b"good page"),
    "hang": _hang,
    "slow": _slow,
    "close-when-used": _close_when_used,
    "think-then-close": _think_then_close,
    "say-more-later": _say_more_later,
    "say-more": page(b"asked for") + page(b"not asked for"),
    "last-words": page(b"last words", keep=False),
    "missing": page(b"not here", status=b"404 Not Found"),
    "unchanged": b"HTTP/1.1 304 Not Modified\r\nX-Keep: yes\r\n\r\n",
    "head": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nX-Keep: yes\r\n\r\n",
}


@pytest.fixture
def server() -> Iterator[RawServer]:
    with RawServer(BEHAVIOURS) as server:
        yield server


@pytest.fixture
def site(server: RawServer) -> str:
    return f"http://a.example:{server.port}"


@pytest.fixture
def spider(make_spider: MakeSpider, site: str) -> Spider:
    """One whose connection to the site is the lane's."""
    spider = make_spider()
    prove(spider, site)
    return spider


def test_an_ordinary_page_is_told_like_any_other(
    server: RawServer, site: str, spider: Spider
) -> None:
    before, wall = time.monotonic(), time.time()
    fetch = fetch_in_lane(spider, f"{site}/good", depth=3, via=("x",))
    sent = BEHAVIOURS["good"]
    assert isinstance(sent, bytes)
    assert fetch == Fetch(
        visit=Visit(7, 7, "127.0.0.1", f"{site}/good", depth=3, via=("x",)),
        outcome=Outcome.OK,
        status=200,
        http_version="1.1",
        request_head=server.requests[-1],
        head=sent.removesuffix(b"good page"),
        headers=(("content-type", "text/html"), ("content-length", "9"), ("x-keep", "yes")),
        raw=b"good page",
        body=b"good page",
        address="127.0.0.1",
        fetched_at=fetch.fetched_at,
        sent_at=fetch.sent_at,
        milliseconds=fetch.milliseconds,
    )
    assert wall - 0.1 <= fetch.fetched_at <= time.time()
    assert before <= fetch.sent_at <= time.monotonic()
    assert 0 <= fetch.milliseconds <= (time.monotonic() - before) * 1000.0
    assert server.accepted == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"report_start": True},
        {"tries": 1},
        {"etag": '"x"'},
        {"last_modified": "Mon, 16 Nov 2026 19:01:43 GMT"},
        {"kind": int(Kind.SITEMAP)},
        {"kind": int(Kind.CHECK)},
    ],
)
def test_what_is_not_ordinary_is_libcurls(
    spider: Spider, server: RawServer, site: str, fields: dict[str, object]
) -> None:
    """It goes over the same connection, which is idle."""
    name = "head" if fields.get("kind") == Kind.CHECK else "good"
    spider.start(visit(1, f"{site}/{name}", **fields))
    assert in_lane(spider) == 0
    assert rest_of(spider)[1].outcome is Outcome.OK
    for _ in range(5):
        assert fetch_one(spider, f"{site}/good").body == b"good page"
    assert len(server.requests) == 8
    # Of one that was tried before the cookie could be lost, should the connection be dead.
    assert server.accepted == (2 if "tries" in fields else 1)


def test_a_connection_goes_to_and_fro(spider: Spider, server: RawServer, site: str) -> None:
    """What is not ordinary, among what is, costs neither a request nor a connection more."""
    random = Random(3)
    names = [random.choice(("good", "good", "good", "missing", "say-more")) for _ in range(100)]
    outcomes = {"good": Outcome.OK, "missing": Outcome.HTTP_4XX, "say-more": Outcome.OK}
    for name in names:
        fetch = fetch_one(spider, f"{site}/{name}")
        assert fetch.outcome is outcomes[name]
        assert fetch.body != b"not asked for"
    assert server.paths()[2:] == [f"/{name}" for name in names]
    assert server.accepted == 1 + names[:-1].count("say-more")


def test_many_at_once_have_no_more_connections_than_without(
    server: RawServer, site: str, make_spider: MakeSpider, make_without: MakeWithout
) -> None:
    accepted = []
    for make in (make_spider, make_without):
        spider = make()
        before = server.accepted
        for _ in range(6):
            visits = [visit(number, f"{site}/good") for number in range(8)]
            fetches = fetch_all(spider, visits)
            assert {fetch.body for fetch in fetches.values()} == {b"good page"}
        accepted.append(server.accepted - before)
    assert accepted == [8, 8]
    assert len(server.requests) == 96


@pytest.mark.parametrize("name", ["close-when-used", "think-then-close"])
@pytest.mark.parametrize("fields", [{}, {"etag": '"x"'}])
def test_a_connection_that_dies_on_use_is_replaced(
    make_spider: MakeSpider,
    make_without: MakeWithout,
    server: RawServer,
    site: str,
    name: str,
    fields: dict[str, object],
) -> None:
    """At once, or after the visit has left the lane because it took long: as libcurl does it."""
    seen = []
    for make in (make_spider, make_without):
        spider = make(min_rate_seconds=1.0)
        prove(spider, site)
        before, accepted = len(server.requests), server.accepted
        fetch = fetch_one(spider, f"{site}/{name}", **fields)
        assert (fetch.outcome, fetch.body) == (Outcome.OK, b"answered")
        seen.append((server.requests[before:], server.accepted - accepted))
    assert seen[0] == seen[1]
    assert seen[0][1] == 1


def test_what_nobody_asked_for_is_never_taken_for_an_answer(
    spider: Spider, server: RawServer, site: str
) -> None:
    for _ in range(3):
        assert fetch_one(spider, f"{site}/say-more-later").body == b"asked for"
        time.sleep(0.2)
        # Neither if it is looked at meanwhile, nor if not.
        spider.poll(0.0)
        prove(spider, site)
    fetch_in_lane(spider, f"{site}/say-more-later")
    time.sleep(0.2)
    assert fetch_one(spider, f"{site}/good").body == b"good page"


def test_an_end_that_came_with_the_page_is_noticed(
    spider: Spider, server: RawServer, site: str
) -> None:
    spider.start(visit(1, f"{site}/last-words"))
    time.sleep(0.2)
    assert rest_of(spider)[1].body == b"last words"
    assert fetch_one(spider, f"{site}/good").body == b"good page"
    assert server.paths() == ["/good", "/good", "/last-words", "/good"]


def test_visits_in_the_lane_can_be_cancelled(spider: Spider, server: RawServer, site: str) -> None:
    fetch_all(spider, [visit(number, f"{site}/slow") for number in range(3)])
    fetch_all(spider, [visit(number, f"{site}/slow") for number in range(3)])
    visits = [visit(number, f"{site}/slow") for number in range(3)]
    spider.start(*visits)
    assert in_lane(spider) == 3
    assert spider.cancel({1, 9}) == [visits[1]]
    assert spider.open_count() == in_lane(spider) == 2
    assert {each.trans_id for each in spider.cancel()} == {0, 2}
    assert spider.open_count() == in_lane(spider) == 0
    assert spider.poll(0.0) == []
    assert fetch_one(spider, f"{site}/good").body == b"good page"


def test_nothing_stays_open(make_spider: MakeSpider, server: RawServer, site: str) -> None:
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    spider = make_spider()
    prove(spider, site)
    for name in ("good", "missing", "good", "good", "good", "say-more", "good", "good"):
        fetch_one(spider, f"{site}/{name}")
    spider.start(visit(1, f"{site}/hang"))
    spider.close()
    server.closing.set()
    for thread in server._threads:
        thread.join(5)
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


@pytest.mark.req("S0.13", "S0.22")
def test_a_long_fetch_is_reported(make_spider: MakeSpider, site: str) -> None:
    spider = make_spider(timeout_update_ms=100)
    prove(spider, site)
    spider.start(visit(5, f"{site}/hang"))
    assert in_lane(spider) == 1
    began = time.monotonic()
    told: list[int] = []
    while len(told) < 3:
        assert time.monotonic() < began + 20
        spider.poll(0.02)
        told += spider.working()
        assert time.monotonic() - began >= 0.1 * len(told)
    assert told == [5, 5, 5]


def test_our_own_lag_is_not_blamed_on_the_server(make_spider: MakeSpider, site: str) -> None:
    spider = make_spider(timeout_request_ms=500, timeout_first_byte_ms=400)
    prove(spider, site)
    spider.start(visit(1, f"{site}/slow"))
    assert in_lane(spider) == 1
    spider.poll(0.01)
    time.sleep(1.0)
    assert rest_of(spider)[1].body == b"slow"


def test_deadlines_count_from_the_start(make_spider: MakeSpider, site: str) -> None:
    spider = make_spider(**QUICK)
    prove(spider, site)
    began = time.monotonic()
    fetch = fetch_in_lane(spider, f"{site}/hang")
    assert fetch.outcome is Outcome.NET_TIMEOUT_HEADERS
    assert fetch.detail == "no response header within 700 ms"
    assert 0.7 <= time.monotonic() - began < 15
    assert fetch.milliseconds >= 700


def test_a_new_policy_counts_at_once(spider: Spider, server: RawServer, site: str) -> None:
    spider.use_policy(AddressPolicy(UrlSettings()))
    assert fetch_one(spider, f"{site}/good").outcome is Outcome.POLICY_PRIVATE_ADDRESS
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"proxy": "http://127.0.0.1:1"},
        {"headers": {"Cookie": "a=b"}},
        {"headers": {"X": "y"}, "header_hosts": ("a.example",)},
        {"credentials": {"a.example": "me:secret"}},
    ],
)
def test_where_requests_differ_there_is_no_lane(
    make_spider: MakeSpider, settings: dict[str, object]
) -> None:
    assert make_spider(**settings)._lane is None


def test_each_server_has_its_own_connections(make_spider: MakeSpider, site: str) -> None:
    """Neither another host nor another port nor another address gets what is for this one."""
    with RawServer(BEHAVIOURS) as one, RawServer({"good": page(b"other")}, address="::1") as other:
        spider = make_spider()
        places = [
            (f"http://a.example:{one.port}", "127.0.0.1", b"good page"),
            (f"http://b.example:{one.port}", "127.0.0.1", b"good page"),
            (f"http://a.example:{other.port}", "::1", b"other"),
        ]
        for _ in range(4):
            for base, address, body in places:
                fetch = fetch_one(spider, f"{base}/good", address=address)
                assert (fetch.body, fetch.address) == (body, address)
                assert f"Host: {base[7:]}\r\n".encode() in fetch.request_head
        assert (one.accepted, other.accepted) == (2, 1)
        assert fetch_one(spider, f"{places[0][0]}/good", address="127.0.0.2").outcome in (
            Outcome.NET_REFUSED,
            Outcome.OK,
        )
        assert one.accepted == 2


@pytest.mark.parametrize(
    ("base", "is_plain"),
    [
        ("http://a.example/", True),
        ("http://a.example:8080/", True),
        ("http://127.0.0.1:8080/", True),
        ("http://a_b.example/", True),
        ("https://a.example/", False),
        ("http://a.example:80/", False),
        ("http://a.example:080/", False),
        ("http://A.example/", False),
        ("http://127.1/", False),
        ("http://0x7f.0.0.1/", False),
        ("http://1.2.3.04/", False),
        ("http://[::1]/", False),
        ("http://me@a.example/", False),
        ("http://a%2eexample/", False),
        ("http://a.example./", False),
        ("/", False),
    ],
)
def test_of_which_servers_it_is_clear_what_they_are_sent(base: str, is_plain: bool) -> None:
    assert lane._is_plain(base) is is_plain


class Pair:
    """A compiled lane with connections whose other ends are here."""

    def __init__(self, places: int) -> None:
        self.lane = lane._lane.Lane(Fetch, Outcome.OK, places, 16_000, 100, 100_000)
        self.idle: list[int] = []
        self.base = "http://a.example/"
        self.lane.use(self.base, b" HTTP/1.1\r\n\r\n", self.idle)
        self.finished: list[Fetch] = []
        self.left: list[lane.Left] = []
        self._theirs: list[socket.socket] = []

    def adopt(self, number: int, sent_at: float = 2.0) -> socket.socket | None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        order = visit(number, f"{self.base}{number}")
        descriptor = ours.detach()
        theirs.sendall(page(b"first"))
        if not self.lane.adopt(descriptor, "::1", self.idle, order, b"x", 1.0, 1.0, sent_at, 0.0):
            os.close(descriptor)
            theirs.close()
            return None
        self._theirs.append(theirs)
        return theirs

    def close(self) -> None:
        self.lane.close()
        for each in self._theirs:
            each.close()

    def collect(self, now: float) -> list[int]:
        self.finished.clear()
        self.lane.collect(now, self.finished, self.left)
        return [fetch.visit.trans_id for fetch in self.finished]


@pytest.fixture
def make_pair() -> Iterator[Callable[[int], Pair]]:
    pairs: list[Pair] = []

    def make(places: int) -> Pair:
        pairs.append(Pair(places))
        return pairs[-1]

    yield make
    for pair in pairs:
        pair.close()


MakePair = Callable[[int], Pair]


def test_the_oldest_idle_connection_makes_room(make_pair: MakePair) -> None:
    pair = make_pair(2)
    first, second = pair.adopt(1), pair.adopt(2)
    assert first is not None
    assert second is not None
    assert pair.adopt(3) is None, "both are busy"
    assert sorted(pair.collect(5.0)) == [1, 2]
    assert pair.lane.send(visit(4, f"{pair.base}4"), 6.0, 6.0)
    second.sendall(page(b"more"))
    first.sendall(page(b"more"))
    pair.collect(7.0)
    third = pair.adopt(5)
    assert third is not None
    assert pair.lane.open_count() == 1
    assert pair.collect(8.0) == [5]
    pair.close()
    assert pair.idle == []


@pytest.mark.parametrize("size", [1_000, 32_768, 90_000])
@pytest.mark.parametrize("first", [40, 900, 32_768, 33_000])
def test_a_page_is_taken_once_it_is_whole(make_pair: MakePair, size: int, first: int) -> None:
    pair = make_pair(1)
    theirs = pair.adopt(1)
    assert theirs is not None
    pair.collect(5.0)
    for number in range(2, 5):
        assert pair.lane.send(visit(number, f"{pair.base}{number}"), 10.0, 11.0)
        body = bytes([64 + number]) * size
        answer = page(body)
        theirs.sendall(answer[:first])
        if first < len(answer):
            assert pair.collect(12.0) == []
            assert pair.idle == []
            theirs.sendall(answer[first:])
        assert pair.collect(12.0) == [number]
        assert pair.finished[0].body == body
        assert pair.finished[0].head + body == answer
        assert pair.idle == [0]
    assert pair.left == []


def test_who_gets_an_unfinished_page_hears_of_each_byte(
    make_spider: MakeSpider, make_without: MakeWithout
) -> None:
    """That the system told of nothing before it was whole must not outlast the lane."""
    body = b"k" * 150_000

    def in_two_parts(connection: Connection) -> bool:
        connection.send(page(body)[:100_000])
        time.sleep(1.5)
        connection.send(page(body)[100_000:-10])
        time.sleep(0.2)
        connection.send(page(body)[-10:])
        return True

    behaviours = {"good": page(b"good page"), "two": in_two_parts}
    with RawServer(behaviours) as server:
        for make in (make_spider, make_without):
            spider = make()
            prove(spider, f"http://a.example:{server.port}")
            fetch = fetch_one(spider, f"http://a.example:{server.port}/two")
            assert (fetch.outcome, fetch.body) == (Outcome.OK, body)
            assert 1_600 <= fetch.milliseconds < 10_000
        assert server.accepted == 2


def test_idle_connections_are_closed_after_a_while(make_pair: MakePair) -> None:
    pair = make_pair(4)
    theirs = [pair.adopt(number) for number in range(3)]
    pair.collect(5.0)
    assert len(pair.idle) == 3
    assert pair.lane.sweep(100.0, 1.0, 118.0) == []
    assert len(pair.idle) == 3
    assert pair.lane.sweep(123.0, 1.0, 118.0) == []
    assert pair.idle == []
    assert not pair.lane.send(visit(4, f"{pair.base}4"), 6.0, 6.0)
    for each in theirs:
        assert each is not None
        each.settimeout(5)
        assert each.recv(100) == b""


def test_what_takes_long_leaves_with_its_times(make_pair: MakePair) -> None:
    pair = make_pair(1)
    theirs = pair.adopt(1)
    assert theirs is not None
    pair.collect(5.0)
    order = visit(2, f"{pair.base}2")
    assert pair.lane.send(order, 10.0, 11.0)
    pair.lane.stamp(10.5)
    pair.lane.forgive(12.0, 1.5)
    assert pair.lane.sweep(12.4, 1.0, 118.0) == []
    ((descriptor, *rest),) = pair.lane.sweep(12.5, 1.0, 118.0)
    assert rest == [order, 10.0, 11.0, 10.5, 1.5, 1, b""]
    assert pair.lane.open_count() == 0
    with socket.socket(fileno=descriptor) as left:
        theirs.recv(100)
        left.sendall(b"still there")
    assert theirs.recv(100) == b"still there"


def test_idle_lists_that_were_tampered_with_are_refused(make_pair: MakePair) -> None:
    pair = make_pair(1)
    for number in (0, 5, -1, 1 << 70):
        pair.idle[:] = [number]
        with pytest.raises((ValueError, OverflowError)):
            pair.lane.send(visit(1, pair.base), 1.0, 1.0)


def test_threads_share_nothing(make_spider: MakeSpider, site: str) -> None:
    """Each spider has a lane of its own."""
    spiders = [make_spider() for _ in range(3)]
    done: list[int] = []

    def run(spider: Spider) -> None:
        done.extend(len(fetch_one(spider, f"{site}/good").body) for _ in range(20))

    threads = [threading.Thread(target=run, args=(spider,)) for spider in spiders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert done == [9] * 60


def test_servers_that_are_seldom_ordinary_stay_out(
    spider: Spider, server: RawServer, site: str
) -> None:
    """To go to and fro costs more than it saves; whoever has become ordinary enters again."""
    entered = 0
    for name in ("good", "good", "missing") * 30:
        spider.start(visit(1, f"{site}/{name}"))
        entered += in_lane(spider)
        rest_of(spider)
    assert entered <= 10
    for _ in range(70):
        fetch_one(spider, f"{site}/good")
    fetch_in_lane(spider, f"{site}/good")
    assert server.accepted == 1
