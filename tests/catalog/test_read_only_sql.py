"""SQL of clients: read-only, views only, one statement, limited in time, rows and bytes (T20)."""

import hashlib
import itertools
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.catalog.read_only_sql import run_read_only
from gossamer.errors import CatalogError, GossamerError, InputError
from sql_attacks import ATTACKS

SECRET = "the-secret-of-another-tenant"
VIEWS = {
    "dc_urls": "SELECT id AS Id, url AS URL, digits AS Digits FROM inner_urls WHERE tenant = 1",
    "dc_sites": "SELECT 'x' AS Id",
}


def make_database(folder: Path) -> Path:
    path = folder / "catalog?.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            f"""
            PRAGMA journal_mode = WAL;
            CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT, tenant INTEGER, token TEXT);
            INSERT INTO urls VALUES (1, 'http://a.example/', 1, 't1'),
                                    (2, 'http://b.example/', 1, 't2'),
                                    (3, 'http://{SECRET}.example/', 2, '{SECRET}');
            CREATE TABLE secrets (token TEXT);
            INSERT INTO secrets VALUES ('{SECRET}');
            CREATE VIEW inner_urls AS SELECT id, url, tenant, hex(id) AS digits FROM urls;
            CREATE VIEW dc_hidden AS SELECT token FROM secrets;
            """
        )
    connection.close()
    return path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_database(tmp_path)


def content_of(path: Path) -> str:
    connection = sqlite3.connect(path)
    dump = "\n".join(connection.iterdump())
    connection.close()
    return hashlib.sha256(dump.encode()).hexdigest()


def run(path: Path, *statements: str, **limits: object):
    return run_read_only(path, statements, views=VIEWS, **limits)


def test_a_query_over_a_view_is_answered(database):
    (rows,) = run(database, "SELECT Id, URL FROM dc_urls ORDER BY Id DESC")
    assert rows.columns == ("Id", "URL")
    assert rows.rows == [(2, "http://b.example/"), (1, "http://a.example/")]
    assert not rows.is_cut


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT count(*) FROM dc_urls", [(2,)]),
        ("select upper(substr(URL, 8, 1)) from DC_URLS limit 1", [("A",)]),
        ("SELECT max(length(URL)) FROM (SELECT URL FROM dc_urls)", [(17,)]),
        ("SELECT a.Id FROM dc_urls a JOIN dc_urls b ON a.Id < b.Id", [(1,)]),
        ("SELECT Digits FROM dc_urls WHERE URL LIKE '%a.%' -- with a comment", [("31",)]),
        ("SELECT 'with' AS \"with\"", [("with",)]),
        ("SELECT 1;", [(1,)]),
        ("SELECT u.Id, s.Id FROM dc_urls u, dc_sites s WHERE u.Id = 1", [(1, "x")]),
        ("SELECT Id FROM dc_sites UNION SELECT 'y' ORDER BY 1", [("x",), ("y",)]),
        ("SELECT 1 FROM dc_urls WHERE EXISTS (SELECT 1 FROM dc_sites) LIMIT 1", [(1,)]),
    ],
)
def test_what_is_needed_for_looking_works(database, statement, expected):
    assert run(database, statement)[0].rows == expected


def test_several_statements_are_run_one_by_one(database):
    first, second = run(database, "SELECT 1", "SELECT 2")
    assert (first.rows, second.rows) == ([(1,)], [(2,)])
    with pytest.raises(InputError):
        run(database, "SELECT 1; SELECT 2")


def test_hostile_statements_change_nothing_and_read_nothing_else(database):
    """At least 200 of them: refused, or answered from the views alone."""
    assert len(set(ATTACKS)) >= 200
    before, files = content_of(database), {path.name for path in database.parent.iterdir()}
    refused = 0
    for attack in ATTACKS:
        try:
            answers = run(database, attack, row_limit=100, byte_limit=10_000)
        except InputError:
            refused += 1
            continue
        assert SECRET not in repr(answers), attack
        assert all(len(answer.rows) <= 100 for answer in answers)
    assert refused > 180
    assert content_of(database) == before
    left = {path.name for path in database.parent.iterdir()} - files
    assert left <= {database.name + "-wal", database.name + "-shm"}


@pytest.mark.parametrize(
    "statement",
    [
        # A common table expression may be called as a view is, and SQLite then says that name.
        "WITH dc_urls AS (SELECT * FROM secrets) SELECT * FROM dc_urls",
        "SELECT * FROM (WITH dc_urls AS (SELECT token FROM urls) SELECT * FROM dc_urls)",
        "SELECT * FROM (SELECT token FROM secrets) AS dc_urls",
        "SELECT dc_urls.token FROM secrets AS dc_urls",
        "SELECT * FROM urls",
        "SELECT count(*) FROM urls",
        "SELECT 1 FROM urls",
        "SELECT rowid FROM secrets",
        "SELECT * FROM inner_urls",
        "SELECT * FROM dc_hidden",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM pragma_table_info('secrets')",
        "SELECT (SELECT token FROM secrets)",
        "SELECT hex(URL) FROM dc_urls",
    ],
)
def test_nothing_but_the_named_views_can_be_read(database, statement):
    with pytest.raises(InputError, match="cannot run SQL"):
        run(database, statement)


PIECES = st.lists(
    st.sampled_from(
        [
            "SELECT",
            "*",
            "FROM",
            "dc_urls",
            "secrets",
            "urls",
            "inner_urls",
            "dc_hidden",
            "sqlite_schema",
            "WITH",
            "AS",
            "(",
            ")",
            ",",
            ";",
            "JOIN",
            "UNION",
            "WHERE",
            "IN",
            "token",
            "url",
            "Id",
            "URL",
            "tenant",
            "1",
            "'x'",
            '"dc_urls"',
            "[dc_urls]",
            "--",
            "/*",
            "*/",
            "'",
            '"',
            "`",
            "[",
            "]",
            "\ufeff",
            ".",
            "ORDER",
            "BY",
            "LIMIT",
            "EXISTS",
            "hex",
            "count(*)",
            "max(",
            "NOT",
            "NULL",
            "=",
            "DELETE",
            "PRAGMA",
            "main",
            "temp",
        ]
    ),
    max_size=16,
)


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("shared"))


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PIECES)
def test_whatever_is_put_together_shows_only_the_views(shared_database, pieces):
    statement = "SELECT * FROM " + " ".join(pieces)
    try:
        answers = run(shared_database, statement, row_limit=100)
    except InputError:
        return
    assert SECRET not in repr(answers)


def test_what_a_view_does_inside_is_allowed_in_that_view_only(database):
    assert run(database, "SELECT Digits FROM dc_urls WHERE Id = 2")[0].rows == [("32",)]
    with pytest.raises(InputError, match="hex"):
        run(database, "SELECT hex(1)")


def test_time_is_limited_for_all_statements_together(database):
    ticks = itertools.count()
    endless = "SELECT count(*) FROM " + ", ".join(f"dc_urls u{n}" for n in range(40))
    with pytest.raises(InputError, match=r"took more than 0\.5 s"):
        run(database, endless, clock=lambda: next(ticks) / 100)
    assert next(ticks) < 100


def test_rows_and_bytes_are_limited(database):
    many = "SELECT a.URL FROM " + ", ".join(f"dc_urls {name}" for name in "abcdefgh")
    (rows,) = run(database, many, row_limit=5)
    assert (len(rows.rows), rows.is_cut) == (5, True)
    (rows,) = run(database, many, byte_limit=100)
    assert (len(rows.rows), rows.is_cut) == (4, True)
    (rows,) = run(database, "SELECT 1", row_limit=1)
    assert not rows.is_cut


def test_long_values_cannot_be_made(database):
    long = "'" + "x" * 60_000 + "'"
    chain = " || ".join(["a"] * 20)
    with pytest.raises(InputError, match="too big"):
        run(database, f"SELECT {chain} FROM (SELECT {long} AS a)")


def test_a_missing_or_broken_catalog_is_no_fault_of_the_client(tmp_path):
    with pytest.raises(CatalogError):
        run(tmp_path / "none.db", "SELECT 1")
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "broken.db").write_bytes(b"not a database" * 100)
    with pytest.raises(GossamerError):
        run(tmp_path / "broken.db", "SELECT * FROM dc_urls")


def test_a_writer_is_not_disturbed(database):
    writer = sqlite3.connect(database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO urls VALUES (4, 'http://d.example/', 1, 't4')")
    assert run(database, "SELECT count(*) FROM dc_urls")[0].rows == [(2,)]
    writer.execute("COMMIT")
    assert run(database, "SELECT count(*) FROM dc_urls")[0].rows == [(3,)]
    writer.close()
