"""The records of an ordinary fetch, made in one call: compiled (group.c), if it is there.

Where no compiler was at hand when gossamer was installed, and of fetches that are not ordinary,
records.py puts them together, and `digest_text` is made by Python.
"""

from collections.abc import Callable
from typing import Final

from gossamer.messages import Fetch
from gossamer.outcomes import Outcome, name_of
from gossamer.store.base32 import base32
from gossamer.store.fields import TRUNCATED
from gossamer.store.heads import protocol_of, stored_head

try:
    from gossamer.store import _group
except ImportError:
    _group = None  # type: ignore[assignment] # mypy takes the module for granted

Records = tuple[bytes, bytes, bytes]

# Looked up here, for the class takes ten times as long to find a member.
_NAMES: Final = {outcome: name_of(outcome) for outcome in Outcome}


def is_compiled() -> bool:
    """Whether the compiled part is there."""
    return _group is not None


def ordinary_group(
    fetch: Fetch, parent: str | None, identity: bytes, digest: str
) -> Records | None:
    """Return response, request and metadata; None if that takes more than filling in a form."""
    if (
        _group is None
        or parent
        or fetch.visit.via
        or fetch.flags
        or fetch.detail
        or fetch.outcome in TRUNCATED
    ):
        return None
    records = _records(fetch, fetch.head, identity, digest)
    if records is None and not protocol_of(fetch.head):
        # A head that has to be changed before it is stored, as that of a chunked response.
        head = stored_head(fetch.head, len(fetch.raw))
        if head != fetch.head:
            records = _records(fetch, head, identity, digest)
    return records


def _records(fetch: Fetch, head: bytes, identity: bytes, digest: str) -> Records | None:
    visit = fetch.visit
    return _group.group(
        identity,
        fetch.fetched_at,
        visit.url,
        fetch.address,
        digest,
        head,
        fetch.raw,
        fetch.request_head,
        _NAMES[fetch.outcome],
        fetch.milliseconds,
        visit.doc_id,
        visit.depth,
        visit.tries,
    )


def _digest_text(sha1_sum: bytes) -> str:
    return "sha1:" + base32(sha1_sum).decode()


digest_text: Final[Callable[[bytes], str]] = _digest_text if _group is None else _group.digest
"""Return a SHA-1 as WARC writes it."""
