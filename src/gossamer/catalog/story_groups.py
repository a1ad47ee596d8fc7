"""Groups of stories that say nearly the same, whoever published them.

Theory of operation. Two stories are near if their fingerprints differ in few bits, at most three.
A group is all that hangs together by nearness, and is called by its first story (the lowest
number); a story that is near to none has no group. So the groups depend on the fingerprints alone,
not on the order in which stories were extracted, nor on how often.

Near fingerprints agree in one of four bands of 16 bits, and `article_band` finds those that do. Two
limits keep a transaction short, whatever texts somebody sends: of a band only the latest stories
are looked at, and a group that has grown very large is not taken apart when one of its stories
leaves. Beyond them groups may be fewer or larger than said above.
"""

import sqlite3
from collections.abc import Mapping
from typing import Final

from gossamer.catalog.leases import json_list
from gossamer.catalog.near import bands_of
from gossamer.catalog.queries import load_queries

MAX_BAND: Final = 512
"""How many stories of one band are compared with a new one."""
MAX_TAKEN_APART: Final = 400
"""How many stories a group may have that is looked at anew when one leaves it."""
_SIGN: Final = 1 << 63
_WORD: Final = 1 << 64
_STATEMENTS: Final = load_queries("news_extractions.sql")


def regroup(
    connection: sqlite3.Connection, story_id: int, fingerprint: int | None, distance: int
) -> None:
    """Move a story to where its new fingerprint belongs; call it before that is stored."""
    _leave(connection, story_id, distance)
    if fingerprint is None:
        return
    bands = bands_of(fingerprint)
    near = {
        other
        for band in bands
        for other, stored in connection.execute(
            _STATEMENTS["band_mates"], {"band": band, "limit": MAX_BAND}
        )
        if (stored % _WORD ^ fingerprint).bit_count() <= distance
    }
    connection.executemany(_STATEMENTS["insert_band"], [(band, story_id) for band in bands])
    if near:
        _unite(connection, near | {story_id})


def together(fingerprints: Mapping[int, int], distance: int) -> list[list[int]]:
    """Return the stories that hang together, in ascending order, each set by itself."""
    same: dict[int, list[int]] = {}
    for story_id, fingerprint in fingerprints.items():
        same.setdefault(fingerprint, []).append(story_id)
    left = list(same)
    sets: list[list[int]] = []
    while left:
        found = [left.pop()]
        members: list[int] = []
        for one in found:
            members += same[one]
            near = {other for other in left if (one ^ other).bit_count() <= distance}
            found += near
            left = [other for other in left if other not in near]
        sets.append(sorted(members))
    return sorted(sets)


def signed(fingerprint: int | None) -> int | None:
    """Return a fingerprint as SQLite keeps it."""
    if fingerprint is None or fingerprint < _SIGN:
        return fingerprint
    return fingerprint - _WORD


def _leave(connection: sqlite3.Connection, story_id: int, distance: int) -> None:
    """Take a story out of its bands and its group; those that it held together may part."""
    row = connection.execute(_STATEMENTS["fingerprint_of"], (story_id,)).fetchone()
    if row is None or row[0] is None:
        return
    bands = bands_of(row[0] % _WORD)
    connection.executemany(_STATEMENTS["delete_band"], [(band, story_id) for band in bands])
    (group,) = connection.execute(_STATEMENTS["group_of"], (story_id,)).fetchone()
    if group is None:
        return
    _assign(connection, [story_id], None)
    bounds = {"group_id": group, "limit": MAX_TAKEN_APART + 1}
    rest = dict(connection.execute(_STATEMENTS["members_of"], bounds).fetchall())
    if len(rest) > MAX_TAKEN_APART:
        _rename(connection, group, min(rest))
        return
    unsigned = {member: stored % _WORD for member, stored in rest.items()}
    for members in together(unsigned, distance):
        _assign(connection, members, members[0] if len(members) > 1 else None)


def _unite(connection: sqlite3.Connection, story_ids: set[int]) -> None:
    """Make one group of stories and of the groups that they are in."""
    rows = connection.execute(_STATEMENTS["groups_of"], (json_list(story_ids),)).fetchall()
    groups = {group for _, group in rows if group is not None}
    alone = [story_id for story_id, group in rows if group is None]
    first = min([*groups, *alone])
    for group in groups - {first}:
        _rename(connection, group, first)
    _assign(connection, alone, first)


def _rename(connection: sqlite3.Connection, old: int, new: int) -> None:
    if old != new:
        connection.execute(_STATEMENTS["rename_group"], {"old": old, "new": new})


def _assign(connection: sqlite3.Connection, story_ids: list[int], group: int | None) -> None:
    values = {"story_ids": json_list(story_ids), "group_id": group}
    connection.execute(_STATEMENTS["set_group"], values)
