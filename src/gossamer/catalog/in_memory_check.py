"""Compares the counters of a catalog in memory with what they count."""

from collections import Counter
from collections.abc import Iterator

from gossamer.catalog.in_memory_tables import STATES, Host, Tables, fresh_key
from gossamer.messages import Kind
from gossamer.outcomes import State


def check(tables: Tables) -> list[str]:
    """Return what is wrong."""
    return [
        *_wrong_counters(tables),
        *_wrong_places(tables),
        *(
            f"document {doc_id}: marked as delivered, but not leased"
            for doc_id in tables.delivered
            if tables.entries[doc_id - 1].state != State.LEASED
        ),
    ]


def _wrong_counters(tables: Tables) -> Iterator[str]:
    by_host = {host: [0] * STATES for host in tables.hosts.values()}
    for entry in tables.entries:
        by_host[entry.host][entry.state] += 1
    for host, counted in by_host.items():
        if counted != host.counts:
            yield f"host {host.name}: counters {host.counts}, URLs {counted}"
    pages = sum(bool(e.last_page) and e.kind == Kind.PAGE for e in tables.entries)
    duplicates = sum(entry.duplicate_of is not None for entry in tables.entries)
    states = [sum(entry.state == state for entry in tables.entries) for state in State]
    totals = [*tables.totals, tables.pages, tables.duplicates]
    if totals != [*states, pages, duplicates]:
        yield f"totals {totals}, URLs {[*states, pages, duplicates]}"
    outcomes = Counter(entry.outcome for entry in tables.entries if entry.outcome is not None)
    if outcomes != Counter({key: urls for key, urls in tables.outcomes.items() if urls}):
        yield f"outcomes {tables.outcomes}, URLs {dict(outcomes)}"


def _wrong_places(tables: Tables) -> Iterator[str]:
    """Yield what would never be found again."""
    for number, entry in enumerate(tables.entries, 1):
        if entry.doc_id != number or tables.by_md5.get(entry.md5) is not entry:
            yield f"document {entry.doc_id}: is not where it would be looked for"
    for host in tables.hosts.values():
        if host.counts[State.PENDING] and not _is_served(tables, host):
            yield f"host {host.name}: has pending URLs and would never be served"
    waiting = {
        host: (set(host.fresh), {*host.retries, *host.probation}) for host in tables.hosts.values()
    }
    for entry in tables.entries:
        if entry.state != State.PENDING:
            continue
        fresh, timed = waiting[entry.host]
        is_fresh = entry.due_at <= 0 <= entry.priority
        wait = entry.due_at, -entry.priority, entry.doc_id
        if not (fresh_key(entry) in fresh if is_fresh else wait in timed):
            yield f"document {entry.doc_id}: pending, and would never be leased"


def _is_served(tables: Tables, host: Host) -> bool:
    if host.host_id in tables.line:
        return True
    return host.next_due_at is not None and any(
        wait[0] == host.next_due_at and wait[2] is host for wait in tables.waits
    )
