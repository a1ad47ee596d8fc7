"""Regular crawling as the daemon does it: one batch, in the engine's process, by the settings."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_rig import Daemon, wait_for

from gossamer.catalog.batch_facts import BatchState
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.enumerations import CrawlerType, Operation
from gossamer.objects.site import Site
from gossamer.service.catalog_operations import open_operations
from gossamer.service.guard import Guard
from gossamer.service.periodics import Crawling
from gossamer.service.settings import (
    ApplicationSettings,
    CrawlingSettings,
    FetchSettings,
    GuardSettings,
    ServiceSettings,
)
from press import Press, press


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


def settings_of(folder: Path, crawling: CrawlingSettings) -> ServiceSettings:
    return ServiceSettings(
        application=ApplicationSettings(data_dir=str(folder / "w")),
        fetch=FetchSettings(allow_private=True),
        guard=GuardSettings(max_cpu_percent=100, max_io_wait_percent=100, min_free_bytes=0),
        crawling=crawling,
    )


def publish(paper: Press) -> None:
    for path, link in (("/", "/a"), ("/a", "/b"), ("/b", "/c"), ("/c", "/")):
        body = f"<html><p>The page {path}.</p><a href='{link}'>on</a>".encode()
        paper.routes[path] = (200, {"Content-Type": "text/html; charset=utf-8"}, body)


def test_one_regular_batch_has_as_many_iterations_as_the_settings_say(
    tmp_path: Path, paper: Press
) -> None:
    publish(paper)
    settings = settings_of(tmp_path, CrawlingSettings(max_iterations=3))
    operations = open_operations(settings)
    answer = operations.execute(Operation.SITE_NEW, Site(urls=[paper.url("/")], request_delay=0))
    assert isinstance(answer, GeneralResponse)
    assert answer.error_code == 0
    crawling = Crawling(settings, Guard(settings.guard))
    try:
        assert crawling.crawl(time.time())["batches_crawl_urls"] == 1
        catalog = crawling._catalog
        wait_for(lambda: catalog.batch_state(1) is BatchState.FINISHED, "the batch to end")
    finally:
        crawling.close()
        operations.close()
    asked = [request.path for request in paper.log if request.path != "/robots.txt"]
    assert asked == ["/", "/a", "/b"]


def test_batches_have_the_times_of_the_settings(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        CrawlingSettings(batch_seconds=30, batch_kill_seconds=50, task_ttl_seconds=70),
    )
    operations = open_operations(settings)
    operations.execute(Operation.SITE_NEW, Site(urls=["http://a.invalid/"]))
    operations.close()
    crawling = Crawling(settings, Guard(settings.guard))
    try:
        made_at = time.time()
        assert crawling.crawl(made_at)["batches_crawl_total"] == 1
        connection = crawling._catalog.database.connection
        query = "SELECT until, seconds, grace, began_at FROM batch"
        until, seconds, grace, began_at = connection.execute(query).fetchone()
        assert (seconds, grace) == (50.0, 20.0)
        # The engine may have begun with it.
        assert until == (made_at + 70 if began_at is None else began_at + 50)
    finally:
        crawling.close()


def test_the_figures_say_how_batches_went(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, CrawlingSettings())
    operations = open_operations(settings)
    operations.execute(Operation.SITE_NEW, Site(urls=["http://a.invalid/", "http://a.invalid/b"]))
    operations.close()
    crawling = Crawling(settings, Guard(settings.guard))
    try:
        now = time.time()
        # Not by a run of the process, which would start an engine, and that might be quicker.
        crawling._catalog.make_batch(CrawlerType.NORMAL, 5, now, 50.0, 1)
        figures = crawling.check(now + 100.0)
    finally:
        crawling.close()
    assert figures["batches_crawl_fault_ttl"] == 1
    assert figures["batches_crawl_urls_fault"] == 2
    assert figures["batches_crawl_items_avg"] == 2.0
    assert figures["batches_crawl_time_avg"] == pytest.approx(100.0)


@pytest.mark.req("S3.190")
def test_a_service_stops_in_good_order_in_the_middle_of_long_work(tmp_path: Path) -> None:
    with Daemon(
        tmp_path,
        Application={
            "operations": "toy_operations:open_operations",
            "periodics": "stoppable_periodics:open_periodics",
        },
        Crawling={"period_seconds": "0.05"},
        Server={"stop_timeout_seconds": "30"},
    ) as daemon:
        daemon.await_busy()
        assert daemon.terminate() == 0
    assert "did not stop" not in daemon.log


def test_operations_that_nobody_waits_for_any_more_are_counted_until_they_end(
    tmp_path: Path,
) -> None:
    with Daemon(
        tmp_path,
        Application={
            "operations": "toy_operations:open_operations",
            "periodics": "patient_periodics:open_periodics",
        },
        Crawling={"period_seconds": "0.05"},
        Server={"request_timeout_seconds": "0.2"},
    ) as daemon:
        notes = daemon.data / "unanswered.txt"
        wait_for(lambda: notes.exists() and notes.read_text().endswith("0"), "the late answer")
        said = notes.read_text()
        assert said.startswith("1")
        assert said == "1" * said.count("1") + "0" * said.count("0")
