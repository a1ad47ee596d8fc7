"""WebSub in the catalog: what hubs were asked to tell us, what they confirmed, what they told.

A row belongs to a feed that names a hub. Its token is the secret part of the URL at which the hub
reaches us: no token, no row, whatever else a caller says. `asked` counts questions that the hub has
not confirmed yet.
"""

import sqlite3
from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.queries import load_queries

_QUERIES: Final = load_queries("pushes.sql")
_MAX_URL: Final = 2_048
_MAX_DETAIL: Final = 300


class PushState(IntEnum):
    """Where a subscription stands."""

    WANTED = 0
    ASKED = 1
    SUBSCRIBED = 2
    REFUSED = 3


class Push(Struct, frozen=True, gc=False):
    """A subscription, as its hub and we need to know it."""

    feed_id: int
    hub: str
    topic: str
    state: PushState
    token: str
    secret: str
    asked: int
    lease_until: float | None
    wanted: bool
    """Whether the feed is polled at all."""


class PushRow(Struct, frozen=True, kw_only=True):
    """A subscription, as shown to people."""

    feed_id: int
    url: str
    hub: str
    topic: str
    state: PushState
    next_at: float | None
    lease_until: float | None
    asked: int
    pushes: int
    last_push_at: float | None
    detail: str


def note_hub(connection: sqlite3.Connection, feed_id: int, hub: str, topic: str) -> None:
    """Note the hub that a feed names; only another hub or topic than before changes anything.

    A feed that names none keeps the one it had: many leave it out of some answers.
    """
    if hub and topic and len(hub) <= _MAX_URL and len(topic) <= _MAX_URL:
        connection.execute(_QUERIES["note_hub"], (feed_id, hub, topic))


def due(
    database: Database, now: float, limit: int, resting_hubs: Collection[str] = ()
) -> list[Push]:
    """Return whose hubs are to be asked now, the longest waiting first."""
    bounds = {"now": now, "limit": limit, "resting": _json(resting_hubs)}
    with database.doing("look for due subscriptions") as connection:
        return _pushes(connection.execute(_QUERIES["pushes_due"], bounds))


def unwanted(database: Database, limit: int, resting_hubs: Collection[str] = ()) -> list[Push]:
    """Return subscriptions to feeds that are not polled any more."""
    bounds = {"limit": limit, "resting": _json(resting_hubs)}
    with database.doing("look for unwanted subscriptions") as connection:
        return _pushes(connection.execute(_QUERIES["pushes_unwanted"], bounds))


def want_again(database: Database) -> int:
    """Make subscriptions due that were left, of feeds that are polled again; count them."""
    with database.writing("want subscriptions again") as connection:
        return connection.execute(_QUERIES["want_again"]).rowcount


def ask_all_again(database: Database) -> int:
    """Make all subscriptions due, because hubs know a callback that is no longer ours."""
    with database.writing("renew all subscriptions") as connection:
        return connection.execute(_QUERIES["ask_all_again"]).rowcount


def begin(
    database: Database, push: Push, token: str, secret: str, now: float, next_at: float
) -> bool:
    """Note that a hub is being asked, before it is: it may confirm sooner than it answers.

    False: the feed has gone, or names another hub meanwhile.
    """
    values = {
        "feed_id": push.feed_id,
        "hub": push.hub,
        "topic": push.topic,
        "token": token,
        "secret": secret,
        "now": now,
        "next_at": next_at,
    }
    with database.writing("ask a hub") as connection:
        return connection.execute(_QUERIES["ask_hub"], values).rowcount > 0


def failed(
    database: Database,
    push: Push,
    token: str,
    next_at: float,
    detail: str,
    state: PushState | None = None,
) -> None:
    """Note that a hub did not take a question, unless it has confirmed it; None: no new state."""
    values = {
        "feed_id": push.feed_id,
        "token": token,
        "state": None if state is None else int(state),
        "next_at": next_at,
        "detail": detail[:_MAX_DETAIL],
    }
    with database.writing("note a hub's refusal") as connection:
        connection.execute(_QUERIES["hub_failed"], values)


def leave(database: Database, push: Push) -> None:
    """Forget a subscription but for its token, by which the hub may ask whether we mean it."""
    with database.writing("leave a hub") as connection:
        connection.execute(_QUERIES["leave_hub"], (push.feed_id, push.token))


def find(database: Database, token: str) -> Push | None:
    """Return the subscription that a token stands for."""
    with database.doing("find a subscription") as connection:
        found = _pushes(connection.execute(_QUERIES["push_by_token"], (token,)))
    return found[0] if found else None


def confirm(database: Database, token: str, lease_until: float, next_at: float) -> bool:
    """Begin the lease of a subscription that was asked for; False: it was not."""
    values = {"token": token, "lease_until": lease_until, "next_at": next_at}
    with database.writing("confirm a subscription") as connection:
        return connection.execute(_QUERIES["confirm_push"], values).rowcount > 0


def deny(database: Database, token: str, next_at: float, detail: str) -> None:
    """Note that a hub will not tell us, and when we ask again."""
    values = {"token": token, "next_at": next_at, "detail": detail[:_MAX_DETAIL]}
    with database.writing("note a denial") as connection:
        connection.execute(_QUERIES["deny_push"], values)


def pushed(database: Database, feed_id: int, count: int, now: float, gap_seconds: float) -> bool:
    """Count pushes and make the feed due, though not sooner than `gap_seconds` after its last poll.

    True: a poll is open now, which may have come too early; `poll_owed` is to look again.
    """
    with database.writing("take a push") as connection:
        values = {"feed_id": feed_id, "count": count, "now": now}
        connection.execute(_QUERIES["count_pushes"], values)
        return _poll(connection, feed_id, now, gap_seconds)


def owed(database: Database) -> set[int]:
    """Return the feeds that were pushed while a poll was open."""
    with database.doing("look for pushed feeds") as connection:
        return {row[0] for row in connection.execute(_QUERIES["pushes_owed"])}


def poll_owed(
    database: Database, feed_ids: Iterable[int], now: float, gap_seconds: float
) -> set[int]:
    """Make feeds due whose open poll has ended; return those whose poll is still open."""
    with database.writing("poll pushed feeds") as connection:
        return {feed_id for feed_id in feed_ids if _poll(connection, feed_id, now, gap_seconds)}


def note_ignored(database: Database, details: dict[int, str]) -> None:
    """Note for people what was ignored, by feed."""
    rows = [(detail[:_MAX_DETAIL], feed_id) for feed_id, detail in details.items()]
    with database.writing("note ignored pushes") as connection:
        connection.executemany(_QUERIES["note_ignored"], rows)


def push_rows(database: Database, limit: int = 1_000_000) -> list[PushRow]:
    """Return subscriptions, for people."""
    with database.doing("read subscriptions") as connection:
        rows = connection.execute(_QUERIES["push_rows"], (limit,)).fetchall()
    named = (dict(zip(PushRow.__struct_fields__, row, strict=True)) for row in rows)
    return [PushRow(**{**row, "state": PushState(row["state"])}) for row in named]


def _poll(connection: sqlite3.Connection, feed_id: int, now: float, gap_seconds: float) -> bool:
    values = {"feed_id": feed_id, "now": now, "gap": gap_seconds}
    connection.execute(_QUERIES["poll_pushed"], values)
    row = connection.execute(_QUERIES["is_owed"], (feed_id,)).fetchone()
    return row is not None and bool(row[0])


def _pushes(
    rows: Iterable[tuple[int, str, str, int, str, str, int, float | None, int]],
) -> list[Push]:
    return [
        Push(feed_id, hub, topic, PushState(state), token, secret, asked, lease_until, bool(wanted))
        for feed_id, hub, topic, state, token, secret, asked, lease_until, wanted in rows
    ]


def _json(values: Collection[str]) -> str:
    return msgspec.json.encode(list(values)).decode()
