"""Iterations of a batch: what one finds, the next crawls, within time and number of items."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.catalog.batch_facts import BatchOrder, BatchState, Wanted
from gossamer.catalog.collecting_room import COLLECTING
from gossamer.catalog.migrate import shipped_migrations
from gossamer.catalog.processing import PROCESSING
from gossamer.catalog.site_book import BATCHES
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Found
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.item_wishes import Wishes, written
from gossamer.objects.site import Filter, Properties, Property, SiteUpdate
from gossamer.url.parts import md5_of
from sites_rig import NORMAL, NOW, Sites

HOME = "https://example.org/"
A, B, C, D = (f"https://example.org/{name}" for name in "abcd")
NEW, CRAWLED = CrawlStatus.NEW, CrawlStatus.CRAWLED
MAX_ITEMS, MAX_TIME = 1 << ErrorBit.MAX_ITEMS, 1 << ErrorBit.MAX_EXECUTION_TIME


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    rig = Sites(tmp_path)
    yield rig
    rig.close()


def accept(sites: Sites, set_id: int, *urls: str, wishes: str = "", **order: Any) -> int:
    """Begin a batch of URLs that a site has."""
    items = [
        Wanted(set_id, sites.query("SELECT doc_id FROM url WHERE url = ?", url)[0][0], wishes)
        for url in urls
    ]
    plan = BatchOrder(**{"kind": NORMAL, "seconds": 100.0, "max_iterations": 5, **order})
    return sites.catalog.accept_batch(plan, items, sites.now)[0]


def state(sites: Sites, batch_id: int) -> BatchState | None:
    return sites.catalog.batch_state(batch_id)


def iterations(sites: Sites, batch_id: int) -> dict[str, int]:
    return {row.url: row.iteration for row in sites.catalog.batch_items(batch_id)}


def test_what_an_iteration_finds_the_next_one_crawls(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, max_iterations=3)
    assert sites.crawl(A, B, HOME) == [HOME]
    assert state(sites, batch) is BatchState.OPEN
    assert sites.crawl(C, A) == [A, B]
    assert sites.crawl(D) == [C]
    assert state(sites, batch) is BatchState.FINISHED
    assert sites.lease() == []
    assert iterations(sites, batch) == {HOME: 1, A: 2, B: 2, C: 3}
    assert sites.members(one) == {HOME: CRAWLED, A: CRAWLED, B: CRAWLED, C: CRAWLED, D: NEW}
    assert set(sites.members(one, "batch_id").values()) == {batch, 0}
    assert sites.catalog.batch_mask(batch) == 0


def test_an_iteration_begins_when_all_of_the_last_one_is_over(sites: Sites) -> None:
    one = sites.site(HOME, A)
    batch = accept(sites, one, HOME, A, max_iterations=2)
    first, second = sites.lease()
    sites.commit(sites.bring(first, B))
    assert sites.lease() == []
    assert sites.members(one)[B] == NEW
    sites.commit(sites.bring(second, C))
    assert [due.url for due in sites.lease()] == [B, C]
    assert state(sites, batch) is BatchState.OPEN


def test_a_batch_of_one_iteration_is_over_after_it(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, max_iterations=1)
    sites.crawl(A)
    assert state(sites, batch) is BatchState.FINISHED
    assert sites.lease() == []


def test_a_batch_that_finds_nothing_ends_early(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME)
    sites.crawl()
    assert state(sites, batch) is BatchState.FINISHED


def test_the_most_wanted_are_crawled_where_not_all_fit(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, max_items=3, pauses=True)
    sites.crawl(A, B, C)
    sites.query(
        "UPDATE member SET priority = 5 WHERE doc_id = (SELECT doc_id FROM url WHERE url = ?)", C
    )
    sites.catalog.go_on(batch, sites.now)
    assert sorted(sites.crawl(D)) == [A, C]
    assert sites.catalog.batch_mask(batch) == MAX_ITEMS
    sites.catalog.go_on(batch, sites.now)
    assert state(sites, batch) is BatchState.FINISHED
    assert sites.members(one) == {HOME: CRAWLED, A: CRAWLED, B: NEW, C: CRAWLED, D: NEW}


def test_the_limit_of_items_counts_for_the_first_iteration_too(sites: Sites) -> None:
    one = sites.site(HOME, A)
    batch = accept(sites, one, HOME, A, max_items=1)
    assert sites.crawl() == [HOME]
    assert state(sites, batch) is BatchState.FINISHED
    assert sites.catalog.batch_mask(batch) == MAX_ITEMS
    assert sites.members(one)[A] == NEW


@pytest.mark.parametrize("drops", [False, True])
def test_what_the_batch_does_not_come_to_in_time_is_new_or_dropped(
    sites: Sites, drops: bool
) -> None:
    one = sites.site(HOME, D)
    batch = accept(sites, one, HOME, D, drops_rest=drops)
    first, other = sites.lease()
    sites.commit(sites.bring(first, A, B))
    sites.commit(sites.bring(other))
    (out,) = sites.lease(1)
    sites.now += 100
    assert sites.catalog.expire_batches(sites.now) == [batch]
    kept = {HOME: CRAWLED, D: CRAWLED}
    assert sites.members(one) == (kept if drops else {**kept, A: NEW, B: NEW})
    assert sites.field(one, "new_urls") == (0 if drops else 2)
    # What is still on its way changes nothing.
    sites.commit(sites.bring(out))
    assert sites.members(one) == (kept if drops else {**kept, A: NEW, B: NEW})
    assert state(sites, batch) is BatchState.FAILED
    assert sites.catalog.batch_mask(batch) == MAX_TIME


def test_a_url_that_was_dropped_may_be_found_again(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, drops_rest=True)
    sites.crawl(A)
    sites.now += 100
    sites.catalog.expire_batches(sites.now)
    assert set(sites.members(one)) == {HOME}
    accept(sites, one, HOME)
    assert sites.crawl(A) == [HOME]
    assert sites.crawl() == [A]
    assert state(sites, batch) is BatchState.FAILED


@pytest.mark.parametrize("drops", [False, True])
def test_what_a_site_knew_before_is_never_dropped(sites: Sites, drops: bool) -> None:
    one = sites.site(HOME, A)
    accept(sites, one, HOME, A, drops_rest=drops)
    sites.lease(1)
    sites.now += 100
    sites.catalog.expire_batches(sites.now)
    assert sites.members(one) == {HOME: NEW, A: NEW}


@pytest.mark.parametrize("drops", [False, True])
def test_no_iteration_begins_when_the_time_is_nearly_over(sites: Sites, drops: bool) -> None:
    """A batch of 360 s takes no more URLs after 300 s."""
    one = sites.site(HOME)
    order = {"seconds": 360.0, "grace": 60.0, "drops_rest": drops, "pauses": True}
    batch = accept(sites, one, HOME, **order)
    sites.crawl(A)
    sites.now += 299
    sites.catalog.go_on(batch, sites.now)
    assert sites.crawl(B) == [A]
    sites.now += 1
    sites.catalog.go_on(batch, sites.now)
    assert state(sites, batch) is BatchState.FINISHED
    assert sites.lease() == []
    assert sites.catalog.batch_mask(batch) == MAX_TIME
    assert set(sites.members(one)) == ({HOME, A} if drops else {HOME, A, B})


def test_a_batch_pauses_where_somebody_processes_in_between(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, pauses=True)
    sites.crawl(A)
    assert state(sites, batch) is BatchState.BETWEEN
    assert sites.lease() == []
    sites.catalog.go_on(batch, sites.now)
    assert sites.crawl() == [A]
    assert state(sites, batch) is BatchState.BETWEEN
    sites.catalog.go_on(batch, sites.now)
    assert state(sites, batch) is BatchState.FINISHED
    sites.catalog.go_on(batch, sites.now)
    assert state(sites, batch) is BatchState.FINISHED


def test_a_batch_that_nobody_goes_on_with_is_given_up(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, pauses=True)
    sites.crawl(A)
    sites.now += 100
    assert sites.catalog.expire_batches(sites.now) == [batch]
    assert state(sites, batch) is BatchState.FAILED
    assert sites.members(one) == {HOME: CRAWLED, A: NEW}


def test_what_another_batch_took_meanwhile_is_not_crawled_twice(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, pauses=True)
    sites.crawl(A, B)
    assert sites.make(1) in ([A], [B])
    sites.catalog.go_on(batch, sites.now)
    urls = [row[0] for row in sites.query("SELECT doc_id FROM batch_item WHERE state = 0")]
    assert len(urls) == len(set(urls)) == 2
    assert len(iterations(sites, batch)) == 2
    assert sorted(sites.members(one).values()) == [2, 2, 4]


def test_sites_that_are_no_longer_active_get_no_further_iteration(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, pauses=True)
    sites.crawl(A)
    sites.query("UPDATE service_site SET state = 2 WHERE set_id = ?", one)
    sites.catalog.go_on(batch, sites.now)
    assert state(sites, batch) is BatchState.FINISHED
    assert sites.members(one)[A] == NEW


def test_regular_batches_may_have_iterations(sites: Sites) -> None:
    sites.site(HOME)
    batch, _ = sites.catalog.make_batch(NORMAL, 5, sites.now, 360.0, 2, max_iterations=2)
    sites.crawl(A)
    assert sites.crawl(B) == [A]
    assert state(sites, batch) is BatchState.FINISHED


def test_an_iteration_survives_the_death_of_the_engine(sites: Sites) -> None:
    one = sites.site(HOME)
    batch = accept(sites, one, HOME, max_iterations=2)
    sites.crawl(A)
    assert len(sites.lease()) == 1
    sites.catalog.begin_run(sites.now)
    assert sites.crawl() == [A]
    assert state(sites, batch) is BatchState.FINISHED


# -------------------------------------------------------------------- wishes of an item


def test_an_item_has_properties_and_fields_of_its_own(sites: Sites) -> None:
    one = sites.site(HOME, A, request_delay=250, http_timeout=5_000)
    sites.property(one, "HTTP_HEADERS", '{"X-From": "site", "User-Agent": "me"}')
    given = Properties([Property(name="CONNECTION_TIMEOUT", value="2")])
    own = SiteUpdate(request_delay=9, http_timeout=700, properties=given)
    wishes = written(Wishes({"HTTP_HEADERS": '{"X-From": "item"}'}, own))
    accept(sites, one, HOME, wishes=wishes)
    accept(sites, one, A)
    manners = {due.url: due.manner for due in sites.lease()}
    asked, usual = manners[HOME], manners[A]
    assert asked is not None
    assert usual is not None
    assert dict(asked.headers) == {"X-From": "item"}
    assert (asked.delay_ms, asked.timeout_ms, asked.connect_ms) == (9, 700, 2_000)
    assert dict(usual.headers) == {"X-From": "site", "User-Agent": "me"}
    assert (usual.timeout_ms, usual.connect_ms) == (30_000, 0)


def test_what_an_item_asks_for_counts_for_what_it_finds_and_for_no_other(sites: Sites) -> None:
    one = sites.site(HOME, D)
    sites.filter(one, "/never", 1)
    own = SiteUpdate(filters=[Filter(pattern="/[ab]$", action=1)], max_resource_size=900)
    wishes = written(Wishes({"ALLOWED_CTYPES": "text/html"}, own))
    batch = accept(sites, one, HOME, wishes=wishes, max_iterations=2)
    accept(sites, one, D, max_iterations=1)
    for due in sites.lease():
        sites.commit(sites.bring(due, A, C, body_bytes=900))
    assert set(sites.members(one)) == {HOME, D, A}
    (due,) = sites.lease()
    assert due.url == A
    sites.commit(sites.bring(due, B, body_bytes=901))
    assert sites.members(one, "error_mask") == {HOME: 0, D: 0, A: 1 << ErrorBit.SIZE_ERROR}
    assert sites.catalog.batch_items(batch)[1].wishes == wishes


def test_limits_of_urls_may_be_those_of_an_item(sites: Sites) -> None:
    one = sites.site(HOME)
    accept(sites, one, HOME, wishes=written(Wishes({}, SiteUpdate(max_urls_from_page=1))))
    sites.crawl(A, B)
    assert len(sites.members(one)) == 2


@pytest.mark.req("S3.49", "S3.50")
@pytest.mark.parametrize(
    "own", [SiteUpdate(state=2), SiteUpdate(max_errors=1, errors=2)], ids=["state", "limit"]
)
def test_an_item_may_say_that_its_site_is_closed_which_the_site_is_not(
    sites: Sites, own: SiteUpdate
) -> None:
    one = sites.site(HOME, A)
    batch = accept(sites, one, HOME, wishes=written(Wishes({}, own)))
    assert sites.catalog.batch_items(batch) == []
    assert sites.field(one, "state") == 1
    assert sites.members(one) == {HOME: NEW, A: NEW}


def test_wishes_are_gone_with_the_batch(sites: Sites) -> None:
    one = sites.site(HOME)
    accept(sites, one, HOME, wishes=written(Wishes({"CONNECTION_TIMEOUT": "2"}, None)))
    sites.crawl()
    accept(sites, one, HOME)
    (due,) = sites.lease()
    assert due.manner is not None
    assert due.manner.connect_ms == 0


# ------------------------------------------------------------------ older workspaces


def test_a_batch_of_an_older_workspace_goes_on(tmp_path: Path) -> None:
    """It was made before there were iterations: it has one, and its time is as it was."""
    path = tmp_path / "catalog.db"
    before = [step for step in shipped_migrations() if step.version < 7]
    with SqliteCatalog.open(path, CatalogSettings(), migrations=before) as catalog:
        catalog.begin_run(NOW)
        catalog.add([Found(HOME, md5_of(HOME), "example.org", 0)], NOW)
        connection = catalog._database.connection
        connection.execute(
            "INSERT INTO member (set_id, doc_id, status, batch_id) VALUES (1, 1, 2, 7)"
        )
        connection.execute(
            "INSERT INTO batch (batch_id, kind, items, made_at, until) VALUES (7, 1, 1, ?, ?)",
            (NOW, NOW + 360),
        )
        connection.execute(
            "INSERT INTO batch_item (batch_id, set_id, doc_id, at) VALUES (7, 1, 1, 1)"
        )
    rig = Sites(tmp_path)
    rig.query("UPDATE service_site SET request_delay = 0")
    assert rig.crawl(A) == [HOME]
    assert state(rig, 7) is BatchState.FINISHED
    assert rig.members(1) == {HOME: CRAWLED, A: NEW}
    rig.catalog.close()


def test_contents_of_an_older_workspace_are_still_found(tmp_path: Path) -> None:
    """It did not say which fetches were made for which site; all of a URL's then count."""
    path = tmp_path / "catalog.db"
    before = [step for step in shipped_migrations() if step.version < 11]
    with SqliteCatalog.open(path, CatalogSettings(), migrations=before) as catalog:
        catalog.begin_run(NOW)
        catalog.add([Found(HOME, md5_of(HOME), "example.org", 0)], NOW)
        connection = catalog._database.connection
        connection.execute("INSERT INTO member (set_id, doc_id, status) VALUES (1, 1, 4)")
        connection.execute("INSERT INTO file (file_id, name) VALUES (1, 'a.warc.gz')")
        fetch = (
            "INSERT INTO fetch (fetch_id, doc_id, fetched_at, outcome, status, milliseconds, "
            "file_id, offset, length) VALUES (?, 1, ?, 0, ?, 1, 1, 0, 9)"
        )
        connection.executemany(fetch, [(1, NOW, 200), (2, NOW, 404)])
    rig = Sites(tmp_path)
    assert rig.query("SELECT site_id, doc_id, fetch_id FROM site_content") == [(0, 1, 1)]
    rig.catalog.close()


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("stuck_members", "member_busy"),
        ("open_items", "batch_item_open"),
        ("overdue_batches", "batch_between"),
        ("site_facts", "service_site_set"),
        ("touch_site", "service_site_set"),
        ("items_of", "service_site_set"),
        ("orphaned_items", "service_site_set"),
        ("sites_with_new", "member_turn"),
        ("forget_items", "batch_ended"),
        ("forget_batches", "batch_ended"),
    ],
)
def test_frequent_questions_have_an_index(sites: Sites, query: str, index: str) -> None:
    """Neither other sites, nor URLs that are not new, nor batches of the day before are read."""
    sql = BATCHES[query]
    numbered = len({*re.findall(r"\?\d", sql)})
    values = [1] * (numbered or sql.count("?"))
    plan = sites.query(f"EXPLAIN QUERY PLAN {sql}", *values)
    assert any(index in row[-1] for row in plan), plan
    assert not [row[-1] for row in plan if row[-1] in ("SCAN batch", "SCAN batch_item")]


def test_room_is_made_without_a_look_at_batches_that_are_over(sites: Sites) -> None:
    plan = sites.query(f"EXPLAIN QUERY PLAN {COLLECTING['open_members']}", 1)
    assert any("batch_ended" in row[-1] for row in plan), plan


def test_duplicates_are_looked_for_by_an_index(sites: Sites) -> None:
    plan = sites.query(f"EXPLAIN QUERY PLAN {PROCESSING['twin_of']}", 1, "ab", 2)
    assert any("member_content" in row[-1] for row in plan), plan
