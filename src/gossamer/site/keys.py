"""URLs by their keys in the link graph, those of a page at once: compiled (keys.c), if it is there.

Where no compiler was at hand when gossamer was installed, `PythonUrls` takes its place.
"""

from array import array
from collections.abc import Callable
from typing import Final, Protocol

try:
    from gossamer.site import _keys
except ImportError:
    _keys = None  # type: ignore[assignment] # mypy takes the module for granted


class Urls(Protocol):
    """URLs by their keys in the link graph; a walk over them meets each once."""

    def add(self, keys: bytes, urls: tuple[str, ...], /) -> None:
        """Know these; of two URLs with one key the later is known."""
        ...

    def begin(self) -> None:
        """Let a walk begin, which has met none yet."""
        ...

    def targets(self, keys: bytes, /) -> list[str]:
        """Return the URLs of those keys that are known."""
        ...

    def unmet(self, keys: bytes, /) -> list[str]:
        """Return those of them that the walk has not met; from now on it has."""
        ...

    def met(self, keys: bytes, /) -> list[str]:
        """Return those of them that the walk has met."""
        ...

    def leave(self, keys: bytes, /) -> None:
        """Let the walk meet these again."""
        ...


class PythonUrls:
    """URLs by their keys in the link graph; a walk over them meets each once."""

    def __init__(self) -> None:
        self._by_key: dict[int, str] = {}
        self._unmet: set[str] = set()

    def add(self, keys: bytes, urls: tuple[str, ...], /) -> None:
        """Know these; of two URLs with one key the later is known."""
        self._by_key.update(zip(array("Q", keys), urls, strict=True))

    def begin(self) -> None:
        """Let a walk begin, which has met none yet."""
        self._unmet = set(self._by_key.values())

    def targets(self, keys: bytes, /) -> list[str]:
        """Return the URLs of those keys that are known."""
        # No URL is empty, so that only what is not known is left out.
        return list(filter(None, map(self._by_key.get, array("Q", keys))))

    def unmet(self, keys: bytes, /) -> list[str]:
        """Return those of them that the walk has not met; from now on it has."""
        # A page may name a URL in several places.
        new = list(dict.fromkeys(filter(self._unmet.__contains__, self.targets(keys))))
        self._unmet.difference_update(new)
        return new

    def met(self, keys: bytes, /) -> list[str]:
        """Return those of them that the walk has met."""
        return [url for url in self.targets(keys) if url not in self._unmet]

    def leave(self, keys: bytes, /) -> None:
        """Let the walk meet these again."""
        self._unmet.update(self.targets(keys))


def is_compiled() -> bool:
    """Whether the compiled part is there."""
    return _keys is not None


new_urls: Final[Callable[[], Urls]] = PythonUrls if _keys is None else _keys.Urls
"""Return a table that knows no URL yet."""
