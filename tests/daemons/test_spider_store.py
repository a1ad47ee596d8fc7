"""Results and the Store Server: down, slow, killed, silent, full disk; nothing is ever lost."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from spider_rig import (
    GREETING,
    QUICK,
    SpiderProcess,
    StoreServer,
    UrlServer,
    numbers,
    oddity,
    order_line,
    until,
)

from gossamer.fakeweb.process import FakeWeb
from held_ports import HeldPort

STORE_PROCESS = Path(__file__).parent / "spider_store_process.py"


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(pages=700, hosts=3) as web:
        yield web


@pytest.fixture(scope="module")
def urls(web: FakeWeb) -> list[str]:
    return web.truth()["pages"]


@pytest.fixture
def port() -> Iterator[int]:
    """Where a Store Server may come, go and come again."""
    with HeldPort() as held:
        yield held.port


class Obedient:
    """A URL Server that sends orders as far as credit goes, numbered from 0."""

    def __init__(self, server: UrlServer, urls: list[str]) -> None:
        self.server = server
        self.sent = 0
        self._urls = urls

    def work(self, seconds: float = 0.05) -> None:
        self.server.listen(seconds)
        while self.sent < min(self.server.credit, len(self._urls)):
            self.server.order(self.sent, self._urls[self.sent])
            self.sent += 1

    def work_until_told(self, times: int) -> set[int]:
        """Go on until each order that is open was reported so often; return those orders."""
        heard = len(self.server.said)
        for _ in until(60, 0.0):
            self.work()
            told = Counter(self.server.lines[heard:])
            still_open = set(range(self.sent)) - set(self.server.done)
            if all(told[f"WORKING {trans}"] >= times for trans in still_open):
                return still_open
        raise AssertionError

    def work_until_idle(self, idle_seconds: float = 2.0) -> None:
        """Go on until nothing is open and nothing is asked for any more."""
        heard, at = 0, time.monotonic()
        for _ in until(60, 0.0):
            self.work()
            if len(self.server.said) > heard or len(self.server.done) < self.sent:
                heard, at = len(self.server.said), time.monotonic()
            elif time.monotonic() - at > idle_seconds:
                return


@pytest.mark.req("S0.1", "S0.30")
def test_while_the_store_is_down_results_wait_and_no_order_is_taken_when_it_is_full(
    tmp_path, urls, port
):
    """Then everything is delivered, in order, and work goes on."""
    limit = 300_000
    with (
        SpiderProcess(
            port, tmp_path / "spool", *QUICK, f"spider.spool_bytes={limit}", "spider.max_open=20"
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        work = Obedient(server, urls[:300])
        work.work_until_idle()
        waiting = len(server.done)
        assert 20 < waiting < 150
        assert work.sent == server.credit == waiting, "all that was asked for was done, no more"
        assert 0.8 * limit < spider.spool_bytes() < 1.25 * limit
        assert "results wait in the spool" in spider.said()
        with StoreServer(port=port, greets=True) as store:
            while len(server.done) < 300:
                work.work(0.02)
                store.step(0.02)
            store.wait_for(300)
            assert numbers(store.results)[:waiting] == server.done[:waiting]
            assert numbers(store.results) == server.done
            assert sorted(numbers(store.results)) == list(range(300))
            assert "again" in spider.said().splitlines()[-1]
            account = spider.stop()
        assert (account["delivered"], account["waiting_bytes"]) == (300, 0)
    assert sum(path.stat().st_size for path in spider.spool.glob("*.spool")) < limit


def test_while_the_spool_is_full_callers_are_left_and_taken_when_there_is_room(
    tmp_path, urls, port
):
    """One that never hears GET would push orders, and they would be fetched all at one moment."""
    small = "spider.spool_bytes=100000"
    with SpiderProcess(port, tmp_path / "spool", *QUICK, small, "spider.max_open=20") as spider:
        with UrlServer(spider.port) as server:
            work = Obedient(server, urls[:100])
            work.work_until_idle()
            assert 0 < len(server.done) < 100
            with UrlServer(spider.port) as late:
                late.wait_closed()
                assert late.lines == []
            spider.wait_said(f"{late.name} ended: there is no room in the spool")
            for _ in range(5):
                with UrlServer(spider.port) as late:
                    late.wait_closed()
            assert spider.said().count("no room in the spool") == 1
        with StoreServer(port=port, greets=True) as store:
            store.wait_for(len(server.done))
            for _ in until(30, 0.05):
                store.step(0.0)
                with UrlServer(spider.port) as again:
                    again.listen(0.2)
                    if again.lines:
                        again.order(500, urls[0])
                        again.wait_done(500)
                        break
        assert spider.said().count("there is room in the spool again") == 1


def test_who_never_uses_his_credit_keeps_nobody_else_from_his(tmp_path, urls, store):
    """Room for few results is shared among all links, though credit cannot be taken back."""
    small = "spider.spool_bytes=100000"
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, small) as spider,
        UrlServer(spider.port) as silent,
    ):
        silent.wait_for(lambda silent: silent.lines == ["GET 6"])
        with UrlServer(spider.port) as server:
            server.wait_for(lambda server: server.lines == ["GET 3"])
            server.order(1, urls[0])
            server.wait_done(1)


@pytest.mark.req("S0.1")
def test_a_spider_that_is_killed_delivers_its_spool_after_the_restart(tmp_path, urls, port):
    with SpiderProcess(port, tmp_path / "spool", *QUICK) as spider:
        server = UrlServer(spider.port)
        server.send_all([order_line(number, urls[number]) for number in range(120)])
        server.wait_done(*range(120))
        spider.kill()
    with StoreServer(port=port, greets=True) as store:
        with SpiderProcess(port, tmp_path / "spool", *QUICK) as spider:
            store.wait_for(120)
            assert numbers(store.results) == server.done
            time.sleep(0.5)
            spider.kill()
        with SpiderProcess(port, tmp_path / "spool", *QUICK) as spider:
            with UrlServer(spider.port) as again:
                again.order(500, urls[0])
                again.wait_done(500)
            store.wait_for(121)
            assert numbers(store.results)[120:] == [500], "what was saved is not sent again"
    server.close()


def test_killed_again_and_again_a_spider_loses_nothing_that_it_called_done(tmp_path, urls):
    """The Store Server sees each result at least once, whenever the Spider dies.

    How much comes twice depends on the moment of a kill: no connection brings anything twice, and
    after an orderly end nothing comes again.
    """
    done: set[int] = set()
    spool = tmp_path / "spool"
    with StoreServer(greets=True) as store:
        for life in range(8):
            with SpiderProcess(store.port, spool, *QUICK) as spider:
                server = UrlServer(spider.port)
                ids = range(life * 80, life * 80 + 80)
                server.send_all([order_line(each, urls[each % 600]) for each in ids])
                while len(server.done) < 10 * life + 5:
                    server.listen(0.005)
                    store.step(0.0)
                spider.kill()
                server.wait_closed()
                done |= set(server.done)
        with SpiderProcess(store.port, spool, *QUICK) as spider:
            for _ in until(20, 0.0):
                store.step(0.05)
                if done <= set(numbers(store.results)):
                    break
            spider.process.terminate()
            for _ in until(20, 0.0):
                store.step(0.05)
                if spider.process.poll() is not None:
                    break
            assert spider.stop()["waiting_bytes"] == 0
        came = len(store.results)
        with SpiderProcess(store.port, spool, *QUICK) as spider, UrlServer(spider.port) as server:
            server.order(1000, urls[0])
            store.wait_for(came + 1)
    assert numbers(store.results)[came:] == [1000], "what was saved does not come again"
    for begin, end in pairwise([*store.began, len(store.results)]):
        brought = numbers(store.results[begin:end])
        assert len(brought) == len(set(brought)), "no connection brings a result twice"


@pytest.mark.req("S0.30")
def test_what_a_killed_store_did_not_save_comes_again(tmp_path, urls, port):
    """`kill -9` in the middle: each connection begins where SAVED of the last one ended."""
    count = 200
    with (
        SpiderProcess(port, tmp_path / "spool") as spider,
        UrlServer(spider.port) as server,
    ):
        server.send_all([order_line(number, urls[number]) for number in range(count)])
        server.wait_done(*range(count))
        for number in range(5):
            came = _life_of_a_store(port, tmp_path / f"life-{number}", 40)
            assert came == server.done[number * 40 : number * 40 + 40]


def _life_of_a_store(port: int, path: Path, results: int) -> list[int]:
    """Run a Store Server until it has saved so many results and said so, then kill it."""
    command = [sys.executable, str(STORE_PROCESS), str(port), str(path), str(results)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert process.stdout.readline() == b"full\n"
        process.kill()
    return [int(line) for line in path.read_text().splitlines()]


def test_a_store_that_greets_gets_the_whole_fetch_and_any_other_the_document(tmp_path, web, urls):
    """The same result in both forms; the padding tells which it is."""
    found = {}
    for greets in (True, False):
        with (
            StoreServer(greets=greets) as store,
            SpiderProcess(store.port, tmp_path / f"spool-{greets}") as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, urls[5])
            server.order(2, oddity(web, "raw/gzip-two-members"))
            server.wait_done(1, 2)
            store.wait_for(2)
            found[greets] = store.by_doc()
    for doc in (1, 2):
        full, plain = found[True][doc], found[False][doc]
        assert (full.padding, plain.padding) == (1, 0)
        assert full[:4] == plain[:4]
        assert full.url == plain.url
        fetch = msgspec.msgpack.decode(full.document)
        assert fetch[0] == full.url
        assert fetch[3] == 200
        assert fetch[5].startswith(b"GET /")
        assert fetch[6].startswith(b"HTTP/1.1 200")
        raw, body = fetch[8], fetch[9]
        assert (raw if body is None else body) == plain.document
    assert msgspec.msgpack.decode(found[True][2].document)[8].startswith(b"\x1f\x8b")


def test_a_result_is_kept_until_a_silent_store_has_acknowledged_it(tmp_path, urls):
    """Without SAVED, arrived is what the other machine has acknowledged; the rest comes again."""
    with StoreServer() as store:
        with SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider:
            store.accept()
            with UrlServer(spider.port) as server:
                server.send_all([order_line(number, urls[number]) for number in range(30)])
                server.wait_done(*range(30))
            store.wait_for(30)
            store.close()
            with UrlServer(spider.port) as server:
                server.send_all([order_line(100 + each, urls[each]) for each in range(30)])
                server.wait_done(*range(100, 130))
            spider.wait_said("no connection to the Store Server")
            with StoreServer(port=store.port) as second:
                second.wait_for(30)
                second.step(0.5)
                assert numbers(second.results) == server.done
        with (
            StoreServer(port=store.port) as third,
            SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider,
        ):
            third.accept()
            third.step(1.0)
            assert third.results == []
            assert spider.stop()["waiting_bytes"] == 0


def test_a_greeting_that_comes_late_is_heard(tmp_path, urls):
    with (
        StoreServer() as store,
        SpiderProcess(store.port, tmp_path / "spool", "wire.Flow_Grace=50") as spider,
        UrlServer(spider.port) as server,
    ):
        store.accept()
        server.order(1, urls[1])
        store.wait_for(1)
        store.say(GREETING)
        time.sleep(0.2)
        server.order(2, urls[2])
        server.order(3, urls[3])
        store.wait_for(3)
        assert [each.padding for each in store.results] == [0, 1, 1]
        store.say(b"SAVED 3\n")
        time.sleep(0.2)
        account = spider.stop()
        assert (account["delivered"], account["waiting_bytes"]) == (3, 0)


@pytest.mark.parametrize(
    "nonsense",
    [b"SAVED 1000\n", b"nonsense\n" * 10, b"SAVED -1\n" * 10, b"\xff" * 100_000],
    ids=["too many", "words", "negative", "noise"],
)
def test_a_store_that_talks_nonsense_is_called_again_and_nothing_is_lost(tmp_path, urls, nonsense):
    with (
        StoreServer(greets=True) as store,
        SpiderProcess(store.port, tmp_path / "spool") as spider,
        UrlServer(spider.port) as server,
    ):
        store.accept()
        server.order(1, urls[1])
        store.wait_for(1, saves=False)
        store.say(nonsense)
        store.wait_for(2)
        assert numbers(store.results) == [1, 1]
        assert store.connections == 2


def test_a_store_that_reads_nothing_costs_no_memory(tmp_path):
    """The spool is on disk, and only little of it in memory, however slow the Store Server is."""
    with (
        FakeWeb(pages=400, hosts=4, page_bytes=200_000) as web,
        StoreServer() as store,
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, "spider.max_open=4") as spider,
        UrlServer(spider.port) as server,
    ):
        store.accept()
        work = Obedient(server, web.truth()["pages"][:40])
        while len(server.done) < 40:
            work.work()
        before = spider.memory_bytes()
        work = Obedient(server, web.truth()["pages"][:300])
        work.sent = 40
        while len(server.done) < 300:
            work.work()
        assert spider.spool_bytes() > 40_000_000
        assert spider.memory_bytes() - before < 16 << 20
        store.wait_for(300, 60)
        assert numbers(store.results) == server.done


def test_a_torn_end_of_the_spool_is_cut_and_the_rest_delivered(tmp_path, urls, port):
    with SpiderProcess(port, tmp_path / "spool", *QUICK) as spider:
        server = UrlServer(spider.port)
        server.send_all([order_line(number, urls[number]) for number in range(20)])
        server.wait_done(*range(20))
        spider.kill()
        server.close()
    (segment,) = (tmp_path / "spool").glob("*.spool")
    with segment.open("ab") as file:
        file.write(segment.read_bytes()[8:1_000])
    with (
        StoreServer(port=port, greets=True) as store,
        SpiderProcess(port, tmp_path / "spool", *QUICK) as spider,
    ):
        store.wait_for(20)
        store.step(0.3)
        assert numbers(store.results) == server.done
        assert "ended in the middle of a result" in spider.said()


def can_mount(folder: Path) -> bool:
    mount = f"mount -t tmpfs -o size=1m none {folder}"
    probe = subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False)
    return not probe.returncode


@pytest.mark.req("S0.12", "S0.19")
def test_on_a_full_disk_nothing_is_called_done_and_nothing_is_lost(tmp_path, urls, port):
    """Finished orders are kept open, and reported as open, until there is space again."""
    spool = tmp_path / "spool"
    spool.mkdir()
    if not can_mount(spool):
        pytest.skip("mounting a small file system needs root")
    script = f"mount -t tmpfs -o size=1m none {spool} && head -c 600k /dev/zero > {spool}/ballast"
    with (
        SpiderProcess(
            port,
            spool,
            *QUICK,
            "spider.max_open=30",
            "spider.Timeout_Update=400",
            wrap=["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh"],
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        work = Obedient(server, urls[:250])
        for _ in until(30, 0.0):
            work.work()
            if "no space is left" in spider.said():
                break
        # What was on disk before is told before the orders that wait are reported.
        still_open = work.work_until_told(1)
        done, asked = list(server.done), server.credit
        assert 0 < len(still_open) <= 30
        assert work.work_until_told(3) == still_open
        assert server.done == done, "no DONE while the result is not on disk"
        assert server.credit == asked, "and nothing more is asked for"
        Path(f"/proc/{spider.process.pid}/root{spool}/ballast").unlink()
        spider.wait_said("can be written again")
        assert spider.said().count("no space is left") == 1
        with StoreServer(port=port, greets=True) as store:
            while len(server.done) < 250:
                work.work(0.02)
                store.step(0.0)
            store.wait_for(250)
            assert sorted(numbers(store.results)) == list(range(250))
            assert numbers(store.results) == server.done


@pytest.mark.req("S0.12")
def test_results_that_exceed_the_disk_go_through_it_in_parts(tmp_path, urls, store):
    """What fits is delivered and makes room for the next; nobody needs to free anything."""
    spool = tmp_path / "spool"
    spool.mkdir()
    if not can_mount(spool):
        pytest.skip("mounting a small file system needs root")
    script = f"mount -t tmpfs -o size=1m none {spool} && head -c 1008k /dev/zero > {spool}/ballast"
    with (
        SpiderProcess(
            store.port,
            spool,
            *QUICK,
            "spider.max_open=40",
            "spider.Timeout_Update=400",
            wrap=["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh"],
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        work = Obedient(server, urls[:40])
        for _ in until(30, 0.0):
            work.work()
            if work.sent == 40:
                break
        assert len(work.work_until_told(3)) > 30, "all were fetched, and few could be kept"
        assert spider.said().count("no space is left") == 1
        ballast = Path(f"/proc/{spider.process.pid}/root{spool}/ballast")
        os.truncate(ballast, 980 << 10)
        for _ in until(60, 0.0):
            work.work(0.02)
            store.step(0.0)
            if len(server.done) == 40:
                break
        assert numbers(store.wait_for(40)) == server.done
        spider.wait_said("can be written again")
