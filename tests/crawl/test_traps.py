"""Honest sites beside endless traps: all of the one, little of the other, and reasons given."""

import json
from collections import Counter
from pathlib import Path

import pytest
from harness import RunGossamer, crawl, read_jsonl

from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.process import FakeWeb
from gossamer.fakeweb.traps import TRAPS

FAST = ("--delay", "0", "--per-host", "8", "--quiet")
HOSTS = 2
HONEST_PAGES = 1_200
NUMBERED, DATES, COMBINATIONS, SESSIONS, SEGMENTS = 700, 200, 100, 8, 12
"""The budgets; the honest pages of one host, which share a shape too, fit into the first."""
BUDGETS = (
    *("--set", f"url.max_pattern_urls={NUMBERED}"),
    *("--set", f"url.max_calendar_urls={DATES}"),
    *("--set", f"url.max_query_variants={COMBINATIONS}"),
    *("--set", f"url.max_session_variants={SESSIONS}"),
    *("--set", f"url.max_path_segments={SEGMENTS}"),
)
# What one host may be asked of each trap.
MOST_REQUESTS = {
    # Few of its random words are digits only and count apart.
    "maze": NUMBERED * 5 // 4,
    "calendar": DATES + 1,
    "facets": COMBINATIONS + 1,
    # Each of its three links on a page has a budget of its own.
    "session": 3 * SESSIONS + 1,
    # Two folders in each folder, as deep as a path may be: /~/trap/deep/ and nine more.
    "deep": 2 ** (SEGMENTS - 2),
    "repeat": 100,
    "growing": 20,
}
QUARANTINED = {
    "maze": "numbered",
    "calendar": "calendar-like",
    "facets": "query combinations",
    "session": "session ids",
}


def trap_counts(log: Log) -> Counter[tuple[str, str]]:
    """Return how many requests each host got into each trap."""
    names = (
        (request.host, request.target.removeprefix("/~/trap/").partition("/")[0].partition("?")[0])
        for request in judge.trap_requests(log)
    )
    return Counter(name for name in names if name[1])


@pytest.mark.slow
def test_every_honest_page_is_fetched_and_the_traps_are_left(tmp_path: Path, gossamer: RunGossamer):
    workspace = tmp_path / "w"
    with FakeWeb(
        pages=HONEST_PAGES, hosts=HOSTS, seed=3, traps=True, page_bytes=600, links_per_page=8
    ) as web:
        crawl(web, workspace, *FAST, *BUDGETS)
        log, truth = web.log(), web.truth()
        crawl(web, workspace, *FAST, *BUDGETS)
        assert len(web.log().requests) == len(log.requests), "a restart gives traps a new budget"
    assert judge.missing(log, truth) == set()
    again = judge.refetches(log)
    assert not again, [request for request in log.requests if request.url in again]
    requests = trap_counts(log)
    assert {name for _, name in requests} == set(TRAPS)
    for (host, name), count in requests.items():
        assert count <= MOST_REQUESTS[name], (host, name)
    assert_reasons_are_shown(gossamer, workspace)


def assert_reasons_are_shown(gossamer: RunGossamer, workspace: Path) -> None:
    status = json.loads(gossamer("status", "--dir", workspace, "--json").stdout)
    reasons = [(trap["pattern"], trap["reason"]) for trap in status["quarantined"]]
    text = " ".join(gossamer("status", "--dir", workspace).stdout.split())
    assert "In quarantine as traps" in text
    for name, growth in QUARANTINED.items():
        mine = [reason for pattern, reason in reasons if f"/trap/{name}" in pattern]
        assert len(mine) >= HOSTS
        assert all(reason.startswith(f"{growth}: more than") for reason in mine)
        assert f"{growth}: more than" in text
    assert all("/~/trap/" in pattern for pattern, _ in reasons), "an honest shape is in quarantine"
    rows = read_jsonl(gossamer("export", "--dir", workspace, "--format", "jsonl").stdout)
    trapped = [row for row in rows if row["outcome"] == "policy.trap"]
    assert {row["state"] for row in trapped} == {"excluded"}
    assert all("/~/trap/" in str(row["url"]) for row in trapped)
    assert status["outcomes"]["policy.trap"] == len(trapped)


@pytest.mark.slow
def test_honest_pages_come_first_whatever_the_traps_cost(tmp_path: Path):
    """With the budgets as they are shipped, the honest pages are not kept waiting by the traps."""
    limit = 5 * HONEST_PAGES
    with FakeWeb(
        pages=HONEST_PAGES, hosts=HOSTS, seed=3, traps=True, page_bytes=600, links_per_page=8
    ) as web:
        crawl(web, tmp_path / "w", *FAST, "--max-pages", str(limit))
        log, truth = web.log(), web.truth()
    assert len(judge.trap_requests(log)) > limit // 2, "the traps were not there"
    assert judge.missing(log, truth) == set()
