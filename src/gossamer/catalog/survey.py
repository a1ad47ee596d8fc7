"""The catalog as a map of one site needs it: all its URLs by their keys, then their rows."""

from collections.abc import Iterable, Iterator
from itertools import starmap
from typing import Final

from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.queries import QUERIES

_STEP: Final = 2_000
_WORD: Final = 1 << 64


class Surveyed(Struct, frozen=True, gc=False):
    """A document with its latest try, its links and what a handler noted; numbers as stored."""

    doc_id: int
    state: int
    outcome: int | None
    detail: str
    status: int
    milliseconds: int
    content_type: str
    body_bytes: int
    checksum: bytes | None
    signed_simhash: int | None
    redirect_to: str | None
    title: str
    targets: bytes = b""
    """Keys of the pages it links to: the first 8 bytes of the md5 of each."""
    record: str = ""
    """The latest record of a handler, as JSON; empty when there is none."""

    @property
    def simhash(self) -> int | None:
        """The fingerprint of the text, if one was taken."""
        return None if self.signed_simhash is None else self.signed_simhash % _WORD


def known(database: Database) -> Iterator[list[tuple[int, bytes, str, int]]]:
    """Go through the URLs in scope, in batches: number, key in the link graph, text, kind."""
    after = 0
    while True:
        with database.doing("read URLs") as connection:
            rows = connection.execute(QUERIES["survey_urls"], (after, _STEP)).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        yield rows


def surveyed(
    database: Database, doc_ids: Iterable[int], *, notes: bool = True
) -> dict[int, Surveyed]:
    """Return what is known of documents, unless without `notes` with their links and records."""
    query = QUERIES["survey_rows" if notes else "survey_results"]
    # In their order: neighbours are found faster.
    wanted = json_list(sorted(doc_ids))
    with database.doing("read URLs") as connection:
        rows = connection.execute(query, (wanted,)).fetchall()
    return {row.doc_id: row for row in starmap(Surveyed, rows)}


def kept_out_as(database: Database, outcome: int, detail: str) -> int:
    """Return how many URLs are kept out for this reason."""
    with database.doing("count URLs") as connection:
        return int(connection.execute(QUERIES["count_kept_out"], (outcome, detail)).fetchone()[0])
