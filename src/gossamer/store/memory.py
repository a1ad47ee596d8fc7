"""A store in memory: the promise of `store.py` in its simplest form, for tests and short crawls."""

from threading import Lock
from typing import Final

from gossamer.config.store import StoreSettings
from gossamer.errors import DiskFullError, StoreError
from gossamer.messages import Fetch, Pointer
from gossamer.store.fields import TRUNCATED, metadata_block, target_uri
from gossamer.store.heads import ended_head, stored_head
from gossamer.store.reading import fields_of
from gossamer.store.repeats import classify
from gossamer.store.store import Known, Stored, StoredDocument

_FILE: Final = "memory"
_OVERHEAD_BYTES: Final = 1_000


class MemoryStore:
    """Keeps documents in memory up to a number of bytes, then is full like a disk."""

    def __init__(self, settings: StoreSettings, max_bytes: int = 268_435_456) -> None:
        self._settings = settings
        self._free_bytes = max_bytes
        self._documents: list[StoredDocument] = []
        self._lock = Lock()
        self._closed = False

    def append(
        self,
        fetch: Fetch,
        *,
        parent: str | None = None,
        known: Known | None = None,
        digest: str = "",
    ) -> Stored:
        """Take a fetch that got a response."""
        digest, profile = classify(fetch, known, self._settings, digest)
        request = self._settings.write_requests and fetch.request_head
        document = StoredDocument(
            url=target_uri(fetch.visit.url).decode(),
            fetched_at=fetch.fetched_at,
            request_head=ended_head(fetch.request_head) if request else b"",
            head=stored_head(fetch.head, len(fetch.raw)) if fetch.head else b"",
            raw=None if profile else fetch.raw,
            payload_digest=digest,
            revisit_of=(known or Known("", 0.0, "")) if profile else None,
            truncated=TRUNCATED.get(fetch.outcome, ""),
            metadata=fields_of(metadata_block(fetch, parent))
            if self._settings.write_metadata
            else (),
        )
        size = len(document.raw or b"") + len(document.head) + _OVERHEAD_BYTES
        with self._lock:
            if self._closed:
                raise StoreError("the store in memory is closed")
            if size > self._free_bytes:
                raise DiskFullError("the store in memory is full; allow it more bytes")
            self._free_bytes -= size
            self._documents.append(document)
            pointer = Pointer(_FILE, len(self._documents) - 1, size)
        return Stored(pointer, digest, profile is not None)

    def sync(self) -> None:
        """Do nothing: what is in memory is as durable as it gets."""

    def write_out(self) -> None:
        """Do nothing, likewise."""

    def read(self, pointer: Pointer) -> StoredDocument:
        """Give a document back, with the payload that it repeats."""
        document = self._at(pointer)
        origin = document.revisit_of.pointer if document.revisit_of else None
        if origin is None:
            return document
        return _with_payload(document, self._at(origin).raw)

    def close(self) -> None:
        """Take nothing more."""
        self._closed = True

    def _at(self, pointer: Pointer) -> StoredDocument:
        if pointer.file != _FILE or not 0 <= pointer.offset < len(self._documents):
            raise StoreError(f"there is no document {pointer.offset} in {pointer.file!r}")
        return self._documents[pointer.offset]


def _with_payload(document: StoredDocument, raw: bytes | None) -> StoredDocument:
    return StoredDocument(
        **{name: getattr(document, name) for name in document.__struct_fields__ if name != "raw"},
        raw=raw,
    )
