"""Orders of a URL Server: fetched on receipt, reported, delivered byte for byte."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from spider_rig import (
    QUICK,
    SpiderProcess,
    UrlServer,
    host_in,
    oddity,
    order_line,
    read_results,
    until,
)

from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(pages=60, hosts=3) as web:
        yield web


def address_of(web: FakeWeb) -> str:
    return host_in(web.start_url)


@pytest.mark.req(
    "S0.1", "S0.2", "S0.3", "S0.11", "S0.12", "S0.16", "S0.17", "S0.18", "S0.20", "S0.24", "S0.25",
    "S0.30", "S0.31",
    "S0.32", "S0.33", "S0.36", "S0.38", "S0.39", "S0.40", "S0.41", "S0.43", "S0.44",
)  # fmt: skip
def test_an_order_is_fetched_reported_and_delivered_byte_for_byte(tmp_path, store):
    """The host name has no address but the order's: the Spider never resolves one (A19)."""
    with (
        FakeWeb(pages=20, hosts=2, names=True, addresses=2) as web,
        SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider,
        UrlServer(spider.port) as server,
    ):
        server.wait_for(lambda it: it.lines == ["GET 1000"])
        url = web.start_urls[1]
        address = web.graph().hosts.address(1)
        server.order(71, url, doc=4_294_967_295, address=address)
        server.wait_done(71)
        assert server.lines == ["GET 1000", "WORKING 71", "DONE 71"]
        (request,) = web.log().requests
        assert (request.url, request.address, request.how) == (url, address, "done")
        store.accept()
        (stored,) = store.wait_for(1)
        assert len(stored.document) == request.body_bytes
        assert b"<title>" in stored.document
        header = struct.pack(
            "!IBBBBIHHI",
            4_294_967_295, 1, 0, 10, 0, stored.milliseconds, len(url), 0, request.body_bytes,
        )  # fmt: skip
        assert store.raw == header + url.encode() + stored.document
        assert 0 <= stored.milliseconds < 5_000


@pytest.mark.req("S0.11", "S0.16", "S0.18", "S0.3")
def test_both_forms_of_an_order_are_understood(tmp_path, store, web):
    """Five fields and four, LF and CR LF, numbers up to their limits, spellings of one host."""
    url, address = web.start_url, address_of(web)
    spelled = url.replace("http://", "HTTP://")[:-1]
    largest = 2**64 - 1
    with SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider:
        server = UrlServer(spider.port)
        server.send_all(
            [
                f"1 11 {address} {address} {url}\n".encode(),
                f"2 12 {address} {url}\n".encode(),
                f"3 13 {address} {address} {url}\r\n".encode(),
                f"4 14 {address} {url}\r\n".encode(),
                f"{largest} 0 {address} {address}:{web.port} {url}\n".encode(),
                f"6 16 {address} {spelled}\n".encode(),
                f"7 17 {address} WWW.Example.ORG. http://www.example.org:{web.port}/\n".encode(),
            ]
        )
        server.wait_done(1, 2, 3, 4, largest, 6, 7)
        store.accept()
        store.wait_for(7)
        stored = store.by_doc()
        assert set(stored) == {11, 12, 13, 14, 0, 16, 17}
        assert {stored[doc].document for doc in (11, 12, 13, 14, 0, 16)} == {stored[11].document}
        assert stored[16].url == spelled, "a result is keyed by the URL as it was ordered"
        assert (stored[17].http, stored[17].success, stored[17].specific) == (64, 0, 12)
        assert "www.example.org" in {each.host.split(":")[0] for each in web.log().requests}
        server.close()


@pytest.mark.req("S0.20")
def test_an_ipv6_address_is_connected_to(tmp_path, store):
    try:
        site = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 on this machine")
    port = site.getsockname()[1]
    heads = []

    def serve() -> None:
        for _ in range(2):
            peer, _ = site.accept()
            with peer:
                heads.append(peer.recv(65_536))
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nsix")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, f"http://six.example:{port}/", address="::1")
        server.wait_done(1)
        server.order(2, f"http://[::1]:{port}/", address="::1")
        server.wait_done(2)
        store.accept()
        assert [each.document for each in store.wait_for(2)] == [b"six", b"six"]
    thread.join()
    site.close()
    assert b"Host: six.example:%d\r\n" % port in heads[0]
    assert b"Host: [::1]:%d\r\n" % port in heads[1]


@pytest.mark.req("S0.4", "S0.5", "S0.7", "S0.20", "S0.21")
def test_all_orders_of_one_host_are_opened_at_once(tmp_path, store):
    """Nothing is queued and nothing is put off in the Spider: scheduling is not its business."""
    with (
        FakeWeb(pages=150, hosts=1, latency_ms=4_000) as web,
        SpiderProcess(
            store.port, tmp_path / "spool", *QUICK, "urlserver.host_per_second=1"
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        urls = web.truth()["pages"][:100]
        server.send_all([order_line(number, url) for number, url in enumerate(urls)])
        server.wait_done(*range(100))
        log = web.log()
        assert sorted(request.url for request in log.requests) == sorted(urls)
        # With a gap of a second, or if some waited for others, the first would have been answered.
        assert judge.max_concurrency(log) == 100
        store.accept()
        assert {each.success for each in store.wait_for(100)} == {1}


@pytest.mark.req("S0.8", "S0.13", "S0.17", "S0.19", "S0.22")
def test_an_open_order_is_reported_at_least_each_timeout_update(tmp_path, store, web):
    with (
        SpiderProcess(
            store.port, tmp_path / "spool", "spider.Timeout_Update=1000", "spider.Timeout_Req=5000"
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        server.wait_for(lambda it: it.credit > 0)
        began = time.monotonic()
        server.order(5, oddity(web, "hang-in-body"))
        server.order(6, oddity(web, "hang"))
        server.wait_done(5, 6)
        for trans in (5, 6):
            times = [began, *server.times(f"WORKING {trans}"), *server.times(f"DONE {trans}")]
            assert times == sorted(times)
            assert len(times) >= 6
            assert times[1] - began < 1.0, "the first WORKING tells that the request is out"
            assert max(b - a for a, b in pairwise(times)) < 1.0 + 1.0
            assert times[-1] - began > 4.8


@pytest.mark.req("S0.17", "S0.19")
def test_a_quick_order_is_reported_once_and_a_slow_one_no_more_than_needed(tmp_path, store):
    with (
        FakeWeb(pages=10, hosts=1, latency_ms=3_000) as web,
        SpiderProcess(store.port, tmp_path / "spool", "spider.Timeout_Update=20000") as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, web.start_url)
        server.wait_done(1)
        assert server.lines == ["GET 1000", "WORKING 1", "DONE 1"]
        (request,) = web.log().requests
        # Had it come with the answer, it would have been read after the answer was begun.
        assert server.times("WORKING 1")[0] < request.end_ns / 1e9


@pytest.mark.req("S0.5", "S0.6", "S0.9", "S0.12", "S0.23", "S0.24", "S0.25", "S0.37")
def test_a_fetch_that_takes_too_long_is_finished_and_recorded_as_timed_out(tmp_path, store, web):
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, "spider.Timeout_Req=600") as spider,
        UrlServer(spider.port) as server,
    ):
        server.wait_for(lambda it: it.credit > 0)
        began = time.monotonic()
        server.order(1, oddity(web, "hang"))
        server.order(2, oddity(web, "hang-in-headers"))
        server.order(3, oddity(web, "hang-in-body"))
        server.wait_done(1, 2, 3)
        assert time.monotonic() - began >= 0.6
        store.accept()
        store.wait_for(3)
        found = store.by_doc()
        assert [found[doc][1:5] for doc in (1, 2, 3)] == [(0, 3, 0, 0), (0, 3, 0, 0), (0, 3, 10, 0)]
        assert all(600 <= each.milliseconds < 20_000 for each in found.values())


@pytest.mark.req("S0.10", "S0.25")
@pytest.mark.parametrize("path", ["endless-body", "gzip-bomb"])
def test_a_document_over_max_doc_size_is_cut_and_no_success(tmp_path, store, web, path):
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, "spider.Max_Doc_Size=5000") as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, oddity(web, path))
        server.wait_done(1)
        store.accept()
        (stored,) = store.wait_for(1)
        assert stored[:5] == (1, 0, 8, 10, 0)
        assert len(stored.document) == 5_000


@pytest.mark.req("S0.6", "S0.12", "S0.24", "S0.34")
@pytest.mark.parametrize(
    ("path", "specific", "http"),
    [
        ("drop", 4, 0),
        ("reset", 4, 0),
        ("short-body", 4, 10),
        ("not-http", 7, 0),
        ("broken-chunked", 7, 10),
        ("huge-header", 7, 10),
        ("gzip-truncated", 4, 10),
        ("raw/unknown-encoding", 9, 10),
        ("raw/status-600", 12, 255),
        ("raw/upgrade-unasked", 7, 2),
        ("raw/redirect-without-location", 0, 32),
        ("raw/redirect-bad", 7, 32),
    ],
)
def test_every_misbehaviour_has_a_code_and_a_done(tmp_path, store, web, path, specific, http):
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, oddity(web, path))
        server.wait_done(1)
        store.accept()
        (stored,) = store.wait_for(1)
        assert (stored.success, stored.specific, stored.http) == (0, specific, http)


def enumeration(status: int) -> int:
    """The table of the document, written down once more."""
    for low, high, first in (
        (100, 103, 1), (200, 208, 10), (226, 226, 19), (300, 308, 30), (400, 431, 60),
        (451, 451, 95), (500, 511, 120), (520, 530, 140),
    ):  # fmt: skip
        if low <= status <= high:
            return first + status - low
    return 249 + status // 100


@pytest.mark.req("S0.25", "S0.26", "S0.35")
def test_every_status_from_200_to_599_has_its_enumeration_and_a_meaning(tmp_path, store, web):
    """Success is 2xx with all of its body; 206 and 304 were not asked for and are none."""
    statuses = range(200, 600)
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider,
        UrlServer(spider.port) as server,
    ):
        server.send_all([order_line(each, oddity(web, f"status/{each}")) for each in statuses])
        server.wait_done(*statuses, seconds=60)
        store.accept()
        store.wait_for(len(statuses))
    assert len(store.results) == len(statuses)
    found = store.by_doc()
    assert {status: found[status].http for status in statuses} == {
        status: enumeration(status) for status in statuses
    }
    successes = {status for status in statuses if found[status].success}
    assert successes == set(range(200, 300)) - {206}
    assert {found[status].specific for status in successes} == {0}
    assert {found[status].specific for status in range(400, 600)} == {12}
    assert b"Status 404." in found[404].document
    assert {each.new_url for each in found.values()} == {""}


@pytest.mark.req("S0.12", "S0.24")
def test_what_cannot_be_fetched_at_all_is_an_order_that_fails(tmp_path, store, web):
    """Every order is answered with DONE and a result; nothing is connected to."""
    urls = {
        1: "ftp://files.example/",
        2: f"http://site.example:{web.port}x/",
        3: "http://[bad/",
        4: "http://site.example:22/",
        5: f"http://site.example:{web.port}/forbidden-address",
    }
    before = len(web.log().requests)
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK, flags=()) as spider,
        UrlServer(spider.port) as server,
    ):
        server.send_all([f"{n} {n} 127.0.0.1 {url}\n".encode() for n, url in urls.items()])
        server.wait_done(*urls)
        assert [line for line in server.lines if line.startswith("WORKING")] == []
        store.accept()
        store.wait_for(5)
    assert {doc: each.url for doc, each in store.by_doc().items()} == urls
    assert {(each.success, each.http, each.document) for each in store.results} == {(0, 0, b"")}
    assert len(web.log().requests) == before


def test_an_order_with_the_id_of_an_open_one_replaces_it(tmp_path, store, web):
    """A URL Server without generations gives up an order by using its id again."""
    with (
        SpiderProcess(store.port, tmp_path / "spool", *QUICK) as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(9, oddity(web, "hang?first"), doc=1)
        server.wait_for(lambda it: "WORKING 9" in it.lines)
        server.order(9, web.start_url, doc=2)
        server.wait_done(9)
        server.listen(0.3)
        assert server.done == [9]
        store.accept()
        (stored,) = store.wait_for(1)
        assert stored.doc_id == 2
        for _ in until():
            (hung,) = [each for each in web.log().requests if each.target == "/~/hang?first"]
            if hung.how == "gone":
                break


@pytest.mark.req("S0.18", "S0.31")
def test_nothing_but_results_goes_to_a_store_server_that_does_not_greet(tmp_path, store, web):
    """A reader that knows only the document never loses its place."""
    urls = web.truth()["pages"][:40]
    with (
        SpiderProcess(store.port, tmp_path / "spool") as spider,
        UrlServer(spider.port) as server,
    ):
        server.send_all([order_line(number, url) for number, url in enumerate(urls)])
        server.wait_done(*range(40))
        store.accept()
        store.wait_for(40)
        assert spider.stop()["delivered"] == 40
    results, rest = read_results(store.raw)
    assert rest == b""
    assert {(each.doc_id, each.url) for each in results} == set(enumerate(urls))
    assert {each.padding for each in results} == {0}
