"""URLs in the catalog of the service: entered, changed, looked at; their history and counters."""

import pytest
from msgspec.structs import replace
from service_desk import NOW, PARENT, Desk

from gossamer.catalog.service_history import url_history, url_stats
from gossamer.catalog.service_sites import update_site
from gossamer.catalog.service_urls import (
    new_urls,
    recalculate,
    sites_to_make,
    update_urls,
    url_status,
    verify_urls,
)
from gossamer.objects.enumerations import (
    CrawlStatus,
    SiteSelect,
    SiteState,
    UpdateType,
    URLKey,
    URLState,
    URLType,
)
from gossamer.objects.extras import Attribute
from gossamer.objects.normal import site_id_of, url_md5
from gossamer.objects.problems import CriterionError, ObjectError
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Properties, Property, SiteUpdate
from gossamer.objects.url import (
    URL,
    FieldRecalculator,
    URLHistoryRequest,
    URLStatsRequest,
    URLStatus,
    URLUpdate,
    URLVerify,
)
from gossamer.outcomes import State


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    assert made.is_sound()
    made.close()


def enter(desk: Desk, *urls: URL) -> list[int]:
    return [int(status) for status in new_urls(desk.catalog, urls, NOW)]


@pytest.mark.req("S3.160", "S3.161")
def test_each_url_has_a_status_of_its_own(desk):
    site_id = desk.site()
    urls = ["http://a.example/", "http://a.example/1", "::no url", "HTTP://a.example:80/1"]
    assert enter(desk, *(URL(url=url, site_id=site_id) for url in urls)) == [2, 0, 1, 2]
    assert desk.urls(site_id) == ["http://a.example/", "http://a.example/1"]


def test_urls_that_are_alike_and_others_are_entered_with_their_own_values(desk):
    site_id = desk.site()
    depths = [1, 1, 1, 1, 1, 2, 3, 3, 1, 4, 4, 4, 4]
    urls = [
        URL(url=f"http://a.example/{number}", site_id=site_id, depth=depth, parent_md5=PARENT)
        for number, depth in enumerate(depths)
    ]
    assert enter(desk, *urls, *urls[3:7]) == [0] * len(urls) + [2] * 4
    asked = [URLStatus(site_id=site_id, url=url.url) for url in urls]
    found = url_status(desk.catalog.database, asked)
    assert [(url.url, url.depth) for url in found] == [(url.url, url.depth) for url in urls]
    assert {url.parent_md5 for url in found} == {PARENT}


def test_a_url_that_becomes_known_is_not_fetched_until_somebody_wants_it(desk):
    enter(desk, URL(url="http://a.example/1"))
    assert desk.rows("SELECT state, count(*) FROM url") == [(int(State.EXCLUDED), 1)]


@pytest.mark.req("S3.154")
def test_what_a_url_leaves_open_is_as_its_site_says(desk):
    site_id = desk.site(
        url_type=URLType.SINGLE, request_delay=11, processing_delay=12, http_timeout=13
    )
    desk.add(site_id, "http://a.example/1")
    desk.add(site_id, "http://a.example/2", type=URLType.CHAIN, request_delay=0, http_timeout=1)
    one, two = (desk.url(site_id, f"http://a.example/{n}") for n in (1, 2))
    assert (one.type, one.request_delay, one.processing_delay, one.http_timeout) == (1, 11, 12, 13)
    assert (two.type, two.request_delay, two.processing_delay, two.http_timeout) == (6, 0, 12, 1)


@pytest.mark.req("S3.153", "S3.155", "S3.156")
def test_explicit_goes_to_the_site_that_is_named_or_to_none(desk):
    site_id = desk.site()
    explicit = {"site_select": SiteSelect.EXPLICIT}
    assert enter(
        desk,
        URL(url="http://a.example/1", site_id=site_id, **explicit),
        URL(url="http://a.example/2", site_id="nobody", **explicit),
        URL(url="http://a.example/3", **explicit),
    ) == [0, 0, 0]
    assert desk.urls(site_id) == ["http://a.example/", "http://a.example/1"]
    assert desk.urls("0") == ["http://a.example/2", "http://a.example/3"]


@pytest.mark.req("S3.153", "S3.157")
def test_auto_finds_the_site_of_a_url(desk):
    site_id = desk.site("http://a.example/")
    auto = URL(url="http://a.example/deep/1?x", site_select=SiteSelect.AUTO)
    assert sites_to_make(desk.database, [auto]) == []
    assert enter(desk, auto) == [0]
    assert desk.urls(site_id) == ["http://a.example/", "http://a.example/deep/1?x"]


@pytest.mark.req("S3.153", "S3.158")
def test_auto_makes_the_site_that_is_missing(desk):
    root = "https://new.example:8443/"
    auto = {"site_select": SiteSelect.AUTO, "site_id": "nobody"}
    urls = [URL(url=f"{root}{n}", **auto) for n in range(3)] + [URL(url=root, depth=4, **auto)]
    assert sites_to_make(desk.database, urls) == [site_id_of(root)]
    assert enter(desk, *urls) == [0, 0, 0, 0]
    site = desk.status(site_id_of(root))
    assert (site.state, site.urls, site.priority) == (SiteState.ACTIVE, [root], 100)
    assert desk.urls(site.id) == [root, f"{root}0", f"{root}1", f"{root}2"]
    assert desk.url(site.id, root).depth == 4
    assert site.new_urls == 4


@pytest.mark.req("S3.153", "S3.159")
def test_qualify_goes_to_the_site_that_is_found_and_makes_none(desk):
    site_id = desk.site("http://a.example/")
    qualify = {"site_select": SiteSelect.QUALIFY_URL}
    urls = [URL(url="http://a.example/1", **qualify), URL(url="http://b.example/1", **qualify)]
    assert sites_to_make(desk.database, urls) == []
    assert enter(desk, *urls) == [0, 0]
    assert desk.urls(site_id) == ["http://a.example/", "http://a.example/1"]
    assert desk.urls("0") == ["http://b.example/1"]
    assert desk.status(site_id_of("http://b.example/")).state is SiteState.NOT_FOUND


@pytest.mark.req("S3.155")
def test_by_default_the_site_that_is_named_must_be_there(desk):
    assert enter(desk, URL(url="http://a.example/1", site_id="nobody")) == [1]
    assert enter(desk, URL(url="http://a.example/1")) == [0]
    assert desk.urls("0") == ["http://a.example/1"]


def test_a_url_that_is_there_takes_the_update_that_comes_along(desk):
    site_id = desk.site()
    desk.crawled(site_id, "http://a.example/")
    again = URL(
        url="http://a.example/",
        site_id=site_id,
        url_update=URLUpdate(status=CrawlStatus.NEW, priority=5),
    )
    assert enter(desk, again) == [2]
    url = desk.url(site_id, "http://a.example/")
    assert (url.status, url.priority, url.crawled) == (CrawlStatus.NEW, 5, 1)


def test_a_bad_update_of_one_url_leaves_nothing_of_the_call(desk):
    site_id = desk.site()
    bad = URLUpdate(tc_date="DROP TABLE url")
    urls = [
        URL(url="http://a.example/1", site_id=site_id),
        URL(url="http://a.example/", site_id=site_id, url_update=bad),
    ]
    with pytest.raises(CriterionError):
        enter(desk, *urls)
    assert desk.urls(site_id) == ["http://a.example/"]


def test_all_that_is_given_of_a_url_is_kept(desk):
    site_id = desk.site()
    given = URL(
        url="http://a.example/1",
        site_id=site_id,
        type=URLType.FETCHED,
        state=URLState.DISABLED,
        status=CrawlStatus.CRAWLED,
        crawled=2,
        processed=3,
        content_type="text/html",
        charset="utf-8",
        batch_id=4,
        error_mask=5,
        crawling_time=6,
        processing_time=7,
        total_time=8,
        http_code=200,
        http_method="head",
        size=9,
        links_i=10,
        links_e=11,
        freq=12,
        depth=13,
        raw_content_md5="cd" * 16,
        parent_md5=PARENT,
        content_url_md5="ef" * 16,
        last_modified="2026-01-02T03:04:05Z",
        e_tag='"x"',
        m_rate=0.5,
        m_rate_counter=14,
        u_date="2026-01-02T03:04:06Z",
        c_date="2026-01-02T03:04:07Z",
        tc_date="2026-01-02T03:04:08Z",
        p_date="2026-01-02T03:04:09Z",
        max_urls_from_page=15,
        tags_mask=16,
        tags_count=17,
        priority=-18,
        classifier_mask=19,
        request_delay=20,
        processing_delay=21,
        http_timeout=22,
    )
    assert enter(desk, given) == [0]
    kept = desk.url(site_id, given.url)
    assert kept == replace(given, url_md5=url_md5(given.url))


@pytest.mark.req("S3.37", "S3.162")
def test_a_url_is_found_by_its_text_or_by_its_md5(desk):
    site_id = desk.site()
    md5 = url_md5("http://a.example/")
    asked = [
        URLStatus(url="HTTP://A.example", site_id=site_id),
        URLStatus(url=md5, url_type=URLKey.MD5, site_id=site_id),
        URLStatus(url=md5, site_id=site_id),
        URLStatus(url="http://a.example/", site_id="0"),
        URLStatus(url="http://a.example/", site_id="nobody"),
        URLStatus(url="zz", url_type=URLKey.MD5, site_id=site_id),
    ]
    found = url_status(desk.database, asked)
    assert [(url.url, url.url_md5, url.site_id) for url in found] == [
        ("http://a.example/", md5, site_id)
    ] * 2


@pytest.mark.req("S3.163", "S3.164")
def test_updates_change_what_is_given_one_status_each(desk):
    site_id = desk.site()
    desk.add("0", "http://a.example/")
    updates = [
        URLUpdate(site_id=site_id, url_md5=url_md5("http://a.example/"), size=5, e_tag="x"),
        URLUpdate(url_md5=url_md5("http://a.example/"), size=6),
        URLUpdate(site_id=site_id, url_md5=url_md5("http://a.example/none"), size=7),
        URLUpdate(site_id="nobody", url_md5=url_md5("http://a.example/"), size=8),
    ]
    assert update_urls(desk.catalog, updates, NOW + 9) == [True, True, False, False]
    url = desk.url(site_id, "http://a.example/")
    assert (url.size, url.e_tag, url.status) == (5, "x", CrawlStatus.NEW)
    assert url.u_date == "2027-01-15T08:00:09Z"
    assert desk.url("0", "http://a.example/").size == 6


def test_criterions_select_what_is_updated_one_row_unless_told(desk):
    site_id = desk.site()
    desk.add(site_id, *(f"http://a.example/{n}" for n in range(5)))
    one = URLUpdate(site_id=site_id, state=URLState.DISABLED)
    assert update_urls(desk.catalog, [one], NOW) == [True]
    assert desk.rows("SELECT count(*) FROM member WHERE state = 1") == [(1,)]
    where = Criterions(where="Depth = 0 AND URL LIKE '%/3'", limit=10)
    three = URLUpdate(site_id=site_id, priority=3, criterions=where)
    assert update_urls(desk.catalog, [three], NOW) == [True]
    assert desk.url(site_id, "http://a.example/3").priority == 3
    assert desk.rows("SELECT count(*) FROM member WHERE priority = 3") == [(1,)]


def test_a_date_may_be_made_of_the_row_that_it_changes(desk):
    site_id = desk.site()
    desk.add(site_id, "http://a.example/1", c_date="2026-01-02T03:04:05Z")
    update = URLUpdate(
        site_id=site_id,
        url_md5=url_md5("http://a.example/1"),
        tc_date="DATE_ADD(CDate, INTERVAL 1 DAY)",
    )
    assert update_urls(desk.catalog, [update], NOW) == [True]
    assert desk.url(site_id, "http://a.example/1").tc_date == "2026-01-03T03:04:05Z"


def watched(desk: Desk) -> str:
    names = ("STATS_FREQ_ENABLED", "STATS_LOG_ENABLED")
    return desk.site(properties=Properties(Property(name=name, value="1") for name in names))


def test_what_happens_to_urls_is_recorded_for_sites_that_ask_for_it(desk):
    site_id, plain = watched(desk), desk.site("http://plain.example/")
    desk.add(site_id, "http://a.example/1")
    desk.crawled(site_id, "http://a.example/1")
    desk.crawled(plain, "http://plain.example/")
    md5 = url_md5("http://a.example/1")
    (history,) = url_history(desk.database, [URLHistoryRequest(site_id=site_id, url_md5=md5)], NOW)
    assert [(row["URLMd5"], row["OpCode"]) for row in history.log_rows] == [(md5, 20), (md5, 4)]
    criterions = Criterions(where="OpCode >= 20")
    (history,) = url_history(
        desk.database, [URLHistoryRequest(site_id=site_id, log_criterions=criterions)], NOW
    )
    assert [row["OpCode"] for row in history.log_rows] == [20, 20]
    (stats,) = url_stats(desk.database, [URLStatsRequest(site_id=site_id, url_md5=md5)], NOW)
    assert [(row["FIns"], row["FCrawled"], row["FDel"]) for row in stats.freq_rows] == [(1, 1, 0)]
    by_url = Criterions(where="URL LIKE '%/1'")
    (stats,) = url_stats(
        desk.database, [URLStatsRequest(site_id=site_id, url_criterions=by_url)], NOW
    )
    assert [row["URLMd5"] for row in stats.freq_rows] == [md5]
    assert url_history(desk.database, [URLHistoryRequest(site_id=plain)], NOW)[0].log_rows == []


def test_urls_are_looked_up_in_either_database(desk):
    site_id = desk.site()
    desk.add(site_id, "http://a.example/1")
    update = SiteUpdate(
        id=site_id,
        update_type=UpdateType.APPEND,
        properties=Properties([Property(name="UPDATE_NOT_INSERT_ROOT_URLS", value="1")]),
    )
    update_site(desk.catalog, update, NOW)
    everything = {"site_id": site_id, "criterions": Criterions()}
    live = verify_urls(desk.database, [URLVerify(**everything, db_name="dc_urls")], NOW)
    gone = verify_urls(desk.database, [URLVerify(**everything, db_name="dc_urls_deleted")], NOW)
    assert [url.url for url in live] == ["http://a.example/", "http://a.example/1"]
    assert [url.url for url in gone] == ["http://a.example/"]
    one = URLVerify(site_id=site_id, url="http://a.example/1", db_name="dc_urls_deleted")
    assert verify_urls(desk.database, [one], NOW) == []
    with pytest.raises(ObjectError):
        verify_urls(desk.database, [URLVerify(site_id=site_id)], NOW)
    with pytest.raises(ObjectError, match="dbName: dc_urls or dc_urls_deleted"):
        verify_urls(desk.database, [URLVerify(**everything, db_name="dc_url_deleted")], NOW)


def test_counters_are_counted_anew(desk):
    site_id = desk.site()
    desk.add(site_id, "http://a.example/1")
    desk.crawled(site_id, "http://a.example/1", error_mask=1 << 50)
    before = desk.status(site_id)
    update = SiteUpdate(id=site_id, resources=77, new_urls=0, size=1, errors=9, error_mask=3)
    update_site(desk.catalog, update, NOW)
    assert desk.status(site_id).resources == 77
    assert recalculate(desk.catalog, FieldRecalculator(site_id=site_id), NOW)
    assert desk.status(site_id) == before
    nobody = FieldRecalculator(criterions=Criterions(where="Id = 'nobody'"))
    assert not recalculate(desk.catalog, nobody, NOW)


def test_attributes_that_come_along_belong_to_the_url(desk):
    site_id = desk.site()
    url = URL(
        url="http://a.example/1", site_id=site_id, attributes=[Attribute(name="k", value="v")]
    )
    assert enter(desk, url) == [0]
    assert desk.rows("SELECT url_md5, name, value FROM attribute") == [
        (url_md5("http://a.example/1"), "k", "v")
    ]


@pytest.mark.parametrize("sign", ["ADD", "SUB"])
def test_a_date_beyond_all_calendars_is_the_last_or_the_first_of_them(desk, sign):
    site_id = desk.site()
    far = f"DATE_{sign}(NOW(), INTERVAL 99999999999 DAY)"
    desk.add(site_id, "http://a.example/1", p_date=far)
    update = URLUpdate(site_id=site_id, url="http://a.example/1", tc_date=far)
    assert update_urls(desk.catalog, [update], NOW) == [True]
    update_site(desk.catalog, SiteUpdate(id=site_id, tc_date=far), NOW)
    end = "9999-12-31T23:59:59Z" if sign == "ADD" else "0001-01-01T00:00:00Z"
    url = desk.url(site_id, "http://a.example/1")
    assert (url.p_date, url.tc_date, desk.status(site_id).tc_date) == (end, end, end)
