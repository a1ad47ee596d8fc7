"""Batches as the crawler application carries them out: real engine, real server, its log judges."""

import base64
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.catalog.service_counters import wrong_counters
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.coding import decode_object, encode
from gossamer.objects.content import URLContentRequest
from gossamer.objects.enumerations import (
    CrawlStatus,
    DatabaseMode,
    Operation,
    SiteState,
    URLType,
)
from gossamer.objects.error_mask import ErrorBit, mask_of_outcome
from gossamer.objects.moments import Moment
from gossamer.objects.normal import url_md5
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import (
    Filter,
    Properties,
    Property,
    Site,
    SiteFind,
    SiteStatus,
    SiteUpdate,
)
from gossamer.objects.url import URL, URLPut, URLStatus
from gossamer.outcomes import Outcome
from gossamer.service.catalog_operations import open_operations
from gossamer.service.engine_settings import engine_settings_of
from gossamer.service.settings import ApplicationSettings, FetchSettings, ServiceSettings
from gossamer.service.tasks import crawl_batch
from press import Press, Reply, Request, press

FEEDS = "application/rss+xml,text/xml,text/html"


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


class Crawler:
    """A workspace, its operations, and the crawler application on it."""

    def __init__(self, folder: Path, paper: Press, **fetch: Any) -> None:
        self.paper = paper
        self.settings = ServiceSettings(
            application=ApplicationSettings(data_dir=str(folder / "w")),
            fetch=FetchSettings(allow_private=True, **fetch),
        )
        self.operations = open_operations(self.settings)
        engine = engine_settings_of(self.settings)
        self._engine = replace(engine, crawl=replace(engine.crawl, workers=1))

    def do(self, operation: Operation, payload: object) -> Any:
        answer = self.operations.execute(operation, payload)
        assert not getattr(answer, "error_code", 0), answer
        return answer

    def site(self, root: str = "/", **fields: Any) -> str:
        """Make a site; what it says of filters and properties is as given."""
        properties = [Property(name=n, value=v) for n, v in fields.pop("properties", {}).items()]
        url = self.paper.url(root)
        made = {"request_delay": 0, "properties": Properties(properties), **fields}
        self.do(Operation.SITE_NEW, Site(urls=[url], **made))
        return url_md5(url)

    def item(self, site: str, path: str, **fields: Any) -> BatchItem:
        url = self.paper.url(path)
        return BatchItem(
            url_id=url_md5(url), site_id=site, **{"url_obj": URL(url=url, site_id=site), **fields}
        )

    def crawl(self, *items: BatchItem, **fields: Any) -> Batch:
        return crawl_batch(self.settings, self._engine, Batch(items=list(items), **fields))

    def task(self, *items: BatchItem) -> Batch:
        """Crawl a batch with the command."""
        words = ("task", "crawl", "--dir", str(self.settings.data_dir), "--allow-private")
        done = subprocess.run(
            [sys.executable, "-m", "gossamer.cli", *words],
            input=encode(Batch(items=list(items))),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return decode_object(Batch, done.stdout)

    def url(self, site: str, path: str) -> URL:
        (found,) = self.do(
            Operation.URL_STATUS, [URLStatus(site_id=site, url=self.paper.url(path))]
        )
        assert isinstance(found, URL)
        return found

    def status(self, site: str) -> Site:
        found = self.do(Operation.SITE_STATUS, SiteStatus(id=site))
        assert isinstance(found, Site)
        return found

    def paths(self, batch: Batch) -> list[str]:
        """Return the items of a batch as paths."""
        known = {url_md5(self.paper.url(request.path)): request.path for request in self.paper.log}
        return [known[item.url_id] for item in batch.items]

    def asked(self) -> list[str]:
        return [each.path for each in self.paper.log if each.path != "/robots.txt"]

    def close(self) -> None:
        assert wrong_counters(self.operations._catalog.database) == []
        self.operations.close()


@pytest.fixture
def crawler(tmp_path: Path, paper: Press) -> Iterator[Crawler]:
    made = Crawler(tmp_path, paper)
    yield made
    made.close()


@pytest.mark.req("S3.61", "S3.79")
def test_a_document_may_be_as_large_as_settings_and_site_allow(
    tmp_path: Path, paper: Press
) -> None:
    """A site without a limit of its own has that of the settings, above the crawler's usual one."""
    for path, size in (("/", 11 << 20), ("/larger", 12 << 20)):
        paper.routes[path] = (200, {"Content-Type": "text/plain"}, b"x" * size)
    crawler = Crawler(tmp_path, paper, max_resource_bytes=11 << 20)
    site = crawler.site(max_resource_size=0)
    crawler.crawl(crawler.item(site, "/"), crawler.item(site, "/larger"))
    whole, larger = crawler.url(site, "/"), crawler.url(site, "/larger")
    assert (whole.error_mask, whole.size) == (0, 11 << 20)
    assert larger.error_mask == 1 << ErrorBit.SIZE_ERROR
    crawler.close()


@pytest.mark.req("S3.46", "S3.70")
def test_an_item_with_another_id_than_that_of_its_url_comes_back(crawler: Crawler) -> None:
    page(crawler.paper, "/a")
    site = crawler.site()
    done = crawler.crawl(replace(crawler.item(site, "/a"), url_id="0" * 32))
    assert [each.url_id for each in done.items] == [url_md5(crawler.paper.url("/a"))]
    # An id that the site knows goes before what came along.
    done = crawler.crawl(replace(crawler.item(site, "/"), url_id=done.items[0].url_id))
    assert crawler.asked() == ["/a", "/a"]
    assert crawler.paths(done) == ["/a"]


def page(paper: Press, path: str, *links: str) -> None:
    anchors = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    body = f"<html><title>{path}</title><p>The page {path}.</p>{anchors}".encode()
    paper.routes[path] = (200, {"Content-Type": "text/html; charset=utf-8"}, body)


def chain(paper: Press) -> None:
    page(paper, "/", "/a")
    page(paper, "/a", "/b")
    page(paper, "/b", "/c")
    page(paper, "/c")


@pytest.mark.parametrize("iterations", [1, 2, 3, 9])
def test_a_batch_crawls_as_many_iterations_as_it_asks_for(
    crawler: Crawler, iterations: int
) -> None:
    chain(crawler.paper)
    site = crawler.site()
    done = crawler.crawl(crawler.item(site, "/"), max_iterations=iterations)
    wanted = ["/", "/a", "/b", "/c"][:iterations]
    assert crawler.paths(done) == crawler.asked() == wanted
    assert [item.depth for item in done.items[1:]] == list(range(1, len(wanted)))
    assert done.error_mask == 0


def test_a_batch_keeps_to_its_number_of_items(crawler: Crawler) -> None:
    page(crawler.paper, "/", *(f"/{number}" for number in range(9)))
    for number in range(9):
        page(crawler.paper, f"/{number}")
    site = crawler.site()
    done = crawler.crawl(crawler.item(site, "/"), max_iterations=3, max_items=4)
    assert len(done.items) == len(crawler.asked()) == 4
    assert done.error_mask == 1 << ErrorBit.MAX_ITEMS
    assert crawler.status(site).new_urls == 6


@pytest.mark.parametrize("drops", [False, True])
def test_a_batch_keeps_to_its_time(crawler: Crawler, drops: bool) -> None:
    def slow(_: Request) -> Reply:
        # All of them take longer than the batch may, and the first one comes in time.
        time.sleep(2.0)
        return 200, {"Content-Type": "text/html"}, b"<html><p>There it is."

    page(crawler.paper, "/", *(f"/{number}" for number in range(30)))
    for number in range(30):
        crawler.paper.routes[f"/{number}"] = slow
    site = crawler.site(http_timeout=5_000)
    done = crawler.crawl(
        crawler.item(site, "/"),
        max_iterations=2,
        max_execution_time=10,
        remove_unprocessed_items=drops,
    )
    assert done.error_mask >> ErrorBit.MAX_EXECUTION_TIME & 1
    assert 0 < len(done.items) < 31
    status = crawler.status(site)
    left = 31 - len(done.items)
    assert status.new_urls == (0 if drops else left)
    assert status.deleted_urls == (left if drops else 0)


@pytest.mark.parametrize("iterations", [1, 2])
def test_entries_of_a_feed_are_crawled_in_the_next_iteration(
    crawler: Crawler, iterations: int
) -> None:
    crawler.paper.feed(
        "/feed", [{"title": "One", "link": "/one"}, {"title": "Two", "link": "/two"}]
    )
    crawler.paper.story("/one", "One")
    page(crawler.paper, "/two", "/three")
    rss = {"PROCESSOR_NAME": "RSS", "PROCESS_CTYPES": FEEDS}
    site = crawler.site("/feed", properties=rss)
    done = crawler.crawl(crawler.item(site, "/feed"), max_iterations=iterations)
    if iterations == 1:
        assert crawler.asked() == ["/feed"]
        return
    assert sorted(crawler.asked()) == ["/feed", "/one", "/two"]
    assert sorted(crawler.paths(done)) == ["/feed", "/one", "/two"]
    entry = crawler.url(site, "/two")
    assert (entry.type, entry.status) == (URLType.SINGLE, CrawlStatus.CRAWLED)
    assert crawler.url(site, "/feed").status is CrawlStatus.PROCESSED
    # A single URL is not collected from.
    assert crawler.status(site).new_urls == 0


def test_a_batch_may_say_itself_that_its_url_is_a_feed(crawler: Crawler) -> None:
    crawler.paper.feed("/feed", [{"title": "One", "link": "/one"}])
    crawler.paper.story("/one", "One")
    site = crawler.site()
    rss = {"PROCESSOR_NAME": "RSS", "PROCESS_CTYPES": FEEDS}
    done = crawler.crawl(crawler.item(site, "/feed", properties=rss), max_iterations=2)
    assert crawler.paths(done) == ["/feed", "/one"]
    assert done.items[1].properties == rss


def test_what_an_item_asks_for_is_in_its_request(crawler: Crawler) -> None:
    # The two may come back in any order, so they lead to different pages.
    page(crawler.paper, "/a", "/c", "/d")
    page(crawler.paper, "/b", "/e")
    site = crawler.site(properties={"HTTP_HEADERS": '{"X-From": "site"}'})
    own = SiteUpdate(filters=[Filter(pattern="/c$", action=1)])
    mine = {"HTTP_HEADERS": {"X-From": "item"}}
    crawler.crawl(crawler.item(site, "/a", properties=mine, site_obj=own), crawler.item(site, "/b"))
    said = {each.path: each.headers.get("x-from") for each in crawler.paper.log}
    assert (said["/a"], said["/b"]) == ("item", "site")
    assert crawler.url(site, "/c").parent_md5 == url_md5(crawler.paper.url("/a"))
    assert crawler.url(site, "/e").parent_md5 == url_md5(crawler.paper.url("/b"))
    with pytest.raises(ValueError, match="not enough values"):
        crawler.url(site, "/d")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"properties": {"FETCHER_MACRO": "x"}}, "Property.FETCHER_MACRO"),
        ({"properties": {"NO_SUCH_THING": "x"}}, "Property.NO_SUCH_THING"),
        ({"properties": {"MODES_FLAG": "x"}}, "Property.MODES_FLAG"),
        ({"site_obj": SiteUpdate(filters=[Filter(pattern="(")])}, "Filter[0].pattern"),
        (
            {"site_obj": SiteUpdate(properties=Properties([Property(name="SOCIAL_RATE")]))},
            "Property.SOCIAL_RATE",
        ),
        ({"site_obj": SiteUpdate(id="ab" * 16)}, "BatchItem.siteObj.id"),
        ({"url_put_obj": URLPut(put_dict={"data": "%"})}, "URLPut.putDict.data"),
        ({"url_put_obj": URLPut(content_type=10, put_dict={"data": "{}"})}, "URLPut.contentType"),
    ],
)
def test_what_cannot_be_done_for_an_item_is_refused_by_name(
    crawler: Crawler, fields: dict[str, Any], name: str
) -> None:
    site = crawler.site()
    with pytest.raises(ObjectError, match="Batch") as refused:
        crawler.crawl(crawler.item(site, "/"), crawler.item(site, "/x", **fields))
    assert f"items[1]: {name}" in str(refused.value)
    assert crawler.asked() == []
    assert crawler.do(Operation.URL_STATUS, [URLStatus(site_id=site, url="http://x/x")]) == []


def test_a_content_that_comes_along_is_stored_and_nothing_is_fetched(crawler: Crawler) -> None:
    site = crawler.site()
    body = b"<html><title>Handed over</title><p>It was.</p>"
    put = URLPut(put_dict={"data": base64.b64encode(body).decode()})
    done = crawler.crawl(crawler.item(site, "/given", url_put_obj=put))
    assert len(done.items) == 1
    assert crawler.paper.log == []
    url = crawler.url(site, "/given")
    assert (url.status, url.crawled, url.size) == (CrawlStatus.CRAWLED, 1, len(body))
    assert (url.http_code, url.content_type) == (200, "text/html")
    request = URLContentRequest(site_id=site, url_md5=url.url_md5, content_type_mask=2)
    (answer,) = crawler.do(Operation.URL_CONTENT, [request])
    (raw,) = answer.raw_contents
    assert base64.b64decode(raw.buffer) == body
    assert crawler.status(site).resources == 1


def test_an_entry_that_is_its_own_content_is_not_fetched(crawler: Crawler) -> None:
    page(crawler.paper, "/entry")
    site = crawler.site()
    entry = URL(
        url=crawler.paper.url("/entry"),
        site_id=site,
        type=URLType.FETCHED,
        status=CrawlStatus.PROCESSED,
    )
    crawler.do(Operation.URL_NEW, [entry])
    done = crawler.crawl(crawler.item(site, "/entry"))
    assert crawler.asked() == []
    assert len(done.items) == 1
    assert crawler.url(site, "/entry").status is CrawlStatus.PROCESSED


@pytest.mark.req("S3.48")
def test_an_item_without_a_site_belongs_to_the_general_site_as_it_is_on_record(
    crawler: Crawler,
) -> None:
    page(crawler.paper, "/a")
    page(crawler.paper, "/b")
    headers = Properties([Property(name="HTTP_HEADERS", value='{"X-Site": "general"}')])
    crawler.do(Operation.SITE_UPDATE, SiteUpdate(id="0", request_delay=0, properties=headers))
    done = crawler.task(crawler.item("", "/a"))
    assert crawler.paths(done) == ["/a"]
    (asked,) = [each for each in crawler.paper.log if each.path == "/a"]
    assert asked.headers["x-site"] == "general"
    assert crawler.url("0", "/a").status is CrawlStatus.CRAWLED
    # What its record says counts: a site that is not active is passed over.
    crawler.do(Operation.SITE_UPDATE, SiteUpdate(id="0", state=SiteState.DISABLED))
    assert crawler.task(crawler.item("", "/b")).items == []
    assert crawler.paper.asked("/b") == 0


def test_the_faults_of_all_items_are_in_the_mask_of_the_batch(crawler: Crawler) -> None:
    page(crawler.paper, "/a")
    crawler.paper.routes["/empty"] = (200, {"Content-Type": "text/html"}, b"")
    site = crawler.site()
    paths = ("/a", "/missing", "/empty")
    done = crawler.crawl(*(crawler.item(site, path) for path in paths))
    assert crawler.paths(done) == ["/a"]
    missing = mask_of_outcome(Outcome.HTTP_4XX, 404)
    assert missing >> ErrorBit.HTTP_ERROR & 1
    assert done.error_mask == missing | 1 << ErrorBit.EMPTY_CONTENT


def test_a_url_that_enters_with_a_batch_is_as_deep_as_its_item_says(crawler: Crawler) -> None:
    page(crawler.paper, "/deep", "/deeper")
    page(crawler.paper, "/deeper")
    site = crawler.site()
    crawler.crawl(crawler.item(site, "/deep", depth=4), max_iterations=2)
    assert crawler.url(site, "/deep").depth == 4
    assert crawler.url(site, "/deeper").depth == 5


@pytest.mark.parametrize("mode", [DatabaseMode.NO, DatabaseMode.R])
def test_a_batch_that_does_not_write_leaves_nothing_behind(
    crawler: Crawler, mode: DatabaseMode
) -> None:
    page(crawler.paper, "/a", "/b")
    page(crawler.paper, "/b")
    site = crawler.site(properties={"HTTP_HEADERS": '{"X-From": "site"}'})
    before = crawler.status(site)
    sites = crawler.do(Operation.SITE_FIND, SiteFind())
    done = crawler.crawl(crawler.item(site, "/a"), max_iterations=2, db_mode=mode)
    assert crawler.asked() == ["/a", "/b"]
    assert [item.site_id for item in done.items] == [site, site]
    assert done.db_mode is mode
    (asked,) = [each for each in crawler.paper.log if each.path == "/a"]
    assert asked.headers.get("x-from") == ("site" if mode is DatabaseMode.R else None)
    first = done.items[0]
    assert first.url_obj is not None
    assert (first.url_obj.status, first.url_obj.http_code) == (CrawlStatus.CRAWLED, 200)
    assert first.url_content_response is not None
    (raw,) = first.url_content_response.raw_contents
    assert b"The page /a." in base64.b64decode(raw.buffer)
    assert crawler.status(site) == before
    assert crawler.do(Operation.SITE_FIND, SiteFind()) == sites
    known = crawler.do(
        Operation.URL_STATUS,
        [URLStatus(site_id=site, url=crawler.paper.url(path)) for path in ("/a", "/b")],
    )
    assert known == []


def test_a_batch_that_does_not_read_knows_nothing_of_its_site(crawler: Crawler) -> None:
    page(crawler.paper, "/a", "/b", "/c")
    fields: dict[str, Any] = {"filters": [Filter(pattern="/never", action=1)]}
    site = crawler.site(properties={"HTTP_HEADERS": '{"X-From": "site"}'}, **fields)
    own = {"HTTP_COOKIE": "mine=1"}
    done = crawler.crawl(
        crawler.item(site, "/a", properties=own, site_obj=SiteUpdate(max_urls_from_page=1)),
        db_mode=DatabaseMode.W,
    )
    assert crawler.paths(done) == ["/a"]
    (asked,) = [each for each in crawler.paper.log if each.path == "/a"]
    assert "x-from" not in asked.headers
    assert asked.headers["cookie"] == "mine=1"
    assert crawler.url(site, "/a").status is CrawlStatus.CRAWLED
    assert crawler.status(site).new_urls == 2, "the root, and one of two links"


def test_doubles_of_sites_that_were_left_behind_are_removed(crawler: Crawler) -> None:
    page(crawler.paper, "/a")
    site = crawler.site()
    old = Site(id="f" * 32, description="guests of a batch", c_date=Moment("2020-01-01T00:00:00Z"))
    crawler.do(Operation.SITE_NEW, old)
    crawler.crawl(crawler.item(site, "/a"), db_mode=DatabaseMode.R)
    assert crawler.status("f" * 32).state is not SiteState.ACTIVE
