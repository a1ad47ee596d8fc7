"""A worker with orders ahead of their time: it keeps its limit, and gives back what has to wait."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.intake import Intake
from gossamer.crawl.link import Assignment, Report, Tag
from gossamer.crawl.watch import Watch
from gossamer.crawl.worker import Worker
from gossamer.messages import Visit
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy

MOST_OPEN = 3


class Server:
    """Says when it has been asked for what, and answers when it is told to."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.asked: list[str] = []
        self._answers: dict[str, tuple[threading.Event, list[int]]] = {}
        threading.Thread(target=self._accept, daemon=True).start()

    def answer(self, path: str, status: int = 200) -> None:
        event, chosen = self._of(path)
        chosen.append(status)
        event.set()

    def close(self) -> None:
        self._listener.close()

    def _of(self, path: str) -> tuple[threading.Event, list[int]]:
        return self._answers.setdefault(path, (threading.Event(), []))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            while head := connection.recv(65_536):
                path = head.split(b" ")[1].decode()
                self.asked.append(path)
                event, statuses = self._of(path)
                if not event.wait(20):
                    return
                body = f"<title>{path}</title>".encode()
                connection.sendall(
                    b"HTTP/1.1 %d X\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
                    % (statuses[0], len(body), body)
                )


class Rig:
    """A worker inside this process, with a spider of its own."""

    def __init__(self, server: Server, most_open: int) -> None:
        self.said: list[tuple[Tag, object]] = []
        settings = Settings()
        url = replace(settings.url, allow_private=True)
        store = replace(settings.store, keep=False)
        crawl = replace(settings.crawl, concurrency=2 * MOST_OPEN, workers=2)
        settings = replace(settings, url=url, store=store, crawl=crawl)
        policy = AddressPolicy(settings.url)
        assignment = Assignment("w0", "", "", "", settings, (), policy.to_bytes())
        clock = SystemClock()
        self.spider = Spider(settings.spider, policy, clock)
        intake = Intake(assignment, None, Watch.make(), clock, self._hear)
        self.worker = Worker(self.spider, intake, self._hear, clock, most_open)
        self._origin = f"http://127.0.0.1:{server.port}"

    def _hear(self, tag: Tag, payload: object) -> None:
        self.said.append((tag, payload))

    def visits(self, *numbers: int) -> list[Visit]:
        return [
            Visit(number, 100 + number, "127.0.0.1", f"{self._origin}/{number}")
            for number in numbers
        ]

    def run_until(self, happened: Callable[[], bool], seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < end, self.said
            self.worker.step(self.spider.poll(min(0.02, self.worker.wait_seconds())))

    def reported(self) -> list[int]:
        """Return the trans ids of what was reported."""
        return [
            done.trans_id
            for _, payload in self.said
            if isinstance(payload, Report)
            for done in payload.done
        ]

    def told(self, tag: Tag) -> list[object]:
        return [payload for each, payload in self.said if each is tag]


@contextmanager
def working(most_open: int = MOST_OPEN) -> Iterator[tuple[Server, Rig]]:
    server = Server()
    rig = Rig(server, most_open)
    try:
        yield server, rig
    finally:
        rig.spider.close()
        server.close()


def test_no_more_are_open_than_allowed_and_each_end_starts_the_next():
    with working() as (server, rig):
        rig.worker.begin(rig.visits(*range(6)))
        rig.run_until(lambda: len(server.asked) == MOST_OPEN)
        server.answer("/1")
        rig.run_until(lambda: len(server.asked) == MOST_OPEN + 1)
        assert sorted(server.asked) == ["/0", "/1", "/2", "/3"]
        assert rig.spider.open_count() == MOST_OPEN
        for number in (0, 2, 3, 4, 5):
            server.answer(f"/{number}")
        rig.run_until(lambda: len(rig.reported()) == 6)
    assert sorted(rig.reported()) == list(range(6))
    assert sorted(server.asked) == [f"/{number}" for number in range(6)]
    assert rig.told(Tag.UNSENT) == []


def test_reports_wait_for_company_while_there_is_more_to_do_but_not_for_long():
    """Nobody waits for them: the next fetch is started without the coordinator."""
    with working() as (server, rig):
        rig.worker.begin(rig.visits(*range(9)))
        rig.run_until(lambda: len(server.asked) == MOST_OPEN)
        assert rig.worker.wait_seconds() > 0
        server.answer("/0")
        rig.run_until(lambda: rig.reported() == [0])
        assert rig.spider.open_count() == MOST_OPEN


def test_a_report_waits_a_moment_for_fetches_that_are_open_and_for_nothing_else():
    with working(most_open=0) as (server, rig):
        rig.worker.begin(rig.visits(0, 1))
        server.answer("/0")
        rig.run_until(lambda: rig.spider.open_count() == 1)
        if not rig.reported():
            assert 0 < rig.worker.wait_seconds() < 0.001
        rig.run_until(lambda: rig.reported() == [0])
        server.answer("/1")
        rig.run_until(lambda: rig.reported() == [0, 1])
        assert rig.worker.wait_seconds() == 1.0


@pytest.mark.parametrize("status", [503, 429, 500])
def test_what_has_not_been_started_is_given_back_when_a_server_is_in_trouble(status: int):
    with working() as (server, rig):
        rig.worker.begin(rig.visits(*range(6)))
        rig.run_until(lambda: len(server.asked) == MOST_OPEN)
        server.answer("/1", status)
        rig.run_until(lambda: rig.reported() == [1])
        assert rig.told(Tag.UNSENT) == [[3, 4, 5]]
        server.answer("/0")
        server.answer("/2")
        rig.run_until(lambda: len(rig.reported()) == MOST_OPEN)
    assert sorted(server.asked) == ["/0", "/1", "/2"]


def test_a_page_that_is_missing_is_no_trouble():
    with working() as (server, rig):
        rig.worker.begin(rig.visits(*range(4)))
        rig.run_until(lambda: len(server.asked) == MOST_OPEN)
        server.answer("/1", 404)
        rig.run_until(lambda: len(server.asked) == MOST_OPEN + 1)
    assert rig.told(Tag.UNSENT) == []


def test_what_a_slow_server_keeps_waiting_is_given_back():
    """Else the coordinator would take it for lost some day."""
    with working() as (server, rig):
        rig.worker.begin(rig.visits(*range(5)))
        rig.run_until(lambda: bool(rig.told(Tag.UNSENT)))
        assert rig.told(Tag.UNSENT) == [[3, 4]]
        rig.worker.begin(rig.visits(3))
        server.answer("/0")
        rig.run_until(lambda: "/3" in server.asked)


def test_what_is_asked_back_is_given_back_once():
    with working() as (server, rig):
        rig.worker.begin(rig.visits(*range(5)))
        rig.run_until(lambda: len(server.asked) == MOST_OPEN)
        rig.worker.give_back()
        rig.worker.give_back()
        assert rig.told(Tag.UNSENT) == [[3, 4]]
        rig.worker.begin(rig.visits(7))
        rig.worker.cancel()
    assert sorted(rig.told(Tag.CANCELLED)[0]) == [100, 101, 102, 107]
    assert sorted(server.asked) == ["/0", "/1", "/2"]
