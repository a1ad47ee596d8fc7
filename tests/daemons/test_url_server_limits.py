"""Queues and politeness of the URL Server, seen from the Spiders' end of the wire."""

import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from url_server_rig import (
    BusySpider,
    DocIndex,
    Journal,
    Listener,
    Order,
    connected,
    pages,
    server,
    until,
)

HOSTS = [f"127.0.1.{number}" for number in range(1, 7)]


def host(order: Order) -> str:
    return order.host


def address(order: Order) -> str:
    return order.address


@pytest.mark.req("S1.13", "S1.20", "S1.34", "S1.36")
@pytest.mark.parametrize("limit", [1, 3])
def test_at_most_req_host_concurrent_orders_of_a_host_are_open(tmp_path: Path, limit: int):
    """The Active range is sent, all of it, and nothing beyond it before a DONE."""
    urls = [url for name in HOSTS[:3] for url in pages(name, 8)]
    settings = {"urlserver.Req_Host_Concurrent": limit}
    with connected(tmp_path / "w", urls, settings=settings) as (wire, _, _):
        first = wire.orders(3 * limit)
        assert Counter(map(host, first)) == dict.fromkeys(HOSTS[:3], limit)
        wire.no_order(0.4)
        mine = next(order for order in first if order.host == HOSTS[1])
        wire.done(mine)
        assert wire.order().host == HOSTS[1]
        wire.no_order(0.3)


@pytest.mark.req("S1.11", "S1.15", "S1.16", "S1.18", "S1.25")
def test_queue_count_hosts_are_served_at_a_time_and_a_queue_that_empties_goes_to_another(
    tmp_path: Path,
):
    urls = [url for name in HOSTS for url in pages(name, 2)]
    settings = {"urlserver.Queue_Count": 2, "urlserver.Req_Host_Concurrent": 5}
    with connected(tmp_path / "w", urls, settings=settings) as (wire, _, _):
        first = wire.orders(4)
        hosts = set(map(host, first))
        assert len(hosts) == 2
        wire.no_order(0.5)
        gone = first[0].host
        wire.done(*(order for order in first if order.host == gone))
        second = wire.orders(2)
        assert len(set(map(host, second))) == 1
        assert second[0].host not in hosts
        wire.no_order(0.3)


@pytest.mark.req("S1.12", "S1.26")
def test_a_queue_holds_queue_len_urls_and_a_full_one_gets_no_more(tmp_path: Path):
    """The host with much to offer is on the reject list, and the others are fed all the same."""
    urls = [*pages(HOSTS[0], 200), *pages(HOSTS[1], 3), *pages(HOSTS[2], 3)]
    settings = {
        "urlserver.Queue_Count": 8,
        "urlserver.Queue_Len": 6,
        "urlserver.flow_mode": "pull",
    }
    with connected(tmp_path / "w", urls, settings=settings) as (wire, index, _):
        until(lambda: index.leased(HOSTS[1]) == 3 and index.leased(HOSTS[2]) == 3)
        until(lambda: index.leased(HOSTS[0]) == 6)
        wire.say("GET 1000")
        most = 0
        for _ in range(60):
            order = wire.order()
            index.store(order)
            wire.done(order)
            most = max(most, index.leased(HOSTS[0]))
        assert most <= 6


@pytest.mark.req("S1.12", "S1.20")
def test_a_queue_shorter_than_the_active_range_limits_it(tmp_path: Path):
    settings = {"urlserver.Queue_Len": 1, "urlserver.Req_Host_Concurrent": 9}
    with connected(tmp_path / "w", pages(HOSTS[0], 5), settings=settings) as (wire, _, _):
        order = wire.order()
        wire.no_order(0.3)
        wire.done(order)
        wire.order()


@pytest.mark.req("S1.17", "S1.18")
def test_what_finds_no_queue_waits_as_a_leftover_and_moves_up(tmp_path: Path):
    """One queue, two hosts in the first answer of the doc index: the second one is kept in RAM."""
    urls = [*pages(HOSTS[0], 2), *pages(HOSTS[1], 2)]
    settings = {
        "urlserver.Queue_Count": 1,
        "urlserver.Queue_Len": 4,
        "urlserver.Req_Host_Concurrent": 1,
    }
    with connected(tmp_path / "w", urls, settings=settings) as (wire, index, _):
        first = wire.order()
        other = HOSTS[1] if first.host == HOSTS[0] else HOSTS[0]
        assert index.leased(other) == 2
        seen = [first.host]
        for _ in range(3):
            wire.done(first)
            first = wire.order()
            seen.append(first.host)
        assert seen == [seen[0]] * 2 + [other] * 2


@pytest.mark.req("S1.14", "S1.19")
@pytest.mark.parametrize("tells", [False, True], ids=["silent", "telling"])
def test_orders_of_a_host_keep_the_gap_of_req_host_per_sec(tmp_path: Path, tells: bool):
    """Whether the Spider says when its request went out or not, and no slower than need be."""
    journal, gap = Journal(), 0.2
    with BusySpider(journal, tells=tells) as spider:
        urls = [url for name in HOSTS[:3] for url in pages(name, 10)]
        settings = {
            "urlserver.Req_Host_Per_Sec": 1 / gap,
            "urlserver.address_per_second": 1 / gap,
        }
        with server(
            tmp_path / "w",
            *(*urls, "--per-host", "3"),
            spiders=[spider.place],
            settings=settings,
            ignore_robots=HOSTS[:3],
        ):
            until(lambda: len(journal.orders) == 30)
    closest = journal.closest(host)
    # The wire itself takes a moment, now more, now less.
    assert min(closest.values()) > gap - 0.02
    assert max(closest.values()) < gap * 3


def test_a_redirect_followed_in_place_counts_as_one_more_request(tmp_path: Path):
    """Each WORKING may stand for a request: the next order keeps its distance from the last."""
    settings = {"urlserver.Req_Host_Per_Sec": 0.5, "urlserver.address_per_second": 0.5}
    urls = pages(HOSTS[0], 3)
    with connected(tmp_path / "w", urls, "--per-host", "3", settings=settings) as parts:
        wire, _, _ = parts
        first = wire.order()
        wire.say(f"WORKING {first.trans_id}")
        wire.no_order(0.7)
        last = time.monotonic()
        wire.say(f"WORKING {first.trans_id}")
        assert wire.order().at - last > 1.95


@pytest.mark.req("S1.6", "S1.13", "S1.14", "S1.19", "S1.34")
@pytest.mark.parametrize("count", [2, 3])
def test_spiders_share_the_work_and_all_limits_hold_over_them_together(tmp_path: Path, count: int):
    journal, gap = Journal(), 0.03
    hosts = [f"127.0.2.{number}" for number in range(1, 16)]
    with ExitStack() as stack:
        index = stack.enter_context(DocIndex(tmp_path / "w"))
        spiders = [
            stack.enter_context(
                BusySpider(
                    journal, number, seconds=0.05, tells=number % 2 == 0, on_fetched=index.store
                )
            )
            for number in range(count)
        ]
        running = stack.enter_context(
            server(
                tmp_path / "w",
                *(url for name in hosts for url in pages(name, 14)),
                *("--per-host", "2", "--concurrency", "12", "--until-idle"),
                spiders=[spider.place for spider in spiders],
                settings={
                    "urlserver.host_per_second": 1 / gap,
                    "urlserver.address_per_second": 1 / gap,
                },
                ignore_robots=hosts,
            )
        )
        assert running.wait(60.0) == 0
        assert index.check() == []
        assert index.counts().done == 15 * 14
    orders = journal.orders
    assert Counter(order.url for order in orders).most_common(1)[0][1] == 1
    assert len(orders) == 15 * 14
    share = Counter(order.spider for order in orders)
    assert len(share) == count
    assert min(share.values()) > len(orders) / count / 4
    assert max(journal.most_open(host).values()) <= 2
    assert max(journal.most_open(lambda _: "all").values()) <= 12
    assert min(journal.closest(host).values()) > gap - 0.015


@pytest.mark.req("S1.6")
def test_a_host_stays_with_the_spider_that_has_orders_of_it(tmp_path: Path):
    """Two Spiders that follow redirects at one host would not know of each other's requests."""
    journal = Journal()
    hosts = [f"127.0.3.{number}" for number in range(1, 8)]
    with ExitStack() as stack:
        index = stack.enter_context(DocIndex(tmp_path / "w"))
        spiders = [
            stack.enter_context(
                BusySpider(journal, number, seconds=0.02 + 0.03 * number, on_fetched=index.store)
            )
            for number in range(3)
        ]
        running = stack.enter_context(
            server(
                tmp_path / "w",
                *(url for name in hosts for url in pages(name, 20)),
                *("--per-host", "3", "--concurrency", "9", "--until-idle"),
                spiders=[spider.place for spider in spiders],
                ignore_robots=hosts,
            )
        )
        assert running.wait(60.0) == 0
    assert len(journal.orders) == 7 * 20
    assert len({order.spider for order in journal.orders}) == 3
    assert max(journal.most_open(address).values()) > 1
    assert journal.shared(address) == []


def test_a_spider_without_room_does_not_keep_the_others_from_work(tmp_path: Path):
    hosts = HOSTS[:4]
    urls = [url for name in hosts for url in pages(name, 3)]
    with (
        Listener() as full,
        Listener() as free,
        server(
            tmp_path / "w",
            *(*urls, "--per-host", "2"),
            spiders=[full.place, free.place],
            settings={"urlserver.flow_mode": "pull"},
            ignore_robots=hosts,
        ),
    ):
        first, second = full.accept(), free.accept()
        first.say("GET 1")
        first.order()
        second.say("GET 50")
        orders = second.orders(7)
        first.no_order(0.3)
        second.done(*orders)
        second.order()
