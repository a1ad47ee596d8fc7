"""Visits that outlive their batch count for the next one that wants the same URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.objects.enumerations import CrawlStatus
from sites_rig import Sites

HOME = "https://example.org/"
SECONDS = 5.0


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    rig = Sites(tmp_path)
    yield rig
    rig.close()


def test_a_host_that_is_slower_than_batches_may_last_is_crawled_all_the_same(sites: Sites) -> None:
    """Were each visit too late for the batch it was made for, no URL would ever be crawled."""
    urls = [f"{HOME}{number}" for number in range(6)]
    site = sites.site(*urls)
    asked: list[str] = []
    assert sites.make(10, seconds=SECONDS) == urls
    queue = sites.lease()
    while queue:
        # One request in the time of a batch; what waits behind it stays leased.
        sites.now += SECONDS
        assert sites.catalog.expire_batches(sites.now)
        sites.make(10, seconds=SECONDS)
        due = queue.pop(0)
        asked.append(due.url)
        sites.commit(sites.bring(due))
        queue += sites.lease()
        assert len(asked) <= len(urls)
    assert set(sites.members(site).values()) == {CrawlStatus.CRAWLED}
    assert asked == urls
    assert sites.query("SELECT count(*) FROM batch_item WHERE state = 0") == [(0,)]
    assert sites.catalog.check() == []
