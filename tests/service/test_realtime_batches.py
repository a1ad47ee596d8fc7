"""Real-time batches over the wire: what all iterations brought is in the answer, within limits."""

import json
import sqlite3
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from service_rig import wait_for
from test_service_whole import QUICK, Service, site_of

from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.content import URLContentResponse
from gossamer.objects.enumerations import CrawlerType, Operation
from gossamer.objects.normal import site_id_of, url_md5
from gossamer.service.batch_answers import with_contents
from gossamer.service.realtime import limited
from gossamer.service.settings import RealTimeSettings
from press import Press, Reply, Request, press

STILL = {**QUICK["Crawling"], "period_seconds": "0"}
RSS = {"PROCESSOR_NAME": "RSS", "PROCESS_CTYPES": "application/rss+xml,text/html"}


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("realtime"), Crawling=STILL) as made:
        yield made


def item(paper: Press, path: str, **fields: Any) -> dict[str, Any]:
    site, url = site_id_of(paper.url("/")), paper.url(path)
    return {"siteId": site, "urlId": url_md5(url), "urlObj": {"siteId": site, "url": url}, **fields}


def page(paper: Press, path: str, *links: str) -> None:
    anchors = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    body = f"<html><title>{path}</title><p>The page {path}.</p>{anchors}".encode()
    paper.routes[path] = (200, {"Content-Type": "text/html; charset=utf-8"}, body)


def paths(paper: Press, contents: list[dict[str, Any]]) -> list[str]:
    return [each["url"].removeprefix(paper.root) for each in contents]


def test_the_answer_has_what_all_iterations_brought(service: Service, paper: Press) -> None:
    page(paper, "/a", "/b")
    page(paper, "/b", "/c")
    page(paper, "/c", "/d")
    service.tell("SITE_NEW", site_of(paper))
    contents = service.tell("BATCH", {"items": [item(paper, "/a")], "maxIterations": 3})
    assert paths(paper, contents) == ["/a", "/b", "/c"]
    for each in contents:
        (raw,) = each["rawContents"]
        path = each["url"].removeprefix(paper.root)
        assert f"The page {path}.".encode() in b64decode(raw["buffer"])
        assert each["processedContents"]
    assert paper.asked("/d") == 0


@pytest.mark.req("S3.46")
@pytest.mark.parametrize("mode", [0, 3], ids=["guests", "records"])
def test_an_id_that_was_made_of_the_url_as_typed_is_put_right(
    service: Service, paper: Press, mode: int
) -> None:
    page(paper, "/a")
    page(paper, "/b")
    service.tell("SITE_NEW", site_of(paper))
    typed = md5(paper.url("/a#top").encode(), usedforsecurity=False).hexdigest()
    items = [item(paper, "/a", urlId=typed), item(paper, "/b", urlId="")]
    contents = service.tell("BATCH", {"items": items, "dbMode": mode})
    assert paths(paper, contents) == ["/a", "/b"]
    assert [each["urlMd5"] for each in contents] == [url_md5(paper.url(p)) for p in ("/a", "/b")]
    assert all(each["rawContents"] for each in contents)


def test_entries_of_a_feed_are_crawled_processed_and_answered(
    service: Service, paper: Press
) -> None:
    paper.feed("/feed", [{"title": "One", "link": "/one"}, {"title": "Two", "link": "/two"}])
    for path in ("/one", "/two"):
        paper.story(path, f"The story of {path}")
    service.tell("SITE_NEW", site_of(paper))
    order = {"items": [item(paper, "/feed", properties=RSS)], "maxIterations": 2}
    contents = service.tell("BATCH", order)
    assert sorted(paths(paper, contents)) == ["/feed", "/one", "/two"]
    told = dict(zip(paths(paper, contents), contents, strict=True))
    (processed,) = told["/two"]["processedContents"]
    assert json.loads(b64decode(processed["buffer"]))[0]["title"] == "The story of /two"


def test_an_item_may_bring_its_own_template(service: Service, paper: Press) -> None:
    page(paper, "/a")
    service.tell("SITE_NEW", site_of(paper))
    template = {"templates": [{"tags": {"author": [{"target": "//title"}]}}]}
    order = {"items": [item(paper, "/a", properties={"template": template})]}
    (content,) = service.tell("BATCH", order)
    (processed,) = content["processedContents"]
    (tags,) = json.loads(b64decode(processed["buffer"]))
    assert tags["author"] == "/a"


def test_a_batch_without_time_is_answered_with_what_it_has(service: Service, paper: Press) -> None:
    is_over = threading.Event()

    def slow(_: Request) -> Reply:
        is_over.wait(120.0)
        return 200, {"Content-Type": "text/html"}, b"<html><p>Too late."

    page(paper, "/quick")
    paper.routes["/slow"] = slow
    service.tell("SITE_NEW", site_of(paper))
    order = {"items": [item(paper, "/quick"), item(paper, "/slow")], "maxExecutionTime": 10}
    contents = service.tell("BATCH", order)
    is_over.set()
    assert [bool(each["rawContents"]) for each in contents] == [True, False]
    site = site_id_of(paper.url("/"))
    (url,) = service.tell("URL_STATUS", [{"siteId": site, "url": paper.url("/slow")}])
    assert url["status"] == 1


@pytest.mark.req("S3.190")
def test_a_batch_in_work_does_not_keep_the_service_from_stopping(
    tmp_path: Path, paper: Press
) -> None:
    is_asked, is_over = threading.Event(), threading.Event()

    def slow(_: Request) -> Reply:
        is_asked.set()
        is_over.wait(120.0)
        return 200, {"Content-Type": "text/html"}, b"<html><p>Too late."

    paper.routes["/slow"] = slow
    site = site_id_of(paper.url("/"))
    with Service(tmp_path, Crawling=STILL) as service:
        service.tell("SITE_NEW", site_of(paper))
        order = {"items": [item(paper, "/slow")]}
        call = partial(service.call, "BATCH", order, code=None)
        client = threading.Thread(target=call)
        client.start()
        assert is_asked.wait(120.0)
        assert service.terminate() == 0, service.log
        client.join()
        service.start()
        (url,) = service.tell("URL_STATUS", [{"siteId": site, "url": paper.url("/slow")}])
        is_over.set()
    assert url["status"] == 1


def test_what_cannot_be_done_is_refused_by_name(service: Service, paper: Press) -> None:
    service.tell("SITE_NEW", site_of(paper))
    order = {"items": [item(paper, "/a", properties={"FETCHER_MACRO": "x"})]}
    answer = service.call("BATCH", order, code=1)
    (told,) = answer["itemsList"]
    assert told["errorCode"] == 1
    assert "items[0]: Property.FETCHER_MACRO" in told["errorMessage"]
    assert paper.log == []


def test_a_batch_that_writes_nothing_is_answered_and_forgotten(
    service: Service, paper: Press
) -> None:
    page(paper, "/a")
    service.tell("SITE_NEW", site_of(paper))
    site = site_id_of(paper.url("/"))
    sites = service.tell("SITE_FIND", {})
    (content,) = service.tell("BATCH", {"items": [item(paper, "/a")], "dbMode": 1})
    assert (content["siteId"], len(content["rawContents"])) == (site, 1)
    assert service.tell("URL_STATUS", [{"siteId": site, "url": paper.url("/a")}]) == []
    assert service.tell("SITE_FIND", {}) == sites


def test_complaints_of_processes_are_in_the_journal_once(tmp_path: Path, paper: Press) -> None:
    quick = {"period_seconds": "0.05"}
    with Service(tmp_path / "d", Crawling=STILL, Aging=quick) as service:
        right = {"AGING_URL_CRITERION": "Depth = 3"}
        service.tell("SITE_NEW", {**site_of(paper), "properties": right})
        with closing(sqlite3.connect(service.data / "catalog.db", timeout=30)) as database:
            database.execute(
                "UPDATE service_property SET value = 'NoSuchColumn = 3' WHERE name = ?", [*right]
            )
            database.commit()

        def tasks() -> float:
            told = service.ask("STAT")["BatchTasksManager"]
            return float(told["age_batches_error"])

        wait_for(lambda: tasks() >= 5, "some runs")
        site = site_id_of(paper.url("/"))
        said = [line for line in service.log.splitlines() if f"AGE: site {site}" in line]
        assert len(said) == 1
        assert "'nosuchcolumn' is no column" in said[0]


# ---------------------------------------------------------------------------------- rules


def test_a_batch_is_kept_within_the_limits_of_the_settings() -> None:
    settings = RealTimeSettings()
    assert (settings.max_urls, settings.threads) == (10, 6)
    asked = Batch(max_iterations=50, max_items=10_000, max_execution_time=9_999)
    order = limited(asked, settings)
    assert order.crawler_type is CrawlerType.REAL_TIME
    assert (order.max_iterations, order.max_execution_time, order.max_items) == (10, 360, 100)
    modest = limited(Batch(max_iterations=2, max_items=3, max_execution_time=4), settings)
    assert (modest.max_iterations, modest.max_execution_time, modest.max_items) == (2, 4, 3)
    for open_end in (limited(Batch(), settings), limited(Batch(max_items=0), settings)):
        assert (open_end.max_iterations, open_end.max_execution_time) == (1, 360)
        assert open_end.max_items == 100


class Full:
    """Operations that know one content of each URL, of a given size."""

    def __init__(self, size: int) -> None:
        self._size = size

    def execute(self, operation: Operation, payload: object) -> object:
        assert operation is Operation.URL_CONTENT
        assert isinstance(payload, list)
        text = [{"buffer": "x" * self._size, "cDate": None, "typeId": 0}]
        return [
            URLContentResponse(url_md5=each.url_md5, raw_contents=text)  # type: ignore[arg-type]
            for each in payload
        ]

    def close(self) -> None:
        """Nothing is open."""


def test_contents_that_have_no_room_in_the_answer_are_left_out_of_it() -> None:
    items = [BatchItem(url_id=f"{number:032x}") for number in range(5)]
    dressed = with_contents(Full(10_000), items, 25_000)
    answers = [each.url_content_response for each in dressed]
    assert [bool(each and each.raw_contents) for each in answers] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert [each.url_md5 for each in answers if each] == [item.url_id for item in items]
    assert all(item_of is not None for item_of in answers)
