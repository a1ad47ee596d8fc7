"""Sites in the catalog: made, changed, looked at, found."""

import pytest
from service_desk import NOW, PARENT, Desk

from gossamer.catalog.service_sites import SiteError, find_sites, new_site, update_site
from gossamer.catalog.service_urls import update_urls
from gossamer.objects.enumerations import (
    CrawlStatus,
    FetchType,
    FilterType,
    SiteState,
    UpdateType,
    URLState,
    URLType,
)
from gossamer.objects.normal import identified_site, url_md5
from gossamer.objects.problems import CriterionError, ObjectError, UnsupportedError
from gossamer.objects.selection import Criterions
from gossamer.objects.site import (
    Filter,
    Properties,
    Property,
    Site,
    SiteFind,
    SiteUpdate,
    SiteURL,
)
from gossamer.objects.url import URLUpdate


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    assert made.is_sound()
    made.close()


def update(desk: Desk, site_id: str | None, **fields) -> int:
    return update_site(desk.catalog, SiteUpdate(id=site_id, **fields), NOW + 5)


def properties(**values: str) -> Properties:
    return Properties(Property(name=name, value=value) for name, value in values.items())


@pytest.mark.req("S3.28", "S3.116", "S3.118", "S3.119", "S3.120", "S3.121", "S3.133", "S3.134")
def test_a_new_site_is_there_with_its_lists(desk):
    site = Site(
        id="s1",
        urls=["http://a.example/", SiteURL(url="HTTP://A.example/b", user_id=7, priority=3)],
        filters=[Filter(pattern="/x", action=-1), Filter(pattern="/y")],
        properties=properties(template="{}", PROCESS_CTYPES="text/html"),
        description="mine",
        priority=7,
        max_urls=5,
        url_type=URLType.SINGLE,
    )
    new_site(desk.catalog, site, NOW)
    found = desk.status("s1")
    assert (found.id, found.state, found.priority, found.max_urls) == ("s1", 1, 7, 5)
    assert (found.description, found.c_date) == ("mine", "2027-01-15T08:00:00Z")
    assert found.urls == [
        "http://a.example/",
        SiteURL(url="http://a.example/b", user_id=7, priority=3),
    ]
    assert [(each.pattern, each.type) for each in found.filters] == [
        ("/x", FilterType.EXCLUDE),
        ("/y", FilterType.INCLUDE),
    ]
    assert {each.name: each.value for each in found.properties} == {
        "template": "{}",
        "PROCESS_CTYPES": "text/html",
    }
    assert desk.urls("s1") == ["http://a.example/", "http://a.example/b"]
    root = desk.url("s1", "http://a.example/b")
    assert root is not None
    assert (root.priority, root.type, root.status) == (3, URLType.SINGLE, CrawlStatus.NEW)
    assert found.new_urls == 2


@pytest.mark.req("S3.115")
def test_a_second_site_with_an_id_is_an_error_and_changes_nothing(desk):
    site_id = desk.site("http://a.example/")
    before = desk.status(site_id)
    twin = Site(id=site_id, urls=["http://other.example/"], priority=1)
    with pytest.raises(SiteError) as caught:
        new_site(desk.catalog, twin, NOW + 1)
    assert caught.value.code == 2020
    assert desk.status(site_id) == before
    assert desk.urls(site_id) == ["http://a.example/"]


def test_a_site_with_a_bad_root_url_is_not_made_at_all(desk):
    site = Site(id="s1", urls=["http://a.example/", "nothing at all"])
    with pytest.raises(ObjectError):
        new_site(desk.catalog, site, NOW)
    assert desk.status("s1").state is SiteState.NOT_FOUND
    assert desk.rows("SELECT count(*) FROM member") == [(0,)]


@pytest.mark.req("S3.117")
def test_each_site_has_urls_of_its_own_even_of_the_same_text(desk):
    one, two = desk.site("http://a.example/"), desk.site("http://b.example/")
    desk.add(one, "http://c.example/")
    desk.add(two, "http://c.example/")
    desk.crawled(one, "http://c.example/")
    first, second = desk.url(one, "http://c.example/"), desk.url(two, "http://c.example/")
    assert first is not None
    assert second is not None
    assert (first.status, second.status) == (CrawlStatus.CRAWLED, CrawlStatus.NEW)
    assert first.url_md5 == second.url_md5


@pytest.mark.req("S3.29", "S3.133")
def test_a_site_that_is_not_there_is_answered_as_not_found(desk):
    site = desk.status("nobody")
    assert (site.id, site.state) == ("nobody", SiteState.NOT_FOUND)
    assert (site.urls, site.filters, site.properties) == ([], [], [])


def test_lists_can_be_left_out(desk):
    site = desk.status(desk.site(), exclude_list=["urls", "filters"])
    assert (site.urls, site.filters) == ([], [])
    assert site.properties


@pytest.mark.req("S3.125")
def test_an_update_of_a_missing_site_is_an_error_and_changes_nothing(desk):
    with pytest.raises(SiteError, match="site id not found") as caught:
        update(desk, "nobody", priority=1)
    assert caught.value.code == 2020


@pytest.mark.req("S3.30", "S3.35", "S3.127")
def test_an_update_replaces_what_is_given_and_nothing_else(desk):
    site_id = desk.site(description="old", priority=9)
    before = desk.status(site_id)
    assert update(desk, site_id, priority=3, request_delay=7, tc_date="NOW()") == 1
    after = desk.status(site_id)
    assert (after.priority, after.request_delay) == (3, 7)
    assert after.tc_date == "2027-01-15T08:00:05Z"
    assert after.description == "old"
    assert (after.urls, after.filters, after.properties) == (
        before.urls,
        before.filters,
        before.properties,
    )


def lists_of(desk: Desk, site_id: str) -> tuple[list, list, dict]:
    site = desk.status(site_id)
    names = [(each.pattern, each.group_id) for each in site.filters]
    return site.urls, names, {each.name: each.value for each in site.properties}


@pytest.mark.req("S3.128")
def test_append_adds_to_lists(desk):
    site_id = desk.site(filters=[Filter(pattern="1")], properties=properties(USER_A="1"))
    update(
        desk,
        site_id,
        urls=["http://a.example/2"],
        filters=[Filter(pattern="2")],
        properties=properties(USER_B="2"),
    )
    assert lists_of(desk, site_id) == (
        ["http://a.example/", "http://a.example/2"],
        [("1", 0), ("2", 0)],
        {"USER_A": "1", "USER_B": "2"},
    )


@pytest.mark.req("S3.129")
def test_overwrite_puts_new_lists_in_the_place_of_old_ones(desk):
    site_id = desk.site(filters=[Filter(pattern="1")], properties=properties(USER_A="1"))
    update(
        desk,
        site_id,
        update_type=UpdateType.OVERWRITE,
        urls=["http://a.example/2"],
        filters=[Filter(pattern="2")],
        properties=properties(USER_B="2"),
    )
    assert lists_of(desk, site_id) == (["http://a.example/2"], [("2", 0)], {"USER_B": "2"})


@pytest.mark.req("S3.130")
def test_update_changes_records_that_are_there_and_adds_none(desk):
    site_id = desk.site(filters=[Filter(pattern="1")], properties=properties(USER_A="1"))
    update(
        desk,
        site_id,
        update_type=UpdateType.UPDATE,
        urls=[SiteURL(url="http://a.example/", user_id=4), "http://a.example/2"],
        filters=[Filter(pattern="1", group_id=6), Filter(pattern="2")],
        properties=properties(USER_A="one", USER_B="2"),
    )
    assert lists_of(desk, site_id) == (
        [SiteURL(url="http://a.example/", user_id=4)],
        [("1", 6)],
        {"USER_A": "one"},
    )


@pytest.mark.req("S3.126")
def test_without_the_property_missing_root_urls_are_added_and_none_goes(desk):
    """UPDATE_NOT_INSERT_ROOT_URLS not set (C5)."""
    site_id = desk.site()
    desk.crawled(site_id, "http://a.example/")
    update(desk, site_id, urls=["http://a.example/2"])
    old = desk.url(site_id, "http://a.example/")
    assert old is not None
    assert old.status is CrawlStatus.CRAWLED
    assert desk.urls(site_id) == ["http://a.example/", "http://a.example/2"]


@pytest.mark.req("S3.126")
@pytest.mark.parametrize("value", ["1", "0"])
def test_with_the_property_root_urls_are_put_in_anew(desk, value):
    """UPDATE_NOT_INSERT_ROOT_URLS set: roots go and those of the site come; 0 is as not set."""
    site_id = desk.site(properties=properties(UPDATE_NOT_INSERT_ROOT_URLS=value))
    desk.add(site_id, "http://a.example/page")
    desk.add(site_id, "http://a.example/by-hand", parent_md5="")
    desk.crawled(site_id, "http://a.example/")
    update(desk, site_id, priority=1)
    root = desk.url(site_id, "http://a.example/")
    assert root is not None
    if value == "0":
        assert root.status is CrawlStatus.CRAWLED
        assert "http://a.example/by-hand" in desk.urls(site_id)
    else:
        assert root.status is CrawlStatus.NEW
        assert desk.urls(site_id) == ["http://a.example/", "http://a.example/page"]


@pytest.mark.req("S3.131")
def test_restart_brings_roots_back_and_clears_errors(desk):
    site_id = desk.site(state=SiteState.SUSPENDED, iterations=4)
    desk.crawled(site_id, "http://a.example/", error_mask=6)
    with desk.catalog.changing("remove", NOW) as (connection, _, _):
        connection.execute("UPDATE service_site SET errors = 9, error_mask = 6 WHERE id <> '0'")
        connection.execute("DELETE FROM member")
        connection.execute("UPDATE service_site SET size = 0, new_urls = 0")
    update(desk, site_id, state=SiteState.RESTART)
    site = desk.status(site_id)
    assert (site.state, site.iterations, site.error_mask, site.errors) == (1, 5, 0, 0)
    assert site.u_date == "2027-01-15T08:00:05Z"
    root = desk.url(site_id, "http://a.example/")
    assert root is not None
    assert (root.status, root.crawled, root.error_mask) == (CrawlStatus.NEW, 0, 0)


@pytest.mark.req("S3.131")
def test_restart_has_roots_crawled_again_that_are_there(desk):
    """Whatever became of them; other URLs stay as they are, and so does what is in a batch."""
    roots = [f"http://a.example/{name}" for name in ("", "off", "broken", "out")]
    site_id = desk.site(*roots, state=SiteState.SUSPENDED)
    desk.add(site_id, "http://a.example/page", parent_md5=PARENT)
    for url in (*roots[:3], "http://a.example/page"):
        desk.crawled(site_id, url)
    changed = {
        "off": {"state": URLState.DISABLED},
        "broken": {"state": URLState.ERROR, "error_mask": 6},
        "out": {"status": CrawlStatus.CRAWLING, "batch_id": 7},
    }
    for name, fields in changed.items():
        md5 = url_md5(f"http://a.example/{name}")
        assert update_urls(desk.catalog, [URLUpdate(site_id=site_id, url_md5=md5, **fields)], NOW)
    update(desk, site_id, state=SiteState.RESTART)
    found = [desk.url(site_id, url) for url in roots]
    assert [(url.status, url.state, url.error_mask) for url in found if url] == [
        *[(CrawlStatus.NEW, URLState.ENABLED, 0)] * 3,
        (CrawlStatus.CRAWLING, URLState.ENABLED, 0),
    ]
    assert desk.status(site_id).new_urls == 3
    page = desk.url(site_id, "http://a.example/page")
    assert page is not None
    assert page.status is CrawlStatus.CRAWLED


def test_sites_that_criterions_select_are_updated_together(desk):
    one = desk.site("http://a.example/", priority=1)
    two = desk.site("http://b.example/", priority=2)
    assert update(desk, None, criterions=Criterions(where="Priority = 2"), description="x") == 1
    assert (desk.status(one).description, desk.status(two).description) == ("", "x")


def test_an_update_that_says_neither_which_nor_how_is_refused(desk):
    with pytest.raises(ObjectError, match="criterions are expected"):
        update(desk, None, priority=5)


@pytest.mark.parametrize("state", [SiteState.DELETED, SiteState.DELETE_TASK, SiteState.NOT_FOUND])
def test_a_site_cannot_be_told_that_it_is_gone(desk, state):
    site_id = desk.site()
    with pytest.raises(ObjectError, match="cannot be set"):
        update(desk, site_id, state=state, priority=3)
    assert desk.status(site_id).priority == 100


def found(desk: Desk, **fields) -> list[str]:
    return [site.id for site in find_sites(desk.database, SiteFind(**fields), NOW)]


@pytest.mark.req("S3.27", "S3.135")
def test_sites_are_found_by_the_beginning_of_a_root_url(desk):
    one = desk.site("http://a.example/", "http://z.example/")
    two = desk.site("http://a.example/sub/")
    desk.site("http://b.example/")
    assert sorted(found(desk, url="http://a.example/")) == sorted([one, two])
    assert found(desk, url="http://z.") == [one]
    assert found(desk, url="http://nobody.example/") == []


@pytest.mark.req("S3.27")
def test_sites_are_found_by_criterions_too(desk):
    one = desk.site("http://a.example/", priority=1)
    desk.site("http://a.example/2", priority=2)
    where = Criterions(where="Priority < 2")
    assert found(desk, url="http://a.example/", criterions=where) == [one]
    both = Criterions(where="Id <> '0'", order_by="Priority DESC")
    assert found(desk, criterions=both)[1] == one


def test_a_find_is_limited_to_ten_and_newest_first(desk):
    ids = [desk.site(f"http://h{n}.example/", now=NOW + n) for n in range(12)]
    assert found(desk, url="http://") == ids[:-11:-1]
    assert len(found(desk, criterions=Criterions(where="Id <> '0'"))) == 10
    assert len(found(desk, criterions=Criterions(where="Id <> '0'", limit=11))) == 11


def test_tables_join_what_belongs_to_a_site(desk):
    one = desk.site("http://a.example/", properties=properties(MODES_FLAG="9"))
    desk.site("http://b.example/", properties=properties(MODES_FLAG="8"))
    criterions = Criterions(
        tables="sites_properties",
        where="sites.Id = sites_properties.Site_Id AND sites_properties.Name = 'MODES_FLAG' "
        "AND sites_properties.Value = '9'",
    )
    assert found(desk, criterions=criterions) == [one]


@pytest.mark.parametrize(
    "criterions",
    [
        Criterions(where="Id = '0'; DROP TABLE service_site"),
        Criterions(where="site_id = 1"),
        Criterions(tables="url"),
        Criterions(where="(SELECT 1) = 1"),
    ],
)
def test_criterions_are_no_sql(desk, criterions):
    with pytest.raises(CriterionError):
        found(desk, criterions=criterions)


def test_a_period_without_a_date_begins_to_run(desk):
    site_id = desk.site(recrawl_period=10)
    assert desk.status(site_id).recrawl_date == "2027-01-15T08:10:00Z"
    update(desk, site_id, recrawl_period=0)
    assert desk.status(site_id).recrawl_date is None


def test_an_id_is_made_of_the_first_root_url(desk):
    site = identified_site(Site(urls=["HTTP://A.Example"]))
    new_site(desk.catalog, site, NOW)
    assert desk.status("b30d4f59eb97517b29db7bf4c7be397d").state is SiteState.ACTIVE


def test_counters_follow_urls(desk):
    site_id = desk.site()
    desk.add(site_id, "http://a.example/1", "http://a.example/2", "http://a.example/3")
    desk.crawled(site_id, "http://a.example/1")
    desk.crawled(site_id, "http://a.example/2", error_mask=2, size=0)
    desk.crawled(
        site_id,
        "http://a.example/3",
        status=CrawlStatus.PROCESSED,
        processed=1,
        tags_count=2,
        size=3_000,
    )
    site = desk.status(site_id)
    assert (site.new_urls, site.resources, site.contents) == (1, 2, 1)
    assert (site.collected_urls, site.errors, site.error_mask) == (3, 1, 2)
    assert (site.size, site.avg_speed, site.avg_speed_counter) == (4_000, 4_000, 2)
    back = URLUpdate(site_id=site_id, criterions=Criterions(limit=100), status=CrawlStatus.NEW)
    update_urls(desk.catalog, [back], NOW)
    site = desk.status(site_id)
    assert (site.new_urls, site.resources, site.contents) == (4, 0, 0)
    assert desk.url(site_id, "http://a.example/1").parent_md5 == PARENT


def test_a_date_of_a_site_may_be_made_of_its_columns(desk):
    site_id = desk.site(recrawl_period=10)
    update(desk, site_id, recrawl_date="DATE_ADD(RecrawlDate, INTERVAL RecrawlPeriod MINUTE)")
    assert desk.status(site_id).recrawl_date == "2027-01-15T08:20:00Z"


@pytest.mark.parametrize("fetch_type", [FetchType.DYNAMIC, FetchType.EXTERNAL])
def test_pages_that_need_a_browser_are_refused_and_nothing_changes(desk, fetch_type):
    with pytest.raises(UnsupportedError, match=r"fetchType.*without a browser"):
        new_site(desk.catalog, Site(id="s1", fetch_type=fetch_type), NOW)
    assert desk.status("s1").state is SiteState.NOT_FOUND
    new_site(desk.catalog, Site(id="s1", fetch_type=FetchType.AUTO), NOW)
    with pytest.raises(UnsupportedError, match="fetchType"):
        update(desk, "s1", fetch_type=fetch_type, description="other")
    assert (desk.status("s1").fetch_type, desk.status("s1").description) == (FetchType.AUTO, "")
