"""Why a feed is quiet, in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.catalog.download_book import REDUNDANT
from gossamer.catalog.subscriptions import FeedRow
from gossamer.news.health import day_ends, next_poll_seconds, roughly, why_quiet
from gossamer.outcomes import Outcome

NOW = 1_780_000_000.0
HOUR, DAY = 3_600.0, 86_400.0
NEVER = {
    "feed_id": 1,
    "source_id": 1,
    "source": "Paper",
    "source_enabled": True,
    "url": "https://paper.example/rss",
    "title": "",
    "form": "",
    "enabled": True,
    "why_disabled": "",
    "added_at": NOW - 9 * DAY,
    "due_at": 0.0,
    "last_attempt_at": None,
    "last_success_at": None,
    "last_new_story_at": None,
    "last_error": "",
    "failures": 0.0,
    "interval_seconds": None,
    "ttl_seconds": None,
    "fetched_url": "https://paper.example/rss",
    "host": "paper.example",
    "host_parked_until": 0.0,
    "host_parked_reason": "",
    "is_open": False,
    "is_fetching": False,
    "not_before": 0.0,
    "last_outcome": None,
    "last_content": None,
    "hub": None,
    "hub_state": None,
    "last_push_at": None,
}
POLLED = NEVER | {"last_attempt_at": NOW - HOUR, "last_success_at": NOW - HOUR + 1}
QUIET = POLLED | {"last_new_story_at": NOW - 3 * DAY}
OPEN = {"is_open": True, "due_at": None}
SINCE = "no new story since 2026-05-25 20:26 (3 d)"


@pytest.mark.parametrize(
    ("feed", "words"),
    [
        (NEVER, "never polled"),
        (POLLED | {"last_new_story_at": NOW - HOUR}, "not quiet: the last poll found a new story"),
        (POLLED, "no story was ever found in it"),
        (QUIET, SINCE),
        (QUIET | {"last_content": REDUNDANT}, f"{SINCE}; same stories as before"),
        (
            QUIET | {"last_outcome": int(Outcome.NOT_MODIFIED), "last_content": REDUNDANT},
            f"{SINCE}; server says 304 (not modified)",
        ),
        (
            QUIET | {"failures": 1.5, "last_error": "net.refused"},
            f"failing with net.refused (failures: 1.5); {SINCE}",
        ),
        (
            NEVER | {"last_attempt_at": NOW, "failures": 1.0, "last_error": "dns.nxdomain"},
            "failing with dns.nxdomain (failures: 1)",
        ),
        (
            QUIET | {"enabled": False, "why_disabled": "failed too often"},
            f"disabled because failed too often; {SINCE}",
        ),
        (QUIET | {"source_enabled": False}, f"disabled because its source is; {SINCE}"),
        (NEVER | OPEN | {"is_fetching": True}, "never polled; being fetched"),
        (QUIET | OPEN, f"{SINCE}; waits for host paper.example"),
        (
            QUIET | OPEN | {"host_parked_until": NOW + 2 * HOUR, "host_parked_reason": "http.429"},
            f"{SINCE}; waits for host paper.example, which rests for 2 h: http.429",
        ),
        (
            QUIET | OPEN | {"last_error": "http.5xx: status 503", "not_before": NOW + HOUR},
            f"failing with http.5xx: status 503; {SINCE}; tried again in 1 h",
        ),
        (
            QUIET | {"hub": "https://hub.example/", "hub_state": 3},
            f"{SINCE}; its hub https://hub.example/ refuses to push",
        ),
    ],
)
def test_why_a_feed_is_quiet(feed, words):
    assert why_quiet(FeedRow(**feed), NOW) == words


@given(
    st.fixed_dictionaries(
        {
            "enabled": st.booleans(),
            "source_enabled": st.booleans(),
            "is_open": st.booleans(),
            "is_fetching": st.booleans(),
            "failures": st.floats(0, 40),
            "last_error": st.text(max_size=5),
            "last_attempt_at": st.none() | st.floats(0, 2 * NOW),
            "last_success_at": st.none() | st.floats(0, 2 * NOW),
            "last_new_story_at": st.none() | st.floats(0, 2 * NOW),
            "host_parked_until": st.floats(0, 2 * NOW),
            "not_before": st.floats(0, 2 * NOW),
            "last_outcome": st.none() | st.sampled_from([int(each) for each in Outcome]),
        }
    )
)
def test_there_is_always_something_to_say(fields):
    assert why_quiet(FeedRow(**NEVER | fields), NOW)


def test_when_it_is_polled_next():
    assert next_poll_seconds(FeedRow(**NEVER), NOW) == 0
    assert next_poll_seconds(FeedRow(**NEVER | {"due_at": NOW + 5}), NOW) == 5
    assert next_poll_seconds(FeedRow(**NEVER | {"due_at": None}), NOW) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (0.2, "0 s"), (59, "59 s"), (61, "1 min"), (7_200, "2 h"), (3 * DAY, "3 d")],
)
def test_durations_are_rough(seconds, words):
    assert roughly(seconds) == words


@given(st.floats(DAY * 30, 2 * NOW))
def test_days_are_those_of_the_calendar_and_end_with_today(now):
    ends = day_ends(now)
    assert len(ends) == 15
    assert all(end % DAY == 0 for end in ends)
    assert ends[-2] <= now < ends[-1]
