"""The references in a style sheet."""

import re
from collections.abc import Iterator
from typing import Final

# Escapes, comments, strings and url() are each read to their end, because each may hold what looks
# like another. Nothing of them is ever given back, and what begins always ends, so that no input
# makes the search start over and over across the same bytes.
_SPACE: Final = r"[ \t\n\f\r]"
_COMMENT: Final = r"(?>/\*.*?(?:\*/|\Z))"
_STRING: Final = r"""(?:"([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"|'([^'\\\n]*+(?:\\.[^'\\\n]*+)*+)')"""
_BARE: Final = r"""[^()"'\\ \t\n\f\r]"""
_ESCAPED: Final = rf"\\(?:[0-9a-f]{{1,6}}+{_SPACE}?+|[^\n])"
_REFERENCE: Final = re.compile(
    rf"""\\. | {_COMMENT}
      | (?:(@import|@namespace(?:{_SPACE}++(?!url\()[\w-]++)?)(?:{_SPACE}++|{_COMMENT})*+)?
        (?:url\({_SPACE}*+
           (?:{_STRING} | ({_BARE}*+(?:{_ESCAPED}{_BARE}*+)*+){_SPACE}*+\)
            | [^)\\]*+(?:\\.[^)\\]*+)*+)
         | {_STRING} | ["'][^\\\n]*+(?:\\.[^\\\n]*+)*+)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
# What stands between the strings of an image-set().
_SET_TOKEN: Final = re.compile(
    rf"""\\. | {_COMMENT} | {_STRING} | ["'][^\\\n]*+(?:\\.[^\\\n]*+)*+
      | url\({_SPACE}*+{_BARE}*+(?:{_ESCAPED}{_BARE}*+)*+{_SPACE}*+\)
      | (?<![\w-])((?:-webkit-)?image-set)\( | [(){{}};]""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.IGNORECASE | re.DOTALL)
_FONT_ENDINGS: Final = (".woff2", ".woff", ".ttf", ".otf", ".eot")


def references_in(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield (reference, asset kind) for each distinct url(), @import and image outside comments.

    An image: a string of an image-set(), where a url() may stand as well.
    """
    folded = sheet.lower()
    # Most style blocks have no reference, and this says so ten times faster than the expression.
    if "url(" in folded or "@import" in folded:
        yield from _references(sheet)
    if "image-set(" in folded:
        for reference in _strings_of_sets(sheet):
            yield _ESCAPE.sub(_unescaped, reference), "img"


def _references(sheet: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for found in _REFERENCE.finditer(sheet):
        rule, *in_url, double, single = found.groups()
        reference = next(filter(None, in_url), "") or (rule and (double or single))
        if not reference or found[0] in seen or _is_no_url(sheet, found):
            continue
        seen.add(found[0])
        if "\\" in reference:
            reference = _ESCAPE.sub(_unescaped, reference)
        yield reference, "css" if rule else kind_in_style(reference)


def _strings_of_sets(sheet: str) -> Iterator[str]:
    opened: list[bool] = []
    """For each parenthesis that is open, whether it is that of an image-set()."""
    for found in _SET_TOKEN.finditer(sheet):
        double, single, name = found.groups()
        if name or found[0] == "(":
            opened.append(bool(name))
        elif found[0] == ")":
            del opened[-1:]
        elif found[0] in ("{", "}", ";"):
            # Somebody forgot to close it.
            opened.clear()
        elif (double or single) and opened and opened[-1]:
            yield double or single


def _is_no_url(sheet: str, found: re.Match[str]) -> bool:
    """Whether it is the name of a namespace, or of a function that ends like url()."""
    if found[1]:
        return found[1][1] in "nN"
    before = sheet[found.start() - 1 : found.start()]
    return before.isalnum() or before in ("-", "_")


def kind_in_style(reference: str) -> str:
    """Return the asset kind of a url() in a style by its ending; most are images."""
    path = reference.partition("#")[0].partition("?")[0].lower()
    if path.endswith(_FONT_ENDINGS):
        return "font"
    return "css" if path.endswith(".css") else "img"


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[2]
    number = int(found[1], 16)
    valid = 0 < number < 0x110000 and not 0xD800 <= number < 0xE000
    return chr(number) if valid else "\ufffd"
