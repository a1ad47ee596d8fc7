"""What one transaction of the engine costs: counters move once, members are read together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.catalog.service_counters import Counting, wrong_counters
from gossamer.catalog.service_rows import KnownSite
from gossamer.messages import Due
from gossamer.objects.enumerations import CrawlStatus
from sites_rig import Sites

HOST = "https://example.org/"
PAGES = [f"{HOST}{number}" for number in range(24)]


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    rig = Sites(tmp_path)
    yield rig
    rig.close()


def statements_of_commit(sites: Sites, part: list[Due]) -> list[str]:
    """Return what the engine says to the database when pages bring nothing new."""
    said: list[str] = []
    connection = sites.catalog.database.connection
    connection.set_trace_callback(said.append)
    sites.commit(*(sites.bring(each, *PAGES) for each in part))
    connection.set_trace_callback(None)
    return said


def test_counters_of_a_site_move_once_for_all_pages_of_a_commit(sites: Sites) -> None:
    site = sites.site(*PAGES)
    sites.make(size=100)
    said = statements_of_commit(sites, sites.lease()[:8])
    assert sum(each.startswith("UPDATE service_site SET resources") for each in said) == 1
    assert sites.field(site, "resources") == 8


def test_a_page_more_costs_few_statements_more(sites: Sites) -> None:
    """Its result, the URL, the member and the item, each of them once."""
    sites.site(*PAGES)
    sites.make(size=100)
    due = sites.lease()
    few, many = (len(statements_of_commit(sites, part)) for part in (due[:4], due[4:12]))
    assert many - few <= 4 * 4


def test_what_changes_twice_counts_as_it_is_in_the_end(sites: Sites) -> None:
    site = sites.site(*PAGES[:3])
    with sites.catalog.changing("change", sites.now) as (connection, _, _):
        counting = Counting(connection)
        doc_ids = [row[0] for row in connection.execute("SELECT doc_id FROM url ORDER BY doc_id")]
        known = KnownSite(site - 100, site)
        counting.watch(known, doc_ids[:2])
        connection.execute("UPDATE member SET status = 4, size = 5")
        counting.watch(known, doc_ids[:2])
        connection.execute("UPDATE member SET status = 1, size = 7")
        connection.execute("DELETE FROM member WHERE doc_id = ?", (doc_ids[1],))
        # Nobody said that the third one would change.
        connection.execute("UPDATE member SET size = 0 WHERE doc_id = ?", (doc_ids[2],))
        assert sites.field(site, "size") == 0
        assert list(counting.settle()) == [site]
        assert list(counting.settle()) == []
    assert (sites.field(site, "size"), sites.field(site, "new_urls")) == (7, 2)
    assert wrong_counters(sites.catalog.database) == []


def test_limits_of_a_site_see_what_the_same_transaction_has_brought(sites: Sites) -> None:
    """A site that a commit takes over its limit is suspended before its next iteration begins."""
    site = sites.site(HOST, max_resources=1, resources=1)
    sites.has_odd_counters = True
    sites.catalog.make_batch(1, 10, sites.now, 360.0, 5, max_iterations=2)
    sites.crawl(HOST + "a")
    assert sites.field(site, "state") == 3
    assert sites.members(site)[HOST + "a"] == CrawlStatus.NEW
