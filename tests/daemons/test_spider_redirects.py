"""Redirects: one result for each hop, followed on the host itself, and politely."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from spider_rig import QUICK, SpiderProcess, StoreServer, UrlServer, oddity

from gossamer.config.urlserver import UrlServerSettings
from gossamer.daemons.spider_hops import Gaps, Hops, stays_on_host
from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Request
from gossamer.fakeweb.process import FakeWeb

# No gaps: these tests are about what is followed, those below about when.
AT_ONCE = (*QUICK, "urlserver.host_per_second=0")

# The first host of a fake web, where only the time of hops matters.
NO_ROBOTS = (*QUICK, 'urlserver.robots_ignore={"127.16.0.1" = "a test"}')


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(pages=60, hosts=1, redirects=10) as web:
        yield web


@pytest.fixture
def spider(tmp_path, store) -> Iterator[SpiderProcess]:
    with SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE) as spider:
        yield spider


def pages_asked(web: FakeWeb) -> list[Request]:
    return [request for request in web.log().requests if not request.is_robots]


def hops_of(store: StoreServer, count: int) -> list[tuple[str, int, int, int, str]]:
    store.accept()
    return [
        (each.url, each.success, each.specific, each.http, each.new_url)
        for each in store.wait_for(count)
    ]


@pytest.mark.req("S0.27", "S0.28", "S0.29", "S0.42")
@pytest.mark.parametrize("number", range(5))
def test_a_redirect_on_the_host_is_recorded_and_followed(spider, store, web, number):
    """301 and 308 name a URL to use instead; 302, 303 and 307 are followed, no more."""
    status = (301, 302, 303, 307, 308)[number]
    url = f"{web.start_url}r/{number}"
    target = web.truth()["redirects"][url]
    with UrlServer(spider.port) as server:
        server.order(1, url, doc=77)
        server.wait_done(1)
    hops = hops_of(store, 2)
    replaces = status in (301, 308)
    assert hops[0] == (url, 0, 1, 30 + status - 300, target if replaces else "")
    assert hops[1] == (target, 1, 0, 10, "")
    assert [each.doc_id for each in store.results] == [77, 77]
    asked = [each for each in web.log().requests if each.url in (url, target)]
    assert [each.status for each in asked[-2:]] == [status, 200]


@pytest.mark.req("S0.6", "S0.28", "S0.29")
def test_each_hop_of_a_chain_has_a_result_under_its_own_url_and_done_comes_last(spider, store, web):
    with UrlServer(spider.port) as server:
        server.order(1, oddity(web, "redirect-chain/4"))
        server.wait_done(1)
        assert server.done == [1]
        assert server.lines[-1] == "DONE 1"
    assert hops_of(store, 5) == [
        *((oddity(web, f"redirect-chain/{left}"), 0, 1, 32, "") for left in (4, 3, 2, 1)),
        (oddity(web, "redirect-chain/0"), 1, 0, 10, ""),
    ]


@pytest.mark.req("S0.6", "S0.27", "S0.29")
@pytest.mark.parametrize(
    ("path", "hops"),
    [
        ("redirect-self", ["redirect-self"]),
        ("redirect-loop", ["redirect-loop", "redirect-loop/a", "redirect-loop/b"]),
        ("redirect-chain/21", [f"redirect-chain/{left}" for left in (21, 20, 19, 18)]),
    ],
)
def test_endless_redirects_are_given_up(tmp_path, store, web, path, hops):
    """After Max_Redirects hops, or when a URL comes again; the last result tells."""
    before = len(pages_asked(web))
    with (
        SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE, "spider.Max_Redirects=3") as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, oddity(web, path))
        server.wait_done(1)
        found = hops_of(store, len(hops))
    assert found == [
        *((oddity(web, hop), 0, 1, 32, "") for hop in hops[:-1]),
        (oddity(web, hops[-1]), 0, 2, 32, ""),
    ]
    assert len(pages_asked(web)) - before == len(hops)


@pytest.mark.req("S0.27", "S0.42")
@pytest.mark.parametrize("away", ["http://other.example/", "http://{name}:1/", "https://{name}/"])
def test_a_redirect_that_leaves_the_host_is_only_reported(spider, store, web, away):
    """The URL Server has to schedule it, so it is told in new_url, whatever the status."""
    name = web.start_url.split("/")[2].partition(":")[0]
    target = away.format(name=name)
    url = oddity(web, f"redirect-to?url={target}")
    with UrlServer(spider.port) as server:
        server.order(1, url)
        server.wait_done(1)
    assert hops_of(store, 1) == [(url, 0, 1, 32, target)]


def test_following_in_place_can_be_turned_off(tmp_path, store, web):
    with (
        SpiderProcess(
            store.port, tmp_path / "spool", *AT_ONCE, "spider.follow_in_place=false"
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, oddity(web, "redirect-chain/2"))
        server.wait_done(1)
        url, target = oddity(web, "redirect-chain/2"), oddity(web, "redirect-chain/1")
        assert hops_of(store, 1) == [(url, 0, 1, 32, target)]


def test_the_hops_of_an_order_are_announced_and_keep_the_gap_of_the_host(tmp_path, store):
    """WORKING is said again and again until a hop's request is out, so that no order comes."""
    with (
        FakeWeb(pages=10, hosts=1) as web,
        SpiderProcess(
            store.port, tmp_path / "spool", *QUICK, "urlserver.Req_Host_Per_Sec=0.5"
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, oddity(web, "redirect-chain/2"))
        server.wait_done(1)
        log = web.log()
        assert [request.target for request in log.requests] == [
            "/~/redirect-chain/2",
            "/robots.txt",
            *(f"/~/redirect-chain/{left}" for left in (1, 0)),
        ]
        assert judge.gap_violations(log, 2.0) == []
        starts = [request.start_ns / 1e9 for request in log.requests]
        said = [at for at in server.times("WORKING 1") if at > starts[0]]
        assert max(b - a for a, b in pairwise(said)) < 2.0, "never silent for a gap"
        assert all(b - a > 2.0 + 0.24 for a, b in pairwise(starts))


def test_an_order_that_comes_while_a_hop_waits_goes_first(tmp_path, store):
    """Orders are timed by the URL Server; it is the hop that makes room."""
    with (
        FakeWeb(pages=10, hosts=1) as web,
        SpiderProcess(
            store.port, tmp_path / "spool", *NO_ROBOTS, "urlserver.host_per_second=0.5"
        ) as spider,
        UrlServer(spider.port) as server,
    ):
        server.order(1, oddity(web, "redirect-chain/1"))
        server.wait_for(lambda it: it.lines.count("WORKING 1") >= 2)
        server.order(2, web.start_url)
        server.wait_done(1, 2)
        first, order, hop = web.log().requests
        assert [first.target, order.target] == ["/~/redirect-chain/1", "/"]
        assert hop.target == "/~/redirect-chain/0"
        assert order.start_ns - first.start_ns < 2e9, "the order was not put off"
        assert hop.start_ns - order.start_ns > 1.98e9


@pytest.mark.parametrize(
    ("url", "target", "stays"),
    [
        ("http://a.example/x", "http://a.example/y", True),
        ("http://a.example/", "https://a.example/", True),
        ("https://a.example/", "http://a.example/", False),
        ("http://a.example:8080/", "https://a.example/", False),
        ("http://a.example/", "https://a.example:8443/", False),
        ("http://a.example:8080/x", "http://a.example:8080/", True),
        ("http://a.example/", "http://www.a.example/", False),
        ("http://a.example/", "http://a.example:81/", False),
        ("http://[2001:db8::1]/", "https://[2001:db8::1]/y", True),
    ],
)
@pytest.mark.req("S0.27")
def test_what_counts_as_the_same_host(url, target, stays):
    assert stays_on_host(url, target) is stays


def test_hops_of_one_host_and_of_one_address_keep_their_gaps():
    gaps = Gaps(UrlServerSettings(host_per_second=1.0, address_per_second=4.0))
    hops = Hops(gaps, 30.0)
    gaps.note("a.example", "192.0.2.1", 10.0)
    for ticket, host in enumerate(("a.example", "a.example", "b.example", "c.example")):
        hops.add(ticket, f"http://{host}/", "192.0.2.1" if ticket < 3 else "192.0.2.2", 10.0)
    began = {}
    now = 10.0
    while len(began) < 4:
        at = hops.next_at()
        assert at is not None
        now = max(now, at)
        moment = hops.take(now)
        assert moment.give_up == []
        began |= {hop.ticket: round(now, 3) for hop in moment.begin}
    assert began == {3: 11.25, 0: 11.25, 2: 11.5, 1: 12.25}


def test_a_hop_whose_moment_never_comes_is_given_up_and_left_to_the_url_server():
    gaps = Gaps(UrlServerSettings(host_per_second=1.0))
    hops = Hops(gaps, 5.0)
    hops.add(1, "http://a.example/", "192.0.2.1", 0.0)
    now, ended, announced = 0.0, [], 0
    while not ended:
        gaps.note("a.example", "192.0.2.1", now)
        now += 0.25
        moment = hops.take(now)
        assert moment.begin == []
        ended, announced = moment.give_up, announced + len(moment.announce)
    assert [hop.ticket for hop in ended] == [1]
    assert now == 6.25
    assert announced == 24, "so often that no URL Server takes the host for free"


def test_a_hop_that_nobody_could_announce_for_a_gap_waits_as_if_it_were_new():
    """The URL Server took the host for free meanwhile, and an order may be on its way."""
    hops = Hops(Gaps(UrlServerSettings(host_per_second=1.0)), 30.0)
    hops.add(1, "http://a.example/", "192.0.2.1", 0.0)
    for now in (0.25, 0.5):
        assert len(hops.take(now).announce) == 1
    late = hops.take(1.5)
    assert (len(late.begin), len(late.announce)) == (0, 1)
    now = 1.5
    while not (moment := hops.take(now)).begin:
        assert moment.give_up == []
        now += 0.25
    assert now == 1.5 + 1.25


def test_a_hop_that_can_never_be_announced_in_time_is_left_to_the_url_server():
    hops = Hops(Gaps(UrlServerSettings(host_per_second=1.0)), 30.0)
    hops.add(1, "http://a.example/", "192.0.2.1", 0.0)
    now, given_up = 0.0, []
    while not given_up:
        now += 1.0
        moment = hops.take(now)
        assert moment.begin == []
        given_up = moment.give_up
    assert now < 10.0
    assert hops.next_at() is None


def test_hops_of_transactions_that_are_gone_are_forgotten():
    hops = Hops(Gaps(UrlServerSettings()), 5.0)
    for ticket in range(6):
        hops.add(ticket, f"http://h{ticket}.example/", "192.0.2.1", 0.0)
    hops.drop({0, 2, 4})
    seen = []
    now = 0.0
    while hops.next_at() is not None:
        now += 0.25
        seen += [hop.ticket for hop in hops.take(now).begin]
    assert seen == [1, 3, 5]


def test_what_is_remembered_of_hosts_is_bounded():
    gaps = Gaps(UrlServerSettings(host_per_second=0.001))
    for number in range(200_000):
        gaps.note(f"h{number}.example", "192.0.2.1", float(number))
    assert gaps.earliest("h0.example", "192.0.2.9") == 0.0
    assert gaps.earliest("h199999.example", "192.0.2.9") == 199_999 + 1_000.0
