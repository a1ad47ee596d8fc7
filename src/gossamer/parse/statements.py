"""What a document says, in pieces that can be compared: clauses without numbers, and pictures.

The text of links to certain pages is left out: an endless site makes up new link texts for the
pages that it makes up, and says nothing else.
"""

from collections.abc import Callable
from typing import Final, cast

from turbohtml import Document as Tree
from turbohtml import HTMLParseError, parse
from xxhash import xxh3_64_digest

from gossamer.messages import Page
from gossamer.parse.flood import cut_flood
from gossamer.parse.places import text_of
from gossamer.parse.references import Joiner
from gossamer.parse.sniff import HTML, XHTML

_MAX_BYTES: Final = 1 << 18
_DIGITS: Final = b"0123456789"
_WITHOUT_DIGITS: Final = dict.fromkeys(map(ord, "0123456789"))
_SPACE: Final = b" \t"
_CALENDAR: Final = (
    b"january february march april may june july august september october november december "
    b"monday tuesday wednesday thursday friday saturday sunday"
).split()
_CUT: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ.;!?", b"abcdefghijklmnopqrstuvwxyz\n\n\n\n"
)
_SHOWN: Final = (
    "//img/@src | //img/@data-src | //iframe/@src | //source/@src | //video/@src | //embed/@src"
)


def clauses(text: str) -> list[bytes]:
    """Return the clauses of a text, without case, white space, numbers and dates."""
    numbered = text.encode("utf-8", "replace").translate(_CUT, _SPACE)
    plain = numbered.translate(None, _DIGITS)
    if len(plain) < len(numbered):
        for name in _CALENDAR:
            plain = plain.replace(name, b"")
    return plain.split()


def made_up_name(url: str) -> str:
    """Return the name of a page if it is an id: a page that repeats it says nothing by that."""
    name = url[max(url.rfind("/"), url.rfind("=")) + 1 :].partition(".")[0]
    if name.isalpha() or name.isdecimal():
        return ""
    # Line2D is a word; 3f2a9b1c is none.
    digits = len(name) - len(name.translate(_WITHOUT_DIGITS))
    return name if 4 * digits >= len(name) else ""


def statements(
    body: bytes, page: Page, url: str, joiner: Joiner, is_left_out: Callable[[str], bool]
) -> set[bytes]:
    """Return what a document says; of a page, without the text of links that are left out."""
    if page.content_type not in (HTML, XHTML):
        # A file of numbers says what its numbers say; an empty calendar says nothing by its dates.
        is_calendar = page.content_type == "text/calendar"
        said = body[:_MAX_BYTES].translate(None, _DIGITS) if is_calendar else body
        return {xxh3_64_digest(said)}
    try:
        body, _ = cut_flood(body[:_MAX_BYTES], page.charset)
        tree = parse(body, positions=False, encoding=page.charset or None)
    except (HTMLParseError, LookupError, ValueError, MemoryError, RecursionError):
        return set()
    # Before links are emptied: a picture in a link is shown all the same.
    sources = cast("list[str]", tree.xpath(_SHOWN))
    shown = {source.encode("utf-8", "replace") for source in sources}
    for element in tree.select("script") + tree.select("style"):
        element.clear()
    _empty_links(tree, url, joiner, is_left_out)
    name = made_up_name(url)
    return shown.union(clauses(tree.text.replace(name, "") if name else tree.text))


def _empty_links(tree: Tree, url: str, joiner: Joiner, is_left_out: Callable[[str], bool]) -> None:
    base = next((href for each in tree.select("base") if (href := text_of(each, "href"))), "")
    base = (joiner.join(url, base) if base else None) or url
    elements = tree.select("a[href]")
    # An index leads to few pages by thousands of links, each to another part of them.
    hrefs = [text_of(element, "href").partition("#")[0] for element in elements]
    distinct = list(dict.fromkeys(hrefs))
    left_out = {
        href
        for href, target in zip(distinct, joiner.join_all(base, distinct), strict=True)
        if target is not None and is_left_out(target)
    }
    for element, href in zip(elements, hrefs, strict=True):
        if href in left_out:
            element.clear()
