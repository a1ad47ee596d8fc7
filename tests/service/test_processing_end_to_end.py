"""From a page on a server to a content that a client reads; and what kill -9 leaves."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from processing_rig import ROOT, Workshop, batch
from service_rig import Daemon, wait_for

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.objects.coding import encode
from gossamer.objects.content import URLContentRequest
from gossamer.objects.enumerations import CrawlStatus, Operation
from gossamer.objects.site import Properties, Property, Site
from gossamer.objects.url import URLStatus
from gossamer.service.catalog_operations import open_operations
from gossamer.service.engine import run_engine
from gossamer.service.engine_settings import engine_settings_of
from gossamer.service.processing_task import processing_periodic
from gossamer.service.settings import (
    ApplicationSettings,
    FetchSettings,
    ServiceSettings,
    StorageSettings,
)
from press import Press, Reply, Request, press

PAGE_URL = "http://a.example/page"
KILLED_PROCESSOR = Path(__file__).parent / "killed_processor.py"


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


@pytest.mark.req("S3.23", "S3.96")
@pytest.mark.parametrize("storage", [0, 1, 2], ids=["key-value", "table", "warc"])
def test_a_page_that_was_crawled_becomes_a_content(
    tmp_path: Path, paper: Press, storage: int
) -> None:
    html = {"Content-Type": "text/html; charset=utf-8"}
    links = b"<html><a href=/story>one</a><a href=/moved>two</a><a href=/turned>three</a>"
    paper.routes["/"] = (200, html, links)
    paper.story("/story", "Storks return to the valley")
    paper.routes["/moved"] = (301, {"Location": "/elsewhere"}, b"")
    paper.story("/elsewhere", "Cranes leave the valley")
    paper.routes["/turned"] = (200, html, b"<meta http-equiv=refresh content='0;url=/behind'>")
    paper.story("/behind", "Swifts are late this year")
    settings = settings_of(tmp_path, storage)
    with ExitStack() as ending:
        operations = open_operations(settings)
        ending.callback(operations.close)
        root = paper.url("/")
        operations.execute(Operation.SITE_NEW, Site(urls=[root], request_delay=0))
        ((site,),) = _rows(tmp_path, "SELECT id FROM service_site WHERE id <> '0'")
        _crawl(tmp_path / "w", settings)
        _crawl(tmp_path / "w", settings)
        process = processing_periodic(settings, operations, ending)
        counters = process.run(time.time())
        assert counters["batches_process_urls"] == 3
        assert counters["batches_process_urls_fault"] == 0
        for path, title in (
            ("/story", "Storks return to the valley"),
            ("/moved", "Cranes leave the valley"),
            ("/turned", "Swifts are late this year"),
        ):
            url = paper.url(path)
            asked = URLStatus(site_id=site, url=url)
            (status,) = operations.execute(Operation.URL_STATUS, [asked])  # type: ignore[misc]
            assert status.status is CrawlStatus.PROCESSED
            request = URLContentRequest(site_id=site, url=url, content_type_mask=3)
            (answer,) = operations.execute(Operation.URL_CONTENT, [request])  # type: ignore[misc]
            (content,) = answer.processed_contents
            assert json.loads(b64decode(content.buffer))[0]["title"] == title
            (raw,) = answer.raw_contents
            assert title.encode() in b64decode(raw.buffer)


@pytest.mark.parametrize("storage", [0, 2], ids=["key-value", "warc"])
def test_a_site_has_only_what_was_fetched_for_it(
    tmp_path: Path, paper: Press, storage: int
) -> None:
    """A page behind a log-in of one site is no content of another that has none."""

    def answer(request: Request) -> Reply:
        who = b"for the reader" if "authorization" in request.headers else b"for everybody"
        return 200, {"Content-Type": "text/html"}, b"<title>" + who + b"</title>"

    paper.routes["/"] = answer
    settings = settings_of(tmp_path, storage)
    log_in = [Property(name="HTTP_AUTH_NAME", value="a"), Property(name="HTTP_AUTH_PWD", value="b")]
    sites = {"1" * 32: b"for everybody", "2" * 32: b"for the reader"}
    with ExitStack() as ending:
        operations = open_operations(settings)
        ending.callback(operations.close)
        for site_id, properties in zip(sites, ([], log_in), strict=True):
            site = Site(id=site_id, urls=[paper.url("/")], properties=Properties(properties))
            operations.execute(Operation.SITE_NEW, replace(site, request_delay=0))
        _crawl(tmp_path / "w", settings)
        for site_id, expected in sites.items():
            request = URLContentRequest(site_id=site_id, url=paper.url("/"), content_type_mask=8)
            (answered,) = operations.execute(Operation.URL_CONTENT, [request])  # type: ignore[misc]
            bodies = [b64decode(content.buffer) for content in answered.raw_contents]
            assert bodies == [b"<title>" + expected + b"</title>"]


def settings_of(folder: Path, storage: int) -> ServiceSettings:
    return ServiceSettings(
        application=ApplicationSettings(data_dir=str(folder / "w")),
        storage=StorageSettings(content_storage_type=storage),
        fetch=FetchSettings(allow_private=True),
    )


def _crawl(directory: Path, settings: ServiceSettings) -> None:
    engine = engine_settings_of(settings)
    engine = replace(engine, crawl=replace(engine.crawl, workers=1))
    with ServiceCatalog.open(directory / "catalog.db", CatalogSettings(), shared=True) as catalog:
        catalog.make_batch(1, 10, time.time(), 60.0, 5)
    run_engine(directory, engine, once=True, install_signals=False)


def _rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "w" / "catalog.db")) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.req("S3.21", "S3.24")
def test_a_daemon_processes_and_recrawls_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    (folder / "data").mkdir(parents=True)
    shop = Workshop(folder / "data")
    site = shop.site(recrawl_period=60)
    shop.crawled(site, ROOT, parent_md5="")
    shop.crawled(site, PAGE_URL)
    shop.change(site, recrawl_date="2020-01-01T00:00:00Z")
    periods = {name: {"period_seconds": "0.2"} for name in ("Processing", "Aging", "Purge")}
    application = {
        "operations": "gossamer.service.catalog_operations:open_operations",
        "periodics": "processing_rig:open_periodics",
        "batches": "",
    }
    recrawl = {"period_seconds": "0.2", "wait_seconds": "0"}
    with Daemon(folder, Application=application, Recrawl=recrawl, **periods) as daemon:
        wait_for(
            lambda: shop.url(site, PAGE_URL).status is CrawlStatus.PROCESSED,
            "the page to be processed",
        )
        wait_for(
            lambda: shop.url(site, ROOT).status is CrawlStatus.NEW, "the root to be crawled again"
        )

        def told() -> dict[str, float]:
            return daemon.administer("STAT", ["BatchTasksManager"])["BatchTasksManager"]

        # A run counts when it has ended, after what it did can be seen.
        for name in ("sites_recrawl_cnt", "batches_process_urls"):
            wait_for(lambda name=name: told()[name] > 0, "the counters")
        assert told()["sites_recrawl_cnt"] == 1
        assert told()["batches_process_urls"] == 1
        assert told()["sites_recrawl_updated_cnt"] == 1
        assert told()["periodic_faults"] == 0, daemon.log
        assert daemon.terminate() == 0
    shop.close()


@pytest.mark.parametrize(
    ("moment", "processed"), [("begun", 2), ("scraped", 2), ("content", 2), ("row", 3)]
)
def test_a_processor_that_is_killed_loses_nothing(
    tmp_path: Path, moment: str, processed: int
) -> None:
    """Whatever says PROCESSED has its content; all else is processed by the next run."""
    shop = Workshop(tmp_path)
    site = shop.site()
    selected = CrawlStatus.SELECTED_PROCESSING
    urls = [f"http://a.example/{number}" for number in range(5)]
    md5s = [shop.crawled(site, url, status=selected, tc_date="NOW()") for url in urls]
    done = subprocess.run(
        [sys.executable, KILLED_PROCESSOR, str(tmp_path), moment],
        input=encode(batch(site, *md5s)),
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    statuses = [shop.url(site, url).status for url in urls]
    assert statuses[:processed] == [CrawlStatus.PROCESSED] * processed
    assert statuses[processed] is (selected if moment == "row" else CrawlStatus.PROCESSING)
    assert shop.status(site).contents == processed
    for md5 in md5s[:processed]:
        assert shop.content(site, md5)["default"]
    long_after = time.time() + shop.now
    assert shop.catalog.return_stuck(long_after, 3_600.0, 100) == 5 - processed
    assert {shop.url(site, url).status for url in urls[processed:]} == {CrawlStatus.CRAWLED}
    shop.processor().process_batch(batch(site, *md5s[processed:]))
    assert {shop.url(site, url).status for url in urls} == {CrawlStatus.PROCESSED}
    assert shop.status(site).contents == 5
    shop.close()
