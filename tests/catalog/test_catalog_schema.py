"""The schema of a new catalog is what all migrations make of an empty one, to the letter."""

import contextlib
import sqlite3

from gossamer.catalog.migrate import migrate, shipped_migrations, shipped_schema
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings

OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"


def made(whole=None):
    """Return all that is in a new catalog."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, ":memory:", shipped_migrations(), 7.0, whole)
        return everything(connection)


def everything(connection):
    """Return all that is in a database: how it is made, and every row."""
    tables = [row[1] for row in connection.execute(OBJECTS) if row[0] == "table"]
    rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    return connection.execute(OBJECTS).fetchall(), rows


def test_the_whole_schema_is_that_of_the_steps():
    by_steps, at_once = made(), made(shipped_schema)
    assert at_once == by_steps, "make it anew: python scripts/catalog_schema.py"


def test_a_new_catalog_is_made_by_the_whole_schema_and_not_made_again(tmp_path):
    path = tmp_path / "catalog.db"
    with SqliteCatalog.open(path, CatalogSettings()) as catalog:
        objects, rows = everything(catalog._database.connection)
    assert objects == made()[0]
    versions = [step.version for step in shipped_migrations()]
    assert [row[0] for row in rows["schema_version"]] == versions
    with SqliteCatalog.open(path, CatalogSettings()) as catalog:
        assert everything(catalog._database.connection) == (objects, rows)


def test_a_catalog_that_is_there_already_goes_through_the_steps(tmp_path):
    path = tmp_path / "catalog.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, str(path), shipped_migrations()[:1], 1.0)
        connection.execute("INSERT INTO host (name) VALUES ('a.test')")
    with SqliteCatalog.open(path, CatalogSettings()) as catalog:
        objects, rows = everything(catalog._database.connection)
    assert [row[1] for row in rows["host"]] == ["a.test"]
    assert objects == made()[0]
