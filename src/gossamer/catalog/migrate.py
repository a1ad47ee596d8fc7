"""Brings the schema of a catalog up to the program's, in one transaction."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.errors import CatalogError, WorkspaceError


class Migration(Struct, frozen=True):
    """One step of the schema."""

    version: int
    name: str
    text: str


def shipped_migrations() -> list[Migration]:
    """Return the steps that come with the program, first to last."""
    folder = Path(__file__).with_name("migrations")
    steps = [
        Migration(int(entry.name[:4]), entry.name[5:-4], entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return sorted(steps, key=lambda step: step.version)


def shipped_schema() -> str:
    """Return what all of them make together of an empty database."""
    return (Path(__file__).with_name("schema") / "whole.sql").read_text("utf-8")


def schema_version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of the schema, 0 for an empty database."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if not names:
        return 0
    if "schema_version" not in names:
        raise WorkspaceError(
            f"cannot open catalog {path}: a database of another program; choose another workspace"
        )
    (version,) = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    return int(version)


def refuse_newer(version: int, steps: Sequence[Migration], path: str) -> None:
    """Raise if the catalog was written by a later program."""
    if version > steps[-1].version:
        raise WorkspaceError(
            f"cannot open catalog {path}: newer schema {version} than {steps[-1].version}; "
            "upgrade the program"
        )


def migrate(
    connection: sqlite3.Connection,
    path: str,
    steps: Sequence[Migration],
    now: float,
    whole: Callable[[], str] | None = None,
) -> None:
    """Apply the steps that are missing, all or none; an older catalog is copied aside first.

    `whole` gives what all steps make of an empty database, sooner than one by one.
    """
    version = schema_version(connection, path)
    refuse_newer(version, steps, path)
    if version == steps[-1].version:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again, because another process may have been faster.
        _apply(connection, path, steps, now, whole)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _apply(
    connection: sqlite3.Connection,
    path: str,
    steps: Sequence[Migration],
    now: float,
    whole: Callable[[], str] | None,
) -> None:
    version = schema_version(connection, path)
    missing = [step for step in steps if step.version > version]
    if version and missing:
        _back_up(path, Path(f"{path}.schema-{version}"))
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_version "
        "(version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at REAL NOT NULL) STRICT"
    )
    texts = [step.text for step in missing] if version or whole is None else [whole()]
    for text in texts:
        for statement in _statements(text):
            connection.execute(statement)
    connection.executemany(
        "INSERT INTO schema_version VALUES (?, ?, ?)",
        [(step.version, step.name, now) for step in missing],
    )


def _back_up(path: str, target: Path) -> None:
    """Copy the catalog; a copy that was interrupted never has the final name.

    By a connection of its own, since SQLite copies nothing for one that is writing.
    """
    unfinished = target.with_name(f"{target.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with (
            contextlib.closing(sqlite3.connect(path)) as source,
            contextlib.closing(sqlite3.connect(unfinished)) as copy,
        ):
            source.backup(copy)
        unfinished.replace(target)
    except OSError as error:
        raise CatalogError(
            f"cannot copy catalog {path} to {target} before it is upgraded: {error.strerror}; "
            "make room for the copy and run the same command again"
        ) from error


def _statements(text: str) -> list[str]:
    """Split a script, because executescript would end our transaction."""
    statements, pending = [], ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements
