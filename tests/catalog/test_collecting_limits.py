"""How many of the URLs that are found a site takes, and how room is made for them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from collecting_rig import HOME, Collecting, links
from gossamer.catalog.service_sites import update_site
from gossamer.objects.enumerations import CrawlStatus, ItemStatus, URLType
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import SiteUpdate
from gossamer.url.parts import md5_of

A, B, C = links("a", "b", "c")
FULL = ErrorBit.MAX_RESOURCES_NUMBER
REMOVING = {
    "AUTO_REMOVE_RESOURCES": "2",
    "AUTO_REMOVE_WHERE": "Status = 4",
    "AUTO_REMOVE_ORDER": "Priority ASC",
}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Collecting]:
    rig = Collecting(tmp_path)
    yield rig
    rig.close()


def again(web: Collecting, *found: str) -> None:
    """Have the root crawled once more."""
    web.query("UPDATE member SET status = 1 WHERE doc_id = 1")
    web.has_odd_counters = True
    web.visit(*found)


# --------------------------------------------------------------------------- from one page


def test_a_page_with_more_urls_than_are_taken_has_its_bit(web: Collecting) -> None:
    one = web.make_site(max_urls_from_page=2)
    web.visit(*links(1, 2, 3))
    assert web.urls(one) == {HOME, *links(1, 2)}
    assert web.bits(one) == [ErrorBit.MAX_URLS_FROM_PAGE]
    # It is a crawled page like any other: what was cut off is taken when it is found again.
    assert web.members(one, "state")[HOME] == 0
    again(web, *links(1, 2, 3))
    assert web.urls(one) == {HOME, *links(1, 2, 3)}
    assert web.bits(one) == []


def test_a_page_with_just_as_many_urls_as_are_taken_has_no_bit(web: Collecting) -> None:
    one = web.make_site(max_urls_from_page=2)
    web.visit(*links(1, 2), HOME)
    assert web.urls(one) == {HOME, *links(1, 2)}
    assert web.bits(one) == []


def test_the_limit_of_a_url_counts_where_its_site_has_none(web: Collecting) -> None:
    one = web.make_site()
    web.query("UPDATE member SET max_urls_from_page = 1")
    web.visit(*links(1, 2))
    assert web.urls(one) == {HOME, *links(1)}


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"*": {"max_items": 2}}, [1, 2]),
        ({"*": {"max_items": 2, "offset": 1}}, [2, 3]),
        ({"*": {"offset": 3}}, [4, "x/5"]),
        ({"*": {"max_items": 0}}, []),
        ({"^http://a[.]example/$": {"max_items": 1}, "*": {"max_items": 3}}, [1]),
        ({"b[.]example": {"max_items": 1}}, [1, 2, 3, 4, "x/5"]),
        ({"*": {"max_items": 1, "url_masks": ["/[1-3]$"]}}, [1, 4, "x/5"]),
        ({"*": {"max_items": 1, "content_types": ["text/plain"]}}, [1, 2, 3, 4, "x/5"]),
        ({"*": {"max_items": 1, "content_types": ["text/html"]}}, [1]),
    ],
)
def test_limits_by_pages(web: Collecting, limits: object, expected: list[object]) -> None:
    one = web.make_site(properties={"COLLECT_URLS_LIMITS": json.dumps(limits)})
    web.visit(*links(1, 2, 3, 4, "x/5"))
    assert web.urls(one) == {HOME, *links(*expected)}
    # Nothing else comes when the same page is looked at again.
    again(web, *links(1, 2, 3, 4, "x/5"))
    assert web.urls(one) == {HOME, *links(*expected)}
    assert web.bits(one) == []


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"/x/": {"max_items": 1}}, ["1", "2", "x/3"]),
        ({"/x/": {"max_items": 1}, "*": {"max_items": 1}}, ["1", "x/3"]),
        ({"*": {"max_items": 1}, "/x/": {"max_items": 0}}, ["1"]),
        ({"/x/": {"offset": 1}}, ["1", "2", "x/4"]),
        ({"*": {"max_items": 0, "url_masks": ["4", "1"]}}, ["2", "x/3"]),
    ],
)
def test_limits_by_urls(web: Collecting, limits: object, expected: list[object]) -> None:
    one = web.make_site(properties={"URL_LIMITS": json.dumps(limits)})
    web.visit(*links("1", "2", "x/3", "x/4"))
    assert web.urls(one) == {HOME, *links(*expected)}


# ------------------------------------------------------------------------------- in a site


def test_a_full_site_takes_no_more_and_the_page_has_its_bit(web: Collecting) -> None:
    one = web.make_site(max_urls=3)
    web.visit(A, B, C)
    assert web.urls(one) == {HOME, A, B}
    assert web.bits(one) == [FULL]
    assert web.field(one, "error_mask") == 1 << FULL


def test_a_full_site_refuses_urls_that_are_handed_over(web: Collecting) -> None:
    one = web.make_site(max_urls=3)
    inserted, failed, existed = ItemStatus.INSERTED, ItemStatus.FAILED, ItemStatus.EXISTED
    assert web.add(one, A, A, B, C, HOME) == [inserted, existed, inserted, failed, existed]
    assert web.urls(one) == {HOME, A, B}
    assert web.add(one, C) == [failed]


def test_root_urls_always_have_room(web: Collecting) -> None:
    one = web.make_site(HOME, A, B, max_urls=1)
    assert web.urls(one) == {HOME, A, B}


def test_a_full_site_makes_room_by_deleting_what_it_says(web: Collecting) -> None:
    one = web.make_site(max_urls=5, properties=REMOVING)
    web.visit(*links(1, 2, 3, 4))
    for number, priority in ((1, 40), (2, 10), (3, 30), (4, 20)):
        web.query(
            "UPDATE member SET priority = ? WHERE doc_id = (SELECT doc_id FROM url WHERE url = ?)",
            priority,
            HOME + str(number),
        )
    web.visit()
    again(web, A, B, C)
    # Those of the lowest priority, and not more than it says.
    assert web.deleted(one) == set(links(2, 4))
    assert web.urls(one) == {HOME, *links(1, 3), A, B}
    assert web.bits(one) == [FULL]


def test_what_is_removed_is_counted_and_logged(web: Collecting) -> None:
    stats = {"STATS_FREQ_ENABLED": "1", "STATS_LOG_ENABLED": "1"}
    one = web.make_site(max_urls=2, properties=REMOVING | stats)
    web.visit(A)
    web.visit()
    assert web.add(one, B, parent_md5="ab" * 16) == [ItemStatus.INSERTED]
    assert web.urls(one) == {HOME, B}
    assert web.field(one, "deleted_urls") == 1
    assert web.query("SELECT deleted, delayed FROM url_frequency WHERE deleted > 0") == [(1, 1)]
    logged = web.query("SELECT url_md5, object FROM url_log WHERE operation = 21")
    assert logged == [(md5_of(A).hex(), "CRAWLER_AUTOREMOVE")]


def test_what_is_named_again_is_not_removed_for_what_comes_with_it(web: Collecting) -> None:
    one = web.make_site(max_urls=3, properties=REMOVING)
    web.visit(A, B)
    web.visit()
    inserted, existed = ItemStatus.INSERTED, ItemStatus.EXISTED
    assert web.add(one, A, C, parent_md5="ab" * 16) == [existed, inserted]
    assert web.urls(one) == {HOME, A, C}
    web.visit()
    again(web, C, B)
    assert web.urls(one) == {HOME, C, B}
    # What was removed is as unknown as it was before.
    again(web, A)
    assert A in web.urls(one)


@pytest.mark.parametrize("missing", sorted(REMOVING))
def test_room_is_made_only_if_all_is_said_that_it_needs(web: Collecting, missing: str) -> None:
    said = {name: value for name, value in REMOVING.items() if name != missing}
    one = web.make_site(max_urls=2, properties=said)
    web.visit(A)
    web.visit()
    again(web, B)
    assert web.urls(one) == {HOME, A}


def test_neither_roots_nor_what_is_worked_on_is_removed(web: Collecting) -> None:
    everything = REMOVING | {"AUTO_REMOVE_WHERE": "1 = 1", "AUTO_REMOVE_RESOURCES": "100"}
    one = web.make_site(max_urls=4, properties=everything)
    web.visit(A, B, C)
    # Two are in an open batch, one of them crawled; the third is not.
    web.make(2)
    first, second = sorted(web.lease(), key=lambda due: due.url)
    web.commit(web.bring(first, HOME + "new1", HOME + "new2"))
    assert web.deleted(one) == {C}
    assert web.urls(one) == {HOME, first.url, second.url, HOME + "new1"}
    web.commit(web.bring(second))


@pytest.mark.parametrize("status", [2, 3, 5, 6, 8])
def test_what_is_selected_or_busy_is_not_removed(web: Collecting, status: int) -> None:
    everything = REMOVING | {"AUTO_REMOVE_WHERE": "1 = 1"}
    one = web.make_site(max_urls=2, properties=everything)
    web.visit(A)
    web.query("UPDATE member SET status = ? WHERE parent_md5 <> ''", status)
    again(web, B)
    assert web.urls(one) == {HOME, A}


def test_a_site_may_say_which_urls_count_against_its_limit(web: Collecting) -> None:
    counting = {"AUTO_REMOVE_WHERE_ACTIVE": "ParentMd5 <> ''"}
    one = web.make_site(max_urls=2, properties=counting)
    web.visit(A, B, C)
    assert web.urls(one) == {HOME, A, B}


def test_conditions_that_nobody_has_checked_do_no_harm(web: Collecting) -> None:
    one = web.make_site(max_urls=2, recrawl_period=1)
    for name in ("AUTO_REMOVE_WHERE", "AUTO_REMOVE_WHERE_ACTIVE", "RECRAWL_URL_AGE_EXPRESSION"):
        web.set_property(one, name, "1; DROP TABLE member")
    web.set_property(one, "AUTO_REMOVE_ORDER", "nothing")
    web.set_property(one, "AUTO_REMOVE_RESOURCES", "5")
    web.visit(A, B)
    again(web, A, C)
    assert web.urls(one) == {HOME, A}


# -------------------------------------------------------------------------- found once more


def crawl_all(web: Collecting, **fields: object) -> int:
    """Make a site that has crawled its root and A, and let some time pass."""
    one = web.make_site(**fields)
    web.visit(A)
    web.visit()
    assert set(web.members(one).values()) == {CrawlStatus.CRAWLED}
    web.now += 600.0
    return one


def test_a_url_that_is_found_again_is_new_after_a_period_of_its_site(web: Collecting) -> None:
    one = crawl_all(web, recrawl_period=11)
    again(web, A)
    assert web.members(one)[A] == CrawlStatus.CRAWLED
    web.now += 61.0
    # The engine remembers which URLs it has told a site of; here it has to look.
    again(web, A)
    assert web.members(one)[A] == CrawlStatus.NEW


@pytest.mark.parametrize(
    ("expression", "is_new"),
    [
        ("UDate < DATE_SUB(NOW(), INTERVAL 5 MINUTE)", True),
        ("UDate < DATE_SUB(NOW(), INTERVAL 15 MINUTE)", False),
        ("DATE_ADD(UDate, INTERVAL %RECRAWL_PERIOD% MINUTE) < NOW()", True),
        ("URL LIKE '%/b'", False),
        ("Site_Id = '%SITE_ID%'", True),
    ],
)
def test_a_site_may_say_when_a_known_url_is_old(
    web: Collecting, expression: str, is_new: bool
) -> None:
    properties = {"RECRAWL_URL_AGE_EXPRESSION": expression}
    one = crawl_all(web, properties=properties)
    again(web, A)
    assert web.members(one)[A] == (CrawlStatus.NEW if is_new else CrawlStatus.CRAWLED)


def test_a_site_may_leave_known_urls_alone(web: Collecting) -> None:
    one = crawl_all(web, recrawl_period=1, properties={"RECRAWL_URL_UPDATE": "0"})
    again(web, A)
    assert web.members(one)[A] == CrawlStatus.CRAWLED


def test_a_site_may_say_what_becomes_of_a_url_that_is_found_again(web: Collecting) -> None:
    properties = {
        "RECRAWL_URL_UPDATE_STATUS": "7",
        "RECRAWL_URL_UPDATE_TCDATE": "NOW()",
        "RECRAWL_URL_UPDATE_UDATE": "DATE_ADD(UDate, INTERVAL 1 MINUTE)",
        "RECRAWL_URL_UPDATE_CDATE": "2026-01-02",
    }
    one = crawl_all(web, recrawl_period=1, properties=properties)
    before = web.members(one, "udate")[A]
    again(web, A)
    assert web.members(one)[A] == CrawlStatus.PROCESSED
    assert web.members(one, "tcdate")[A] == web.now
    assert web.members(one, "udate")[A] == before + 60.0
    assert web.members(one, "cdate")[A] == 1_767_312_000.0


@pytest.mark.parametrize("status", [1, 2, 3, 5, 6, 8])
def test_what_somebody_works_on_is_not_renewed(web: Collecting, status: int) -> None:
    one = crawl_all(web, recrawl_period=1, properties={"RECRAWL_URL_UPDATE_STATUS": "4"})
    web.query("UPDATE member SET status = ?, state = 1 WHERE parent_md5 <> ''", status)
    again(web, A)
    assert web.members(one)[A] == status


# ----------------------------------------------------------------------------- rewritten URLs

NORMALIZE = json.dumps(
    {"mask": 5, "replace": [{"[?&]session=[0-9a-f]+": ""}, {"^(.*)/old/": r"\1/new/"}]}
)


def test_urls_are_rewritten_wherever_they_come_from(web: Collecting) -> None:
    one = web.make_site("http://www.a.example/?session=1", properties={"URL_NORMALIZE": NORMALIZE})
    assert web.urls(one) == {HOME}
    assert web.add(one, "http://www.a.example/old/x?session=2f") == [ItemStatus.INSERTED]
    assert web.add(one, "http://a.example/new/x") == [ItemStatus.EXISTED]
    web.visit("http://www.a.example/a", "http://a.example/a?session=77", A)
    assert web.urls(one) == {HOME, HOME + "new/x", A}


def test_rewriting_happens_before_filters_judge(web: Collecting) -> None:
    one = web.make_site(properties={"URL_NORMALIZE": '{"replace": [{"/bad/": "/good/"}]}'})
    web.query(
        "INSERT INTO service_filter (site_id, pattern, action, type, cdate) "
        "SELECT site_id, '/bad/', -1, 0, 0 FROM service_site WHERE set_id = ?",
        one,
    )
    web.visit(HOME + "bad/x")
    assert web.urls(one) == {HOME, HOME + "good/x"}


def test_what_is_no_url_any_more_is_refused(web: Collecting) -> None:
    one = web.make_site(
        properties={
            "URL_NORMALIZE": '{"replace": [{"^http:": "ftp:"}, {"^ftp://a.example/$": "http://a.example/"}]}'
        }
    )
    assert web.add(one, A) == [ItemStatus.FAILED]
    web.visit(B)
    assert web.urls(one) == {HOME}
    update = SiteUpdate(id=web.ids[one], urls=[C])
    with pytest.raises(ObjectError, match=r"Site\.urls: http://a.example/c is no URL any more"):
        update_site(web.catalog, update, web.now)


def test_hosts_are_validated_if_the_mask_says_so(web: Collecting) -> None:
    one = web.make_site(properties={"URL_NORMALIZE_MASK": "2"})
    sound = ("http://b.example/", "http://127.0.0.1/", "http://localhost/", "http://[::1]/")
    web.visit(*sound, "http://intranet/", "http://a_b.example/")
    assert web.urls(one) == {HOME, *sound}


def test_a_replacement_that_never_ends_refuses_the_url_and_has_its_bit(web: Collecting) -> None:
    one = web.make_site(properties={"URL_NORMALIZE": '{"replace": [{"(a+)+$": ""}]}'})
    slow = HOME + "a" * 4_000 + "!"
    web.visit(slow, B)
    assert web.urls(one) == {HOME, B}
    assert web.bits(one) == [ErrorBit.REGULAR_EXPRESSION]
    assert web.add(one, slow) == [ItemStatus.FAILED]


def test_each_site_rewrites_in_its_own_way(web: Collecting) -> None:
    one = web.make_site(url_type=URLType.REGULAR_EXT)
    two = web.make_site("http://www.b.example/", properties={"URL_NORMALIZE_MASK": "1"})
    web.visit("http://www.a.example/x", "http://www.b.example/y")
    assert web.urls(one) == {HOME, "http://www.a.example/x"}
    assert web.urls(two) == {"http://b.example/", "http://b.example/y"}
