"""Queries of clients (SQL_CUSTOM), run so that they can change nothing and read nothing but views.

Theory of operation. The file is opened read-only, the views are made in this connection alone, and
then `query_only` is on; one statement is run at a time, and it starts with SELECT; time, rows and
bytes are counted while it runs. An authorizer allows to read columns of the views, a list of
functions, and exactly the reads inside of views that are seen when each of these views is selected
from by us. SQLite tells the authorizer which view a read happens in, but says the name of a common
table expression in the same place. So WITH, which could give a table the name of a view, is refused
before.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from gossamer.errors import CatalogError, InputError
from gossamer.wording import shortened

MAX_STATEMENT: Final = 65_536
_STEPS: Final = 1_000
"""Instructions of the database between two looks at the time."""
_MAX_VALUE: Final = 1 << 20
_LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT),
    (sqlite3.SQLITE_LIMIT_COLUMN, 200),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20),
    (sqlite3.SQLITE_LIMIT_VDBE_OP, 100_000),
    (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 20),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
# Without those that make long values from nothing (zeroblob, randomblob, printf, replace,
# group_concat), read the build or the file (sqlite_version, load_extension) or give chance.
FUNCTIONS: Final = frozenset(
    {
        "abs",
        "avg",
        "coalesce",
        "count",
        "date",
        "datetime",
        "ifnull",
        "instr",
        "julianday",
        "length",
        "like",
        "lower",
        "ltrim",
        "max",
        "min",
        "nullif",
        "round",
        "rtrim",
        "strftime",
        "substr",
        "substring",
        "sum",
        "time",
        "total",
        "trim",
        "typeof",
        "unixepoch",
        "upper",
    }
)

_READ: Final = sqlite3.SQLITE_READ
_FUNCTION: Final = sqlite3.SQLITE_FUNCTION
# Quoted text, names in quotes, comments (perhaps without an end), words, anything else. Letters
# beyond ASCII end a word here: SQLite takes one of them, the byte order mark, for a space.
_WORDS: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|\Z)"""
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<other>\S)",
    re.DOTALL,
)

Access = tuple[int, str, str, str]
"""Action, table and column (or empty and function), and the view in which it happens."""
Cell = int | float | str | bytes | None


class Rows(Struct, frozen=True):
    """What one statement gave."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    is_cut: bool = False
    """More rows, or more bytes, were there than the limits let through."""


def run_read_only(
    database: Path,
    statements: Sequence[str],
    *,
    views: Mapping[str, str],
    row_limit: int = 10_000,
    byte_limit: int = 8 << 20,
    seconds: float = 0.5,
    clock: Callable[[], float] = time.monotonic,
) -> list[Rows]:
    """Return the rows of each statement; InputError for one that may not be run.

    `seconds` is for all statements together. Views are names and the statements that they stand
    for; their names are compared without case.
    """
    deadline = clock() + seconds
    for statement in statements:
        _check_text(statement)
    try:
        with closing(_open(database)) as connection:
            _make_views(connection, views)
            inside = _inside_of_views(connection, views)
            allowed = frozenset(view.lower() for view in views)
            connection.set_authorizer(_authorizer(allowed, inside))
            connection.set_progress_handler(lambda: int(clock() > deadline), _STEPS)
            return [_run(connection, each, row_limit, byte_limit) for each in statements]
    except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError) as error:
        raise _explained(error, clock() > deadline, seconds) from None


def _open(database: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(database))}?mode=ro", uri=True, isolation_level=None, timeout=1.0
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cache_size = -4096")
        for limit, value in _LIMITS:
            connection.setlimit(limit, value)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _make_views(connection: sqlite3.Connection, views: Mapping[str, str]) -> None:
    for name, text in views.items():
        # Into the place of this connection: the file itself cannot be written.
        connection.execute(f"CREATE TEMP VIEW {_quoted(name)} AS {text}")
    connection.execute("PRAGMA query_only = ON")


def _inside_of_views(connection: sqlite3.Connection, views: Iterable[str]) -> frozenset[Access]:
    """Return everything that the views themselves do when they are selected from."""
    seen: set[Access] = set()

    def record(
        action: int, first: str | None, second: str | None, _: str | None, view: str | None
    ) -> int:
        if view is not None:
            seen.add(_access(action, first, second, view))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(record)
    for view in views:
        # EXPLAIN prepares the statement, which is when the authorizer is asked, and reads nothing.
        connection.execute(f"EXPLAIN SELECT * FROM {_quoted(view)}").close()  # noqa: S608 - ours
    connection.set_authorizer(None)
    return frozenset(seen)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _authorizer(
    views: frozenset[str], inside: frozenset[Access]
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    counted = frozenset((table, view) for action, table, _, view in inside if action == _READ)

    def judge(
        action: int, first: str | None, second: str | None, _: str | None, view: str | None
    ) -> int:
        access = _access(action, first, second, view or "")
        if action == sqlite3.SQLITE_SELECT or access in inside:
            return sqlite3.SQLITE_OK
        if view is None and action == _READ and access[1] in views:
            return sqlite3.SQLITE_OK
        if view is not None and action == _READ and not second and access[1::2] in counted:
            return sqlite3.SQLITE_OK
        if view is None and action == _FUNCTION and access[2] in FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    return judge


def _access(action: int, first: str | None, second: str | None, view: str) -> Access:
    return action, (first or "").lower(), (second or "").lower(), view.lower()


def _check_text(statement: str) -> None:
    if len(statement) > MAX_STATEMENT:
        raise InputError(f"cannot run SQL: at most {MAX_STATEMENT} characters are expected")
    if "\0" in statement:
        raise InputError("cannot run SQL: it holds a NUL character")
    words = [found["word"] or found["other"] for found in _WORDS.finditer(statement)]
    words = [word.upper() for word in words if word]
    if not words or words[0] != "SELECT":
        raise InputError(f"cannot run SQL {shortened(statement, 60)!r}: SELECT is expected first")
    if "WITH" in words:
        raise InputError("cannot run SQL: WITH is not supported; select from a view")


def _run(connection: sqlite3.Connection, statement: str, row_limit: int, byte_limit: int) -> Rows:
    cursor = connection.execute(statement)
    columns = tuple(column[0] for column in cursor.description or ())
    rows: list[tuple[Cell, ...]] = []
    size, is_cut = 0, False
    for row in cursor:
        size += sum(_bytes_of(cell) for cell in row)
        if len(rows) >= row_limit or size > byte_limit:
            is_cut = True
            break
        rows.append(row)
    cursor.close()
    return Rows(columns, rows, is_cut)


def _bytes_of(cell: Cell) -> int:
    return 8 + (len(cell) if isinstance(cell, str | bytes) else 0)


def _explained(error: Exception, is_late: bool, seconds: float) -> Exception:
    message = shortened(str(error), 200)
    if is_late and "interrupted" in message:
        return InputError(f"cannot run SQL: it took more than {seconds:g} s; ask for less")
    if isinstance(error, sqlite3.DatabaseError) and _is_of_the_file(error):
        return CatalogError(f"cannot read the catalog for SQL: {message}")
    return InputError(f"cannot run SQL: {message}")


def _is_of_the_file(error: sqlite3.DatabaseError) -> bool:
    # The low byte of a code of SQLite is its family.
    family = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return family in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOTADB,
    )
