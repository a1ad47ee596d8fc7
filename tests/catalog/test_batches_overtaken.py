"""A URL that starts again while a request for it is out is asked for once more.

What such a request brings may be removed with the rest, or say no more than that nothing changed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.catalog import service_removal
from gossamer.catalog.service_removal import Removal
from gossamer.catalog.service_urls import new_urls
from gossamer.messages import NOT_MODIFIED_STATUS
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.url import URL, URLCleanup, URLDelete
from sites_rig import Sites

SITE = f"{1:032x}"
HOME = "http://a.example/"


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    rig = Sites(tmp_path)
    yield rig
    rig.close()


def clean(sites: Sites) -> Callable[[list[str]], None]:
    """Clean the URL up; return what removes the contents that it had."""
    (removal,) = service_removal.clean_urls(
        sites.catalog, [URLCleanup(site_id=SITE, url=HOME)], sites.now
    )
    return finishing(sites, service_removal.clean_left, removal)


def delete_and_add(sites: Sites) -> Callable[[list[str]], None]:
    """Delete the URL, and add it again."""
    (removal,) = service_removal.delete_urls(
        sites.catalog, [URLDelete(site_id=SITE, url=HOME)], sites.now
    )
    sites.now += 1
    new_urls(sites.catalog, [URL(url=HOME, site_id=SITE)], sites.now)
    return finishing(sites, service_removal.delete_left, removal)


def finishing(sites: Sites, remove, removal: Removal | None) -> Callable[[list[str]], None]:
    assert removal is not None

    def finish(removed: list[str]) -> None:
        remove(sites.catalog, [removal], sites.now, lambda _, md5: removed.append(md5))

    return finish


@pytest.mark.parametrize("restart", [clean, delete_and_add])
@pytest.mark.parametrize("status", [200, NOT_MODIFIED_STATUS])
def test_a_url_that_starts_again_while_it_is_asked_for_is_asked_for_once_more(
    sites: Sites, restart: Callable[[Sites], Callable[[list[str]], None]], status: int
) -> None:
    site = sites.site(HOME)
    assert sites.make() == [HOME]
    (early,) = sites.lease()
    sites.now += 1
    finish = restart(sites)
    sites.now += 1
    sites.commit(sites.bring(early, status=status))
    assert sites.members(site) == {HOME: CrawlStatus.NEW}
    (late,) = sites.lease()
    assert (late.url, late.etag, late.last_modified) == (HOME, None, None)
    # Whenever the rest is removed: what the second request brings is not part of it.
    removed: list[str] = []
    finish(removed)
    assert removed == []
    sites.now += 1
    sites.commit(sites.bring(late))
    assert sites.members(site) == {HOME: CrawlStatus.CRAWLED}
    assert sites.members(site, "content_mask") == {HOME: 1}
    assert sites.lease() == []
    assert sites.catalog.check() == []


def test_a_url_that_starts_again_before_its_turn_is_asked_for_once(sites: Sites) -> None:
    site = sites.site(HOME)
    assert sites.make() == [HOME]
    clean(sites)
    assert sites.crawl() == [HOME]
    assert sites.members(site) == {HOME: CrawlStatus.CRAWLED}
    assert sites.lease() == []
