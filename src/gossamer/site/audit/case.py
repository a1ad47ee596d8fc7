"""One URL to which a rule applies."""

from collections.abc import Sequence
from typing import Final, NamedTuple

MAX_WHERE: Final = 100
"""URLs listed with one URL of a finding; as many as a page knows of those that link to it."""


class Case(NamedTuple):
    """A URL, what belongs to it, and a few words."""

    url: str
    where: Sequence[str] = ()
    detail: str = ""
    total: int = 0
    """How many URLs there are, if `where` does not hold them all."""
