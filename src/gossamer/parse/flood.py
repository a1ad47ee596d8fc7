"""The one known shape of HTML that costs the parser more than its length."""

import re
from itertools import islice
from typing import Final

MAX_ROOT_TAGS: Final = 256
# Each further <html> or <body> adds its attributes to the first: n tags cost n² time and memory.
# Below this length that is at most a few hundredths of a second.
_HARMLESS_BYTES: Final = 40_000
# Meets every root tag and hardly anything else, in half the time of the exact expression.
_MAYBE_ROOT_TAG: Final = re.compile(rb"<[hHbB][tToO][mMdD][lLyY]")
_ROOT_TAG: Final = re.compile(rb"<(?:html|body)", re.IGNORECASE)
_WIDE_ROOT_TAG: Final = re.compile(rb"<\0(?:h\0t\0m\0l|b\0o\0d\0y)", re.IGNORECASE)


def cut_flood(body: bytes, charset: str) -> tuple[bytes, str]:
    """Return the body up to its flood of html and body tags, and what was done, if there is one."""
    if len(body) < _HARMLESS_BYTES:
        return body, ""
    wide = body[:2] in (b"\xff\xfe", b"\xfe\xff") or "16" in charset
    narrow = body.replace(b"\0", b"") if wide else body
    if len(_MAYBE_ROOT_TAG.findall(narrow)) <= MAX_ROOT_TAGS:
        return body, ""
    tags = (_WIDE_ROOT_TAG if wide else _ROOT_TAG).finditer(body)
    starts = [found.start() for found in islice(tags, MAX_ROOT_TAGS + 1)]
    if len(starts) <= MAX_ROOT_TAGS:
        return body, ""
    return body[: starts[-1]], f"cut at html or body tag number {MAX_ROOT_TAGS + 1}"
