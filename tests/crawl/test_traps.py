"""Honest sites beside endless traps: all of the one, little of the other, and reasons given."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from harness import RunGossamer, crawl, read_jsonl

from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.process import FakeWeb
from gossamer.fakeweb.traps import TRAPS

FAST = ("--delay", "0", "--per-host", "8", "--quiet")
SMALL = {"page_bytes": 600, "links_per_page": 8, "seed": 3}
HONEST_PAGES = 24_000
MOST_SHARE = 0.05
# Those that end because their pages say nothing new; the others have a rule of their own.
FRUITLESS = {"maze", "echo", "spoken", "pager", "calendar", "months", "facets", "deep"}
MOST_REQUESTS = {
    **dict.fromkeys(FRUITLESS, 250),
    # Each of its three links on a page has a budget of its own.
    "session": 3 * 8 + 1,
    "repeat": 100,
    "growing": 20,
}


def name_of_trap(target: str) -> str:
    return target.removeprefix("/~/trap/").partition("/")[0].partition("?")[0]


def trap_counts(log: Log) -> Counter[tuple[str, str]]:
    """Return how many requests each host got into each trap."""
    names = ((request.host, name_of_trap(request.target)) for request in judge.trap_requests(log))
    return Counter(name for name in names if name[1])


@pytest.mark.slow
def test_every_honest_page_is_fetched_and_the_traps_are_left(tmp_path: Path, gossamer: RunGossamer):
    """With the settings as they are shipped, at most one request in twenty goes into a trap."""
    workspace = tmp_path / "w"
    with FakeWeb(pages=HONEST_PAGES, hosts=1, traps=True, **SMALL) as web:
        crawl(web, workspace, *FAST, timeout=600)
        log, truth = web.log(), web.truth()
        crawl(web, workspace, *FAST)
        assert len(web.log().requests) == len(log.requests), "a restart gives traps a new budget"
    assert judge.missing(log, truth) == set()
    again = judge.refetches(log)
    assert not again, [request for request in log.requests if request.url in again]
    requests = trap_counts(log)
    assert {name for _, name in requests} == set(TRAPS)
    assert {
        name: count for (_, name), count in requests.items() if count > MOST_REQUESTS[name]
    } == {}
    assert requests.total() / len(log.requests) <= MOST_SHARE
    assert_honest_pages_came_first(log)
    assert_reasons_are_shown(gossamer, workspace)


def assert_honest_pages_came_first(log: Log) -> None:
    """Traps get their share when little else is left: a crawl that is stopped has lost little."""
    is_trap = [request.target.startswith("/~/trap/") for request in log.requests]
    honest = [place for place, trap in enumerate(is_trap) if not trap]
    nearly_all = honest[len(honest) * 95 // 100]
    assert sum(is_trap[:nearly_all]) < 0.02 * nearly_all


def assert_reasons_are_shown(gossamer: RunGossamer, workspace: Path) -> None:
    status = json.loads(gossamer("status", "--dir", workspace, "--json").stdout)
    closed = {(trap["pattern"], trap["reason"]) for trap in status["quarantined"]}
    for name in FRUITLESS:
        assert any(
            f"/trap/{name}" in pattern and reason.startswith("nothing new: more than 100 pages")
            for pattern, reason in closed
        ), name
    assert all("/~/trap/" in pattern for pattern, _ in closed), "an honest shape is in quarantine"
    text = " ".join(gossamer("status", "--dir", workspace).stdout.split())
    assert "In quarantine as traps" in text
    assert "nothing new: more than 100 pages" in text
    rows = read_jsonl(gossamer("export", "--dir", workspace, "--format", "jsonl").stdout)
    trapped = [row for row in rows if row["outcome"] == "policy.trap"]
    assert {row["state"] for row in trapped} == {"excluded"}
    assert all("/~/trap/" in str(row["url"]) and row["detail"] for row in trapped)
    assert status["outcomes"]["policy.trap"] == len(trapped)


@pytest.mark.slow
def test_budgets_of_shapes_are_kept(tmp_path: Path, gossamer: RunGossamer):
    dates, combinations, sessions = 60, 60, 4
    budgets = (
        *("--set", f"url.max_calendar_urls={dates}"),
        *("--set", f"url.max_query_variants={combinations}"),
        *("--set", f"url.max_session_variants={sessions}"),
    )
    workspace = tmp_path / "w"
    with FakeWeb(pages=400, hosts=2, traps=True, **SMALL) as web:
        crawl(web, workspace, *FAST, *budgets)
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    requests = trap_counts(log)
    for host in {host for host, _ in requests}:
        assert requests[host, "calendar"] <= dates + 1
        assert requests[host, "facets"] <= combinations + 1
        assert requests[host, "session"] <= 3 * sessions + 1
    status = json.loads(gossamer("status", "--dir", workspace, "--json").stdout)
    reasons = Counter(trap["reason"].partition(":")[0] for trap in status["quarantined"])
    assert {"calendar-like", "query combinations", "session ids", "nothing new"} <= set(reasons)


@pytest.mark.slow
def test_names_that_somebody_made_up_end_at_a_number_of_hosts(
    tmp_path: Path, gossamer: RunGossamer
):
    """One domain with a name for everything cannot make a crawl go on for ever."""
    workspace = tmp_path / "w"
    most = 12
    with FakeWeb(pages=120, hosts=40, names=True, addresses=2, **SMALL) as web:
        command = [sys.executable, "-m", "gossamer.cli", "crawl", web.start_urls[0]]
        command += ["--dir", str(workspace), "--scope", "any", "--allow-private", *FAST]
        command += ["--set", f'urlserver.dns_servers=["{web.dns}"]']
        command += ["--set", f"url.max_domain_hosts={most}"]
        subprocess.run(command, check=True, timeout=120)
        log = web.log()
    # The host of the start URL was named by a person, and is not counted.
    assert len({request.host for request in log.requests}) <= most + 1
    status = json.loads(gossamer("status", "--dir", workspace, "--json").stdout)
    (trap,) = status["quarantined"]
    assert trap["host"] == "fake.test"
    assert trap["reason"] == f"wildcard names: more than {most} hosts of fake.test"
    rows = read_jsonl(gossamer("export", "--dir", workspace, "--format", "jsonl").stdout)
    trapped = [row for row in rows if row["outcome"] == "policy.trap"]
    assert {row["detail"] for row in trapped} == {trap["reason"]}
