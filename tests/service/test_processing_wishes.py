"""Processing as items, sites and contents want it: their own settings, pauses, duplicates."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processing_rig import FEED, PAGE, ROOT, Workshop, batch

from gossamer.clock import ManualClock
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.enumerations import (
    CrawlStatus,
    FilterStage,
    Operation,
    SiteState,
    URLType,
)
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.item_wishes import NOTHING, Wishes, read, site_for, wishes_of, written
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import Filter, Properties, Property, Site, SiteUpdate
from gossamer.objects.url import URLPurge, URLUpdate
from gossamer.parse.scraper_records import Scraped
from gossamer.service.processing import Processor
from gossamer.service.processing_pace import Pace, in_turns
from gossamer.service.recrawling import Aging, Purge
from gossamer.service.scrape_process import Failed, Page, scraped

A, B, C = (f"http://a.example/{name}" for name in "abc")
OTHER = "http://b.example/"
TITLE_HASH = json.dumps({"tags": "title", "action": "delete"})


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path)
    yield made
    made.close()


# ------------------------------------------------------------------- settings of an item


def test_fields_and_properties_of_an_item_count_for_its_processing(shop: Workshop) -> None:
    site = shop.site(properties={"PROCESSOR_NAME": "NONE"})
    md5 = shop.crawled(site, A)
    template = {"templates": [{"tags": {"author": [{"target": "//h1"}]}}]}
    own = SiteUpdate(properties=Properties([Property(name="PROCESSOR_NAME", value="")]))
    item = {"site_obj": own, "properties": {"template": template}}
    shop.processor().process_batch(batch(site, md5, **item))
    (content,) = shop.content(site, md5)["default"]
    assert content["author"] == "Storks return to the valley"


def test_filters_of_an_item_decide_about_the_entries_of_its_feed(shop: Workshop) -> None:
    site = shop.site(properties={"PROCESSOR_NAME": "RSS", "PROCESS_CTYPES": "text/xml"})
    md5 = shop.crawled(site, A, FEED, content_type="text/xml")
    wanted = Filter(pattern="/first$", action=1, stage=FilterStage.COLLECT_URLS)
    own = SiteUpdate(filters=[wanted])
    shop.processor().process_batch(batch(site, md5, site_obj=own))
    assert shop.url(site, "http://a.example/first").status is CrawlStatus.NEW
    assert shop.query("SELECT count(*) FROM member WHERE type = 1") == [(1,)]


def test_a_limit_of_an_item_does_not_suspend_its_site(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)
    own = SiteUpdate(max_errors=1, errors=2)
    done = shop.processor().process_batch(batch(site, md5, site_obj=own))
    assert (done.skipped, done.batch.error_mask) == (1, 1 << ErrorBit.PROCESSING_MAX_ERRORS)
    assert shop.status(site).state is SiteState.ACTIVE


def test_a_property_that_is_refused_for_sites_is_refused_for_items(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A, status=CrawlStatus.CRAWLED)
    with pytest.raises(ObjectError, match=r"Property\.SOCIAL_RATE"):
        shop.processor().process_batch(batch(site, md5, properties={"SOCIAL_RATE": "1"}))
    assert shop.url(site, A).status is CrawlStatus.CRAWLED


def test_an_entry_that_is_its_own_content_is_not_processed_again(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A, b"", status=CrawlStatus.PROCESSED)
    shop.do(Operation.URL_UPDATE, [URLUpdate(site_id=site, url_md5=md5, type=URLType.FETCHED)])
    done = shop.processor().process_batch(batch(site, md5))
    assert (done.skipped, done.failed) == (1, 0)
    assert shop.url(site, A).error_mask == 0


def test_a_page_that_an_rss_feed_named_is_scraped_like_others(shop: Workshop) -> None:
    site = shop.site(properties={"PROCESSOR_NAME": "RSS", "PROCESS_CTYPES": "text/html"})
    md5 = shop.crawled(site, A)
    done = shop.processor().process_batch(batch(site, md5))
    assert (done.processed, done.messages) == (1, [])
    assert shop.content(site, md5)["default"][0]["title"] == "Storks return to the valley"


PLAIN = st.one_of(st.text(max_size=9), st.integers(0, 9), st.booleans(), st.lists(st.integers()))


@given(
    names=st.dictionaries(st.text("ABC_", min_size=1, max_size=5), PLAIN, max_size=3),
    delay=st.none() | st.integers(0, 1 << 53),
    alone=st.booleans(),
)
def test_wishes_are_read_as_they_were_written(
    names: dict[str, object], delay: int | None, alone: bool
) -> None:
    own = None if delay is None else SiteUpdate(request_delay=delay)
    properties = {f"USER_{name}": value for name, value in names.items()}
    item = BatchItem(url_id="ab", properties=properties, site_obj=own)
    wishes = wishes_of(item, alone=alone)
    assert read(written(wishes)) == wishes
    assert set(wishes.properties) == set(properties)
    site = site_for(Site(request_delay=77), wishes)
    usual = Site().request_delay if alone else 77
    assert site.request_delay == (usual if delay is None else delay)


def test_without_wishes_nothing_is_written() -> None:
    assert written(wishes_of(BatchItem(url_id="ab"))) == ""
    assert read("") is NOTHING
    site = Site(max_urls=3)
    assert site_for(site, NOTHING) == site
    assert Wishes(alone=True) != NOTHING


# ---------------------------------------------------------------------- processing delay


def times_of(shop: Workshop, order: Batch, processor: Processor | None = None) -> dict[str, float]:
    """Process a batch; return when each page was scraped."""
    times: dict[str, float] = {}

    def note(page: Page) -> Scraped | Failed:
        times[page.url] = shop.clock.monotonic()
        return scraped(page)

    (processor or shop.processor(note)).process_batch(order)
    return times


def test_urls_of_one_site_are_as_far_apart_as_it_wants(shop: Workshop) -> None:
    site = shop.site(processing_delay=700)
    md5s = [shop.crawled(site, url) for url in (A, B, C)]
    assert shop.url(site, A).processing_delay == 700
    times = times_of(shop, batch(site, *md5s))
    gaps = [later - earlier for earlier, later in pairwise(sorted(times.values()))]
    assert gaps == pytest.approx([0.7, 0.7])


@pytest.mark.parametrize(("own", "gap"), [(0, 0.0), (100, 0.1)])
def test_a_url_or_an_item_may_have_a_delay_of_its_own(shop: Workshop, own: int, gap: float) -> None:
    site = shop.site(processing_delay=9_000)
    md5s = [shop.crawled(site, url) for url in (A, B)]
    by_item = times_of(shop, batch(site, *md5s, site_obj=SiteUpdate(processing_delay=own)))
    assert by_item[B] - by_item[A] == pytest.approx(gap)
    for md5 in md5s:
        update = URLUpdate(site_id=site, url_md5=md5, processing_delay=own)
        shop.do(Operation.URL_UPDATE, [update])
    by_url = times_of(shop, batch(site, *md5s))
    assert by_url[B] - by_url[A] == pytest.approx(gap)


def test_while_one_site_pauses_another_is_processed(shop: Workshop) -> None:
    one, two = shop.site(processing_delay=1_000), shop.site(OTHER, processing_delay=1_000)
    items = [BatchItem(url_id=shop.crawled(one, url), site_id=one) for url in (A, B)]
    other = BatchItem(url_id=shop.crawled(two, OTHER + "x"), site_id=two)
    began = shop.clock.monotonic()
    times = times_of(shop, Batch(items=[*items, other]))
    assert times[OTHER + "x"] == began
    assert times[B] == pytest.approx(began + 1)


def test_items_come_back_in_their_order_whatever_was_processed_first(shop: Workshop) -> None:
    one, two = shop.site(), shop.site(OTHER)
    order = [
        BatchItem(url_id=shop.crawled(site, url), site_id=site)
        for site, url in ((one, A), (one, B), (two, OTHER + "x"))
    ]
    done = shop.processor().process_batch(Batch(items=order))
    assert [item.url_id for item in done.batch.items] == [item.url_id for item in order]


def test_what_would_have_to_wait_too_long_is_left_for_the_next_run(shop: Workshop) -> None:
    site = shop.site(processing_delay=60_000)
    md5s = [shop.crawled(site, url) for url in (A, B)]
    processor = Processor(
        shop.catalog, shop.contents, scraped, clock=shop.clock, patience_seconds=10.0
    )
    done = processor.process_batch(batch(site, *md5s))
    assert (done.processed, done.skipped) == (1, 1)
    assert shop.url(site, B).status is CrawlStatus.CRAWLED
    shop.clock.advance(55)
    assert processor.process_batch(batch(site, md5s[1])).processed == 1


def test_the_time_for_waiting_is_that_of_a_whole_batch() -> None:
    clock = ManualClock()
    pace = Pace(clock, 2.0)
    pace.ran("a")
    assert pace.wait("a", 1_500)
    pace.ran("a")
    assert not pace.wait("a", 1_500)
    pace.begin_batch()
    assert pace.wait("a", 1_500)


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_all_items_have_their_turn_and_those_of_a_site_keep_their_order(sites: list[str]) -> None:
    items = [BatchItem(url_id=str(number), site_id=site) for number, site in enumerate(sites)]
    turns = list(in_turns(items))
    assert sorted(place for place, _ in turns) == list(range(len(items)))
    assert all(items[place] is item for place, item in turns)
    for site in "abc":
        places = [place for place, item in turns if item.site_id == site]
        assert places == sorted(places)


# ------------------------------------------------------------------------- duplicates


@pytest.mark.parametrize("action", ["", "delete"])
def test_a_url_with_the_content_of_another_is_deleted_if_its_site_asks_for_it(
    shop: Workshop, action: str
) -> None:
    order = json.dumps({"tags": "title", "action": action})
    site = shop.site(properties={"CONTENT_HASH": order, "STATS_LOG_ENABLED": "1"})
    md5s = [shop.crawled(site, url) for url in (A, B)]
    md5s.append(shop.crawled(site, C, PAGE.replace(b"Storks", b"Cranes")))
    shop.processor().process_batch(batch(site, *md5s))
    left = shop.query("SELECT url.url FROM member JOIN url USING (doc_id) WHERE status = 7")
    gone = {B} if action else set()
    assert {row[0] for row in left} - {B} == {A, C}
    set_id = shop.query("SELECT set_id FROM service_site WHERE id = ?", site)[0][0]
    members = shop.query(
        "SELECT url.url FROM member JOIN url USING (doc_id) WHERE set_id = ?", set_id
    )
    assert {row[0] for row in members} == {ROOT, A, B, C} - gone
    status = shop.status(site)
    assert (status.contents, status.deleted_urls) == (3 - len(gone), len(gone))
    shop.do(Operation.URL_PURGE, [URLPurge(site_id=site)])
    assert (shop.content(site, md5s[1]) is None) == bool(gone)
    assert shop.content(site, md5s[0]) is not None


@pytest.mark.parametrize(
    "value",
    ["[]", "{", '{"algorithm": 7}', '{"action": "keep"}', '{"tags": 3}', '{"tags": ' + "[" * 9_999],
)
def test_an_order_that_cannot_be_carried_out_is_refused(shop: Workshop, value: str) -> None:
    made = Site(urls=[ROOT], properties=Properties([Property(name="CONTENT_HASH", value=value)]))
    answer = shop.operations.execute(Operation.SITE_NEW, made)
    assert isinstance(answer, GeneralResponse)
    assert "Property.CONTENT_HASH" in answer.error_message


def test_root_urls_are_no_duplicates(shop: Workshop) -> None:
    site = shop.site(properties={"CONTENT_HASH": TITLE_HASH})
    first = shop.crawled(site, A)
    root = shop.crawled(site, ROOT, parent_md5="")
    shop.processor().process_batch(batch(site, first, root))
    assert shop.url(site, ROOT).status is CrawlStatus.PROCESSED


def test_a_url_that_is_processed_again_is_no_duplicate_of_itself(shop: Workshop) -> None:
    site = shop.site(properties={"CONTENT_HASH": TITLE_HASH})
    md5 = shop.crawled(site, A)
    for _ in range(2):
        shop.processor().process_batch(batch(site, md5))
    assert shop.url(site, A).processed == 2


# ----------------------------------------------------------------- tasks that go on behind


class Slow:
    """Operations that others carry out: so many of them are not answered yet."""

    def __init__(self, shop: Workshop, going_on: int) -> None:
        self._shop = shop
        self._going_on = going_on

    def unanswered(self, operation: Operation) -> int:
        assert operation in (Operation.URL_AGE, Operation.URL_PURGE)
        return self._going_on

    def execute(self, operation: Operation, payload: object) -> object:
        return self._shop.operations.execute(operation, payload)

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("going_on", "runs"), [(0, True), (1, True), (2, False), (9, False)])
def test_no_more_than_two_tasks_of_aging_and_purge_go_on_at_a_time(
    shop: Workshop, going_on: int, runs: bool
) -> None:
    site = shop.site(recrawl_period=60)
    md5 = shop.crawled(site, A)
    shop.clock.advance(3 * 3_600)
    slow = Slow(shop, going_on)
    age = Aging(shop.settings, slow, shop.catalog).run(shop.now)
    assert age.get("age_batches_canceled", 0) == (not runs)
    assert shop.status(site).deleted_urls == runs
    purge = Purge(shop.settings, slow).run(shop.now)
    assert purge.get("purge_batches_canceled", 0) == (not runs)
    assert bool(shop.contents.raw(site, md5)) == (not runs)
