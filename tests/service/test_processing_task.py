"""The periodic process PROCESS: which URLs are taken, in which order, and how many."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from processing_rig import PAGE, ROOT, Workshop

from gossamer.catalog.processing import DEFAULT_WHERE, PROCESSING, places_to_process
from gossamer.errors import ServiceError, StoreError
from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import CrawlStatus, Operation, SiteState, URLState, URLType
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.normal import url_md5
from gossamer.parse.scraper_records import Scraped
from gossamer.service.applications import Output, processed
from gossamer.service.executor import InProcess, LocalProcesses
from gossamer.service.guard import Guard, Reading
from gossamer.service.processing import Processor
from gossamer.service.processing_task import Processing, fetch_of
from gossamer.service.scrape_process import Failed, Page, scraped
from gossamer.service.settings import GuardSettings, ProcessingSettings

A, B, C = (f"http://a.example/{name}" for name in "abc")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path)
    yield made
    made.close()


class Recording:
    """Operations that are carried out and remembered."""

    def __init__(self, shop: Workshop) -> None:
        self._inner = shop.operations
        self.asked: list[tuple[Operation, object]] = []

    def execute(self, operation: Operation, payload: object) -> object:
        self.asked.append((operation, payload))
        return self._inner.execute(operation, payload)

    def close(self) -> None:
        """Nothing was opened."""


def executor_of(processor: Processor) -> InProcess:
    return InProcess({"process": partial(processed, processor)})


def processing(shop: Workshop, guard: Guard | None = None, **fields: int) -> Processing:
    settings = replace(shop.settings, processing=ProcessingSettings(**fields))
    return Processing(settings, shop.operations, shop.catalog, executor_of(shop.processor()), guard)


def statuses(shop: Workshop) -> dict[str, int]:
    return dict(shop.query("SELECT url, member.status FROM member JOIN url USING (doc_id)"))


class CalledAway(Recording):
    """Operations of a thread that is told to stop after so many of them."""

    def __init__(self, shop: Workshop, after: int) -> None:
        super().__init__(shop)
        self._after = after

    def is_called_away(self) -> bool:
        return len(self.asked) >= self._after


def test_whoever_is_called_away_leaves_the_rest_for_later(shop: Workshop) -> None:
    site = shop.site()
    for url in (A, B, C):
        shop.crawled(site, url)
    operations = CalledAway(shop, 9)
    seen = []

    def look(page: Page) -> Scraped | Failed:
        seen.append(page.url)
        operations._after = 0
        return scraped(page)

    processor = shop.processor(look, is_called_away=operations.is_called_away)
    settings = replace(shop.settings, processing=ProcessingSettings(batch_size=3))
    Processing(settings, operations, shop.catalog, executor_of(processor)).run(shop.now)
    assert len(seen) == 1
    assert len(operations.asked) == 1, "no further batch is fetched"
    assert sorted(statuses(shop).values()) == [1, 4, 4, 7]


def test_processes_nobody_can_wait_for_are_ended_and_their_urls_wait_again(shop: Workshop) -> None:
    site = shop.site()
    for url in (A, B, C):
        shop.crawled(site, url)
    settings = replace(shop.settings, processing=ProcessingSettings(processes=1, batch_size=2))
    executor = LocalProcesses(settings, 1)
    operations = CalledAway(shop, 1)
    counters = Processing(settings, operations, shop.catalog, executor).run(shop.now)
    assert counters["batches_process_total"] == 1
    assert counters["batches_process_fault"] == 0
    assert executor.process_of(1) is None
    assert sorted(statuses(shop).values()) == [1, 4, 4, 4]


@pytest.mark.req("S3.21", "S3.22", "S3.24")
def test_urls_are_fetched_made_a_batch_and_processed(shop: Workshop) -> None:
    site = shop.site()
    for url in (A, B, C):
        shop.crawled(site, url)
    recording = Recording(shop)
    seen = []

    def look(page: Page) -> Scraped | Failed:
        seen.append({url: status for url, status in statuses(shop).items() if status in (5, 6)})
        return scraped(page)

    settings = replace(shop.settings, processing=ProcessingSettings(batch_size=2, max_batches=1))
    task = Processing(settings, recording, shop.catalog, executor_of(shop.processor(look)))
    counters = task.run(shop.now)
    (asked,) = recording.asked
    assert asked[0] is Operation.URL_FETCH
    assert isinstance(asked[1], list)
    assert isinstance(asked[1][0], URLFetch)
    assert len(seen[0]) == 2, "both are taken before the first is processed"
    assert sorted(seen[0].values()) == [CrawlStatus.SELECTED_PROCESSING, CrawlStatus.PROCESSING]
    assert sorted(statuses(shop).values()) == [1, 4, 7, 7]
    assert counters["batches_process_total"] == 1
    assert counters["batches_process_urls"] == 2
    assert counters["batches_process_filled"] == 1


def test_batches_are_processed_by_processes_side_by_side(shop: Workshop) -> None:
    site = shop.site()
    for number in range(4):
        shop.crawled(site, f"http://a.example/{number}")
    settings = replace(shop.settings, processing=ProcessingSettings(batch_size=2, max_batches=2))
    executor = LocalProcesses(settings, 2)
    task = Processing(settings, shop.operations, shop.catalog, executor)
    counters = task.run(shop.now)
    assert counters["batches_process_total"] == 2
    assert counters["batches_process_urls_fault"] == 0
    assert sorted(statuses(shop).values()) == [1, 7, 7, 7, 7]
    for number in range(4):
        assert shop.contents.processed(site, url_md5(f"http://a.example/{number}"))


def test_a_batch_whose_process_dies_is_a_fault_and_the_others_count(shop: Workshop) -> None:
    site = shop.site()
    for number in range(4):
        shop.crawled(site, f"http://a.example/{number}")
    settings = replace(shop.settings, processing=ProcessingSettings(batch_size=2, max_batches=2))
    processor = shop.processor()
    calls = []

    def application(body: bytes) -> Output:
        calls.append(body)
        if len(calls) == 1:
            raise StoreError("the disk is gone")
        return processed(processor, body)

    task = Processing(settings, shop.operations, shop.catalog, InProcess({"process": application}))
    with pytest.raises(ServiceError, match="the disk is gone"):
        task.run(shop.now)
    assert sorted(statuses(shop).values()) == [1, 5, 5, 7, 7]


def test_so_many_batches_are_processed_in_one_run(shop: Workshop) -> None:
    site = shop.site()
    for number in range(7):
        shop.crawled(site, f"http://a.example/{number}")
    assert processing(shop, batch_size=2, max_batches=2).run(shop.now)["batches_process_urls"] == 4
    assert processing(shop, batch_size=5, max_batches=2).run(shop.now)["batches_process_urls"] == 3
    assert processing(shop, batch_size=5, max_batches=2).run(shop.now)["batches_process_total"] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"status": CrawlStatus.NEW},
        {"status": CrawlStatus.PROCESSED},
        {"state": URLState.DISABLED},
        {"state": URLState.ERROR},
        {"crawled": 0},
        {"size": 0},
        {"error_mask": 1 << ErrorBit.TIMEOUT},
        {"error_mask": 1 << ErrorBit.FETCH_AMBIGUOUS_REQUEST},
        {"content_type": "image/png"},
        {"http_code": 404},
        {"parent_md5": ""},
        {"type": URLType.CHAIN},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_not_ready_is_not_taken(shop: Workshop, fields: dict[str, int]) -> None:
    site = shop.site()
    shop.crawled(site, A, **fields)
    shop.crawled(site, B, error_mask=1 << ErrorBit.HTML_PARSE, content_type="text/html")
    places, _ = places_to_process(shop.catalog.database, 10, shop.now)
    (fetch,) = [fetch_of(place, 10) for place in places]
    taken = shop.do(Operation.URL_FETCH, [fetch])
    assert [url.url for url in taken] == [B]


def test_sites_that_take_no_part_are_passed_over(shop: Workshop) -> None:
    off = shop.site("http://off.example/", properties={"MODES_FLAG": "1"})
    on = shop.site("http://on.example/", properties={"MODES_FLAG": "2"})
    idle = shop.site("http://idle.example/", state=SiteState.DISABLED)
    for site in (off, on, idle):
        shop.crawled(site, f"http://{site}.example/page")
    assert processing(shop, batch_size=10).run(shop.now)["batches_process_urls"] == 1
    assert statuses(shop)[f"http://{on}.example/page"] == CrawlStatus.PROCESSED


def test_sites_share_a_batch_in_proportion(shop: Workshop) -> None:
    large, small = shop.site("http://large.example/"), shop.site("http://small.example/")
    for number in range(20):
        shop.crawled(large, f"http://large.example/{number}")
    for number in range(2):
        shop.crawled(small, f"http://small.example/{number}")
    processing(shop, batch_size=6, max_batches=1).run(shop.now)
    taken = [url for url, status in statuses(shop).items() if status == CrawlStatus.PROCESSED]
    hosts = [url.split("/")[2] for url in taken]
    assert (hosts.count("small.example"), hosts.count("large.example")) == (2, 4)


def test_the_site_that_waits_longest_comes_first(shop: Workshop) -> None:
    one, other = shop.site("http://one.example/"), shop.site("http://other.example/")
    for site, name in ((one, "one"), (other, "other")):
        for number in range(2):
            shop.crawled(site, f"http://{name}.example/{number}")
    order = []
    for _ in range(4):
        shop.clock.advance(1)
        before = statuses(shop)
        processing(shop, batch_size=1, max_batches=1).run(shop.now)
        after = statuses(shop)
        order += [url.split("/")[2] for url in after if after[url] != before[url]]
    assert order == ["one.example", "other.example", "one.example", "other.example"]


def test_a_site_may_say_itself_what_is_processed(shop: Workshop) -> None:
    site = shop.site(properties={"PROCESS_WHERE_URLS": "ContentType = 'text/html' AND Depth = 0"})
    shop.crawled(site, A, parent_md5="", http_code=203)
    shop.crawled(site, B, depth=3)
    assert processing(shop).run(shop.now)["batches_process_urls"] == 1
    assert statuses(shop)[A] == CrawlStatus.PROCESSED
    assert processing(shop).run(shop.now)["batches_process_urls"] == 0, "once is enough"


def test_a_site_may_say_itself_when_it_takes_part(shop: Workshop) -> None:
    busy = shop.site("http://busy.example/", properties={"PROCESS_WHERE_SITES": "NewURLs > 1"})
    done = shop.site("http://done.example/", properties={"PROCESS_WHERE_SITES": "NewURLs < 2"})
    shop.crawled(busy, "http://busy.example/a")
    shop.crawled(done, "http://done.example/a")
    processing(shop).run(shop.now)
    assert statuses(shop)["http://done.example/a"] == CrawlStatus.PROCESSED
    assert statuses(shop)["http://busy.example/a"] == CrawlStatus.CRAWLED


@pytest.mark.parametrize("where", ["Nonsense = 1", "1 = 1) OR (1 = 1", "Depth ="])
def test_a_condition_that_cannot_be_used_stops_nobody_else(shop: Workshop, where: str) -> None:
    wrong = shop.site("http://wrong.example/")
    shop.spoil(wrong, "PROCESS_WHERE_URLS", where)
    right = shop.site("http://right.example/")
    shop.crawled(wrong, "http://wrong.example/a")
    shop.crawled(right, "http://right.example/a")
    task = processing(shop)
    assert task.run(shop.now)["batches_process_urls"] == 1
    assert statuses(shop)["http://right.example/a"] == CrawlStatus.PROCESSED
    assert any(wrong in complaint for complaint in task.complaints)


def test_a_busy_machine_takes_nothing(shop: Workshop) -> None:
    site = shop.site()
    shop.crawled(site, A)
    free = [10]
    guard = Guard(GuardSettings(tries=1), lambda: Reading(free_bytes=free[0]))
    task = processing(shop, guard)
    first = task.run(shop.now)
    assert (first["batches_process_urls"], first["batches_process_cancelled"]) == (0, 0)
    shop.clock.advance(31)
    assert task.run(shop.now)["batches_process_cancelled"] == 1
    assert statuses(shop)[A] == CrawlStatus.CRAWLED
    free[0] = 1 << 30
    shop.clock.advance(31)
    assert task.run(shop.now)["batches_process_urls"] == 1


def test_looking_for_work_does_not_go_through_all_urls(shop: Workshop) -> None:
    rows = shop.query("EXPLAIN QUERY PLAN " + PROCESSING["sites_to_process"], 5)
    plan = " ".join(row[3] for row in rows)
    assert "member_processable" in plan


def test_the_condition_of_the_index_is_that_of_the_request(shop: Workshop) -> None:
    """What is found by one and not by the other would wait for ever."""
    ((text,),) = shop.query("SELECT sql FROM sqlite_master WHERE name = 'member_processable'")
    columns = {
        "Status": "status", "State": "state", "Crawled": "crawled", "Size": "size",
        "ErrorMask": "error_mask", "ContentType": "content_type", "HTTPCode": "http_code",
        "ParentMd5": "parent_md5", "Type": "type",
    }  # fmt: skip
    asked = [part.strip("()") for part in DEFAULT_WHERE.replace("(Err", "Err").split(" AND ")]
    plain = {_plain(part, columns) for part in asked}
    kept = {
        _plain(part, {}) for part in " ".join(text.partition("WHERE")[2].split()).split(" AND ")
    }
    assert plain == kept


def _plain(condition: str, names: dict[str, str]) -> str:
    name, _, rest = condition.strip().partition(" ")
    return f"{names.get(name, name)} {rest}".replace(")", "").replace("(", "")


def test_roots_are_not_processed(shop: Workshop) -> None:
    site = shop.site()
    shop.crawled(site, ROOT, PAGE, parent_md5="")
    assert processing(shop).run(shop.now)["batches_process_urls"] == 0
