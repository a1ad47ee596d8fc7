"""Statements over many rows: the same as one after the other, in few steps."""

import sqlite3

import pytest

from gossamer.catalog.connection import MEMORY, open_for_writing
from gossamer.catalog.many import insert_many, insert_mixed, parts_of, select_many

INSERT = "INSERT INTO thing (key, word) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"
FIND = "SELECT key, word FROM thing WHERE key IN (?)"


@pytest.fixture
def connection():
    database = open_for_writing(MEMORY, 1 << 20)
    database.connection.execute("CREATE TABLE thing (key BLOB PRIMARY KEY, word TEXT) STRICT")
    yield database.connection
    database.close()


def things(count):
    return [(bytes([number]), None if number % 3 else f"word {number}") for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 75, 200])
def test_parts_are_all_there_is_in_its_order(count):
    rows = list(range(count))
    parts = list(parts_of(rows))
    assert [row for part in parts for row in part] == rows
    assert {len(part) for part in parts} <= {32, 8, 1}
    assert len(parts) <= count // 32 + 3 + 7


@pytest.mark.parametrize("count", [0, 1, 8, 45, 200])
def test_rows_enter_in_few_statements(connection, count):
    said = []
    connection.set_trace_callback(said.append)
    assert insert_many(connection, INSERT, things(count)) == count
    connection.set_trace_callback(None)
    assert len(said) == len(list(parts_of(range(count))))
    assert sorted(connection.execute("SELECT key, word FROM thing")) == sorted(
        things(count), key=lambda thing: thing[0]
    )


def test_only_rows_that_made_a_difference_are_counted(connection):
    insert_many(connection, INSERT, things(10))
    assert insert_many(connection, INSERT, [*things(40), *things(40)]) == 30
    assert connection.execute("SELECT count(*) FROM thing").fetchone() == (40,)


@pytest.mark.parametrize("count", [0, 1, 8, 45, 200])
@pytest.mark.parametrize("unusual", [(), (3,), (0, 1, 40, 199), range(200)])
def test_rows_that_end_as_usual_come_without_their_end(connection, count, unusual):
    """They are the same rows, in the same order, in as many statements."""
    connection.execute("CREATE TABLE place (number INTEGER, name TEXT, kind INTEGER, note TEXT)")
    whole = "INSERT INTO place (number, name, kind, note) VALUES (?, ?, ?, ?)"
    short = "INSERT INTO place (number, kind, name) VALUES (?, 7, ?)"
    rows = [(n, f"name {n}") + ((8, "other") if n in unusual else ()) for n in range(count)]
    said = []
    connection.set_trace_callback(said.append)
    insert_mixed(connection, (whole, short), rows, (7, None))
    connection.set_trace_callback(None)
    assert len(said) == len(list(parts_of(rows)))
    assert list(connection.execute("SELECT number, name, kind, note FROM place")) == [
        (n, f"name {n}", *((8, "other") if n in unusual else (7, None))) for n in range(count)
    ]


@pytest.mark.parametrize("value", [None, b"", b"\0", b"\xff" * 20, "", 0, -1, 1.5])
def test_what_is_bound_comes_back_as_it_is(connection, value):
    assert connection.execute("SELECT ?", (value,)).fetchone() == (value,)
    assert type(connection.execute("SELECT ?", (value,)).fetchone()[0]) is type(value)


def test_one_wrong_row_fails_the_statement_that_it_is_in(connection):
    with pytest.raises(sqlite3.IntegrityError):
        insert_many(connection, INSERT, [*things(7), (b"x", b"not a text")])
    assert connection.execute("SELECT count(*) FROM thing").fetchone() == (0,)


@pytest.mark.parametrize("count", [0, 1, 8, 45, 200])
def test_keys_are_looked_up_in_few_statements(connection, count):
    insert_many(connection, INSERT, things(100))
    keys = [key for key, _ in things(count)]
    assert dict(select_many(connection, FIND, keys)) == dict(things(min(count, 100)))


def test_nulls_and_blobs_are_bound_as_they_are(connection):
    given = (None, b"", b"\x00\xff", bytearray(b"ab"), "text", 7, 0.5)
    row = connection.execute(f"SELECT {', '.join('?' * len(given))}", given).fetchone()
    assert row == given
    assert connection.execute("SELECT typeof(?), typeof(?)", (None, b"")).fetchone() == (
        "null",
        "blob",
    )
