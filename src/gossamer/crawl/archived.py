"""What the archive holds already, so that a payload is stored once and repeated by reference.

A worker knows what it has stored itself lately; what other workers and earlier runs have stored,
the catalog knows, which a worker reads and never writes. Most bodies are new. So a worker asks the
catalog now and then which have come since, as long as they are not too many to remember, and asks
for one of them only if it may be there.

Each question is a transaction of its own. A view that is held saves 4 µs a question, but workers
that hold one by turns keep SQLite from ever emptying its log.
"""

from pathlib import Path
from typing import Final

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import Clock
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import StoreError
from gossamer.messages import Fetch, Pointer
from gossamer.store.reading import original_of
from gossamer.store.store import Known, Stored
from gossamer.url.plain import KEY_BYTES, Keys, KeySet

_MAX_REMEMBERED: Final = 50_000
_LEARN_SECONDS: Final = 1.0
_LEAST_BYTES: Final = 512
"""A smaller payload is not worth a reference: the record would not get shorter."""
_MAX_LEARNED: Final = 20_000
"""So many bodies are not read at once: a catalog that knows as many is asked for each instead."""
_MAX_BODIES: Final = 200_000
"""5 MB, or 20 without the compiled set."""


class Archived:
    """Finds the earlier document that a fetch repeats."""

    def __init__(self, catalog: str, folder: Path, settings: CatalogSettings, clock: Clock) -> None:
        self._folder = folder
        self._catalog = SqliteCatalog.open(catalog, settings, read_only=True)
        self._clock = clock
        self._learn_at = 0.0
        self._lately: dict[str, Known] = {}
        """What this worker has stored, or found."""
        self._bodies = _Bodies()

    def find(self, fetch: Fetch, digest: str, checksum: bytes) -> Known | None:
        """Return an earlier document with this payload; for a 304, the document it vouches for.

        `digest` is that of the payload, `checksum` that of the body.
        """
        if fetch.status == 304:
            return self._vouched_for(fetch)
        if len(fetch.raw) < _LEAST_BYTES:
            return None
        known = self._lately.get(digest)
        if known is None:
            self._learn()
            known = self._stored_by_others(checksum, digest)
        return known

    def note(self, fetch: Fetch, stored: Stored) -> None:
        """Remember what this worker has stored; the catalog learns of it later."""
        self._remember(
            Known(fetch.visit.url, fetch.fetched_at, stored.payload_digest, stored.pointer)
        )

    def forget(self) -> None:
        """Forget what this worker has stored: some of it was lost before it was durable."""
        self._lately.clear()

    def close(self) -> None:
        """Let go of the catalog."""
        self._catalog.close()

    def _learn(self) -> None:
        """Hear once a second what is new; what others stored since then is stored again."""
        now = self._clock.monotonic()
        if now >= self._learn_at:
            self._learn_at = now + _LEARN_SECONDS
            self._bodies.learn(self._catalog)

    def _stored_by_others(self, checksum: bytes, digest: str) -> Known | None:
        if not self._bodies.may_have(checksum):
            return None
        earlier = self._catalog.find_content(checksum)
        # The same body may have been sent with another content coding: another payload.
        if earlier is None or earlier[2] != digest:
            return None
        original = self._original(earlier[3])
        if original is not None:
            self._remember(original)
        return original

    def _vouched_for(self, fetch: Fetch) -> Known | None:
        for earlier in self._catalog.history(fetch.visit.doc_id):
            if earlier.pointer is not None and 200 <= earlier.status < 300:
                return self._original(earlier.pointer) or Known(
                    fetch.visit.url, earlier.fetched_at, earlier.payload_digest, earlier.pointer
                )
        return None

    def _original(self, pointer: Pointer) -> Known | None:
        """Return who has the payload itself, since repetitions must not lead to repetitions.

        None: it cannot be read any more, so that it has to be stored again.
        """
        try:
            return original_of(self._folder, pointer)
        except StoreError:
            return None

    def _remember(self, known: Known) -> None:
        if len(self._lately) >= _MAX_REMEMBERED:
            self._lately.clear()
        self._lately[known.payload_digest] = known


class _Bodies:
    """The bodies that the catalog knows, by the first half of their checksums."""

    def __init__(self) -> None:
        self._last_fetch = 0
        self._keys: Keys | None = KeySet()
        """None: they are too many."""

    def learn(self, catalog: SqliteCatalog) -> None:
        """Read which have come since the last call."""
        if self._keys is None:
            return
        new = catalog.bodies_after(self._last_fetch, _MAX_LEARNED)
        if len(new) == _MAX_LEARNED or len(self._keys) + len(new) > _MAX_BODIES:
            self._keys = None
            return
        for self._last_fetch, checksum in new:
            if checksum is not None:
                self._keys.add(checksum[:KEY_BYTES])

    def may_have(self, checksum: bytes) -> bool:
        """Whether the catalog is worth asking; it is where this is not sure."""
        return self._keys is None or checksum[:KEY_BYTES] in self._keys
