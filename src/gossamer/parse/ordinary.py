"""Ordinary pages, read and put together in one call: compiled (ordinary.h), if it is there."""

from functools import lru_cache
from html.entities import html5
from typing import TYPE_CHECKING, Final

from gossamer.messages import Link, Page
from gossamer.parse.pieces import memory_for
from gossamer.parse.similarity import MAX_TEXT, ROWS, fingerprint_of_prepared
from gossamer.parse.skim import NOT_ASCII, Skimmed, encoding_of, words_of

if TYPE_CHECKING:
    from gossamer.parse._skim import Reader

MAX_TITLE: Final = 512
MAX_DESCRIPTION: Final = 1_024
PLACES_PER_LINK: Final = 4
"""Places mostly repeat each other; a page that has so many more than links is hostile."""
_LOOKED_AT: Final = 8_192
_MOST_LABELS: Final = 256
# Those who ask under several names speak of few of them at a time.
_MOST_READERS: Final = 8


def shortened(text: str, limit: int) -> str:
    """Return a text on one line, of at most so many characters."""
    return " ".join(text[:_LOOKED_AT].split())[:limit]


@lru_cache(maxsize=_MOST_READERS)
def reader_for(
    names: frozenset[str], most_links: int, *, with_fingerprint: bool
) -> "Reader | None":
    """Return who reads pages that speak to robots by these names; None if it is not compiled."""
    try:
        from gossamer.parse._skim import Reader  # noqa: PLC0415 - it may not be there
    except ImportError:
        return None
    return Reader(
        entities=html5,
        rows=ROWS if with_fingerprint else None,
        names=words_of(names),
        encodings=_Encodings(),
        pages=memory_for(names),
        not_ascii=NOT_ASCII,
        shortened=shortened,
        fingerprint=fingerprint_of_prepared,
        link=Link,
        page=Page,
        skimmed=Skimmed,
        most_places=most_links * PLACES_PER_LINK,
        text_length=MAX_TEXT,
        most_links=most_links,
        longest_title=MAX_TITLE,
        longest_description=MAX_DESCRIPTION,
    )


class _Encodings(dict[str, str]):
    """The encodings that labels mean, as far as they were asked for."""

    def __missing__(self, label: str) -> str:
        if len(self) >= _MOST_LABELS:
            self.clear()
        self[label] = encoding = encoding_of(label)
        return encoding
