"""Feeds become due, downloads end, stories become known: the catalog's part of news."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace
from newsroom import NOW, Newsroom, report, sighting

from gossamer.messages import Kind, Pointer
from gossamer.outcomes import Outcome
from gossamer.reports import FeedReport

FEED = "https://example.org/feed"
A, B, C = (f"https://example.org/{name}" for name in "abc")
HOUR = 3_600.0
Open = Callable[..., Newsroom]


# ------------------------------------------------------------------ downloads


@pytest.mark.req("S4.4", "S4.5", "S4.6", "S4.16", "S4.17", "S4.32")
def test_feeds_and_stories_go_through_one_table_from_pending_to_their_end(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    assert room.downloads() == []
    (feed,) = room.provide()
    assert (feed.url, feed.kind) == (FEED, Kind.FEED)
    assert room.downloads() == [(FEED, "feed", "fetching")]
    room.commit(room.bring(feed, report(sighting(A), sighting(B))))
    assert room.downloads() == [
        (FEED, "feed", "success"),
        (A, "content", "pending"),
        (B, "content", "pending"),
    ]
    first, second = room.provide()
    assert [due.kind for due in (first, second)] == [Kind.PAGE, Kind.PAGE]
    assert [state for _, _, state in room.downloads()[1:]] == ["fetching", "fetching"]
    room.commit(
        room.bring(first),
        room.bring(second, status=404, outcome=Outcome.HTTP_4XX),
    )
    assert [state for _, _, state in room.downloads()] == ["success", "success", "error"]


@pytest.mark.req("S4.7")
def test_a_download_tells_what_it_was_for_and_what_came_of_it(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A)))
    (due,) = room.provide()
    room.now += 7
    room.commit(room.bring(due, status=410, outcome=Outcome.HTTP_4XX, detail="gone"))
    ((error, host, made, ended, feed, story, status, priority),) = room.query(
        "SELECT error, host, made_at, ended_at, feed_id, story_id, status, priority "
        "FROM download_row WHERE type = 1"
    )
    assert (error, host) == ("http.4xx: status 410: gone", "example.org")
    assert (made, ended, feed, story, status, priority) == (NOW, NOW + 7, feed_id, 1, 410, 0)


@pytest.mark.req("S4.15", "S4.39")
def test_a_download_under_embargo_is_pending_but_not_provided(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A)))
    (due,) = room.provide()
    room.commit(room.bring(due, status=503, outcome=Outcome.HTTP_5XX, detail="status 503"))
    rows = room.query("SELECT state, retries, not_before, error FROM download_row WHERE type = 1")
    assert rows == [(0, 1, room.now + HOUR, "http.5xx: status 503")]
    assert room.provide() == []
    room.now += HOUR - 1
    assert [each.url for each in room.provide()] == [FEED]
    room.now += 1
    (again,) = room.provide()
    assert (again.url, again.tries) == (A, 1)
    room.commit(room.bring(again))
    assert room.downloads()[1] == (A, "content", "success")


@pytest.mark.req("S4.38")
def test_after_five_retries_a_download_is_an_error(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A)))
    waited = []
    for _ in range(6):
        (due,) = [each for each in room.provide() if each.url == A]
        room.commit(room.bring(due, status=503, outcome=Outcome.HTTP_5XX))
        ((not_before,),) = room.query("SELECT not_before FROM download_row WHERE type = 1")
        waited.append(None if not_before is None else (not_before - room.now) / HOUR)
        room.now = not_before or room.now
    assert waited == [1, 2, 3, 4, 5, None]
    assert (A, "content", "error") in room.downloads()


def test_what_was_being_fetched_when_a_run_ended_is_pending_again_and_counts(
    newsroom: Open,
) -> None:
    room = newsroom()
    room.feed(FEED)
    room.provide()
    assert room.downloads() == [(FEED, "feed", "fetching")]
    room.catalog.begin_run(room.now)
    assert room.downloads() == [(FEED, "feed", "pending")]
    assert room.query("SELECT retries FROM download") == [(1,)]
    (due,) = room.provide()
    room.commit(room.bring(due, report(sighting(A))))
    assert room.stories() == [A]


def test_a_late_result_of_a_lease_that_is_gone_changes_nothing(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    (due,) = room.provide()
    room.catalog.begin_run(room.now)
    committed = room.commit(room.bring(due, report(sighting(A))))
    assert committed.stale == (due.doc_id,)
    assert room.stories() == []
    assert room.downloads() == [(FEED, "feed", "pending")]


def test_only_the_latest_downloads_of_a_feed_are_kept(newsroom: Open) -> None:
    room = newsroom(keep_downloads=3)
    feed_id = room.feed(FEED)
    for number in range(8):
        room.poll(report(sighting(f"{A}{number}")))
        room.now += room.due_in(feed_id) or 0.0
    ended = [each for each in room.downloads() if each[1:] == ("feed", "success")]
    assert len(ended) == 3
    assert len(room.stories()) == 8


# -------------------------------------------------------------------- provision


@pytest.mark.req("S4.14", "S4.21")
def test_each_provision_has_a_few_downloads_of_each_site(newsroom: Open) -> None:
    room = newsroom(per_site=3, throttle_seconds=30.0)
    greedy = room.source("Greedy")
    for number in range(50):
        room.feed(f"https://f{number % 5}.greedy.example/{number}", greedy)
    modest = room.source("Modest")
    room.feed("https://modest.example/feed", modest)
    provided = [due.host.partition(".")[2] or due.host for due in room.provide()]
    assert provided.count("greedy.example") == 3
    assert len(provided) == 4
    assert room.provide() == []
    room.now += 30.0
    assert len(room.provide()) == 3


def test_a_greedy_site_is_served_to_the_end_all_the_same(newsroom: Open) -> None:
    room = newsroom(per_site=3, throttle_seconds=1.0)
    source = room.source()
    urls = {f"https://f{number % 7}.greedy.example/{number}" for number in range(40)}
    for url in urls:
        room.feed(url, source)
    served: list[str] = []
    for _ in range(60):
        batch = room.provide()
        served += [due.url for due in batch]
        room.commit(*(room.bring(due, report()) for due in batch))
        room.now = max(room.now, room.catalog.next_due_at(room.now) or room.now)
        if len(served) >= 40:
            break
    assert sorted(served) == sorted(urls)


def test_each_host_may_be_throttled_by_itself_instead(newsroom: Open) -> None:
    room = newsroom(per_site=2, throttle_by="host")
    for host in ("a", "b"):
        for number in range(5):
            room.feed(f"https://{host}.example.org/{number}")
    assert len(room.provide()) == 4


def test_it_knows_when_the_next_feed_is_due(newsroom: Open) -> None:
    room = newsroom()
    assert room.catalog.next_due_at(room.now) is None
    feed_id = room.feed(FEED)
    assert room.catalog.next_due_at(room.now) == room.now
    room.poll(report())
    assert room.catalog.next_due_at(room.now) == room.now + (room.due_in(feed_id) or 0)


# ------------------------------------------------------------------------ polling


@pytest.mark.req("S4.18", "S4.19", "S4.20")
def test_polls_come_after_5_15_35_minutes_and_so_on(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A)))
    delays = []
    for _ in range(13):
        delay = room.due_in(feed_id)
        assert delay is not None
        delays.append(delay / 60)
        room.now += delay - 1
        assert [due for due in room.provide() if due.kind is Kind.FEED] == []
        # A second late, which must not add up.
        room.now += 2
        room.poll(report(sighting(A)))
        room.now -= 1
    assert delays == [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_080, 10_080]


def test_a_clock_that_was_ahead_keeps_no_feed_from_being_polled(newsroom: Open) -> None:
    """Nor are its polls five minutes apart until the clock's time has come."""
    room = newsroom()
    feed_id = room.feed(FEED)
    room.now = NOW + 365 * DAY
    room.poll(report(sighting(A)))
    (page,) = room.provide()
    room.commit(room.bring(page))
    room.now = NOW
    assert room.catalog.next_due_at(room.now) == room.now
    waits = []
    for _ in range(3):
        room.poll(report(sighting(A)))
        waits.append(room.due_in(feed_id))
        room.now += room.due_in(feed_id) or 0
    assert waits == [300, 600, 1_200]


def test_a_feed_that_is_not_polled_in_time_is_planned_from_when_it_was(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A)))
    room.now += 86_400
    room.poll(report(sighting(A), sighting(B)))
    assert room.due_in(feed_id) == 300


@pytest.mark.req("S4.33", "S4.34", "S4.35")
def test_a_feed_with_the_same_urls_is_redundant_and_not_looked_at(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A), sighting(B)))
    room.now += 300
    # Other titles and guids of the same URLs in another order would be looked at, were it not so.
    (due,) = [each for each in room.provide() if each.kind is Kind.FEED]
    assert due.seen == report(sighting(B), sighting(A)).checksum
    room.commit(room.bring(due, report(sighting(B, "new", "x"), sighting(A, "new", "y"))))
    contents = room.query("SELECT content, state FROM download WHERE type = 0")
    assert contents == [(None, 2), ("(redundant feed)", 2)]
    assert room.query("SELECT count(*) FROM story_key") == [(2,)]
    assert room.due_in(feed_id) == 600


def test_a_feed_without_anything_new_is_redundant_too(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A), sighting(B)))
    room.now += 300
    room.poll(report(sighting(A)))
    assert room.query("SELECT content FROM download WHERE type = 0") == [
        (None,),
        ("(redundant feed)",),
    ]


def test_a_feed_that_is_not_modified_is_redundant_too(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A)))
    room.now += 300
    room.poll(FeedReport(), status=304, outcome=Outcome.NOT_MODIFIED)
    assert room.query("SELECT content FROM download WHERE type = 0")[1] == ("(redundant feed)",)
    assert room.due_in(feed_id) == 600
    room.now += 600
    room.poll(report(sighting(A), sighting(B)))
    assert room.stories() == [A, B]


def test_a_feed_is_asked_for_conditionally_by_those_who_have_read_it(newsroom: Open) -> None:
    """A 304 would tell the others nothing, and they would miss what the document lists."""
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A)), etag='"1"')
    room.now += 60
    room.feed(FEED, room.source("Other"))
    (due,) = [each for each in room.provide() if each.kind is Kind.FEED]
    assert (due.etag, due.last_modified) == (None, None)
    room.commit(room.bring(due, report(sighting(A), sighting(B)), etag='"2"'))
    assert room.stories() == [A, A, B]
    # The first source has not read the second version.
    room.now += 240
    (due,) = [each for each in room.provide() if each.kind is Kind.FEED]
    assert due.etag is None
    room.commit(room.bring(due, report(sighting(A), sighting(B)), etag='"2"'))
    assert room.stories() == [A, A, B, B]
    # Both have, once they were polled together; that one was told 304 later makes no difference.
    room.now += 600
    room.poll(report(sighting(A), sighting(B)), etag='"2"')
    for _ in range(3):
        room.now += 300
        for due in (each for each in room.provide() if each.kind is Kind.FEED):
            assert due.etag == '"2"'
            room.commit(room.bring(due, status=304, outcome=Outcome.NOT_MODIFIED))


def test_a_304_that_was_asked_for_by_another_source_is_not_taken_for_an_answer(
    newsroom: Open,
) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A)), etag='"1"')
    room.now += 300
    (due,) = [each for each in room.provide() if each.kind is Kind.FEED]
    assert due.etag == '"1"'
    other = room.feed(FEED, room.source("Other"))
    # It joins the fetch that is under way.
    assert [each for each in room.provide() if each.kind is Kind.FEED] == []
    room.commit(room.bring(due, status=304, outcome=Outcome.NOT_MODIFIED))
    assert room.due_in(other) == -room.now
    room.poll(report(sighting(A)), etag='"1"')
    assert room.stories() == [A, A]


def test_what_was_no_feed_is_not_asked_for_conditionally(newsroom: Open) -> None:
    """Else a page that never changes would pass for a feed without news, for years."""
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A)), etag='"1"')
    room.now += 300
    room.poll(FeedReport(detail="is no feed but HTML"), etag='"page"')
    room.now += 600
    (due,) = [each for each in room.provide() if each.kind is Kind.FEED]
    assert due.etag is None
    room.commit(room.bring(due, FeedReport(detail="is no feed but HTML"), etag='"page"'))
    assert room.query("SELECT failures FROM feed WHERE feed_id = ?", feed_id) == [(1.0,)]


def test_what_is_no_feed_is_a_feed_error_and_no_success(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(FeedReport(detail="this is HTML"))
    assert room.downloads() == [(FEED, "feed", "feed_error")]
    assert room.query("SELECT last_success_at, last_error, failures FROM feed") == [
        (None, "parse.failed: this is HTML", 0.5)
    ]


def test_a_feed_that_always_fails_is_given_up_and_says_why(newsroom: Open) -> None:
    room = newsroom(max_failures=2)
    feed_id = room.feed(FEED)
    for _ in range(2):
        assert room.due_in(feed_id) is not None
        room.poll(FeedReport(), status=403, outcome=Outcome.HTTP_4XX)
        room.now += 8 * 86_400
    assert room.provide() == []
    ((enabled, why),) = room.query("SELECT enabled, why_disabled FROM feed")
    assert (enabled, why) == (0, "failed too often, the last time: http.4xx: status 403")
    room.catalog.set_feeds_enabled([feed_id], True, room.now)
    room.poll(report(sighting(A)))
    assert room.stories() == [A]


def test_a_feed_that_is_gone_for_good_is_not_asked_for_again(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A)))
    room.now += 300
    room.poll(FeedReport(), status=410, outcome=Outcome.HTTP_4XX)
    room.now += 30 * 86_400
    assert [each for each in room.provide() if each.kind is Kind.FEED] == []
    ((enabled, why),) = room.query("SELECT enabled, why_disabled FROM feed")
    assert (enabled, why) == (0, "it is gone for good: http.4xx: status 410")
    room.catalog.set_feeds_enabled([feed_id], True, room.now)
    room.poll(report(sighting(A), sighting(B)))
    assert room.stories() == [A, B]


def test_a_feed_is_not_gone_because_the_place_is_that_it_had_moved_to(newsroom: Open) -> None:
    """Its own URL is asked then; if that still leads there, it is."""
    room = newsroom()
    room.feed(FEED)
    (due,) = room.provide()
    room.commit(room.redirect(due, "https://example.org/new", 301))
    (moved,) = room.provide()
    room.commit(room.bring(moved, report(sighting(A))))
    room.now += 300
    room.poll(FeedReport(), status=410, outcome=Outcome.HTTP_4XX)
    room.now += 8 * 86_400
    (due,) = [each for each in room.provide() if each.kind is Kind.FEED]
    assert due.url == FEED
    room.commit(room.redirect(due, "https://example.org/new", 301))
    room.poll(FeedReport(), status=410, outcome=Outcome.HTTP_4XX)
    assert room.query("SELECT enabled FROM feed") == [(0,)]


def test_a_feed_that_moved_for_good_is_asked_for_at_its_new_place(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    (due,) = room.provide()
    room.commit(room.redirect(due, "https://example.org/new", 301))
    (moved,) = room.provide()
    assert (moved.url, moved.kind) == ("https://example.org/new", Kind.FEED)
    room.commit(room.bring(moved, report(sighting(A))))
    assert room.stories() == [A]
    assert room.downloads()[0] == (FEED, "feed", "success")
    room.now += 300
    assert "https://example.org/new" in [each.url for each in room.provide()]


@pytest.mark.parametrize(
    "found_there",
    [
        {"feed": FeedReport(detail="is no feed but HTML")},
        {"status": 404, "outcome": Outcome.HTTP_4XX},
    ],
)
def test_a_feed_that_is_not_where_it_moved_to_is_asked_for_where_it_was(
    newsroom: Open, found_there: dict[str, Any]
) -> None:
    """Sites send all their old URLs to their front page, and some come back."""
    room = newsroom()
    feed_id = room.feed(FEED)
    (due,) = room.provide()
    room.commit(room.redirect(due, B, 301))
    (due,) = room.provide()
    assert due.url == B
    room.commit(room.bring(due, **found_there))
    room.now += room.due_in(feed_id) or 0
    (due,) = room.provide()
    assert due.url == FEED
    room.commit(room.bring(due, report(sighting(A))))
    assert room.stories() == [A]


def test_a_feed_that_is_elsewhere_for_now_is_asked_for_where_it_was(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    listed = report(sighting(A))
    for seen in (None, listed.checksum):
        (due,) = [each for each in room.provide() if each.kind is Kind.FEED]
        assert due.url == FEED
        room.commit(room.redirect(due, "https://cdn.example/x", 302))
        (moved,) = [each for each in room.provide() if each.kind is Kind.FEED]
        # So that the worker does not store there what it has stored before (S4.35).
        assert moved.seen == seen
        room.commit(room.bring(moved, listed))
        room.now += 300
    assert room.stories() == [A]


def test_redirects_in_a_circle_end(newsroom: Open) -> None:
    room = newsroom(max_redirects=4)
    room.feed(FEED)
    room.poll(report(sighting(A)))
    visits = 0
    target = B
    while due := next((each for each in room.provide() if each.kind is Kind.PAGE), None):
        room.commit(room.redirect(due, target))
        target = A if target == B else B
        visits += 1
        assert visits < 10
    assert visits == 5
    ((state, error),) = room.query("SELECT state, error FROM download WHERE type = 1")
    assert state == 3
    assert error.startswith("redir.too_many")


# ------------------------------------------------------------------------ stories


@pytest.mark.req("S4.30")
@pytest.mark.parametrize(
    "again",
    [
        sighting(A, "another title", "another guid"),
        sighting(B, "another title", "guid"),
    ],
    ids=["same URL", "same guid"],
)
def test_a_story_is_known_by_its_url_and_by_its_guid(newsroom: Open, again: Any) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A, "title", "guid")))
    room.now += 300
    room.poll(report(again, sighting(C)))
    assert room.stories() == [A, C]
    # The other URL or guid is known from now on, too.
    room.now += 300
    room.poll(report(sighting(again.url, "third title", "third guid"), sighting(B, guid="guid")))
    assert room.stories() == [A, C]


@pytest.mark.req("S4.30")
def test_another_source_may_have_the_same_story(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED, room.source("One"))
    room.feed("https://example.net/feed", room.source("Two"))
    room.poll(report(sighting(A, "title", "guid")))
    assert room.stories() == [A, A]
    # It is fetched once for both.
    (due,) = room.provide()
    room.commit(room.bring(due))
    assert [state for url, _, state in room.downloads() if url == A] == ["success", "success"]
    assert room.query("SELECT count(*) FROM extraction") == [(2,)]


def test_a_page_that_is_there_already_is_not_fetched_again(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED, room.source("One"))
    room.poll(report(sighting(A)))
    (due,) = room.provide()
    room.commit(room.bring(due))
    room.feed("https://example.net/feed", room.source("Two"))
    room.poll(report(sighting(A)))
    assert [due.url for due in room.provide()] == []
    assert [state for url, _, state in room.downloads() if url == A] == ["success", "success"]


MONDAY = 1_899_417_600.0  # 2030-03-11, a Monday, 00:00 UTC
DAY = 86_400.0


@pytest.mark.req("S4.31")
@pytest.mark.parametrize(
    ("first", "second", "stories"),
    [
        (MONDAY, MONDAY + 7 * DAY - 1, 1),
        (MONDAY + 7 * DAY - 1, MONDAY + 7 * DAY, 2),
        (MONDAY + 3 * DAY, MONDAY + 3 * DAY + 1, 1),
    ],
    ids=["one week", "Sunday and Monday", "one day"],
)
def test_a_title_is_one_story_in_one_week(
    newsroom: Open, first: float, second: float, stories: int
) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A, "The title", "1", first), sighting(B, "the TITLE!", "2", second)))
    assert len(room.stories()) == stories


@pytest.mark.req("S4.31")
def test_the_week_of_a_story_without_a_date_is_that_of_its_download(newsroom: Open) -> None:
    room = newsroom()
    room.now = MONDAY + 6 * DAY
    feed_id = room.feed(FEED)
    room.poll(report(sighting(A, "The title", "1")))
    room.now += room.due_in(feed_id) or 0
    room.poll(report(sighting(B, "The title", "2")))
    assert room.stories() == [A]
    room.now = MONDAY + 7 * DAY
    room.poll(report(sighting(C, "The title", "3")))
    assert room.stories() == [A, C]


def test_a_story_that_says_only_when_it_was_updated_is_dated_by_that_but_less_sure(
    newsroom: Open,
) -> None:
    """Atom asks for no more; the time of our visit would be worse (D5)."""
    room = newsroom()
    feed_id = room.feed(FEED)
    room.poll(report(replace(sighting(A, "The title"), updated=MONDAY)))
    assert room.query("SELECT published, published_how, published_confidence FROM story") == [
        (MONDAY, "feed", 0.5)
    ]
    room.now += room.due_in(feed_id) or 0
    room.poll(
        report(
            replace(sighting(B, "The title"), updated=MONDAY + DAY),
            replace(sighting(C, "The title"), updated=MONDAY + 7 * DAY),
        )
    )
    assert room.stories() == [A, C]


def test_stories_without_a_title_are_told_apart_by_url_and_guid(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A), sighting(B), sighting(A)))
    assert room.stories() == [A, B]


def test_a_story_is_in_all_feeds_that_have_it(newsroom: Open) -> None:
    room = newsroom()
    one, two = room.feed(FEED), room.feed("https://example.org/sports")
    room.poll(report(sighting(A)))
    assert room.stories() == [A]
    assert room.query("SELECT feed_id FROM feed_story ORDER BY feed_id") == [(one,), (two,)]


def test_a_source_may_delay_the_pages_of_its_stories(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED, room.source("Slow", content_delay_seconds=2 * HOUR))
    room.poll(report(sighting(A)))
    assert [due for due in room.provide() if due.kind is Kind.PAGE] == []
    assert room.query("SELECT not_before FROM download_row WHERE type = 1") == [(NOW + 2 * HOUR,)]
    room.now += 2 * HOUR
    assert A in [due.url for due in room.provide()]


@pytest.mark.req("S4.36")
def test_a_stored_page_queues_one_extraction(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A)))
    (due,) = room.provide()
    assert room.query("SELECT * FROM extraction") == []
    room.commit(room.bring(due, pointer=Pointer("b.warc.gz", 7, 8)))
    ((download_id, story_id, state),) = room.query(
        "SELECT download_id, story_id, state FROM extraction"
    )
    assert (story_id, state) == (1, 0)
    ((name, offset),) = room.query(
        "SELECT file.name, fetch.offset FROM download JOIN fetch USING (fetch_id) "
        "JOIN file USING (file_id) WHERE download_id = ?",
        download_id,
    )
    assert (name, offset) == ("b.warc.gz", 7)


def test_what_is_not_kept_is_not_extracted(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A)))
    (due,) = room.provide()
    room.commit(room.bring(due, pointer=None, content_type="video/mp4"))
    rows = room.query("SELECT state, content FROM download WHERE type = 1")
    assert rows == [(2, "(unsupported content type)")]
    assert room.query("SELECT * FROM extraction") == []


def test_a_story_behind_a_redirect_is_found_where_it_leads(newsroom: Open) -> None:
    room = newsroom()
    room.feed(FEED)
    room.poll(report(sighting(A)))
    (due,) = room.provide()
    room.commit(room.redirect(due, B))
    (there,) = room.provide()
    assert there.url == B
    room.commit(room.bring(there))
    rows = room.query("SELECT url, fetched_url, state FROM download_row WHERE type = 1")
    assert rows == [(A, B, 2)]
    assert room.query("SELECT count(*) FROM extraction") == [(1,)]


# ------------------------------------------------------------- people and sources


def test_disabled_feeds_and_sources_are_not_polled(newsroom: Open) -> None:
    room = newsroom()
    source = room.source()
    one, two = room.feed(FEED, source), room.feed("https://example.org/two", source)
    room.catalog.set_feeds_enabled([one], False, room.now, "by hand")
    assert [due.url for due in room.provide()] == ["https://example.org/two"]
    room.catalog.begin_run(room.now)
    (due,) = room.provide()
    room.catalog.set_source_enabled(source, False, room.now)
    room.commit(room.bring(due, report(sighting(A))))
    assert room.due_in(two) is None
    room.catalog.set_source_enabled(source, True, room.now)
    assert room.due_in(one) is None
    assert room.due_in(two) is not None


@pytest.mark.parametrize("switch", ["feed", "source", "remove feed", "remove source"])
def test_who_is_disabled_while_a_try_is_pending_is_not_tried_again(
    newsroom: Open, switch: str
) -> None:
    """Perhaps because the publisher has asked us to leave it alone."""
    room = newsroom()
    source = room.source()
    feed_id = room.feed(FEED, source)
    (due,) = room.provide()
    room.commit(room.bring(due, status=503, outcome=Outcome.HTTP_5XX))
    assert room.downloads() == [(FEED, "feed", "pending")]
    match switch:
        case "feed":
            room.catalog.set_feeds_enabled([feed_id], False, room.now, "by hand")
        case "source":
            room.catalog.set_source_enabled(source, False, room.now)
        case "remove feed":
            room.catalog.remove_feed(feed_id)
        case _:
            room.catalog.remove_source(source)
    room.now += HOUR
    assert room.provide() == []
    if switch in ("feed", "source"):
        assert room.downloads() == [(FEED, "feed", "error")]
        room.catalog.set_source_enabled(source, True, room.now)
        room.catalog.set_feeds_enabled([feed_id], True, room.now)
        room.poll(report(sighting(A)))
        assert room.stories() == [A]


def test_who_is_disabled_while_it_is_fetched_is_not_tried_again(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    (due,) = room.provide()
    room.catalog.set_feeds_enabled([feed_id], False, room.now, "by hand")
    room.commit(room.bring(due, status=503, outcome=Outcome.HTTP_5XX))
    assert room.downloads() == [(FEED, "feed", "error")]
    room.now += HOUR
    assert room.provide() == []


def test_a_pending_poll_that_another_source_wants_is_made(newsroom: Open) -> None:
    room = newsroom()
    feed_id = room.feed(FEED)
    room.feed(FEED, room.source("Other"))
    (due,) = room.provide()
    room.commit(room.bring(due, status=503, outcome=Outcome.HTTP_5XX))
    room.catalog.set_feeds_enabled([feed_id], False, room.now, "by hand")
    room.now += HOUR
    room.poll(report(sighting(A)))
    assert room.downloads()[:2] == [(FEED, "feed", "error"), (FEED, "feed", "success")]
    assert room.stories() == [A]


def test_a_removed_feed_leaves_its_stories(newsroom: Open) -> None:
    room = newsroom()
    source = room.source()
    feed_id = room.feed(FEED, source)
    room.poll(report(sighting(A)))
    room.catalog.remove_feed(feed_id)
    room.catalog.remove_source(source)
    assert room.stories() == [A]
    (due,) = room.provide()
    room.commit(room.bring(due))
    assert room.downloads() == [(A, "content", "success")]
    assert room.query("SELECT enabled FROM source") == [(0,)]


def test_a_source_that_was_removed_is_polled_when_it_is_added_again(newsroom: Open) -> None:
    room = newsroom()
    source = room.source()
    room.feed(FEED, source)
    room.poll(report(sighting(A)))
    room.catalog.remove_source(source)
    assert room.source() == source
    room.feed(FEED, source)
    room.poll(report(sighting(A), sighting(B)))
    assert room.stories() == [A, B]
    # One that somebody has disabled stays so, whatever it gets.
    room.catalog.set_source_enabled(source, False, room.now)
    assert room.due_in(room.feed("https://example.org/two", source)) is None


def test_a_source_without_stories_is_removed_whole(newsroom: Open) -> None:
    room = newsroom()
    source = room.source()
    room.feed(FEED, source)
    room.catalog.remove_source(source)
    assert room.query("SELECT * FROM source") == []


def test_a_feed_is_added_once(newsroom: Open) -> None:
    room = newsroom()
    source = room.source()
    assert room.catalog.add_feed(source, FEED, NOW) == (1, True)
    assert room.catalog.add_feed(source, FEED, NOW) == (1, False)
    assert room.source() == source


# ------------------------------------------------------------------------ property

names = st.sampled_from([f"https://example.org/{number}" for number in range(6)])
items = st.lists(st.tuples(names, st.sampled_from("ghijk")), max_size=8)


@hypothesis_settings(max_examples=40)
@given(st.lists(st.tuples(items, st.booleans()), max_size=6))
def test_every_story_is_there_once_whatever_the_feeds_repeat(
    polls: list[tuple[list[tuple[str, str]], bool]],
) -> None:
    with TemporaryDirectory() as directory:
        room = Newsroom(Path(directory), throttle_seconds=0.0)
        feed_id = room.feed(FEED)
        known: set[str] = set()
        expected: list[str] = []
        last: set[str] | None = None
        for entries, restart in polls:
            urls = {url for url, _ in entries}
            # A feed whose URLs are what they were is not looked at.
            for url, guid in entries if urls != last else ():
                if url not in known and guid not in known:
                    expected.append(url)
                known |= {url, guid}
            last = urls
            room.now += room.due_in(feed_id) or 0
            if restart:
                room.provide()
                room.catalog.begin_run(room.now)
            room.poll(report(*(sighting(url, "", guid) for url, guid in entries)))
            room.commit(*(room.bring(due) for due in room.provide()))
        assert room.stories() == expected
        contents = [url for url, kind, state in room.downloads() if kind == "content"]
        assert contents == expected
        room.close()
