"""What a document says, in pieces that can be compared: clauses without numbers, and pictures.

The text of links to certain pages is left out: an endless site makes up new link texts for the
pages that it makes up, and says nothing else.

A page is read by the compiled reader where that can, else as a tree. Both come to the same: of two
pages that are compared each may have been read in another way.
"""

from collections.abc import Callable, Iterable
from typing import Final, cast

from turbohtml import Document as Tree
from turbohtml import HTMLParseError, parse
from xxhash import xxh3_64_digest

from gossamer.messages import Page
from gossamer.parse.flood import cut_flood
from gossamer.parse.outline import Outline
from gossamer.parse.places import base_in, text_of
from gossamer.parse.references import Joiner
from gossamer.parse.skim import Speech, compiled_title_said, listen
from gossamer.parse.sniff import HTML, XHTML
from gossamer.parse.xhtml import with_end_tags

_MAX_BYTES: Final = 1 << 18
_DIGITS: Final = b"0123456789"
_SPACE: Final = b" \t"
# Names that have something in common, and that: most texts have none of most of them.
_CALENDAR: Final = tuple(
    (common, names.split())
    for common, names in (
        (b"uary", b"january february"),
        (b"", b"march april may june july august"),
        (b"ber", b"september october november december"),
        (b"day", b"monday tuesday wednesday thursday friday saturday sunday"),
    )
)
_CUT: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ.;!?", b"abcdefghijklmnopqrstuvwxyz\n\n\n\n"
)
_SHOWN: Final = (
    "//img/@src | //img/@data-src | //iframe/@src | //source/@src | //video/@src | //embed/@src"
)

# Given the base of references, tells which of them lead to pages whose links are left out.
_LeftOut = Callable[[str, Iterable[str]], set[str]]


def clauses(text: str) -> list[bytes]:
    """Return the clauses of a text, without case, white space, numbers and dates."""
    return _clauses(text.encode("utf-8", "replace"))


def title_said(title: str, url: str) -> bytes:
    """Return what is compared of the title of a page: its clauses one after the other."""
    said = None if compiled_title_said is None else compiled_title_said(title, url)
    return title_said_by_python(title, url) if said is None else said


def title_said_by_python(title: str, url: str) -> bytes:
    """Return the same, of any title."""
    name = made_up_name(url)
    return b"".join(clauses(title.replace(name, "") if name else title))


def _clauses(text: bytes) -> list[bytes]:
    numbered = text.translate(_CUT, _SPACE)
    plain = numbered.translate(None, _DIGITS)
    if len(plain) < len(numbered):
        for common, names in _CALENDAR:
            # Not `in`: of bytes that raises and catches an error each time.
            for name in names if plain.find(common) >= 0 else ():
                plain = plain.replace(name, b"")
    return plain.split()


def made_up_name(url: str) -> str:
    """Return the name of a page if it is an id: a page that repeats it says nothing by that."""
    name = url[max(url.rfind("/"), url.rfind("=")) + 1 :].partition(".")[0]
    if name.isalpha() or name.isdecimal():
        return ""
    # Line2D is a word; 3f2a9b1c is none.
    digits = len(name) - len(name.encode("ascii", "replace").translate(None, _DIGITS))
    return name if 4 * digits >= len(name) else ""


def statements(
    body: bytes, page: Page | Outline, url: str, joiner: Joiner, is_left_out: Callable[[str], bool]
) -> set[bytes]:
    """Return what a document says; of a page, without the text of links that are left out."""
    if page.content_type not in (HTML, XHTML):
        # A file of numbers says what its numbers say; an empty calendar says nothing by its dates.
        is_calendar = page.content_type == "text/calendar"
        said = body[:_MAX_BYTES].translate(None, _DIGITS) if is_calendar else body
        return {xxh3_64_digest(said)}

    def left_out(base: str, hrefs: Iterable[str]) -> set[str]:
        # An index leads to few pages by thousands of links, each to another part of them.
        distinct = list(dict.fromkeys(hrefs))
        targets = zip(distinct, joiner.join_all(base, distinct), strict=True)
        return {href for href, target in targets if target is not None and is_left_out(target)}

    body = body[:_MAX_BYTES]
    if page.content_type == XHTML:
        body = with_end_tags(body)
    heard = listen(body, page.charset)
    if heard is not None:
        text, shown = _without_links(heard, url, left_out), heard.shown
    else:
        try:
            body, _ = cut_flood(body, page.charset)
            tree = parse(body, positions=False, encoding=page.charset or None)
        except (HTMLParseError, LookupError, ValueError, MemoryError, RecursionError):
            return set()
        # Before links are emptied: a picture in a link is shown all the same.
        shown = {source.encode("utf-8", "replace") for source in _sources(tree)}
        text = _text_without_links(tree, _base_of(tree, url, joiner), left_out)
    name = made_up_name(url).encode()
    return shown.union(_clauses(text.replace(name, b"") if name else text))


def _without_links(heard: Speech, url: str, left_out: _LeftOut) -> bytes:
    left = left_out(url, (link for link in heard.links if link is not None))
    pairs = zip(heard.texts, heard.links, strict=True)
    return b"".join([text for text, link in pairs if link not in left])


def _sources(tree: Tree) -> list[str]:
    return cast("list[str]", tree.xpath(_SHOWN))


def _text_without_links(tree: Tree, base: str, left_out: _LeftOut) -> bytes:
    for element in tree.select("script") + tree.select("style"):
        element.clear()
    elements = tree.select("a[href]")
    hrefs = [text_of(element, "href").partition("#")[0] for element in elements]
    left = left_out(base, hrefs)
    for element, href in zip(elements, hrefs, strict=True):
        if href in left:
            element.clear()
    return tree.text.encode("utf-8", "replace")


def _base_of(tree: Tree, url: str, joiner: Joiner) -> str:
    base = base_in(tree)
    return (joiner.join(url, base) if base else None) or url
