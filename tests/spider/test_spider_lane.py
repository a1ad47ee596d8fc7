"""The lane: what is fetched over it is what libcurl alone would have fetched."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from misbehaviours import CASES, Case
from rawserver import RawServer, page

from conftest import QUICK, MakeSpider, fetch_all, fetch_one, visit
from gossamer.messages import Fetch
from gossamer.outcomes import Outcome
from gossamer.spider import lane
from gossamer.spider.spider import Spider

pytestmark = pytest.mark.skipif(not lane.is_compiled(), reason="gossamer.spider._lane is missing")

BEHAVIOURS = {case.name: case.behaviour for case in CASES} | {"good": page(b"good page")}
ALIKE = (
    "outcome",
    "flags",
    "status",
    "http_version",
    "request_head",
    "head",
    "headers",
    "raw",
    "body",
    "address",
    "retry_after_seconds",
    "redirect_to",
)
SLOW_TO_END = (Outcome.NET_TIMEOUT_HEADERS, Outcome.NET_TIMEOUT_TOTAL, Outcome.NET_SLOW)
# How much of an endless answer has come when it is given up is a matter of time.
ENDLESS = (Outcome.NET_SLOW, Outcome.BODY_BOMB, Outcome.PROTO_HEADER_LIMIT, Outcome.PROTO_INTERIM)
CUT_BY_TIME = frozenset(("raw", "body", "head", "headers"))

MakeWithout = Callable[..., Spider]


@pytest.fixture
def make_without(monkeypatch: pytest.MonkeyPatch, make_spider: MakeSpider) -> MakeWithout:
    """Make spiders without a lane."""

    def make(**settings: object) -> Spider:
        with monkeypatch.context() as patched:
            patched.setattr(lane, "_lane", None)
            return make_spider(**settings)

    return make


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer(BEHAVIOURS) as server:
        yield server


def settings_for(case: Case) -> dict[str, Any]:
    """Only what is to run into a deadline has a short one: a busy machine is no misbehaviour."""
    if case.outcome in SLOW_TO_END:
        return QUICK
    return QUICK | {
        "timeout_request_ms": 20_000,
        "timeout_first_byte_ms": 15_000,
        "timeout_connect_ms": 10_000,
        "min_rate_seconds": 10.0,
    }


def prove(spider: Spider, site: str) -> None:
    """Fetch ordinary pages until the connection is the lane's."""
    for _ in range(2):
        assert fetch_one(spider, f"{site}/good").body == b"good page"


def is_in_lane(spider: Spider) -> bool:
    assert spider._lane is not None
    return spider._lane.open_count() == spider.open_count() == 1


def fetch_in_lane(spider: Spider, url: str) -> Fetch:
    """Fetch one page, of which the request goes out over the lane."""
    spider.start(visit(7, url))
    assert is_in_lane(spider)
    return fetch_all(spider, [])[7] if spider.open_count() == 0 else rest_of(spider)[7]


def rest_of(spider: Spider) -> dict[int, Fetch]:
    fetches = {}
    while spider.open_count():
        for fetch in spider.poll(0.5):
            fetches[fetch.visit.trans_id] = fetch
    return fetches


def told(fetch: Fetch, *, but: frozenset[str] = frozenset()) -> dict[str, object]:
    shown: dict[str, object] = {name: getattr(fetch, name) for name in ALIKE if name not in but}
    shown["detail"] = re.sub(r"\d+\.\d+", "N", fetch.detail)
    return shown


@pytest.mark.req("S0.6")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row}-{case.name}")
def test_every_misbehaviour_means_the_same(
    case: Case, server: RawServer, make_spider: MakeSpider, make_without: MakeWithout
) -> None:
    """Asked for over the lane, each ends as without it, with as many requests and connections."""
    site = f"http://a.example:{server.port}"
    seen, raws = [], []
    for make in (make_spider, make_without):
        spider = make(**settings_for(case))
        requests, accepted = len(server.requests), server.accepted
        prove(spider, site)
        if make is make_spider:
            fetch = fetch_in_lane(spider, f"{site}/{case.name}")
        else:
            fetch = fetch_all(spider, [visit(7, f"{site}/{case.name}")])[7]
        assert fetch.sent_at > 0.0
        after = fetch_one(spider, f"{site}/good")
        assert after.body == b"good page", (after.outcome, after.detail)
        is_cut = case.outcome in ENDLESS or case.flag == "body_cut"
        but = CUT_BY_TIME if is_cut else frozenset()
        asked = server.requests[requests:]
        seen.append((told(fetch, but=but), asked, server.accepted - accepted))
        raws.append(fetch.raw)
        spider.close()
    assert seen[0] == seen[1]
    common = min(map(len, raws))
    assert raws[0][:common] == raws[1][:common]
