"""What happens to URLs while they are crawled is in their history, if their site asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.objects.enumerations import CrawlerType
from gossamer.url.parts import md5_of
from sites_rig import Sites

HOME = "http://a.example/"
A = "http://a.example/a"
INSERTED, NEW, SELECTED, CRAWLING, CRAWLED = 20, 1, 2, 3, 4


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    made = Sites(tmp_path)
    yield made
    made.close()


def watched(sites: Sites, *roots: str, **fields: float) -> int:
    set_id = sites.site(*roots, **fields)
    sites.property(set_id, "STATS_LOG_ENABLED", "1")
    sites.property(set_id, "STATS_FREQ_ENABLED", "1")
    return set_id


def log(sites: Sites, url: str) -> list[int]:
    """Return what the history has of a URL, in order."""
    md5 = md5_of(url).hex()
    query = "SELECT operation FROM url_log WHERE url_md5 = ? ORDER BY rowid"
    return [row[0] for row in sites.query(query, md5)]


def counts(sites: Sites, url: str) -> list[tuple[int, int]]:
    """Return how often a URL became new, and how often it was crawled."""
    query = "SELECT made_new, crawled FROM url_frequency WHERE url_md5 = ?"
    return sites.query(query, md5_of(url).hex())


def test_each_step_of_crawling_is_noted(sites: Sites) -> None:
    watched(sites, HOME)
    sites.make()
    assert log(sites, HOME) == [SELECTED]
    (due,) = sites.lease()
    assert log(sites, HOME) == [SELECTED, CRAWLING]
    sites.commit(sites.bring(due, A))
    assert log(sites, HOME) == [SELECTED, CRAWLING, CRAWLED]
    assert counts(sites, HOME) == [(0, 1)]
    assert log(sites, A) == [INSERTED]


def test_a_redirect_is_one_request_of_the_url(sites: Sites) -> None:
    watched(sites, HOME)
    sites.make()
    (due,) = sites.lease()
    sites.commit(sites.redirect(due, A))
    (due,) = sites.lease()
    sites.commit(sites.bring(due))
    assert log(sites, HOME) == [SELECTED, CRAWLING, CRAWLED]


def test_what_is_given_up_or_returned_is_new_again(sites: Sites) -> None:
    watched(sites, HOME)
    sites.make(seconds=10.0)
    sites.now += 11
    sites.catalog.expire_batches(sites.now)
    assert log(sites, HOME) == [SELECTED, NEW]
    sites.make()
    sites.query("UPDATE batch SET state = 2")
    sites.now += 100
    assert sites.catalog.return_stuck(sites.now, 10.0, 5) == 1
    assert log(sites, HOME) == [SELECTED, NEW, SELECTED, NEW]
    assert counts(sites, HOME) == [(2, 0)]


def test_what_is_processed_again_was_not_crawled_again(sites: Sites) -> None:
    watched(sites, HOME)
    sites.query("UPDATE member SET status = 6, tcdate = 1")
    sites.has_odd_counters = True
    assert sites.catalog.return_stuck(sites.now, 10.0, 5) == 1
    assert log(sites, HOME) == []


def test_a_url_that_is_found_again_is_new(sites: Sites) -> None:
    watched(sites, HOME, A, recrawl_period=1)
    sites.make()
    sites.commit(*(sites.bring(due) for due in sites.lease()))
    sites.query("UPDATE member SET status = 1, batch_id = 0 WHERE depth = 0 AND doc_id = 1")
    sites.has_odd_counters = True
    sites.now += 61
    assert sites.make() == [HOME]
    (due,) = sites.lease()
    sites.commit(sites.bring(due, A))
    assert log(sites, A) == [SELECTED, CRAWLING, CRAWLED, NEW]


def test_the_status_of_incremental_crawling_has_no_number_there(sites: Sites) -> None:
    watched(sites, HOME)
    sites.catalog.make_batch(CrawlerType.INCREMENTAL, 1, sites.now, 10.0, 1)
    assert log(sites, HOME) == []


def test_others_have_no_history(sites: Sites) -> None:
    sites.site(HOME)
    sites.make()
    sites.crawl()
    assert sites.query("SELECT count(*) FROM url_log") == [(0,)]
    assert sites.query("SELECT count(*) FROM url_frequency") == [(0,)]
