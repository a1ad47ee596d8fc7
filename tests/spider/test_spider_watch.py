"""Descriptors of others in the spider's loop, and ending single visits."""

import socket
import time

from rawserver import Connection, RawServer, page

from conftest import MakeSpider, visit


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
