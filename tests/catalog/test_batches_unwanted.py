"""URLs that nobody wants any more when their turn comes are not asked for."""

from pathlib import Path

import pytest

from gossamer.catalog import service_removal
from gossamer.objects.enumerations import DelayedType
from gossamer.objects.site import SiteCleanup, SiteDelete
from sites_rig import Sites

SITE = f"{1:032x}"
URLS = [f"http://a.example/{number}" for number in range(3)]


def cleaned(sites: Sites) -> None:
    request = SiteCleanup(id=SITE, save_root_urls=False)
    service_removal.empty_sites(sites.catalog, [request], sites.now)


def deleted(sites: Sites) -> None:
    request = SiteDelete(id=SITE, delayed_type=DelayedType.DELAYED)
    service_removal.delete_sites(sites.catalog, [request], sites.now)


@pytest.mark.parametrize("remove", [cleaned, deleted])
def test_urls_of_a_site_that_is_gone_are_not_asked_for(tmp_path: Path, remove) -> None:
    """Without a site nobody says how long to wait between them: they would go out all at once."""
    sites = Sites(tmp_path)
    sites.site(*URLS, request_delay=500)
    sites.site("http://a.example/kept", request_delay=500)
    assert len(sites.make(10)) == 4
    remove(sites)
    (due,) = sites.lease()
    assert (due.url, due.manner.delay_ms) == ("http://a.example/kept", 500)
    sites.commit(sites.bring(due))
    # What was left out does not keep the batch open, nor come back.
    assert sites.query("SELECT count(*) FROM batch_item WHERE state = 0") == [(0,)]
    assert sites.lease() == []
    assert sites.catalog.check() == []
    sites.close()


@pytest.mark.parametrize("remove", [cleaned, deleted])
def test_nobody_waits_behind_a_site_that_is_gone(tmp_path: Path, remove) -> None:
    """Its URLs may be with the engine, which asks a slow host for one after the other."""
    sites = Sites(tmp_path)
    sites.site(*URLS)
    sites.site("http://b.example/", "http://b.example/1")
    assert len(sites.make(3)) == 3
    assert sites.make(1, max_batches=1) == []
    late = sites.lease()
    remove(sites)
    assert sites.catalog.expire_batches(sites.now) == []
    # The batch goes on with what others want of it.
    left = sites.query("SELECT count(*) FROM batch_item WHERE state = 0")[0][0]
    assert left == sum(due.url.startswith("http://b.") for due in late) > 0
    sites.commit(*(sites.bring(due) for due in late if due.url.startswith("http://b.")))
    assert sites.catalog.open_batches(1) == 0
    assert len(sites.make(3, max_batches=1)) > 0
    sites.commit(*(sites.bring(due) for due in late if due.url.startswith("http://a.")))
    assert sites.catalog.check() == []
    sites.close()


@pytest.mark.parametrize("remove", [cleaned, deleted])
def test_a_batch_of_a_site_that_is_gone_is_over(tmp_path: Path, remove) -> None:
    sites = Sites(tmp_path)
    sites.site(*URLS)
    assert len(sites.make(3)) == 3
    remove(sites)
    assert sites.catalog.open_batches(1) == 1
    assert sites.catalog.expire_batches(sites.now) == []
    assert sites.catalog.open_batches(1) == 0
    assert sites.lease() == []
    assert sites.catalog.check() == []
    sites.close()
