"""What the spider's tests share."""

import time
from collections.abc import Callable, Iterator

import pytest

from gossamer.clock import SystemClock
from gossamer.config.spider import SpiderSettings
from gossamer.config.url import UrlSettings
from gossamer.messages import Fetch, Visit
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy

LOOPBACK = AddressPolicy(UrlSettings(allow_networks=("127.0.0.0/8", "::1/128")))
QUICK = {
    "timeout_connect_ms": 400,
    "timeout_first_byte_ms": 700,
    "timeout_request_ms": 1_500,
    "min_rate_seconds": 0.4,
    "min_bytes_per_second": 200,
    "max_doc_bytes": 2_000_000,
    "max_wire_bytes": 2_000_000,
}

MakeSpider = Callable[..., Spider]


@pytest.fixture
def make_spider() -> Iterator[MakeSpider]:
    """Make spiders with settings; they are closed after the test."""
    spiders: list[Spider] = []

    def make(
        policy: AddressPolicy = LOOPBACK, max_sitemap_bytes: int = 0, **settings: object
    ) -> Spider:
        given = SpiderSettings(**settings)
        spiders.append(Spider(given, policy, SystemClock(), max_sitemap_bytes=max_sitemap_bytes))
        return spiders[-1]

    yield make
    for spider in spiders:
        spider.close()


def visit(number: int, url: str, address: str = "127.0.0.1", **fields: object) -> Visit:
    return Visit(trans_id=number, doc_id=number, address=address, url=url, **fields)


def fetch_all(spider: Spider, visits: list[Visit], seconds: float = 20.0) -> dict[int, Fetch]:
    """Run visits to their end; each must come back exactly once."""
    fetches: dict[int, Fetch] = {}
    for each in visits:
        spider.start(each)
    until = time.monotonic() + seconds
    while len(fetches) < len(visits):
        assert time.monotonic() < until, f"{spider.open_count()} visits did not come back"
        for fetch in spider.poll(0.5):
            assert fetch.visit.trans_id not in fetches, "came back twice"
            fetches[fetch.visit.trans_id] = fetch
    assert spider.open_count() == 0
    return fetches


def fetch_one(spider: Spider, url: str, **fields: object) -> Fetch:
    return fetch_all(spider, [visit(1, url, **fields)])[1]
