"""URL operations over the catalog and the contents of every storage type."""

import base64
import json

import pytest
from operations_desk import ROOT, SITE, Desk
from service_rig import EXAMPLES

from gossamer.objects.answers import GeneralResponse
from gossamer.objects.coding import decode
from gossamer.objects.content import URLContentRequest, URLFetch
from gossamer.objects.enumerations import (
    ContentKind,
    ContentTypeMask,
    CrawlStatus,
    DelayedType,
    Operation,
    SiteSelect,
    URLKey,
    URLState,
)
from gossamer.objects.extras import Attribute, AttributeFetch
from gossamer.objects.normal import site_id_of, url_md5
from gossamer.objects.problems import ObjectError
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Properties, Property, SiteUpdate
from gossamer.objects.url import (
    URL,
    FieldRecalculator,
    URLAge,
    URLCleanup,
    URLDelete,
    URLHistoryRequest,
    URLPurge,
    URLPut,
    URLStatsRequest,
    URLStatus,
    URLUpdate,
    URLVerify,
)
from gossamer.service import url_contents

PAGE = "http://a.example/page"
OTHER = "http://a.example/other"
HEADER = b"HTTP/1.1 200 OK\r\n\r\n"
DELAYED = {"delayed_type": DelayedType.DELAYED}


@pytest.fixture(params=[0, 1, 2], ids=["key-value", "table", "warc"])
def desk(request, tmp_path):
    made = Desk(tmp_path, request.param)
    yield made
    assert made.is_sound()
    made.close()


@pytest.fixture
def filled(desk):
    """A site with two pages that were crawled and processed."""
    desk.site(ROOT)
    desk.add(SITE, PAGE, OTHER)
    for url in (PAGE, OTHER):
        desk.put(SITE, url, b"<p>" + url.encode())
        desk.put(SITE, url, b'{"default": {"title": "x"}}', ContentKind.PROCESSOR)
        update = URLUpdate(
            site_id=SITE,
            url=url,
            status=CrawlStatus.PROCESSED,
            crawled=1,
            processed=1,
            tags_count=1,
            content_type="text/html",
        )
        desk.statuses("URL_UPDATE", [update])
    return desk


def text_of(content) -> bytes:
    return base64.b64decode(content.buffer)


def purge(desk: Desk, **fields) -> list[object]:
    return desk.statuses("URL_PURGE", [URLPurge(**{"site_limits": (0, -1), **fields})])


# ------------------------------------------------------------------------------- entered


@pytest.mark.req("S3.31", "S3.113", "S3.161")
def test_new_urls_have_a_status_each(desk):
    desk.site(ROOT)
    urls = [URL(url=url, site_id=SITE) for url in (PAGE, ROOT, "no url at all")]
    assert desk.do("URL_NEW", urls) == GeneralResponse(statuses=[0, 2, 1])


@pytest.mark.req("S3.158")
def test_a_site_that_is_made_by_a_url_has_room_for_contents(desk):
    root = "https://new.example/"
    assert desk.statuses("URL_NEW", [URL(url=f"{root}1", site_select=SiteSelect.AUTO)]) == [0]
    desk.put(site_id_of(root), f"{root}1", b"x")
    desk.put(site_id_of(root), f"{root}1", b"{}", ContentKind.PROCESSOR)
    assert desk.content(site_id_of(root), f"{root}1").status == 0


def test_content_that_comes_along_with_a_url_is_stored(desk):
    desk.site(ROOT)
    put = URLPut(put_dict={"data": base64.b64encode(b"hello").decode()})
    urls = [URL(url=PAGE, site_id=SITE, url_put=put), URL(url="no url", url_put=put)]
    assert desk.statuses("URL_NEW", urls) == [0, 1]
    (content,) = desk.content(SITE, PAGE, int(ContentTypeMask.RAW_LAST)).raw_contents
    assert text_of(content) == b"hello"


def test_content_that_cannot_be_read_refuses_the_whole_call(desk):
    desk.site(ROOT)
    put = URLPut(put_dict={"data": "not base64!"})
    answer = desk.general("URL_NEW", [URL(url=OTHER), URL(url=PAGE, site_id=SITE, url_put=put)])
    assert "base64" in answer.error_message
    assert desk.urls(SITE) == [ROOT]
    assert desk.urls("0") == []


# ------------------------------------------------------------------------------- removed


@pytest.mark.req("S3.165", "S3.166", "S3.167", "S3.169")
def test_a_deleted_url_goes_with_all_its_contents(filled):
    md5 = url_md5(PAGE)
    filled.statuses("ATTR_SET", [Attribute(site_id=SITE, url_md5=md5, name="k", value="v")])
    filled.add("0", PAGE)
    deletes = [
        URLDelete(site_id=SITE, url=PAGE),
        URLDelete(site_id=SITE, url=url_md5(OTHER), url_type=URLKey.MD5),
        URLDelete(site_id=SITE, url=PAGE),
        URLDelete(url=PAGE),
        URLDelete(site_id="f" * 32, url=PAGE),
    ]
    assert filled.statuses("URL_DELETE", deletes) == [True, True, False, True, False]
    assert filled.urls(SITE) == [ROOT]
    assert filled.urls("0") == []
    assert filled.deleted(SITE) == {PAGE: 2, OTHER: 2}
    for url in (PAGE, OTHER):
        assert filled.raw(SITE, url) == []
        assert not filled.processed(SITE, url)
    fetch = AttributeFetch(site_id=SITE, name="k", url_md5=md5)
    assert filled.do("ATTR_FETCH", [fetch]) == []


@pytest.mark.req("S3.168")
def test_a_deletion_takes_resources_and_contents_off_the_counters(filled):
    before = filled.status()
    assert (before.resources, before.contents, before.deleted_urls) == (2, 2, 0)
    filled.statuses("URL_DELETE", [URLDelete(site_id=SITE, url=PAGE)] * 2)
    after = filled.status()
    assert (after.resources, after.contents, after.deleted_urls) == (1, 1, 1)
    filled.statuses("URL_DELETE", [URLDelete(site_id=SITE, url=ROOT)])
    last = filled.status()
    assert (last.resources, last.contents, last.new_urls) == (1, 1, 0)


def test_a_delayed_deletion_leaves_contents_to_the_purge(filled):
    criterions = Criterions(where="URL LIKE '%/page'")
    delete = URLDelete(site_id=SITE, criterions=criterions, **DELAYED)
    assert filled.statuses("URL_DELETE", [delete]) == [True]
    assert filled.deleted(SITE) == {PAGE: 1}
    assert filled.raw(SITE, PAGE)
    assert purge(filled) == [["0", 0], [SITE, 1]]
    assert filled.deleted(SITE) == {}
    assert filled.raw(SITE, PAGE) == []
    assert filled.status().deleted_urls == 0


def test_the_purge_spares_the_contents_of_what_lives_again(filled):
    filled.statuses("URL_DELETE", [URLDelete(site_id=SITE, url=PAGE, **DELAYED)])
    filled.clock.advance(10)
    filled.add(SITE, PAGE)
    filled.put(SITE, PAGE, b"again")
    assert purge(filled, site_id=SITE, site_limits=None) == [[SITE, 1]]
    assert filled.raw(SITE, PAGE)[-1] == b"again"


def test_the_purge_goes_as_far_as_it_is_told(filled):
    for url in (PAGE, OTHER):
        filled.statuses("URL_DELETE", [URLDelete(site_id=SITE, url=url)])
    assert purge(filled, site_limits=(5, 5)) == []
    assert purge(filled, site_limits=(1, 1), criterions=Criterions(limit=1)) == [[SITE, 1]]
    (left,) = filled.deleted(SITE)
    (gone,) = {PAGE, OTHER} - {left}
    named = {"site_id": SITE, "site_limits": None}
    assert purge(filled, **named, url=gone) == [[SITE, 0]]
    assert purge(filled, **named, url=left) == [[SITE, 1]]
    assert filled.deleted(SITE) == {}


@pytest.mark.req("S3.170", "S3.171")
def test_a_cleaned_up_url_starts_again_without_contents(filled):
    filled.statuses("SITE_UPDATE", SiteUpdate(id=SITE, recrawl_period=10))
    cleanups = [
        URLCleanup(site_id=SITE, url=PAGE),
        URLCleanup(site_id=SITE, url="http://a.example/none"),
        URLCleanup(
            site_id=SITE, url=OTHER, state=URLState.DISABLED, status=CrawlStatus.CRAWLED, **DELAYED
        ),
    ]
    assert filled.statuses("URL_CLEANUP", cleanups) == [True, False, True]
    page, other = filled.url(SITE, PAGE), filled.url(SITE, OTHER)
    assert (page.state, page.status, page.size, page.content_mask) == (0, 1, 0, 0)
    assert (other.state, other.status) == (URLState.DISABLED, CrawlStatus.CRAWLED)
    assert page.u_date < other.u_date
    assert filled.raw(SITE, PAGE) == []
    assert not filled.processed(SITE, PAGE)
    assert filled.raw(SITE, OTHER)
    purge(filled)
    assert filled.raw(SITE, OTHER) == []
    assert filled.urls(SITE) == [ROOT, OTHER, PAGE]


def test_old_urls_are_deleted(filled):
    filled.site("http://young.example/")
    where = Criterions(where="ParentMd5 <> '' AND UDate < DATE_SUB(NOW(), INTERVAL 1 DAY)")
    age = URLAge(urls_criterions=where, sites_criterions=Criterions(where="State = 1"))
    assert filled.statuses("URL_AGE", [age]) == [0]
    filled.clock.advance(2 * 86_400)
    one = URLAge(
        urls_criterions=where, sites_criterions=Criterions(where="State = 1"), max_urls=1, **DELAYED
    )
    assert filled.statuses("URL_AGE", [one]) == [1]
    assert list(filled.deleted(SITE).values()) == [1]
    assert filled.statuses("URL_AGE", [age]) == [1]
    assert filled.urls(SITE) == [ROOT]
    assert sorted(filled.deleted(SITE).values()) == [1, 2]


def test_a_site_may_have_a_rule_of_its_own_for_aging(filled):
    update = SiteUpdate(
        id=SITE,
        properties=Properties([Property(name="AGING_URL_CRITERION", value="URL LIKE '%/other'")]),
    )
    filled.statuses("SITE_UPDATE", update)
    age = URLAge(urls_criterions=Criterions(where="1 = 0"), sites_criterions=Criterions())
    assert filled.statuses("URL_AGE", [age]) == [1]
    assert filled.urls(SITE) == [ROOT, PAGE]


def test_each_way_to_go_is_counted(desk):
    names = ("STATS_FREQ_ENABLED", "STATS_LOG_ENABLED")
    desk.site(ROOT, properties=Properties(Property(name=name, value="1") for name in names))
    desk.add(SITE, PAGE)
    desk.put(SITE, PAGE, b"x")
    desk.statuses("URL_CLEANUP", [URLCleanup(site_id=SITE, url=PAGE)])
    desk.statuses("URL_DELETE", [URLDelete(site_id=SITE, url=PAGE, **DELAYED)])
    purge(desk)
    desk.add(SITE, PAGE)
    aged = Criterions(where="ParentMd5 <> ''")
    desk.statuses("URL_AGE", [URLAge(urls_criterions=aged, sites_criterions=Criterions())])
    md5 = url_md5(PAGE)
    (stats,) = desk.do("URL_STATS", [URLStatsRequest(site_id=SITE, url_md5=md5)])
    (row,) = stats.freq_rows
    counted = [row[name] for name in ("FIns", "FDel", "FDeleted", "FPurged", "FAged")]
    assert counted == [2, 1, 1, 1, 1]
    (history,) = desk.do("URL_HISTORY", [URLHistoryRequest(site_id=SITE, url_md5=md5)])
    assert [entry["OpCode"] for entry in history.log_rows] == [20, 22, 25, 23, 21, 20, 24]


# ------------------------------------------------------------------------------ contents


@pytest.mark.req("S3.174", "S3.175", "S3.176", "S3.177")
def test_contents_are_answered_one_for_each_request(filled):
    requests = [
        URLContentRequest(site_id=SITE, url=PAGE),
        URLContentRequest(site_id=SITE, url_md5=url_md5(OTHER)),
        URLContentRequest(site_id=SITE, url="http://a.example/none"),
        URLContentRequest(site_id=SITE, url=ROOT),
    ]
    page, other, none, root = filled.do("URL_CONTENT", requests)
    assert [text_of(each) for each in page.raw_contents] == [b"<p>" + PAGE.encode()]
    assert [text_of(each) for each in page.processed_contents] == [b'{"title":"x"}']
    assert page.processed_contents[0].type_id is ContentKind.PROCESSOR
    assert (page.url, page.url_md5, page.site_id, page.status) == (PAGE, url_md5(PAGE), SITE, 0)
    assert text_of(other.raw_contents[0]) == b"<p>" + OTHER.encode()
    assert (none.url, none.status, none.raw_contents) == ("http://a.example/none", 1, [])
    assert (root.status, root.raw_contents, root.processed_contents) == (2, [], [])


@pytest.mark.req("S3.176")
def test_first_last_and_all_versions_are_told_apart(filled):
    filled.put(SITE, PAGE, b"second")
    filled.put(SITE, PAGE, b"third")
    first, last = b"<p>" + PAGE.encode(), b"third"
    mask = ContentTypeMask

    def raw(bits: ContentTypeMask) -> list[bytes]:
        return [text_of(each) for each in filled.content(SITE, PAGE, int(bits)).raw_contents]

    assert raw(mask.RAW_LAST) == [last]
    assert raw(mask.RAW_FIRST) == [first]
    assert raw(mask.RAW_ALL) == [first, b"second", last]
    assert raw(mask.RAW_FIRST | mask.RAW_LAST) == [first, last]
    assert raw(mask.PROCESSED) == []
    assert raw(mask.RAW_LAST | mask.TIDY) == []
    assert raw(mask.RAW_LAST | mask.TIDY | mask.RAW) == [last]


def test_what_came_along_with_a_raw_content_is_added_if_asked_for(filled):
    filled.put(SITE, PAGE, HEADER, ContentKind.HEADERS)
    filled.put(SITE, PAGE, b"second")
    mask = ContentTypeMask.RAW_ALL | ContentTypeMask.HEADERS | ContentTypeMask.COOKIES
    answer = filled.content(SITE, PAGE, int(mask))
    assert len(answer.raw_contents) == 2
    assert answer.headers[1] is None
    assert text_of(answer.headers[0]) == HEADER
    assert answer.headers[0].type_id is ContentKind.HEADERS
    assert answer.cookies == [None, None]
    assert answer.requests == []


def test_parts_of_processed_contents(filled):
    made = b'{"default": {"d": 1}, "internal": [{"i": 1}, {"i": 2}], "custom": ["c1", "c2"]}'
    filled.put(SITE, PAGE, made, ContentKind.PROCESSOR)
    mask = ContentTypeMask

    def parts(bits: ContentTypeMask) -> list[bytes]:
        answer = filled.content(SITE, PAGE, int(bits))
        return [text_of(each) for each in answer.processed_contents]

    assert parts(mask.PROCESSED) == [b"c1"]
    assert parts(mask.PROCESSED_INTERNAL) == [b'{"i":1}', b'{"i":2}']
    assert parts(mask.PROCESSED_CUSTOM) == [b"c1", b"c2"]
    assert parts(mask.PROCESSED_INTERNAL | mask.PROCESSED_CUSTOM) == [
        b'[{"i":1},"c1"]',
        b'[{"i":2},"c2"]',
    ]
    (whole,) = parts(mask.PROCESSED_ALL)
    assert b'"default"' in whole
    assert b'"custom"' in whole


def test_columns_and_attributes_come_along(filled):
    md5 = url_md5(PAGE)
    filled.statuses("ATTR_SET", [Attribute(site_id=SITE, url_md5=md5, name="k", value="v")])
    answer = filled.content(
        SITE,
        PAGE,
        int(ContentTypeMask.ATTRIBUTES | ContentTypeMask.RAW_LAST),
        db_fields_list=["Status", "TagsCount", "PDate", "Nothing", "URLMd5"],
        db_fields_list_default_values={"PDate": "never", "Nothing": 0},
    )
    assert answer.db_fields == {
        "Status": 7,
        "TagsCount": 1,
        "PDate": "never",
        "Nothing": 0,
        "URLMd5": md5,
    }
    assert [(each.name, each.value) for each in answer.attributes] == [("k", "v")]
    assert filled.content(SITE, PAGE).attributes == []


def test_contents_of_all_that_a_fetch_selects(filled):
    fetch = URLFetch(
        sites_list=[SITE],
        urls_criterions=Criterions(where="Status = 7", order_by="URL ASC"),
        url_update=URLUpdate(priority=9),
    )
    answers = filled.do("URL_CONTENT", [URLContentRequest(url_fetch=fetch)])
    assert [answer.url for answer in answers] == [OTHER, PAGE]
    assert all(answer.raw_contents and answer.processed_contents for answer in answers)
    assert filled.url(SITE, PAGE).priority == 9


def test_more_contents_than_one_answer_holds_are_refused(filled, monkeypatch):
    monkeypatch.setattr(url_contents, "MAX_MESSAGE", 100)
    requests = [URLContentRequest(site_id=SITE, url=url) for url in (PAGE, OTHER, PAGE)]
    assert filled.do("URL_CONTENT", requests[:1])[0].raw_contents
    with pytest.raises(ObjectError, match="at most 100 bytes together"):
        filled.do("URL_CONTENT", requests)


def test_putting_marks_the_url(filled):
    filled.put(SITE, ROOT, b"12345")
    url = filled.url(SITE, ROOT)
    assert (url.content_mask, url.size) == (1, 5)
    assert url.raw_content_md5 == "827ccb0eea8a706c4c34a16891f84e7b"
    assert url.tc_date is not None


def test_what_cannot_be_put_is_told(filled):
    text = base64.b64encode(b"x").decode()
    puts = [
        URLPut(site_id=SITE, url_md5="0" * 32, put_dict={"data": text}),
        URLPut(site_id="f" * 32, url_md5=url_md5(PAGE), put_dict={"data": text}),
        URLPut(site_id=SITE, url_md5=url_md5(ROOT), content_type=2, put_dict={"data": text}),
    ]
    assert filled.statuses("URL_PUT", puts) == [False, False, False]
    for wrong in (
        URLPut(site_id=SITE, url_md5=url_md5(PAGE), put_dict={"data": "?"}),
        URLPut(site_id=SITE, url_md5=url_md5(PAGE), put_dict={}),
        URLPut(site_id=SITE, url_md5=url_md5(PAGE), content_type=77, put_dict={"data": text}),
        URLPut(site_id=SITE, url_md5=url_md5(PAGE), content_type=1, put_dict={"data": text}),
        URLPut(site_id=SITE, put_dict={"data": text}),
    ):
        assert filled.general("URL_PUT", [wrong]).error_code == 2021
    assert filled.raw(SITE, PAGE) == [b"<p>" + PAGE.encode()]


# ------------------------------------------------------------------------------- the rest


@pytest.mark.req("S3.113", "S3.162", "S3.163", "S3.164")
def test_status_update_verify_and_recalculation_go_through(filled):
    assert [url.url for url in filled.do("URL_STATUS", [URLStatus(site_id=SITE, url=PAGE)])] == [
        PAGE
    ]
    updates = [URLUpdate(site_id=SITE, url=PAGE, depth=3), URLUpdate(site_id=SITE, url="x")]
    assert filled.do("URL_UPDATE", updates) == GeneralResponse(statuses=[True, False])
    (url,) = filled.do("URL_VERIFY", [URLVerify(site_id=SITE, url=PAGE)])
    assert url.depth == 3
    assert filled.statuses("FIELD_RECALCULATE", [FieldRecalculator(site_id=SITE)]) == [True]


def test_a_condition_that_makes_no_sense_changes_nothing(filled):
    bad = Criterions(where="Status = 7 OR 1=1; --")
    for name, request in (
        ("URL_DELETE", URLDelete(site_id=SITE, criterions=bad)),
        ("URL_CLEANUP", URLCleanup(site_id=SITE, criterions=bad)),
        ("URL_UPDATE", URLUpdate(site_id=SITE, criterions=bad)),
        ("URL_PURGE", URLPurge(site_id=SITE, criterions=bad)),
        ("URL_AGE", URLAge(urls_criterions=bad)),
        ("FIELD_RECALCULATE", FieldRecalculator(criterions=bad)),
    ):
        first = URLDelete(site_id=SITE, url=PAGE)
        requests = [first, request] if name == "URL_DELETE" else [request]
        answer = filled.general(name, requests)
        assert answer.error_code == 2021, name
        assert "criterions" in answer.error_message, name
    with pytest.raises(ObjectError):
        filled.do("URL_FETCH", [URLFetch(urls_criterions=bad)])
    assert filled.urls(SITE) == [ROOT, OTHER, PAGE]
    assert filled.deleted(SITE) == {}


def test_the_sample_of_aging_deletes_old_pages_and_no_roots(desk):
    desk.site(ROOT)
    desk.add(SITE, PAGE)
    sample = json.loads((EXAMPLES / "url-age.json").read_text())
    age = decode(Operation.URL_AGE, sample)
    assert desk.statuses("URL_AGE", age) == [0]
    desk.clock.advance(31 * 86_400)
    assert desk.statuses("URL_AGE", age) == [1]
    assert desk.url(SITE, PAGE) is None
    assert desk.url(SITE, ROOT) is not None
