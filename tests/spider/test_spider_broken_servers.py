"""The fault matrix against a server that really misbehaves."""

import time
from collections.abc import Iterator

import pytest
from misbehaviours import CASES, Case
from rawserver import RawServer, page

from conftest import QUICK, MakeSpider, fetch_all, fetch_one, visit
from gossamer.messages import Fetch

BEHAVIOURS = {case.name: case.behaviour for case in CASES} | {"good": page(b"good page")}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer(BEHAVIOURS) as server:
        yield server


def check(fetch: Fetch, case: Case) -> None:
    assert fetch.outcome is case.outcome, fetch.detail
    if case.status is not None:
        assert fetch.status == case.status
    if case.body is not None:
        assert fetch.body == case.body
    if case.flag is not None:
        assert case.flag in fetch.flags


@pytest.mark.req("S0.6", "S0.23", "S0.24", "S0.26")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row}-{case.name}")
def test_every_misbehaviour_has_its_class(
    case: Case, server: RawServer, make_spider: MakeSpider
) -> None:
    """Each row ends in exactly its class, within its deadline, and the next page is not harmed."""
    spider = make_spider(**QUICK)
    began = time.monotonic()
    check(fetch_one(spider, f"http://a.example:{server.port}/{case.name}"), case)
    assert time.monotonic() - began < QUICK["timeout_request_ms"] / 1000 + 1.0
    after = fetch_one(spider, f"http://a.example:{server.port}/good")
    assert after.body == b"good page", (after.outcome, after.detail, "the connection was poisoned")


@pytest.mark.req("S0.6")
def test_byte_by_byte_means_the_same(server: RawServer, make_spider: MakeSpider) -> None:
    """How a response is cut into packets changes nothing about its class."""
    spider = make_spider(**QUICK | {"timeout_request_ms": 20_000, "timeout_first_byte_ms": 15_000})
    cases = [case for case in CASES if isinstance(case.behaviour, bytes) and case.whole_head]
    fetches = fetch_all(
        spider,
        [
            visit(number, f"http://a.example:{server.port}/{case.name}?split")
            for number, case in enumerate(cases)
        ],
        40,
    )
    for number, case in enumerate(cases):
        if case.name != "302-itself":  # the query makes it another place
            check(fetches[number], case)


@pytest.mark.req("S0.4", "S0.6")
def test_all_misbehaviours_at_once(server: RawServer, make_spider: MakeSpider) -> None:
    """Side by side, no response disturbs another."""
    spider = make_spider(**QUICK | {"timeout_request_ms": 6_000, "timeout_first_byte_ms": 3_000})
    fetches = fetch_all(
        spider,
        [
            visit(number, f"http://a{number}.example:{server.port}/{case.name}")
            for number, case in enumerate(CASES)
        ],
        40,
    )
    for number, case in enumerate(CASES):
        check(fetches[number], case)
