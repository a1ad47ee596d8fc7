"""Which URLs a batch takes: those of open sites, of each site its share, the most wanted first."""

import sqlite3
from collections.abc import Sequence

from gossamer.catalog.site_book import BATCHES, SiteBook
from gossamer.objects.enumerations import SiteState
from gossamer.objects.limits import limit_mask


def is_open(
    connection: sqlite3.Connection, book: SiteBook, set_id: int, wishes: str, now: float
) -> bool:
    """Whether a site is active (S3.49) and within its limits; else it is suspended (S3.50)."""
    book.settle()
    with book.attending(set_id, wishes):
        site = book.site(set_id)
    if site is None or site.state != SiteState.ACTIVE:
        return False
    mask = limit_mask(site)
    if mask and not wishes:
        # A limit that an item brings along is no reason to suspend its site.
        connection.execute(BATCHES["suspend_site"], (mask, now, site.site_id))
        book.forget(set_id)
    return not mask


def proportional(
    connection: sqlite3.Connection, sites: Sequence[int], size: int
) -> list[tuple[int, int]]:
    """Take a quantum of each site, round by round, until there is enough; sets and documents."""
    if not sites:
        return []
    quantum = max(1, size // len(sites))
    offered = {set_id: _new_of(connection, set_id, size) for set_id in sites}
    chosen: list[tuple[int, int]] = []
    for start in range(0, size, quantum):
        for set_id in sites:
            room = size - len(chosen)
            part = offered[set_id][start : start + min(quantum, room)]
            chosen += [(set_id, doc_id) for doc_id in part]
    return chosen


def _new_of(connection: sqlite3.Connection, set_id: int, limit: int) -> list[int]:
    """Return new URLs of a site: its roots, then the most wanted."""
    roots = connection.execute(BATCHES["new_roots"], (set_id, limit)).fetchall()
    others: list[tuple[int]] = []
    if len(roots) < limit:
        values = (set_id, limit - len(roots))
        others = connection.execute(BATCHES["new_members"], values).fetchall()
    return [row[0] for row in (*roots, *others)]
