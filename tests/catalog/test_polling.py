"""When feeds are polled: the table of delays, and the rules on top of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.catalog.polling import (
    Failure,
    FeedState,
    Plan,
    Poll,
    back_off_due_at,
    failure_of,
    plan,
)
from gossamer.config.news import NewsSettings
from gossamer.outcomes import Outcome

MINUTE = 60.0
WEEK = 7 * 24 * 60 * MINUTE
DEFAULT = NewsSettings()


@pytest.mark.req("S4.18", "S4.19", "S4.20")
def test_delays_double_from_five_minutes_to_one_week() -> None:
    state, at = FeedState(), 1_000_000.0
    planned = plan(state, Poll(attempted_at=at, stories=3, new_stories=1), DEFAULT)
    delays = []
    for _ in range(14):
        delays.append((planned.due_at - at) / MINUTE)
        at = planned.due_at
        planned = plan(planned.state, Poll(attempted_at=at, stories=3), DEFAULT)
    doubled = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120]
    assert delays == [*doubled, 10_080, 10_080, 10_080]


@pytest.mark.req("S4.18")
def test_a_new_story_brings_the_first_delay_back() -> None:
    quiet = FeedState(last_new_story_at=0.0)
    planned = plan(quiet, Poll(attempted_at=WEEK, stories=1, new_stories=1), DEFAULT)
    assert planned.due_at == WEEK + 5 * MINUTE
    assert planned.state.last_new_story_at == WEEK


@pytest.mark.req("S4.20")
def test_a_feed_that_never_had_a_story_is_polled_weekly() -> None:
    assert back_off_due_at(100.0, None) == 100.0 + WEEK
    assert plan(FeedState(), Poll(attempted_at=100.0), DEFAULT).due_at == 100.0 + WEEK


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_the_delay_is_within_its_bounds_whatever_the_clock_did(attempt: float, new: float) -> None:
    delay = back_off_due_at(attempt, new) - attempt
    assert 299.9 <= delay <= WEEK + 0.1


def test_a_server_that_asks_for_patience_gets_it_a_week_at_most() -> None:
    fresh = FeedState(last_new_story_at=0.0)
    poll = Poll(attempted_at=0.0, failure=Failure.SOFT, retry_after_seconds=7_200.0)
    assert plan(fresh, poll, DEFAULT).due_at == 7_200.0
    rude = Poll(attempted_at=0.0, failure=Failure.SOFT, retry_after_seconds=1e9)
    assert plan(fresh, rude, DEFAULT).due_at == WEEK
    assert plan(fresh, poll, NewsSettings(retry_after=False)).due_at == 300.0


def test_what_a_feed_recommends_counts_when_asked_to() -> None:
    hourly = FeedState(last_new_story_at=0.0, ttl_seconds=3_600.0)
    poll = Poll(attempted_at=0.0, stories=1, new_stories=1)
    assert plan(hourly, poll, DEFAULT).due_at == 300.0
    assert plan(hourly, poll, NewsSettings(honour_ttl=True)).due_at == 3_600.0


@pytest.mark.parametrize(
    ("outcome", "status", "failure"),
    [
        (Outcome.HTTP_4XX, 403, Failure.HARD),
        (Outcome.HTTP_4XX, 410, Failure.GONE),
        (Outcome.HTTP_4XX, 404, Failure.SOFT),
        (Outcome.HTTP_5XX, 500, Failure.SOFT),
        (Outcome.NET_TIMEOUT_CONNECT, 0, Failure.SOFT),
        (Outcome.PARSE_FAILED, 200, Failure.SOFT),
        (Outcome.DNS_NXDOMAIN, 0, Failure.SOFT),
        (Outcome.DNS_SERVFAIL, 0, Failure.PASSING),
        (Outcome.POLICY_PRIVATE_ADDRESS, 0, Failure.HARD),
    ],
)
def test_failures_have_classes(outcome: Outcome, status: int, failure: Failure) -> None:
    assert failure_of(outcome, status) is failure


def polls_until_given_up(failure: Failure) -> int:
    state, polls = FeedState(), 0
    planned = Plan(0.0, state)
    while not planned.give_up:
        planned = plan(planned.state, Poll(attempted_at=0.0, failure=failure), DEFAULT)
        polls += 1
    return polls


def test_a_feed_is_given_up_when_it_is_gone_or_after_thirty_hard_failures_in_a_row() -> None:
    assert polls_until_given_up(Failure.GONE) == 1
    assert polls_until_given_up(Failure.HARD) == 30
    assert polls_until_given_up(Failure.SOFT) == 60
    assert polls_until_given_up(Failure.PASSING) == 120


def test_one_success_clears_the_failures() -> None:
    failing = FeedState(failures=29.5)
    assert plan(failing, Poll(attempted_at=0.0), DEFAULT).state.failures == 0.0


ADAPTIVE = NewsSettings(adaptive=True)


def test_an_adaptive_interval_follows_the_share_of_known_stories() -> None:
    steady = FeedState(interval_seconds=7_200.0, successes_in_a_row=2, last_new_story_at=0.0)
    known = Poll(attempted_at=100.0, stories=30, new_stories=1)
    assert plan(steady, known, ADAPTIVE).state.interval_seconds == 7_800.0
    middling = Poll(attempted_at=100.0, stories=30, new_stories=15)
    assert plan(steady, middling, ADAPTIVE).state.interval_seconds == 7_200.0
    fresh = Poll(attempted_at=100.0, stories=30, new_stories=29)
    assert plan(steady, fresh, ADAPTIVE).state.interval_seconds == 3_600.0
    dead = Poll(attempted_at=40 * 86_400.0, stories=30)
    assert plan(steady, dead, ADAPTIVE).state.interval_seconds == 10_800.0


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(list(Failure))), max_size=40),
)
def test_an_adaptive_interval_stays_within_its_bounds(polls: list[tuple[int, Failure]]) -> None:
    state, at = FeedState(), 0.0
    for new, failure in polls:
        planned = plan(
            state, Poll(attempted_at=at, stories=30, new_stories=new, failure=failure), ADAPTIVE
        )
        interval = planned.state.interval_seconds
        assert interval is not None
        assert 600.0 <= interval <= 86_400.0
        state, at = planned.state, planned.due_at
