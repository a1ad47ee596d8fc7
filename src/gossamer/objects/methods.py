"""How a URL is asked for: `httpMethod`, and `fetchType` of its site."""

from typing import Final

from gossamer.objects.enumerations import FetchType
from gossamer.objects.problems import UnsupportedError

GET: Final = "get"
HEAD: Final = "head"
_METHODS: Final = frozenset({GET, HEAD})
_FETCHED: Final = frozenset({FetchType.STATIC, FetchType.AUTO})


def check_fetch_type(kind: str, fetch_type: FetchType | None) -> None:
    """Raise an UnsupportedError for pages that would need a browser, or another program."""
    if fetch_type is not None and fetch_type not in _FETCHED:
        raise UnsupportedError(
            kind,
            "fetchType",
            f"{fetch_type.name} is not supported: pages are fetched without a browser; "
            "1 (static) or 7 (as the service thinks best) is expected",
        )


def check_method(text: str) -> None:
    """Raise a ValueError for a method that is never used."""
    if text.lower() not in _METHODS:
        raise ValueError('httpMethod "get" or "head" is expected: forms are never sent')


def used_method(text: str) -> str:
    """Return how a URL is asked for that may have been kept before methods were checked."""
    return text if text.lower() in _METHODS else GET


def is_head(text: str) -> bool:
    """Whether only the head of a URL is asked for."""
    return text.lower() == HEAD
