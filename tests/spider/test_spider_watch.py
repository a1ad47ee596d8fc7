"""Descriptors of others in the spider's loop, and ending single visits."""

import socket
import time

import pytest
from rawserver import Connection, RawServer, chunked, page

from conftest import MakeSpider, fetch_one, visit
from gossamer.outcomes import Outcome


def test_a_descriptor_is_watched_for_what_was_asked(make_spider: MakeSpider) -> None:
    spider = make_spider()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    calls: list[int] = []

    def poll() -> bool:
        calls.clear()
        spider.poll(0.05)
        return bool(calls)

    def wake() -> None:
        calls.append(1)

    fd = ours.fileno()
    spider.watch(fd, wake)
    assert not poll()
    theirs.send(b"x")
    assert poll()
    spider.watch(fd, wake, reading=False)
    assert not poll(), "there is something to read, but nobody wants to"
    spider.watch(fd, wake, reading=False, writing=True)
    assert poll()
    spider.watch(fd, wake, reading=False)
    assert not poll()
    theirs.shutdown(socket.SHUT_WR)
    assert poll(), "that the other side is gone is always told"
    spider.unwatch(fd)
    assert not poll()
    ours.close()
    theirs.close()


@pytest.mark.parametrize("path", ["clte", "204"])
def test_an_order_that_comes_with_a_doubtful_response_gets_another_connection(
    path: str, make_spider: MakeSpider
) -> None:
    """What a callback starts must not meet a connection that is about to be given up."""
    doubtful = {
        "a": page(b"page a"),
        "clte": chunked(b"x", lines=(b"Content-Length: 1", b"X-Keep: yes")),
        "204": page(b"late", status=b"204 No Content"),
    }
    with RawServer(doubtful) as server:
        host = f"http://a.example:{server.port}/"
        spider = make_spider()
        fetch_one(spider, host + "a")
        ours, theirs = socket.socketpair()

        def order() -> None:
            ours.recv(1)
            spider.start(visit(3, host + "a"))

        spider.watch(ours.fileno(), order)
        spider.start(visit(2, host + path))
        # Both are there when it looks: the response first, then the order.
        time.sleep(0.1)
        theirs.send(b"x")
        fetches = []
        while len(fetches) < 2:
            fetches += spider.poll(0.5)
        spider.unwatch(ours.fileno())
        ours.close()
        theirs.close()
        assert [fetch.outcome for fetch in fetches] == [Outcome.OK, Outcome.OK]
        assert fetches[1].body == b"page a"
        assert (len(server.requests), server.accepted) == (3, 2)


def test_a_descriptor_that_is_given_up_meanwhile_is_not_heard(make_spider: MakeSpider) -> None:
    spider = make_spider()
    pairs = [socket.socketpair() for _ in range(2)]
    heard: list[int] = []

    def hear(number: int) -> None:
        heard.append(number)
        spider.unwatch(pairs[1 - number][0].fileno())

    for number, (ours, theirs) in enumerate(pairs):
        spider.watch(ours.fileno(), lambda number=number: hear(number))
        theirs.send(b"x")
    spider.poll(0.5)
    assert len(heard) == 1
    for pair in pairs:
        for end in pair:
            end.close()


def test_some_visits_are_ended_and_the_others_go_on(make_spider: MakeSpider) -> None:
    def slow(connection: Connection) -> bool:
        time.sleep(0.4)
        connection.send(page(b"slow"))
        return True

    with RawServer({"slow": slow}) as server:
        spider = make_spider()
        for number in range(10):
            spider.start(visit(number, f"http://h{number}.example:{server.port}/slow"))
        spider.start(visit(20, "ftp://a.example/"))
        spider.start(visit(21, "ftp://a.example/"))
        spider.poll(0.0)
        spider.start(visit(22, "ftp://a.example/"))
        spider.start(visit(23, "ftp://a.example/"))
        ended = spider.cancel({1, 3, 5, 7, 9, 22, 99})
        assert {each.trans_id for each in ended} == {1, 3, 5, 7, 9, 22}
        assert spider.open_count() == 6
        came: list[int] = []
        until = time.monotonic() + 5
        while spider.open_count():
            assert time.monotonic() < until
            came += [fetch.visit.trans_id for fetch in spider.poll(0.2)]
        assert sorted(came) == [0, 2, 4, 6, 8, 23]
