"""Reading: rows for export and for people.

Long walks go in short steps, each a read of its own, so that a writer's log can be emptied
meanwhile; a URL is given as it was when the walk came by. A walk over URLs ends at the one that was
the latest when it began.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from gossamer.catalog.catalog import Excluded, FetchRow, UrlRow
from gossamer.catalog.connection import Database
from gossamer.catalog.digest import written_digest
from gossamer.catalog.near import NearDuplicates
from gossamer.catalog.queries import QUERIES
from gossamer.messages import Kind, Pointer
from gossamer.outcomes import Outcome, State

_STEP: Final = 500
_MAX_HISTORY: Final = 10_000
_PREFIX_BYTES: Final = 8
_MAX_REMEMBERED: Final = 100_000
_WORD: Final = 1 << 64
# Where the columns of the latest try begin in a row of url_rows.
_FETCH: Final = 21

Row = tuple[Any, ...]


def url_row(database: Database, doc_id: int) -> UrlRow | None:
    """Return what is known of one document."""
    with database.doing("read a URL") as connection:
        bounds = {"after": doc_id - 1, "last": doc_id, "count": 1}
        row = connection.execute(QUERIES["url_rows"], bounds).fetchone()
    return None if row is None else _url_row(row, None)


def url_rows(database: Database) -> Iterator[UrlRow]:
    """Go through all URLs, near duplicates grouped on the way."""
    near = NearDuplicates()
    with database.doing("read URLs") as connection:
        (last,) = connection.execute(QUERIES["highest_doc_id"]).fetchone()
    after = 0
    while True:
        with database.reading("read URLs") as connection:
            bounds = {"after": after, "last": last, "count": _STEP}
            rows = connection.execute(QUERIES["url_rows"], bounds).fetchall()
            step = [_url_row(row, _near(connection, near, row)) for row in rows]
        if not step:
            return
        after = step[-1].doc_id
        yield from step


def near_duplicate_count(database: Database) -> int:
    """Count documents that are near to an earlier one but no exact duplicates."""
    near = NearDuplicates()
    count = after = 0
    while True:
        with database.doing("read fingerprints") as connection:
            rows = connection.execute(QUERIES["simhashes"], (after, _STEP)).fetchall()
        if not rows:
            return count
        after = rows[-1][0]
        count += sum(near.place(doc_id, simhash % _WORD) is not None for doc_id, simhash in rows)


def history(database: Database, doc_id: int) -> list[FetchRow]:
    """Return the tries of a document, the latest first."""
    tries: list[FetchRow] = []
    with database.reading("read a history") as connection:
        row = connection.execute(QUERIES["last_fetch_of"], (doc_id,)).fetchone()
        fetch_id = None if row is None else row[0]
        while fetch_id is not None and len(tries) < _MAX_HISTORY:
            fetch_id, *columns = connection.execute(QUERIES["fetch_row"], (fetch_id,)).fetchone()
            tries.append(_fetch_row(tuple(columns)))
    return tries


def links(database: Database) -> Iterator[tuple[str, str]]:
    """Go through the link graph; targets that are not known are left out."""
    remembered: dict[bytes, str | None] = {}
    after = 0
    while True:
        with database.reading("read links") as connection:
            rows = connection.execute(QUERIES["link_rows"], (after, _STEP)).fetchall()
            step = [
                (url, target)
                for _, url, targets in rows
                for target in _targets(connection, targets, remembered)
            ]
        if not rows:
            return
        after = rows[-1][0]
        yield from step


def records(database: Database) -> Iterator[tuple[str, str]]:
    """Go through what handlers made of documents."""
    after = 0
    while True:
        with database.doing("read records") as connection:
            rows = connection.execute(QUERIES["records"], (after, _STEP)).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        yield from ((url, record) for _, url, record in rows)


def excluded(database: Database) -> Iterator[Excluded]:
    """Go through the URLs that were kept out."""
    after = 0
    while True:
        with database.doing("read excluded URLs") as connection:
            rows = connection.execute(QUERIES["excluded_rows"], (after, _STEP)).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        for doc_id, url, host, depth, outcome in rows:
            yield Excluded(doc_id, url, host, depth, _outcome(outcome))


def check(database: Database) -> list[str]:
    """Compare every counter with the rows it counts."""
    wrong = []
    with database.reading("check the counters") as connection:
        for name, *numbers in connection.execute(QUERIES["check_hosts"]):
            wrong.append(f"host {name}: counters {numbers[:5]}, URLs {numbers[5:]}")
        counted = connection.execute(QUERIES["check_states"]).fetchone()
        totals = connection.execute(QUERIES["totals"]).fetchone()[:7]
        if counted != totals:
            wrong.append(f"totals {list(totals)}, URLs {list(counted)}")
        for (name,) in connection.execute(QUERIES["check_line"]):
            wrong.append(f"host {name}: has pending URLs and would never be served")
        for (doc_id,) in connection.execute(QUERIES["check_deliveries"]):
            wrong.append(f"document {doc_id}: marked as delivered, but not leased")
        for outcome, difference in connection.execute(QUERIES["check_outcomes"]):
            wrong.append(f"outcome {outcome}: count differs by {difference}")
        for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            wrong.append(f"{table} {rowid}: refers to a {parent} that is not there")
        for (fault,) in connection.execute("PRAGMA quick_check(10)"):
            if fault != "ok":
                wrong.append(f"database: {fault}")
    return wrong


def is_sound(database: Database) -> bool:
    """Look for damage in the file itself."""
    with database.doing("look for damage") as connection:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))


def _targets(
    connection: sqlite3.Connection, targets: bytes, remembered: dict[bytes, str | None]
) -> Iterator[str]:
    for start in range(0, len(targets), _PREFIX_BYTES):
        prefix = targets[start : start + _PREFIX_BYTES]
        if prefix not in remembered:
            if len(remembered) >= _MAX_REMEMBERED:
                remembered.clear()
            bounds = (prefix + b"\x00" * _PREFIX_BYTES, prefix + b"\xff" * _PREFIX_BYTES)
            row = connection.execute(QUERIES["url_with_prefix"], bounds).fetchone()
            remembered[prefix] = None if row is None else row[0]
        target = remembered[prefix]
        if target is not None:
            yield target


def _near(connection: sqlite3.Connection, near: NearDuplicates, row: Row) -> str | None:
    simhash = row[_FETCH + 9]
    is_duplicate = row[20] is not None
    if simhash is None or is_duplicate or row[5] != State.DONE:
        return None
    leader = near.place(row[0], simhash % _WORD)
    if leader is None:
        return None
    (url,) = connection.execute(QUERIES["url_of"], (leader,)).fetchone()
    return str(url)


def _url_row(row: Row, near_duplicate_of: str | None) -> UrlRow:
    fetch = None if row[_FETCH] is None else _fetch_row(row[_FETCH:])
    return UrlRow(
        doc_id=row[0],
        url=row[1],
        md5=row[2],
        host=row[3],
        kind=Kind(row[4]),
        state=State(row[5]),
        outcome=_outcome(row[6]),
        depth=row[7],
        priority=row[8],
        tries=row[9],
        deaths=row[10],
        found_at=row[11],
        due_at=row[12],
        next_fetch_at=row[13],
        visits=row[14],
        changes=row[15],
        via=tuple(row[16].split("\n")) if row[16] else (),
        detail=row[17] or (fetch.detail if fetch is not None else ""),
        site_id=row[18],
        parent=row[19],
        duplicate_of=row[20],
        near_duplicate_of=near_duplicate_of,
        fetch=fetch,
    )


def _fetch_row(row: Row) -> FetchRow:
    return FetchRow(
        fetch_id=row[0],
        fetched_at=row[1],
        outcome=Outcome(row[2]),
        status=row[3],
        milliseconds=row[4],
        content_type=row[5],
        body_bytes=row[6],
        wire_bytes=row[7],
        checksum=row[8],
        simhash=None if row[9] is None else row[9] % _WORD,
        etag=row[10],
        last_modified=row[11],
        pointer=None if row[12] is None else Pointer(row[12], row[13], row[14]),
        payload_digest=written_digest(row[15]),
        redirect_to=row[16],
        title=row[17],
        detail=row[18],
    )


def _outcome(number: int | None) -> Outcome | None:
    return None if number is None else Outcome(number)
