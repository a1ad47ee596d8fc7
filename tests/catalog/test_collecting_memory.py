"""An engine remembers which URLs sites were told of, until somebody may have changed that."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from collecting_rig import HOME, Collecting, links
from gossamer.catalog.processing import begin_processing
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_removal import delete_urls
from gossamer.catalog.service_sites import update_site
from gossamer.config.catalog import CatalogSettings
from gossamer.objects.enumerations import FilterType, UpdateType
from gossamer.objects.normal import url_md5
from gossamer.objects.site import Filter, SiteUpdate
from gossamer.objects.url import URLDelete
from gossamer.reports import PageReport
from gossamer.url.parts import md5_of
from gossamer.url.plain import KEY_BYTES

A, B, C = links("a", "b", "c")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Collecting]:
    rig = Collecting(tmp_path)
    yield rig
    rig.close()


@pytest.fixture
def other(tmp_path: Path, web: Collecting) -> Iterator[ServiceCatalog]:
    """The same catalog, as another process has it."""
    with ServiceCatalog.open(tmp_path / "catalog.db", CatalogSettings(), shared=True) as catalog:
        yield catalog


def is_told(web: Collecting, set_id: int, url: str) -> bool:
    """Whether the engine thinks, when it writes next, that the site was told of a URL."""
    web.make()
    return not web.catalog._memo.untold(set_id, md5_of(url)[:KEY_BYTES])


def test_a_url_that_another_process_deletes_is_told_of_again(
    web: Collecting, other: ServiceCatalog
) -> None:
    site = web.make_site()
    web.visit(A, B)
    assert is_told(web, site, A)
    delete_urls(other, [URLDelete(site_id=web.ids[site], url=A)], web.now)
    assert web.urls(site) == {HOME, B}
    web.visit(A, url=B)
    assert web.urls(site) == {HOME, A, B}


def test_a_url_that_filters_let_pass_now_is_told_of(web: Collecting, other: ServiceCatalog) -> None:
    refused = [Filter(pattern="/a$", type=FilterType.EXCLUDE, action=-1)]
    site = web.make_site(filters=refused)
    web.visit(A, B)
    assert web.urls(site) == {HOME, B}
    assert is_told(web, site, A)
    wider = SiteUpdate(id=web.ids[site], filters=[], update_type=UpdateType.OVERWRITE)
    update_site(other, wider, web.now)
    web.visit(A, url=B)
    assert web.urls(site) == {HOME, A, B}


def test_what_others_do_all_the_time_is_no_reason_to_forget(
    web: Collecting, other: ServiceCatalog
) -> None:
    site = web.make_site()
    web.visit(A, B)
    assert begin_processing(other, web.ids[site], url_md5(HOME), web.now)
    assert is_told(web, site, A)
    other.make_batch(1, 10, web.now, 60.0, 5)
    assert is_told(web, site, A)


@pytest.mark.parametrize("keys", [b"", md5_of(A) + md5_of(B)])
def test_a_report_with_no_keys_or_others_leads_to_the_same(web: Collecting, keys: bytes) -> None:
    """As one that another version of the program has written down."""
    site = web.make_site()
    web.make()
    (home,) = web.lease()
    findings = web.bring(home, A, B)
    report = msgspec.json.decode(findings.records[0], type=PageReport)
    old = msgspec.json.encode(replace(report, keys=keys)).decode()
    web.commit(replace(findings, records=(old,)))
    assert web.urls(site) == {HOME, A, B}
    assert is_told(web, site, A)
