"""The service as people run it: a site is handed over, crawled, processed and asked for."""

import json
import random
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service_rig import Daemon, item_of, wait_for

from gossamer.objects.normal import site_id_of, url_md5
from press import Press, press

REAL = {
    "operations": "gossamer.service.catalog_operations:open_operations",
    "periodics": "gossamer.service.periodics:open_periodics",
    "batches": "gossamer.service.realtime:open_batches",
}
QUICK = {
    "Application": REAL,
    "Fetch": {"allow_private": "1"},
    "Crawling": {
        "period_seconds": "0.1",
        "batch_size": "50",
        "check_period_seconds": "0.5",
        "batch_kill_seconds": "30",
    },
    "Processing": {"period_seconds": "0.2", "batch_size": "50"},
    "Purge": {"period_seconds": "0.5"},
    "Guard": {"max_cpu_percent": "100", "max_io_wait_percent": "100"},
    "RealTime": {"threads": "1"},
}


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


def publish(paper: Press, count: int) -> list[str]:
    """Serve a home page and so many stories; return all their URLs."""
    links = "".join(f"<a href=/story/{number}>{number}</a>" for number in range(count))
    body = f"<html><title>Home</title><p>Welcome.</p>{links}".encode()
    paper.routes["/"] = (200, {"Content-Type": "text/html; charset=utf-8"}, body)
    for number in range(count):
        paper.story(f"/story/{number}", f"Story number {number} of the day")
    return [paper.url("/"), *(paper.url(f"/story/{number}") for number in range(count))]


def site_of(paper: Press) -> dict[str, Any]:
    """Return a site as a client hands it over."""
    pattern = f"^{paper.root}/"
    return {
        "urls": [paper.url("/")],
        "requestDelay": 0,
        "filters": [{"pattern": pattern, "type": 1, "stage": 5}],
    }


class Service(Daemon):
    """A daemon with all its real parts."""

    def __init__(self, folder: Path, **changes: dict[str, str]) -> None:
        super().__init__(folder, **{**QUICK, **changes})

    def tell(self, command: str, data: Any) -> Any:
        return item_of(self.call(command, data))

    def site(self, site_id: str) -> dict[str, Any]:
        status: dict[str, Any] = self.tell("SITE_STATUS", {"id": site_id})
        return status


@pytest.mark.req("S3.14", "S3.16", "S3.41", "S3.43")
@pytest.mark.parametrize("storage", ["0", "1", "2"], ids=["key-value", "table", "warc"])
def test_a_site_that_is_handed_over_is_crawled_processed_and_answered_for(
    tmp_path: Path, paper: Press, storage: str
) -> None:
    urls = publish(paper, 12)
    site_id = site_id_of(paper.url("/"))
    with Service(tmp_path / "d", Storage={"content_storage_type": storage}) as service:
        assert service.tell("SITE_NEW", site_of(paper))["errorCode"] == 0
        wait_for(lambda: service.site(site_id)["contents"] == 12, "all stories to be processed")
        status = service.site(site_id)
        assert (status["resources"], status["newURLs"], status["errors"]) == (13, 0, 0)
        asked = Counter(request.path for request in paper.log if request.path != "/robots.txt")
        assert asked == Counter(url.removeprefix(paper.root) for url in urls)
        md5 = url_md5(urls[3])
        (content,) = service.tell(
            "URL_CONTENT", [{"siteId": site_id, "urlMd5": md5, "contentTypeMask": 3}]
        )
        (raw,) = content["rawContents"]
        assert b"Story number 2 of the day" in b64decode(raw["buffer"])
        (processed,) = content["processedContents"]
        assert b"Story number 2 of the day" in b64decode(processed["buffer"])
        assert service.terminate() == 0


@pytest.mark.req("S3.8", "S3.13")
def test_a_real_time_batch_is_answered_with_its_contents(tmp_path: Path, paper: Press) -> None:
    urls = publish(paper, 3)
    site_id = site_id_of(paper.url("/"))
    with Service(tmp_path / "d", Crawling={**QUICK["Crawling"], "period_seconds": "0"}) as service:
        service.tell("SITE_NEW", site_of(paper))
        items = [
            {"siteId": site_id, "urlId": url_md5(url), "urlObj": {"siteId": site_id, "url": url}}
            for url in urls[1:3]
        ]
        contents = service.tell("BATCH", {"crawlerType": 4, "items": items})
        assert [each["urlMd5"] for each in contents] == [url_md5(url) for url in urls[1:3]]
        for number, each in enumerate(contents):
            text = b64decode(each["rawContents"][0]["buffer"])
            assert f"Story number {number} of the day".encode() in text
        assert paper.asked("/story/2") == 0


@pytest.mark.req("S3.44", "S3.45", "S3.46", "S3.70")
def test_the_crawler_is_a_filter(tmp_path: Path, paper: Press) -> None:
    urls = publish(paper, 2)
    paper.routes["/story/1"] = (404, {}, b"")
    site_id = site_id_of(paper.url("/"))

    def task(name: str, data: Any, *flags: str, code: int = 0) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "gossamer.cli", "task", name, "--dir", "w", *flags],
            input=json.dumps(data),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if done.stdout else done.stderr

    assert task("db", ["SITE_NEW", site_of(paper)])["errorCode"] == 0
    items = [
        {"siteId": site_id, "urlId": url_md5(url), "urlObj": {"siteId": site_id, "url": url}}
        for url in urls
    ]
    batch = task("crawl", {"items": items}, "--allow-private")
    assert [item["urlId"] for item in batch["items"]] == [url_md5(url) for url in urls[:2]]
    known = task("db", ["URL_STATUS", [{"siteId": site_id, "url": url} for url in urls]])
    assert [url["status"] for url in known] == [4, 4, 4]
    assert [url["httpCode"] for url in known] == [200, 200, 404]
    assert "Batch" in task("crawl", "nonsense", code=1)


@pytest.mark.slow
def test_a_hundred_kills_of_the_daemon_lose_no_site_and_no_url(
    tmp_path: Path, paper: Press
) -> None:
    """Kill it while it crawls, processes, cleans up and purges; what was answered for holds."""
    chance = random.Random(11)
    stories = publish(paper, 40)
    site_id = site_id_of(paper.url("/"))
    service = Service(tmp_path / "d")
    added: set[str] = set()
    for number in range(100):
        service.start()
        if number == 0:
            assert service.tell("SITE_NEW", site_of(paper))["errorCode"] == 0
        if number % 20 == 19:
            # URLs that a client adds have no parent: they are roots, and stay.
            assert service.tell("SITE_CLEANUP", {"id": site_id})["errorCode"] == 0
        extra = paper.url(f"/extra/{number}")
        paper.story(f"/extra/{number}", f"Extra {number}")
        told = service.tell("URL_NEW", [{"siteId": site_id, "url": extra}])
        assert told["statuses"] == [0]
        added.add(extra)
        time.sleep(chance.uniform(0.0, 0.3))
        assert service.process is not None
        service.process.send_signal(signal.SIGKILL)
        service.process.wait()
    wanted = {*stories, *added}
    with service:

        def is_crawled() -> bool:
            status = service.site(site_id)
            return bool(status["newURLs"] == 0 and status["resources"] == len(wanted))

        wait_for(is_crawled, "everything to be crawled")
        rows = service.tell("URL_STATUS", [{"siteId": site_id, "url": url} for url in wanted])
        assert {row["url"] for row in rows if row["crawled"] > 0} == wanted
        assert service.terminate() == 0
