"""How a URL is asked for: `httpMethod`."""

from typing import Final

GET: Final = "get"
HEAD: Final = "head"
_METHODS: Final = frozenset({GET, HEAD})


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
