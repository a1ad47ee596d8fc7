"""Where on a page its URLs are collected from (COLLECT_URLS_XPATH_LIST). Pure."""

from functools import lru_cache
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from gossamer.objects.patterns import PatternError, check_pattern, found_in
from gossamer.objects.problems import ObjectError
from gossamer.wording import shortened

XPATH_LIST: Final = "COLLECT_URLS_XPATH_LIST"
ANY: Final = "*"
REPLACE: Final = 0
"""Only what the paths find is collected."""
ADD: Final = 1
"""What the paths find is collected, too."""
_MOST: Final = 100

_Path = Annotated[str, Meta(min_length=1, max_length=1_000)]


class PathSets(Struct, frozen=True, forbid_unknown_fields=True):
    """Paths by the pages they are made for."""

    sets: Annotated[dict[str, Annotated[tuple[_Path, ...], Meta(max_length=_MOST)]],
                    Meta(max_length=_MOST)]  # fmt: skip
    mode: Literal[0, 1] = REPLACE

    def paths_for(self, url: str) -> tuple[str, ...]:
        """Return the paths of the first set that means a page; none if none does."""
        for pattern, paths in self.sets.items():
            try:
                if pattern == ANY or found_in(pattern, url):
                    return paths
            except PatternError:
                continue
        return ()


def parse_path_sets(text: str) -> PathSets | None:
    """Return the paths; None if there are none, ObjectError if they cannot be used."""
    if not text.strip():
        return None
    try:
        made = msgspec.json.decode(text, type=PathSets)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        why = shortened(str(error), 100)
        expected = f'{{"sets": {{pattern: [XPath]}}, "mode": 0 or 1}} is expected ({why})'
        raise ObjectError("Property", XPATH_LIST, expected) from None
    for pattern in made.sets:
        try:
            if pattern != ANY:
                check_pattern(pattern)
        except PatternError as error:
            raise ObjectError("Property", XPATH_LIST, error.expected) from None
    return made


@lru_cache(maxsize=256)
def path_sets_in(text: str) -> PathSets | None:
    """Return the paths of a site; what cannot be used was refused when it was set."""
    try:
        return parse_path_sets(text)
    except ObjectError:
        return None
