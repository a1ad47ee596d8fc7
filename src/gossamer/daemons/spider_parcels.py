"""What the Spider keeps of a fetch until the Store Server has it: one message, in either form.

A parcel is a byte that says what follows, and the result in the FULL form just as it is sent to a
Store Server that greeted. For any other Store Server the PLAIN form is made from it.
"""

from typing import Final

import msgspec

from gossamer.errors import WireError
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.wire.exchange import BODY_CUT, fetch_of, new_url_of, result_of
from gossamer.wire.results import FULL, HEADER, PLAIN, Result, encode

_FULL_RESULT: Final = b"\x01"
# Beside the document there are a header and two URLs, and the spool counts in 32 bits, too.
_LARGEST_PARCEL: Final = 2**32 - 1


def parcel_of(fetch: Fetch, url: str, *, followed: bool) -> bytes:
    """Return what is kept of a fetch; `url` is how the order spells it."""
    try:
        return _pack(fetch, url, followed=followed)
    except WireError:
        # Settings allow documents that no header can describe; that there was one is told.
        small = msgspec.structs.replace(
            fetch,
            outcome=Outcome.BODY_TOO_LARGE if fetch.outcome is Outcome.OK else fetch.outcome,
            raw=b"",
            body=b"",
            flags=(*fetch.flags, BODY_CUT),
        )
        return _pack(small, url, followed=followed)


def full_message(parcel: bytes) -> bytes:
    """Return the result as a Store Server that greeted reads it."""
    return parcel[len(_FULL_RESULT) :]


def plain_message(parcel: bytes) -> bytes:
    """Return the result as the source documents describe it."""
    full = _unpack(parcel)
    visit = Visit(trans_id=0, doc_id=full.doc_id, address="", url=full.url.decode("ascii"))
    fetch = fetch_of(full, visit)
    return encode(result_of(fetch, PLAIN, full.new_url.decode("ascii")))


def _pack(fetch: Fetch, url: str, *, followed: bool) -> bytes:
    result = result_of(fetch, FULL, new_url_of(fetch, followed=followed))
    result.url = url.encode("ascii")
    parcel = _FULL_RESULT + encode(result)
    if len(parcel) > _LARGEST_PARCEL:
        raise WireError(f"a result of {len(parcel)} bytes is too large")
    return parcel


def _unpack(parcel: bytes) -> Result:
    start = len(_FULL_RESULT)
    doc_id, success, specific, http, form, milliseconds, url_len, new_url_len, _ = (
        HEADER.unpack_from(parcel, start)
    )
    url_at = start + HEADER.size
    new_url_at = url_at + url_len
    document_at = new_url_at + new_url_len
    return Result(
        doc_id=doc_id,
        success=bool(success),
        specific=specific,
        http=http,
        milliseconds=milliseconds,
        url=parcel[url_at:new_url_at],
        new_url=parcel[new_url_at:document_at],
        document=parcel[document_at:],
        form=form,
    )
