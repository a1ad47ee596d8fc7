"""Filters around the processor, and what becomes of the entries of feeds."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processing_rig import FEED, PAGE, ROOT, Workshop, batch

from gossamer.objects.enumerations import (
    CrawlStatus,
    FilterOperation,
    FilterStage,
    FilterType,
    URLState,
    URLType,
)
from gossamer.objects.error_mask import ErrorBit, bits_in
from gossamer.objects.site import Filter
from gossamer.objects.url import URL

A, B = "http://a.example/a", "http://a.example/b"
FIRST, SECOND = "http://a.example/first", "http://b.example/second"
BEFORE, AFTER = FilterStage.BEFORE_PROCESSOR, FilterStage.AFTER_PROCESSOR
STOPPED = ErrorBit.PROCESSOR_FILTER_BREAK


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path)
    yield made
    made.close()


def exclude(pattern: str, stage: FilterStage, **fields: Any) -> Filter:
    return Filter(pattern=pattern, type=FilterType.EXCLUDE, stage=stage, **fields)


def process(shop: Workshop, site: str, *md5s: str) -> None:
    shop.processor().process_batch(batch(site, *md5s))


def test_a_page_that_filters_keep_from_the_processor_is_refused_for_good(shop: Workshop) -> None:
    site = shop.site(filters=[exclude("/a$", BEFORE)])
    kept_out, let_in = shop.crawled(site, A), shop.crawled(site, B)
    process(shop, site, kept_out, let_in)
    refused = shop.url(site, A)
    assert bits_in(refused.error_mask) == [STOPPED]
    assert (refused.processed, refused.state) == (0, URLState.ERROR)
    assert shop.content(site, kept_out) is None
    assert shop.url(site, B).status is CrawlStatus.PROCESSED
    assert shop.content(site, let_in) is not None


def test_filters_before_the_processor_know_what_was_fetched(shop: Workshop) -> None:
    small = exclude("100", BEFORE, subject="%SIZE%", op_code=FilterOperation.LESS)
    site = shop.site(filters=[small])
    process(shop, site, shop.crawled(site, A, PAGE), shop.crawled(site, B, b"<p>short</p>"))
    assert bits_in(shop.url(site, A).error_mask) == []
    assert bits_in(shop.url(site, B).error_mask) == [STOPPED]


def test_a_root_url_is_asked_about_by_filters_of_the_stage_alone(shop: Workshop) -> None:
    everywhere = Filter(pattern="/articles/", type=FilterType.INCLUDE, stage=FilterStage.ALL)
    site = shop.site(ROOT, filters=[everywhere])
    root = shop.crawled(site, ROOT)
    process(shop, site, root, shop.crawled(site, A))
    assert bits_in(shop.url(site, ROOT).error_mask) == []
    assert bits_in(shop.url(site, A).error_mask) == [STOPPED]
    two = shop.site("http://b.example/", filters=[exclude("b.example", BEFORE)])
    process(shop, two, shop.crawled(two, "http://b.example/"))
    assert bits_in(shop.url(two, "http://b.example/").error_mask) == [STOPPED]


def test_a_content_that_filters_stop_is_not_kept(shop: Workshop) -> None:
    site = shop.site(filters=[exclude("(?i)storks", AFTER, subject="%title%")])
    other = PAGE.replace(b"Storks", b"Cranes").replace(b"storks", b"cranes")
    stopped, kept = shop.crawled(site, A, PAGE), shop.crawled(site, B, other)
    process(shop, site, stopped, kept)
    assert bits_in(shop.url(site, A).error_mask) == [STOPPED]
    assert shop.url(site, A).status is CrawlStatus.PROCESSED
    assert shop.url(site, A).tags_count == 0
    assert shop.content(site, stopped) is None
    assert shop.content(site, kept) is not None
    assert shop.status(site).contents == 1


def feed(shop: Workshop, name: str, properties: dict[str, str], **fields: Any) -> str:
    """Process a feed; return its site."""
    known = {"PROCESSOR_NAME": name, "PROCESS_CTYPES": "application/rss+xml", **properties}
    site = shop.site(properties=known, **fields)
    process(shop, site, shop.crawled(site, A, FEED, content_type="application/rss+xml"))
    return site


def entries(shop: Workshop, site: str) -> set[str]:
    rows = shop.query(
        "SELECT url.url FROM service_site JOIN member USING (set_id) JOIN url USING (doc_id) "
        "WHERE service_site.id = ? AND member.depth > 0",
        site,
    )
    return {row[0] for row in rows}


def test_entries_of_a_feed_are_stopped_by_what_they_say(shop: Workshop) -> None:
    site = feed(shop, "FEED_PARSER", {}, filters=[exclude("Second", AFTER, subject="%title%")])
    assert entries(shop, site) == {FIRST}


def test_entries_are_judged_by_their_own_urls(shop: Workshop) -> None:
    includes = Filter(pattern="/(first|a)$", type=FilterType.INCLUDE, stage=FilterStage.ALL)
    site = feed(shop, "FEED_PARSER", {}, filters=[includes, exclude("/a$", AFTER)])
    assert entries(shop, site) == {FIRST}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, {FIRST, SECOND}),
        ({"URL_NORMALIZE": '{"replace": [{"/second": "/2nd"}]}'}, {FIRST, "http://b.example/2nd"}),
        ({"PROTOCOLS": "https"}, set()),
        ({"COLLECT_URLS_LIMITS": '{"/a$": {"max_items": 1}}'}, {FIRST}),
        ({"COLLECT_URLS_LIMITS": '{"/a$": {"offset": 1}}'}, {SECOND}),
        ({"URL_LIMITS": '{"b.example": {"max_items": 0}}'}, {FIRST}),
    ],
)
@pytest.mark.parametrize("name", ["FEED_PARSER", "RSS"])
def test_entries_of_a_feed_are_collected_as_urls_of_pages_are(
    shop: Workshop, name: str, properties: dict[str, str], expected: set[str]
) -> None:
    site = feed(shop, name, properties)
    assert entries(shop, site) == expected
    if name == "FEED_PARSER":
        # A content is kept under the name that its URL has in the site.
        for url in expected:
            assert shop.content(site, shop.url(site, url).url_md5) is not None


def test_feeds_may_have_a_mask_of_their_own(shop: Workshop) -> None:
    body = FEED.replace(b"http://b.example", b"http://www.b.example")
    masks = {"URL_NORMALIZE_MASK": "4", "URL_NORMALIZE_MASK_PROCESSOR": "1"}
    known = {"PROCESSOR_NAME": "RSS", "PROCESS_CTYPES": "application/rss+xml", **masks}
    site = shop.site(properties=known)
    process(shop, site, shop.crawled(site, A, body, content_type="application/rss+xml"))
    assert entries(shop, site) == {FIRST, SECOND}


def test_entries_that_are_to_be_fetched_begin_with_the_fields_of_the_site(shop: Workshop) -> None:
    fields = {"URLS_FIELDS_INIT": json.dumps({"priority": 8, "type": 0})}
    site = feed(shop, "RSS", fields)
    entry = shop.url(site, FIRST)
    assert (entry.priority, entry.type, entry.status) == (8, URLType.SINGLE, CrawlStatus.NEW)


def test_a_full_site_takes_no_more_entries(shop: Workshop) -> None:
    site = feed(shop, "RSS", {}, max_urls=3)
    assert entries(shop, site) == {FIRST}
    assert ErrorBit.MAX_RESOURCES_NUMBER in bits_in(shop.url(site, A).error_mask)


def test_a_filter_that_cannot_be_decided_has_its_bit(shop: Workshop) -> None:
    site = shop.site(filters=[exclude("(a+)+$", BEFORE)])
    url = "http://a.example/" + "a" * 4_000 + "!"
    process(shop, site, shop.crawled(site, url))
    found = shop.url(site, url)
    assert isinstance(found, URL)
    assert bits_in(found.error_mask) == [ErrorBit.REGULAR_EXPRESSION, STOPPED]
