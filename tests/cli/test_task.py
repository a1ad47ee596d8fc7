"""`gossamer task`: filters that read JSON from standard input and write JSON to standard output."""

import base64
import io
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.objects.coding import decode, encode
from gossamer.objects.enumerations import CrawlStatus, Operation
from gossamer.objects.error_mask import ErrorBit
from gossamer.service.catalog_operations import open_operations
from gossamer.service.settings import ApplicationSettings, ServiceSettings

ROOT = "http://a.example/"
PAGE = "http://a.example/page"
BODY = (
    "<html><head><title>Storks return</title></head><body><article><h1>Storks return</h1>"
    + "<p>The storks were seen again above the river, and people came out to look at them.</p>" * 8
    + "</article></body></html>"
)
READY = {
    "status": 4,
    "crawled": 1,
    "size": len(BODY),
    "httpCode": 200,
    "contentType": "text/html",
    "charset": "utf-8",
}


Answer = tuple[int, Any, str]
Task = Callable[..., Answer]


@pytest.fixture
def task(run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> Task:
    """Run a filter in this process; give its exit code, its answer and its complaints."""

    def run_task(name: str, data: object, *words: object) -> Answer:
        given = data if isinstance(data, bytes) else json.dumps(data).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code, out, complaints = run("task", name, *words)
        return code, json.loads(out) if out else None, complaints

    return run_task


def do(place: Path, operation: Operation, payload: object) -> Any:
    """Carry out an operation, as somebody else."""
    application = ApplicationSettings(data_dir=str(place))
    operations = open_operations(ServiceSettings(application=application))
    try:
        answer = operations.execute(operation, decode(operation, payload))
    finally:
        operations.close()
    return json.loads(encode(answer))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with a site that has one crawled page."""
    folder = tmp_path / "w"
    do(folder, Operation.SITE_NEW, {"urls": [ROOT]})
    (site,) = do(folder, Operation.SITE_FIND, {"url": ROOT})
    identity = site["id"]
    page = {"url": PAGE, "siteId": identity, "parentMd5": "ab" * 16, **READY}
    assert do(folder, Operation.URL_NEW, [page])["statuses"] == [0]
    (url,) = do(folder, Operation.URL_STATUS, {"url": PAGE, "siteId": identity})
    put = {
        "siteId": identity,
        "urlMd5": url["urlMd5"],
        "putDict": {"data": base64.b64encode(BODY.encode()).decode()},
    }
    assert do(folder, Operation.URL_PUT, [put])["statuses"] == [True]
    return folder


def status_of(place: Path, url: str) -> dict[str, Any]:
    (site,) = do(place, Operation.SITE_FIND, {"url": ROOT})
    (found,) = do(place, Operation.URL_STATUS, [{"url": url, "siteId": site["id"]}])
    assert isinstance(found, dict)
    return found


@pytest.mark.req("S3.97", "S3.108")
def test_a_batch_goes_in_and_comes_out_processed(task: Task, place: Path) -> None:
    url = status_of(place, PAGE)
    order = {"id": 7, "items": [{"siteId": url["siteId"], "urlId": url["urlMd5"]}]}
    code, batch, complaints = task("process", order, "--dir", place)
    assert (code, complaints) == (0, "")
    assert batch["id"] == 7
    (item,) = batch["items"]
    assert item["urlObj"]["status"] == CrawlStatus.PROCESSED
    assert status_of(place, PAGE)["status"] == CrawlStatus.PROCESSED
    request = {"siteId": url["siteId"], "url": PAGE, "contentTypeMask": 1}
    (answer,) = do(place, Operation.URL_CONTENT, [request])
    (content,) = answer["processedContents"]
    made = json.loads(base64.b64decode(content["buffer"]))
    assert made[0]["title"] == "Storks return"


@pytest.mark.req("S3.22")
def test_the_answer_of_url_fetch_can_be_processed_as_it_is(task: Task, place: Path) -> None:
    fetch = {"urlsCriterions": {"WHERE": "Status = 4"}, "urlUpdate": {"status": 5}}
    urls = do(place, Operation.URL_FETCH, [fetch])
    assert [url["status"] for url in urls] == [CrawlStatus.SELECTED_PROCESSING]
    code, batch, _ = task("process", urls, "--dir", place)
    assert code == 0
    assert [item["urlObj"]["status"] for item in batch["items"]] == [CrawlStatus.PROCESSED]


def test_what_fails_is_told_in_the_batch_and_in_words(task: Task, place: Path) -> None:
    url = status_of(place, PAGE)
    update = {"siteId": url["siteId"], "urlMd5": url["urlMd5"], "contentType": "image/png"}
    do(place, Operation.URL_UPDATE, [update])
    order = {"items": [{"siteId": url["siteId"], "urlId": url["urlMd5"]}]}
    code, batch, _ = task("process", order, "--dir", place)
    assert (code, batch["errorMask"]) == (0, 1 << ErrorBit.UNSUPPORTED_CONTENT_TYPE)
    properties = {"PROCESS_CTYPES": "image/png", "PROCESSOR_NAME": "UNKNOWN"}
    order["items"][0]["properties"] = properties
    code, batch, complaints = task("process", order, "--dir", place)
    assert code == 0
    assert batch["errorMask"] >> ErrorBit.SCRAPER & 1
    assert "UNKNOWN" in complaints


@pytest.mark.req("S3.111")
@pytest.mark.parametrize("code", [int(Operation.SITE_NEW), "SITE_NEW"])
def test_an_operation_goes_in_and_its_answer_comes_out(
    task: Task, tmp_path: Path, code: int | str
) -> None:
    made = task("db", [code, {"urls": [ROOT]}], "--dir", tmp_path / "w")
    assert made == (0, {"errorCode": 0, "errorMessage": "", "statuses": [0]}, "")
    (site,) = do(tmp_path / "w", Operation.SITE_FIND, {"url": ROOT})
    assert site["urls"] == [ROOT]
    again = task("db", [code, {"urls": [ROOT]}], "--dir", tmp_path / "w")
    assert again[0] == 0, "an operation that fails has an answer that says so"
    assert again[1]["errorCode"] == 2020


@pytest.mark.req("S3.108", "S3.111")
def test_the_filters_work_in_a_pipe(place: Path) -> None:
    program = f"{shlex.quote(sys.executable)} -m gossamer.cli task"
    fetch = '[10, {"urlsCriterions": {"WHERE": "Status = 4"}, "urlUpdate": {"status": 5}}]'
    where = f"--dir {shlex.quote(str(place))}"
    line = f"{program} db {where} | {program} process {where}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        input=fetch.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    statuses = [item["urlObj"]["status"] for item in json.loads(done.stdout)["items"]]
    assert statuses == [CrawlStatus.PROCESSED]


@pytest.mark.req("S3.108")
@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"items": 3}', b"\xff", b"[" * 100_000])
def test_what_is_no_batch_is_a_critical_error(task: Task, tmp_path: Path, data: bytes) -> None:
    code, answer, complaints = task("process", data, "--dir", tmp_path)
    assert (code, answer) == (1, None)
    assert complaints.startswith("gossamer: ")
    assert complaints.count("\n") == 1


@pytest.mark.req("S3.111")
@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[1]", b"[99, {}]", b'["NO_SUCH", {}]', b"[true, {}]", b'[6, [{"url": 3}]]',
     b'[17, {"items": []}]', b"[3, {}, {}]"],
)  # fmt: skip
def test_what_is_no_operation_is_a_critical_error(task: Task, tmp_path: Path, data: bytes) -> None:
    code, answer, complaints = task("db", data, "--dir", tmp_path)
    assert (code, answer) == (1, None)
    assert complaints.startswith("gossamer: ")
    assert complaints.count("\n") == 1


def test_a_configuration_says_where_the_data_are(task: Task, place: Path, tmp_path: Path) -> None:
    config = tmp_path / "dc-daemon.ini"
    config.write_text("[Application]\ndata_dir = w\n")
    code, answer, _ = task("db", [3, {"id": "0"}], "--config", config)
    assert (code, answer["id"]) == (0, "0")
    code, _, complaints = task("db", [3, {"id": "0"}], "--config", tmp_path / "missing.ini")
    assert code == 1
    assert "missing.ini" in complaints
    url = status_of(place, PAGE)
    order = {"items": [{"siteId": url["siteId"], "urlId": url["urlMd5"]}]}
    assert task("process", order, "--config", config)[0] == 0


def test_there_is_nothing_to_process_without_a_workspace(task: Task, tmp_path: Path) -> None:
    code, _, complaints = task("process", {"items": []}, "--dir", tmp_path / "missing")
    assert code == 1
    assert "no workspace" in complaints
    assert "| gossamer task db --dir" in complaints
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("words", [(), ("--dir", "w", "--config", "c.ini")])
def test_one_place_must_be_named(task: Task, words: tuple[str, ...]) -> None:
    code, _, complaints = task("db", [3, {"id": "0"}], *words)
    assert code == 2
    assert "--dir" in complaints


@pytest.mark.req("S3.111")
@pytest.mark.parametrize("name", ["crawl", "process", "db"])
def test_a_folder_that_cannot_be_made_is_a_critical_error(
    task: Task, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    data = [3, {"id": "0"}] if name == "db" else {"items": []}
    code, answer, complaints = task(name, data, "--dir", tmp_path / "file" / "below")
    assert (code, answer) == (1, None)
    assert "file/below" in complaints
    assert "internal error" not in complaints
