"""Batches of the service: selected, handed out, crawled, given up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.objects.enumerations import CrawlerType, CrawlStatus, SiteState, URLState
from gossamer.objects.error_mask import ErrorBit
from gossamer.outcomes import Outcome
from gossamer.service.settings import ServiceSettings
from sites_rig import NORMAL, Sites

HOME = "https://example.org/"
A, B, C = (f"https://example.org/{name}" for name in "abc")
NEW, SELECTED, CRAWLING, CRAWLED = (
    CrawlStatus.NEW,
    CrawlStatus.SELECTED_CRAWLING,
    CrawlStatus.CRAWLING,
    CrawlStatus.CRAWLED,
)


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Sites]:
    rig = Sites(tmp_path)
    yield rig
    rig.close()


# ------------------------------------------------------------------------- selection


@pytest.mark.req("S3.14", "S3.15")
def test_a_url_is_in_one_active_batch_only(sites: Sites) -> None:
    one = sites.site(HOME, A, B)
    assert sites.make(2) == [HOME, A]
    assert sites.make(2) == [B]
    assert sites.make(2) == []
    assert sites.members(one) == {HOME: SELECTED, A: SELECTED, B: SELECTED}


def test_batches_are_shared_among_sites_in_proportion(sites: Sites) -> None:
    large = sites.site(*(f"https://large.example/{n}" for n in range(20)))
    small = sites.site("https://small.example/")
    medium = sites.site(*(f"https://medium.example/{n}" for n in range(3)))
    chosen = sites.make(9)
    hosts = [url.split("/")[2] for url in chosen]
    assert hosts.count("small.example") == 1
    assert hosts.count("medium.example") == 3
    assert hosts.count("large.example") == 5
    assert sites.members(small)["https://small.example/"] == SELECTED
    assert len(set(chosen)) == 9
    del large, medium


def test_sites_of_higher_priority_come_first_and_then_the_longest_waiting(sites: Sites) -> None:
    sites.site("https://a.example/1", "https://a.example/2")
    sites.site("https://b.example/1", priority=200)
    sites.site("https://c.example/1")
    assert sites.make(1) == ["https://b.example/1"]
    assert sites.make(1) == ["https://a.example/1"]
    sites.now += 1
    assert sites.make(1) == ["https://c.example/1"]


def test_only_so_many_batches_are_open_at_once(sites: Sites) -> None:
    sites.site(HOME, A, B)
    assert sites.make(1, max_batches=2) == [HOME]
    assert sites.make(1, max_batches=2) == [A]
    assert sites.make(1, max_batches=2) == []
    sites.crawl()
    assert sites.make(1, max_batches=2) == [B]


def test_a_site_may_take_no_part_in_crawling(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.property(one, "MODES_FLAG", "2")
    assert sites.make() == []


def test_without_modes_a_site_takes_part_in_everything(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.property(one, "MODES_FLAG", "")
    assert sites.make() == [HOME]


@pytest.mark.req("S3.49")
def test_urls_of_sites_that_are_not_active_are_left_out(sites: Sites) -> None:
    for state in SiteState:
        sites.site(f"https://s{state}.example/", state=int(state))
    assert sites.make() == [f"https://s{int(SiteState.ACTIVE)}.example/"]


@pytest.mark.req("S3.50")
@pytest.mark.parametrize(
    ("fields", "mask"),
    [
        ({"max_errors": 3, "errors": 4}, 1 << 14),
        ({"max_resources": 3, "resources": 4}, 1 << 15),
        ({"max_errors": 3, "errors": 4, "max_resources": 3, "resources": 4}, 3 << 14),
    ],
)
def test_a_site_beyond_its_limits_is_suspended(
    sites: Sites, fields: dict[str, int], mask: int
) -> None:
    one = sites.site(HOME, error_mask=1, **fields)
    sites.has_odd_counters = True
    assert sites.make() == []
    assert sites.field(one, "state") == SiteState.SUSPENDED
    assert sites.field(one, "error_mask") == 1 | mask
    assert sites.field(one, "errors") == fields.get("errors", 0) + 1
    assert sites.field(one, "tcdate") == sites.now


@pytest.mark.parametrize(
    "fields", [{"max_errors": 3, "errors": 3}, {"max_errors": 0, "errors": 9}], ids=["at", "none"]
)
def test_a_site_at_its_limit_or_without_one_goes_on(sites: Sites, fields: dict[str, int]) -> None:
    sites.site(HOME, **fields)
    assert sites.make() == [HOME]


# ------------------------------------------------------------------------- crawling


@pytest.mark.req("S3.54")
def test_a_request_that_goes_out_is_counted(sites: Sites) -> None:
    one = sites.site(HOME)
    batch_id, _ = sites.catalog.make_batch(NORMAL, 1, sites.now, 10.0, 1)
    assert sites.members(one) == {HOME: SELECTED}
    (due,) = sites.lease()
    assert due.url == HOME
    assert sites.members(one) == {HOME: CRAWLING}
    assert sites.members(one, "crawled") == {HOME: 1}
    assert sites.members(one, "batch_id") == {HOME: batch_id}


@pytest.mark.req("S3.47", "S3.60")
def test_a_crawled_url_is_remembered_as_it_was_found(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.query("UPDATE member SET error_mask = 5")
    sites.make()
    assert sites.members(one, "error_mask") == {HOME: 0}
    sites.crawl(etag='"1"')
    wanted = {
        "status": CRAWLED,
        "state": URLState.ENABLED,
        "content_type": "text/html",
        "charset": "utf-8",
        "error_mask": 0,
        "total_time": 50,
        "crawling_time": 50,
        "udate": sites.now,
        "http_code": 200,
        "size": 1_000,
        "etag": '"1"',
    }
    assert {name: sites.members(one, name)[HOME] for name in wanted} == wanted
    assert sites.field(one, "resources") == 1
    assert sites.field(one, "size") == 1_000


@pytest.mark.req("S3.57", "S3.59", "S3.61", "S3.62")
@pytest.mark.parametrize(
    ("outcome", "status", "bit"),
    [
        (Outcome.POLICY_ROBOTS, 0, ErrorBit.ROBOTS),
        (Outcome.POLICY_ROBOTS_UNREACHABLE, 0, ErrorBit.ROBOTS),
        (Outcome.NET_TIMEOUT_HEADERS, 0, ErrorBit.TIMEOUT),
        (Outcome.HTTP_5XX, 503, ErrorBit.HTTP_ERROR),
        (Outcome.HTTP_4XX, 404, ErrorBit.HTTP_ERROR),
        (Outcome.NET_REFUSED, 0, ErrorBit.CONNECTION_ERROR),
        (Outcome.OK, 200, ErrorBit.EMPTY_CONTENT),
    ],
)
def test_an_error_has_its_bit_and_ends_the_item(
    sites: Sites, outcome: Outcome, status: int, bit: ErrorBit
) -> None:
    one = sites.site(HOME)
    batch_id, _ = sites.catalog.make_batch(NORMAL, 1, sites.now, 10.0, 1)
    sites.crawl(A, outcome=outcome, status=status, body_bytes=0, pointer=None)
    assert sites.members(one) == {HOME: CRAWLED}
    assert sites.members(one, "state") == {HOME: URLState.ERROR}
    assert sites.members(one, "error_mask")[HOME] >> bit & 1
    assert sites.field(one, "error_mask") >> bit & 1
    assert sites.field(one, "errors") == 1
    (item,) = sites.catalog.batch_items(batch_id)
    assert item.state == 2
    assert sites.catalog.batch_state(batch_id) == 1
    assert sites.lease() == []


def test_what_is_larger_than_the_site_wants_is_an_error(sites: Sites) -> None:
    one = sites.site(HOME, max_resource_size=999)
    sites.make()
    sites.crawl()
    assert sites.members(one, "error_mask")[HOME] == 1 << ErrorBit.SIZE_ERROR


def test_two_sites_that_want_one_url_get_it_by_one_request(sites: Sites) -> None:
    one, two = sites.site(HOME), sites.site(HOME)
    sites.make()
    (due,) = sites.lease()
    assert due.manner is not None
    assert len(due.manner.kept_as) == 2
    sites.commit(sites.bring(due, A))
    for each in (one, two):
        assert sites.members(each) == {HOME: CRAWLED, A: NEW}


def test_headers_and_delays_are_those_of_the_site(sites: Sites) -> None:
    one = sites.site(HOME, request_delay=250, http_timeout=5_000)
    sites.query("UPDATE member SET request_delay = 0, http_timeout = 0")
    sites.property(one, "HTTP_HEADERS", '{"User-Agent": "me", "Accept": ["a", "b"]}')
    sites.property(one, "HTTP_COOKIE", "a=b")
    sites.property(one, "HTTP_AUTH_NAME", "me")
    sites.property(one, "HTTP_AUTH_PWD", "secret")
    sites.make()
    (due,) = sites.lease()
    assert due.manner is not None
    assert dict(due.manner.headers) == {
        "User-Agent": "me",
        "Accept": "a",
        "Cookie": "a=b",
        "Authorization": "Basic bWU6c2VjcmV0",
    }
    assert (due.manner.delay_ms, due.manner.timeout_ms) == (250, 5_000)


def test_a_site_says_which_types_it_wants_and_what_a_code_means(sites: Sites) -> None:
    one, two = sites.site(HOME), sites.site(A)
    sites.property(one, "ALLOWED_CTYPES", "text/plain, application/json")
    sites.property(two, "HTTP_CODE_STATUS_UPDATE", '{"404": 1}')
    sites.property(two, "CONNECTION_TIMEOUT", "2.5")
    sites.make()
    first, second = sites.lease()
    assert first.manner is not None
    assert second.manner is not None
    assert (first.manner.connect_ms, second.manner.connect_ms) == (0, 2_500)
    gone = sites.bring(second, status=404, outcome=Outcome.HTTP_4XX)
    sites.commit(sites.bring(first), gone)
    assert sites.members(one, "error_mask")[HOME] == 1 << ErrorBit.WRONG_MIME_TYPE
    assert sites.members(two)[A] == NEW


# ------------------------------------------------------------------------- redirects


def test_a_redirect_is_followed_and_counts_for_the_url_that_was_wanted(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.make()
    (due,) = sites.lease()
    sites.commit(sites.redirect(due, B))
    (there,) = sites.lease()
    assert there.url == B
    sites.commit(sites.bring(there, A))
    assert sites.members(one) == {HOME: CRAWLED, A: NEW}
    assert sites.members(one, "crawled")[HOME] == 1


@pytest.mark.parametrize(("limit", "visits"), [("0", 1), ("2", 3), ("x", 6)])
def test_only_so_many_redirects_are_followed(sites: Sites, limit: str, visits: int) -> None:
    one = sites.site(HOME)
    sites.property(one, "HTTP_REDIRECTS_MAX", limit)
    sites.make()
    count = 0
    while batch := sites.lease():
        count += 1
        sites.commit(sites.redirect(batch[0], f"https://example.org/r{count}"))
    assert count == visits
    assert sites.members(one, "error_mask")[HOME] == 1 << ErrorBit.MAX_HTTP_REDIRECTS


# ------------------------------------------------------------------- URLs that are found


@pytest.mark.req("S3.68")
def test_urls_on_a_page_become_members_with_what_the_site_says(sites: Sites) -> None:
    one = sites.site(HOME, url_type=1, request_delay=700, http_timeout=900)
    sites.query("UPDATE member SET type = 0, priority = 7")
    sites.make()
    sites.crawl(A, B, A, HOME)
    assert sites.members(one) == {HOME: CRAWLED, A: NEW, B: NEW}
    for name, value in (
        ("type", 1),
        ("request_delay", 700),
        ("http_timeout", 900),
        ("depth", 1),
        ("priority", 7),
        ("cdate", sites.now),
    ):
        assert sites.members(one, name)[A] == value, name
    assert sites.members(one, "parent_md5")[A] != ""
    assert sites.members(one, "parent_md5")[HOME] == ""
    assert sites.field(one, "new_urls") == 2
    # Known, but nobody fetches them before a batch does.
    assert sites.lease() == []
    sites.make()
    sites.crawl(A, B)
    assert set(sites.members(one)) == {HOME, A, B}


@pytest.mark.req("S3.69")
def test_filters_say_which_urls_a_site_wants(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.filter(one, r"example\.org/", 1)
    sites.filter(one, "/b", -1)
    sites.make()
    sites.crawl(A, B, "https://elsewhere.example/a")
    assert set(sites.members(one)) == {HOME, A}


def test_media_have_filters_of_their_own(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.filter(one, r"\.png$", 1, mode=1)
    picture, film = "https://example.org/a.png", "https://example.org/a.mp4"
    sites.make()
    sites.crawl(A, media=(picture, film))
    assert set(sites.members(one)) == {HOME, A, picture}


def test_pages_of_a_single_url_are_not_collected_from(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.query("UPDATE member SET type = 1")
    sites.make()
    sites.crawl(A)
    assert set(sites.members(one)) == {HOME}


def test_limits_of_urls_are_kept(sites: Sites) -> None:
    one = sites.site(HOME, max_urls_from_page=2)
    two = sites.site("https://two.example/", max_urls=3)
    sites.make()
    sites.crawl(*(f"https://example.org/{n}" for n in range(9)))
    assert len(sites.members(one)) == 3
    assert len(sites.members(two)) == 3


def test_a_known_url_that_is_found_again_is_crawled_again_when_it_is_old(sites: Sites) -> None:
    one = sites.site(HOME, A, recrawl_period=60)
    never = sites.site(A)
    sites.has_odd_counters = True
    sites.make()
    sites.crawl()
    sites.now += 3_599
    sites.query("UPDATE member SET status = 1 WHERE parent_md5 = '' AND doc_id = 1")
    sites.make()
    sites.crawl(A)
    assert sites.members(one)[A] == CRAWLED
    sites.now += 2
    sites.catalog._memo.forget()
    sites.query("UPDATE member SET status = 1 WHERE parent_md5 = '' AND doc_id = 1")
    sites.make()
    sites.crawl(A)
    assert sites.members(one)[A] == NEW
    assert sites.members(never)[A] == CRAWLED


# ----------------------------------------------------------------------------- the end


@pytest.mark.req("S3.17")
def test_a_batch_ends_when_all_its_urls_are_crawled(sites: Sites) -> None:
    sites.site(HOME, A)
    batch_id, _ = sites.catalog.make_batch(NORMAL, 5, sites.now, 10.0, 1)
    first, second = sites.lease()
    sites.commit(sites.bring(first))
    assert sites.catalog.batch_state(batch_id) == 0
    sites.commit(sites.bring(second))
    assert sites.catalog.batch_state(batch_id) == 1
    assert [item.status for item in sites.catalog.batch_items(batch_id)] == [CRAWLED, CRAWLED]


def test_a_batch_whose_time_is_over_gives_its_urls_back(sites: Sites) -> None:
    one = sites.site(HOME, A)
    batch_id, _ = sites.catalog.make_batch(NORMAL, 5, sites.now, 10.0, 1)
    first, second = sites.lease()
    sites.commit(sites.bring(first))
    sites.now += 10
    assert sites.catalog.expire_batches(sites.now) == [batch_id]
    assert sites.members(one) == {HOME: CRAWLED, A: NEW}
    assert sites.catalog.batch_state(batch_id) == 2
    # What comes of it after all changes nothing.
    sites.commit(sites.bring(second, B))
    assert sites.members(one) == {HOME: CRAWLED, A: NEW}


def test_a_batch_goes_on_after_the_engine_was_killed(sites: Sites) -> None:
    one = sites.site(HOME)
    sites.make(seconds=1_000)
    assert len(sites.lease()) == 1
    sites.catalog.begin_run(sites.now)
    assert sites.crawl() == [HOME]
    assert sites.members(one) == {HOME: CRAWLED}


@pytest.mark.parametrize("kind", [NORMAL, CrawlerType.INCREMENTAL])
@pytest.mark.parametrize("has_begun", [False, True], ids=["selected", "crawling"])
def test_stuck_urls_are_new_again_unless_their_batch_is_open(
    sites: Sites, kind: int, has_begun: bool
) -> None:
    one = sites.site(HOME, A)
    for _ in range(2):
        sites.catalog.make_batch(kind, 1, sites.now, 100_000.0, 5)
    if has_begun:
        assert len(sites.lease()) == 2
    # Whoever ended the second batch forgot its URL.
    sites.query("UPDATE batch SET state = 2 WHERE batch_id = 2")
    stuck = sites.members(one)[A]
    sites.now += 3_600
    assert sites.catalog.return_stuck(sites.now, 3_600.0, 500) == 0
    sites.now += 1
    assert sites.catalog.return_stuck(sites.now, 3_600.0, 500) == 1
    assert sites.members(one) == {HOME: stuck, A: NEW}
    assert sites.field(one, "new_urls") == 1


@pytest.mark.parametrize(
    ("status", "then"), [(2, NEW), (3, NEW), (8, NEW), (5, CRAWLED), (6, CRAWLED)]
)
def test_urls_that_a_client_has_selected_and_left_are_returned(
    sites: Sites, status: int, then: int
) -> None:
    one = sites.site(HOME, A)
    sites.query("UPDATE member SET status = ?, tcdate = NULL, udate = ?", status, sites.now)
    sites.has_odd_counters = True
    sites.now += 3_600
    assert sites.catalog.return_stuck(sites.now, 3_600.0, 500) == 0
    sites.now += 1
    assert sites.catalog.return_stuck(sites.now, 3_600.0, 1) == 1
    assert sites.catalog.return_stuck(sites.now, 3_600.0, 500) == 1
    assert sites.members(one) == {HOME: then, A: then}


def test_no_more_urls_are_returned_at_once_than_asked_for(sites: Sites) -> None:
    sites.site(HOME, A, B)
    sites.make(3, seconds=1.0)
    sites.query("UPDATE batch SET state = 2")
    sites.now += 100
    assert sites.catalog.return_stuck(sites.now, 10.0, 2) == 2
    assert sites.catalog.return_stuck(sites.now, 10.0, 2) == 1


@pytest.mark.parametrize(
    ("kind", "status"),
    [(CrawlerType.NORMAL, 2), (CrawlerType.INCREMENTAL, 8), (CrawlerType.REAL_TIME, 2)],
)
def test_incremental_crawling_selects_with_a_status_of_its_own(
    sites: Sites, kind: CrawlerType, status: int
) -> None:
    one = sites.site(HOME)
    sites.catalog.make_batch(kind, 1, sites.now, 10.0, 1)
    assert sites.members(one) == {HOME: status}
    sites.now += 10
    sites.catalog.expire_batches(sites.now)
    assert sites.members(one) == {HOME: NEW}
    assert sites.field(one, "new_urls") == 1


# ------------------------------------------------------- order and limits of regular crawling


def test_urls_are_taken_in_the_order_of_regular_crawling(sites: Sites) -> None:
    """Roots first, then by priority, the least deep, the last touched (4b.8)."""
    sites.site(HOME, A)
    urls = [f"https://example.org/{number}" for number in range(6)]
    sites.make()
    sites.crawl(*urls)
    fields = {
        # priority, depth, udate
        urls[0]: (1, 1, 10),
        urls[1]: (9, 3, 10),
        urls[2]: (9, 2, 10),
        urls[3]: (9, 2, 20),
        urls[4]: (1, 1, 30),
        HOME: (0, 9, 10),
        A: (1, 0, 10),
    }
    for url, values in fields.items():
        sites.query(
            "UPDATE member SET priority = ?, depth = ?, udate = ? "
            "WHERE doc_id = (SELECT doc_id FROM url WHERE url = ?)",
            *values,
            url,
        )
    sites.query("UPDATE member SET status = 1 WHERE parent_md5 = ''")
    wanted = [A, HOME, urls[3], urls[2], urls[1], urls[4], urls[0], urls[5]]
    taken = [sites.make(1, max_batches=100) for _ in wanted]
    assert [url for batch in taken for url in batch] == wanted
    sites.has_odd_counters = True


def test_urls_that_are_no_longer_enabled_and_entries_of_feeds_are_not_taken(sites: Sites) -> None:
    sites.site(HOME, A, B)
    sites.query("UPDATE member SET state = 1 WHERE doc_id = 1")
    sites.query("UPDATE member SET type = 4 WHERE doc_id = 2")
    assert sites.make() == [B]
    assert sites.make() == []


def test_the_settings_of_regular_crawling_are_those_of_the_document() -> None:
    crawling = ServiceSettings().crawling
    assert (crawling.period_seconds, crawling.batch_size, crawling.max_batches) == (20.0, 5, 2)
    assert (crawling.batch_seconds, crawling.batch_kill_seconds) == (300.0, 360.0)
    assert (crawling.task_ttl_seconds, crawling.check_period_seconds) == (900.0, 5.0)


def test_the_time_of_a_batch_counts_from_its_first_request(sites: Sites) -> None:
    """It may wait for 900 s, and then take 360 s."""
    one = sites.site(HOME, A)
    make = sites.catalog.make_batch
    waits, _ = make(NORMAL, 1, sites.now, 360.0, 5, ttl=900.0)
    sites.now += 899
    assert sites.catalog.expire_batches(sites.now) == []
    sites.lease()
    sites.now += 359
    assert sites.catalog.expire_batches(sites.now) == []
    never, _ = make(NORMAL, 1, sites.now, 360.0, 5, ttl=900.0)
    sites.now += 1
    assert sites.catalog.expire_batches(sites.now) == [waits]
    sites.now += 898
    assert sites.catalog.expire_batches(sites.now) == []
    sites.now += 1
    assert sites.catalog.expire_batches(sites.now) == [never]
    assert sites.members(one) == {HOME: NEW, A: NEW}


def test_batches_that_ended_long_ago_are_forgotten(sites: Sites) -> None:
    sites.site(HOME)
    batch_id, _ = sites.catalog.make_batch(NORMAL, 5, sites.now, 10.0, 1)
    sites.crawl()
    sites.catalog.forget_batches(sites.now)
    assert sites.catalog.batch_state(batch_id) == 1
    sites.catalog.forget_batches(sites.now + 1)
    assert sites.catalog.batch_state(batch_id) is None
    assert sites.query("SELECT count(*) FROM batch_item") == [(0,)]
