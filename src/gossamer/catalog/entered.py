"""URLs that this writer has entered: of most that pages lead to, nothing has to be asked then.

Theory of operation. A page names what others have named before it, and a URL that is known gains by
that only if this way to it is shorter, or if it was kept out or is on probation. So of each URL is
remembered at what depth it was entered, which never grows, or that it has to be looked at. While
nothing has been forgotten of a catalog that was empty, what is not remembered is new.

Only for a writer that nobody else writes beside.
"""

from collections.abc import Mapping
from typing import Final

from gossamer.messages import Found
from gossamer.outcomes import State

_MAX_URLS: Final = 100_000
"""About 15 MB of them."""
_PENDING: Final = int(State.PENDING)
_TO_BE_LOOKED_AT: Final = 1 << 62
"""As if it were so deep that every other way to it is shorter."""


class Entered:
    """Depths by md5: a generation that grows, and the one before it."""

    def __init__(self, *, is_empty: bool, max_urls: int = _MAX_URLS) -> None:
        """`is_empty`: whether the catalog has no URL yet."""
        self._is_whole = is_empty
        self._half = max(max_urls // 2, 1)
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}

    def add(self, found: Found) -> None:
        """Take note of a URL that has just got its row."""
        sure = found.state == _PENDING and not found.probation
        self._young[found.md5] = found.depth if sure else _TO_BE_LOOKED_AT
        if len(self._young) >= self._half:
            self._is_whole = self._is_whole and not self._old
            self._old, self._young = self._young, {}

    def forget(self) -> None:
        """Remember nothing: URLs may have been kept out since."""
        self._is_whole = False
        self._young, self._old = {}, {}

    def sift(
        self, wanted: Mapping[bytes, tuple[Found, int | None]]
    ) -> tuple[dict[bytes, tuple[Found, int | None]], list[bytes]]:
        """Return those that may be new or gain something, and which of them are to be asked for."""
        left: dict[bytes, tuple[Found, int | None]] = {}
        asked: list[bytes] = []
        young, old, is_whole = self._young, self._old, self._is_whole
        for md5, finding in wanted.items():
            depth = young.get(md5)
            if depth is None:
                depth = old.get(md5)
            if depth is None:
                left[md5] = finding
                if not is_whole:
                    asked.append(md5)
            elif finding[0].depth < depth:
                left[md5] = finding
                asked.append(md5)
        return left, asked
