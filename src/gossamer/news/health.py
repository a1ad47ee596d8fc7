"""How feeds and sources fare, in words: above all why a feed is quiet. Pure rules."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from gossamer.catalog.download_book import REDUNDANT
from gossamer.catalog.subscriptions import FeedRow
from gossamer.outcomes import Outcome

DAYS: Final = 14
_DAY: Final = 86_400.0
_UNITS: Final = ((_DAY, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_REFUSED: Final = 3


def why_quiet(feed: FeedRow, now: float) -> str:
    """Say in words why nothing new comes of a feed; of one that is not quiet, say that."""
    return "; ".join(_reasons(feed, now))


def _reasons(feed: FeedRow, now: float) -> Iterator[str]:
    if not feed.enabled:
        yield f"disabled because {feed.why_disabled or 'somebody said so'}"
    elif not feed.source_enabled:
        yield "disabled because its source is"
    yield from _history(feed, now)
    if feed.enabled and feed.source_enabled:
        yield from _waits(feed, now)


def _history(feed: FeedRow, now: float) -> Iterator[str]:
    """Say what its polls have brought so far."""
    if feed.failures > 0 or (feed.is_open and feed.last_error):
        times = f" (failures: {feed.failures:g})" if feed.failures else ""
        yield f"failing with {feed.last_error or 'an unknown error'}{times}"
    if feed.last_success_at is None:
        if feed.failures <= 0:
            yield "never polled" if feed.last_attempt_at is None else "no poll has ended yet"
        return
    if feed.last_new_story_at is None:
        yield "no story was ever found in it"
    elif feed.last_new_story_at < (feed.last_attempt_at or 0.0):
        moment = datetime.fromtimestamp(feed.last_new_story_at, UTC)
        yield f"no new story since {moment:%Y-%m-%d %H:%M} ({roughly(now - moment.timestamp())})"
    elif feed.failures <= 0:
        yield "not quiet: the last poll found a new story"
    if feed.failures <= 0 and feed.last_outcome == Outcome.NOT_MODIFIED:
        yield "server says 304 (not modified)"
    elif feed.failures <= 0 and feed.last_content == REDUNDANT:
        yield "same stories as before"


def _waits(feed: FeedRow, now: float) -> Iterator[str]:
    """Say what the next poll waits for, if it is more than its time."""
    if feed.is_open and feed.is_fetching:
        yield "being fetched"
    elif feed.is_open and feed.host_parked_until > now:
        wait = roughly(feed.host_parked_until - now)
        reason = f": {feed.host_parked_reason}" if feed.host_parked_reason else ""
        yield f"waits for host {feed.host}, which rests for {wait}{reason}"
    elif feed.is_open and feed.not_before > now:
        yield f"tried again in {roughly(feed.not_before - now)}"
    elif feed.is_open:
        yield f"waits for host {feed.host}"
    if feed.hub_state == _REFUSED:
        yield f"its hub {feed.hub} refuses to push"


def next_poll_seconds(feed: FeedRow, now: float) -> float | None:
    """Return how long it is until the next poll, 0 if it is due; None when it is not planned."""
    return None if feed.due_at is None else max(0.0, feed.due_at - now)


def roughly(seconds: float) -> str:
    """Write a duration in its largest unit: 3 d, 5 h, 12 min, 30 s."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return "0 s"


def day_ends(now: float, days: int = DAYS) -> list[float]:
    """Return the beginnings of the last days (UTC), today's included, and the end of today."""
    tomorrow = (now // _DAY + 1) * _DAY
    return [tomorrow - _DAY * ago for ago in range(days, -1, -1)]
