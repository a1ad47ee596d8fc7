"""Write the schema that all migrations of the catalog make together: after a new migration.

    python scripts/catalog_schema.py

A new catalog is made by it in a third of the time that the steps would take one by one;
`tests/catalog/test_catalog_schema.py` fails while it says anything else than they do.
"""

import sqlite3
from pathlib import Path

import gossamer.catalog
from gossamer.catalog.migrate import migrate, shipped_migrations

TARGET = Path(gossamer.catalog.__file__).parent / "schema" / "whole.sql"
HEADING = """\
-- All migrations together, for catalogs that are new. Made by scripts/catalog_schema.py.
"""
OBJECTS = """\
SELECT name, type, sql FROM sqlite_master
WHERE sql IS NOT NULL AND name <> 'schema_version' ORDER BY rowid
"""


def written_schema() -> str:
    """Return statements that make of an empty database what the migrations make of it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, ":memory:", shipped_migrations(), 0.0)
    objects = connection.execute(OBJECTS).fetchall()
    statements = [sql for _, _, sql in objects]
    for name in (name for name, kind, _ in objects if kind == "table"):
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        quoted = ", ".join(f"quote({column})" for column in columns)
        # The names are our own.
        rows = connection.execute(f"SELECT {quoted} FROM {name} ORDER BY 1")  # noqa: S608
        statements += [f"INSERT INTO {name} VALUES ({', '.join(row)})" for row in rows]  # noqa: S608
    connection.close()
    return "\n".join([HEADING, *(f"{statement};\n" for statement in statements)])


if __name__ == "__main__":
    TARGET.write_text(written_schema(), "utf-8")
