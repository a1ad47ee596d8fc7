"""Discoveries: URLs that are not known yet become rows; known ones change only for the better."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from gossamer.catalog.catalog import Gate
from gossamer.catalog.judging import MOST_IN_TURN, ON_PROBATION, is_doubtful, too_deep
from gossamer.catalog.leases import json_list
from gossamer.catalog.many import insert_mixed, select_many
from gossamer.catalog.memory import Memory
from gossamer.catalog.queries import QUERIES
from gossamer.catalog.tally import Tally
from gossamer.messages import Found, Kind
from gossamer.outcomes import Outcome, State

_PENDING: Final = int(State.PENDING)
_PLAIN: Final = (int(Kind.PAGE), _PENDING, None, 0, None, None)
"""Kind, state, outcome, priority, chain and detail of a URL as any other."""
Known = tuple[int, int, int, int | None, int, int, int]
"""doc_id, host_id, state, outcome, depth, tries, priority"""


def discover(
    connection: sqlite3.Connection,
    memory: Memory,
    tally: Tally,
    found: Iterable[tuple[Found, int | None]],
    now: float,
    *,
    priority: int = 0,
    named: bool = False,
    gate: Gate | None = None,
    known: Mapping[bytes, Known] | None = None,
) -> list[int]:
    """Enter URLs, each with the document it was found in; return the numbers of the new ones.

    `named`: a person asks for them, so that those which were excluded become pending. `known`: what
    is known of them, if somebody has looked.
    """
    wanted: dict[bytes, tuple[Found, int | None]] = {}
    nesting = _Nesting(connection)
    for finding in found:
        item, parent = finding
        if item.kind in MOST_IN_TURN and parent is not None and nesting.istoo_deep(item, parent):
            item = too_deep(item)
            finding = item, parent  # noqa: PLW2901 - the same URL, excluded
        earlier = wanted.get(item.md5)
        if earlier is None or (item.state == _PENDING and is_doubtful(earlier[0])):
            wanted[item.md5] = finding
    entered = memory.entered
    if known is None:
        asked = list(wanted)
        # To be named by a person helps more URLs than to be found.
        if entered is not None and not named:
            wanted, asked = entered.sift(wanted)
        known = known_urls(connection, asked)
    rows: list[tuple[object, ...]] = []
    doc_ids = []
    host = None
    host_id = 0
    for md5, (item, parent) in wanted.items():
        row = known.get(md5)
        if row is not None:
            if item.state == _PENDING:
                named_priority = priority if named else None
                _improve(connection, tally, (item, parent), row, named_priority, gate)
            continue
        if gate is not None and item.state == _PENDING:
            item = gate.admit(item)  # noqa: PLW2901 - the same URL, perhaps excluded
        if item.host != host:
            host = item.host
            host_id = memory.host_id(connection, host)
        doc_id = memory.new_doc_id()
        doc_ids.append(doc_id)
        start = (doc_id, md5, host_id, item.depth, parent, now, item.url)
        end = (
            item.kind, item.state, item.outcome, ON_PROBATION if item.probation else priority,
            "\n".join(item.via) if item.via else None, item.detail or None,
        )  # fmt: skip
        rows.append(start if end == _PLAIN else start + end)
        if entered is not None:
            entered.add(item)
        tally.move(host_id, None, item.state)
        if item.outcome is not None:
            tally.judge(None, item.outcome)
    insert_mixed(connection, (QUERIES["insert_url"], QUERIES["insert_plain_url"]), rows, _PLAIN)
    return doc_ids


class _Nesting:
    """Tells how many of a kind lead to one another; each document is asked about once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._levels: dict[tuple[int, int], int] = {}

    def istoo_deep(self, item: Found, parent: int) -> bool:
        """Whether too many of its kind lead to a URL in turn; redirects have their own limit."""
        if item.via or item.state != _PENDING:
            return False
        most = MOST_IN_TURN[item.kind]
        place = parent, item.kind
        if place not in self._levels:
            row = self._connection.execute(QUERIES["in_turn_above"], (*place, most)).fetchone()
            self._levels[place] = row[0]
        return self._levels[place] >= most


def readmit(connection: sqlite3.Connection, tally: Tally, doc_ids: Iterable[int]) -> int:
    """Turn excluded URLs into pending ones."""
    rows = connection.execute(QUERIES["excluded_of"], (json_list(doc_ids),)).fetchall()
    for doc_id, host_id, outcome, depth in rows:
        connection.execute(QUERIES["readmit_url"], (0, depth, doc_id))
        _count_readmitted(tally, host_id, outcome)
    return len(rows)


def known_urls(connection: sqlite3.Connection, md5s: Sequence[bytes]) -> dict[bytes, Known]:
    """Return what is known of URLs, by their md5."""
    query = QUERIES["known_urls"]
    return {row[0]: row[1:] for row in select_many(connection, query, md5s)}


def _improve(
    connection: sqlite3.Connection,
    tally: Tally,
    found: tuple[Found, int | None],
    row: Known,
    named_priority: int | None,
    gate: Gate | None,
) -> None:
    """Let a known URL gain by being found again: a shorter way to it, or a second chance."""
    item, parent = found
    doc_id, host_id, state, outcome, depth, tries, priority = row
    closer = item.depth < depth
    # Somebody names it, or another page leads to it that has something to say.
    acquitted = priority < 0 and not item.probation
    if state == State.EXCLUDED:
        # Kept out unseen, because of the first way to it: that was too long, or led into a trap.
        other_way = closer or (outcome == Outcome.POLICY_TRAP and not item.probation)
        if named_priority is None and (tries or not other_way or not _admits(gate, item)):
            return
        values = (named_priority or 0, item.depth, doc_id)
        connection.execute(QUERIES["readmit_url"], values)
        _count_readmitted(tally, host_id, outcome)
    elif state == State.PENDING:
        if closer:
            connection.execute(QUERIES["shorten_depth"], (item.depth, parent, doc_id))
        if acquitted:
            connection.execute(QUERIES["acquit_url"], (parent, doc_id))


def _admits(gate: Gate | None, item: Found) -> bool:
    return gate is None or gate.admit(item).state == State.PENDING


def _count_readmitted(tally: Tally, host_id: int, outcome: int | None) -> None:
    tally.move(host_id, State.EXCLUDED, State.PENDING)
    tally.judge(outcome, None)
