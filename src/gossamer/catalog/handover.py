"""Handover: what two daemons on one catalog tell each other through it.

The URL server leases; the spider fetches and says so; the store server commits what was fetched.
Between the spider's word and the commit a lease is *delivered*: its result is on its way, so that a
URL server that starts anew must not order the URL again, unless the result does not come.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.catalog import Learned
from gossamer.catalog.discover import discover, known_urls
from gossamer.catalog.leases import json_list
from gossamer.catalog.memory import Memory
from gossamer.catalog.queries import QUERIES
from gossamer.catalog.tally import Tally
from gossamer.messages import Due, Found, Kind
from gossamer.outcomes import Outcome, State

_OPEN: Final = (State.PENDING, State.LEASED)


def mark_delivered(connection: sqlite3.Connection, doc_ids: Iterable[int], now: float) -> int:
    """Note that results are on their way; documents that are not leased are left alone."""
    return connection.execute(QUERIES["mark_delivered"], (now, json_list(doc_ids))).rowcount


def release_undelivered(
    connection: sqlite3.Connection, tally: Tally, now: float, older_than_seconds: float
) -> int:
    """Return leases to pending whose results did not come in time."""
    connection.execute(QUERIES["cut_deliveries"], {"now": now})
    since = {"since": now - older_than_seconds}
    hosts = connection.execute(QUERIES["release_undelivered"], since).fetchall()
    for (host_id,) in hosts:
        tally.move(host_id, State.LEASED, State.PENDING)
    return len(hosts)


def adopt(
    connection: sqlite3.Connection,
    memory: Memory,
    tally: Tally,
    found: Sequence[Found],
    parents: Sequence[int | None],
    now: float,
) -> list[Due | None]:
    """Lease URLs whose results came unordered; None for those that are settled already."""
    existing = {parent: _existing(connection, parent) for parent in set(parents)}
    offered = [(item, existing[parent]) for item, parent in zip(found, parents, strict=True)]
    md5s = list({item.md5 for item in found})
    known = known_urls(connection, md5s)
    # A new one is never pending, lest its host be put into the line for it. One that waits gains by
    # being found again; one that is kept out stays out, for there is no gate here to ask.
    entries = [(_leased(item), parent) for item, parent in offered if item.md5 not in known]
    entries += [
        (item, parent)
        for item, parent in offered
        if item.md5 in known and known[item.md5][2] == State.PENDING
    ]
    discover(connection, memory, tally, entries, now)
    known = known_urls(connection, md5s)
    for doc_id, host_id, state, *_ in known.values():
        if state in _OPEN:
            connection.execute(QUERIES["adopt_url"], (now, doc_id))
        if state == State.PENDING:
            tally.move(host_id, State.PENDING, State.LEASED)
    leased = dues(connection, [row[0] for row in known.values()])
    return [leased.get(known[item.md5][0]) for item in found]


def dues(connection: sqlite3.Connection, doc_ids: Iterable[int]) -> dict[int, Due]:
    """Return the leased ones among some documents, as they are ordered."""
    rows = connection.execute(QUERIES["dues_of"], (json_list(doc_ids),))
    return {
        doc_id: Due(
            doc_id,
            url,
            host,
            depth,
            Kind(kind),
            tries,
            tuple(via.split("\n")) if via else (),
            etag,
            last_modified,
        )
        for doc_id, url, host, depth, kind, tries, via, etag, last_modified in rows
    }


def results_after(connection: sqlite3.Connection, fetch_id: int, limit: int) -> list[Learned]:
    """Return the tries after one of them, in their order."""
    return [
        Learned(number, doc_id, host, url, Outcome(outcome), status, fetched_at, State(state), due)
        for number, doc_id, host, url, outcome, status, fetched_at, state, due in (
            connection.execute(QUERIES["results_after"], (fetch_id, limit))
        )
    ]


def _existing(connection: sqlite3.Connection, doc_id: int | None) -> int | None:
    """Return the number if there is such a document: it may come from a stranger."""
    if doc_id is None or connection.execute(QUERIES["is_document"], (doc_id,)).fetchone() is None:
        return None
    return doc_id


def _leased(item: Found) -> Found:
    return replace(item, state=int(State.LEASED)) if item.state == State.PENDING else item
