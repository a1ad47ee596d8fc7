"""Near duplicates: texts whose fingerprints differ in at most three of 64 bits.

Theory of operation. If two fingerprints differ in at most three bits, they agree in one of four
bands of 16 bits; so only those that share a band need to be compared. The first document of a group
leads it, and later ones are compared with leaders alone: a site of 100,000 near-identical pages is
one group with one leader. Arrays instead of dictionaries keep a million leaders within 60 MB.
"""

from array import array
from typing import Final

DISTANCE: Final = 3
_BANDS: Final = 4
_BAND_BITS: Final = 16
_BAND_MASK: Final = (1 << _BAND_BITS) - 1
# A fuller bucket is the work of somebody who wants us to compare; what is lost is one grouping.
_MAX_BUCKET: Final = 512
_MAX_LEADERS: Final = 2_000_000


def bands_of(simhash: int) -> list[int]:
    """Return the bands of a fingerprint, each with its place; near ones share at least one."""
    return [
        band << _BAND_BITS | (simhash >> (band * _BAND_BITS) & _BAND_MASK) for band in range(_BANDS)
    ]


class NearDuplicates:
    """Groups documents as they come, each by the leader it is near to."""

    def __init__(self) -> None:
        self._simhashes = array("Q")
        self._doc_ids = array("I")
        self._buckets: dict[int, array[int]] = {}

    def place(self, doc_id: int, simhash: int) -> int | None:
        """Return the earlier document this one is near to; without one it leads a group."""
        keys = bands_of(simhash)
        for key in keys:
            for leader in self._buckets.get(key, ()):
                if (self._simhashes[leader] ^ simhash).bit_count() <= DISTANCE:
                    return self._doc_ids[leader]
        if len(self._doc_ids) < _MAX_LEADERS:
            self._lead(doc_id, simhash, keys)
        return None

    def _lead(self, doc_id: int, simhash: int, keys: list[int]) -> None:
        leader = len(self._doc_ids)
        self._simhashes.append(simhash)
        self._doc_ids.append(doc_id)
        for key in keys:
            bucket = self._buckets.setdefault(key, array("I"))
            if len(bucket) < _MAX_BUCKET:
                bucket.append(leader)
