"""Requests as the catalog hands them out: for whom, on which conditions, and whether at all."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.catalog.request_memo import PatternTime
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.error_mask import ErrorBit
from gossamer.outcomes import Outcome
from sites_rig import Sites

HOME, A = "https://example.org/", "https://example.org/a"


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    rig = Sites(tmp_path)
    yield rig
    rig.close()


def renew(sites: Sites) -> None:
    """Have everything crawled again."""
    sites.has_odd_counters = True
    sites.query("UPDATE member SET status = 1, state = 0")
    sites.make()


def test_a_site_that_comes_while_a_request_is_out_gets_its_own(sites: Sites) -> None:
    """The content that is on its way is kept for those who had asked for it."""
    one = sites.site(HOME)
    sites.make()
    (due,) = sites.lease()
    two = sites.site(HOME)
    sites.make()
    assert sites.lease() == []
    sites.commit(sites.bring(due))
    assert sites.members(one) == {HOME: CrawlStatus.CRAWLED}
    assert sites.members(two) == {HOME: CrawlStatus.SELECTED_CRAWLING}
    (due,) = sites.lease()
    assert due.manner is not None
    assert [site for site, _ in due.manner.kept_as] == [f"{two - 100:032x}"]
    sites.commit(sites.bring(due))
    assert sites.members(two) == {HOME: CrawlStatus.CRAWLED}
    assert sites.members(one, "crawled") == sites.members(two, "crawled") == {HOME: 1}


def test_conditions_are_about_the_version_that_every_site_has(sites: Sites) -> None:
    one, two = sites.site(HOME), sites.site(HOME)
    sites.make()
    sites.crawl(etag='"1"')
    renew(sites)
    (due,) = sites.lease()
    assert due.etag == '"1"'
    sites.commit(sites.bring(due, etag='"2"'))
    # As if one site had missed the second version.
    sites.query("UPDATE member SET etag = '\"1\"' WHERE set_id = ?", one)
    renew(sites)
    (due,) = sites.lease()
    assert (due.etag, due.last_modified) == (None, None)
    sites.commit(sites.bring(due, etag='"2"'))
    assert sites.members(one, "etag") == sites.members(two, "etag") == {HOME: '"2"'}


def test_a_content_that_is_gone_is_asked_for_without_conditions(sites: Sites) -> None:
    sites.site(HOME)
    sites.make()
    sites.crawl(etag='"1"')
    sites.query("UPDATE member SET content_mask = 0, size = 0")
    renew(sites)
    (due,) = sites.lease()
    assert due.etag is None
    sites.commit(sites.bring(due))


def test_where_a_redirect_leads_is_asked_for_without_conditions(sites: Sites) -> None:
    sites.site(HOME, A)
    sites.make()
    sites.crawl(etag='"1"')
    renew(sites)
    home, a = sorted(sites.lease(), key=lambda due: due.url)
    sites.commit(sites.bring(a, status=304, outcome=Outcome.NOT_MODIFIED))
    sites.commit(sites.redirect(home, A))
    (due,) = sites.lease()
    assert (due.url, due.etag) == (A, None)
    sites.commit(sites.bring(due))


def test_urls_without_a_window_leave_nothing_behind(sites: Sites) -> None:
    one = sites.site(HOME, A)
    sites.property(one, "HTTP_FREQ_LIMITS", '{"*": {"max_freq": 0.1, "max_delay": 3}}')
    assert len(sites.make()) == 2
    (due,) = sites.lease()
    assert due.manner is not None
    assert due.manner.delay_ms == 10_000
    (waiting,) = {HOME, A} - {due.url}
    assert sites.members(one)[waiting] == CrawlStatus.NEW
    assert sites.members(one, "error_mask")[waiting] == 1 << ErrorBit.NO_TIME_WINDOW
    assert sites.members(one, "crawled")[waiting] == 0
    sites.commit(sites.bring(due))
    # The batch is over, and the next one has what is left, but not before its time.
    assert sites.query("SELECT state FROM batch") == [(1,)]
    assert sites.make() == [waiting]
    assert sites.lease() == []
    sites.now += 8.0
    assert sites.make() == [waiting]
    assert sites.crawl() == [waiting]
    assert sites.members(one, "error_mask") == {HOME: 0, A: 0}


def test_a_batch_that_may_not_ask_for_anything_is_over(sites: Sites) -> None:
    one = sites.site(HOME, A)
    sites.property(one, "USER_PROXY", "{}")
    sites.make()
    assert sites.lease() == []
    assert sites.query("SELECT state FROM batch") == [(1,)]
    assert set(sites.members(one, "error_mask").values()) == {1 << ErrorBit.NO_VALID_PROXY}
    assert sites.field(one, "errors") == 2


@pytest.mark.parametrize("wish", ['{"source": 5}', "no json", '{"proxies": {"p:0": {}}}'])
def test_a_wish_for_proxies_that_cannot_be_read_is_no_reason_to_go_without(
    sites: Sites, wish: str
) -> None:
    one = sites.site(HOME)
    sites.property(one, "USER_PROXY", wish)
    sites.make()
    assert sites.lease() == []
    assert sites.members(one, "error_mask") == {HOME: 1 << ErrorBit.NO_VALID_PROXY}


def test_proxies_take_turns_by_priority_and_use(sites: Sites) -> None:
    urls = [f"https://example.org/{number}" for number in range(6)]
    one = sites.site(*urls)
    proxies = {"a:1": {"priority": 5}, "b:1": {"priority": 5}, "c:1": {"priority": 1}}
    sites.property(one, "USER_PROXY", json.dumps({"proxies": proxies}))
    sites.make()
    used = [due.manner.proxy for due in sites.lease() if due.manner is not None]
    assert sorted(used) == ["http://a:1"] * 3 + ["http://b:1"] * 3


def test_each_try_has_another_proxy_until_the_tries_are_used_up(sites: Sites) -> None:
    one = sites.site(HOME)
    proxies = {f"p{number}:1": {} for number in range(5)}
    wish = {"proxies": proxies, "tries_count": 3, "status_update_tries_limit": 1}
    sites.property(one, "USER_PROXY", json.dumps(wish))
    sites.make()
    used = []
    while batch := sites.lease():
        (due,) = batch
        assert due.manner is not None
        used.append(due.manner.proxy)
        sites.commit(sites.bring(due, status=0, outcome=Outcome.NET_REFUSED, body_bytes=0))
    assert len(used) == len(set(used)) == 3
    mask = sites.members(one, "error_mask")[HOME]
    assert mask >> ErrorBit.NO_VALID_PROXY & 1
    assert sites.members(one) == {HOME: CrawlStatus.NEW}
    assert sites.members(one, "crawled") == {HOME: 1}
    # Another batch is another chance.
    sites.make()
    assert len(sites.lease()) == 1


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.HTTP_5XX, 503),
        (Outcome.HTTP_4XX, 403),
        (Outcome.DNS_NXDOMAIN, 0),
        (Outcome.POLICY_ROBOTS, 0),
        (Outcome.POLICY_PRIVATE_ADDRESS, 0),
        (Outcome.TLS_EXPIRED, 0),
    ],
)
def test_what_a_server_is_to_blame_for_is_no_fault_of_a_proxy(
    sites: Sites, outcome: Outcome, status: int
) -> None:
    one = sites.site(HOME)
    wish = {"source": 1, "tries_count": 3}
    sites.property(one, "USER_PROXY", json.dumps(wish))
    sites.query(
        "INSERT INTO proxy (site_id, host, fields, cdate) VALUES (?, 'p:1', '{}', 0)", one - 100
    )
    sites.make()
    (due,) = sites.lease()
    sites.commit(sites.bring(due, status=status, outcome=outcome, body_bytes=0))
    assert sites.lease() == []
    assert sites.query("SELECT faults FROM proxy") == [(0,)]
    assert not sites.members(one, "error_mask")[HOME] >> ErrorBit.NO_VALID_PROXY & 1


def test_slow_expressions_of_one_site_do_not_stop_the_engine(sites: Sites) -> None:
    """Hundreds of expressions that can hardly be decided: what is not decided is not done."""
    host = "a" * 60 + ".example"
    urls = [f"https://{host}/{number}" for number in range(20)]
    one, other = sites.site(*urls), sites.site(HOME)
    slow = [f"^(a+)+{number}$" for number in range(10)]
    proxies = {f"p{number}:1": {"domains": slow} for number in range(100)}
    sites.property(one, "USER_PROXY", json.dumps({"proxies": proxies}))
    sites.make(30)
    # Each expression may take a quarter of a second, and there are twenty thousand to decide.
    batch = sites.lease()
    assert [due.url for due in batch] == [HOME]
    assert set(sites.members(one, "error_mask").values()) == {1 << ErrorBit.NO_VALID_PROXY}
    sites.commit(*(sites.bring(due) for due in batch))
    assert sites.members(other) == {HOME: CrawlStatus.CRAWLED}


def test_only_the_time_of_patterns_is_counted() -> None:
    moments = iter([0.0, 1.5, 100.0, 100.4, 200.0, 200.2])
    time = PatternTime(2.0, lambda: next(moments))
    for expected in (False, False, True):
        with time.counted():
            pass
        assert time.is_over() is expected
