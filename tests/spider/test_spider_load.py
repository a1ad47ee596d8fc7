"""Many transfers at once."""

import resource
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rawserver import Connection, RawServer, page

from conftest import MakeSpider, fetch_all, visit
from effort import calls_of
from gossamer.outcomes import Outcome
from gossamer.spider.spider import Spider


class Tarpit:
    """Accepts any number of connections, reads what comes, and answers after a while or never."""

    def __init__(self, delay: float | None) -> None:
        self._delay = delay
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4_096)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self.most_open = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        poller = select.epoll()
        poller.register(self._listener, select.EPOLLIN)
        peers: dict[int, socket.socket] = {}
        answers: list[tuple[float, int]] = []
        while not self._stop.is_set():
            for fd, _ in poller.poll(0.01):
                if fd == self._listener.fileno():
                    self._take_all(poller, peers)
                elif fd in peers:
                    if not peers[fd].recv(65_536):
                        poller.unregister(fd)
                        peers.pop(fd).close()
                    elif self._delay is not None:
                        answers.append((time.monotonic() + self._delay, fd))
            while answers and answers[0][0] <= time.monotonic():
                peer = peers.get(answers.pop(0)[1])
                if peer is not None:
                    peer.sendall(page(b"at last"))
        for peer in peers.values():
            peer.close()
        poller.close()

    def _take_all(self, poller: select.epoll, peers: dict[int, socket.socket]) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except BlockingIOError:
                break
            peers[peer.fileno()] = peer
            poller.register(peer, select.EPOLLIN)
        self.most_open = max(self.most_open, len(peers))


@pytest.fixture
def slow_host() -> Iterator[Tarpit]:
    tarpit = Tarpit(delay=1.5)
    yield tarpit
    tarpit.close()


@pytest.fixture
def silent_host() -> Iterator[Tarpit]:
    tarpit = Tarpit(delay=None)
    yield tarpit
    tarpit.close()


@pytest.mark.req("S0.4", "S0.21")
def test_a_thousand_slow_connections_at_once(slow_host: Tarpit, make_spider: MakeSpider) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4_000:
        pytest.skip("the system does not allow so many sockets")
    spider = make_spider()
    cpu = time.process_time()
    fetches = fetch_all(
        spider,
        [visit(number, f"http://h{number}.example:{slow_host.port}/") for number in range(1_000)],
        30,
    )
    assert {fetch.outcome for fetch in fetches.values()} == {Outcome.OK}
    assert {fetch.body for fetch in fetches.values()} == {b"at last"}
    assert slow_host.most_open == 1_000
    assert time.process_time() - cpu < 8.0


@pytest.mark.req("S0.4", "S0.5")
def test_tarpits_do_not_slow_a_fast_host(silent_host: Tarpit, make_spider: MakeSpider) -> None:
    """T7: 64 silent hosts end in time, and the host beside them hardly notices."""

    def answer(connection: Connection) -> bool:
        connection.send(page(b"quick"))
        return True

    spider = make_spider(timeout_first_byte_ms=6_000, timeout_request_ms=30_000)
    with RawServer({"": answer}) as fast:
        _hundred_pages(spider, fast.port)  # What is done once only is done.
        alone = calls_of(lambda: _hundred_pages(spider, fast.port))
        began = time.monotonic()
        for number in range(64):
            spider.start(visit(number, f"http://t{number}.example:{silent_host.port}/"))
        beside = calls_of(lambda: _hundred_pages(spider, fast.port))
        assert beside < alone * 1.5, "the 64 connections are made meanwhile, and no more"
        ended: list[Outcome] = []
        while len(ended) < 64 and time.monotonic() < began + 60:
            ended.extend(fetch.outcome for fetch in spider.poll(0.2))
    # By their own deadline; the other one has another name.
    assert ended == [Outcome.NET_TIMEOUT_HEADERS] * 64
    assert time.monotonic() - began >= 6


def _hundred_pages(spider: Spider, port: int) -> None:
    """Fetch a hundred pages of the fast host, one after the other."""
    for number in range(100):
        spider.start(visit(10_000 + number, f"http://fast.example:{port}/"))
        until = time.monotonic() + 5
        while not (fetches := spider.poll(0.1)):
            assert time.monotonic() < until
        assert fetches[0].body == b"quick"


def test_nothing_is_left_open(make_spider: MakeSpider) -> None:
    """Descriptors return to where they were, however the transfers ended."""

    def close(_: Connection) -> bool:
        return False

    with RawServer({"": page(b"x", keep=False), "bad": close}) as server:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            spider = make_spider()
            fetch_all(
                spider,
                [
                    visit(number, f"http://h{number}.example:{server.port}/{'bad' * (number % 2)}")
                    for number in range(100)
                ],
            )
            spider.close()
            spider.close()
        time.sleep(0.2)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
