"""Three daemons crawl one site: the web's log says who asked for what, and how often."""

import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hosts_rig import TOGETHER, Hosts, together
from service_rig import wait_for
from test_service_whole import Service, site_of

from gossamer.catalog.batch_facts import BatchState
from gossamer.objects.normal import site_id_of, url_md5
from press import Press, Reply, Request, press

BATCH = int(TOGETHER["Crawling"]["batch_size"])
PATIENCE_SECONDS = 300


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


def publish(paper: Press, sections: int, stories: int) -> list[str]:
    """Serve a home page, sections that it links to, and stories of each; return all but home."""
    html = {"Content-Type": "text/html; charset=utf-8"}
    names = [f"/section/{number}" for number in range(sections)]
    links = "".join(f"<a href={name}>{name}</a>" for name in names)
    paper.routes["/"] = (200, html, f"<html><title>Home</title><p>Hello.</p>{links}".encode())
    for name in names:
        inside = [f"{name}/story/{number}" for number in range(stories)]
        # All sections link to each other, so that every host finds them.
        body = links + "".join(f"<a href={story}>{story}</a>" for story in inside)
        page = f"<html><title>{name}</title><p>The section {name}.</p>{body}"
        paper.routes[name] = (200, html, page.encode())
        for story in inside:
            paper.story(story, f"Story {story} of the day")
    return [paper.url(path) for path in paper.routes if path.startswith("/section/")]


def asked(paper: Press) -> Counter[str]:
    return Counter(
        paper.url(request.path) for request in paper.log if request.path not in ("/robots.txt", "/")
    )


def is_all_known(hosts: Hosts, site_id: str, urls: list[str]) -> bool:
    """Whether all are crawled; a host that is killed while it processes goes on with that later."""
    return all(
        len(rows) == len(urls) and all(row["status"] in (4, 5, 6, 7) for row in rows.values())
        for rows in hosts.rows(site_id, urls)
    )


def is_all_processed(hosts: Hosts, site_id: str, urls: list[str]) -> bool:
    """Whether each page is processed where it was crawled, and nowhere else."""
    return all(
        row["status"] == (7 if row["crawled"] else 4)
        for rows in hosts.rows(site_id, urls)
        for row in rows.values()
    )


@pytest.mark.req("S3.17", "S3.18", "S3.20")
def test_each_page_is_fetched_by_one_host_and_known_to_all(tmp_path: Path, paper: Press) -> None:
    urls = publish(paper, 12, 6)
    site_id = site_id_of(paper.url("/"))
    with together(tmp_path) as hosts:
        assert hosts.tell("SITE_NEW", site_of(paper))["errorCode"] == 0
        wait_for(lambda: is_all_known(hosts, site_id, urls), "all pages on all hosts", 240)
        assert asked(paper) == dict.fromkeys(urls, 1)
        assert paper.asked("/") == 3
        rows = hosts.rows(site_id, urls)
        crawled = {url: [known[url]["crawled"] for known in rows] for url in urls}
        assert all(sorted(each) == [0, 0, 1] for each in crawled.values()), crawled
        merged = hosts.tell("URL_STATUS", [{"siteId": site_id, "url": url} for url in urls])
        assert {row["url"]: row["crawled"] for row in merged} == dict.fromkeys(urls, 1)
        contents = hosts.tell(
            "URL_CONTENT",
            [{"siteId": site_id, "urlMd5": url_md5(url), "contentTypeMask": 2} for url in urls],
        )
        assert {each["urlMd5"] for each in contents} == {url_md5(url) for url in urls}
        wait_for(lambda: is_all_processed(hosts, site_id, urls), "all contents", 240)
        for service in hosts.services:
            before = service.site(site_id)
            service.tell("FIELD_RECALCULATE", [{"siteId": site_id}])
            after = service.site(site_id)
            names = ("resources", "contents", "collectedURLs", "newURLs", "errors", "size")
            assert [before[name] for name in names] == [after[name] for name in names]


@pytest.mark.req("S3.19", "S3.20")
def test_hosts_that_have_nothing_to_do_crawl_what_another_has_found(
    tmp_path: Path, paper: Press
) -> None:
    """No page is answered before each host has a batch."""
    html = {"Content-Type": "text/html; charset=utf-8"}
    paper.routes["/"] = (200, html, b"<html><title>Home</title><p>Nothing leads on from here.")
    urls = [paper.url(f"/{number}") for number in range(3 * BATCH)]
    all_have_work = threading.Event()

    def held(_: Request) -> Reply:
        all_have_work.wait(PATIENCE_SECONDS)
        return 200, html, b"<html><p>There it is."

    for number in range(3 * BATCH):
        paper.routes[f"/{number}"] = held
    site_id = site_id_of(paper.url("/"))
    crawling = {**TOGETHER["Crawling"], "batch_kill_seconds": str(PATIENCE_SECONDS)}
    with together(tmp_path, Crawling=crawling) as hosts:
        site = site_of(paper) | {"httpTimeout": 1000 * PATIENCE_SECONDS}
        assert hosts.tell("SITE_NEW", site)["errorCode"] == 0
        # Whoever still has the home page to crawl would be passed over, and rightly so.
        idle = [BatchState.FINISHED]
        wait_for(lambda: are_all(hosts, idle), "all home pages to be crawled", 240)
        parent = url_md5(paper.url("/"))
        found = [{"siteId": site_id, "url": url, "parentMd5": parent} for url in urls]
        assert hosts.services[0].tell("URL_NEW", found)["errorCode"] == 0
        at_work = [BatchState.FINISHED, BatchState.OPEN]
        wait_for(lambda: are_all(hosts, at_work), "a batch for each", PATIENCE_SECONDS / 2)
        all_have_work.set()
        wait_for(lambda: is_all_known(hosts, site_id, urls), "all pages on all hosts", 240)
        assert asked(paper) == dict.fromkeys(urls, 1)
        known = hosts.rows(site_id, urls)
        shares = [sum(row["crawled"] for row in rows.values()) for rows in known]
        assert shares == [BATCH] * 3


def are_all(hosts: Hosts, states: list[BatchState]) -> bool:
    """Whether the batches of each host are in these states, the oldest first."""
    return all(batches_of(service) == states for service in hosts.services)


def batches_of(service: Service) -> list[int]:
    with closing(sqlite3.connect(f"file:{service.data / 'catalog.db'}?mode=ro", uri=True)) as base:
        return [state for (state,) in base.execute("SELECT state FROM batch ORDER BY batch_id")]


@pytest.mark.req("S3.20")
def test_a_host_that_is_killed_loses_nothing_and_repeats_only_what_was_in_flight(
    tmp_path: Path, paper: Press
) -> None:
    urls = publish(paper, 12, 6)
    site_id = site_id_of(paper.url("/"))
    with together(tmp_path) as hosts:
        assert hosts.tell("SITE_NEW", site_of(paper))["errorCode"] == 0
        wait_for(lambda: len(asked(paper)) >= 15, "some pages", 240)
        victim = hosts.services[1]
        assert victim.process is not None
        victim.process.send_signal(signal.SIGKILL)
        victim.process.wait()
        time.sleep(1.0)
        victim.start()
        wait_for(lambda: is_all_known(hosts, site_id, urls), "all pages on all hosts", 240)
        counts = asked(paper)
        assert counts.keys() == set(urls)
        # What the victim was fetching: of two batches of its own at most.
        assert sum(counts.values()) - len(urls) <= 16, counts
