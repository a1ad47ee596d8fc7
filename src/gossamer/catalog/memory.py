"""What the writer keeps in memory: the next numbers, known ids, and what it wrote itself."""

import sqlite3
from functools import lru_cache
from typing import Final

from msgspec import Struct

from gossamer.catalog.entered import Entered
from gossamer.catalog.judging import MAX_DOC_ID
from gossamer.catalog.queries import QUERIES
from gossamer.errors import CatalogError
from gossamer.outcomes import State

_MAX_HOSTS: Final = 50_000
_MAX_FILES: Final = 1_000
_LEASED: Final = int(State.LEASED)


class Facts(Struct, frozen=True, gc=False):
    """What the catalog knows of a document before it is judged."""

    host_id: int
    state: int
    kind: int
    outcome: int | None = None
    tries: int = 0
    visits: int = 0
    changes: int = 0
    recrawl_seconds: float | None = None
    last_fetch: int | None = None
    last_page: int | None = None
    duplicate_of: int | None = None
    priority: int = 0
    parent: int | None = None


@lru_cache(maxsize=1_000)
def first_lease(host_id: int, kind: int, tries: int) -> Facts:
    """Return what is known of documents of which nothing had come yet when they were leased."""
    # On probation none of them is: those are leased by another statement.
    return Facts(host_id, _LEASED, kind, tries=tries)


class Memory:
    """Numbers to give out next; made anew whenever a transaction failed."""

    def __init__(self, connection: sqlite3.Connection, *, is_alone: bool = False) -> None:
        """`is_alone`: nobody else changes URLs meanwhile, so that they are as we left them."""
        self.reread(connection)
        self.entered = Entered(is_empty=self._next_doc_id == 1) if is_alone else None
        """URLs that were entered from here; None: they may be otherwise by now."""
        self.leased: dict[int, Facts] | None = {} if is_alone else None
        """Documents that were leased from here, and never judged before; None: they may be back."""
        self._host_ids: dict[str, int] = {}
        self._file_ids: dict[str, int] = {}

    def reread(self, connection: sqlite3.Connection) -> None:
        """Go on after the numbers that another process has given out.

        The ids of hosts and files stay as they are: rows of theirs are never deleted.
        """
        self._next_doc_id = _number(connection, "highest_doc_id") + 1
        self._next_fetch_id = _number(connection, "highest_fetch_id") + 1
        self._next_turn = _number(connection, "highest_turn") + 1

    def forget_leases(self) -> None:
        """Ask anew for what was leased from here: some of it may be back."""
        if self.leased is not None:
            self.leased.clear()

    def new_doc_id(self) -> int:
        """Return the number of a new URL; there are 2^32 - 1 of them (S0.45)."""
        doc_id = self._next_doc_id
        if doc_id > MAX_DOC_ID:
            raise CatalogError(
                "cannot add a URL to the catalog: all 4,294,967,295 document numbers are in use; "
                "begin another workspace"
            )
        self._next_doc_id = doc_id + 1
        return doc_id

    def new_fetch_id(self) -> int:
        """Return the number of a new try."""
        fetch_id = self._next_fetch_id
        self._next_fetch_id = fetch_id + 1
        return fetch_id

    def new_turn(self) -> int:
        """Return the next place at the end of the line."""
        turn = self._next_turn
        self._next_turn = turn + 1
        return turn

    def host_id(self, connection: sqlite3.Connection, name: str) -> int:
        """Return the number of a host, which becomes known if it is not."""
        host_id = self._host_ids.get(name)
        if host_id is None:
            host_id = _find_or_insert(connection, name, "host_id_of", "insert_host")
            _remember(self._host_ids, name, host_id, _MAX_HOSTS)
        return host_id

    def file_id(self, connection: sqlite3.Connection, name: str) -> int:
        """Return the number of an archive file, which becomes known if it is not."""
        file_id = self._file_ids.get(name)
        if file_id is None:
            file_id = _find_or_insert(connection, name, "file_id_of", "insert_file")
            _remember(self._file_ids, name, file_id, _MAX_FILES)
        return file_id


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(QUERIES[query]).fetchone()[0])


def _find_or_insert(connection: sqlite3.Connection, name: str, find: str, insert: str) -> int:
    row = connection.execute(QUERIES[find], (name,)).fetchone()
    if row is not None:
        return int(row[0])
    return int(connection.execute(QUERIES[insert], (name,)).lastrowid or 0)


def _remember(ids: dict[str, int], name: str, number: int, limit: int) -> None:
    if len(ids) >= limit:
        ids.clear()
    ids[name] = number
