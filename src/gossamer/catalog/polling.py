"""When a feed is polled next: pure rules over what its polls have brought.

Back-off in closed form (S4.18-S4.20): with the last new story found at n and the last attempt at a,
the next is at a + (a - n) + 5 minutes. So delays are 5, 10, 20, 40 … minutes without a counter, and
a week at most.
"""

from enum import IntEnum
from typing import Final

from msgspec import Struct

from gossamer.config.news import NewsSettings
from gossamer.outcomes import Outcome

_DAY: Final = 86_400.0
_MANY_KNOWN: Final = 0.67
_FEW_KNOWN: Final = 0.33
_SLOWER_SECONDS: Final = 600.0
_MUCH_SLOWER_SECONDS: Final = 3_600.0
_FASTER_SECONDS: Final = 3_600.0
_USUAL_SECONDS: Final = 21_600.0
_QUIET_SECONDS: Final = 31 * _DAY


class Failure(IntEnum):
    """How much a failed poll says against a feed."""

    NONE = 0
    PASSING = 1
    """Our side or the network: nothing against the feed."""
    SOFT = 2
    """May well be over next time."""
    HARD = 3
    """Will hardly be over next time."""
    GONE = 4
    """The server says that it is gone for good, and is not asked again."""


_WEIGHTS: Final = {
    Failure.NONE: 0.0,
    Failure.PASSING: 0.25,
    Failure.SOFT: 0.5,
    Failure.HARD: 1.0,
    Failure.GONE: 1.0,
}
_PASSING: Final = frozenset(
    {
        Outcome.DNS_SERVFAIL,
        Outcome.DNS_TIMEOUT,
        Outcome.STORE_FULL,
        Outcome.STORE_FAILED,
        Outcome.INTERNAL,
        Outcome.POLICY_ROBOTS_UNREACHABLE,
    }
)
_HARD: Final = frozenset(
    {
        Outcome.HTTP_4XX,
        Outcome.POLICY_PORT,
        Outcome.POLICY_PRIVATE_ADDRESS,
        Outcome.POLICY_ROBOTS,
        Outcome.POLICY_SCOPE,
        Outcome.REDIR_BAD,
        Outcome.REDIR_SCHEME,
    }
)
_NOT_FOUND: Final = 404
_GONE: Final = 410


class FeedState(Struct, frozen=True, kw_only=True):
    """What is remembered of a feed between polls."""

    last_new_story_at: float | None = None
    interval_seconds: float | None = None
    ttl_seconds: float | None = None
    failures: float = 0.0
    successes_in_a_row: int = 0


class Poll(Struct, frozen=True, kw_only=True):
    """What one poll has brought."""

    attempted_at: float
    stories: int = 0
    new_stories: int = 0
    failure: Failure = Failure.NONE
    retry_after_seconds: float | None = None


class Plan(Struct, frozen=True):
    """What follows from it."""

    due_at: float
    state: FeedState
    give_up: bool = False
    """It is gone, or has failed so often that it is not polled any more."""


def back_off_due_at(
    last_attempt_at: float,
    last_new_story_at: float | None,
    first_delay_seconds: float = 300.0,
    max_delay_seconds: float = 604_800.0,
) -> float:
    """Return when a feed is due; one without any story yet is due after the longest delay."""
    if last_new_story_at is None:
        return last_attempt_at + max_delay_seconds
    since_new = max(0.0, last_attempt_at - last_new_story_at)
    return last_attempt_at + min(since_new + first_delay_seconds, max_delay_seconds)


def failure_of(outcome: int, status: int) -> Failure:
    """Return the class of a failed download; 404 is soft, because sites are rebuilt."""
    if outcome in _PASSING:
        return Failure.PASSING
    if outcome == Outcome.HTTP_4XX and status == _GONE:
        return Failure.GONE
    return Failure.HARD if outcome in _HARD and status != _NOT_FOUND else Failure.SOFT


def plan(state: FeedState, poll: Poll, settings: NewsSettings) -> Plan:
    """Return when a feed is polled next, and what is remembered of it until then."""
    failures = state.failures + _WEIGHTS[poll.failure] if poll.failure else 0.0
    new_at = poll.attempted_at if poll.new_stories else state.last_new_story_at
    if new_at is not None:
        # A clock that was ahead must not keep the delay from doubling until its time has come.
        new_at = min(new_at, poll.attempted_at)
    interval = _adapted(state, poll, settings) if settings.adaptive else None
    after = FeedState(
        last_new_story_at=new_at,
        interval_seconds=interval,
        ttl_seconds=state.ttl_seconds,
        failures=failures,
        successes_in_a_row=0 if poll.failure else state.successes_in_a_row + 1,
    )
    if interval is not None:
        wait = interval * max(1.0, failures)
    else:
        due_at = back_off_due_at(
            poll.attempted_at, new_at, settings.first_delay_seconds, settings.max_delay_seconds
        )
        wait = due_at - poll.attempted_at
    if settings.honour_ttl and state.ttl_seconds is not None:
        wait = max(wait, state.ttl_seconds)
    wait = min(wait, settings.max_delay_seconds)
    if settings.retry_after and poll.retry_after_seconds is not None:
        wait = max(wait, min(poll.retry_after_seconds, settings.max_delay_seconds))
    give_up = poll.failure is Failure.GONE or failures >= settings.max_failures
    return Plan(poll.attempted_at + wait, after, give_up)


def _adapted(state: FeedState, poll: Poll, settings: NewsSettings) -> float:
    """Return the interval: longer where most stories were known, shorter where few were."""
    interval = state.interval_seconds or state.ttl_seconds or _USUAL_SECONDS
    if poll.failure or state.successes_in_a_row < 1:
        return _clamped(interval, settings)
    known = 1.0 - poll.new_stories / poll.stories if poll.stories else 1.0
    if known >= _MANY_KNOWN:
        new_at = state.last_new_story_at
        quiet = new_at is not None and poll.attempted_at - new_at > _QUIET_SECONDS
        interval += _MUCH_SLOWER_SECONDS if quiet else _SLOWER_SECONDS
    elif known < _FEW_KNOWN:
        interval = min(interval, _USUAL_SECONDS) - _FASTER_SECONDS
    return _clamped(interval, settings)


def _clamped(interval: float, settings: NewsSettings) -> float:
    return min(max(interval, settings.adaptive_min_seconds), settings.adaptive_max_seconds)
