"""The URL Server over time: crashes of Spiders, silence, restarts, ends, and what it learns."""

import itertools
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from url_server_rig import (
    BusySpider,
    DocIndex,
    Journal,
    Listener,
    Order,
    Wire,
    connected,
    pages,
    server,
    until,
)

from gossamer.outcomes import Outcome
from held_ports import HeldPort

HOST, OTHER = "127.0.0.7", "127.0.0.8"
ONE_AT_A_TIME = ("--per-host", "1")
IMPATIENT = {"urlserver.Timeout_Spider_Status": 1, "spider.Timeout_Update": 500}


# ------------------------------------------------------------------ Spiders that fail


@pytest.mark.req("S1.37", "S1.38")
def test_a_closed_connection_is_made_again_and_pending_urls_are_restarted(tmp_path: Path):
    with (
        HeldPort() as held,
        Listener(held.port) as spider,
        DocIndex(tmp_path / "w") as index,
    ):
        flags = (*pages(HOST, 6), "--per-host", "2")
        with server(
            tmp_path / "w", *flags, spiders=[spider.place], ignore_robots=[HOST]
        ) as running:
            wire = spider.accept()
            finished, lost = wire.orders(2)
            wire.done(finished)
            also_lost = wire.order()
            wire.close()
            spider.close()
            running.wait_for("is gone")
            # Nobody is there for a while: it keeps trying.
            time.sleep(1.0)
            with Listener(held.port) as reborn:
                again = reborn.accept()
                restarted = again.orders(2)
                assert {each.url for each in restarted} == {lost.url, also_lost.url}
                old = {finished.trans_id, lost.trans_id, also_lost.trans_id}
                assert old.isdisjoint(each.trans_id for each in restarted)
                again.no_order(0.3)
                again.done(*restarted)
                assert again.order().url not in {finished.url, lost.url, also_lost.url}
            assert index.state(finished.url) == "leased"


def test_a_spider_that_hangs_up_each_time_is_told_of_once(tmp_path: Path):
    """One whose spool is full takes each call and ends it; that it is of use again is told, too."""
    with (
        Listener() as spider,
        server(
            tmp_path / "w",
            *pages(HOST, 1),
            spiders=[spider.place],
            settings={"urlserver.flow_mode": "pull"},
        ) as running,
    ):
        wire = spider.accept()
        running.wait_for("connected to the Spider")
        for _ in range(5):
            wire.no_order(0.05)
            wire.close()
            wire = spider.accept()
        assert running.said.count("connected to the Spider") == 1
        assert running.said.count("is gone") == 1
        wire.say("GET 1")
        until(lambda: running.said.count("connected to the Spider") == 2)
        wire.close()
        until(lambda: running.said.count("is gone") == 2)


@pytest.mark.req("S1.38")
def test_what_a_spider_said_before_it_went_still_counts(tmp_path: Path):
    with Listener() as spider:
        flags = (*pages(HOST, 3), *ONE_AT_A_TIME)
        with server(tmp_path / "w", *flags, spiders=[spider.place], ignore_robots=[HOST]):
            wire = spider.accept()
            order = wire.order()
            wire.done(order)
            wire.close()
            assert spider.accept().order().url != order.url


@pytest.mark.req("S1.38")
def test_orders_of_a_spider_that_went_are_given_to_the_others(tmp_path: Path):
    hosts = [f"127.0.3.{number}" for number in range(1, 5)]
    with (
        Listener() as one,
        Listener() as other,
        server(
            tmp_path / "w",
            *(url for name in hosts for url in pages(name, 1)),
            spiders=[one.place, other.place],
            settings={"urlserver.flow_mode": "pull"},
            ignore_robots=hosts,
        ),
    ):
        wire, survivor = one.accept(), other.accept()
        wire.say("GET 2")
        lost = wire.orders(2)
        survivor.say("GET 9")
        kept = survivor.orders(2)
        wire.close()
        one.close()
        taken = survivor.orders(2)
        assert {each.url for each in taken} == {each.url for each in lost}
        assert {each.url for each in taken}.isdisjoint(each.url for each in kept)


@pytest.mark.req("S1.10")
def test_a_silent_order_is_sent_again_max_retries_times_and_then_fails(tmp_path: Path):
    """The slot is free after that, and the doc index knows (A6)."""
    settings = {**IMPATIENT, "urlserver.Max_Retries": 2, "urlserver.flow_mode": "pull"}
    with connected(tmp_path / "w", pages(HOST, 2), *ONE_AT_A_TIME, settings=settings) as parts:
        wire, index, _ = parts
        # No order can have been sent before this: each silence is counted from here on.
        began = time.monotonic()
        wire.say("GET 9")
        orders = wire.orders(3)
        assert len({each.url for each in orders}) == 1
        assert len({each.trans_id for each in orders}) == 3
        following = wire.order()
        assert following.url != orders[0].url
        sent = [each.at - began for each in (*orders, following)]
        assert all(at > number for number, at in enumerate(sent))
        until(lambda: index.state(orders[0].url) == "failed")
        assert index.outcome(orders[0].url) is Outcome.NET_TIMEOUT_TOTAL
        assert index.check() == []


@pytest.mark.req("S1.10")
def test_orders_that_a_hung_spider_holds_are_given_to_another(tmp_path: Path):
    """Also those of hosts that it is the home of."""
    hosts = [f"127.0.3.{number}" for number in range(1, 7)]
    with (
        Listener() as one,
        Listener() as other,
        server(
            tmp_path / "w",
            *(url for name in hosts for url in pages(name, 2)),
            *("--per-host", "2"),
            spiders=[one.place, other.place],
            settings={**IMPATIENT, "urlserver.Max_Retries": 9, "urlserver.flow_mode": "pull"},
            ignore_robots=hosts,
        ) as running,
    ):
        hung, sound = one.accept(), other.accept()
        hung.say("GET 99")
        held = hung.orders(12)
        sound.say("GET 99")
        again = sound.orders(12)
        assert {each.url for each in again} == {each.url for each in held}
        sound.done(*again)
        hung.no_order(0.1)
        assert running.said.count(f"{one.place} has not said a word for") == 1


@pytest.mark.req("S1.33")
def test_a_patience_shorter_than_two_status_timers_is_refused(tmp_path: Path):
    settings = {"urlserver.Timeout_Spider_Status": 59, "spider.Timeout_Update": 30_000}
    with server(
        tmp_path / "w", *pages(HOST, 1), spiders=["127.0.0.1:4000"], settings=settings
    ) as running:
        assert running.wait() == 2
    assert "timeout_spider_status_seconds = 59 is too short" in running.said
    assert "60 seconds or more" in running.said


# ------------------------------------------------------------------ running, ending, starting


@pytest.mark.req("S1.4", "S1.25")
def test_it_runs_all_the_time_and_takes_up_what_is_added(tmp_path: Path, gossamer):
    """Also what the doc index learns from pages, and hosts that are named only now."""
    workspace = tmp_path / "w"
    with Listener() as spider, DocIndex(workspace) as index:
        hosts = [HOST, OTHER]
        with server(workspace, spiders=[spider.place], ignore_robots=hosts) as running:
            wire = spider.accept()
            wire.no_order(0.6)
            gossamer("add", f"http://{HOST}/start", "--dir", workspace)
            order = wire.order()
            index.store(order, links=[f"http://{HOST}/linked"])
            wire.done(order)
            following = wire.order()
            assert following.url == f"http://{HOST}/linked"
            index.store(following)
            wire.done(following)
            wire.no_order(1.0)
            assert running.runs
            gossamer("add", f"http://{OTHER}/late", "--dir", workspace)
            assert wire.order().host == OTHER


def test_a_start_url_that_is_added_may_be_at_a_private_address(tmp_path: Path, gossamer):
    """Who names a host may mean one of his own network; nobody else may (no --allow-private)."""
    workspace = tmp_path / "w"
    with Listener() as spider, DocIndex(workspace) as index:
        running = server(workspace, spiders=[spider.place], ignore_robots=[HOST, OTHER])
        running._argv.remove("--allow-private")
        with running:
            wire = spider.accept()
            gossamer("add", f"http://{HOST}/start", "--dir", workspace)
            order = wire.order()
            index.store(order, links=[f"http://{OTHER}/linked", f"http://{HOST}/linked"])
            wire.done(order)
            assert wire.order().host == HOST
            until(lambda: index.state(f"http://{OTHER}/linked") == "excluded")
            assert index.outcome(f"http://{OTHER}/linked") is Outcome.POLICY_PRIVATE_ADDRESS


def test_until_idle_ends_when_the_last_result_is_in_the_doc_index(tmp_path: Path):
    with connected(tmp_path / "w", pages(HOST, 2), "--until-idle") as (wire, index, running):
        first, second = wire.orders(2)
        wire.done(first, second)
        index.store(first)
        time.sleep(0.8)
        assert running.runs
        index.store(second)
        assert running.wait() == 0
        assert "nothing is left to do" in running.said


@pytest.mark.parametrize("early", [False, True], ids=["done first", "result first"])
def test_max_pages_is_kept_exactly(tmp_path: Path, early: bool):
    """Orders whose results are on their way count as pages that may come."""
    flags = ("--until-idle", "--max-pages", "3", "--per-host", "9")
    with connected(tmp_path / "w", pages(HOST, 9), *flags) as (wire, index, running):
        orders = wire.orders(3)
        wire.no_order(0.4)
        for number, order in enumerate(orders):
            # The last one is no page, so that another may take its place.
            outcome = Outcome.HTTP_4XX if number == 2 else Outcome.OK
            if early:
                index.store(order, outcome)
                time.sleep(0.4)
            wire.done(order)
            if not early:
                wire.no_order(0.4)
                index.store(order, outcome)
        last = wire.order()
        wire.done(last)
        wire.no_order(0.4)
        index.store(last)
        assert running.wait() == 0
        assert index.counts().pages == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_and_everything_is_given_back(tmp_path: Path, number: int):
    """No new order; what is open is waited for, and given back when it takes too long."""
    settings = {"urlserver.grace_seconds": 5}
    with connected(tmp_path / "w", pages(HOST, 8), "--per-host", "2", settings=settings) as parts:
        wire, index, running = parts
        finished, stuck = wire.orders(2)
        running.process.send_signal(number)
        time.sleep(0.3)
        assert running.runs
        wire.done(finished)
        wire.no_order(0.3)
        assert running.wait() == 0
        counts = index.counts()
        assert (counts.leased, counts.pending) == (1, 7)
        assert index.state(finished.url) == "leased"
        assert index.state(stuck.url) == "pending"
        assert index.check() == []


def test_with_nothing_open_a_signal_ends_it_at_once(tmp_path: Path):
    settings = {"urlserver.grace_seconds": 600}
    with connected(tmp_path / "w", pages(HOST, 1), settings=settings) as (wire, _, running):
        wire.done(wire.order())
        wire.no_order(0.3)
        # Much less than the grace is waited here.
        assert running.stop() == 0


@pytest.mark.req("S1.5")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_orders_again_what_was_open_and_not_what_was_delivered(
    tmp_path: Path, number: int
):
    """The queues live in RAM and are lost; the doc index knows what is to be asked for again."""
    workspace, urls = tmp_path / "w", pages(HOST, 3)
    settings = {"urlserver.grace_seconds": 0}
    with DocIndex(workspace) as index:
        with connected(workspace, urls, "--per-host", "2", settings=settings) as parts:
            wire, _, running = parts
            delivered, opened = wire.orders(2)
            wire.done(delivered)
            third = wire.order()
            # That is what a restart goes by.
            until(lambda: index.is_delivered(delivered.url))
            running.stop(number)
        with connected(workspace, [], ignore_robots=[HOST]) as (wire, _, running):
            again = wire.orders(2)
            assert {each.url for each in again} == {opened.url, third.url}
            wire.no_order(0.4)
            assert index.state(delivered.url) == "leased"
            index.store(delivered)
            assert index.state(delivered.url) == "done"
            assert index.check() == []


def test_a_delivery_that_never_arrives_is_ordered_again(tmp_path: Path):
    settings = {"urlserver.delivery_seconds": 2}
    with connected(tmp_path / "w", pages(HOST, 1), settings=settings) as (wire, _, _):
        first = wire.order()
        told = time.monotonic()
        wire.done(first)
        again = wire.order()
        assert again.url == first.url
        assert again.at - told > 1.9


def test_politeness_survives_a_kill(tmp_path: Path):
    """The result is in the doc index before the URL Server could note its host's clock there."""
    workspace, gap = tmp_path / "w", 2.5
    settings = {"urlserver.host_per_second": 1 / gap, "urlserver.address_per_second": 1 / gap}
    with DocIndex(workspace) as index:
        with connected(workspace, pages(HOST, 1), settings=settings) as (wire, _, running):
            order = wire.order()
            index.store(order, links=[f"http://{HOST}/linked"])
            running.process.kill()
        with connected(workspace, [], settings=settings, ignore_robots=[HOST]) as (wire, _, _):
            following = wire.order()
        assert following.url == f"http://{HOST}/linked"
        assert following.at - order.at > gap - 0.05


def test_two_url_servers_do_not_share_a_workspace(tmp_path: Path):
    with connected(tmp_path / "w", pages(HOST, 1)) as (wire, _, _):
        wire.order()
        with server(tmp_path / "w", spiders=["127.0.0.1:4000"]) as second:
            assert second.wait() == 3
        assert "url-server" in second.said


# ------------------------------------------------------------------ what the doc index knows


@pytest.mark.req("S1.19")
@pytest.mark.parametrize("known_after", ["DONE", "before DONE"])
def test_a_host_that_asks_for_patience_is_held_back_and_others_are_not(
    tmp_path: Path, known_after: str
):
    """429 with Retry-After: the doc index learns it from the Store Server, we from it (A17)."""
    urls = [*pages(HOST, 5), *pages(OTHER, 200)]
    with connected(tmp_path / "w", urls, *ONE_AT_A_TIME) as (wire, index, _):
        orders = {order.host: order for order in wire.orders(2)}
        troubled = orders[HOST]
        if known_after == "DONE":
            # With only one order open at a time, the next may be out before the news is.
            wire.done(troubled)
            orders[HOST] = wire.order()
        stored = time.monotonic()
        index.store(troubled, Outcome.HTTP_429, 429, retry_after=5.0)
        other = go_on_until(lambda: index.failures(HOST) > 0, wire, orders[OTHER])
        wire.done(orders[HOST])
        others = 0
        while other.host == OTHER:
            others += 1
            time.sleep(0.1)
            wire.done(other)
            other = wire.order()
        assert other.host == HOST
        assert other.at - stored > 4.95
        assert others > 1


def go_on_until(condition: Callable[[], bool], wire: Wire, order: Order) -> Order:
    """Be done with orders of another host until something is noted; return the one that is open.

    The URL Server writes down what it has learned together with what is done.
    """
    while not condition():
        time.sleep(0.05)
        wire.done(order)
        order = wire.order()
        assert order.host == OTHER
    return order


def test_a_host_that_has_recovered_is_served_as_before(tmp_path: Path):
    settings = {"urlserver.retry_back_off_seconds": 1.0}
    urls = [*pages(HOST, 12), *pages(OTHER, 200)]
    with connected(tmp_path / "w", urls, "--per-host", "3", settings=settings) as parts:
        wire, index, _ = parts
        orders = wire.orders(6)
        first = [order for order in orders if order.host == HOST]
        other = next(order for order in orders if order.host == OTHER)
        for order in first:
            index.store(order, Outcome.HTTP_5XX, 503)
        other = go_on_until(lambda: index.failures(HOST) > 0, wire, other)
        wire.done(*first)
        # In trouble: one at a time.
        probe = wire.order()
        assert probe.host == HOST
        wire.no_order(0.6)
        index.store(probe)
        # As soon as that is known, two more beside the probe.
        wire.done(other)
        more = 0
        while more < 2:
            order = wire.order()
            if order.host == HOST:
                more += 1
            else:
                time.sleep(0.05)
                wire.done(order)


def test_a_host_whose_address_refuses_is_asked_at_its_other_one(tmp_path: Path):
    """`localhost` has two addresses here; the doc index says that the first one refused."""
    url = "http://localhost:8081/"
    with connected(
        tmp_path / "w", [url, f"{url}2"], *ONE_AT_A_TIME, settings={"urlserver.ip_version": "any"}
    ) as (wire, index, _):
        order = wire.order()
        assert order.address == "127.0.0.1"
        index.store(order, Outcome.NET_REFUSED, 0)
        time.sleep(0.6)
        wire.done(order)
        assert wire.order().address in {"::1", "127.0.0.1"}


# ------------------------------------------------------------------ all together


@pytest.mark.req("S1.1", "S1.25", "S1.38")
def test_a_crawl_with_crashing_spiders_loses_nothing(tmp_path: Path):
    """Links are cut again and again; every URL is done in the end, each link's orders restarted."""
    workspace, journal = tmp_path / "w", Journal()
    hosts = [f"127.0.4.{number}" for number in range(1, 7)]
    urls = {url for name in hosts for url in pages(name, 20)}
    fetches = itertools.count(1)
    with DocIndex(workspace) as index:

        def fetched(order):
            if next(fetches) % 11 == 0:
                raise ConnectionAbortedError
            index.store(order)

        with (
            _Crashing(journal, seconds=0.01, on_fetched=fetched) as spider,
            server(
                workspace,
                *sorted(urls),
                *("--per-host", "2", "--until-idle"),
                spiders=[spider.place],
                ignore_robots=hosts,
            ) as running,
        ):
            assert running.wait(90.0) == 0
            assert running.said.count("is gone") >= 3
        counts = index.counts()
        assert (counts.done, counts.pending, counts.leased) == (120, 0, 0)
        assert index.check() == []
    assert {order.url for order in journal.orders} == urls


class _Crashing(BusySpider):
    """Hangs up in the middle of its work now and then."""

    def _serve(self, wire) -> None:
        try:
            super()._serve(wire)
        except ConnectionAbortedError:
            wire.close()
