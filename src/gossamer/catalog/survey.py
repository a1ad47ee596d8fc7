"""The catalog as a map of one site needs it: all its URLs by their keys, then their rows."""

from collections.abc import Collection, Iterator
from itertools import starmap
from typing import Final

from gossamer.catalog.catalog import Surveyed
from gossamer.catalog.connection import Database
from gossamer.catalog.leases import json_list
from gossamer.catalog.queries import QUERIES

_STEP: Final = 2_000


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


def surveyed(database: Database, doc_ids: Collection[int]) -> dict[int, Surveyed]:
    """Return what is known of documents."""
    # In their order: neighbours are found faster.
    wanted = json_list(sorted(doc_ids))
    with database.doing("read URLs") as connection:
        rows = connection.execute(QUERIES["survey_rows"], (wanted,)).fetchall()
    return {row.doc_id: row for row in starmap(Surveyed, rows)}


def kept_out_as(database: Database, outcome: int, detail: str) -> int:
    """Return how many URLs are kept out for this reason."""
    with database.doing("count URLs") as connection:
        return int(connection.execute(QUERIES["count_kept_out"], (outcome, detail)).fetchone()[0])
