"""Members of sites: URLs enter the set that a site has now, and leave it for a set of deleted ones.

All of it runs inside a transaction of the caller, and moves the counters of the site along.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Protocol

from msgspec import Struct

from gossamer.catalog.discover import discover, known_urls
from gossamer.catalog.leases import json_list
from gossamer.catalog.memory import Memory
from gossamer.catalog.service_counters import Counting, count_deleted, counted, record
from gossamer.catalog.service_rows import MEMBER_COLUMNS, SERVICE, KnownSite
from gossamer.catalog.service_selection import epoch_at
from gossamer.catalog.tally import Tally
from gossamer.messages import Found, Kind
from gossamer.objects.enumerations import (
    GENERAL_SITE,
    CrawlStatus,
    DeleteReason,
    LogOperation,
    URLKey,
)
from gossamer.objects.url import URL
from gossamer.outcomes import State
from gossamer.url.canonical import canonicalize
from gossamer.url.parts import authority_of, host_of, md5_of

CONTENT_KEPT: Final = 1
"""State of a set of deleted URLs whose contents are still to be removed."""
CONTENT_GONE: Final = 2

_MANY: Final = 4
"""So many members that are alike are entered together: their columns are bound only once."""
_MD5: Final = re.compile("[0-9a-fA-F]{32}")
_FIELDS: Final = attrgetter(*(column.field for column in MEMBER_COLUMNS))
_PLACES: Final = {column.field: place for place, column in enumerate(MEMBER_COLUMNS)}
_TYPE: Final = _PLACES["type"]
_C_DATE: Final = _PLACES["c_date"]
_TC_DATE: Final = _PLACES["tc_date"]
_PARENT: Final = _PLACES["parent_md5"]
# SQLite takes plain numbers at once, and looks for adapters of any other class.
_NUMBERS: Final = tuple(_PLACES[name] for name in ("type", "state", "status", "content_mask"))
_DELAYS: Final = tuple(
    _PLACES[name] for name in ("request_delay", "processing_delay", "http_timeout")
)
_MOMENTS: Final = tuple(
    place for place, column in enumerate(MEMBER_COLUMNS) if column.is_moment and place != _C_DATE
)
_NOTED: Final = range(CrawlStatus.NEW, CrawlStatus.PROCESSED + 1)
"""The statuses that the history of a URL knows (LogOperation)."""


class Changeable(Protocol):
    """A catalog, as far as changing it goes: the engine's own transactions use this room, too."""

    def changing(
        self, what: str, now: float, *, keeps_members: bool = False
    ) -> AbstractContextManager[tuple[sqlite3.Connection, Memory, Tally]]:
        """Give what one transaction needs: all of it happens, or nothing."""
        ...


class Change(Struct, frozen=True):
    """What one transaction needs."""

    connection: sqlite3.Connection
    memory: Memory
    tally: Tally
    now: float
    counting: Counting | None = None
    """Moves the counters of sites at the end of the transaction; None: each change moves them."""

    def counted(
        self, site: KnownSite, doc_ids: Iterable[int], *, are_new: bool = False
    ) -> AbstractContextManager[None]:
        """Move the counters of a site by what a block changes in these URLs of it."""
        if self.counting is None:
            return counted(self.connection, site, doc_ids, are_new=are_new)
        self.counting.watch(site, doc_ids, are_new=are_new)
        return nullcontext()


@contextmanager
def changing(
    catalog: Changeable, what: str, now: float, *, keeps_members: bool = False
) -> Iterator[Change]:
    """Run statements as one transaction: durable afterwards, or nothing happened.

    `keeps_members`: no site loses URLs, or wants others than before.
    """
    with catalog.changing(what, now, keeps_members=keeps_members) as (connection, memory, tally):
        yield Change(connection, memory, tally, now)


class Newcomer(Struct, frozen=True, gc=False):
    """A URL that is to be a member of a site."""

    site: KnownSite
    url: str
    md5: bytes
    values: tuple[Any, ...]
    """As the columns of a member, but for its document."""


def find_site(connection: sqlite3.Connection, site_id: str) -> KnownSite | None:
    """Return a site by its id; an empty one is the general site's."""
    row = connection.execute(SERVICE["site_by_id"], (site_id or GENERAL_SITE,)).fetchone()
    if row is None:
        return None
    return KnownSite(row[0], row[1], bool(row[2]), bool(row[3]), *row[4:])


def home_id(canonical: str) -> str:
    """Return the id of the site that a URL belongs to by its host, be it there or not (S3.157)."""
    return md5_of(authority_of(canonical) + "/").hex()


def find_document(connection: sqlite3.Connection, url: str, key: URLKey = URLKey.URL) -> int | None:
    """Return the document of a URL, given as it is or by its md5; None if it is not known."""
    if key is URLKey.MD5:
        md5 = bytes.fromhex(url) if _MD5.fullmatch(url) else b""
    else:
        canonical = canonicalize(url)
        md5 = b"" if canonical is None else md5_of(canonical)
    row = connection.execute(SERVICE["document_by_md5"], (md5,)).fetchone()
    return None if row is None else int(row[0])


def newcomer(site: KnownSite, url: str, given: URL, now: float) -> Newcomer:
    """Return a URL as it enters a site: what it leaves open is as the site says (S3.154)."""
    has_content = given.url_put is not None
    values = _first_values(site, _FIELDS(given), now, has_content=has_content)
    return Newcomer(site, url, md5_of(url), values)


class Newcomers:
    """Makes newcomers of one moment: what is alike in many of them is worked out once."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._values: dict[tuple[int, bool, tuple[Any, ...]], tuple[Any, ...]] = {}

    def make(self, site: KnownSite, url: str, given: URL) -> Newcomer:
        """Return what `newcomer` returns."""
        fields, has_content = _FIELDS(given), given.url_put is not None
        key = (site.set_id, has_content, fields)
        values = self._values.get(key)
        if values is None:
            values = _first_values(site, fields, self._now, has_content=has_content)
            self._values[key] = values
        return Newcomer(site, url, md5_of(url), values)


def _first_values(
    site: KnownSite, fields: Sequence[Any], now: float, *, has_content: bool
) -> tuple[Any, ...]:
    values = list(fields)
    if values[_TYPE] is None:
        values[_TYPE] = site.url_type
    for place, usual in zip(
        _DELAYS, (site.request_delay, site.processing_delay, site.http_timeout), strict=True
    ):
        if values[place] is None:
            values[place] = usual
    for place in _MOMENTS:
        if values[place] is not None:
            values[place] = epoch_at(values[place], now)
    if has_content and values[_TC_DATE] is None:
        # The purge tells its content by that from what an earlier one of the same name has left.
        values[_TC_DATE] = now
    values[_C_DATE] = now if values[_C_DATE] is None else epoch_at(values[_C_DATE], now)
    for place in _NUMBERS:
        values[place] = int(values[place])
    return tuple(values)


def with_parent(values: tuple[Any, ...], parent_md5: str) -> tuple[Any, ...]:
    """Return the columns of a member that another page has led to."""
    return (*values[:_PARENT], parent_md5, *values[_PARENT + 1 :])


def enter(change: Change, newcomers: Sequence[Newcomer]) -> list[bool]:
    """Make URLs members of sites; return which of them were not yet."""
    doc_ids = _documents(change, newcomers)
    by_site: dict[int, list[int]] = {}
    for place, member in enumerate(newcomers):
        by_site.setdefault(member.site.set_id, []).append(place)
    entered = [False] * len(newcomers)
    for set_id, places in by_site.items():
        ids = [doc_ids[newcomers[place].md5] for place in places]
        known = members_among(change.connection, set_id, ids)
        fresh = []
        for place, doc_id in zip(places, ids, strict=True):
            if doc_id not in known:
                known.add(doc_id)
                fresh.append((place, doc_id))
                entered[place] = True
        if fresh:
            insert_members(change, [(newcomers[place], doc_id) for place, doc_id in fresh])
    return entered


def members_among(connection: sqlite3.Connection, set_id: int, doc_ids: Iterable[int]) -> set[int]:
    """Return which documents are members of a set."""
    rows = connection.execute(SERVICE["members_among"], (set_id, json_list(doc_ids)))
    return {row[0] for row in rows}


def renew_members(change: Change, site: KnownSite, doc_ids: Sequence[int], query: str) -> int:
    """Have a query make members new that are not already; return how many there were."""
    values = {"set_id": site.set_id, "doc_ids": json_list(doc_ids)}
    with counted(change.connection, site, doc_ids):
        renewed = [row[0] for row in change.connection.execute(query, values).fetchall()]
    note_status(change.connection, site, int(CrawlStatus.NEW), renewed, change.now)
    return len(renewed)


def delete_members(
    change: Change,
    site: KnownSite,
    doc_ids: Sequence[int],
    *,
    reason: DeleteReason = DeleteReason.USER_REQUEST,
) -> None:
    """Move members to the deleted URLs of their site, where their contents are still kept.

    Their history says why, unless a client asked for it.
    """
    connection = change.connection
    md5s = list(md5s_of(connection, doc_ids).values())
    target = deleted_set(change, site.site_id, CONTENT_KEPT)
    twice = members_among(connection, target, doc_ids)
    with change.counted(site, doc_ids):
        move_members(connection, site.set_id, target, doc_ids)
    count_deleted(connection, site.site_id, len(doc_ids) - len(twice))
    connection.execute(SERVICE["forget_url_attributes"], (site.site_id, _texts(md5s)))
    is_aging = reason is DeleteReason.AGING
    note = "" if reason is DeleteReason.USER_REQUEST else reason.name
    operation = LogOperation.AGING if is_aging else LogOperation.DELETE
    record(connection, site, operation, md5s, change.now, note)


def contents_gone(change: Change, site: KnownSite, doc_ids: Sequence[int]) -> None:
    """Note that the contents of deleted URLs are removed, so that nobody looks for them."""
    source = deleted_set(change, site.site_id, CONTENT_KEPT)
    target = deleted_set(change, site.site_id, CONTENT_GONE)
    present = members_among(change.connection, source, doc_ids)
    twice = members_among(change.connection, target, present)
    move_members(change.connection, source, target, present)
    count_deleted(change.connection, site.site_id, -len(twice))
    drop_if_empty(change, source)


def note_contents(change: Change, site: KnownSite, doc_ids: Sequence[int]) -> None:
    """Have the purge remove the contents that members have now, unless that is done before."""
    connection = change.connection
    target = deleted_set(change, site.site_id, CONTENT_KEPT)
    twice = members_among(connection, target, doc_ids)
    values = {"target": target, "source": site.set_id, "doc_ids": json_list(doc_ids)}
    connection.execute(SERVICE["copy_members"], values)
    count_deleted(connection, site.site_id, len(doc_ids) - len(twice))


def forget_deleted(change: Change, site_id: int, set_id: int, doc_ids: Sequence[int]) -> None:
    """Drop deleted URLs."""
    cursor = change.connection.execute(SERVICE["forget_members"], (set_id, json_list(doc_ids)))
    count_deleted(change.connection, site_id, -cursor.rowcount)
    drop_if_empty(change, set_id)


def deleted_set(change: Change, site_id: int, state: int) -> int:
    """Return the set that deleted URLs of a site are in, by what became of their contents."""
    (set_id,) = change.connection.execute(SERVICE["deleted_set"], (site_id, state)).fetchone()
    if set_id is not None:
        return int(set_id)
    return new_set(change, site_id, state)


def new_set(change: Change, site_id: int, state: int = 0) -> int:
    """Return an empty set for a site."""
    values = (site_id, state, change.now)
    return change.connection.execute(SERVICE["insert_set"], values).lastrowid or 0


def move_members(
    connection: sqlite3.Connection, source: int, target: int, doc_ids: Iterable[int]
) -> None:
    """Move URLs from one set to another, whatever is there of them."""
    values = {"source": source, "target": target, "doc_ids": json_list(doc_ids)}
    connection.execute(SERVICE["move_members"], values)


def md5s_of(connection: sqlite3.Connection, doc_ids: Iterable[int]) -> dict[int, str]:
    """Return the names of documents."""
    return dict(connection.execute(SERVICE["md5s_of"], (json_list(doc_ids),)).fetchall())


def note_status(
    connection: sqlite3.Connection, site: KnownSite, status: int, doc_ids: Iterable[int], now: float
) -> None:
    """Note that URLs have got a status, if their site asks for it."""
    if (site.counts or site.logs) and status in _NOTED:
        record(connection, site, status, list(md5s_of(connection, doc_ids).values()), now)


def _documents(change: Change, newcomers: Sequence[Newcomer]) -> dict[bytes, int]:
    """Return the documents of URLs; nobody wants those yet that become known by it."""
    found = (
        (Found(each.url, each.md5, host_of(each.url), 0, int(Kind.PAGE), int(State.EXCLUDED)), None)
        for each in newcomers
    )
    made = discover(change.connection, change.memory, change.tally, found, change.now)
    md5s = list(dict.fromkeys(each.md5 for each in newcomers))
    if len(made) == len(md5s):
        # All of them are new, and were entered in this order: no need to look for them.
        return dict(zip(md5s, made, strict=True))
    return {md5: row[0] for md5, row in known_urls(change.connection, md5s).items()}


def insert_members(change: Change, fresh: Sequence[tuple[Newcomer, int]]) -> None:
    """Make documents members of one site that they are not members of."""
    site = fresh[0][0].site
    with change.counted(site, [doc_id for _, doc_id in fresh], are_new=True):
        rows: list[tuple[Any, ...]] = []
        for _, alike in groupby(fresh, lambda each: id(each[0].values)):
            members = list(alike)
            values, doc_ids = members[0][0].values, [doc_id for _, doc_id in members]
            if len(members) < _MANY:
                rows += [(site.set_id, doc_id, *values) for doc_id in doc_ids]
            else:
                parameters = (site.set_id, *values, json_list(doc_ids))
                change.connection.execute(SERVICE["insert_members"], parameters)
        change.connection.executemany(SERVICE["insert_member"], rows)
    if site.counts or site.logs:
        md5s = [member.md5.hex() for member, _ in fresh]
        record(change.connection, site, LogOperation.INSERT, md5s, change.now)


def drop_if_empty(change: Change, set_id: int) -> None:
    """Drop a set of deleted URLs that is used up."""
    change.connection.execute(SERVICE["drop_empty_set"], {"set_id": set_id})


def _texts(texts: Iterable[str]) -> str:
    """Return md5s as the parameter of a `json_each`."""
    return "[" + ",".join(f'"{text}"' for text in texts) + "]"
