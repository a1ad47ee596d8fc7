"""Rows and objects of the service agree, column by column."""

import pytest
from service_desk import Desk

from gossamer.catalog.service_rows import MEMBER_COLUMNS, SITE_COLUMNS
from gossamer.catalog.service_sites import new_site
from gossamer.objects.site import Site, SiteURL
from gossamer.objects.url import URL, URLUpdate

# Which set of URLs a site has, and how far its re-crawl is, are nobody's business outside.
OWN = {"site_id", "set_id", "recrawl_lock_until", "recrawl_phase"}


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.close()


def columns(desk: Desk, table: str) -> set[str]:
    return {row[1] for row in desk.rows(f"PRAGMA table_info({table})")}


def test_every_column_of_a_member_is_copied_and_answered(desk):
    named = {column.column for column in MEMBER_COLUMNS}
    assert columns(desk, "member") - {"set_id", "doc_id"} == named
    fields = {column.field for column in MEMBER_COLUMNS}
    assert fields <= set(URL.__struct_fields__)
    assert fields <= set(URLUpdate.__struct_fields__)


def test_every_column_of_a_site_is_answered(desk):
    named = {column.column for column in SITE_COLUMNS}
    assert columns(desk, "service_site") - OWN == named
    assert {column.field for column in SITE_COLUMNS} <= set(Site.__struct_fields__)


def test_a_root_url_is_answered_as_it_was_given(desk):
    root = SiteURL(
        url="http://a.example/",
        user_id=3,
        depth=2,
        http_method="head",
        c_date="2026-01-02T03:04:05Z",
        request_delay=7,
    )
    new_site(desk.catalog, Site(id="s", urls=[root]), 0.0)
    assert desk.status("s").urls == [root]
