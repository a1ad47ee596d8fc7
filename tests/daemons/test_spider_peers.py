"""What URL Servers may do to a Spider: ask too much, talk nonsense, go away, come in numbers."""

import hashlib
import hmac
import random
import re
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from spider_rig import QUICK, SpiderProcess, UrlServer, oddity, order_line, until

from effort import least_used
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb

SECRET = "a secret of more than sixteen bytes"


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(pages=60, hosts=3) as web:
        yield web


@pytest.fixture
def spider(tmp_path, store) -> Iterator[SpiderProcess]:
    with SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider:
        yield spider


NONSENSE = [
    b"",
    b"hello",
    b"1 2 3",
    b"1 2 127.0.0.1 http://a.example/ http://a.example/",
    b"1 2 127.0.0.1 a.example http://a.example/ more",
    b"x 2 127.0.0.1 a.example http://a.example/",
    b"-1 2 127.0.0.1 a.example http://a.example/",
    b"1 4294967296 127.0.0.1 a.example http://a.example/",
    b"18446744073709551616 2 127.0.0.1 a.example http://a.example/",
    b"1 2 a.example a.example http://a.example/",
    b"1 2 127.0.0.1 b.example http://a.example/",
    b"1 2 127.0.0.1 a.example http://a.example/\xc3\xa4",
    b"1 2 127.0.0.1 a.example http://a.example/\x00",
    b"1  2 127.0.0.1 a.example http://a.example/",
    b"\xff\xfe\xfd",
    b"GET 5",
    b"DONE 1",
]


@pytest.mark.parametrize("line", NONSENSE)
@pytest.mark.req("S0.16")
def test_a_line_that_is_no_order_is_skipped_and_the_link_goes_on(spider, web, store, line):
    with UrlServer(spider.port) as server:
        server.send_all([line + b"\n", order_line(3, web.start_url)])
        server.wait_done(3)
        assert set(server.lines) == {"GET 1000", "WORKING 3", "DONE 3"}
        caller = server.name
    spider.wait_said(f"a line of the URL Server {caller} was skipped")
    spider.wait_said(f"the link to the URL Server {caller} ended: closed by the other side")


def test_ten_bad_lines_in_a_row_close_the_link_and_nine_do_not(spider, web):
    with UrlServer(spider.port) as patient, UrlServer(spider.port) as server:
        for number in range(5):
            patient.send_all([b"nonsense\n"] * 9 + [order_line(number, web.start_url)])
            patient.wait_done(number)
        server.send_all([b"nonsense\n"] * 10 + [order_line(7, web.start_url)])
        server.wait_closed()
        assert "DONE 7" not in server.lines
        patient.order(8, web.start_url)
        patient.wait_done(8)
    spider.wait_said("ten lines in a row")


def test_a_line_without_end_costs_no_memory_and_then_the_link(spider, web):
    """Over-long lines are skipped in constant memory; who never ends one runs out of patience."""
    before = spider.memory_bytes()
    with UrlServer(spider.port) as server:
        server.send_all([b"1 1 127.0.0.1 http://a.example/" + b"a" * 70_000 + b"\n"])
        server.send_all([order_line(2, web.start_url)])
        server.wait_done(2)
        with pytest.raises(ConnectionError):
            drip_endlessly(server)
    assert spider.memory_bytes() - before < 8 << 20


def drip_endlessly(server: UrlServer) -> None:
    """Send a line that does not end, until somebody has had enough."""
    for _ in range(200):
        server.socket.sendall(b"a" * 100_000)
        time.sleep(0.002)


def test_noise_of_any_kind_neither_ends_nor_stalls_the_spider(spider, web):
    noise = random.Random(5)
    with UrlServer(spider.port) as witness:
        for number in range(30):
            with UrlServer(spider.port) as peer:
                try:
                    peer.socket.sendall(noise.randbytes(noise.randint(1, 200_000)))
                    peer.listen(0.01)
                except ConnectionError:
                    pass
            witness.order(number, web.start_url)
            witness.wait_done(number)
    assert len(spider.said().splitlines()) < 200, "the messages are bounded, too"


@pytest.mark.req("S0.15")
def test_credit_is_given_so_that_no_more_than_max_open_are_out(tmp_path, store):
    """A URL Server that obeys GET never has more open than the Spider is willing to take."""
    with (
        FakeWeb(pages=100, hosts=1, latency_ms=60) as web,
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, "spider.max_open=6") as spider,
        UrlServer(spider.port) as server,
    ):
        urls = web.truth()["pages"][:60]
        server.wait_for(lambda it: it.lines == ["GET 6"])
        sent = 0
        while len(server.done) < len(urls):
            while sent < min(server.credit, len(urls)):
                server.order(sent, urls[sent])
                sent += 1
            most = sent - len(server.done)
            assert most <= 6
            assert server.credit - len(server.done) <= 6
            heard = len(server.said)
            server.wait_for(lambda it, heard=heard: len(it.said) > heard)
        log = web.log()
        assert judge.max_concurrency(log) == 6
        assert len(log.requests) == 60
        assert all(re.fullmatch("(GET [1-6]|WORKING [0-9]+|DONE [0-9]+)", x) for x in server.lines)


@pytest.mark.req("S0.11")
def test_a_url_server_that_ignores_credit_is_slowed_down(tmp_path, store):
    """It is not read while as much is open as may be: the rest waits in its own socket."""
    with (
        FakeWeb(pages=10, hosts=1, latency_ms=50) as web,
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, "spider.max_open=8") as spider,
        UrlServer(spider.port) as server,
    ):
        path = f"{web.start_url}~/etag?{'x' * 200}"
        count = 600
        server.send_all([order_line(number, f"{path}{number}") for number in range(count)])
        server.wait_done(*range(count), seconds=60)
        assert judge.max_concurrency(web.log()) <= 8 + 8, "what one look at the socket brings"
        assert len(web.log().requests) == count


@pytest.mark.req("S0.1", "S0.4")
def test_two_url_servers_may_use_the_same_numbers(spider, web, store):
    """A TRANS_ID means something on its own link only."""
    urls = web.truth()["pages"]
    with UrlServer(spider.port) as one, UrlServer(spider.port) as two:
        for number in range(20):
            one.order(number, urls[number], doc=number)
            two.order(number, urls[number + 20], doc=1_000 + number)
        one.wait_done(*range(20))
        two.wait_done(*range(20))
        one.listen(0.1)
        two.listen(0.1)
        assert sorted(one.done) == sorted(two.done) == list(range(20))
        store.accept()
        store.wait_for(40)
    assert {doc: each.url for doc, each in store.by_doc().items()} == {
        **{number: urls[number] for number in range(20)},
        **{1_000 + number: urls[number + 20] for number in range(20)},
    }


def test_the_second_url_server_gets_its_share_though_the_first_does_nothing(spider, web):
    with UrlServer(spider.port) as idle:
        idle.wait_for(lambda it: it.credit == 1_000)
        with UrlServer(spider.port) as second:
            second.wait_for(lambda it: it.credit == 500)
            second.order(1, web.start_url)
            second.wait_done(1)


def test_a_lost_link_ends_its_fetches_at_once_and_no_others(spider, web, store):
    """Nobody times those any more; whoever ordered them orders them again."""
    with UrlServer(spider.port) as stays:
        stays.order(1, oddity(web, "hang?stays"))
        goes = UrlServer(spider.port)
        goes.order(1, oddity(web, "hang?goes"), doc=2)
        goes.order(2, web.start_url, doc=3)
        goes.wait_done(2)
        stays.wait_for(lambda it: "WORKING 1" in it.lines)
        goes.wait_for(lambda it: "WORKING 1" in it.lines)
        goes.close()
        for _ in until():
            open_now = {each.target: each for each in web.log().requests if "hang?" in each.target}
            if open_now["/~/hang?goes"].end_ns is not None:
                break
        assert open_now["/~/hang?goes"].how == "gone"
        # Its own deadline would have ended it with the other one, which had begun before.
        assert open_now["/~/hang?stays"].end_ns is None
        store.accept()
        store.wait_for(1)
        store.step(0.5)
        assert [each.doc_id for each in store.results] == [3], "what was done stays, no more comes"


def test_orders_of_a_url_server_that_is_gone_already_are_not_begun(spider, web):
    """It may have been replaced by one that times the host anew."""
    with UrlServer(spider.port) as witness:
        witness.wait_for(lambda it: it.credit > 0)
        spider.process.send_signal(signal.SIGSTOP)
        gone = UrlServer(spider.port)
        gone.send_all([order_line(each, oddity(web, f"etag?gone{each}")) for each in range(20)])
        gone.close()
        time.sleep(0.1)
        spider.process.send_signal(signal.SIGCONT)
        witness.order(1, web.start_url)
        witness.wait_done(1)
    assert not [each for each in web.log().requests if "gone" in each.target]


def test_a_url_server_that_reads_nothing_is_left(tmp_path, store, web):
    # The orders stay open, and are reported, however long it takes to fill all buffers.
    patience = ("spider.Timeout_Req=300000", "spider.timeout_first_byte_ms=300000")
    with SpiderProcess(
        store.port, tmp_path / "spool", *QUICK, *patience, "spider.Timeout_Update=10"
    ) as spider:
        deaf = UrlServer(spider.port, receive_buffer=4_096)
        deaf.send_all([order_line(each, oddity(web, f"hang?{each}")) for each in range(400)])
        spider.wait_said("it does not read what it is told", 240)
        with UrlServer(spider.port) as other:
            other.order(1, web.start_url)
            other.wait_done(1)
        deaf.close()


def test_no_more_links_than_max_peers(tmp_path, store, web):
    with SpiderProcess(store.port, tmp_path / "spool", *QUICK, "wire.max_peers=2") as spider:
        first, second = UrlServer(spider.port), UrlServer(spider.port)
        first.wait_for(lambda it: it.credit > 0)
        second.wait_for(lambda it: it.credit > 0)
        with UrlServer(spider.port) as third:
            third.wait_closed()
        first.order(1, web.start_url)
        first.wait_done(1)
        first.close()
        for _ in until():
            with UrlServer(spider.port) as third:
                third.listen(0.2)
                if third.credit:
                    break
        second.close()


def test_sigterm_ends_it_in_good_order(tmp_path, store):
    """What is open is finished and reported, what comes later not begun, and all delivered."""
    with (
        FakeWeb(pages=30, hosts=1, latency_ms=4_000) as web,
        SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider,
        UrlServer(spider.port) as server,
    ):
        urls = web.truth()["pages"]
        store.accept()
        server.send_all([order_line(number, urls[number]) for number in range(10)])
        server.wait_for(lambda it: it.lines.count("WORKING 9") == 1)
        spider.process.terminate()
        for _ in until():
            try:
                UrlServer(spider.port).close()
            except ConnectionRefusedError:
                break
        server.order(10, urls[10])
        store.wait_for(10)
        server.wait_closed()
        assert spider.process.wait(60) == 0
        assert sorted(server.done) == list(range(10))
        assert sorted(each.doc_id for each in store.results) == list(range(10))
        assert sorted(each.url for each in web.log().requests) == sorted(urls[:10])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_does_not_end_within_the_grace_is_returned_without_done(tmp_path, store, web, number):
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, "spider.grace_seconds=0.5") as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, oddity(web, "hang"))
        server.wait_for(lambda it: "WORKING 1" in it.lines)
        began = time.monotonic()
        spider.process.send_signal(number)
        server.wait_closed()
        # The fetch itself would go on for half a minute.
        assert spider.process.wait(20) == 0
        assert time.monotonic() - began > 0.4
        assert server.done == []


def test_an_idle_spider_ends_at_once_and_uses_no_time_meanwhile(spider):
    with UrlServer(spider.port) as server:
        server.wait_for(lambda it: it.credit > 0)
        assert least_used(spider.process.pid, seconds=1.0) < 0.1
        account = spider.stop()
        assert (account["orders"], account["delivered"]) == (0, 0)


def prove(end: socket.socket, secret: str) -> None:
    """Answer the challenge of a listener, by the document."""
    stream = end.makefile("rb")
    theirs = stream.readline().split()[1]
    ours = secrets.token_hex(32).encode()
    proof = hmac.new(secret.encode(), b"dial" + theirs + ours, hashlib.sha256).hexdigest()
    end.sendall(b"AUTH " + ours + b" " + proof.encode() + b"\n")
    verdict = stream.readline()
    expected = hmac.new(secret.encode(), b"listen" + ours + theirs, hashlib.sha256).hexdigest()
    assert verdict == b"OK " + expected.encode() + b"\n"


def challenge(end: socket.socket, secret: str) -> None:
    """Ask a dialler for its proof, by the document."""
    ours = secrets.token_hex(32).encode()
    end.sendall(b"AUTH " + ours + b"\n")
    _, theirs, proof = end.makefile("rb").readline().split()
    expected = hmac.new(secret.encode(), b"dial" + ours + theirs, hashlib.sha256).hexdigest()
    assert proof.decode() == expected
    verdict = hmac.new(secret.encode(), b"listen" + theirs + ours, hashlib.sha256).hexdigest()
    end.sendall(b"OK " + verdict.encode() + b"\n")


def test_with_a_secret_both_links_are_proved_before_anything_is_said(tmp_path, web):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with SpiderProcess(
        port, tmp_path / "spool", *QUICK, environment={"GOSSAMER_SECRET": SECRET}
    ) as spider:
        with UrlServer(spider.port) as stranger:
            stranger.order(1, oddity(web, "etag?stranger"))
            stranger.wait_closed()
            assert all(line.startswith("AUTH ") for line in stranger.lines)
        with UrlServer(spider.port) as server:
            prove(server.socket, SECRET)
            server.order(2, web.start_url)
            server.wait_done(2)
        end, _ = listener.accept()
        assert not select.select([end], [], [], 0.3)[0], "no result before the proof"
        challenge(end, SECRET)
        end.settimeout(60)
        assert int.from_bytes(end.recv(4), "big") == 2
        end.close()
    listener.close()
    assert "/~/etag?stranger" not in {each.target for each in web.log().requests}


def test_strangers_that_hold_on_do_not_keep_others_out(tmp_path, web):
    """Of links that prove nothing, the oldest goes when all places are taken and another calls."""
    with SpiderProcess(
        1,
        tmp_path / "spool",
        *QUICK,
        "wire.max_peers=2",
        environment={"GOSSAMER_SECRET": SECRET},
    ) as spider:
        strangers = [UrlServer(spider.port) for _ in range(2)]
        for stranger in strangers:
            stranger.wait_for(lambda it: bool(it.lines))
        with UrlServer(spider.port) as server:
            prove(server.socket, SECRET)
            strangers[0].wait_closed()
            with UrlServer(spider.port) as other:
                prove(other.socket, SECRET)
                with UrlServer(spider.port) as late:
                    late.wait_closed()
                server.order(1, web.start_url)
                server.wait_done(1)
        strangers[1].close()


def test_a_store_elsewhere_needs_a_secret_or_courage(tmp_path, gossamer):
    words = ["--listen", "127.0.0.1:0", "--store", "192.0.2.1:4000", "--spool", tmp_path / "s"]
    refused = gossamer("spider", *words, check=2)
    assert "192.0.2.1:4000" in refused.stderr
    assert "--insecure" in refused.stderr
    assert "GOSSAMER_SECRET" in refused.stderr
    assert not (tmp_path / "s").exists()


def test_a_listener_that_strangers_reach_needs_a_secret_or_courage(tmp_path, gossamer, store):
    words = ["spider", "--listen", "0.0.0.0:0", "--store", "127.0.0.1:1", "--spool", tmp_path / "s"]
    refused = gossamer(*words, check=2)
    assert "--insecure" in refused.stderr
    assert "GOSSAMER_SECRET" in refused.stderr
    assert not (tmp_path / "s").exists()
    with SpiderProcess(
        store.port, tmp_path / "s", flags=["--insecure"], listen="0.0.0.0:0"
    ) as spider:
        assert spider.stop()["orders"] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--listen", "nowhere", "--store", "127.0.0.1:1"],
        ["--listen", "127.0.0.1:0", "--store", "127.0.0.1:99999"],
        ["--listen", "127.0.0.1:0"],
        ["--listen", "127.0.0.1:0", "--store", "127.0.0.1:1", "--set", "spider.max_open=0"],
    ],
)
def test_bad_input_is_told_in_one_line(gossamer, words):
    refused = gossamer("spider", *words, check=2)
    assert refused.stderr.startswith("gossamer: ")
    assert refused.stderr.count("\n") == 1


def test_the_settings_that_must_agree_are_checked_at_the_start(gossamer, tmp_path):
    refused = gossamer(
        "spider", "--listen", "127.0.0.1:0", "--store", "127.0.0.1:1", "--spool", tmp_path / "s",
        "--set", "spider.Timeout_Update=60000", "--set", "urlserver.Timeout_Spider_Status=90",
        check=2,
    )  # fmt: skip
    assert "Timeout_Spider_Status" in refused.stderr or "timeout_spider_status" in refused.stderr


def test_the_spool_belongs_to_one_spider_and_has_a_place_of_its_own(tmp_path, store):
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    words = ["spider", "--listen", "127.0.0.1:0", "--store", "127.0.0.1:1"]
    with SpiderProcess(store.port, tmp_path / "gossamer" / "spider-0", *QUICK):
        second = subprocess.run(
            [sys.executable, "-m", "gossamer.cli", *words],
            capture_output=True, text=True, timeout=30, check=False,
            env={"PATH": "/usr/bin:/bin", **environment},
        )  # fmt: skip
    assert second.returncode == 3, second.stderr
    assert "in use by process" in second.stderr
    assert "spider-0" in second.stderr
