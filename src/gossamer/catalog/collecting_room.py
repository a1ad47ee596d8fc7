"""Room in sites: a site has at most maxURLs URLs, and some may go so that others come.

What goes is chosen by the site itself (AUTO_REMOVE_*): never a root URL, never one that somebody
is working on. It goes as with URL_DELETE, delayed: the purge removes its contents.
"""

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from gossamer.catalog.collecting_rules import AutoRemoval, CollectingRules, rules_of
from gossamer.catalog.discover import known_urls
from gossamer.catalog.queries import load_queries
from gossamer.catalog.service_counters import count
from gossamer.catalog.service_members import (
    Change,
    Newcomer,
    delete_members,
    md5s_of,
    members_among,
)
from gossamer.catalog.service_rows import SERVICE, KnownSite
from gossamer.catalog.service_selection import UrlCriterions, select_urls
from gossamer.objects.enumerations import DeleteReason
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.problems import ObjectError
from gossamer.objects.selection import Criterions

COLLECTING: Final = load_queries("collecting.sql")
FULL_BIT: Final = 1 << ErrorBit.MAX_RESOURCES_NUMBER
"""Of a page some of whose URLs did not find room in the site."""
_AT_REST: Final = "ParentMd5 <> '' AND Status NOT IN (2, 3, 5, 6, 8)"


def room_for(
    change: Change,
    site: KnownSite,
    wanted: int,
    max_urls: int,
    rules: CollectingRules,
    spared: Collection[int] = (),
) -> int:
    """Return how many of so many new URLs a site has room for; room is made if it asks for that.

    `spared` are not removed: they were just named again.
    """
    if not max_urls:
        return wanted
    room = max_urls - _members(change, site, rules.counted_where, max_urls)
    if room < wanted and rules.removal is not None:
        room += remove(change, site, rules.removal, spared)
    return max(0, min(wanted, room))


def admitted(change: Change, newcomers: Sequence[Newcomer]) -> list[bool]:
    """Return which of the URLs that somebody hands over their sites know, or have room for."""
    admitted = [True] * len(newcomers)
    by_site: dict[int, list[int]] = {}
    for place, each in enumerate(newcomers):
        by_site.setdefault(each.site.site_id, []).append(place)
    for site_id, places in by_site.items():
        (max_urls,) = change.connection.execute(
            COLLECTING["limit_of_site"], (site_id,)
        ).fetchone() or (0,)
        if max_urls:
            site = newcomers[places[0]].site
            unknown, members = _unknown(change.connection, site, newcomers, places)
            rules = rules_of(properties_of(change.connection, site_id))
            room = room_for(change, site, len(unknown), max_urls, rules, members)
            for key in list(unknown)[room:]:
                for place in unknown[key]:
                    admitted[place] = False
    return admitted


def remove(
    change: Change, site: KnownSite, removal: AutoRemoval, spared: Collection[int] = ()
) -> int:
    """Delete URLs of a site, delayed (CRAWLER_AUTOREMOVE); return how many."""
    busy = {row[0] for row in change.connection.execute(COLLECTING["open_members"], (site.set_id,))}
    busy.update(spared)
    criterions = Criterions(
        where=f"({removal.where}) AND {_AT_REST}",
        order_by=removal.order,
        limit=removal.count + len(busy),
    )
    try:
        chosen = select_urls(change.connection, site, criterions, change.now)
    except ObjectError:
        # Nothing that SITE_NEW lets pass; then nothing is removed.
        return 0
    doc_ids = [doc_id for doc_id in chosen if doc_id not in busy][: removal.count]
    if doc_ids:
        md5s = list(md5s_of(change.connection, doc_ids).values())
        delete_members(change, site, doc_ids, reason=DeleteReason.CRAWLER_AUTOREMOVE)
        count(change.connection, site, "delayed", md5s, change.now)
    return len(doc_ids)


def note_fault(change: Change, site: KnownSite, doc_id: int, mask: int) -> None:
    """Add bits to the error mask of a URL that is used all the same."""
    with change.counted(site, [doc_id]):
        change.connection.execute(COLLECTING["note_fault"], (mask, site.set_id, doc_id))


def properties_of(connection: sqlite3.Connection, site_id: int) -> dict[str, str]:
    """Return the properties of a site, those that are not of a single URL."""
    rows = connection.execute(SERVICE["properties_of"], (site_id,))
    return {name: value for name, url_md5, value, *_ in rows if not url_md5}


def _members(change: Change, site: KnownSite, where: str, enough: int) -> int:
    """Return how many URLs of a site count, as far as that matters."""
    if where:
        try:
            rows = UrlCriterions(Criterions(where=where)).rows(
                change.connection, site, "SELECT count(*)", change.now
            )
            return int(str(rows[0][0]))
        except ObjectError:
            # Nothing that SITE_NEW lets pass; then all of them count.
            pass
    values = (site.set_id, enough)
    return int(change.connection.execute(COLLECTING["count_members"], values).fetchone()[0])


def _unknown(
    connection: sqlite3.Connection,
    site: KnownSite,
    newcomers: Sequence[Newcomer],
    places: Sequence[int],
) -> tuple[dict[bytes, list[int]], set[int]]:
    """Return where in a list the URLs are that a site does not know, and those that it knows."""
    documents = known_urls(connection, list({newcomers[place].md5 for place in places}))
    members = members_among(connection, site.set_id, (row[0] for row in documents.values()))
    unknown: dict[bytes, list[int]] = {}
    for place in places:
        md5 = newcomers[place].md5
        row = documents.get(md5)
        if row is None or row[0] not in members:
            unknown.setdefault(md5, []).append(place)
    return unknown, members
