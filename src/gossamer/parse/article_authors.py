"""Who wrote an article: names from the page's data, its byline and the feed, with a confidence."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from turbohtml import Document as Tree
from turbohtml import Element

from gossamer.parse.article_marks import Marks, value_of, values_of
from gossamer.parse.feed_text import on_one_line
from gossamer.parse.places import text_of

MAX_AUTHORS: Final = 16
MAX_NAME: Final = 80
_MAX_WORDS: Final = 6
_LOOKED_AT: Final = 300
_AGREED: Final = 0.98
_METAS: Final = (
    "author", "article:author", "og:article:author", "parsely-author", "sailthru.author",
    "dc.creator", "dcterms.creator", "dc.contributor", "byl", "authors", "article:author_name",
    "cxenseparse:author", "citation_author", "twitter:data1:author",
)  # fmt: skip
_BYLINES: Final = (
    '[itemprop~="author" i]',
    '[rel~="author" i]',
    (
        '[class*="byline" i], [class*="author-name" i], [class*="author_name" i], '
        '[class*="authorname" i], [data-testid*="author" i]'
    ),
    '[class~="author" i], [id="author" i], [class*="autor" i], address[class*="auth" i]',
)
_BYLINE_CONFIDENCES: Final = (0.8, 0.7, 0.6, 0.5)
_MAX_ELEMENTS: Final = 6
_MAX_OF_BYLINE: Final = 4
_BY: Final = re.compile(
    r"^\W*(?:(?:posted|updated|written|reported|edited|story|text|words|article|report|analysis|opinion)\s+)?"
    r"(?:by|von|par|por|di|da|door|av|af|przez|от|文[:：]|作者[:：]?|記者|text)\b[:\s]*",  # noqa: RUF001
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(
    r"\s*(?:[,;|/•·、]|\band\b|\bund\b|\bet\b|\by\b|\be\b|&|\bmit\b)\s*", re.IGNORECASE
)
_CUT: Final = re.compile(
    r"\s+(?:[-–—|(]|updated|published|posted|on\s|in\s+[A-Z]|for\s+[A-Z]|at\s|am\s+\d|um\s+\d"  # noqa: RUF001
    r"|\d{1,2}[.:/]\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d)",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(r"https?:|www\.|\.(?:com|org|net|co|jp|de|fr)\b", re.IGNORECASE)
_NO_NAME: Final = re.compile(
    r"[@<>{}\[\]=_#\d]|\b(?:ago|comments?|facebook|twitter|instagram|reddit|linkedin|email|share"
    r"|follow|subscribe|more|minutes?|read|updated|published|posted|view|all|profile|archive"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_LATIN: Final = re.compile(r"[A-Za-z]")
_UPPER: Final = re.compile(r"[^\W\d_a-z]")
_ROLE: Final = re.compile(
    r"\b(?:staff|admin|editors?|editorial|redaktion|redaction|rédaction|newsroom|desk|team|agenc\w+"
    r"|reporters?|correspondent|contributor|writers?|news|associated press|reuters|afp|dpa)\b",
    re.IGNORECASE,
)
_OF_A_ROLE: Final = 0.7


class Authors(msgspec.Struct, frozen=True):
    """Names in the order of the byline, and how sure they are."""

    names: tuple[str, ...] = ()
    confidence: float = 0.0


def authors_of(tree: Tree, marks: Marks, feed: tuple[str, ...]) -> Authors:
    """Return who wrote an article; the tree must not have been changed yet."""
    site = _site(marks)
    found: list[Authors] = []
    for confidence, said in _said(marks, feed):
        names = names_in(said, site)
        if names:
            found.append(Authors(names, confidence))
    if not found or found[0].confidence < _BYLINE_CONFIDENCES[0]:
        found.extend(_in_bylines(tree, site))
    return _best(found)


def names_in(said: Iterable[str], site: str = "") -> tuple[str, ...]:
    """Return the names in what bylines say: without "by", addresses, and the name of the site."""
    names: dict[str, str] = {}
    for line in said:
        if _ADDRESS.search(line, 0, _LOOKED_AT):
            continue
        for part in _BETWEEN.split(_BY.sub("", on_one_line(line[:_LOOKED_AT]))):
            name = _CUT.split(_BY.sub("", part), maxsplit=1)[0].strip(" .,:;-–—\"'“”*")  # noqa: RUF001
            if _is_name(name, site):
                names.setdefault(name.casefold(), name)
            if len(names) == MAX_AUTHORS:
                return tuple(names.values())
    return tuple(names.values())


def _is_name(name: str, site: str) -> bool:
    return (
        1 < len(name) <= MAX_NAME
        and len(name.split()) <= _MAX_WORDS
        and not _NO_NAME.search(name)
        and any(map(str.isalpha, name))
        and (not _LATIN.search(name) or _UPPER.search(name) is not None or len(name.split()) > 1)
        and name.casefold() != site
    )


def _site(marks: Marks) -> str:
    publisher = next((value_of(node, "publisher") for node in marks.nodes[:1]), "")
    return on_one_line(marks.meta("og:site_name") or publisher).casefold()


def _said(marks: Marks, feed: tuple[str, ...]) -> Iterator[tuple[float, list[str]]]:
    for node in marks.nodes[:2]:
        yield 0.95, list(values_of(node.get("author"))) or list(values_of(node.get("creator")))
    for name in _METAS:
        yield 0.85, marks.metas.get(name, [])[:MAX_AUTHORS]
    yield 0.8, list(feed)


def _in_bylines(tree: Tree, site: str) -> Iterator[Authors]:
    for selector, confidence in zip(_BYLINES, _BYLINE_CONFIDENCES, strict=True):
        names: tuple[str, ...] = ()
        parent = None
        for element in tree.select(selector)[:_MAX_ELEMENTS]:
            # A second author stands beside the first; further down are other articles.
            if names and element.parent is not parent:
                break
            names += names_in(_named_in(element), site)
            parent = element.parent
        if names:
            yield Authors(tuple(dict.fromkeys(names))[:_MAX_OF_BYLINE], confidence)
            return


def _named_in(element: Element) -> list[str]:
    """Return the names in an element about an author; none of one that holds a biography."""
    if element.tag == "meta":
        return [text_of(element, "content")]
    inner = element.select('[itemprop~="name" i]')[:_MAX_OF_BYLINE] or (
        element.select("a")[:_MAX_OF_BYLINE] if element.tag != "a" else []
    )
    linked = [text for each in inner if len(text := on_one_line(each.text[:_LOOKED_AT])) > 3]
    # Beside names of two words, one word is the section of the paper.
    linked = [text for text in linked if " " in text] or linked
    if names_in(linked):
        return linked
    text = on_one_line(element.text[: 4 * _LOOKED_AT])
    return [text] if len(text) <= _LOOKED_AT // 2 else []


def _best(found: list[Authors]) -> Authors:
    if not found:
        return Authors()
    best = max(found, key=lambda each: each.confidence)
    confidence = best.confidence
    known = {name.casefold() for name in best.names}
    if any(each is not best and known & {n.casefold() for n in each.names} for each in found):
        confidence = _AGREED
    if all(_ROLE.search(name) for name in best.names):
        confidence *= _OF_A_ROLE
    return Authors(best.names, round(confidence, 2))
