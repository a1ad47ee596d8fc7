"""Re-crawl, incremental crawling, aging and purge, by a clock that only moves when told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from processing_rig import PAGE, ROOT, Workshop

from gossamer.catalog.recrawling import sites_at_work
from gossamer.catalog.site_book import BATCHES
from gossamer.errors import StoreError
from gossamer.objects.enumerations import (
    CrawlerType,
    CrawlStatus,
    DelayedType,
    Operation,
    SiteState,
    URLState,
)
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.moments import epoch_of
from gossamer.objects.normal import url_md5
from gossamer.objects.site import Property
from gossamer.objects.url import URLDelete
from gossamer.service import recrawling
from gossamer.service.recrawling import (
    OUTDATED,
    ROOTS,
    Aging,
    Incremental,
    Purge,
    Recrawling,
    Rules,
    next_recrawl,
    rules_of,
    tuned_period,
)
from gossamer.service.settings import (
    AgingSettings,
    IncrementalSettings,
    RecrawlSettings,
    ServiceSettings,
)

A, B, C = (f"http://a.example/{name}" for name in "abc")
HOUR = 60


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path)
    yield made
    made.close()


def with_settings(shop: Workshop, **sections: object) -> ServiceSettings:
    return replace(shop.settings, **sections)


def recrawl(shop: Workshop, **fields: object) -> Recrawling:
    settings = with_settings(shop, recrawl=RecrawlSettings(**fields))  # type: ignore[arg-type]
    return Recrawling(settings, shop.operations, shop.catalog)


def site_row(shop: Workshop, site: str, what: str) -> object:
    return shop.query(f"SELECT {what} FROM service_site WHERE id = ?", site)[0][0]


def status_of(shop: Workshop, site: str, url: str) -> CrawlStatus:
    return shop.url(site, url).status


def due_site(shop: Workshop, *roots: str, **fields: object) -> str:
    """Make a site whose roots are crawled, and let its time of re-crawl come."""
    site = shop.site(*(roots or (ROOT,)), recrawl_period=HOUR, **fields)
    for root in roots or (ROOT,):
        shop.crawled(site, root, parent_md5="")
    shop.clock.advance(2 * 3_600)
    return site


# ------------------------------------------------------------------------------ decisions


@given(st.integers(0, 4_000_000_000_000), st.integers(1, 100_000))
def test_the_next_date_is_a_whole_minute_and_a_period_from_now(moment: int, period: int) -> None:
    now = moment / 1_000
    due = next_recrawl(now, period)
    assert due % 60 == 0
    assert 0 <= due - now - 60 * period < 60


@given(st.integers(1, 3_000), st.integers(1, 200), st.booleans())
def test_a_tuned_period_stays_within_its_limits(period: int, step: int, left: bool) -> None:
    rules = Rules(tunes=True, step_minutes=step)
    tuned = tuned_period(period, rules, work_left=left)
    if left:
        assert tuned == max(period, min(period + step, 1_440))
    else:
        assert tuned == min(period, max(period - step, 15))
    assert tuned_period(period, Rules(step_minutes=step), work_left=left) == period


def test_properties_win_over_settings() -> None:
    settings = RecrawlSettings(tuning=True, tuning_step_minutes=20)
    assert rules_of([], settings) == Rules(tunes=True, step_minutes=20)
    given_ones = {
        "RECRAWL_WHERE": "Depth < 2",
        "RECRAWL_DELETE": "1",
        "RECRAWL_PERIOD_MODE": "0",
        "RECRAWL_PERIOD_MIN": "5",
        "RECRAWL_PERIOD_MAX": "50",
        "RECRAWL_PERIOD_STEP": "many",
    }
    properties = [Property(name=name, value=value) for name, value in given_ones.items()]
    assert rules_of(properties, settings) == Rules(
        renew_where="Depth < 2",
        delete_where=OUTDATED,
        tunes=False,
        step_minutes=20,
        least_minutes=5,
        most_minutes=50,
    )


# ------------------------------------------------------------------------------- re-crawl


def test_a_site_goes_through_its_phases_step_by_step(shop: Workshop) -> None:
    site = due_site(shop)
    shop.crawled(site, A)
    task = recrawl(shop, wait_seconds=60)
    began = shop.now
    counters = task.run(began)
    assert counters["sites_recrawl_cnt"] == 1
    assert counters["recrawl_threads"] == 1
    assert site_row(shop, site, "iterations") == 1
    assert site_row(shop, site, "recrawl_date") == next_recrawl(began, HOUR)
    assert shop.status(site).state is SiteState.ACTIVE, "the state is not the lock (C21)"
    assert status_of(shop, site, ROOT) is CrawlStatus.CRAWLED, "batches may still run"
    shop.clock.advance(59)
    assert task.run(shop.now)["sites_recrawl_updated_cnt"] == 0
    shop.clock.advance(1)
    assert task.run(shop.now)["sites_recrawl_updated_cnt"] == 1
    assert status_of(shop, site, ROOT) is CrawlStatus.NEW
    assert status_of(shop, site, A) is CrawlStatus.CRAWLED
    assert shop.query(BATCHES["sites_with_new"], 10) == [], "it is locked"
    shop.clock.advance(60)
    assert task.run(shop.now)["recrawl_threads"] == 0
    assert len(shop.query(BATCHES["sites_with_new"], 10)) == 1
    assert site_row(shop, site, "iterations") == 1


def test_whoever_runs_next_goes_on_where_the_last_one_stopped(shop: Workshop) -> None:
    site = due_site(shop)
    recrawl(shop, wait_seconds=60).run(shop.now)
    shop.clock.advance(60)
    recrawl(shop, wait_seconds=60).run(shop.now)
    assert status_of(shop, site, ROOT) is CrawlStatus.NEW
    shop.clock.advance(60)
    recrawl(shop, wait_seconds=60).run(shop.now)
    assert site_row(shop, site, "recrawl_lock_until") is None
    assert site_row(shop, site, "recrawl_phase") == 0


def test_without_a_wait_all_is_done_at_once(shop: Workshop) -> None:
    site = due_site(shop)
    recrawl(shop, wait_seconds=0).run(shop.now)
    assert status_of(shop, site, ROOT) is CrawlStatus.NEW
    assert site_row(shop, site, "recrawl_phase") == 0
    assert sites_at_work(shop.catalog.database, shop.now + 1e6) == []


def test_sites_that_take_no_part_or_are_not_due_are_left_alone(shop: Workshop) -> None:
    off = due_site(shop, "http://off.example/", properties={"MODES_FLAG": "1"})
    idle = due_site(shop, "http://idle.example/", state=SiteState.DISABLED)
    never = shop.site("http://never.example/")
    early = shop.site("http://early.example/", recrawl_period=HOUR)
    recrawl(shop, max_sites=10, max_threads=10).run(shop.now)
    for site in (off, idle, never, early):
        assert site_row(shop, site, "iterations") == 0


def test_the_oldest_come_first_and_only_so_many_at_a_time(shop: Workshop) -> None:
    first = due_site(shop, "http://first.example/")
    second = due_site(shop, "http://second.example/")
    third = due_site(shop, "http://third.example/")
    task = recrawl(shop, max_sites=1, max_threads=2)
    assert task.run(shop.now)["recrawl_sites_queue"] == 2
    assert site_row(shop, first, "recrawl_phase") == 1
    task.run(shop.now)
    task.run(shop.now)
    phases = [site_row(shop, site, "recrawl_phase") for site in (first, second, third)]
    assert phases == [1, 1, 0]


def test_an_error_of_last_time_does_not_keep_a_root_from_being_crawled(shop: Workshop) -> None:
    site = due_site(shop)
    shop.crawled(site, ROOT, parent_md5="", state=URLState.ERROR, error_mask=2)
    shop.crawled(site, A, parent_md5="", state=URLState.DISABLED)
    recrawl(shop, wait_seconds=0).run(shop.now)
    assert shop.url(site, ROOT).state is URLState.ENABLED
    assert shop.url(site, A).state is URLState.DISABLED


def test_the_site_says_which_urls_become_new(shop: Workshop) -> None:
    site = due_site(shop, properties={"RECRAWL_WHERE": "Depth = 1"})
    shop.crawled(site, A, depth=1)
    shop.crawled(site, B, depth=2)
    shop.crawled(site, C, depth=1, status=CrawlStatus.SELECTED_CRAWLING)
    assert recrawl(shop, wait_seconds=0).run(shop.now)["sites_recrawl_updated_cnt"] == 1
    assert [status_of(shop, site, url) for url in (ROOT, A, B, C)] == [4, 1, 4, 2]


def test_roots_may_be_left_as_they_are(shop: Workshop) -> None:
    properties = {"RECRAWL_NO_ROOT_URLS": "1", "RECRAWL_WHERE": "Status = 4"}
    site = due_site(shop, properties=properties)
    shop.crawled(site, A)
    recrawl(shop, wait_seconds=0).run(shop.now)
    assert [status_of(shop, site, url) for url in (ROOT, A)] == [4, 1]


@pytest.mark.parametrize("name", ["RECRAWL_WHERE", "RECRAWL_DELETE_WHERE"])
def test_a_condition_that_cannot_be_used_does_not_lock_a_site_for_ever(
    shop: Workshop, name: str
) -> None:
    site = due_site(shop, properties={"RECRAWL_DELETE": "1"})
    shop.spoil(site, name, "Nonsense = 1")
    shop.crawled(site, A, status=CrawlStatus.PROCESSED, tags_count=0)
    task = recrawl(shop, wait_seconds=0)
    task.run(shop.now)
    assert any(site in complaint for complaint in task.complaints)
    assert site_row(shop, site, "recrawl_phase") == 0
    wanted = CrawlStatus.CRAWLED if name == "RECRAWL_WHERE" else CrawlStatus.NEW
    assert status_of(shop, site, ROOT) is wanted


def members(shop: Workshop, site: str) -> set[str]:
    rows = shop.query(
        "SELECT url FROM service_site s JOIN member USING (set_id) JOIN url USING (doc_id) "
        "WHERE s.id = ?",
        site,
    )
    return {row[0] for row in rows}


def fill(shop: Workshop, site: str) -> set[str]:
    """Enter URLs of all kinds; return those that are worth keeping."""
    kept = {ROOT, "http://a.example/new", "http://a.example/good", "http://a.example/waiting"}
    shop.crawled(site, "http://a.example/new", status=CrawlStatus.NEW, crawled=0)
    shop.crawled(site, "http://a.example/good", status=CrawlStatus.PROCESSED, tags_count=3)
    shop.crawled(site, "http://a.example/waiting")
    shop.crawled(site, "http://a.example/elsewhere", crawled=0)
    shop.crawled(site, "http://a.example/failed", error_mask=1 << ErrorBit.TIMEOUT)
    shop.crawled(site, "http://a.example/empty", status=CrawlStatus.PROCESSED, tags_count=0)
    return kept


@pytest.mark.parametrize("switch", ["1", "0"])
def test_old_urls_are_deleted_if_the_site_asks_for_it(shop: Workshop, switch: str) -> None:
    site = due_site(shop, properties={"RECRAWL_DELETE": switch})
    kept = fill(shop, site)
    before = members(shop, site)
    counters = recrawl(shop, wait_seconds=0).run(shop.now)
    if switch == "1":
        assert members(shop, site) == kept
        assert counters["sites_recrawl_deleted_cnt"] == 3
        assert shop.status(site).deleted_urls == 3, "the purge finds their contents"
    else:
        assert members(shop, site) == before
    assert status_of(shop, site, ROOT) is CrawlStatus.NEW


def test_a_site_says_itself_what_is_deleted(shop: Workshop) -> None:
    properties = {"RECRAWL_DELETE": "1", "RECRAWL_DELETE_WHERE": "URL LIKE '%/good'"}
    site = due_site(shop, properties=properties)
    fill(shop, site)
    before = members(shop, site)
    recrawl(shop, wait_seconds=0).run(shop.now)
    assert before - members(shop, site) == {"http://a.example/good"}


def test_no_more_than_some_are_deleted_in_one_run(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recrawling, "_DELETED_AT_ONCE", 1)
    monkeypatch.setattr(recrawling, "_DELETIONS", 1)
    site = due_site(shop, properties={"RECRAWL_DELETE": "1"})
    fill(shop, site)
    task = recrawl(shop, wait_seconds=0)
    assert task.run(shop.now)["sites_recrawl_deleted_cnt"] == 2, "once in each of two rounds"
    assert status_of(shop, site, ROOT) is CrawlStatus.CRAWLED, "the rest comes first"
    task.run(shop.now)
    task.run(shop.now)
    assert status_of(shop, site, ROOT) is CrawlStatus.NEW


@pytest.mark.parametrize(
    ("fields", "period"),
    [
        ({}, 45),
        ({"status": CrawlStatus.NEW}, 75),
        ({"status": CrawlStatus.CRAWLED}, 75),
        ({"status": CrawlStatus.PROCESSED}, 45),
    ],
    ids=["nothing", "new", "unprocessed", "processed"],
)
def test_the_period_follows_what_was_left_to_do(
    shop: Workshop, fields: dict[str, int], period: int
) -> None:
    site = due_site(shop)
    if fields:
        shop.crawled(site, A, **fields)
    recrawl(shop, tuning=True).run(shop.now)
    assert shop.status(site).recrawl_period == period
    assert epoch_of(str(shop.status(site).recrawl_date)) == next_recrawl(shop.now, period)


def test_without_tuning_the_period_stays(shop: Workshop) -> None:
    site = due_site(shop)
    recrawl(shop).run(shop.now)
    assert shop.status(site).recrawl_period == HOUR


def test_roots_are_what_is_crawled_again_by_default() -> None:
    assert rules_of([], RecrawlSettings()).renew_where == ROOTS


def test_what_a_batch_is_about_to_crawl_is_not_made_new(shop: Workshop) -> None:
    """It would be in two batches; nor does its history say that it became new."""
    properties = {
        "INCREMENTAL_CRAWLING": "1",
        "RECRAWL_WHERE": "Depth < 9",
        "STATS_LOG_ENABLED": "1",
    }
    site = due_site(shop, properties=properties)
    shop.crawled(site, A)
    shop.crawled(site, B)
    _touch(shop, A, shop.now, shop.now - 10)
    shop.clock.advance(20)
    settings = with_settings(shop, incremental=IncrementalSettings(max_urls=5))
    assert Incremental(settings, shop.catalog).run(shop.now)["batches_crawl_urls"] == 1
    recrawl(shop, wait_seconds=0).run(shop.now)
    assert [status_of(shop, site, url) for url in (A, B)] == [8, 1]
    noted = "SELECT url_md5 FROM url_log WHERE operation = 1 ORDER BY url_md5"
    assert shop.query(noted) == sorted((url_md5(url),) for url in (ROOT, B))
    assert shop.catalog.make_batch(int(CrawlerType.NORMAL), 9, shop.now, 60.0, 5)[1]
    open_items = "SELECT doc_id, count(*) FROM batch_item WHERE state = 0 GROUP BY 1"
    assert all(count == 1 for _, count in shop.query(open_items))


# ----------------------------------------------------------------------------- incremental


def test_urls_that_have_probably_changed_are_crawled_again(shop: Workshop) -> None:
    site = shop.site(properties={"INCREMENTAL_CRAWLING": "1"})
    other = shop.site("http://b.example/")
    fetched = shop.now
    for url, age_hours, depth in ((A, 1, 2), (B, 10, 1), (C, 1, 1)):
        shop.crawled(site, url, depth=depth)
        shop.crawled(other, url, depth=depth)
        _touch(shop, url, fetched, fetched - 3_600 * age_hours)
    settings = with_settings(shop, incremental=IncrementalSettings(max_urls=5))
    task = Incremental(settings, shop.catalog)
    shop.clock.advance(3_599)
    assert task.run(shop.now)["batches_crawl_urls"] == 0
    shop.clock.advance(2)
    assert task.run(shop.now)["batches_crawl_url_fetch_incr"] == 2
    assert [status_of(shop, site, url) for url in (A, B, C)] == [8, 4, 8]
    assert [status_of(shop, other, url) for url in (A, B, C)] == [4, 4, 4]
    assert shop.query("SELECT kind, items FROM batch") == [(int(CrawlerType.INCREMENTAL), 2)]
    shop.clock.advance(10 * 3_600)
    settings = with_settings(shop, incremental=IncrementalSettings(max_urls=5, max_depth=0))
    assert Incremental(settings, shop.catalog).run(shop.now)["batches_crawl_urls"] == 0


def test_the_shallowest_and_most_changing_come_first(shop: Workshop) -> None:
    site = shop.site(properties={"INCREMENTAL_CRAWLING": "1"})
    for url, depth, rate in ((A, 2, 0.9), (B, 1, 0.1), (C, 1, 0.8)):
        shop.crawled(site, url, depth=depth, m_rate=rate)
        _touch(shop, url, shop.now, shop.now - 60)
    shop.clock.advance(3_600)
    settings = with_settings(shop, incremental=IncrementalSettings(max_urls=1))
    order = []
    for _ in range(2):
        Incremental(settings, shop.catalog).run(shop.now)
        order += [url for url in (A, B, C) if status_of(shop, site, url) == 8 and url not in order]
    assert order == [C, B]
    assert Incremental(settings, shop.catalog).run(shop.now)["batches_crawl_urls"] == 0, "enough"


def _touch(shop: Workshop, url: str, tcdate: float, last_modified: float) -> None:
    with shop.catalog.changing("touch", shop.now) as (connection, _, _):
        connection.execute(
            "UPDATE member SET tcdate = ?, last_modified = ? "
            "WHERE doc_id = (SELECT doc_id FROM url WHERE url = ?)",
            (tcdate, last_modified, url),
        )


# ------------------------------------------------------------------------- aging and purge


def age(shop: Workshop, **fields: int) -> Aging:
    settings = with_settings(shop, aging=AgingSettings(**fields))
    return Aging(settings, shop.operations, shop.catalog)


def test_urls_older_than_two_periods_are_deleted_but_never_roots(shop: Workshop) -> None:
    site = shop.site(recrawl_period=HOUR)
    eternal = shop.site("http://b.example/")
    shop.crawled(site, A)
    shop.crawled(eternal, B)
    shop.clock.advance(3_600)
    shop.crawled(site, C)
    shop.clock.advance(3_599)
    assert age(shop).run(shop.now)["age_batches_total"] == 1
    assert members(shop, site) == {ROOT, A, C}
    shop.clock.advance(2)
    age(shop).run(shop.now)
    assert members(shop, site) == {ROOT, C}
    assert members(shop, eternal) == {"http://b.example/", B}
    assert shop.status(site).deleted_urls == 1


@pytest.mark.parametrize(
    ("fields", "gone"),
    [
        ({"state": SiteState.SUSPENDED}, True),
        ({"state": SiteState.DISABLED}, False),
        ({"properties": {"MODES_FLAG": "15"}}, False),
        ({"properties": {"MODES_FLAG": "16"}}, True),
    ],
)
def test_sites_take_part_in_aging_by_state_and_mode(
    shop: Workshop, fields: dict[str, object], gone: bool
) -> None:
    site = shop.site(recrawl_period=HOUR, **fields)
    shop.crawled(site, A)
    shop.clock.advance(3 * 3_600)
    age(shop).run(shop.now)
    assert (A not in members(shop, site)) == gone


def test_a_site_may_have_an_aging_condition_of_its_own(shop: Workshop) -> None:
    site = shop.site(properties={"AGING_URL_CRITERION": "Depth = 3"})
    shop.crawled(site, A, depth=3)
    shop.crawled(site, B, depth=1)
    age(shop).run(shop.now)
    assert members(shop, site) == {ROOT, B}


def test_a_bad_aging_condition_stops_no_other_site(shop: Workshop) -> None:
    wrong = shop.site("http://w.example/")
    shop.spoil(wrong, "AGING_URL_CRITERION", "Nonsense = 3")
    right = shop.site(recrawl_period=HOUR)
    shop.crawled(right, A)
    shop.clock.advance(3 * 3_600)
    task = age(shop)
    assert task.run(shop.now)["age_batches_error"] == 1
    assert any(wrong in complaint for complaint in task.complaints)
    assert members(shop, right) == {ROOT}


def test_each_run_takes_only_so_many_and_goes_on_where_the_last_one_ended(shop: Workshop) -> None:
    names = ("a", "b", "c")
    sites = [shop.site(f"http://{name}.example/", recrawl_period=HOUR) for name in names]
    for site, name in zip(sites, names, strict=True):
        for number in range(3):
            shop.crawled(site, f"http://{name}.example/{number}")
    shop.clock.advance(3 * 3_600)
    task = age(shop, max_urls_per_site=2, max_urls=4)
    task.run(shop.now)
    assert [len(members(shop, site)) for site in sites] == [2, 2, 4]
    task.run(shop.now)
    assert [len(members(shop, site)) for site in sites] == [2, 2, 2]
    task.run(shop.now)
    assert [len(members(shop, site)) for site in sites] == [1, 1, 2]


def test_the_purge_removes_what_was_deleted(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A, PAGE)
    delete = URLDelete(site_id=site, url=A, delayed_type=DelayedType.DELAYED)
    shop.do(Operation.URL_DELETE, [delete])
    assert shop.contents.raw(site, md5)
    assert Purge(shop.settings, shop.operations).run(shop.now)["purge_batches_total"] == 1
    assert shop.contents.raw(site, md5) == []
    assert shop.status(site).deleted_urls == 0


def test_a_site_whose_contents_cannot_be_removed_holds_up_the_purge_of_no_other(
    shop: Workshop,
) -> None:
    damaged, sound = shop.site(), shop.site("http://b.example/")
    md5s = {site: shop.crawled(site, A, PAGE) for site in (damaged, sound)}
    for site in (damaged, sound):
        delete = URLDelete(site_id=site, url=A, delayed_type=DelayedType.DELAYED)
        shop.do(Operation.URL_DELETE, [delete])
    delete_content = shop.contents.delete

    def refuse(site_id: str, md5: str) -> bool:
        if site_id == damaged:
            raise StoreError("its file is damaged")
        return delete_content(site_id, md5)

    shop.contents.delete = refuse  # type: ignore[method-assign]
    purge = Purge(shop.settings, shop.operations)
    assert purge.run(shop.now)["purge_batches_error"] == 1
    assert purge.complaints == ["its file is damaged"]
    assert shop.contents.raw(sound, md5s[sound]) == []
    assert [shop.status(site).deleted_urls for site in (damaged, sound)] == [1, 0]
    shop.contents.__dict__.pop("delete")
    assert purge.run(shop.now)["purge_batches_error"] == 0
    assert shop.contents.raw(damaged, md5s[damaged]) == []
