"""How the tree looks: what a terminal can show, and what stays readable in a pipe.

The codes are written directly: a map may have a million lines, and each passes here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from unicodedata import category, east_asian_width

_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})
_COLOURS: Final = {
    "heading": "1",
    "url": "34",
    "asset": "36",
    "quiet": "90",
    "warning": "33",
    "bad": "31",
}
_ICONS: Final = {
    "start": "🏠 ",
    "page": "📄 ",
    "alias": "🔗 ",
    "redirect": "🔀 ",
    "error": "❌ ",
    "img": "📷 ",
    "css": "🎨 ",
    "js": "📜 ",
    "video": "🎬 ",
    "audio": "🎵 ",
    "font": "🔤 ",
    "iframe": "🔲 ",
    "other": "📦 ",
}


@dataclass(frozen=True, slots=True)
class Look:
    """The signs between which the text stands."""

    branch: str = "  "
    """Before a page, in the place of its level."""
    last_branch: str = "  "
    guide: str = "  "
    """In the place of a level that goes on below."""
    no_guide: str = "  "
    leads_to: str = "->"
    width: int = 0
    """Columns of the terminal, which titles are cut to; 0: there is none."""
    icons: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)

    def icon(self, kind: str) -> str:
        """Return what stands before an entry of this kind."""
        return self.icons.get(kind, "")

    def paint(self, style: str, text: str) -> str:
        """Return a text in the colour of a style."""
        code = self.colours.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese is wide, accents take none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if category(each) in _NO_COLUMN else 1 + (east_asian_width(each) in "WF") for each in text
    )


def fitting(text: str, columns: int) -> str:
    """Return as much of a text as these columns hold; an ellipsis shows that it was longer."""
    if columns_of(text) <= columns:
        return text
    taken = 0
    for position, each in enumerate(text):
        taken += columns_of(each)
        if taken >= columns:
            return text[:position] + "…"
    return text


PLAIN: Final = Look()
DRAWN: Final = Look("├─ ", "└─ ", "│  ", "   ", "→", icons=_ICONS)
"""For a terminal where the reader wants no colours (NO_COLOR)."""
COLOURED: Final = replace(DRAWN, colours=_COLOURS)
