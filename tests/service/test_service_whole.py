"""The service as people run it: a site is handed over, crawled, processed and asked for."""

import json
import sqlite3
import subprocess
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from service_rig import Daemon, item_of, wait_for

from gossamer.objects.normal import site_id_of, url_md5
from gossamer.service.settings import ServiceSettings
from press import Press, press

REAL = {
    "operations": "gossamer.service.catalog_operations:open_operations",
    "periodics": ServiceSettings().application.periodics,
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
        "processingDelay": 0,
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


@pytest.mark.req("S3.5", "S3.104", "S3.105")
@pytest.mark.parametrize("storage", ["0", "2"], ids=["key-value", "warc"])
def test_the_key_value_file_of_a_site_is_a_database_that_sqlite_reads(
    tmp_path: Path, paper: Press, storage: str
) -> None:
    """What the service writes for a crawled page is there for anybody who has SQLite."""
    publish(paper, 1)
    site_id, md5 = site_id_of(paper.url("/")), url_md5(paper.url("/story/0"))
    begun = datetime.now(UTC).replace(microsecond=0, tzinfo=None)
    with Service(tmp_path / "d", Storage={"content_storage_type": storage}) as service:
        service.tell("SITE_NEW", site_of(paper))
        wait_for(lambda: service.site(site_id)["contents"] == 1, "the story to be processed")
        # As it is, while the service runs: nothing is left to be written.
        file = service.data / "db" / f"{site_id}.db"
        assert file.read_bytes().startswith(b"SQLite format 3\0")
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            columns = {row[1]: row for row in database.execute("PRAGMA table_info(articles)")}
            kinds = {name: (row[2].lower(), row[5]) for name, row in columns.items()}
            indexed = {
                column[2]
                for index in database.execute("PRAGMA index_list(articles)").fetchall()
                for column in database.execute(f"PRAGMA index_info('{index[1]}')")
            }
            query = "SELECT data, CDate FROM articles WHERE id = ?"
            ((data, date),) = database.execute(query, (md5,)).fetchall()
        assert service.terminate() == 0
    assert kinds == {
        "id": ("varchar(32)", 1),
        "data": ("text", 0),
        "CDate": ("datetime", 0),
    }
    assert indexed == {"id", "CDate"}
    assert json.loads(data)["default"][0]["title"] == "Story number 0 of the day"
    assert begun <= datetime.fromisoformat(date) <= datetime.now(UTC).replace(tzinfo=None)


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
