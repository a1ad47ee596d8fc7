"""What a worker notes of each page for the map: a handler like a user's own.

One small record a page: the catalog keeps one for each of many thousands. Links are not in it; the
link graph of the catalog has them.
"""

import hashlib
from collections.abc import Iterator

from msgspec import Struct, field

from gossamer.handlers.visited import VisitedPage

HANDLER = "gossamer.site.observe:observe"
"""The name under which a worker finds `observe`."""
WEIGHER = "gossamer.site.observe:weigh"
_MAX_DIGITS = 15


class Observation(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What only the document itself tells."""

    sha256: str = ""
    """Of the body, in hexadecimal; empty when there is none."""
    assets: dict[str, list[str]] = field(default_factory=dict)
    """By kind, without the kinds of which there are none."""
    description: str | None = None
    canonical: str | None = None
    languages: dict[str, str] = field(default_factory=dict)
    noindex: bool = False
    nofollow: bool = False


class Weight(Struct, omit_defaults=True):
    """How large an asset is."""

    bytes: int = 0


def weigh(page: VisitedPage) -> Iterator[Weight]:
    """Yield the size of an asset, as its head tells it or as it came."""
    told = page.headers.get("content-length", "")
    yield Weight(int(told) if told.isdecimal() and len(told) <= _MAX_DIGITS else len(page.body))


def observe(page: VisitedPage) -> Iterator[Observation]:
    """Yield the one record of a page."""
    body = page.body
    yield Observation(
        sha256=hashlib.sha256(body).hexdigest() if body else "",
        assets={kind: list(urls) for kind, urls in page.assets.items()},
        description=page.description,
        canonical=page.canonical,
        languages=dict(page.languages),
        noindex=page.noindex,
        nofollow=page.nofollow,
    )
