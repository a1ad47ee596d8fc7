"""Discoveries of a catalog in memory: by the rules of `discover.py` and `waiting.py`."""

from collections.abc import Iterable
from typing import Final

from gossamer.catalog.catalog import Gate
from gossamer.catalog.in_memory_leases import on_probation
from gossamer.catalog.in_memory_tables import Change, Entry, Host, Tables, enqueue
from gossamer.catalog.judging import MOST_IN_TURN, ON_PROBATION, is_doubtful, too_deep
from gossamer.messages import Found
from gossamer.outcomes import Outcome, State

_PENDING: Final = int(State.PENDING)
_EXCLUDED: Final = int(State.EXCLUDED)
_TRAP: Final = int(Outcome.POLICY_TRAP)

Finding = tuple[Found, int | None]
"""A URL, and the document it was found in."""


def discover(
    tables: Tables,
    change: Change,
    found: Iterable[Finding],
    now: float,
    *,
    priority: int = 0,
    named: bool = False,
    gate: Gate | None = None,
) -> list[int]:
    """Enter URLs; return the numbers of the new ones.

    `named`: a person asks for them, so that those which were excluded become pending.
    """
    wanted = _wanted(tables, found)
    by_md5, entries = tables.by_md5, tables.entries
    first = len(entries) + 1
    named_priority = priority if named else None
    host = Host(0, "")
    for md5, (item, parent) in wanted.items():
        known = by_md5.get(md5)
        if known is not None:
            if item.state == _PENDING:
                _improve(tables, change, known, item, parent, named_priority, gate)
            continue
        if gate is not None and item.state == _PENDING:
            item = gate.admit(item)  # noqa: PLW2901 - the same URL, perhaps excluded
        if item.host != host.name:
            host = tables.host(item.host)
        state, outcome = item.state, item.outcome
        entry = Entry(
            tables.new_doc_id(),
            item.url,
            md5,
            host,
            item.kind,
            state,
            outcome,
            item.depth,
            ON_PROBATION if item.probation else priority,
            parent,
            now,
            item.via,
            item.detail,
        )
        entries.append(entry)
        by_md5[md5] = entry
        if state == _PENDING:
            change.put(entry, None)
        else:
            change.move(host, None, state)
        if outcome is not None:
            tables.judge(None, outcome)
    return list(range(first, len(entries) + 1))


def _wanted(tables: Tables, found: Iterable[Finding]) -> dict[bytes, Finding]:
    """Return each URL once, in the order in which they were found first."""
    wanted: dict[bytes, Finding] = {}
    for finding in found:
        item, parent = finding
        if item.kind in MOST_IN_TURN and parent is not None and _is_too_deep(tables, item, parent):
            item = too_deep(item)
            finding = item, parent  # noqa: PLW2901 - the same URL, excluded
        earlier = wanted.setdefault(item.md5, finding)
        if earlier is not finding and item.state == _PENDING and is_doubtful(earlier[0]):
            wanted[item.md5] = finding
    return wanted


def _is_too_deep(tables: Tables, item: Found, parent: int) -> bool:
    """Whether too many of its kind lead to a URL in turn; redirects have their own limit."""
    if item.via or item.state != _PENDING:
        return False
    above: int | None = parent
    for _ in range(MOST_IN_TURN[item.kind]):
        entry = None if above is None else tables.entry(above)
        if entry is None or entry.kind != item.kind:
            return False
        above = entry.parent
    return True


def _improve(
    tables: Tables,
    change: Change,
    known: Entry,
    item: Found,
    parent: int | None,
    named_priority: int | None,
    gate: Gate | None,
) -> None:
    """Let a known URL gain by being found again: a shorter way to it, or a second chance."""
    if known.state == _EXCLUDED:
        # Kept out unseen, because of the first way to it: that was too long, or led into a trap.
        other_way = item.depth < known.depth or (known.outcome == _TRAP and not item.probation)
        if named_priority is None and (known.tries or not other_way or not _admits(gate, item)):
            return
        _readmit(tables, change, known, named_priority or 0, item.depth)
    elif known.state == _PENDING:
        if item.depth < known.depth:
            known.depth, known.parent = item.depth, parent
        # Somebody names it, or another page leads to it that has something to say.
        if known.priority < 0 and not item.probation:
            known.priority, known.parent = 0, parent
            enqueue(known)


def _admits(gate: Gate | None, item: Found) -> bool:
    return gate is None or gate.admit(item).state == _PENDING


def _readmit(tables: Tables, change: Change, entry: Entry, priority: int, depth: int) -> None:
    tables.judge(entry.outcome, None)
    entry.state = _PENDING
    entry.outcome = None
    entry.due_at = 0.0
    entry.tries = 0
    entry.priority = max(entry.priority, priority)
    entry.depth = min(entry.depth, depth)
    entry.detail = ""
    change.put(entry, _EXCLUDED)


def readmit(tables: Tables, change: Change, doc_ids: Iterable[int]) -> int:
    """Turn excluded URLs into pending ones."""
    excluded = _in_state(tables, doc_ids, _EXCLUDED)
    for entry in excluded:
        _readmit(tables, change, entry, 0, entry.depth)
    return len(excluded)


def keep_out(
    tables: Tables, change: Change, doc_ids: Iterable[int], outcome: Outcome, detail: str
) -> int:
    """Turn pending URLs into excluded ones."""
    pending = _in_state(tables, doc_ids, _PENDING)
    for entry in pending:
        tables.judge(entry.outcome, int(outcome))
        entry.state = _EXCLUDED
        entry.outcome = int(outcome)
        entry.due_at = 0.0
        entry.detail = detail
        change.move(entry.host, _PENDING, _EXCLUDED)
    return len(pending)


def _in_state(tables: Tables, doc_ids: Iterable[int], state: int) -> list[Entry]:
    entries = map(tables.entry, dict.fromkeys(doc_ids))
    return [entry for entry in entries if entry is not None and entry.state == state]


def expel(tables: Tables, change: Change, gate: Gate) -> None:
    """Keep URLs on probation out whose finders' links are not followed any more."""
    for name in set(gate.closed()):
        host = tables.hosts.get(name)
        for entry in on_probation(tables, host) if host is not None else ():
            finder = None if entry.parent is None else tables.entry(entry.parent)
            reason = None if finder is None else gate.refusal(finder.url)
            if reason is not None:
                keep_out(tables, change, [entry.doc_id], Outcome.POLICY_TRAP, reason)
