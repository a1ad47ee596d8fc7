"""What a call of a hub means for the catalog; and what is written of it, and how often.

One lock: the listener and the asker share one catalog, of which one thread at a time may ask.
Pushes that come one upon the other cost one write in `GAP_SECONDS` for each feed, and none is
forgotten: a feed is polled once more after the last of them.
"""

import threading
from typing import Final

from gossamer.catalog import pushes
from gossamer.catalog.connection import Database
from gossamer.catalog.pushes import Push, PushState
from gossamer.clock import Clock
from gossamer.news.push_rules import (
    WEEK_SECONDS,
    Call,
    agrees,
    confirmation_wait,
    lease_of,
    renewal_wait,
    setback,
)

GAP_SECONDS: Final = 30.0
"""A feed is polled at most so often because of pushes."""
_NOTE_SECONDS: Final = 60.0


class PushDesk:
    """Reads and writes subscriptions."""

    def __init__(self, database: Database, clock: Clock, lease_seconds: float) -> None:
        self._database = database
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._lock = threading.Lock()
        self._taken_at: dict[int, float] = {}
        self._untaken: dict[int, int] = {}
        self._owed = pushes.owed(database)
        self._ignored: dict[int, int] = {}
        self._unnoted: set[int] = set()
        self._noted_at = clock.monotonic()

    # What the listener asks.

    def find(self, token: str) -> Push | None:
        """Return the subscription of a callback."""
        with self._lock:
            return pushes.find(self._database, token)

    def answer(self, token: str, call: Call) -> str | None:
        """Return what to answer to a hub's question or news; None: it is not for us."""
        with self._lock:
            push = pushes.find(self._database, token)
            if push is None:
                return None
            now = self._clock.time()
            if call.mode == "denied" and call.topic == push.topic:
                reason = f"denied: {call.reason}" if call.reason else "denied"
                pushes.deny(self._database, token, now + WEEK_SECONDS, reason)
                return ""
            if not agrees(push, call):
                return None
            # What was not asked for is a repetition: it is answered, and changes nothing.
            if call.mode == "subscribe" and push.asked:
                lease = lease_of(call.lease, self._lease_seconds)
                next_at = now + renewal_wait(lease)
                pushes.confirm(self._database, token, now + lease, next_at)
            return call.challenge

    def take(self, feed_id: int) -> None:
        """Take a push that is what its hub has signed."""
        with self._lock:
            self._untaken[feed_id] = self._untaken.get(feed_id, 0) + 1
            now = self._clock.time()
            if not self._is_recent(feed_id, now):
                self._take_in(feed_id, now)

    def ignore(self, feed_id: int) -> None:
        """Count a push that was not signed as it should be."""
        with self._lock:
            self._ignored[feed_id] = self._ignored.get(feed_id, 0) + 1
            self._unnoted.add(feed_id)

    # What the asker asks.

    def due(self, limit: int, resting_hubs: frozenset[str]) -> list[Push]:
        """Return the subscriptions that are to be asked for or renewed."""
        with self._lock:
            return pushes.due(self._database, self._clock.time(), limit, resting_hubs)

    def unwanted(self, limit: int, resting_hubs: frozenset[str]) -> list[Push]:
        """Return the subscriptions that are to be ended."""
        with self._lock:
            pushes.want_again(self._database)
            return pushes.unwanted(self._database, limit, resting_hubs)

    def begin(self, push: Push, token: str, secret: str) -> bool:
        """Note that a hub is about to be asked; False: that is no longer wanted."""
        with self._lock:
            now = self._clock.time()
            next_at = now + confirmation_wait(push.asked + 1)
            return pushes.begin(self._database, push, token, secret, now, next_at)

    def fail(
        self, push: Push, token: str, status: int, detail: str, retry_after: float | None
    ) -> None:
        """Note that a hub did not take the question that was begun."""
        after = setback(push.asked + 1, status, retry_after)
        state = PushState.REFUSED if after.refused else None
        with self._lock:
            next_at = self._clock.time() + after.wait_seconds
            pushes.failed(self._database, push, token, next_at, detail, state)

    def leave(self, push: Push) -> None:
        """Note that we want to hear no more."""
        with self._lock:
            pushes.leave(self._database, push)

    def tidy(self) -> None:
        """Do what was put off and is due by now."""
        with self._lock:
            now = self._clock.time()
            for feed_id in [each for each in self._untaken if not self._is_recent(each, now)]:
                self._take_in(feed_id, now)
            self._taken_at = {
                feed_id: at
                for feed_id, at in self._taken_at.items()
                if self._is_recent(feed_id, now)
            }
            if self._owed:
                self._owed = pushes.poll_owed(self._database, self._owed, now, GAP_SECONDS)
            if self._unnoted and self._clock.monotonic() >= self._noted_at + _NOTE_SECONDS:
                self._note_ignored()

    def close(self) -> None:
        """Write down all that was put off."""
        with self._lock:
            for feed_id in list(self._untaken):
                self._take_in(feed_id, self._clock.time())
            if self._unnoted:
                self._note_ignored()

    def _is_recent(self, feed_id: int, now: float) -> bool:
        """Whether a push of this feed was written down lately."""
        at = self._taken_at.get(feed_id)
        # A clock that was set back must not put pushes off for longer than that.
        return at is not None and at <= now < at + GAP_SECONDS

    def _take_in(self, feed_id: int, now: float) -> None:
        count = self._untaken[feed_id]
        if pushes.pushed(self._database, feed_id, count, now, GAP_SECONDS):
            self._owed.add(feed_id)
        del self._untaken[feed_id]
        self._taken_at[feed_id] = now

    def _note_ignored(self) -> None:
        self._noted_at = self._clock.monotonic()
        details = {
            feed_id: f"ignored {self._ignored[feed_id]}: not signed, or not with our secret"
            for feed_id in self._unnoted
        }
        pushes.note_ignored(self._database, details)
        self._unnoted.clear()
