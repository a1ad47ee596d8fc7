"""The counters of sites, and the counters and history of their URLs.

A counter of a site is a sum over its URLs. It moves in the transaction that moves a URL: what the
URLs concerned add to it is taken before and after the change. A site knows its state at once, with
any number of URLs; FIELD_RECALCULATE counts anew. Where one transaction changes many URLs, one by
one, `Counting` moves the counters at its end.

The mask of errors only gains bits this way, until somebody resets it or counts anew.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import add, sub
from typing import Final, Self

from msgspec import Struct, field
from msgspec.structs import astuple

from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_rows import SERVICE, KnownSite
from gossamer.objects.enumerations import LogOperation

_SOME: Final = "AND doc_id IN (SELECT value FROM json_each(:doc_ids))"
_SUMS_OF_ALL: Final = SERVICE["sums"].replace("{which}", "")
_SUMS_OF_SOME: Final = SERVICE["sums"].replace("{which}", _SOME)
_MASKS_OF_ALL: Final = SERVICE["masks"].replace("{which}", "")
_MASKS_OF_SOME: Final = SERVICE["masks"].replace("{which}", _SOME)

# The columns of url_frequency, by the operations that they count; others are not counted.
_FREQUENCIES: Final[dict[int, str]] = {
    LogOperation.INSERT: "inserted",
    LogOperation.DELETE: "deleted",
    LogOperation.UPDATE: "updated",
    LogOperation.AGING: "aged",
    1: "made_new",
    4: "crawled",
    7: "processed",
}
_COUNT: Final = {
    column: SERVICE["count_frequency"].replace("{column}", column)
    for column in (*_FREQUENCIES.values(), "delayed", "purged")
}


class Sums(Struct, frozen=True):
    """What some URLs add to the counters of their site."""

    resources: int = 0
    contents: int = 0
    collected_urls: int = 0
    new_urls: int = 0
    errors: int = 0
    size: int = 0
    speeds: float = 0.0
    """The sum of their speeds, in bytes per second."""
    speeds_counter: int = 0

    def minus(self, other: Self) -> "Sums":
        """Return the difference."""
        return Sums(*map(sub, astuple(self), astuple(other)))

    def plus(self, other: Self) -> "Sums":
        """Return the sum."""
        return Sums(*map(add, astuple(self), astuple(other)))


_NOTHING: Final = Sums()


class _Watched(Struct):
    """URLs of one set that a transaction changes."""

    site_id: int
    before: Sums = _NOTHING
    """What they added before."""
    doc_ids: set[int] = field(default_factory=set)


class Counting:
    """Moves the counters of sites once, however often one transaction changes their URLs.

    What a URL adds is taken before it changes for the first time, and once more when all is done.
    Until then the stored counters are as they were.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._watched: dict[int, _Watched] = {}

    def watch(self, site: KnownSite, doc_ids: Iterable[int], *, are_new: bool = False) -> None:
        """Expect a change in these URLs of a site; new ones are no members yet."""
        watched = self._watched.get(site.set_id)
        if watched is None:
            watched = self._watched[site.set_id] = _Watched(site.site_id)
        fresh = set(doc_ids) - watched.doc_ids
        if fresh and not are_new:
            which = {"set_id": site.set_id, "doc_ids": json_list(fresh)}
            watched.before = watched.before.plus(_sums(self._connection, _SUMS_OF_SOME, which))
        watched.doc_ids |= fresh

    def settle(self) -> Iterable[int]:
        """Move the counters by all that has changed; return the sets of the sites concerned."""
        settled, self._watched = self._watched, {}
        for set_id, watched in settled.items():
            which = {"set_id": set_id, "doc_ids": json_list(watched.doc_ids)}
            _settle(self._connection, watched.site_id, watched.before, which)
        return settled.keys()


@contextmanager
def counted(
    connection: sqlite3.Connection,
    site: KnownSite,
    doc_ids: Iterable[int],
    *,
    are_new: bool = False,
) -> Iterator[None]:
    """Move the counters of a site by what the block changes in these URLs of it.

    New ones are no members before.
    """
    which = {"set_id": site.set_id, "doc_ids": json_list(doc_ids)}
    before = _NOTHING if are_new else _sums(connection, _SUMS_OF_SOME, which)
    yield
    _settle(connection, site.site_id, before, which)


def _settle(
    connection: sqlite3.Connection, site_id: int, before: Sums, which: Mapping[str, object]
) -> None:
    after = _sums(connection, _SUMS_OF_SOME, which)
    mask = _mask(connection, _MASKS_OF_SOME, which) if after.errors else 0
    _move(connection, site_id, after.minus(before), mask)


def count_deleted(connection: sqlite3.Connection, site_id: int, change: int) -> None:
    """Move the number of deleted URLs that are still on record."""
    if change:
        connection.execute(SERVICE["move_deleted"], (change, site_id))


def recount(connection: sqlite3.Connection, site: KnownSite) -> None:
    """Count all URLs of a site anew."""
    which = {"set_id": site.set_id}
    sums = _sums(connection, _SUMS_OF_ALL, which)
    speed = sums.speeds / sums.speeds_counter if sums.speeds_counter else 0.0
    (deleted,) = connection.execute(SERVICE["count_deleted"], (site.site_id,)).fetchone()
    connection.execute(
        SERVICE["set_counters"],
        {
            **_plain(sums),
            "avg_speed": speed,
            "avg_speed_counter": sums.speeds_counter,
            "error_mask": _mask(connection, _MASKS_OF_ALL, which),
            "deleted_urls": deleted,
            "site_id": site.site_id,
        },
    )


def wrong_counters(database: Database) -> list[str]:
    """Return the sites whose counters differ from their URLs; nothing is the only good answer.

    Errors and their mask are left out: the limits of a site and a restart set them, too.
    """
    wrong = []
    with database.reading("check the counters of sites") as connection:
        for site_id, name, set_id, *counters in connection.execute(SERVICE["every_site"]):
            sums = _sums(connection, _SUMS_OF_ALL, {"set_id": set_id})
            (deleted,) = connection.execute(SERVICE["count_deleted"], (site_id,)).fetchone()
            counted_now = [
                sums.resources, sums.contents, sums.collected_urls, sums.new_urls, sums.size,
                deleted,
            ]  # fmt: skip
            if counters != counted_now:
                wrong.append(f"site {name}: counters {counters}, URLs {counted_now}")
    return wrong


def record(
    connection: sqlite3.Connection,
    site: KnownSite,
    operation: int,
    md5s: Sequence[str],
    now: float,
    note: str = "",
) -> None:
    """Note what happened to URLs, if their site asks for it; see LogOperation."""
    column = _FREQUENCIES.get(operation)
    if site.counts and column is not None:
        count(connection, site, column, md5s, now)
    if site.logs:
        rows = ((site.site_id, md5, operation, note, now) for md5 in md5s)
        connection.executemany(SERVICE["insert_log"], rows)


def count(
    connection: sqlite3.Connection, site: KnownSite, column: str, md5s: Sequence[str], now: float
) -> None:
    """Count something that happened to URLs in a column of their counters, if they have any."""
    if site.counts:
        rows = ({"site_id": site.site_id, "url_md5": md5, "now": now} for md5 in md5s)
        connection.executemany(_COUNT[column], rows)


def _sums(connection: sqlite3.Connection, query: str, which: Mapping[str, object]) -> Sums:
    return Sums(*connection.execute(query, which).fetchone())


def _mask(connection: sqlite3.Connection, query: str, which: Mapping[str, object]) -> int:
    mask = 0
    for (bits,) in connection.execute(query, which):
        mask |= bits
    return mask


def _plain(sums: Sums) -> dict[str, object]:
    return {
        "resources": sums.resources,
        "contents": sums.contents,
        "collected_urls": sums.collected_urls,
        "new_urls": sums.new_urls,
        "errors": sums.errors,
        "size": sums.size,
    }


def _move(connection: sqlite3.Connection, site_id: int, change: Sums, error_mask: int) -> None:
    if change == _NOTHING and not error_mask:
        return
    *_, speed, counter, _ = connection.execute(SERVICE["counters"], (site_id,)).fetchone()
    measured = counter + change.speeds_counter
    total = speed * counter + change.speeds
    connection.execute(
        SERVICE["move_counters"],
        {
            **_plain(change),
            "avg_speed": max(0.0, total / measured) if measured > 0 else 0.0,
            "avg_speed_counter": max(0, measured),
            "error_mask": error_mask,
            "site_id": site_id,
        },
    )
