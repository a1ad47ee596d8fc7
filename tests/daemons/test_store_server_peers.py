"""The links of a store server, without the rest of it."""

import socket
from contextlib import contextmanager

import pytest

from gossamer.clock import ManualClock
from gossamer.config.settings import Settings
from gossamer.config.store import StoreSettings
from gossamer.daemons.endpoints import parse_endpoint
from gossamer.daemons.peers import listen
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.store_peers import StorePeers
from gossamer.daemons.store_poll import Poll
from gossamer.wire.results import Result, encode

RESULT = encode(Result(7, True, 0, 10, 5, b"http://h/", document=b"text"))


class Links:
    """A listener, what arrives, and whether there is room for more."""

    def __init__(self, settings: Settings) -> None:
        self.clock = ManualClock()
        self.arrived = []
        self.has_room = True
        self.told = []
        self.poll = Poll()
        self.listener = listen(parse_endpoint("127.0.0.1:0"), None, insecure=False)
        # So little that a peer who does not read is noticed soon.
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        notes = Notes(self.told.append, ManualClock())
        self.peers = StorePeers(
            self.listener, None, settings, self.poll, self.clock, notes,
            lambda: self.has_room, self.arrived.extend,
        )  # fmt: skip

    def dial(self) -> socket.socket:
        end = socket.socket()
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        end.connect(self.listener.getsockname())
        end.settimeout(5)
        self.turn()
        return end

    def turn(self, times: int = 3) -> None:
        for _ in range(times):
            self.peers.admit()
            self.poll.wait(0.01)


@contextmanager
def links_with(**settings):
    links = Links(Settings(store=StoreSettings(**settings)))
    try:
        yield links
    finally:
        links.peers.close()
        links.poll.close()


@pytest.fixture
def links():
    with links_with() as made:
        yield made


def test_only_the_latest_number_waits_for_one_who_does_not_read(links):
    with links.dial() as deaf:
        links.peers.greet(links.clock.monotonic() + 1)
        deaf.sendall(RESULT)
        links.turn()
        (arrival,) = links.arrived
        account = arrival.account
        (peer,) = links.peers._peers.values()
        for _ in range(20_000):
            account.settle(account.saved)
            links.peers.acknowledge()
            assert peer.link.waiting_bytes < 40
        assert account.saved == 20_000
        # What it would hear if it listened: growing numbers, and in the end the last one.
        heard = b""
        while b"SAVED 20000\n" not in heard:
            heard += deaf.recv(65_536)
            links.turn()
            links.peers.acknowledge()
        numbers = [int(line.split()[1]) for line in heard.splitlines()[1:]]
        assert numbers == sorted(numbers)
        assert len(numbers) < 20_000


def test_nothing_is_read_while_there_is_no_room(links):
    with links.dial() as spider:
        links.has_room = False
        links.turn()
        spider.sendall(RESULT)
        links.turn()
        assert links.arrived == []
        links.has_room = True
        links.turn()
        assert [each.result.doc_id for each in links.arrived] == [7]


def test_room_that_others_have_filled_in_the_same_turn_counts(links):
    with links.dial() as one, links.dial() as other:

        def fill(arrivals):
            links.arrived.extend(arrivals)
            links.has_room = False

        links.peers._on_results = fill
        one.sendall(RESULT)
        other.sendall(RESULT)
        links.poll.wait(0.1)
        assert len(links.arrived) == 1


def test_one_who_always_has_more_does_not_keep_others_from_their_turn(links):
    """Where there is room for one at a time, they take turns, whoever came first."""
    with links.dial() as greedy, links.dial() as modest:

        def fill(arrivals):
            links.arrived.extend(arrivals)
            links.has_room = False

        links.peers._on_results = fill
        modest.sendall(encode(Result(8, True, 0, 10, 5, b"http://h/", document=b"text")))
        for _ in range(3):
            greedy.sendall(RESULT)
            links.has_room = False
            links.turn()
            links.has_room = True
            links.turn()
        assert [each.result.doc_id for each in links.arrived[:2]] == [7, 8]


def test_the_first_to_begin_is_the_only_one_read_when_too_much_is_unfinished():
    with links_with(unsaved_bytes=65_536) as links, links.dial() as first, links.dial() as second:
        message = encode(Result(7, True, 0, 10, 5, b"http://h/", document=b"x" * 100_000))
        first.sendall(message[:50_000])
        links.turn()
        links.clock.advance(1.0)
        second.sendall(message[:20_000])
        links.turn(10)
        held = sum(peer.unfinished_bytes for peer in links.peers._peers.values())
        assert held >= 65_536
        second.sendall(message[20_000:30_000])
        links.turn(5)
        assert sum(peer.unfinished_bytes for peer in links.peers._peers.values()) == held
        first.sendall(message[50_000:])
        links.turn(10)
        assert len(links.arrived) == 1
        second.sendall(message[30_000:])
        links.turn(10)
        assert len(links.arrived) == 2


def test_one_who_drips_keeps_others_waiting_no_longer_than_one_who_is_silent():
    """While too much is unfinished he is the only one read, though he is never silent."""
    with (
        links_with(unsaved_bytes=65_536, silence_seconds=60.0) as links,
        links.dial() as dripping,
        links.dial() as other,
    ):
        message = encode(Result(7, True, 0, 10, 5, b"http://h/", document=b"x" * 100_000))
        dripping.sendall(message[:50_000])
        links.turn()
        links.clock.advance(1.0)
        other.sendall(message[:20_000])
        links.turn(10)
        for _ in range(59):
            links.clock.advance(1.0)
            dripping.sendall(b"x")
            links.turn()
            links.peers.tick(links.clock.monotonic())
        assert len(links.peers) == 2
        links.clock.advance(2.0)
        dripping.sendall(b"x")
        links.turn()
        links.peers.tick(links.clock.monotonic())
        assert len(links.peers) == 1
        assert any("kept all others waiting" in text for text in links.told)
        other.sendall(message[20_000:])
        links.turn(10)
        assert len(links.arrived) == 1
