"""The promise of every store.

A pointer is handed out before its bytes are durable, so that many documents share one sync:

* `sync` returning means: everything appended before the call is on disk.
* `sync` raising a StorageError means: every pointer handed out since the last sync that returned is
  void. The documents may be appended again, and get new pointers.
* `append` may have to write when much waits. If it raises a StorageError, the same is void, and the
  next `sync` raises too, so that who only looks at `sync` misses nothing.
* What a sync that returned has promised is never touched again.
* `write_out` promises less: that what was appended outlives this process, not a loss of power. Who
  is told of it has to sync the files (`archive_sync.py` of the crawl) before relying on them. In
  all else it is like `sync`.
"""

import hashlib
from typing import Protocol

from msgspec import Struct

from gossamer.messages import Fetch, Pointer
from gossamer.store.group import digest_text


class Known(Struct, frozen=True, gc=False):
    """An earlier document with the payload that a fetch may turn out to repeat."""

    uri: str
    fetched_at: float
    payload_digest: str
    pointer: Pointer | None = None
    """Where that payload is stored; with it, reading the repetition gives the payload too."""


class Stored(Struct, frozen=True, gc=False):
    """What became of a fetch in the store."""

    pointer: Pointer
    payload_digest: str
    """`sha1:` and base 32; empty for a 304 of which no earlier document is known."""
    revisit: bool


class StoredDocument(Struct, frozen=True):
    """A document read back."""

    url: str
    fetched_at: float
    request_head: bytes
    """Empty when requests are not kept."""
    head: bytes
    """Status line and header lines, ended by an empty line; empty if only the document is known."""
    raw: bytes | None
    """The body, content coding kept; None if this repeats a payload and does not know where."""
    payload_digest: str
    revisit_of: Known | None = None
    """What this document repeats, if it is a repetition."""
    truncated: str = ""
    """Why the body is incomplete (`length`, `time`, `disconnect`, `unspecified`); empty if not."""
    metadata: tuple[tuple[str, str], ...] = ()
    """Outcome, timing, parent …; empty when metadata is not kept."""
    record_headers: tuple[tuple[str, str], ...] = ()
    """The headers of the WARC record; empty when there is none."""


class Store(Protocol):
    """Keeps documents; see the module for what it promises."""

    def append(
        self,
        fetch: Fetch,
        *,
        parent: str | None = None,
        known: Known | None = None,
        digest: str = "",
    ) -> Stored:
        """Take a fetch that got a response; as a revisit if it repeats the payload of `known`.

        One that has a body and no head (others fetched it and sent only the document) is kept as a
        resource, in full.

        `digest` is the payload digest of its raw body, if the caller has computed it already.
        """
        ...

    def sync(self) -> None:
        """Make everything appended so far durable; may be called from another thread."""
        ...

    def write_out(self) -> None:
        """Have everything appended so far outlive this process."""
        ...

    def read(self, pointer: Pointer) -> StoredDocument:
        """Give a document back, its digest verified; also one that is not synced yet."""
        ...

    def close(self) -> None:
        """Sync and let go of all files."""
        ...


def payload_digest(raw: bytes) -> str:
    """Return the SHA-1 of a payload as WARC writes it."""
    return digest_text(hashlib.sha1(raw, usedforsecurity=False).digest())
