"""What becomes of URLs that are found on pages: whose they are, and what they begin with."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from collecting_rig import HOME, Collecting, links
from gossamer.catalog.batch_facts import BatchOrder, Wanted
from gossamer.catalog.service_removal import delete_sites
from gossamer.objects.enumerations import (
    CrawlStatus,
    DelayedType,
    FilterOperation,
    FilterStage,
    FilterType,
    URLState,
    URLType,
)
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.item_wishes import Wishes, written
from gossamer.objects.normal import site_id_of
from gossamer.objects.problems import ObjectError
from gossamer.objects.site import Filter, SiteDelete
from gossamer.url.parts import md5_of

OTHER = "http://b.example/"
A, B, C = links("a", "b", "c")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Collecting]:
    rig = Collecting(tmp_path)
    yield rig
    rig.close()


def exclude(pattern: str, **fields: object) -> Filter:
    return Filter(pattern=pattern, type=FilterType.EXCLUDE, **fields)


def include(pattern: str, **fields: object) -> Filter:
    return Filter(pattern=pattern, type=FilterType.INCLUDE, **fields)


# ------------------------------------------------------------------------------ URL types


@pytest.mark.parametrize(
    ("kind", "collects"),
    [
        (URLType.REGULAR, True),
        (URLType.SINGLE, False),
        (URLType.REGULAR_EXT, True),
        (URLType.NEW_SITE, True),
        (URLType.FETCHED, False),
        (URLType.REAL_TIME_CRAWLER, True),
        (URLType.CHAIN, False),
    ],
)
def test_the_type_of_a_page_says_if_it_is_collected_from(
    web: Collecting, kind: URLType, collects: bool
) -> None:
    one = web.make_site(url_type=kind)
    web.query("UPDATE member SET type = ?", int(kind))
    web.visit(A)
    assert web.urls(one) == ({HOME, A} if collects else {HOME})


def test_urls_of_a_regular_page_are_for_its_own_site_only(web: Collecting) -> None:
    one, two = web.make_site(), web.make_site(OTHER)
    web.visit(A, OTHER + "x")
    assert web.urls(one) == {HOME, A, OTHER + "x"}
    assert web.urls(two) == {OTHER}


def test_urls_of_an_extended_page_go_to_the_sites_of_their_hosts(web: Collecting) -> None:
    one = web.make_site(url_type=URLType.REGULAR_EXT)
    two = web.make_site(OTHER, filters=[exclude("/no")], request_delay=900)
    three = web.make_site(OTHER + "deep/root")
    stranger = "http://c.example/y"
    web.visit(A, OTHER + "x", OTHER + "no", stranger)
    assert web.urls(one) == {HOME, A, stranger}
    assert web.urls(two) == {OTHER, OTHER + "x"}
    assert web.urls(three) == {OTHER + "deep/root", OTHER + "x", OTHER + "no"}
    # There, it is one of that site's own; but it is known where it was found.
    assert web.members(two, "type")[OTHER + "x"] == URLType.REGULAR
    assert web.members(two, "request_delay")[OTHER + "x"] == 900
    assert web.members(two, "parent_md5")[OTHER + "x"] == md5_of(HOME).hex()
    assert web.members(one, "type")[A] == URLType.REGULAR_EXT


def test_hosts_of_which_one_begins_like_the_other_are_two(web: Collecting) -> None:
    one = web.make_site(url_type=URLType.REGULAR_EXT)
    two = web.make_site("http://b.example/")
    port = web.make_site("http://c.example:81/")
    strangers = {"http://b.example.org/", "http://b.example:81/", "https://b.example/"}
    strangers |= {"http://c.example/", "http://c.example:8/"}
    web.visit(*strangers)
    assert web.urls(one) == {HOME, *strangers}
    assert web.urls(two) == {OTHER}
    assert web.urls(port) == {"http://c.example:81/"}


def test_a_site_is_made_for_a_host_that_none_has(web: Collecting) -> None:
    one = web.make_site(url_type=URLType.NEW_SITE, filters=[exclude("/never")])
    two = web.make_site(OTHER)
    web.visit(A, OTHER + "x", "http://c.example/y", "http://c.example/z", "http://d.example/never")
    made = web.set_of(site_id_of("http://c.example/"))
    assert web.urls(one) == {HOME, A}
    assert web.urls(two) == {OTHER, OTHER + "x"}
    assert web.urls(made) == {"http://c.example/", "http://c.example/y", "http://c.example/z"}
    assert web.members(made, "parent_md5")["http://c.example/"] == ""
    assert web.members(made, "parent_md5")["http://c.example/y"] == md5_of(HOME).hex()
    assert web.query("SELECT count(*) FROM service_site WHERE site_id > 0") == [(3,)]
    # What is found there is for that site only: one page does not lead through the whole web.
    assert set(web.members(made, "type").values()) == {URLType.REGULAR}


def test_a_site_whose_contents_are_still_being_removed_is_not_made_again(web: Collecting) -> None:
    one = web.make_site(url_type=URLType.NEW_SITE)
    gone = "http://c.example/"
    web.make_site(gone)
    request = SiteDelete(id=site_id_of(gone), delayed_type=DelayedType.DELAYED)
    delete_sites(web.catalog, [request], web.now)
    web.visit(gone + "y")
    assert web.query("SELECT count(*) FROM service_site WHERE id = ?", site_id_of(gone)) == [(0,)]
    assert web.urls(one) == {HOME}


def test_one_page_makes_so_many_sites_and_no_more(web: Collecting) -> None:
    web.make_site(url_type=URLType.NEW_SITE, max_urls_from_page=1_000)
    web.visit(*(f"http://host{number}.example/" for number in range(120)))
    assert web.query("SELECT count(*) FROM service_site WHERE site_id > 1") == [(100,)]


# ----------------------------------------------------------------------- what is handed down


@pytest.mark.req("S3.68")
def test_what_is_set_on_a_page_counts_for_what_is_found_on_it(web: Collecting) -> None:
    one = web.make_site(request_delay=700, processing_delay=710, http_timeout=900)
    fields = {
        "type": URLType.REAL_TIME_CRAWLER,
        "request_delay": 123,
        "processing_delay": 124,
        "http_timeout": 4_567,
        "priority": 9,
        "depth": 4,
        "classifier_mask": 6,
    }
    web.add(one, A, **fields)
    web.visit(B, url=A)
    expected = fields | {"depth": 5, "parent_md5": md5_of(A).hex(), "freq": 1}
    for name, value in expected.items():
        assert web.members(one, name)[B] == value, name


@pytest.mark.req("S3.68")
def test_what_is_not_set_on_a_page_is_as_the_site_says(web: Collecting) -> None:
    one = web.make_site(request_delay=700, processing_delay=710, http_timeout=900)
    web.add(one, A, request_delay=0, processing_delay=500, http_timeout=30_000, type=0)
    web.visit(B, url=A)
    for name, value in (
        ("request_delay", 700),
        ("processing_delay", 710),
        ("http_timeout", 900),
        ("type", 0),
        ("priority", 0),
        ("status", CrawlStatus.NEW),
        ("state", URLState.ENABLED),
        ("max_urls_from_page", 100),
        ("cdate", web.now),
        ("udate", web.now),
    ):
        assert web.members(one, name)[B] == value, name


def test_new_urls_begin_with_the_fields_that_the_site_names(web: Collecting) -> None:
    fields = {"priority": 5, "HTTPTimeout": 777, "pDate": "2026-01-02 00:00:00", "state": 1}
    one = web.make_site(properties={"URLS_FIELDS_INIT": json.dumps(fields)}, http_timeout=900)
    web.visit(A)
    assert web.members(one, "priority") == {HOME: 0, A: 5}
    assert web.members(one, "http_timeout") == {HOME: 900, A: 777}
    assert web.members(one, "pdate")[A] == 1_767_312_000.0
    assert web.members(one, "state")[A] == URLState.DISABLED
    # A URL that clients hand over has the fields that they give it.
    web.add(one, B)
    assert web.members(one, "priority")[B] == 0


def test_counters_and_history_of_urls_know_of_collected_ones(web: Collecting) -> None:
    web.make_site(properties={"STATS_FREQ_ENABLED": "1", "STATS_LOG_ENABLED": "1"})
    web.visit(A, B)
    md5s = {md5_of(url).hex() for url in (A, B)}
    logged = web.query("SELECT url_md5 FROM url_log WHERE operation = 20")
    assert md5s <= {row[0] for row in logged}
    assert web.query("SELECT inserted FROM url_frequency WHERE url_md5 = ?", md5_of(A).hex()) == [
        (1,)
    ]


def test_what_counts_for_an_item_alone_counts_for_what_is_found_on_it(web: Collecting) -> None:
    one = web.make_site(properties={"COLLECT_URLS_LIMITS": '{"*": {"max_items": 3}}'})
    properties = {
        "COLLECT_URLS_LIMITS": '{"*": {"max_items": 1}}',
        "URLS_FIELDS_INIT": '{"freq": 9}',
    }
    own = written(Wishes(properties))
    [(doc_id,)] = web.query("SELECT doc_id FROM member WHERE set_id = ?", one)
    web.catalog.accept_batch(BatchOrder(1, 60.0), [Wanted(one, doc_id, own)], web.now)
    web.crawl(A, B, C)
    assert web.members(one, "freq") == {HOME: 0, A: 9}
    web.query("UPDATE member SET status = 1 WHERE doc_id = ?", doc_id)
    web.has_odd_counters = True
    web.visit(A, B, C)
    assert web.members(one, "freq") == {HOME: 0, A: 9, B: 1, C: 1}


# --------------------------------------------------------------------------- which are wanted


def test_urls_are_collected_by_the_protocols_of_the_site(web: Collecting) -> None:
    one = web.make_site(properties={"PROTOCOLS": "https"})
    web.visit(A, "https://a.example/a")
    assert web.urls(one) == {HOME, "https://a.example/a"}


def test_filters_of_the_protocol_judge_the_protocol_alone(web: Collecting) -> None:
    stage = FilterStage.COLLECT_URLS_PROTOCOL
    filters = [include("a[.]example", stage=FilterStage.ALL), exclude("^https$", stage=stage)]
    one = web.make_site(filters=filters)
    web.visit(A, "https://a.example/https")
    assert web.urls(one) == {HOME, A}


def test_macros_in_filters_stand_for_the_place_of_a_url(web: Collecting) -> None:
    filters = [
        exclude("%MAX_DEPTH%", subject="%DEPTH%", op_code=FilterOperation.MORE),
        exclude("^%PARENT_URL%skip"),
    ]
    one = web.make_site(filters=filters, properties={"USER_MAX_DEPTH": "1"})
    web.visit(A, HOME + "skip")
    assert web.urls(one) == {HOME, A}
    web.visit(B, url=A)
    assert web.urls(one) == {HOME, A}
    # The same URL, nearer to the root.
    web.query("UPDATE member SET status = 1 WHERE parent_md5 = ''")
    web.has_odd_counters = True
    web.visit(B)
    assert web.urls(one) == {HOME, A, B}


def test_without_a_limit_no_depth_is_too_deep(web: Collecting) -> None:
    filters = [exclude("%MAX_DEPTH%", subject="%DEPTH%", op_code=FilterOperation.MORE)]
    one = web.make_site(filters=filters)
    web.visit(A)
    assert web.urls(one) == {HOME, A}


def test_a_filter_that_cannot_be_decided_lets_nothing_pass_and_has_its_bit(
    web: Collecting,
) -> None:
    one = web.make_site(filters=[exclude("(a+)+$")])
    web.visit(HOME + "a" * 4_000 + "!", B)
    assert web.urls(one) == {HOME, B}
    assert web.bits(one) == [ErrorBit.REGULAR_EXPRESSION]
    assert web.members(one, "state")[HOME] == URLState.ENABLED


def test_patterns_have_so_much_time_for_one_page(web: Collecting) -> None:
    one = web.make_site(filters=[exclude("(a+)+$")])
    slow = [f"{HOME}{number}/" + "a" * 4_000 + "!" for number in range(60)]
    web.visit(*slow, B)
    # All of them would take a quarter of a second each; what comes after the time is refused.
    assert web.urls(one) == {HOME}
    assert web.bits(one) == [ErrorBit.REGULAR_EXPRESSION]
    # It is not forgotten for good: another page may have it.
    web.query("UPDATE member SET status = 1")
    web.has_odd_counters = True
    web.visit(B)
    assert web.urls(one) == {HOME, B}


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_filters_that_would_never_be_asked_are_refused(web: Collecting, stage: int) -> None:
    with pytest.raises(ObjectError, match=r"Filter\[0\]\.stage"):
        web.make_site(filters=[exclude("x", stage=FilterStage(stage))])


def test_a_redirect_that_filters_stop_is_not_followed(web: Collecting) -> None:
    stage = FilterStage.REDIRECT_URL
    one = web.make_site(HOME, A, filters=[exclude("/login", stage=stage)])
    web.make()
    for due in web.lease():
        target = HOME + ("login" if due.url == HOME else "fine")
        web.commit(web.redirect(due, target))
    assert web.bits(one) == [ErrorBit.BAD_REDIRECTION, ErrorBit.RAW_NOT_STORED]
    assert web.members(one)[HOME] == CrawlStatus.CRAWLED
    assert web.members(one, "state")[HOME] == URLState.ERROR
    (due,) = web.lease()
    assert due.url == HOME + "fine"
    web.commit(web.bring(due))
    assert web.bits(one, A) == []
