"""The URL Server before a web of its own: robots.txt, names, several hosts on one address."""

import http.client
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from url_server_rig import BusySpider, DocIndex, Journal, Order, server

from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.process import FakeWeb
from gossamer.fakeweb.truth import Truth
from gossamer.outcomes import Outcome


def fetch(order: Order) -> int:
    """Get a URL as a Spider does: from the order's address, in the name of its host."""
    parts = urlsplit(order.url)
    connection = http.client.HTTPConnection(order.address, parts.port or 80, timeout=10)
    try:
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        connection.request("GET", path, headers={"Host": parts.netloc})
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def crawl(web: FakeWeb, tmp_path: Path, urls: list[str], *flags: str, **settings: object):
    """Have three Spiders fetch these URLs; return what they saw, and the doc index, closed."""
    journal = Journal()
    with ExitStack() as stack:
        index = stack.enter_context(DocIndex(tmp_path / "w"))

        def fetched(order: Order) -> None:
            status = fetch(order)
            is_fine = status < 400
            index.store(order, Outcome.OK if is_fine else Outcome.HTTP_4XX, status)

        spiders = [
            stack.enter_context(
                BusySpider(journal, number, seconds=0.0, tells=True, on_fetched=fetched)
            )
            for number in range(3)
        ]
        chosen = {"urlserver.dns_servers": [web.dns]} if web.dns else {}
        named = {f"urlserver.{name}": value for name, value in settings.items()}
        running = stack.enter_context(
            server(
                tmp_path / "w",
                *urls,
                *flags,
                spiders=[spider.place for spider in spiders],
                settings={**chosen, **named},
            )
        )
        code = running.wait(120.0)
        states = {url: (index.state(url), index.outcome(url)) for url in urls}
        assert index.check() == []
        return code, journal, states, index.counts()


@pytest.mark.req("S1.6", "S1.7", "S1.13", "S1.14", "S1.21")
def test_robots_txt_and_several_hosts_on_one_address_are_respected(tmp_path: Path):
    """Eight hosts on two addresses: each its own rules and queue, each address its own limits."""
    with FakeWeb(
        pages=160, hosts=8, names=True, addresses=2, seed=5, disallowed=40, page_bytes=300
    ) as web:
        truth = web.truth()
        urls = [*truth["pages"], *truth["disallowed"]]
        code, journal, states, _ = crawl(
            web,
            tmp_path,
            urls,
            *("--until-idle", "--per-host", "2", "--concurrency", "20"),
            host_per_second=40.0,
            address_per_second=80.0,
            address_concurrent=3,
        )
        log = web.log()
    assert code == 0
    assert_polite(log, truth)
    assert {states[url] for url in truth["disallowed"]} == {("excluded", Outcome.POLICY_ROBOTS)}
    assert {states[url][0] for url in truth["pages"]} == {"done"}
    assert Counter(order.url for order in journal.orders) == Counter(truth["pages"])
    for order in journal.orders:
        assert order.host == urlsplit(order.url).hostname
    assert len({order.address for order in journal.orders}) == 2
    assert len({order.host for order in journal.orders}) == 8


def assert_polite(log: Log, truth: Truth) -> None:
    assert judge.disallowed_requests(log, truth) == []
    assert judge.pages_before_robots(log) == []
    assert judge.concurrency_violations(log, 2, by="host") == []
    assert judge.concurrency_violations(log, 3, by="address") == []
    assert judge.gap_violations(log, 1 / 40, by="host") == []
    assert judge.gap_violations(log, 1 / 80, by="address") == []
    robots = Counter(request.url for request in log.requests if request.is_robots)
    assert set(robots.values()) == {1}
    assert len(robots) == 8


@pytest.mark.req("S1.7")
def test_a_host_whose_robots_txt_cannot_be_read_gets_no_order_at_all(tmp_path: Path):
    """And the URL Server goes on with the others; to end idle it would have to wait too long."""
    with FakeWeb(
        pages=40, hosts=4, seed=6, robots={1: "500", 2: "disallow-all"}, page_bytes=300
    ) as web:
        truth = web.truth()
        urls = [*truth["pages"], *truth["disallowed"]]
        hosts = web.graph().hosts
        closed = {hosts.name(1), hosts.name(2)}
        code, journal, states, _ = crawl(
            web,
            tmp_path,
            urls,
            *("--until-idle", "--set", "crawl.patience_seconds=1"),
            robots_retry_seconds=30.0,
        )
    assert code == 5
    assert {order.host for order in journal.orders} == {hosts.name(0), hosts.name(3)}
    by_host = {urlsplit(url).hostname: states[url] for url in truth["disallowed"]}
    assert set(by_host) >= closed
    assert by_host[hosts.name(1)] == ("pending", Outcome.POLICY_ROBOTS_UNREACHABLE)
    assert by_host[hosts.name(2)] == ("excluded", Outcome.POLICY_ROBOTS)


@pytest.mark.req("S1.21")
def test_a_name_that_does_not_exist_is_reported_and_never_sent(tmp_path: Path):
    with FakeWeb(pages=4, hosts=2, names=True, seed=7) as web:
        unknown = f"http://h77.fake.test:{web.port}/"
        code, journal, states, _ = crawl(
            web, tmp_path, [*web.truth()["start_urls"], unknown], "--until-idle"
        )
    assert code == 0
    assert states[unknown] == ("failed", Outcome.DNS_NXDOMAIN)
    assert unknown not in {order.url for order in journal.orders}


def test_sitemaps_that_robots_txt_names_are_ordered_too(tmp_path: Path):
    with FakeWeb(pages=6, hosts=1, seed=8, sitemap_pages=4) as web:
        code, journal, _, counts = crawl(web, tmp_path, web.truth()["start_urls"], "--until-idle")
        robots = next(request for request in web.log().requests if request.is_robots)
    assert code == 0
    ordered = {order.url for order in journal.orders}
    assert len(ordered) > 1
    assert all("sitemap" in url for url in ordered - set(web.start_urls))
    assert counts.pages == 1
    assert robots
