"""Ordinary pages, read without building their tree: by a compiled reader (skim.c), if it is there.

It reads most pages and gives up on the others; what it reads is what the tree would have said.
Where no compiler was at hand when gossamer was installed, every page gets its tree.
"""

from functools import lru_cache
from html.entities import html5
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct
from turbohtml import parse

from gossamer.parse.directives import ROBOTS_NAMES
from gossamer.parse.similarity import MAX_TEXT, ROWS, fingerprint_of_prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.parse._skim import Said, Skim

    TitleSaid = Callable[[str, str], bytes | None]

_MANY: Final = 1 << 30
_UTF_8: Final = "UTF-8"
# What a page in ASCII without any label is taken for.
_UNLABELLED: Final = "windows-1252"
# All others of the Encoding standard read ASCII as ASCII.
_NOT_ASCII: Final = frozenset(
    ("UTF-16BE", "UTF-16LE", "ISO-2022-JP", "replacement", "x-user-defined")
)


def _compiled() -> "tuple[Skim, Said, TitleSaid] | tuple[None, None, None]":
    try:
        from gossamer.parse._skim import said, skim, title_said  # noqa: PLC0415 - it may not be there
    except ImportError:
        return None, None, None
    return skim, said, title_said


_skim, _said, compiled_title_said = _compiled()
"""The last returns what `title_said` does (statements.py); None if that needs more care."""


class Skimmed(Struct, frozen=True, gc=False):
    """What a page says, as far as it was read; the pieces are for the parser."""

    charset: str
    title: str
    description: str | None
    references: dict[str, bool]
    """Distinct references of plain links, without fragments."""
    pieces: list[bytes]
    """All other tags that may matter, in UTF-8; what belongs together is in one piece."""
    simhash: int | None


class Speech(NamedTuple):
    """What people see of a page."""

    texts: list[bytes]
    """Its text in parts, in UTF-8."""
    links: list[str | None]
    """For each part the reference of the link that it is in, without fragment, if it is in one."""
    shown: set[bytes]
    """Sources of pictures and the like."""


def is_compiled() -> bool:
    """Whether the compiled reader is there."""
    return _skim is not None


def skim(
    body: bytes,
    charset: str,
    *,
    with_fingerprint: bool,
    most_places: int = _MANY,
    names: frozenset[str] = ROBOTS_NAMES,
) -> Skimmed | None:
    """Read a page; None if it needs its tree. `charset` is the label of the HTTP header.

    By `names` the page speaks to robots.
    """
    if _skim is None:
        return None
    encoding = _encoding_of(charset) if charset else ""
    rows = ROWS if with_fingerprint else None
    found = _skim(body, html5, not encoding, most_places, MAX_TEXT, rows, _words_of(names))
    if found is None:
        return None
    label, is_ascii, title, description, references, pieces, simhash = found
    if not encoding:
        encoding = _encoding_of(label) if label else _UNLABELLED
    if not _is_certain(encoding, is_ascii):
        return None
    if isinstance(simhash, bytes):
        # A clause is longer than the compiled reader hashes.
        simhash = fingerprint_of_prepared(simhash)
    return Skimmed(encoding, title or "", description, references, pieces, simhash)


def listen(body: bytes, encoding: str) -> Speech | None:
    """Read the text of a page whose encoding is known; None if it needs its tree."""
    found = _said(body, html5) if _said is not None else None
    if found is None:
        return None
    is_ascii, texts, links, shown = found
    return Speech(texts, links, shown) if _is_certain(_encoding_of(encoding), is_ascii) else None


def _is_certain(encoding: str, is_ascii: bool) -> bool:
    """Whether a page that is UTF-8 is read as that by who reads it in an encoding."""
    return encoding == _UTF_8 or (is_ascii and bool(encoding) and encoding not in _NOT_ASCII)


@lru_cache(maxsize=64)
def _words_of(names: frozenset[str]) -> tuple[bytes, ...]:
    return tuple(name.encode() for name in names)


@lru_cache(maxsize=256)
def _encoding_of(label: str) -> str:
    """Return the encoding that a label means; "" if none, or if there is no label."""
    if not label:
        return ""
    try:
        return parse(b"", positions=False, encoding=label).encoding or ""
    except LookupError:
        return ""
