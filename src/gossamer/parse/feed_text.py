"""Markup inside feeds becomes plain text, in one pass over limited text."""

import re
from typing import Final

from turbohtml import unescape

# Tags that stand inside words; written without regard to most capitals, which takes a third of the
# time and costs a space at worst.
_INLINE: Final = re.compile(
    r"</?(?=[aAbBcdefiIkmqQsStuUvw])(?:[aAbBiIqQsSuU]|abbr|acronym|b(?:d[io]|ig)|c(?:ite|ode)"
    r"|d(?:el|fn)|em|font|ins|kbd|mark|s(?:amp|mall|pan|trike|trong|u[bp])|tt|var|wbr)"
    r"(?:\s[^<>]*+)?>"
)
_TAG: Final = re.compile(r"<[a-zA-Z/!?][^<>]*+>")
_LOOKS_LIKE_MARKUP: Final = re.compile(
    r"</[a-zA-Z][a-zA-Z0-9]*>|<(?:br|p|hr|img)\b|&(?:#\d+|#x[0-9a-f]+|[a-z]{2,8});", re.IGNORECASE
)
# What stands between these is not for readers.
_UNSEEN: Final = (
    (re.compile("<script", re.IGNORECASE), re.compile(r"</script[^<>]*+>", re.IGNORECASE)),
    (re.compile("<style", re.IGNORECASE), re.compile(r"</style[^<>]*+>", re.IGNORECASE)),
    (re.compile("<!--"), re.compile("-->")),
)


def text_in(markup: str) -> str:
    """Return what a reader sees of a piece of HTML, on one line."""
    if "<" in markup:
        for opening, closing in _UNSEEN:
            markup = _without(markup, opening, closing)
        markup = _TAG.sub(" ", _INLINE.sub("", markup))
    if "&" in markup:
        markup = unescape(markup)
    return on_one_line(markup)


def on_one_line(text: str) -> str:
    """Join words by single spaces; half characters, which no encoding can write, are replaced."""
    text = " ".join(text.split())
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def looks_like_markup(text: str) -> bool:
    """Whether text that claims to be plain is HTML after all."""
    return _LOOKS_LIKE_MARKUP.search(text) is not None


def _without(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str:
    kept: list[str] = []
    position = 0
    while begin := opening.search(text, position):
        end = closing.search(text, begin.end())
        if not end:
            break
        kept.append(text[position : begin.start()])
        position = end.end()
    return "".join(kept) + text[position:] if kept else text
