"""Whether a fetch brought a payload that the store has already."""

from enum import Enum

from gossamer.config.store import StoreSettings
from gossamer.errors import StoreError
from gossamer.messages import Fetch
from gossamer.store.heads import BLANK_BYTES
from gossamer.store.store import Known, payload_digest


class Profile(Enum):
    """Kinds of repetition, with the URI that WARC gives them."""

    IDENTICAL = b"http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    NOT_MODIFIED = b"http://netpreserve.org/warc/1.1/revisit/server-not-modified"


def classify(
    fetch: Fetch, known: Known | None, settings: StoreSettings, digest: str = ""
) -> tuple[str, Profile | None]:
    """Return the digest of the payload that a fetch stands for, and how it repeats it, if so.

    `digest` is that of the raw body, from a caller who has computed it already. A document that
    came without a head is never a repetition: there would be nothing left to write down.
    """
    if fetch.raw and not fetch.head:
        return digest or payload_digest(fetch.raw), None
    if not fetch.head.strip(BLANK_BYTES):
        raise StoreError(f"nothing to store for {fetch.visit.url}: there was no response")
    if fetch.status == 304:
        return known.payload_digest if known else "", Profile.NOT_MODIFIED
    digest = digest or payload_digest(fetch.raw)
    repeats = known is not None and known.payload_digest == digest and fetch.raw != b""
    return digest, Profile.IDENTICAL if repeats and settings.revisits else None
