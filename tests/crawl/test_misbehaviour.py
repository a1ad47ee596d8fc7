"""Every way a server can misbehave, in one crawl: each URL ends, and ends in its own class."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from harness import RunGossamer, pages_in, read_jsonl

from gossamer.fakeweb import judge
from gossamer.fakeweb.oddities import table
from gossamer.fakeweb.process import FakeWeb
from gossamer.outcomes import RULES, outcome_named, rule_of

# What takes for ever, with the deadline that ends it: all others keep theirs, so that on a busy
# machine none of them can pass first.
LATE = {
    "hang": "spider.timeout_first_byte_ms=700",
    "hang-in-headers": "spider.timeout_first_byte_ms=700",
    "hang-in-body": "spider.timeout_request_ms=2500",
    "slow-headers": "spider.min_rate_seconds=2",
    "slow-body": "spider.min_rate_seconds=2",
}
HURRY = (
    *("--set", "urlserver.retry_soon_seconds=0.02"),
    *("--set", "urlserver.retry_back_off_seconds=0.02"),
    *("--set", "urlserver.max_back_off_seconds=0.05"),
)
FAST = ("--delay", "0", "--per-host", "8", "--workers", "1", "--quiet")

Rows = dict[str, dict[str, object]]


def run(workspace: Path, *arguments: str) -> None:
    argv = [sys.executable, "-m", "gossamer.cli", "crawl", "--dir", str(workspace), *arguments]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, (result.returncode, result.stderr)


def rows_of(gossamer: RunGossamer, workspace: Path) -> Rows:
    rows = read_jsonl(gossamer("export", "--dir", workspace, "--format", "jsonl").stdout)
    return {str(row["url"]): row for row in rows}


def end_of(url: str, rows: Rows) -> dict[str, object]:
    """Return the row at which the redirects from a URL end."""
    seen = [url]
    while (target := str(rows[seen[-1]]["redirect_to"])) in rows and target not in seen:
        seen.append(target)
    return rows[seen[-1]]


def assert_is_final(url: str, rows: Rows, asked: Counter[str]) -> None:
    """Its state is that of its class, and it was tried no more often than that says."""
    rule = RULES[outcome_named(str(rows[url]["outcome"]))]
    assert rows[url]["state"] == rule.final.name.lower(), url
    # A kept connection closed without an answer is replaced by a fresh one, in the same try.
    assert asked[url] <= 2 * rule.tries, f"{url} was asked for again and again"


@pytest.mark.slow
@pytest.mark.req("S0.6", "S0.10", "S0.12", "S0.24", "S0.27", "S0.28", "S0.29")
def test_each_misbehaviour_ends_in_the_class_it_should(tmp_path: Path, gossamer: RunGossamer):
    """Traps are left out here: their class is that of the whole, not of the first page."""
    expected = {path: outcome for path, _, outcome in table()}
    left_out = re.compile(f"/~/(trap/|{'|'.join(LATE)})")
    with FakeWeb(pages=3, hosts=1, seed=3) as web:
        run(tmp_path / "w", web.oddities, "--scope", "any", *FAST, *HURRY,
            "--exclude", left_out.pattern)  # fmt: skip
        rows = rows_of(gossamer, tmp_path / "w")
        asked = pages_in(web.log())
    site = web.oddities.removesuffix("/~/")
    wrong = {}
    for path, outcome in expected.items():
        if left_out.match(path):
            assert rows[site + path]["outcome"] == "policy.scope"
            continue
        found = end_of(site + path, rows)["outcome"]
        if found != outcome:
            wrong[path] = (outcome, found, rows[site + path]["detail"])
    assert wrong == {}
    assert len(expected) > 90
    assert asked[f"{site}/~/cookie"] == asked[f"{site}/~/cookie-loop"] == 2

    outcomes = {str(row["outcome"]) for row in rows.values()}
    assert "internal" not in outcomes
    for url in rows:
        assert_is_final(url, rows, asked)


@pytest.mark.slow
@pytest.mark.parametrize("name", LATE)
@pytest.mark.req("S0.6", "S0.23")
def test_what_takes_for_ever_ends_by_the_deadline_that_is_meant_for_it(
    tmp_path: Path, gossamer: RunGossamer, name: str
):
    expected = {path: outcome for path, _, outcome in table()}
    with FakeWeb(pages=3, hosts=1, seed=3) as web:
        url = web.oddities + name
        # Its robots.txt is not asked for: that deadline would hold for it as well.
        alone = ("--set", 'urlserver.robots_ignore={"127.0.0.1" = "a test"}')
        run(tmp_path / "w", url, *FAST, *HURRY, *alone, "--set", LATE[name])
        rows = rows_of(gossamer, tmp_path / "w")
        asked = pages_in(web.log())
        assert {request.url for request in web.log().requests} == {url}
    assert rows[url]["outcome"] == expected[f"/~/{name}"], rows[url]["detail"]
    assert asked[url] > 1
    assert_is_final(url, rows, asked)


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.req("S0.29")
def test_a_page_that_waits_for_its_cookie_is_asked_politely(
    tmp_path: Path, gossamer: RunGossamer, workers: str
):
    """H76: once more, after the host's delay like any request, and with no cookie ever after."""
    with FakeWeb(pages=3, hosts=1, seed=3) as web:
        urls = [web.oddities + "cookie", web.oddities + "cookie-loop"]
        run(tmp_path / "w", *urls, "--delay", "0.3", "--per-host", "4", "--workers", workers,
            "--quiet", *HURRY)  # fmt: skip
        rows = rows_of(gossamer, tmp_path / "w")
        log = web.log()
    assert [rows[url]["outcome"] for url in urls] == ["ok", "redir.loop"]
    assert pages_in(log) == dict.fromkeys(urls, 2)
    # By arrival: a server that is busy sees a request later than it came.
    assert judge.gap_violations(log, 0.3, by="address") == []


def class_of_status(status: int) -> str:
    """Return the class of a status that comes with a body and without further headers."""
    # Nobody asked for a part, nor named a copy of his own.
    special = {206: "proto.framing", 304: "proto.status", 429: "http.429"}
    if status in special:
        return special[status]
    if status in (301, 302, 303, 305, 306, 307, 308):
        return "redir.none"
    # Other 3xx are choices or unknown, and the document that came with them is what there is.
    return "ok" if status < 400 else f"http.{status // 100}xx"


@pytest.mark.req("S0.25", "S0.26")
def test_every_status_has_a_class_and_is_tried_as_often_as_its_class_says(
    tmp_path: Path, gossamer: RunGossamer
):
    statuses = range(200, 600)
    hurry = (
        *("--set", "urlserver.retry_soon_seconds=0"),
        *("--set", "urlserver.retry_back_off_seconds=0"),
        *("--set", "urlserver.max_back_off_seconds=0"),
    )
    with FakeWeb(pages=3, hosts=1, seed=3) as web:
        urls = {status: f"{web.oddities}status/{status}" for status in statuses}
        run(tmp_path / "w", *urls.values(), *FAST, *hurry, "--max-depth", "0")
        rows = rows_of(gossamer, tmp_path / "w")
        asked = pages_in(web.log())
    found = {
        status: (rows[url]["status"], rows[url]["outcome"], rows[url]["state"], asked[url])
        for status, url in urls.items()
    }
    expected = {}
    for status in statuses:
        rule = rule_of(outcome_named(class_of_status(status)), status)
        expected[status] = (status, class_of_status(status), rule.final.name.lower(), rule.tries)
    assert found == expected
    # What these say is about the moment or the connection.
    assert {status for status in range(400, 429) if found[status][3] == 3} == {408, 421, 425}
