"""Statements over many rows: few of them, each with as many rows as it takes.

To run a statement costs as much as a short row. Meanwhile the other threads of this process may go
on: they do better with one long pause of ours than with a hundred short ones.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final, TypeVar

_Row = TypeVar("_Row")

# A statement for each size, so that a handful of prepared ones serves any number of rows.
_SIZES: Final = (32, 8, 1)


def parts_of(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """Yield rows in parts of few different sizes, each as large as can be."""
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


def insert_many(
    connection: sqlite3.Connection, query: str, rows: Sequence[tuple[object, ...]]
) -> int:
    """Insert rows by a statement for one; return how many of them made a difference."""
    return sum(
        connection.execute(_widened(query, len(part)), tuple(chain.from_iterable(part))).rowcount
        for part in parts_of(rows)
    )


def insert_mixed(
    connection: sqlite3.Connection,
    queries: tuple[str, str],
    rows: Sequence[tuple[object, ...]],
    usual: tuple[object, ...],
) -> None:
    """Insert rows, in their order, of which most end with what is `usual` and come without it.

    The first statement is for whole rows, the second for those that go without: most of them do so
    together, and what is not bound costs next to nothing.
    """
    whole, short = queries
    width = short.count("?")
    for part in parts_of(rows):
        values = tuple(chain.from_iterable(part))
        if len(values) == width * len(part):
            connection.execute(_widened(short, len(part)), values)
        else:
            insert_many(
                connection, whole, [row + usual if len(row) == width else row for row in part]
            )


def select_many(connection: sqlite3.Connection, query: str, keys: Sequence[bytes]) -> Iterator[Any]:
    """Yield what a statement finds for one key and another; it says `IN (?)`."""
    for part in parts_of(keys):
        yield from connection.execute(_widened_list(query, len(part)), part)


@cache
def _widened(query: str, size: int) -> str:
    """Return an INSERT with placeholders for so many rows."""
    row = query[query.index("(?") : query.index("?)") + 2]
    return query.replace(row, ", ".join([row] * size))


@cache
def _widened_list(query: str, size: int) -> str:
    return query.replace("(?)", f"({', '.join('?' * size)})")
