"""A Fetch as a result for the Store Server, and a result as a Fetch again.

The form of the source documents (PLAIN) carries the decoded document and three codes: enough to
index, too little to archive. The FULL form carries the whole Fetch in the place of the document, as
MessagePack; it is used only towards a Store Server that greeted.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.errors import WireError
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.url.canonical import canonicalize
from gossamer.wire.enumerations import (
    Specific,
    http_enumeration,
    outcome_of,
    specific_of,
    status_of,
    success_of,
)
from gossamer.wire.results import FULL, MAX_MILLISECONDS, PLAIN, Result

REPLACING_STATUSES: Final = frozenset((301, 308))
"""Redirects after which the new URL is to be used in place of the old one (A15)."""
BODY_CUT: Final = "body_cut"
STATUS_ASSUMED: Final = "status_assumed"
"""The Spider called it a success but gave no status of one."""
_LATEST: Final = 253_402_300_799.0
"""The end of the year 9999: no clock says more."""


class FullFetch(Struct, frozen=True, array_like=True, gc=False):
    """The document of a result in the FULL form: a Fetch without its visit.

    In MessagePack it is an array in this order; later versions may only append.
    """

    url: str
    outcome: Outcome
    detail: str
    status: Annotated[int, Meta(ge=0, le=999)]
    http_version: str
    request_head: bytes
    head: bytes
    headers: tuple[tuple[str, str], ...]
    raw: bytes
    body: bytes | None
    """None when it is the same as `raw`: no content coding."""
    flags: tuple[str, ...]
    address: str
    fetched_at: Annotated[float, Meta(ge=0, le=_LATEST)]
    milliseconds: Annotated[int, Meta(ge=0, le=MAX_MILLISECONDS)]
    retry_after_seconds: Annotated[float, Meta(ge=0, le=86_400)] | None
    redirect_to: str | None


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(FullFetch).decode


def new_url_of(fetch: Fetch, *, followed: bool) -> str | None:
    """Return what belongs in `new_url`: a target that replaces the URL, or is left to others."""
    if fetch.redirect_to is None:
        return None
    if fetch.status in REPLACING_STATUSES or not followed:
        return fetch.redirect_to
    return None


def result_of(fetch: Fetch, form: int, new_url: str | None) -> Result:
    """Return the result that tells a Store Server of a fetch."""
    return Result(
        doc_id=fetch.visit.doc_id,
        success=success_of(fetch.outcome, fetch.status),
        specific=specific_of(fetch.outcome, fetch.status, fetch.redirect_to),
        http=http_enumeration(fetch.status),
        milliseconds=_milliseconds(fetch),
        url=_ascii(fetch.visit.url),
        new_url=_ascii(new_url or ""),
        document=fetch.body if form == PLAIN else _encode(_full(fetch)),
        form=form,
    )


def fetch_of(result: Result, visit: Visit, received_at: float = 0.0) -> Fetch:
    """Return the fetch that a result tells of, from either form; never raises."""
    if result.form == FULL:
        full = read_full(result)
        if full is not None:
            return _from_full(full, visit)
        if result.cut:
            # Its beginning means nothing by itself; what the header says is known all the same.
            result = msgspec.structs.replace(result, document=b"")
    return _from_plain(result, visit, received_at)


def read_full(result: Result) -> FullFetch | None:
    """Read the FULL form; None if it is not that, as in a message that has dirt in its padding."""
    if result.cut:
        return None
    try:
        return _decode(result.document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _full(fetch: Fetch) -> FullFetch:
    return FullFetch(
        url=fetch.visit.url,
        outcome=fetch.outcome,
        detail=fetch.detail,
        status=fetch.status,
        http_version=fetch.http_version,
        request_head=fetch.request_head,
        head=fetch.head,
        headers=fetch.headers,
        raw=fetch.raw,
        body=None if fetch.body == fetch.raw else fetch.body,
        flags=fetch.flags,
        address=fetch.address,
        fetched_at=fetch.fetched_at,
        milliseconds=_milliseconds(fetch),
        retry_after_seconds=fetch.retry_after_seconds,
        redirect_to=fetch.redirect_to,
    )


def _from_full(full: FullFetch, visit: Visit) -> Fetch:
    return Fetch(
        visit=visit,
        outcome=full.outcome,
        detail=full.detail,
        status=full.status,
        http_version=full.http_version,
        request_head=full.request_head,
        head=full.head,
        headers=full.headers,
        raw=full.raw,
        body=full.raw if full.body is None else full.body,
        flags=full.flags,
        address=full.address,
        fetched_at=full.fetched_at,
        milliseconds=full.milliseconds,
        retry_after_seconds=full.retry_after_seconds,
        redirect_to=canonicalize(full.redirect_to) if full.redirect_to else None,
    )


def _from_plain(result: Result, visit: Visit, received_at: float) -> Fetch:
    status, flags = status_of(result.http), []
    target = _target(result, visit)
    if target is not None and not 300 <= status < 400:
        status = 301
        flags.append(STATUS_ASSUMED)
    elif target is None and result.success and not (200 <= status < 300 or status == 304):
        status = 200
        flags.append(STATUS_ASSUMED)
    if result.cut:
        flags.append(BODY_CUT)
    return Fetch(
        visit=visit,
        outcome=_outcome(result, status, target),
        status=status,
        raw=result.document,
        body=result.document,
        flags=tuple(flags),
        address=visit.address,
        fetched_at=max(received_at - result.milliseconds / 1000.0, 0.0),
        milliseconds=result.milliseconds,
        redirect_to=target,
    )


def _outcome(result: Result, status: int, target: str | None) -> Outcome:
    """Weigh the codes: success is sure in every dialect of the documents, the others are ours."""
    if result.cut:
        return Outcome.BODY_TOO_LARGE
    if target is not None:
        return Outcome.OK
    if result.success:
        return Outcome.NOT_MODIFIED if status == 304 else Outcome.OK
    if result.specific == Specific.REDIRECTED:
        # Followed in place: the target comes, or came, in a result of its own.
        return Outcome.OK if 300 <= status < 400 else Outcome.REDIR_NONE
    outcome = outcome_of(result.specific, status)
    # 200 and no success, without a reason: what can be wrong is that it was not all of it.
    return Outcome.BODY_SHORT if outcome is Outcome.OK else outcome


def _target(result: Result, visit: Visit) -> str | None:
    """Return where the result redirects to, canonical; None for what leads nowhere else."""
    if not result.new_url or result.specific == Specific.REDIRECT_LIMIT:
        return None
    target = canonicalize(result.new_url.decode("utf-8", "replace"))
    return None if target == visit.url else target


def _milliseconds(fetch: Fetch) -> int:
    return min(max(fetch.milliseconds, 0), MAX_MILLISECONDS)


def _ascii(url: str) -> bytes:
    try:
        return url.encode("ascii")
    except UnicodeEncodeError as error:
        raise WireError(f"a URL on the wire must be ASCII: {url[:100]!a}") from error
