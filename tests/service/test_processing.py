"""The processor application, step by step: what a batch leaves in catalog and contents."""

import json
import sqlite3
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from processing_rig import FEED, PAGE, ROOT, Workshop, batch

from gossamer.errors import StoreError
from gossamer.objects.batch import Batch
from gossamer.objects.content import URLContentRequest
from gossamer.objects.enumerations import (
    CrawlStatus,
    Operation,
    SiteState,
    URLState,
    URLType,
)
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.moments import epoch_of
from gossamer.objects.normal import url_md5
from gossamer.objects.site import Filter, SiteCleanup
from gossamer.objects.url import URL, URLUpdate
from gossamer.parse.scraper_records import Scraped
from gossamer.service.processing import Processor, charset_of, headers_in
from gossamer.service.scrape_process import Failed, Page, scraped
from gossamer.store.contents import RawContent

A = "http://a.example/a"
B = "http://a.example/b"


@pytest.fixture(params=[0, 1], ids=["key-value", "table"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path, content_storage_type=request.param)
    yield made
    made.close()


@pytest.mark.req("S3.23", "S3.24", "S3.97", "S3.100", "S3.103", "S3.105", "S3.106", "S3.107")
def test_a_page_becomes_a_content(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)
    shop.clock.advance(100)
    began = shop.now

    def slow(page: Page) -> Scraped | Failed:
        shop.clock.advance(2)
        return scraped(page)

    done = shop.processor(slow).process_batch(batch(site, md5))
    assert (done.processed, done.failed, done.skipped) == (1, 0, 0)
    url = shop.url(site, A)
    assert url.status is CrawlStatus.PROCESSED
    assert url.state is URLState.ENABLED
    assert url.processed == 1
    assert (url.processing_time, url.total_time) == (2_000, 2_500)
    assert url.u_date == url.tc_date
    assert url.tags_count >= 3
    assert url.tags_mask & 1, "the title"
    assert shop.status(site).contents == 1
    made = shop.content(site, md5)
    assert made["default"][0]["title"] == "Storks return to the valley"
    assert "above the river" in made["default"][0]["content_encoded"]
    stored = shop.contents.processed(site, md5)
    assert stored is not None
    assert stored[1] == pytest.approx(began + 2, abs=1)


@pytest.mark.req("S3.105", "S3.107")
def test_a_page_that_is_processed_again_replaces_its_content_and_counts_once(
    shop: Workshop,
) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)
    shop.processor().process_batch(batch(site, md5))
    shop.clock.advance(10)
    again = PAGE.replace(b"Storks", b"Cranes")
    shop.contents.put_raw(site, md5, shop.now, body=again, headers=None, request=None)
    shop.contents.sync()
    shop.processor().process_batch(batch(site, md5))
    assert shop.content(site, md5)["default"][0]["title"] == "Cranes return to the valley"
    assert shop.url(site, A).processed == 2
    assert shop.status(site).contents == 1


@pytest.mark.req("S3.104")
def test_contents_are_in_a_key_value_file_of_their_site(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, content_storage_type=0)
    site = shop.site()
    one, other = shop.crawled(site, A), shop.crawled("", B)
    shop.processor().process_batch(batch(site, one))
    shop.processor().process_batch(batch("", other))
    for name, md5 in ((site, one), ("0", other)):
        with closing(sqlite3.connect(tmp_path / "db" / f"{name}.db")) as file:
            ((key,),) = file.execute("SELECT id FROM articles").fetchall()
        assert key == md5
    shop.close()


@pytest.mark.req("S3.97")
def test_urls_without_a_site_belong_to_the_general_one(shop: Workshop) -> None:
    md5 = shop.crawled("", A)
    done = shop.processor().process_batch(batch("", md5))
    assert done.processed == 1
    assert shop.content("0", md5)["default"]
    assert shop.url("", A).status is CrawlStatus.PROCESSED


@pytest.mark.req("S3.98")
@pytest.mark.parametrize("state", [SiteState.DISABLED, SiteState.SUSPENDED])
def test_items_of_a_site_that_is_not_active_are_skipped(shop: Workshop, state: SiteState) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A, status=CrawlStatus.SELECTED_PROCESSING)
    shop.change(site, state=state)
    done = shop.processor().process_batch(batch(site, md5))
    assert (done.processed, done.skipped) == (0, 1)
    assert shop.content(site, md5) is None
    url = shop.url(site, A)
    assert (url.status, url.processed, url.error_mask) == (CrawlStatus.CRAWLED, 0, 0)


@pytest.mark.req("S3.90", "S3.91", "S3.99")
@pytest.mark.parametrize(
    ("limits", "counters", "mask"),
    [
        ({"max_errors": 3}, {"errors": 4}, 1 << 32),
        ({"max_resources": 3}, {"resources": 4}, 1 << 33),
        ({"max_errors": 3, "max_resources": 3}, {"errors": 4, "resources": 4}, 3 << 32),
    ],
)
def test_a_site_beyond_a_limit_is_suspended(
    shop: Workshop, limits: dict[str, int], counters: dict[str, int], mask: int
) -> None:
    site = shop.site(**limits)
    one, other = shop.crawled(site, A), shop.crawled(site, B)
    ((before,),) = shop.query("SELECT resources FROM service_site WHERE id = ?", site)
    shop.change(site, **counters)
    done = shop.processor().process_batch(batch(site, one, other))
    assert (done.processed, done.skipped) == (0, 2)
    assert done.batch.error_mask == mask
    now = shop.status(site)
    assert now.state is SiteState.SUSPENDED
    assert now.error_mask == mask
    assert epoch_of(str(now.tc_date)) == shop.now
    assert now.errors == counters.get("errors", 0) + 1, "the second item finds it suspended"
    shop.change(site, resources=before)


@pytest.mark.req("S3.99")
def test_a_site_at_its_limit_or_without_one_goes_on(shop: Workshop) -> None:
    site = shop.site(max_errors=3, max_resources=0)
    md5 = shop.crawled(site, A)
    shop.change(site, errors=3)
    assert shop.processor().process_batch(batch(site, md5)).processed == 1


@pytest.mark.req("S3.92", "S3.101")
def test_a_content_type_that_the_site_does_not_list_is_refused(shop: Workshop) -> None:
    site = shop.site(properties={"PROCESS_CTYPES": "text/html,text/json"})
    md5 = shop.crawled(site, A, content_type="application/pdf")
    fine = shop.crawled(site, B)
    done = shop.processor().process_batch(batch(site, md5, fine))
    assert (done.processed, done.failed) == (1, 1)
    url = shop.url(site, A)
    assert url.error_mask == 1 << ErrorBit.UNSUPPORTED_CONTENT_TYPE
    assert url.state is URLState.ERROR, "or it would be selected again and again"
    assert (url.status, url.processed) == (CrawlStatus.CRAWLED, 0)
    assert shop.status(site).errors == 1


@pytest.mark.req("S3.102")
def test_while_it_is_processed_a_url_says_so(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)
    seen = []

    def look(page: Page) -> Scraped | Failed:
        seen.append(shop.url(site, A))
        return scraped(page)

    shop.processor(look).process_batch(batch(site, md5))
    assert [(url.status, url.processed) for url in seen] == [(CrawlStatus.PROCESSING, 1)]


@pytest.mark.req("S3.94", "S3.106")
def test_errors_are_added_to_the_mask_that_is_there(shop: Workshop) -> None:
    site = shop.site()
    before = 1 << ErrorBit.HTML_PARSE
    md5 = shop.crawled(site, A, error_mask=before)

    def broken(_: Page) -> Scraped | Failed:
        return Failed("it broke")

    done = shop.processor(broken).process_batch(batch(site, md5))
    url = shop.url(site, A)
    assert url.error_mask == before | 1 << ErrorBit.SCRAPER
    assert url.state is URLState.ERROR
    assert url.status is CrawlStatus.PROCESSED
    assert done.batch.error_mask == 1 << ErrorBit.SCRAPER
    assert done.messages == [f"{A}: it broke"]
    assert shop.content(site, md5) is None
    assert shop.status(site).contents == 0


def test_a_page_that_takes_too_long_has_a_bit_of_its_own(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)
    shop.processor(lambda _: Failed("too long", is_overdue=True)).process_batch(batch(site, md5))
    wanted = 1 << ErrorBit.SCRAPER | 1 << ErrorBit.MAX_EXECUTION_TIME
    assert shop.url(site, A).error_mask == wanted


def test_a_page_whose_raw_content_is_gone_is_an_error(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A, body=b"", size=10)
    shop.processor().process_batch(batch(site, md5))
    assert shop.url(site, A).error_mask == 1 << ErrorBit.RAW_MISSING


@pytest.mark.req("S3.93")
def test_a_raw_content_that_is_damaged_is_an_error_of_that_page_only(shop: Workshop) -> None:
    site = shop.site()
    damaged, sound = shop.crawled(site, A), shop.crawled(site, B)

    def read(url: URL) -> RawContent | None:
        if url.url == A:
            raise StoreError("the record is cut short")
        return shop.contents.raw(site, url.url_md5)[-1]

    processor = Processor(shop.catalog, shop.contents, scraped, read_raw=read, clock=shop.clock)
    done = processor.process_batch(batch(site, damaged, sound))
    assert (done.processed, done.failed) == (1, 1)
    assert shop.url(site, A).error_mask == 1 << ErrorBit.RAW_DECODING
    assert shop.url(site, A).status is CrawlStatus.PROCESSED, "or it would be tried for ever"


def test_a_page_without_contents_is_processed_but_is_no_content(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A, b"<html><body></body></html>")
    shop.processor().process_batch(batch(site, md5))
    url = shop.url(site, A)
    assert (url.status, url.tags_count) == (CrawlStatus.PROCESSED, 0)
    assert shop.status(site).contents == 0
    assert shop.content(site, md5)["default"] == []


def test_what_is_unknown_or_not_crawled_is_left_alone(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A, status=CrawlStatus.NEW, content_type="image/png")
    done = shop.processor().process_batch(batch(site, md5, "0" * 32))
    assert (done.skipped, done.batch.error_mask) == (2, 0)
    assert shop.url(site, A).status is CrawlStatus.NEW


def test_properties_of_an_item_win_over_those_of_the_site(shop: Workshop) -> None:
    site = shop.site(properties={"PROCESS_CTYPES": "text/plain"})
    md5 = shop.crawled(site, A)
    order = batch(site, md5, properties={"PROCESS_CTYPES": "text/html"})
    assert shop.processor().process_batch(order).processed == 1


def test_what_a_template_writes_is_what_clients_get(shop: Workshop) -> None:
    template = {
        "tags": {"title": [{"target": "//h1/text()"}]},
        "output_format": {
            "name": "xml",
            "header": "<a>",
            "item": "<b>%title%</b>",
            "footer": "</a>",
        },
    }
    text = json.dumps({"templates": [template]})
    site = shop.site(properties={"template": text})
    md5 = shop.crawled(site, A)
    shop.processor().process_batch(batch(site, md5))
    made = shop.content(site, md5)
    assert made["default"][0]["title"] == "Storks return to the valley"
    request = URLContentRequest(site_id=site, url_md5=md5, content_type_mask=1)
    (answer,) = shop.do(Operation.URL_CONTENT, [request])
    (content,) = answer.processed_contents
    assert b64decode(content.buffer) == b"<a><b>Storks return to the valley</b></a>"


def test_the_batch_comes_back_with_its_urls(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)
    done = shop.processor().process_batch(batch(site, md5))
    (item,) = done.batch.items
    assert item.url_obj == shop.url(site, A)


# ---------------------------------------------------------------------------- feeds


def feed_site(shop: Workshop, name: str, **fields: object) -> tuple[str, str]:
    properties = {"PROCESSOR_NAME": name, "PROCESS_CTYPES": "application/rss+xml"}
    site = shop.site(properties=properties, **fields)
    md5 = shop.crawled(site, A, FEED, content_type="application/rss+xml", depth=2, priority=7)
    return site, md5


def test_entries_of_a_feed_are_contents(shop: Workshop) -> None:
    site, md5 = feed_site(shop, "FEED_PARSER")
    shop.processor().process_batch(batch(site, md5))
    entry = shop.url(site, "http://a.example/first")
    assert entry.type is URLType.FETCHED
    assert (entry.parent_md5, entry.depth, entry.priority) == (md5, 3, 7)
    assert entry.status is CrawlStatus.PROCESSED
    assert entry.p_date == "2026-01-05T10:00:00Z"
    (content,) = shop.content(site, entry.url_md5)["default"]
    assert content["title"] == "First"
    assert entry.tags_count == len(content)
    titles = [each["title"] for each in shop.content(site, md5)["default"]]
    assert titles == ["First", "Second"]
    assert shop.status(site).contents == 3, "the feed and its two entries"


def test_entries_of_a_feed_are_fetched_next(shop: Workshop) -> None:
    site, md5 = feed_site(shop, "RSS")
    shop.processor().process_batch(batch(site, md5))
    for url in ("http://a.example/first", "http://b.example/second"):
        entry = shop.url(site, url)
        assert (entry.type, entry.status) == (URLType.SINGLE, CrawlStatus.NEW)
        assert entry.parent_md5 == md5
    assert shop.status(site).new_urls == 3, "two entries and the root"


def test_what_a_feed_said_of_a_url_is_told_to_the_scraper(shop: Workshop) -> None:
    site, md5 = feed_site(shop, "RSS")
    shop.processor().process_batch(batch(site, md5))
    first = "http://a.example/first"
    shop.crawled(site, first, headers=b"HTTP/1.1 200 OK\r\nServer: kestrel\r\n\r\n")
    seen = []

    def look(page: Page) -> Scraped | Failed:
        seen.append(page.headers)
        return Scraped()

    order = batch(site, url_md5(first), properties={"PROCESS_CTYPES": "text/html"})
    shop.processor(look).process_batch(order)
    (headers,) = seen
    assert headers["Server"] == "kestrel"
    assert headers["X-feed_url"] == A
    assert (
        "05 Jan 2026" in headers["X-pubdateRssFeed"] or "2026-01-05" in headers["X-pubdateRssFeed"]
    )


def test_entries_that_the_filters_of_the_site_exclude_are_not_entered(shop: Workshop) -> None:
    site, md5 = feed_site(shop, "RSS", filters=[Filter(pattern="^http://a", stage=5, action=1)])
    shop.processor().process_batch(batch(site, md5))
    urls = {row[0] for row in shop.query("SELECT url FROM url JOIN member USING (doc_id)")}
    assert urls == {ROOT, A, "http://a.example/first"}


def test_a_feed_that_is_read_again_enters_nothing_twice(shop: Workshop) -> None:
    site, md5 = feed_site(shop, "FEED_PARSER")
    shop.processor().process_batch(batch(site, md5))
    shop.processor().process_batch(batch(site, md5))
    assert shop.query("SELECT count(*) FROM member WHERE parent_md5 = ?", md5) == [(2,)]
    assert shop.status(site).contents == 3


@pytest.mark.parametrize(("of_site", "of_url"), [(1, 100), (0, 1)])
def test_no_more_entries_are_taken_than_the_site_or_the_url_allows(
    shop: Workshop, of_site: int, of_url: int
) -> None:
    site, _ = feed_site(shop, "RSS", max_urls_from_page=of_site)
    fields = {"content_type": "application/rss+xml", "max_urls_from_page": of_url}
    md5 = shop.crawled(site, B, FEED, **fields)
    shop.processor().process_batch(batch(site, md5))
    assert shop.query("SELECT count(*) FROM member WHERE parent_md5 = ?", md5) == [(1,)]
    assert shop.url(site, B).error_mask == 1 << ErrorBit.MAX_URLS_FROM_PAGE


def test_an_empty_feed_sets_its_bit(shop: Workshop) -> None:
    site, _ = feed_site(shop, "FEED_PARSER")
    empty = b'<rss version="2.0"><channel><title>Nothing</title></channel></rss>'
    md5 = shop.crawled(site, B, empty, content_type="application/rss+xml")
    shop.processor().process_batch(batch(site, md5))
    assert shop.url(site, B).error_mask >> ErrorBit.EMPTY_FEED & 1


# ---------------------------------------------------------------------- order of durability


class KilledError(Exception):
    """Stands for kill -9: nothing is tidied up."""


@pytest.mark.parametrize("moment", ["before the scraper", "before the row"])
def test_whoever_is_killed_leaves_a_url_that_is_selected_again(shop: Workshop, moment: str) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)
    processor = shop.processor()

    def die(*_: object) -> Scraped:
        raise KilledError

    if moment == "before the scraper":
        processor = shop.processor(die)
    else:
        put = shop.contents.put_processed

        def put_and_die(*given: object) -> None:
            put(*given)  # type: ignore[arg-type]
            raise KilledError

        shop.contents.put_processed = put_and_die  # type: ignore[method-assign]
    with pytest.raises(KilledError):
        processor.process_batch(batch(site, md5))
    shop.contents.__dict__.pop("put_processed", None)
    assert shop.url(site, A).status is CrawlStatus.PROCESSING
    assert shop.status(site).contents == 0, "the row never speaks of what may not be there"
    shop.clock.advance(3_601)
    assert shop.catalog.return_stuck(shop.now, 3_600, 10) == 1
    assert shop.url(site, A).status is CrawlStatus.CRAWLED
    shop.processor().process_batch(batch(site, md5))
    assert shop.url(site, A).status is CrawlStatus.PROCESSED
    assert len(shop.content(site, md5)["default"]) == 1


def test_urls_are_released_when_contents_cannot_be_written(shop: Workshop) -> None:
    site = shop.site()
    selected = CrawlStatus.SELECTED_PROCESSING
    md5s = [shop.crawled(site, url, status=selected) for url in (A, B)]

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    shop.contents.put_processed = full  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        shop.processor().process_batch(batch(site, *md5s))
    shop.contents.__dict__.pop("put_processed")
    for url in (A, B):
        assert shop.url(site, url).status is CrawlStatus.CRAWLED


def test_a_store_that_refuses_one_site_keeps_no_other_from_its_turn(shop: Workshop) -> None:
    """The file of one site is damaged; its URLs wait, and somebody is told."""
    damaged, sound = shop.site(), shop.site("http://b.example/")
    others = [f"http://b.example/{number}" for number in range(3)]
    md5s = {url: shop.crawled(damaged, url) for url in (A, B)}
    md5s |= {url: shop.crawled(sound, url) for url in others}
    put = shop.contents.put_processed
    asked = []

    def refuse(site_id: str, *more: object) -> None:
        asked.append(site_id)
        if site_id == damaged:
            raise StoreError("its file is damaged")
        put(site_id, *more)  # type: ignore[arg-type]

    shop.contents.put_processed = refuse  # type: ignore[method-assign]
    items = [
        *batch(damaged, md5s[A], md5s[B]).items,
        *batch(sound, *(md5s[url] for url in others)).items,
    ]
    with pytest.raises(StoreError, match="its file is damaged"):
        shop.processor().process_batch(Batch(items=items))
    shop.contents.__dict__.pop("put_processed")
    assert asked.count(damaged) == 1
    assert {shop.url(damaged, url).status for url in (A, B)} == {CrawlStatus.CRAWLED}
    assert {shop.url(sound, url).status for url in others} == {CrawlStatus.PROCESSED}


def test_a_url_that_was_made_new_meanwhile_stays_new(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)

    def renew(page: Page) -> Scraped | Failed:
        update = URLUpdate(site_id=site, url_md5=md5, status=CrawlStatus.NEW)
        shop.do(Operation.URL_UPDATE, [update])
        return scraped(page)

    shop.processor(renew).process_batch(batch(site, md5))
    assert shop.url(site, A).status is CrawlStatus.NEW


def test_a_url_that_left_its_site_meanwhile_leaves_nothing(shop: Workshop) -> None:
    site = shop.site()
    md5 = shop.crawled(site, A)

    def clean(page: Page) -> Scraped | Failed:
        shop.do(Operation.SITE_CLEANUP, [SiteCleanup(id=site)])
        return scraped(page)

    shop.processor(clean).process_batch(batch(site, md5))
    assert shop.content(site, md5) is None


# ------------------------------------------------------------------- headers and charsets


@pytest.mark.parametrize("stored_in", ["utf-8", "windows-1251"])
def test_a_page_is_read_in_the_encoding_that_it_is_stored_in(
    shop: Workshop, stored_in: str
) -> None:
    """Raw files are in UTF-8 though the page says otherwise; clients put pages as they are."""
    site = shop.site()
    title = "Аисты вернулись"
    text = PAGE.decode().replace("<head>", "<head><meta charset=windows-1251>")
    text = text.replace("Storks return to the valley", title)
    md5 = shop.crawled(site, A, text.encode(stored_in), charset="windows-1251")
    shop.processor().process_batch(batch(site, md5))
    assert shop.content(site, md5)["default"][0]["title"] == title


@pytest.mark.parametrize("charset", ["utf-16-le", "iso-2022-jp"])
def test_encodings_that_look_like_utf_8_are_told_apart(charset: str) -> None:
    assert charset_of("日本語".encode(charset), charset) == charset
    assert charset_of("日本語".encode(), charset) == "utf-8"


def test_headers_of_a_stored_response_are_read_leniently() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nnonsense\r\nX: a:b\r\n\xff: y\r\n\r\n"
    headers = headers_in(head)
    assert headers["Content-Type"] == "text/html"
    assert headers["X"] == "a:b"
    assert "HTTP/1.1 200 OK" not in headers
    assert headers_in(b"") == {}
