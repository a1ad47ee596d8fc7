"""Redirects that are followed in place obey robots.txt: the fake web's log is the judge."""

import time
from itertools import pairwise

import pytest
from msgspec.structs import replace
from spider_rig import QUICK, SpiderProcess, UrlServer, oddity

from gossamer.config.settings import Settings
from gossamer.config.urlserver import UrlServerSettings
from gossamer.daemons import spider_robots
from gossamer.daemons.spider_hops import Gaps, Hops
from gossamer.daemons.spider_robots import HopRobots, robots_url
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb
from gossamer.messages import Fetch, Kind, Visit
from gossamer.outcomes import Outcome

AT_ONCE = (*QUICK, "urlserver.host_per_second=0")
PRIVATE, OPEN = "/private/secret.html", "/private/open/page.html"


def redirect_to(web: FakeWeb, path: str) -> str:
    return oddity(web, f"redirect-to?url={path}")


def asked(web: FakeWeb) -> list[str]:
    """Return the paths that were asked for, in order."""
    return [request.target.removeprefix("/~") for request in web.log().requests]


def hop(path: str) -> str:
    return f"/redirect-to?url={path}"


class TestRules:
    """What becomes of a redirect, by the answer to /robots.txt."""

    @pytest.mark.req("S0.27")
    def test_into_a_disallowed_path_is_reported_but_never_followed(self, tmp_path, store):
        with (
            FakeWeb(pages=10, hosts=1) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, PRIVATE))
            server.wait_done(1)
            store.accept()
            only = store.wait_for(1)[0]
            assert (only.url, only.specific, only.http) == (redirect_to(web, PRIVATE), 1, 32)
            assert only.new_url == web.start_url.rstrip("/") + PRIVATE
            assert asked(web) == [hop(PRIVATE), "/robots.txt"]
            assert judge.disallowed_requests(web.log(), web.truth()) == []

    def test_a_chain_is_followed_up_to_the_first_path_that_is_disallowed(self, tmp_path, store):
        """The result of each hop is there; the last one names what was not asked for."""
        inner = f"/~{hop(PRIVATE)}".replace("?", "%3F").replace("=", "%3D")
        with (
            FakeWeb(pages=10, hosts=1) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, inner))
            server.wait_done(1)
            store.accept()
            first, second = store.wait_for(2)
            assert first.new_url == ""
            assert second.url == redirect_to(web, PRIVATE)
            assert second.new_url == web.start_url.rstrip("/") + PRIVATE
            assert asked(web) == [hop(inner), "/robots.txt", hop(PRIVATE)]

    @pytest.mark.parametrize(
        ("variant", "path", "follows"),
        [
            ("rules", OPEN, True),
            ("empty", PRIVATE, True),
            ("404", PRIVATE, True),
            ("403", PRIVATE, True),
            ("huge", OPEN, True),
            ("huge", PRIVATE, False),
            ("disallow-all", OPEN, False),
            ("500", OPEN, False),
            ("503", OPEN, False),
            ("429", OPEN, False),
            ("reset", OPEN, False),
            ("short", OPEN, False),
            ("redirects-5", OPEN, False),
        ],
    )
    def test_what_cannot_be_read_is_left_to_the_url_server(
        self, tmp_path, store, variant, path, follows
    ):
        with (
            FakeWeb(pages=10, hosts=1, robots={-1: variant}) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, path), doc=5)
            server.wait_done(1)
            store.accept()
            results = store.wait_for(2 if follows else 1)
            assert bool(results[0].new_url) is not follows
            assert [each.doc_id for each in results] == [5] * len(results)
            # On a connection that had served before, a request that was reset is sent once more.
            paths = list(dict.fromkeys(asked(web)))
            assert paths == [hop(path), "/robots.txt", *([path] if follows else [])]

    def test_a_robots_txt_that_never_comes_ends_the_wait_in_time(self, tmp_path, store):
        """The order stays open meanwhile, and that is said; what else is ordered goes on."""
        settings = ("spider.Timeout_Req=6000", "spider.Timeout_Update=1000")
        with (
            FakeWeb(pages=10, hosts=1, robots={-1: "timeout"}) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE, *settings) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, OPEN))
            server.order(2, redirect_to(web, "/~/etag"))
            server.wait_for(lambda _: "/robots.txt" in asked(web))
            server.order(3, web.start_url)
            server.wait_done(3)
            assert server.done == [3]
            server.wait_done(1, 2)
            for number in (1, 2):
                said = server.times(f"WORKING {number}") + server.times(f"DONE {number}")
                assert len(said) >= 6
                assert max(b - a for a, b in pairwise(said)) < 1.0 + 1.0
            store.accept()
            assert sum(bool(each.new_url) for each in store.wait_for(3)) == 2
            assert sorted(asked(web)) == sorted([hop(OPEN), hop("/~/etag"), "/robots.txt", "/"])

    def test_a_host_whose_robots_txt_is_set_aside_is_not_asked_for_it(self, tmp_path, store):
        setting = 'urlserver.robots_ignore={"127.16.0.1" = "our own"}'
        with (
            FakeWeb(pages=10, hosts=1, robots={-1: "disallow-all"}) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE, setting) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, PRIVATE))
            server.wait_done(1)
            assert asked(web) == [hop(PRIVATE), PRIVATE]


class TestRequests:
    """What it costs, and when it is asked for."""

    def test_one_request_serves_many_redirects_and_none_is_made_without(self, tmp_path, store):
        with (
            FakeWeb(pages=30, hosts=2) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE) as spider,
            UrlServer(spider.port) as server,
        ):
            for number in range(20):
                server.order(number, redirect_to(web, OPEN if number % 2 else PRIVATE))
            server.order(20, web.start_urls[1])
            server.wait_done(*range(21))
            server.order(30, oddity(web, "redirect-chain/3"))
            server.wait_done(30)
            paths = asked(web)
            assert paths.count("/robots.txt") == 1
            assert paths.count(OPEN) == 10
            assert PRIVATE not in paths
            robots = next(each for each in web.log().requests if each.is_robots)
            assert robots.address == "127.16.0.1"
            early = [
                each.target
                for each in web.log().requests
                if each.start_ns < (robots.end_ns or 0) and "redirect-to" not in each.target
            ]
            assert set(early) <= {"/", "/robots.txt"}, "no hop before the rules are known"

    def test_it_keeps_the_gap_of_the_host_like_any_hop_and_is_announced(self, tmp_path, store):
        gap = 0.3
        with (
            FakeWeb(pages=10, hosts=1) as web,
            SpiderProcess(
                store.port, tmp_path / "spool", *QUICK, f"urlserver.Req_Host_Per_Sec={1 / gap}"
            ) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, OPEN))
            time.sleep(gap + 0.02)
            server.order(2, redirect_to(web, PRIVATE))
            server.wait_done(1, 2)
            log = web.log()
            assert asked(web) == [hop(OPEN), hop(PRIVATE), "/robots.txt", OPEN]
            assert judge.gap_violations(log, gap) == []
            first = log.requests[0].start_ns / 1e9
            said = [at for at in server.times("WORKING 1") if at > first]
            assert max(b - a for a, b in pairwise(said)) < gap, "never silent for a gap"

    @pytest.mark.parametrize("rate", [0, 10])
    def test_a_crawl_delay_is_kept_between_hops(self, tmp_path, store, rate):
        """From the request for robots.txt on, over all orders; also where hosts have no gap."""
        with (
            FakeWeb(pages=10, hosts=1, crawl_delay=0.7) as web,
            SpiderProcess(
                store.port, tmp_path / "spool", *QUICK, f"urlserver.host_per_second={rate}"
            ) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, oddity(web, "redirect-chain/2"))
            time.sleep(0.15)
            server.order(2, redirect_to(web, OPEN))
            server.wait_done(1, 2)
            log = web.log()
            robots = next(each for each in log.requests if each.is_robots)
            orders = ("/~/redirect-chain/2", f"/~{hop(OPEN)}")
            hops = [each for each in log.requests if each.target not in orders]
            assert hops[0] is robots
            assert len(hops) == 4
            starts = [each.start_ns / 1e9 for each in hops]
            # Far more than the 0.1 s that hosts have between them; a busy web notes requests late.
            assert min(b - a for a, b in pairwise(starts)) > 0.7 - 0.2

    def test_a_crawl_delay_that_would_block_an_order_for_long_is_left_to_the_url_server(
        self, tmp_path, store
    ):
        with (
            FakeWeb(pages=10, hosts=1, crawl_delay=60.0) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, OPEN))
            server.wait_done(1, seconds=50.0)
            assert asked(web) == [hop(OPEN), "/robots.txt"]


class TestEnds:
    """The one that was to ask for robots.txt goes away."""

    def test_another_order_asks_when_the_link_of_the_first_is_lost(self, tmp_path, store):
        with (
            FakeWeb(pages=10, hosts=1) as web,
            SpiderProcess(
                store.port, tmp_path / "spool", *QUICK, "urlserver.host_per_second=2"
            ) as spider,
            UrlServer(spider.port) as first,
            UrlServer(spider.port) as second,
        ):
            first.order(1, redirect_to(web, PRIVATE))
            first.wait_for(lambda it: it.lines.count("WORKING 1") >= 2)
            second.order(1, redirect_to(web, OPEN))
            second.wait_for(lambda it: it.lines.count("WORKING 1") >= 1)
            first.close()
            second.wait_done(1)
            assert asked(web) == [hop(PRIVATE), hop(OPEN), "/robots.txt", OPEN]

    def test_and_when_the_request_itself_was_under_way(self, tmp_path, store):
        settings = ("spider.Timeout_Req=1500",)
        with (
            FakeWeb(pages=10, hosts=1, robots={-1: "timeout"}) as web,
            SpiderProcess(store.port, tmp_path / "spool", *AT_ONCE, *settings) as spider,
            UrlServer(spider.port) as first,
            UrlServer(spider.port) as second,
        ):
            first.order(1, redirect_to(web, PRIVATE))
            first.wait_for(lambda _: "/robots.txt" in asked(web))
            second.order(1, redirect_to(web, OPEN))
            second.wait_for(lambda it: "WORKING 1" in it.lines)
            first.close()
            second.wait_done(1)
            assert asked(web).count("/robots.txt") == 2

    def test_a_spider_that_is_told_to_stop_does_not_wait_for_it(self, tmp_path, store):
        with (
            FakeWeb(pages=10, hosts=1, robots={-1: "timeout"}) as web,
            SpiderProcess(
                store.port, tmp_path / "spool", *AT_ONCE, "spider.grace_seconds=0.5"
            ) as spider,
            UrlServer(spider.port) as server,
        ):
            server.order(1, redirect_to(web, OPEN))
            server.wait_for(lambda _: "/robots.txt" in asked(web))
            spider.stop()
            server.wait_closed()
            assert server.done == [], "the URL Server gets it back with the end of the link"


def fetched(url: str, status: int = 200, body: bytes = b"", outcome: Outcome = Outcome.OK) -> Fetch:
    visit = Visit(1, 0, "192.0.2.1", robots_url(url), kind=int(Kind.ROBOTS))
    return Fetch(visit=visit, outcome=outcome, status=status, body=body)


FORBIDS = b"User-agent: *\nDisallow: /x\n"
A = "http://a.example/x"


class TestMemory:
    """Rules by authority, for a day, and not too many."""

    def test_rules_count_for_scheme_host_and_port_until_they_expire(self):
        robots = HopRobots(Settings())
        assert robots.known(A, 0.0) is None
        assert robots.wait(7, A)
        assert not robots.wait(8, "http://a.example/y")
        assert robots.wait(9, "https://a.example/x")
        assert robots.answered(fetched(A, body=FORBIDS), 10.0) == [7, 8]
        rules = robots.known(A, 86_409.0)
        assert rules is not None
        assert (rules.allows("/x"), rules.allows("/y")) == (False, True)
        for other in ("https://a.example/x", "http://a.example:81/x", "http://b.example/x"):
            assert robots.known(other, 10.0) is None
        assert robots.known(A, 86_410.0) is None

    def test_an_old_copy_does_not_stand_in_and_failures_wait_longer_each_time(self):
        robots = HopRobots(Settings())
        robots.answered(fetched(A, body=FORBIDS), 0.0)
        now = 90_000.0
        for wait in (60.0, 120.0, 240.0):
            robots.answered(fetched(A, 503, outcome=Outcome.HTTP_5XX), now)
            rules = robots.known(A, now + wait - 1)
            assert rules is not None
            assert not rules.allows("/y")
            now += wait
            assert robots.known(A, now) is None

    def test_one_that_was_never_read_is_never_taken_for_missing_here(self):
        settings = UrlServerSettings(robots_unreachable_means_allow=True)
        robots = HopRobots(replace(Settings(), urlserver=settings))
        for now in (0.0, 4e6):
            robots.answered(fetched(A, 302), now)
            rules = robots.known(A, now + 1)
            assert rules is not None
            assert not rules.allows("/y")

    def test_one_that_a_limit_for_documents_has_cut_is_no_robots_txt(self):
        robots = HopRobots(Settings())
        short = fetched(A, body=b"Allow: /\n", outcome=Outcome.BODY_TOO_LARGE)
        robots.answered(short, 0.0)
        rules = robots.known(A, 1.0)
        assert rules is not None
        assert not rules.allows("/y")
        whole = fetched(A, body=FORBIDS + b"#" * 600_000, outcome=Outcome.BODY_TOO_LARGE)
        robots.answered(whole, 100.0)
        rules = robots.known(A, 101.0)
        assert rules is not None
        assert rules.allows("/y")

    def test_authorities_and_characters_are_bounded_and_the_oldest_go_first(self, monkeypatch):
        robots = HopRobots(Settings())
        names = [f"http://h{number}.example/" for number in range(10_002)]
        for name in names[:10_000]:
            robots.answered(fetched(name, 404), 0.0)
        assert robots.known(names[0], 1.0) is not None
        for name in names[10_000:]:
            robots.answered(fetched(name, 404), 1.0)
        assert [robots.known(names[at], 1.0) is None for at in range(4)] == [0, 1, 1, 0]
        monkeypatch.setattr(spider_robots, "_MOST_CHARACTERS", 1_000)
        for name in names[:5]:
            robots.answered(fetched(name, body=b"User-agent: *\nDisallow: /" + b"x" * 400), 2.0)
        assert [robots.known(name, 3.0) is None for name in names[:5]] == [1, 1, 1, 0, 0]

    def test_those_who_waited_for_a_transaction_that_is_gone_are_handed_back(self):
        robots = HopRobots(Settings())
        for ticket in (1, 2, 3):
            robots.wait(ticket, A)
        robots.wait(4, "http://b.example/")
        robots.wait(1_000, "http://b.example/")
        assert robots.drop({2, 1_000}) == []
        assert robots.drop({1}) == [3]
        assert robots.wait(3, A), "nobody asks any more"
        assert robots.abandon("http://b.example/y") == [4]


def test_a_crawl_delay_counts_for_the_hop_that_has_one_and_is_announced_in_time():
    gaps = Gaps(UrlServerSettings(host_per_second=2.0))
    hops = Hops(gaps, 30.0)
    hops.add(1, "http://a.example/", "192.0.2.1", 0.0, delay=5.0)
    gaps.note("a.example", "192.0.2.1", 1.0)
    now, announced = 0.0, [0.0]
    while not (moment := hops.take(now)).begin:
        announced += [now] * len(moment.announce)
        at = hops.next_at()
        assert at is not None
        now = at
    assert now == 6.0
    assert max(b - a for a, b in pairwise(announced)) <= 0.125


def test_the_file_is_where_the_standard_says():
    assert robots_url("https://a.example:8443/b/c?d") == "https://a.example:8443/robots.txt"
