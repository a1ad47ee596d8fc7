"""What a worker notes of each page for the map: handlers like a user's own.

One small record a page: the catalog keeps one for each of many thousands. Links are not in it; the
link graph of the catalog has them.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

from gossamer.handlers.visited import VisitedPage
from gossamer.site.observation import Observation, Weight

_MAX_DIGITS: Final = 15


def observe(page: VisitedPage) -> tuple[Observation]:
    """Return the one record of a page."""
    body, understood = page.body, page.understood
    record = Observation(
        sha256=hashlib.sha256(body).hexdigest() if body else "",
        assets=page.assets,
        description=understood.description,
        canonical=understood.canonical,
        languages=dict(understood.languages),
        noindex=understood.noindex,
        nofollow=understood.nofollow,
    )
    return (record,)


def weigh(page: VisitedPage) -> Iterator[Weight]:
    """Yield the size of an asset, as its head tells it or as it came."""
    told = page.headers.get("content-length", "")
    yield Weight(int(told) if told.isdecimal() and len(told) <= _MAX_DIGITS else len(page.body))
