"""XML without document types and entities, strictly by expat or as loosely as people write it.

Theory of operation. `read_strictly` is expat, which is fast and stops at the first fault.
`read_loosely` never stops: it takes whatever looks like a tag as one, closes what was left open,
and leaves all else as text. Both tell a handler the same story. Neither ever expands, opens or
fetches anything; both take time in proportion to the length of the text.
"""

import re
from collections import Counter
from typing import Final, Protocol
from xml.parsers import expat

from turbohtml import unescape

MAX_DEPTH: Final = 256
_MAX_ATTRIBUTES: Final = 64
_NAME: Final = r"[^\W\d][\w.:-]{0,127}"
# A `<` in quotes that can begin nothing. Each alternative below stops at any other `<`, and none
# gives back what it took: one pass, no more.
_HARMLESS: Final = r"<(?![\w/!?])"
_TOKEN: Final = re.compile(
    rf"<(?:(/?)({_NAME})((?>[^<>\"'/]++|\"(?>[^\"<]++|{_HARMLESS})*+\"|'(?>[^'<]++|{_HARMLESS})*+'"
    r"|/(?!>)|[\"'])*+)(/?)>"
    r"|(!\[CDATA\[|!--|!|\?))"
)
_ATTRIBUTE: Final = re.compile(
    rf"(?<![\w.:-])({_NAME})\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>]++))"
)
# HTML ends some references without a semicolon, which would spoil `?a=1&copy=2`.
_BARE_AMPERSAND: Final = re.compile(
    r"&(?!(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
)
NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# What expat says of a sound document whose end is missing; if no tag ends behind the fault, then
# nothing but the end is lost.
_ENDS_EARLY: Final = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)
_ENDS: Final = {"![CDATA[": "]]>", "!--": "-->", "?": "?>", "!": ">"}


class RefusedError(Exception):
    """The document asks for something that is not done."""


class EnoughError(Exception):
    """The handler has taken as much as it takes; says of what there is more."""


class Handler(Protocol):
    """Hears what stands in a document; text is appended to `pieces` as it comes."""

    pieces: list[str]

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        """An element begins; the name is as written."""

    def end(self, name: str, /) -> None:
        """The innermost element that is open ends."""


def guarded_parser(encoding: str | None = None) -> expat.XMLParserType:
    """Return a parser that refuses declarations of the document's own."""
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _doctype
    parser.EntityDeclHandler = _entity
    return parser


def feed_whole(parser: expat.XMLParserType, body: bytes) -> str:
    """Parse a whole document and return what is wrong with it, or nothing.

    In one piece: expat before 2.6 starts over with a long token at each piece, which makes a
    comment of some megabytes cost minutes.
    """
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        return f"is broken XML: {error}"
    return ""


def read_strictly(body: bytes, handler: Handler) -> tuple[str, bool]:
    """Tell the handler what is in UTF-8 text; return what is wrong, and if it is only cut off.

    A document type is refused even if it declares nothing: expat would drop the references to
    what it might declare elsewhere without a word.
    """
    parser = guarded_parser("utf-8")
    parser.StartDoctypeDeclHandler = _any_doctype
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.pieces.append
    fault = feed_whole(parser, body)
    is_cut = parser.ErrorCode in _ENDS_EARLY and body.find(b">", parser.ErrorByteIndex) < 0
    return fault, bool(fault) and is_cut


def read_loosely(
    text: str, handler: Handler, max_tokens: int, siblings: frozenset[str] = frozenset()
) -> bool:
    """Tell the handler what can be read of a text; return whether its end is missing.

    Elements called `siblings` are never inside one of their own: a second one ends the first.
    """
    return _Loose(NOT_XML.sub("", text), handler, max_tokens, siblings).read()


def plain(text: str) -> str:
    """Resolve the references in text: those of HTML too, unknown ones stay as they are."""
    return unescape(_BARE_AMPERSAND.sub("&amp;", text)) if "&" in text else text


def _doctype(
    _name: str, _system: str | None, _public: str | None, has_internal_subset: bool
) -> None:
    if has_internal_subset:
        raise RefusedError("has a document type with declarations of its own")


def _any_doctype(*_: object) -> None:
    raise RefusedError("has a document type")


def _entity(*_: object) -> None:
    raise RefusedError("declares entities")


class _Loose:
    """One pass over a text."""

    def __init__(
        self, text: str, handler: Handler, max_tokens: int, siblings: frozenset[str]
    ) -> None:
        self._text = text
        self._siblings = siblings
        self._handler = handler
        self._tokens_left = max_tokens
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        """How many of each name are open."""
        self._missing: set[str] = set()

    def read(self) -> bool:
        """Read on to the end, or to the end of what is taken."""
        text, search = self._text, _TOKEN.search
        pieces = self._handler.pieces
        position = 0
        while token := search(text, position):
            if self._tokens_left <= 0:
                raise EnoughError("further tags")
            self._tokens_left -= 1
            if token.start() > position:
                pieces.append(plain(text[position : token.start()]))
            closing, name, attributes, empty, other = token.groups()
            if other:
                position = self._pass_over(other, token.end())
            else:
                position = token.end()
                if closing:
                    self._close(name)
                else:
                    self._begin(name, attributes, bool(empty))
        if not self._open:
            return False
        pieces.append(plain(text[position:]))
        return True

    def _pass_over(self, opening: str, position: int) -> int:
        """Return where a comment, declaration or instruction ends; a CDATA section is text."""
        end = self._find(_ENDS[opening], position)
        if opening == "![CDATA[":
            if end < 0:
                end = len(self._text)
            self._handler.pieces.append(self._text[position:end])
        elif end < 0:
            # What is never closed is no comment: only its beginning is left out.
            return position
        return end + len(_ENDS[opening])

    def _find(self, end: str, position: int) -> int:
        """Find, but look for what is not there only once."""
        if end in self._missing:
            return -1
        found = self._text.find(end, position)
        if found < 0:
            self._missing.add(end)
        return found

    def _begin(self, name: str, attributes: str, empty: bool) -> None:
        if name.rpartition(":")[2].lower() in self._siblings:
            self._close(name)
        if len(self._open) >= MAX_DEPTH:
            return
        if attributes:
            # To read them takes about as long as all the rest.
            self._tokens_left -= 1
        self._handler.start(name, _attributes(attributes) if attributes else {})
        if empty:
            self._handler.end(name)
        else:
            self._open.append(name.lower())
            self._count[name.lower()] += 1

    def _close(self, name: str) -> None:
        """Close the element of this name and all that was left open in it."""
        name = name.lower()
        if not self._count[name]:
            return
        while True:
            last = self._open.pop()
            self._count[last] -= 1
            self._handler.end(last)
            if last == name:
                return


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        if len(found) >= _MAX_ATTRIBUTES:
            break
        name, *values = match.groups()
        found.setdefault(name, plain(next((value for value in values if value), "")))
    return found
