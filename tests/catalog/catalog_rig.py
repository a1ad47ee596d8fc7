"""What the catalog's tests share: short ways to make records, and the backends."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Due, Findings, Found, Kind
from gossamer.outcomes import Outcome, State

NOW = 1_800_000_000.0


def md5_of(url: str) -> bytes:
    return hashlib.md5(url.encode()).digest()


def found(url: str, depth: int = 0, **fields) -> Found:
    return Found(url, md5_of(url), urlsplit(url).hostname or "", depth, **fields)


def excluded(url: str, depth: int = 0, outcome: Outcome = Outcome.POLICY_SCOPE) -> Found:
    return found(url, depth, state=int(State.EXCLUDED), outcome=int(outcome))


def page(doc_id: int, new: Iterable[Found] = (), **fields) -> Findings:
    """Findings of a visit that went well, with a body of its own unless told otherwise."""
    fields = {
        "doc_id": doc_id,
        "trans_id": doc_id,
        "outcome": int(Outcome.OK),
        "status": 200,
        "fetched_at": NOW,
        "milliseconds": 7,
        "content_type": "text/html",
        "body_bytes": 1_000,
        "wire_bytes": 500,
        "checksum": md5_of(f"body {doc_id}"),
        "found": tuple(new),
    } | fields
    return Findings(**fields)


def done(due: Due, new: Iterable[Found] = (), **fields) -> Verdict:
    return Verdict(page(due.doc_id, new, **fields), State.DONE)


def failure(
    due: Due,
    outcome: Outcome = Outcome.NET_RESET,
    state: State = State.FAILED,
    due_at: float = 0.0,
    status: int = 0,
) -> Verdict:
    findings = page(due.doc_id, outcome=int(outcome), status=status, body_bytes=0, checksum=None)
    return Verdict(findings, state, due_at)


class SqliteBackend:
    """A catalog in a file, opened as often as a test likes."""

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        self.path = folder / "catalog.db"
        self._shared = shared
        self._opened = []

    def open(self, *, read_only: bool = False, **settings) -> SqliteCatalog:
        catalog = SqliteCatalog.open(
            self.path, CatalogSettings(**settings), read_only=read_only, shared=self._shared
        )
        self._opened.append(catalog)
        return catalog

    def close(self) -> None:
        for catalog in self._opened:
            catalog.close()


class InMemoryBackend:
    """A catalog without a file: to open it again is to go on with the same object."""

    def __init__(self) -> None:
        self._catalog = None

    def open(self, **settings) -> InMemoryCatalog:
        if self._catalog is None:
            self._catalog = InMemoryCatalog(CatalogSettings(**settings))
        return self._catalog

    def close(self) -> None:
        self._catalog = None


__all__ = [
    "NOW",
    "InMemoryBackend",
    "Kind",
    "SqliteBackend",
    "done",
    "excluded",
    "failure",
    "found",
    "md5_of",
    "page",
]
