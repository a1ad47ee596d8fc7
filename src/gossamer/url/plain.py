"""Plain references and keys of URLs, all of a page in one call: compiled (plain.c), if it is there.

Where no compiler was at hand when gossamer was installed, canonical.py joins each reference by
itself, and the functions of Python below take the place of those of the same name.
"""

from collections.abc import Callable
from typing import Final, Protocol

try:
    from gossamer.url import _plain
except ImportError:
    _plain = None  # type: ignore[assignment] # mypy takes the module for granted

# A key is the first half of the md5: how link graphs name a URL.
KEY_BYTES: Final = 8
# A slot of the table, and in it a string of the longest URL that is kept there.
_BYTES_A_SLOT: Final = 384


Survey = tuple[bytes, list[str], list[str]]


class Urls(Protocol):
    """A bounded table of URLs that were made lately, and of their keys."""

    def join(
        self, directory: str, authority_length: int, hrefs: list[str], /
    ) -> tuple[list[str | None], list[int]]:
        """Return the URLs of plain references, and the numbers of those that are not plain."""
        ...

    def keys(self, urls: list[str], /) -> bytes:
        """Return the keys of canonical URLs, one after the other."""
        ...

    def survey(
        self,
        base: str,
        authority_length: int,
        references: dict[str, bool],
        reported: "tuple[Keys, Keys]",
        suspects: "tuple[Keys, Keys]",
        join: Callable[[str, str], str | None],
        /,
    ) -> Survey | None:
        """Return what `Joiner.survey` does; None also if the base is not plain."""
        ...


class Keys(Protocol):
    """A set of keys."""

    def __contains__(self, key: bytes, /) -> bool: ...

    def __len__(self) -> int: ...

    def add(self, key: bytes, /) -> None:
        """Hold a key."""
        ...

    def discard(self, key: bytes, /) -> None:
        """Hold a key no longer."""
        ...

    def absent(self, keys: bytes, /) -> list[int]:
        """Return the numbers of those of the keys that are not held."""
        ...


class PythonKeys(set[bytes]):
    """A set of keys."""

    def absent(self, keys: bytes, /) -> list[int]:
        """Return the numbers of those of the keys that are not held."""
        return [number for number, key in enumerate(each_key(keys)) if key not in self]


def is_compiled() -> bool:
    """Whether the compiled part is there."""
    return _plain is not None


def url_table(max_bytes: int, longest: int, *, tidies: bool) -> Urls | None:
    """Return a table within so many bytes, if it is there; `tidies`: queries are to be changed."""
    if _plain is None:
        return None
    slots = max(max_bytes // _BYTES_A_SLOT, 1)
    return _plain.Urls(1 << (slots.bit_length() - 1), longest, tidies)


def each_key(keys: bytes) -> list[bytes]:
    """Return each of the keys that stand one after the other."""
    return [keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES)]


def _distinct(keys: bytes) -> bytes:
    return b"".join(dict.fromkeys(each_key(keys)))


def _md5_of(url: str) -> bytes:
    from hashlib import md5  # noqa: PLC0415 - 2 ms of each start, and rarely used

    return md5(url.encode(), usedforsecurity=False).digest()


KeySet: Final[Callable[[], Keys]] = PythonKeys if _plain is None else _plain.KeySet
distinct: Final[Callable[[bytes], bytes]] = _distinct if _plain is None else _plain.distinct
"""Return the same keys, each once."""
md5_of: Final[Callable[[str], bytes]] = _md5_of if _plain is None else _plain.md5_of
"""Return the 16 bytes that identify a URL."""
