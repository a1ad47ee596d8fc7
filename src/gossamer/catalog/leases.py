"""Leases: what is due goes out, and comes back when nothing came of it.

Theory of operation. Hosts with work that is due stand in a line (`host.turn`, a number without a
clock in it, so that a clock set back stalls nobody). The first in the line is served and goes to
its end, or leaves when it has no more; a host with retries only waits outside (`host.next_due_at`).
Every host with a pending URL is in the line or waits: `check` proves it. So a refill costs what it
brings, however many hosts are known.
"""

import sqlite3
from collections.abc import Collection, Iterable
from typing import Final

from gossamer.catalog.catalog import Recovery
from gossamer.catalog.judging import MOST_ON_PROBATION
from gossamer.catalog.memory import Memory, first_lease
from gossamer.catalog.queries import QUERIES
from gossamer.catalog.tally import Tally
from gossamer.catalog.throttle import Throttle
from gossamer.messages import Due, Kind
from gossamer.outcomes import State

_Row = tuple[int, str, int, int, int, str | None, int | None, int]
_KINDS: Final = tuple(Kind(number) for number in range(len(Kind)))


def begin_run(
    connection: sqlite3.Connection,
    tally: Tally,
    now: float,
    longest_wait_seconds: float,
    keep_delivered_seconds: float | None,
) -> Recovery:
    """Return leases to pending and cut waits that only a wrong clock can have stored."""
    last = connection.execute(QUERIES["last_run"]).fetchone()
    if keep_delivered_seconds is None:
        released = connection.execute(QUERIES["release_all_urls"]).rowcount
        connection.execute(QUERIES["release_all_hosts"])
        connection.execute(QUERIES["release_total"])
    else:
        released = release_open(connection, tally, now, now - keep_delivered_seconds)
    cut_waits(connection, now + longest_wait_seconds)
    run_id = connection.execute(QUERIES["begin_run"], (now,)).lastrowid or 0
    return Recovery(run_id, last is None or last[1] is not None, released)


def release_open(
    connection: sqlite3.Connection, tally: Tally, now: float, delivered_since: float
) -> int:
    """Return leases to pending, but for those whose results are on their way since a moment."""
    connection.execute(QUERIES["cut_deliveries"], {"now": now})
    rows = connection.execute(QUERIES["release_open"], {"since": delivered_since}).fetchall()
    for (host_id,) in rows:
        tally.move(host_id, State.LEASED, State.PENDING)
    return len(rows)


def cut_waits(connection: sqlite3.Connection, latest: float) -> None:
    """Let nothing wait beyond `latest`."""
    for query in ("cut_url_waits", "cut_host_waits", "cut_host_clocks"):
        connection.execute(QUERIES[query], {"latest": latest})


def shift_waits(connection: sqlite3.Connection, seconds: float) -> None:
    """Let everything wait as long as before, though the clock was set back by so much."""
    for query in ("shift_url_waits", "shift_host_waits", "shift_host_clocks"):
        connection.execute(QUERIES[query], {"seconds": seconds})


def last_moment(connection: sqlite3.Connection, *, by_fetches: bool) -> float:
    """Return when the last run was last at work; `by_fetches`: these go by our own clock."""
    row = connection.execute(QUERIES["last_run_moments"]).fetchone()
    if row is None:
        return 0.0
    began_at, ended_at = row
    if ended_at is not None:
        return float(ended_at)
    fetched = connection.execute(QUERIES["last_fetched_at"]).fetchone() if by_fetches else None
    return max(float(began_at), 0.0 if fetched is None else fetched[0])


def cut_recrawls(connection: sqlite3.Connection, latest: float) -> None:
    """Let no document wait for its next visit beyond `latest`."""
    connection.execute(QUERIES["cut_recrawls"], {"latest": latest})


def lease(
    connection: sqlite3.Connection,
    memory: Memory,
    now: float,
    *,
    count: int,
    per_host: int,
    reject_hosts: Collection[str],
    throttle: Throttle | None = None,
) -> list[Due]:
    """Lease URLs of the hosts in the line, in their order; rejected ones keep their place."""
    connection.execute(QUERIES["promote_hosts"], {"turn": memory.new_turn(), "now": now})
    batch: list[Due] = []
    served: set[int] = set()
    while len(batch) < count:
        hosts = _next_hosts(connection, count - len(batch), reject_hosts, served)
        if not hosts:
            break
        for host_id, name in hosts:
            served.add(host_id)
            limit = min(per_host, count - len(batch))
            if limit <= 0:
                break
            if throttle is not None:
                limit = min(limit, throttle.room(name, now))
            if limit > 0:
                batch += _lease_host(connection, memory, (host_id, name), limit, now, throttle)
            elif throttle is not None:
                rest = {"host_id": host_id, "until": throttle.rests_until(name)}
                connection.execute(QUERIES["rest_host"], rest)
    if batch:
        moved = len(batch)
        connection.execute(QUERIES["count_total"], (-moved, moved, 0, 0, 0, 0, 0))
    return batch


def _next_hosts(
    connection: sqlite3.Connection,
    count: int,
    reject_hosts: Collection[str],
    served: Collection[int],
) -> list[tuple[int, str]]:
    hosts: list[tuple[int, str]] = []
    for host_id, name in connection.execute(QUERIES["hosts_in_line"]):
        if host_id in served:
            continue
        if name not in reject_hosts:
            hosts.append((host_id, name))
            if len(hosts) == count:
                break
    return hosts


def _lease_host(
    connection: sqlite3.Connection,
    memory: Memory,
    host: tuple[int, str],
    limit: int,
    now: float,
    throttle: Throttle | None,
) -> list[Due]:
    host_id, name = host
    rows, limit = _next_rows(connection, host_id, limit, now)
    # Not with RETURNING, which has no order and costs half as much again.
    connection.execute(QUERIES["lease_urls"], (json_list([row[0] for row in rows]),))
    change = {"host_id": host_id, "leased": len(rows)}
    if len(rows) == limit:
        connection.execute(QUERIES["serve_host_again"], change | {"turn": memory.new_turn()})
    else:
        connection.execute(QUERIES["serve_host_up"], change)
    if throttle is not None and rows:
        until = throttle.give(name, len(rows), now)
        if len(rows) == limit:
            connection.execute(QUERIES["rest_host"], {"host_id": host_id, "until": until})
    batch = []
    first = memory.leased
    for doc_id, url, depth, kind, tries, via, last_page, is_first in rows:
        if is_first and first is not None:
            first[doc_id] = first_lease(host_id, kind, tries)
        etag = last_modified = None
        if last_page is not None:
            etag, last_modified = connection.execute(QUERIES["validators"], (last_page,)).fetchone()
        chain = tuple(via.split("\n")) if via else ()
        batch.append(Due(doc_id, url, name, depth, _KINDS[kind], tries, chain, etag, last_modified))
    return batch


def _next_rows(
    connection: sqlite3.Connection, host_id: int, limit: int, now: float
) -> tuple[list[_Row], int]:
    """Return fresh URLs, then retries, else what is on probation; and how many there can be."""
    wanted = {"host_id": host_id, "now": now, "count": limit}
    rows: list[_Row] = connection.execute(QUERIES["fresh_urls"], wanted).fetchall()
    if len(rows) < limit:
        wanted["count"] = limit - len(rows)
        rows += connection.execute(QUERIES["retries"], wanted).fetchall()
    if not rows:
        limit = wanted["count"] = min(limit, MOST_ON_PROBATION)
        rows = connection.execute(QUERIES["urls_on_probation"], wanted).fetchall()
    return rows, limit


def release(
    connection: sqlite3.Connection,
    memory: Memory,
    doc_ids: Iterable[int],
    tally: Tally,
    due_at: float,
    *,
    died: bool,
) -> int:
    """Return leases to pending; documents that are not leased are left alone."""
    leased = connection.execute(QUERIES["leases_of"], (json_list(doc_ids),)).fetchall()
    connection.executemany(
        QUERIES["release_url"], [(due_at, int(died), doc_id) for doc_id, _ in leased]
    )
    for doc_id, host_id in leased:
        tally.move(host_id, State.LEASED, State.PENDING, due_at)
        if memory.leased is not None:
            memory.leased.pop(doc_id, None)
    return len(leased)


def requeue(connection: sqlite3.Connection, tally: Tally, now: float, limit: int) -> int:
    """Turn documents whose next fetch has come into pending ones."""
    rows = connection.execute(QUERIES["recrawls_due"], (now, limit)).fetchall()
    connection.executemany(QUERIES["requeue_url"], [(doc_id,) for doc_id, _, _ in rows])
    for _, host_id, state in rows:
        tally.move(host_id, state, State.PENDING)
    return len(rows)


def try_again(
    connection: sqlite3.Connection,
    tally: Tally,
    outcomes: Iterable[int],
    statuses: Iterable[int],
    tries: int,
) -> int:
    """Turn documents that failed in these ways, in fewer tries than this, into pending ones."""
    ways = (tries, json_list(outcomes), json_list(statuses))
    rows = connection.execute(QUERIES["failed_so"], ways).fetchall()
    connection.executemany(QUERIES["try_again_url"], [(doc_id,) for doc_id, _ in rows])
    for _, host_id in rows:
        tally.move(host_id, State.FAILED, State.PENDING)
    return len(rows)


def json_list(numbers: Iterable[int | str]) -> str:
    """Return numbers, or `null`, as the parameter of a `json_each`: for any count of them."""
    return f"[{','.join(map(str, numbers))}]"
