"""Adoption in a catalog in memory: by the rules of `handover.py`."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.in_memory_discover import discover
from gossamer.catalog.in_memory_leases import due_of
from gossamer.catalog.in_memory_tables import Change, Tables
from gossamer.messages import Due, Found
from gossamer.outcomes import State

_PENDING: Final = int(State.PENDING)
_LEASED: Final = int(State.LEASED)


def adopt(
    tables: Tables,
    change: Change,
    found: Sequence[Found],
    parents: Sequence[int | None],
    now: float,
) -> list[Due | None]:
    """Lease URLs whose results came unordered; None for those that are settled already."""
    # A parent's number may come from a stranger.
    offered = [
        (item, parent if parent is not None and tables.entry(parent) is not None else None)
        for item, parent in zip(found, parents, strict=True)
    ]
    new = {item.md5 for item in found if item.md5 not in tables.by_md5}
    # A new one is never pending, lest its host be put into the line for it. One that waits gains by
    # being found again; one that is kept out stays out, for there is no gate here to ask.
    entries = [(_leased(item), parent) for item, parent in offered if item.md5 in new]
    entries += [
        (item, parent)
        for item, parent in offered
        if item.md5 not in new and tables.by_md5[item.md5].state == _PENDING
    ]
    discover(tables, change, entries, now)
    return [_adopted(tables, change, item, now) for item in found]


def _adopted(tables: Tables, change: Change, item: Found, now: float) -> Due | None:
    entry = tables.by_md5[item.md5]
    if entry.state == _PENDING:
        entry.state = _LEASED
        change.move(entry.host, _PENDING, _LEASED)
    if entry.state != _LEASED:
        return None
    tables.delivered[entry.doc_id] = now
    return due_of(tables, entry)


def _leased(item: Found) -> Found:
    return replace(item, state=_LEASED) if item.state == _PENDING else item
