"""What the tests of the lane share."""

import time
from collections.abc import Callable

import pytest

from conftest import MakeSpider, fetch_one, visit
from gossamer.messages import Fetch
from gossamer.spider import lane
from gossamer.spider.spider import Spider

IS_MISSING = pytest.mark.skipif(not lane.is_compiled(), reason="gossamer.spider._lane is missing")
MakeWithout = Callable[..., Spider]


@pytest.fixture
def make_without(monkeypatch: pytest.MonkeyPatch, make_spider: MakeSpider) -> MakeWithout:
    """Make spiders without a lane."""

    def make(**settings: object) -> Spider:
        with monkeypatch.context() as patched:
            patched.setattr(lane, "_lane", None)
            return make_spider(**settings)

    return make


def prove(spider: Spider, site: str) -> None:
    """Fetch ordinary pages until the connection is the lane's."""
    for _ in range(2):
        assert fetch_one(spider, f"{site}/good").body == b"good page"


def in_lane(spider: Spider) -> int:
    return 0 if spider._lane is None else spider._lane.open_count()


def fetch_in_lane(spider: Spider, url: str, **fields: object) -> Fetch:
    """Fetch one page, of which the request goes out over the lane."""
    spider.start(visit(7, url, **fields))
    assert in_lane(spider) == spider.open_count() == 1
    return rest_of(spider)[7]


def rest_of(spider: Spider, seconds: float = 20.0) -> dict[int, Fetch]:
    """Wait for all that is open."""
    fetches: dict[int, Fetch] = {}
    until = time.monotonic() + seconds
    while spider.open_count():
        assert time.monotonic() < until, f"{spider.open_count()} visits did not come back"
        for fetch in spider.poll(0.5):
            assert fetch.visit.trans_id not in fetches, "came back twice"
            fetches[fetch.visit.trans_id] = fetch
    return fetches
