"""When two titles are one: the normal form by which a source's stories of a week are compared."""

import hashlib
import re
from html import unescape
from typing import Final

_MAX: Final = 1_024
_LEAST_PART: Final = 32
_KEY_BYTES: Final = 8
_TAG: Final = re.compile(r"<[^<>]{0,1000}>")
_PARTS: Final = re.compile(r"[:|]|[-\u2013\u2014] ")
_PUNCTUATION: Final = re.compile(r"[^\w\s]|_")


def normal_title(title: str, source_name: str = "") -> str:
    """Return the words that matter: of `Section: headline | Paper` the headline, if it is long."""
    text = _words(title)
    parts = [_plain(part) for part in _PARTS.split(text)]
    longest = max(parts, key=len)
    if len(longest) >= _LEAST_PART and longest != _plain(_words(source_name)):
        return longest
    return _plain(text)


def title_key(title: str, source_name: str = "") -> bytes | None:
    """Return the identity of a title; None for one that says nothing."""
    normal = normal_title(title, source_name)
    if not normal or normal == "no title":
        return None
    return hashlib.blake2b(normal.encode(), digest_size=_KEY_BYTES).digest()


def _words(text: str) -> str:
    return unescape(_TAG.sub(" ", text[: 4 * _MAX])).lower()


def _plain(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", text).split())[:_MAX]
