"""What a worker notes of each page for the map: handlers like a user's own.

One small record a page: the catalog keeps one for each of many thousands. Links are not in it; the
link graph of the catalog has them.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

import msgspec

from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Fetch
from gossamer.parse.outline import Outline
from gossamer.site.observation import Observation, Weight
from gossamer.url.canonical import Joiner
from gossamer.url.parts import directory_of

_MAX_DIGITS: Final = 15
_MOST_REMEMBERED: Final = 4_096
_LONGEST_REMEMBERED: Final = 1_024
_Needed = tuple[tuple[str, tuple[str, ...]], ...]


class Observer:
    """The handler of pages; remembers what assets are called, for pages of a folder share them."""

    def __init__(self) -> None:
        self._assets: dict[tuple[str, _Needed], str] = {}

    def __call__(self, page: VisitedPage) -> tuple[Observation]:
        """Return the one record of a page."""
        body, understood = page.body, page.understood
        record = Observation(
            sha256=sha256(body).hexdigest() if body else "",
            assets=page.assets,
            description=understood.description,
            canonical=understood.canonical,
            languages=dict(understood.languages),
            noindex=understood.noindex,
            nofollow=understood.nofollow,
        )
        return (record,)

    def in_brief(self, fetch: Fetch, page: Outline, joiner: Joiner, /) -> str | None:
        """Return the same as it is written; None if that needs more than an outline."""
        body, needed = fetch.body, page.told.needed
        assets: str | None = ""
        if needed:
            directory = directory_of(fetch.visit.url)
            assets = self._assets.get((directory, needed))
            if assets is None:
                assets = self._name_assets(directory, needed, joiner)
        if assets is None or not body:
            return None
        said = ""
        if page.description is not None:
            said = f',"description":{msgspec.json.encode(page.description).decode()}'
        canonical = page.canonical(fetch.visit.url, joiner) if page.told.links else None
        if canonical is not None:
            said += f',"canonical":{msgspec.json.encode(canonical).decode()}'
        return f'{{"sha256":"{sha256(body).hexdigest()}"{said}{assets}}}'

    def _name_assets(self, directory: str, needed: _Needed, joiner: Joiner) -> str | None:
        """Write down the assets of a page; None if a reference needs more care."""
        hrefs = [reference for _, references in needed for reference in references]
        urls = joiner.join_plain(directory, hrefs)
        if urls is None:
            return None
        named: dict[str, list[str]] = {}
        start = 0
        for kind, references in needed:
            end = start + len(references)
            found = list(filter(None, dict.fromkeys(urls[start:end])))
            start = end
            if found:
                named[kind] = found
        written = f',"assets":{msgspec.json.encode(named).decode()}' if named else ""
        if len(written) <= _LONGEST_REMEMBERED:
            if len(self._assets) >= _MOST_REMEMBERED:
                self._assets.clear()
            self._assets[directory, needed] = written
        return written


observe: Final = Observer()


def weigh(page: VisitedPage) -> Iterator[Weight]:
    """Yield the size of an asset, as its head tells it or as it came."""
    told = page.headers.get("content-length", "")
    yield Weight(int(told) if told.isdecimal() and len(told) <= _MAX_DIGITS else len(page.body))
