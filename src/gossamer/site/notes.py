"""What handlers noted of pages, and where their links lead: in the catalog, or beside it.

A map asks for both once, when the crawl is over. A catalog in memory would take them in only to
give them back; so the ring around it leaves them to `KeptNotes`, where observations are understood
as they come, while pages are fetched, and pages with equal assets share one list of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from gossamer.catalog.survey import Surveyed
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


class Notes(Protocol):
    """Answers for a page that the catalog tells of."""

    def targets(self, row: Surveyed) -> bytes:
        """Return the keys of the pages it links to."""
        ...

    def seen(self, row: Surveyed) -> Seen:
        """Return what was observed of it."""
        ...

    def refuses(self, row: Surveyed) -> bool:
        """Whether it asks that its links are not followed."""
        ...


class Reader:
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


class StoredNotes:
    """Notes that came with the rows of the catalog."""

    def __init__(self) -> None:
        self._reader = Reader()

    def targets(self, row: Surveyed) -> bytes:
        """Return the keys of the pages it links to."""
        return row.targets

    def seen(self, row: Surveyed) -> Seen:
        """Return what was observed of it."""
        return self._reader.read(row.record)

    def refuses(self, row: Surveyed) -> bool:
        """Whether it asks that its links are not followed; few do, and no other is read for it."""
        return '"nofollow":true' in row.record and _decode_asks(row.record).nofollow


class KeptNotes:
    """Notes that a catalog in memory leaves to us as it learns of them."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._targets: dict[int, bytes] = {}
        self._seen: dict[int, Seen] = {}

    def keep(
        self,
        links: Iterable[tuple[int, bytes]],
        replaced: Iterable[int],
        records: Iterable[tuple[int, str]],
    ) -> None:
        """Take the links and the records of documents; those of replaced ones no longer count."""
        self._targets.update(links)
        for doc_id in replaced:
            self._seen.pop(doc_id, None)
        # Of several only the last counts: ours, after those of handlers of the user's own.
        self._seen.update((each, self._reader.read(last)) for each, last in dict(records).items())

    def targets(self, row: Surveyed) -> bytes:
        """Return the keys of the pages it links to."""
        return self._targets.get(row.doc_id, b"")

    def seen(self, row: Surveyed) -> Seen:
        """Return what was observed of it."""
        return self._seen.get(row.doc_id, _NOTHING)

    def refuses(self, row: Surveyed) -> bool:
        """Whether it asks that its links are not followed."""
        return self.seen(row).nofollow


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
