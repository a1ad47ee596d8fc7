"""What handlers noted of pages: in the records of the catalog, or beside it.

A map asks for it once, when the crawl is over. A catalog in memory would take in what pages brought
only to give it back; so the ring leaves records of what is done to `Notes`, where observations are
understood as they come, while others are fetched, and pages with equal assets share them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.catalog.catalog import Surveyed
from gossamer.site.model import no_assets
from gossamer.site.observation import Observation, Unread

_MAX_KEPT: Final = 10_000
"""So many different lists of assets are known again, when pages share them."""
_NO_LANGUAGES: Final[dict[str, str]] = {}
_decode: Final = msgspec.json.Decoder(Unread).decode
_decode_assets: Final = msgspec.json.Decoder(dict[str, list[str]]).decode


class Seen(Struct, frozen=True, gc=False):
    """An observation with a list of assets for each kind; nobody may change what others share."""

    assets: dict[str, list[str]]
    sha256: str = ""
    description: str | None = None
    canonical: str | None = None
    languages: dict[str, str] = _NO_LANGUAGES
    noindex: bool = False
    nofollow: bool = False


class _Asks(Struct):
    nofollow: bool = False


_NOTHING: Final = Seen(no_assets())
_decode_asks: Final = msgspec.json.Decoder(_Asks).decode


class _Reader:
    """Reads observations as they were written; of equal texts and equal assets it keeps one."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._assets: dict[bytes, dict[str, list[str]]] = {}

    def read(self, record: str) -> Seen:
        """Return what a handler of ours noted; one of the user's own tells nothing."""
        if not record:
            return _NOTHING
        try:
            noted = _decode(record)
            written = bytes(noted.assets)
            assets = self._assets.get(written)
            if assets is None:
                assets = self._whole(_decode_assets(written))
                if len(self._assets) < _MAX_KEPT:
                    self._assets[written] = assets
        except msgspec.MsgspecError:
            return _NOTHING
        return _seen(noted, assets)

    def whole(self, observation: Observation) -> Seen:
        """Return an observation that was made just now."""
        return _seen(observation, self._whole(observation.assets))

    def _whole(self, assets: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return assets with a list for each kind."""
        keep = self._texts.setdefault
        whole = no_assets()
        for kind, members in assets.items():
            whole[kind] = [keep(member, member) for member in members]
        return whole


class Notes:
    """What was observed of pages: of those that a catalog in memory leaves to us, it is kept."""

    def __init__(self) -> None:
        self._reader = _Reader()
        self._seen: dict[int, Seen] = {}

    def keep(self, records: Sequence[tuple[int, str]]) -> None:
        """Take the numbers of documents that are done, each with its latest record."""
        read = self._reader.read
        self._seen.update([(doc_id, read(record)) for doc_id, record in records])

    def seen(self, row: Surveyed) -> Seen:
        """Return what was observed of a page."""
        kept = self._seen.get(row.doc_id)
        return self._reader.read(row.record) if kept is None else kept

    def whole(self, observation: Observation) -> Seen:
        """Return an observation that was made just now."""
        return self._reader.whole(observation)

    def refuses(self, row: Surveyed) -> bool:
        """Whether a page asks that its links are not followed."""
        kept = self._seen.get(row.doc_id)
        if kept is not None:
            return kept.nofollow
        # Few do, and no other record is read for it.
        return '"nofollow":true' in row.record and _decode_asks(row.record).nofollow


def _seen(noted: Observation | Unread, assets: dict[str, list[str]]) -> Seen:
    return Seen(
        assets,
        noted.sha256,
        noted.description,
        noted.canonical,
        noted.languages or _NO_LANGUAGES,
        noted.noindex,
        noted.nofollow,
    )
