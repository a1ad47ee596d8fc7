"""Processed contents in SQLite: one file for each site, or one table for each site of one file.

A file is a copy of a template, which is made when it is missing and never deleted. Each call opens
its file anew, so that a site can be removed at any moment by whoever has the storage for himself.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Final, Protocol
from urllib.parse import quote

from gossamer.errors import DiskFullError, StorageError, StoreError
from gossamer.store import disk
from gossamer.store.contents import md5_name, site_name
from gossamer.store.folder_lock import FolderLock

TEMPLATE: Final = "keyvalue_template.db"
CONTENTS_FILE: Final = "dc_contents.db"
_GONE: Final = ".gone"
_TABLE: Final = "articles"
_BUSY_SECONDS: Final = 30.0
_SCARCE_BYTES: Final = 1 << 20
_COMPANIONS: Final = ("-journal", "-wal", "-shm")
_TRIES: Final = 8
_CREATE: Final = (
    'CREATE TABLE IF NOT EXISTS "{0}" '
    "(id varchar(32) PRIMARY KEY, data text NOT NULL, CDate datetime DEFAULT CURRENT_TIMESTAMP)"
)
_INDEX: Final = 'CREATE INDEX IF NOT EXISTS "{0}_cdate" ON "{0}" (CDate)'
_PUT: Final = 'INSERT OR REPLACE INTO "{0}" (id, data, CDate) VALUES (?, ?, ?)'
_GET: Final = 'SELECT data, CDate FROM "{0}" WHERE id = ?'
_DELETE: Final = 'DELETE FROM "{0}" WHERE id = ?'


class ProcessedContents(Protocol):
    """Where processed contents are kept; the promise is that of contents.py."""

    def put(self, site_id: str, md5: str, json_bytes: bytes, now: float) -> None:
        """Keep a value in place of an earlier one."""
        ...

    def get(self, site_id: str, md5: str) -> tuple[bytes, float] | None:
        """Return a value and its moment."""
        ...

    def delete(self, site_id: str, md5: str) -> bool:
        """Remove a value; return whether there was one."""
        ...

    def create_site(self, site_id: str) -> None:
        """Make room for a site."""
        ...

    def remove_site(self, site_id: str) -> None:
        """Remove a site with its values."""
        ...

    def sweep(self, most: int) -> bool:
        """Free space of removed sites; return whether there is more to free."""
        ...


class KeyValueFiles:
    """A file `<site>.db` for each site."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            (folder / _GONE).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise disk.refusal("make", folder, error) from error
        self._lock = FolderLock(folder)

    def put(self, site_id: str, md5: str, json_bytes: bytes, now: float) -> None:
        """Keep a value in place of an earlier one."""
        site, row = site_name(site_id), _row(md5, json_bytes, now)
        for _ in range(_TRIES):
            with self._lock.together():
                if self._path(site).is_file():
                    with _opened(self._path(site)) as connection:
                        connection.execute(_PUT.format(_TABLE), row)
                    return
            # Never made, or removed just now.
            self.create_site(site)
        raise StoreError(f"cannot write to {self._path(site)}: it is removed again and again")

    def get(self, site_id: str, md5: str) -> tuple[bytes, float] | None:
        """Return a value and its moment."""
        site, key = site_name(site_id), md5_name(md5)
        with self._lock.together():
            if not self._path(site).is_file():
                return None
            with _opened(self._path(site), "DEFERRED") as connection:
                return _value(connection.execute(_GET.format(_TABLE), (key,)).fetchone())

    def delete(self, site_id: str, md5: str) -> bool:
        """Remove a value; return whether there was one."""
        site, key = site_name(site_id), md5_name(md5)
        with self._lock.together():
            if not self._path(site).is_file():
                return False
            with _opened(self._path(site)) as connection:
                return connection.execute(_DELETE.format(_TABLE), (key,)).rowcount > 0

    def create_site(self, site_id: str) -> None:
        """Copy the template, unless the site has a file."""
        path = self._path(site_name(site_id))
        template = self._folder / TEMPLATE
        with self._lock.alone(), _refusing("make", path):
            if path.is_file():
                return
            if not template.is_file():
                self._make_template(template)
            # Left by a removal that was killed; a database must never meet the log of another.
            for suffix in _COMPANIONS:
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            self._install(template, path)

    def remove_site(self, site_id: str) -> None:
        """Put the file of a site aside, with what SQLite keeps beside it."""
        path = self._path(site_name(site_id))
        aside = self._folder / _GONE / token_hex(16)
        with self._lock.alone():
            for suffix in ("", *_COMPANIONS):
                with suppress(FileNotFoundError):
                    Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
            with _refusing("remove", path):
                disk.sync_folder(disk.System(), self._folder)

    def sweep(self, most: int) -> bool:
        """Delete the files of removed sites; return whether there are more."""
        # Alone, for whoever makes a file has a draft of it there.
        with self._lock.alone(), _refusing("delete from", self._folder):
            for number, path in enumerate((self._folder / _GONE).iterdir()):
                if number == most:
                    return True
                path.unlink(missing_ok=True)
        return False

    def _path(self, site: str) -> Path:
        return self._folder / f"{site}.db"

    def _make_template(self, template: Path) -> None:
        draft = self._folder / _GONE / token_hex(16)
        with _opened(draft) as connection:
            connection.execute(_CREATE.format(_TABLE))
            connection.execute(_INDEX.format(_TABLE))
        draft.rename(template)

    def _install(self, source: Path, target: Path) -> None:
        """Copy a file under a new name, whole or not at all."""
        draft = self._folder / _GONE / token_hex(16)
        shutil.copyfile(source, draft, follow_symlinks=False)
        draft.chmod(0o600)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.rename(target)
        disk.sync_folder(disk.System(), self._folder)


class ContentTables:
    """A table `contents_<site>` for each site, in one file."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise disk.refusal("make", folder, error) from error
        self._path = folder / CONTENTS_FILE

    def put(self, site_id: str, md5: str, json_bytes: bytes, now: float) -> None:
        """Keep a value in place of an earlier one."""
        table, row = _table(site_id), _row(md5, json_bytes, now)
        with _opened(self._path) as connection:
            connection.execute(_CREATE.format(table))
            connection.execute(_INDEX.format(table))
            connection.execute(_PUT.format(table), row)

    def get(self, site_id: str, md5: str) -> tuple[bytes, float] | None:
        """Return a value and its moment."""
        table, key = _table(site_id), md5_name(md5)
        with _opened(self._path, "DEFERRED") as connection:
            if not _has(connection, table):
                return None
            return _value(connection.execute(_GET.format(table), (key,)).fetchone())

    def delete(self, site_id: str, md5: str) -> bool:
        """Remove a value; return whether there was one."""
        table, key = _table(site_id), md5_name(md5)
        with _opened(self._path) as connection:
            if not _has(connection, table):
                return False
            return connection.execute(_DELETE.format(table), (key,)).rowcount > 0

    def create_site(self, site_id: str) -> None:
        """Make the table of a site."""
        table = _table(site_id)
        with _opened(self._path) as connection:
            connection.execute(_CREATE.format(table))
            connection.execute(_INDEX.format(table))

    def remove_site(self, site_id: str) -> None:
        """Rename the table of a site: to drop a large one takes long."""
        table = _table(site_id)
        with _opened(self._path) as connection:
            if _has(connection, table):
                connection.execute(f'DROP INDEX IF EXISTS "{table}_cdate"')
                connection.execute(f'ALTER TABLE "{table}" RENAME TO "gone_{token_hex(16)}"')

    def sweep(self, most: int) -> bool:
        """Drop the tables of removed sites, some rows at a time; return whether there are more."""
        with _opened(self._path) as connection:
            found = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'gone_*' LIMIT 1"
            ).fetchone()
            if found is None:
                return False
            removed = connection.execute(
                f'DELETE FROM "{found[0]}" WHERE rowid IN (SELECT rowid FROM "{found[0]}" LIMIT ?)',  # noqa: S608 - our own name
                (most,),
            ).rowcount
            if removed < most:
                connection.execute(f'DROP TABLE "{found[0]}"')
            return True


def _table(site_id: str) -> str:
    return f"contents_{site_name(site_id)}"


def _row(md5: str, json_bytes: bytes, now: float) -> tuple[str, str, str]:
    key = md5_name(md5)
    try:
        text = json_bytes.decode()
        date = datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError) as error:
        raise StoreError(f"cannot keep the processed content of {key}: {error}") from error
    return key, text, date


def _value(row: tuple[str | bytes, str] | None) -> tuple[bytes, float] | None:
    if row is None:
        return None
    data = row[0].encode() if isinstance(row[0], str) else row[0]
    try:
        moment = datetime.fromisoformat(row[1]).replace(tzinfo=UTC).timestamp()
    except (TypeError, ValueError):
        moment = 0.0
    return data, moment


def _has(connection: sqlite3.Connection, table: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
    ).fetchone()
    return row is not None


@contextmanager
def _opened(path: Path, how: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """Open a database for one transaction, which is durable afterwards or has not happened."""
    if path.is_symlink():
        raise StoreError(f"cannot use {path}: it is a link to another file")
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=rwc",
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            uri=True,
        )
        try:
            for pragma in ("synchronous = FULL", "trusted_schema = OFF"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute(f"BEGIN {how}")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise _translated(error, path) from error


def _translated(error: sqlite3.Error, path: Path) -> StorageError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    full = code == sqlite3.SQLITE_FULL or (
        code == sqlite3.SQLITE_IOERR and disk.free_bytes(path.parent) < _SCARCE_BYTES
    )
    if full:
        return DiskFullError(f"cannot write to {path}: no space is left; free some and go on")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreError(f"{path} is damaged ({error}); restore a copy")
    return StoreError(f"cannot use {path}: {error}")


@contextmanager
def _refusing(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise disk.refusal(action, path, error) from error
