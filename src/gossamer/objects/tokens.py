"""The words of a criterion."""

import re
from typing import Final, NamedTuple

from gossamer.objects.problems import CriterionError
from gossamer.objects.selection import MAX_EXPRESSION
from gossamer.wording import shortened


class Token(NamedTuple):
    """One word: what sort of word, its text without quotes, and where it stands."""

    sort: str
    text: str
    position: int


END: Final = "end"
# A name may end with the one macro that stands inside of names: `urls_%SITE_ID%`.
_WORDS: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:%SITE_ID%)?)
    |`(?P<quoted>[A-Za-z_][A-Za-z0-9_]*(?:%SITE_ID%)?)`
    |(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |%(?P<macro>[A-Za-z_][A-Za-z0-9_]*)%
    |(?P<sign><=|>=|<>|!=|<<|>>|&&|\|\||[-+*/%&|~=<>(),.!])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_MEANINGS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "Z": "\x1a"}


def tokens_of(field: str, text: str) -> list[Token]:
    """Split a text into words; the last one says that it ends."""
    if len(text) > MAX_EXPRESSION:
        raise CriterionError(field, f"at most {MAX_EXPRESSION} characters are expected")
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = _WORDS.match(text, position)
        if found is None:
            raise CriterionError(field, _unknown(text[position:]), position)
        sort = found.lastgroup or ""
        if sort == "text":
            tokens.append(Token("text", _unquoted(field, found["text"], position), position))
        elif sort != "space":
            tokens.append(Token(sort, found[sort], position))
        position = found.end()
    tokens.append(Token(END, "", len(text)))
    return tokens


def _unquoted(field: str, quoted: str, position: int) -> str:
    mark = quoted[0]
    text = quoted[1:-1].replace(mark + mark, mark)
    # `\%` and `\_` stay as they are: they are escapes of LIKE.
    text = _ESCAPED.sub(lambda found: _meaning(found[0], found[1]), text)
    # NUL ends a text early in some functions of the database, half characters cannot be stored.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise CriterionError(field, "a text without NUL and half characters is expected", position)
    return text


def _meaning(whole: str, letter: str) -> str:
    return whole if letter in "%_" else _MEANINGS.get(letter, letter)


def _unknown(rest: str) -> str:
    if rest[0] in "'\"`":
        return f"an unfinished or unusable {rest[0]} stands"
    return f"{shortened(rest, 20)!r} is no word of a criterion; it stands"
