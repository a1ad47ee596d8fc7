"""Another look at URLs that wait, when settings have changed or their finders are mistrusted."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final

from gossamer.catalog.catalog import Gate, Pending
from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.queries import QUERIES
from gossamer.catalog.tally import Tally
from gossamer.messages import Kind
from gossamer.outcomes import Outcome, State

_STEP: Final = 500


def pending(database: Database) -> Iterator[Pending]:
    """Go through the URLs that wait."""
    after = 0
    while True:
        with database.doing("read pending URLs") as connection:
            rows = connection.execute(QUERIES["pending_rows"], (after, _STEP)).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        for doc_id, url, host, depth, kind in rows:
            yield Pending(doc_id, url, host, depth, Kind(kind))


def keep_out(
    connection: sqlite3.Connection,
    tally: Tally,
    doc_ids: Iterable[int],
    outcome: Outcome,
    detail: str,
) -> int:
    """Turn pending URLs into excluded ones."""
    rows = connection.execute(QUERIES["pending_of"], (json_list(doc_ids),)).fetchall()
    for doc_id, host_id, before in rows:
        connection.execute(QUERIES["keep_out_url"], (int(outcome), detail or None, doc_id))
        tally.move(host_id, State.PENDING, State.EXCLUDED)
        tally.judge(before, outcome)
    return len(rows)


def expel(connection: sqlite3.Connection, tally: Tally, gate: Gate) -> None:
    """Keep URLs on probation out whose finders' links are not followed any more."""
    for host in set(gate.closed()):
        by_reason: dict[str, list[int]] = {}
        for doc_id, finder in connection.execute(QUERIES["on_probation"], (host,)):
            reason = gate.refusal(finder)
            if reason is not None:
                by_reason.setdefault(reason, []).append(doc_id)
        for reason, doc_ids in by_reason.items():
            keep_out(connection, tally, doc_ids, Outcome.POLICY_TRAP, reason)
