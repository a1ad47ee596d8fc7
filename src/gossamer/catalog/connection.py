"""Opens the database, and turns what SQLite refuses into our errors, here and nowhere else."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from gossamer.catalog.turns import Turns
from gossamer.errors import CatalogError, DiskFullError, GossamerError, WorkspaceError

MEMORY: Final = ":memory:"
_BUSY_SECONDS: Final = 30.0
# A longer log means fewer copies into the database file; the log stays under 64 MiB with these two.
_CHECKPOINT_PAGES: Final = 12_000
_LOG_LIMIT_BYTES: Final = 48 << 20
_SCARCE_BYTES: Final = 1 << 20
_ALONE: Final = nullcontext()
# The second when a damaged schema makes SQLite say something that is no text.
_REFUSALS: Final = (sqlite3.Error, UnicodeDecodeError)
_NO_TEXT: Final = (sqlite3.OperationalError, UnicodeDecodeError)
_WHOLE: Final = ("open", "close")
"""What is done to a catalog, not in it."""
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

# The sqlite3 module looks for an adapter to each NULL and each blob that is bound, and raises and
# drops an exception when there is none: a tenth of what a commit costs. These give back what they
# are given; bytes() would, too, but looks first for what a type of its own may say.
_NOTHING: Final[dict[None, None]] = {}
sqlite3.register_adapter(bytes, bytes.__bytes__)
sqlite3.register_adapter(type(None), _NOTHING.get)


class Database:
    """A connection, its path, and what it was opened for."""

    def __init__(
        self,
        path: str,
        connection: sqlite3.Connection,
        *,
        read_only: bool,
        turns: Turns | None = None,
    ) -> None:
        self.path = path
        self.connection = connection
        self.read_only = read_only
        self.turns = turns
        """Whom to wait for before writing; None when nobody else writes."""

    @contextmanager
    def doing(self, what: str) -> Iterator[sqlite3.Connection]:
        """Run statements outside a transaction of ours; an error says `what` was tried."""
        try:
            yield self.connection
        except _REFUSALS as error:
            raise translated(error, what, self.path) from error

    @contextmanager
    def writing(self, what: str, *, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """Run statements as one transaction: durable afterwards, or nothing happened.

        If it is not `synced`, a loss of power may undo it, until the next one that is.
        """
        if self.read_only:
            raise CatalogError(f"cannot {what} in {self.path}: it was opened for reading")
        with (
            self.doing(what) as connection,
            _ALONE if synced else self._unsynced(),
            self.turns or _ALONE,
        ):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled back already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _unsynced(self) -> Iterator[None]:
        self.connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self.connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def reading(self, what: str) -> Iterator[sqlite3.Connection]:
        """Run statements that all see the same moment."""
        with self.doing(what) as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file."""
        if not self.read_only:
            # While somebody reads, SQLite itself leaves the log beside the file when we close.
            with suppress(sqlite3.Error):
                self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with self.doing("close"):
            self.connection.close()
        if self.turns is not None:
            self.turns.close()
            self.turns = None


def open_for_writing(path: str, cache_bytes: int, *, shared: bool = False) -> Database:
    """Open or create a database as its only writer, or as one of several that take turns."""
    with _opening(path):
        if path == MEMORY:
            return Database(path, _connect_for_writing(path, cache_bytes), read_only=False)
        # Opened only if it is missing: to close a second descriptor would end the locks that SQLite
        # holds on the file for another connection of this process.
        if not Path(path).exists():
            # Only its owner may read a catalog; the log files of SQLite get the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        turns = Turns(path) if shared else None
        try:
            with turns or _ALONE:
                connection = _connect_for_writing(_uri(path, "rw"), cache_bytes)
        except BaseException:
            if turns is not None:
                turns.close()
            raise
    return Database(path, connection, read_only=False, turns=turns)


def open_for_reading(path: str, cache_bytes: int) -> Database:
    """Open an existing database; the writer never waits for us."""
    if not Path(path).is_file():
        raise WorkspaceError(f"cannot open catalog {path}: there is no such file")
    with _opening(path):
        connection = _connect(_uri(path, "ro"))
        try:
            for pragma in ("query_only = ON", *_pragmas(cache_bytes)):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            if os.access(Path(path).parent, os.W_OK) or Path(f"{path}-wal").exists():
                raise
            # On read-only media nobody can be writing, and no shared memory can be made.
            connection = _connect(_uri(path, "ro") + "&immutable=1")
        except BaseException:
            connection.close()
            raise
    return Database(path, connection, read_only=True)


def translated(error: sqlite3.Error | UnicodeDecodeError, what: str, path: str) -> GossamerError:
    """Return our error for one of SQLite: what was tried, on what, what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    tried = f"cannot {what} {'' if what in _WHOLE else 'in '}catalog {path}"
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return DiskFullError(f"{tried}: no space left on the disk; free some and go on")
    # Text that is none is refused by Python's module, without a code.
    if code in _DAMAGE or (not code and isinstance(error, _NO_TEXT)):
        return CatalogError(f"{tried}: the file is damaged ({error}); restore a copy")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return CatalogError(f"{tried}: another program holds it; end that one first")
    return CatalogError(f"{tried}: {error}")


@contextmanager
def _opening(path: str) -> Iterator[None]:
    try:
        yield
    except _REFUSALS as error:
        raise translated(error, "open", path) from error
    except OSError as error:
        raise WorkspaceError(f"cannot open catalog {path}: {error.strerror}") from error


def _connect(target: str) -> sqlite3.Connection:
    """Connect without implicit transactions, for any thread, but one at a time."""
    return sqlite3.connect(
        target,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        uri=True,
    )


def _connect_for_writing(target: str, cache_bytes: int) -> sqlite3.Connection:
    connection = _connect(target)
    try:
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
            f"journal_size_limit = {_LOG_LIMIT_BYTES}",
            "secure_delete = OFF",
            *_pragmas(cache_bytes),
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _pragmas(cache_bytes: int) -> tuple[str, ...]:
    return (f"cache_size = -{cache_bytes // 1024}", "temp_store = MEMORY", "trusted_schema = OFF")


def _uri(path: str, mode: str) -> str:
    return f"file:{quote(str(Path(path).absolute()))}?mode={mode}"


def _is_full(path: str) -> bool:
    import shutil  # noqa: PLC0415 - 1 ms of each start, for what is hardly ever asked

    try:
        return shutil.disk_usage(Path(path).parent).free < _SCARCE_BYTES
    except OSError:
        return False
