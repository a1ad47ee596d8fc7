"""The link to the Store Server, one step at a time: no process, but real sockets."""

import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from spider_rig import GREETING, StoreServer, numbers

from gossamer.daemons.peers import Endpoint
from gossamer.daemons.spider_parcels import full_message, parcel_of, plain_message
from gossamer.daemons.spool import Spool
from gossamer.daemons.store_link import StoreLink
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from held_ports import HeldPort


class Watcher:
    """Notes what is watched, and can wait for it as the spider's loop does."""

    def __init__(self) -> None:
        self.watched: dict[int, tuple[bool, bool]] = {}

    def watch(
        self, fd: int, callback: Callable[[], None], *, reading: bool = True, writing: bool = False
    ) -> None:
        self.watched[fd] = (reading, writing)

    def unwatch(self, fd: int) -> None:
        self.watched.pop(fd, None)

    def wait(self, seconds: float) -> None:
        readers = [fd for fd, (reading, _) in self.watched.items() if reading]
        writers = [fd for fd, (_, writing) in self.watched.items() if writing]
        if readers or writers:
            select.select(readers, writers, [], seconds)
        else:
            time.sleep(seconds)


class Rig:
    """A spool, a link to deliver it, and a loop for both."""

    def __init__(self, folder: Path, port: int, grace: float = 0.05, host: str = "127.0.0.1"):
        self.said: list[str] = []
        self.watcher = Watcher()
        self.spool = Spool(folder, 1 << 30)
        self.link = StoreLink(
            Endpoint(host, port), None, self.spool, grace, self.watcher, self.said.append
        )

    def close(self) -> None:
        self.link.close()
        assert self.watcher.watched == {}, "nothing is watched that is closed"
        self.spool.close()

    def keep(self, *doc_ids: int, size: int = 100) -> None:
        for doc_id in doc_ids:
            self.spool.append(parcel_of(fetch(doc_id, bytes(size)), "http://a.example/", **NOT))
        self.spool.sync()

    def run(self, store: StoreServer | None, done: Callable[[], bool], saves: bool = True) -> None:
        end = time.monotonic() + 20
        while not done():
            assert time.monotonic() < end, self.said
            now = time.monotonic()
            self.link.step(now)
            self.watcher.wait(min(max(self.link.next_at(time.monotonic()) - now, 0), 0.005))
            if store is not None:
                store.step(0.0, saves=saves)


NOT = {"followed": False}


def fetch(doc_id: int, body: bytes = b"body", **fields: object) -> Fetch:
    visit = Visit(trans_id=1, doc_id=doc_id, address="192.0.2.1", url="http://a.example/")
    return Fetch(visit=visit, outcome=Outcome.OK, status=200, raw=body, body=body, **fields)


@pytest.fixture(params=[True, False], ids=["greets", "silent"])
def store(request) -> Iterator[StoreServer]:
    with StoreServer(greets=request.param) as store:
        yield store


def test_results_arrive_in_order_and_the_spool_is_empty_then(tmp_path, store):
    rig = Rig(tmp_path, store.port)
    rig.keep(*range(50))
    rig.run(store, lambda: rig.spool.is_empty)
    assert numbers(store.wait_for(50)) == list(range(50))
    rig.keep(*range(50, 60))
    rig.run(store, lambda: rig.link.delivered == 60)
    assert numbers(store.wait_for(60)) == list(range(60))
    rig.close()


def test_after_each_end_of_the_connection_it_goes_on_at_the_mark(tmp_path):
    with StoreServer(greets=True) as store:
        rig = Rig(tmp_path, store.port)
        rig.keep(*range(300), size=20_000)
        for _ in range(3):
            enough = len(store.results) + 20
            rig.run(store, lambda enough=enough: len(store.results) > enough)
            store.hang_up()
        rig.run(store, lambda: rig.spool.is_empty)
        assert set(numbers(store.results)) == set(range(300))
        assert store.connections == 4
        rig.close()


def test_large_results_pass_and_little_waits_in_memory(tmp_path, store):
    rig = Rig(tmp_path, store.port)
    rig.keep(*range(12), size=3_000_000)
    rig.run(store, lambda: rig.spool.is_empty)
    assert numbers(store.wait_for(12)) == list(range(12))
    rig.close()


def test_an_unsaved_result_stays_in_the_spool(tmp_path):
    with StoreServer(greets=True) as store:
        rig = Rig(tmp_path, store.port)
        rig.keep(*range(10))
        rig.run(store, lambda: len(store.results) == 10, saves=False)
        assert not rig.spool.is_empty
        store.say(b"SAVED 4\n")
        rig.run(store, lambda: rig.link.delivered == 4, saves=False)
        store.say(b"SAVED 2\nSAVED 9\n")
        rig.run(store, lambda: rig.link.delivered == 9, saves=False)
        store.hang_up()
        store.results.clear()
        rig.run(store, lambda: len(store.results) == 1)
        assert numbers(store.results) == [9]
        rig.close()


def test_what_was_saved_before_a_store_died_counts_though_sending_fails(tmp_path):
    """It dies in the middle of a step: after we listened, and before we send."""
    with StoreServer(greets=True) as store:
        rig = Rig(tmp_path, store.port)
        rig.keep(1, 2, 3)
        rig.run(store, lambda: len(store.results) == 3, saves=False)
        rig.keep(4)
        read = rig.spool.read

        def read_late(place):
            rig.spool.read = read
            store.say(b"SAVED 3\n")
            store.reset()
            return read(place)

        rig.spool.read = read_late
        rig.link.step(time.monotonic())
        assert not rig.link.is_connected
        assert rig.link.delivered == 3
        rig.run(store, lambda: rig.spool.is_empty)
        assert numbers(store.results) == [1, 2, 3, 4]
        rig.close()


def test_not_more_than_some_results_are_unsaved_at_a_time(tmp_path):
    """What is remembered of results on their way is bounded, too."""
    with StoreServer(greets=True) as store:
        rig = Rig(tmp_path, store.port)
        rig.keep(*range(10_500), size=1)
        rig.run(store, lambda: len(store.results) == 10_000, saves=False)
        for _ in range(20):
            rig.link.step(time.monotonic())
            store.step(0.01, saves=False)
        assert len(store.results) == 10_000
        store.say(b"SAVED 10000\n")
        rig.run(store, lambda: rig.spool.is_empty)
        assert numbers(store.results) == list(range(10_500))
        rig.close()


def test_what_a_silent_store_has_not_acknowledged_when_it_goes_comes_again(tmp_path):
    """Neither the end of the connection nor an emptied buffer is an acknowledgement."""
    with StoreServer(receive_buffer=65_536) as store:
        rig = Rig(tmp_path, store.port, grace=0.5)
        rig.keep(1, 2, 3, size=1_000_000)
        rig.link.step(0.0)
        store.accept()
        # Nobody reads, and the machine of the other takes less than one of them.
        for _ in range(20):
            rig.link.step(1.0)
        assert rig.link.is_connected
        store.hang_up()
        while rig.link.is_connected:
            rig.link.step(1.0)
        assert rig.link.delivered == 0
        rig.run(store, lambda: rig.spool.is_empty)
        assert numbers(store.wait_for(3)) == [1, 2, 3]
        rig.close()


def test_a_greeting_in_pieces_is_a_greeting(tmp_path):
    with StoreServer() as store:
        rig = Rig(tmp_path, store.port, grace=5.0)
        rig.keep(1)
        rig.link.step(time.monotonic())
        store.accept()
        for number in range(len(GREETING)):
            store.say(GREETING[number : number + 1])
            time.sleep(0.005)
            rig.link.step(time.monotonic())
        rig.run(store, lambda: len(store.results) == 1)
        assert store.results[0].padding == 1
        rig.close()


def connected_once(rig: Rig, store: StoreServer) -> None:
    """Let a Store Server greet, save a result and hang up, at one and the same moment."""
    rig.keep(1)
    rig.link.step(0.0)
    store.accept()
    while not rig.spool.is_empty:
        rig.link.step(0.0)
        store.step(0.001)
    store.hang_up()
    while rig.link.is_connected:
        rig.link.step(0.0)


def waiting(rig: Rig, store: StoreServer, now: float) -> None:
    """Have the Store Server called again at a moment; it takes the call and is silent."""
    rig.keep(2)
    rig.link.step(now)
    store.greets = False
    store.accept()
    for _ in range(20):
        rig.link.step(now)
        store.step(0.001)


def test_who_has_greeted_before_is_given_time_to_greet_again(tmp_path):
    """A busy Store Server is not taken for one that never says what it has saved."""
    with StoreServer(greets=True) as store:
        rig = Rig(tmp_path, store.port, grace=0.5)
        connected_once(rig, store)
        waiting(rig, store, 10.0)
        for _ in range(20):
            rig.link.step(14.0)
            store.step(0.001)
        assert numbers(store.results) == [1], "nothing is sent that nobody would acknowledge"
        store.say(GREETING)
        while len(store.results) < 2:
            rig.link.step(14.0)
            store.step(0.001)
        assert store.results[1].padding == 1
        assert not rig.spool.is_empty
        rig.close()


def test_who_greets_no_more_is_sent_results_all_the_same(tmp_path):
    with StoreServer(greets=True) as store:
        rig = Rig(tmp_path, store.port, grace=0.5)
        connected_once(rig, store)
        waiting(rig, store, 10.0)
        while len(store.results) < 2:
            rig.link.step(15.5)
            store.step(0.001)
        assert store.results[1].padding == 0
        rig.close()


def test_a_store_that_wants_a_secret_is_told_apart(tmp_path):
    with StoreServer() as store:
        rig = Rig(tmp_path, store.port, grace=5.0)
        rig.keep(1)
        rig.link.step(time.monotonic())
        store.accept()
        store.say(b"AUTH " + b"0" * 64 + b"\n")
        rig.run(None, lambda: bool(rig.said))
        assert "secret" in rig.said[0]
        rig.close()


def test_another_reason_why_nobody_can_be_reached_is_said_too(tmp_path):
    """A Store Server that comes later, with a secret that we do not have."""
    with HeldPort() as held:
        rig = Rig(tmp_path, held.port, grace=5.0)
        rig.run(None, lambda: bool(rig.said))
        assert "refused" in rig.said[0]
        with StoreServer(port=held.port) as store:
            for _ in range(2):
                rig.run(None, lambda: bool(rig.watcher.watched))
                store.accept()
                store.say(b"AUTH " + b"0" * 64 + b"\n")
                rig.run(None, lambda: not rig.watcher.watched)
                store.hang_up()
            assert len(rig.said) == 2
            assert "asks for a secret" in rig.said[1]
            rig.close()


def test_names_are_looked_up_beside_the_loop(tmp_path, store):
    rig = Rig(tmp_path, store.port, host="localhost")
    rig.keep(1)
    rig.run(store, lambda: rig.spool.is_empty)
    rig.close()
    nowhere = Rig(tmp_path / "nowhere", store.port, host="nowhere.invalid")
    nowhere.run(None, lambda: bool(nowhere.said))
    assert "nowhere.invalid" in nowhere.said[0]
    nowhere.close()


def test_nobody_there_is_said_once_and_again_when_somebody_is(tmp_path):
    with HeldPort() as held:
        rig = Rig(tmp_path, held.port)
        rig.keep(1)
        rig.run(None, lambda: bool(rig.said))
        end = time.monotonic() + 0.8
        rig.run(None, lambda: time.monotonic() > end)
        assert len(rig.said) == 1
        with StoreServer(port=held.port) as store:
            rig.run(store, lambda: rig.spool.is_empty)
            assert rig.said[1:] == [f"connected to the Store Server 127.0.0.1:{held.port} again"]
            rig.close()


def test_one_that_hangs_up_at_once_is_called_again_after_pauses_that_grow(tmp_path):
    with StoreServer() as store:
        rig = Rig(tmp_path, store.port)
        now, pauses = 0.0, []
        for _ in range(8):
            rig.link.step(now)
            store.accept()
            store.hang_up()
            while rig.watcher.watched:
                rig.link.step(now)
            pauses.append(round(rig.link.next_at(now) - now, 3))
            now += pauses[-1] - 0.001
            rig.link.step(now)
            assert rig.watcher.watched == {}, "not before its time"
            now += 0.002
        assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
        rig.close()


def test_a_parcel_is_the_same_result_in_both_forms():
    original = fetch(7, head=b"HTTP/1.1 301 Moved\r\n\r\n", redirect_to="http://b.example/")
    original.status, original.raw, original.body = 301, b"\x1f\x8b...", b"moved"
    parcel = parcel_of(original, "HTTP://A.example", followed=True)
    full, plain = full_message(parcel), plain_message(parcel)
    assert full[:7] == plain[:7]
    assert (full[7], plain[7]) == (1, 0)
    assert plain.endswith(b"HTTP://A.examplehttp://b.example/moved")
    assert b"\x1f\x8b..." in full
    followed = fetch(7, redirect_to="http://a.example/x")
    followed.status = 302
    assert plain_message(parcel_of(followed, "http://a.example/", followed=True))[14:16] == b"\0\0"
    assert plain_message(parcel_of(followed, "http://a.example/", followed=False))[15] == 18
