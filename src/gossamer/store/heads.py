"""Heads as an archive keeps them: every reader of HTTP/1.1 finds where the body begins."""

import re
from http import HTTPStatus
from typing import Final

_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
_BLANK_LINES: Final = re.compile(rb"(?:\r?\n){2,}")
# Readers differ in what they take for an empty line: some strip all that Unicode calls space.
_SEEMS_BLANK: Final = re.compile(rb"\n[\s\x1c-\x1f\x80-\xff]*\n")
BLANK_BYTES: Final = bytes([*range(9, 14), *range(28, 33), *range(128, 256)])
_TRANSFER_CODING: Final = re.compile(rb"^transfer-encoding[ \t]*:", re.IGNORECASE | re.MULTILINE)
_FRAMING: Final = re.compile(
    rb"^(transfer-encoding|content-length)(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE
)
_STATUS_LINE: Final = re.compile(rb"HTTP/\S+ +(\d{3})[ \t]*([^\r\n]*)")
_CONTENT_TYPE: Final = re.compile(
    rb"^content-type[ \t]*:[ \t]*([^\s;,]+)", re.IGNORECASE | re.MULTILINE
)
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}")


def stored_head(head: bytes, raw_bytes: int) -> bytes:
    """Return a response head that is true of the stored body of `raw_bytes` bytes.

    The transfer coding has been removed from that body, so the head must not announce one: the
    original framing is kept under another name, as archives do.
    """
    head = ended_head(head)
    if protocol_of(head):
        head = _as_http_1(head)
    # The search is quick to say no to most heads; the expression is exact.
    if b"transfer-encoding" in head.lower() and _TRANSFER_CODING.search(head):
        head = _without_transfer_coding(head, raw_bytes)
    return head


def protocol_of(head: bytes) -> bytes:
    """Return `h2` or `h3` for a head of that version, else nothing."""
    if head.startswith((b"HTTP/2", b"HTTP/3")):
        return b"h" + head[5:6]
    return b""


def split_block(block: bytes) -> tuple[bytes, bytes]:
    """Split a stored HTTP message into head (with its empty line) and body."""
    blank = _BLANK_LINE.search(block)
    if blank is None:
        return block, b""
    return block[: blank.end()], block[blank.end() :]


def status_of(head: bytes) -> int:
    """Return the status code of a response head; 0 if it has none."""
    match = _STATUS_LINE.match(head)
    return int(match[1]) if match else 0


def media_type_of(head: bytes) -> str:
    """Return the media type of a response head, without parameters; empty if unusable."""
    match = _CONTENT_TYPE.search(head)
    media_type = match[1].decode("latin-1").lower() if match else ""
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else ""


def ended_head(head: bytes) -> bytes:
    """Return a head in which every reader finds one empty line, at the end."""
    blank = _SEEMS_BLANK.search(head)
    ends_it = blank is not None and blank.end() == len(head) and blank[0] in (b"\n\r\n", b"\n\n")
    if ends_it and head[0] not in BLANK_BYTES:
        return head
    # What came before an inner empty line was an interim response.
    blocks = [block for block in _BLANK_LINES.split(head) if block.strip(BLANK_BYTES)]
    lines = [line for line in blocks[-1].split(b"\n") if line.strip(BLANK_BYTES)] if blocks else []
    return b"\n".join(lines).rstrip(b"\r") + b"\r\n\r\n"


def _as_http_1(head: bytes) -> bytes:
    """HTTP/2 and 3 have no text form of their own; archives write them as HTTP/1.1."""
    match = _STATUS_LINE.match(head)
    if match is None:
        return head
    reason = match[2].strip() or _reason(int(match[1]))
    return b"HTTP/1.1 %b %b" % (match[1], reason) + head[match.end() :]


def _reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b"Unknown"


def _without_transfer_coding(head: bytes, raw_bytes: int) -> bytes:
    renamed = _FRAMING.sub(rb"X-Archive-Orig-\1", head)
    return renamed.rstrip(b"\r\n") + b"\r\nContent-Length: %d\r\n\r\n" % raw_bytes
