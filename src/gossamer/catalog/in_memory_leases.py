"""Leases of a catalog in memory: in the same order as `leases.py` says, and by its theory."""

from collections.abc import Collection, Iterable, Iterator
from heapq import heapify, heappop
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.catalog import Recovery
from gossamer.catalog.in_memory_tables import (
    Change,
    Entry,
    Host,
    Run,
    Tables,
    Wait,
    enqueue,
    wait_until,
)
from gossamer.catalog.judging import MOST_ON_PROBATION
from gossamer.messages import Due, Kind
from gossamer.outcomes import State

_PENDING: Final = int(State.PENDING)
_LEASED: Final = int(State.LEASED)
_FAILED: Final = int(State.FAILED)
_NUMBER: Final = (1 << 32) - 1
_KINDS: Final = tuple(Kind(number) for number in range(len(Kind)))


def begin_run(
    tables: Tables,
    change: Change,
    now: float,
    longest_wait_seconds: float,
    keep_delivered_seconds: float | None,
) -> Recovery:
    """Return leases to pending and cut waits that only a wrong clock can have stored."""
    last = tables.runs[-1] if tables.runs else None
    if last is not None and now < _last_moment(tables, last):
        shift_waits(tables, _last_moment(tables, last) - now)
    if keep_delivered_seconds is None:
        released = _release_all(tables)
    else:
        released = release_delivered(tables, change, now, now - keep_delivered_seconds, others=True)
    cut_waits(tables, now + longest_wait_seconds)
    tables.runs.append(Run(now))
    return Recovery(len(tables.runs), last is None or last.ended_at is not None, released)


def _last_moment(tables: Tables, last: Run) -> float:
    """Return when the last run was last at work."""
    if last.ended_at is not None:
        return last.ended_at
    return max([last.began_at, *tables.tries.times()[-1:]])


def _release_all(tables: Tables) -> int:
    leased = [entry for entry in tables.entries if entry.state == _LEASED]
    for entry in leased:
        entry.state = _PENDING
        enqueue(entry)
    for host in {entry.host for entry in leased}:
        host.counts[_PENDING] += host.counts[_LEASED]
        host.counts[_LEASED] = 0
        wait_until(tables, host, host.clock.parked_until)
    tables.totals[_PENDING] += len(leased)
    tables.totals[_LEASED] = 0
    tables.delivered.clear()
    return len(leased)


def release_delivered(
    tables: Tables, change: Change, now: float, since: float, *, others: bool
) -> int:
    """Return leases to pending whose results are on their way since before a moment.

    `others`: and those whose results are not.
    """
    delivered = tables.delivered
    for doc_id, at in delivered.items():
        delivered[doc_id] = min(at, now)
    late = [
        entry
        for entry in tables.entries
        if entry.state == _LEASED
        and (delivered[entry.doc_id] < since if entry.doc_id in delivered else others)
    ]
    for entry in late:
        entry.state = _PENDING
        delivered.pop(entry.doc_id, None)
        change.put(entry, _LEASED, at_once=True)
    return len(late)


def cut_waits(tables: Tables, latest: float) -> None:
    """Let nothing wait beyond `latest`."""
    for entry in _waiting(tables):
        entry.due_at = min(entry.due_at, latest)
    for host in tables.hosts.values():
        clock = host.clock
        if clock.next_allowed_at > latest or clock.parked_until > latest:
            host.clock = replace(
                clock,
                next_allowed_at=min(clock.next_allowed_at, latest),
                parked_until=min(clock.parked_until, latest),
            )
        if host.next_due_at is not None:
            host.next_due_at = min(host.next_due_at, latest)
    _sort_anew(tables)


def shift_waits(tables: Tables, seconds: float) -> None:
    """Let everything wait as long as before, though the clock was set back by so much."""
    for entry in _waiting(tables):
        # 0 would mean that it was never tried.
        entry.due_at = max(entry.due_at - seconds, 1.0)
    for host in tables.hosts.values():
        clock = host.clock
        if clock.next_allowed_at > 0 or clock.parked_until > 0:
            host.clock = replace(
                clock,
                next_allowed_at=max(clock.next_allowed_at - seconds, 0.0),
                parked_until=max(clock.parked_until - seconds, 0.0),
            )
        if host.next_due_at is not None:
            host.next_due_at = max(host.next_due_at - seconds, 0.0)
    _sort_anew(tables)


def _waiting(tables: Tables) -> Iterator[Entry]:
    return (entry for entry in tables.entries if entry.state == _PENDING and entry.due_at > 0)


def _sort_anew(tables: Tables) -> None:
    """Put all that waits into heaps by its times as they are now."""
    waiting = [
        entry
        for entry in tables.entries
        if entry.state == _PENDING and (entry.due_at > 0 or entry.priority < 0)
    ]
    for host in tables.hosts.values():
        host.retries.clear()
        host.probation.clear()
    for entry in waiting:
        enqueue(entry)
    hosts = tables.hosts.values()
    tables.waits[:] = [
        (host.next_due_at, host.host_id, host) for host in hosts if host.next_due_at is not None
    ]
    heapify(tables.waits)


def lease(
    tables: Tables, now: float, *, count: int, per_host: int, reject_hosts: Collection[str]
) -> list[Due]:
    """Lease URLs of the hosts in the line, in their order; rejected ones keep their place."""
    _promote(tables, now)
    batch: list[Due] = []
    served: set[int] = set()
    while len(batch) < count:
        hosts = _next_hosts(tables, count - len(batch), reject_hosts, served)
        if not hosts:
            break
        for host in hosts:
            served.add(host.host_id)
            limit = min(per_host, count - len(batch))
            if limit <= 0:
                break
            batch += _lease_host(tables, host, limit, now)
    tables.totals[_PENDING] -= len(batch)
    tables.totals[_LEASED] += len(batch)
    return batch


def _promote(tables: Tables, now: float) -> None:
    """Put hosts whose wait is over at the end of the line."""
    waits, line = tables.waits, tables.line
    promoted = []
    while waits and waits[0][0] <= now:
        moment, host_id, host = heappop(waits)
        if host.next_due_at == moment:
            host.next_due_at = None
            if host_id not in line:
                promoted.append((host_id, host))
    line.update(sorted(promoted))


def next_wait(tables: Tables) -> float | None:
    """Return when the next host gets into the line."""
    waits = tables.waits
    while waits and waits[0][2].next_due_at != waits[0][0]:
        heappop(waits)
    return waits[0][0] if waits else None


def _next_hosts(
    tables: Tables, count: int, reject_hosts: Collection[str], served: Collection[int]
) -> list[Host]:
    hosts: list[Host] = []
    for host_id, host in tables.line.items():
        if host_id not in served and host.name not in reject_hosts:
            hosts.append(host)
            if len(hosts) == count:
                break
    return hosts


def _lease_host(tables: Tables, host: Host, limit: int, now: float) -> list[Due]:
    """Lease URLs of a host, which goes to the end of the line if it may have more to give."""
    entries = _next_fresh(tables, host, limit)
    if len(entries) < limit:
        entries += _next_waits(tables, host.retries, limit - len(entries), now)
    if not entries:
        limit = min(limit, MOST_ON_PROBATION)
        entries = _next_waits(tables, host.probation, limit, now)
    host.counts[_PENDING] -= len(entries)
    host.counts[_LEASED] += len(entries)
    line = tables.line
    del line[host.host_id]
    if len(entries) == limit:
        line[host.host_id] = host
    else:
        wait_until(tables, host, _first_due_at(tables, host))
    name = host.name
    return [
        due_of(tables, entry)
        if entry.last_page
        else Due(
            entry.doc_id, entry.url, name, entry.depth, _KINDS[entry.kind], entry.tries, entry.via
        )
        for entry in entries
    ]


def due_of(tables: Tables, entry: Entry) -> Due:
    """Return a URL as it is ordered."""
    page = entry.last_page
    return Due(
        entry.doc_id,
        entry.url,
        entry.host.name,
        entry.depth,
        _KINDS[entry.kind],
        entry.tries,
        entry.via,
        *(tables.tries.validators(page) if page else (None, None)),
    )


def _next_fresh(tables: Tables, host: Host, limit: int) -> list[Entry]:
    fresh, entries = host.fresh, tables.entries
    leased: list[Entry] = []
    while fresh and len(leased) < limit:
        entry = entries[(heappop(fresh) & _NUMBER) - 1]
        if entry.state == _PENDING and entry.due_at <= 0 <= entry.priority:
            entry.state = _LEASED
            leased.append(entry)
    return leased


def _next_waits(tables: Tables, heap: list[Wait], limit: int, now: float) -> list[Entry]:
    leased: list[Entry] = []
    while heap and len(leased) < limit and heap[0][0] <= now:
        wait = heappop(heap)
        entry = tables.entries[wait[2] - 1]
        if _counts(entry, wait):
            entry.state = _LEASED
            leased.append(entry)
    return leased


def _counts(entry: Entry, wait: Wait) -> bool:
    """Whether a URL still is what its key among those that wait says."""
    return entry.state == _PENDING and wait[:2] == (entry.due_at, -entry.priority)


def _first_due_at(tables: Tables, host: Host) -> float | None:
    """Return when the next pending URL of a host is due whose fresh ones are all leased."""
    first: list[float] = []
    for heap in (host.retries, host.probation):
        while heap and not _counts(tables.entries[heap[0][2] - 1], heap[0]):
            heappop(heap)
        first += [wait[0] for wait in heap[:1]]
    return min(first, default=None)


def on_probation(tables: Tables, host: Host) -> list[Entry]:
    """Return the URLs of a host that wait on probation."""
    entries = tables.entries
    doc_ids = {wait[2] for wait in host.probation if _counts(entries[wait[2] - 1], wait)}
    return [entries[doc_id - 1] for doc_id in sorted(doc_ids)]


def release(
    tables: Tables, change: Change, doc_ids: Iterable[int], due_at: float, *, died: bool
) -> int:
    """Return leases to pending; documents that are not leased are left alone."""
    released = 0
    for doc_id in doc_ids:
        entry = tables.entry(doc_id)
        if entry is None or entry.state != _LEASED:
            continue
        entry.state = _PENDING
        entry.due_at = due_at
        tables.delivered.pop(doc_id, None)
        if died:
            tables.deaths[doc_id] = tables.deaths.get(doc_id, 0) + 1
        change.put(entry, _LEASED)
        released += 1
    return released


def cut_recrawls(tables: Tables, latest: float) -> None:
    """Let no document wait for its next visit beyond `latest`."""
    for entry in tables.entries:
        if entry.next_fetch_at is not None and entry.next_fetch_at > latest:
            entry.next_fetch_at = latest


def requeue(tables: Tables, change: Change, now: float, limit: int) -> int:
    """Turn documents whose next fetch has come into pending ones."""
    due = [
        (entry.next_fetch_at, entry.doc_id, entry)
        for entry in tables.entries
        if entry.next_fetch_at is not None and entry.next_fetch_at <= now
    ]
    for _, _, entry in sorted(due)[:limit]:
        entry.tries = 0
        _put_back(change, entry)
    return min(len(due), limit)


def try_again(
    tables: Tables,
    change: Change,
    outcomes: Collection[int],
    statuses: Collection[int],
    tries: int,
) -> int:
    """Turn documents that failed in these ways, in fewer tries than this, into pending ones."""
    failed = [
        entry
        for entry in tables.entries
        if entry.state == _FAILED
        and entry.tries < tries
        and (entry.outcome in outcomes or _status_of(tables, entry) in statuses)
    ]
    for entry in failed:
        _put_back(change, entry)
    return len(failed)


def _status_of(tables: Tables, entry: Entry) -> int | None:
    fetch_id = entry.last_fetch
    return tables.tries.documents[fetch_id - 1].status if fetch_id else None


def _put_back(change: Change, entry: Entry) -> None:
    before = entry.state
    entry.state = _PENDING
    entry.due_at = 0.0
    entry.next_fetch_at = None
    change.put(entry, before)
