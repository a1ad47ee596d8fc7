"""The paragraphs of an article, found by where a page has most of its running text.

Theory of operation: every block of text (a paragraph, an item of a list, the text that stands
directly in a div) is weighed. Running text weighs its length; headings, short lines and what
consists of links weigh nothing. An element weighs what is in it. Elements that say by name that
they are something else (navigation, comments, share buttons) are left out with all that is in them,
unless they hold so much of the page's running text that the name must be wrong. Then the search
goes down from the body, always into the heaviest child, for as long as that child holds nearly all
the weight. The element where this ends is the article.

Shares and lengths were chosen on public corpora (docs/decisions/extraction.md); none of them is
critical: moved by a seventh, it changes F1 by at most 0.01.
"""

import re
from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

from turbohtml import Comment, Element, Node, Text
from turbohtml import Document as Tree

MAX_BLOCKS: Final = 20_000
MAX_CHARACTERS: Final = 4 << 20
"""Of all blocks together; elements nested in each other repeat their text."""

_NEVER_TEXT: Final = (
    "script,style,noscript,template,iframe,object,embed,svg,canvas,button,select,input,textarea,"
    "picture,video,audio"
)
_WRAPPERS: Final = frozenset(("article", "body", "div", "main", "section"))
_HOLDERS: Final = frozenset(("blockquote", "dd", "li", "td"))
_HEADINGS: Final = frozenset(("h2", "h3", "h4", "h5", "h6"))
_BLOCKS: Final = ("dt", "h1", "p", "pre", *_HEADINGS, *_HOLDERS, *_WRAPPERS)
_INLINE: Final = frozenset((
    "a", "abbr", "b", "br", "cite", "code", "em", "font", "i", "mark", "q", "small", "span",
    "strong", "sub", "sup", "time", "u",
))  # fmt: skip
_INSIDE: Final = "p,div,li,table,blockquote,dd"
_OTHER_TAGS: Final = frozenset(
    ("aside", "dialog", "figcaption", "figure", "footer", "form", "label", "menu", "nav")
)
_OTHER_ROLES: Final = frozenset(
    ("banner", "complementary", "contentinfo", "dialog", "navigation", "search")
)
_NEVER_OTHER: Final = frozenset(("article", "body", "html", "main"))
_OTHER_NAME: Final = re.compile(
    # whole words of a class or an id
    r"(?:^|[\s_-])(?:comments?|sidebar|related|promo\w*|shar(?:e\w*|ing)|social\w*|newsletter\w*"
    r"|footer|nav(?:bar|igation)?|menu|cookies?|consent|banner|advert\w*|ads?|sponsor\w*"
    r"|breadcrumbs?|recommend\w*|recirc\w*|popular|trending|most-?(?:read|popular|viewed)"
    r"|more-?(?:from|on|stories|news)|read-?(?:more|next|also)|also-?read|byline|authors?|bio"
    r"|subscri\w+|sign-?up|captions?|credits?|copyright|disclaimer|tags?|tag-?list"
    r"|tool(?:bar|s)|widget\w*|outbrain|taboola|modal|popup|tooltip|paginat\w+|pager|teasers?"
    r"|gallery|slideshow|login|register|timestamp|disqus|carousel|(?:right-?)?rail|masthead"
    r"|topics|keywords|follow\w*|donat\w+|repl(?:y|ies)|respond|latest|upsell|cta|callout"
    r"|metadata|(?:post|entry|article)-?meta|(?:visually-?|sr-?)hidden|sr-only|screen-?reader\w*"
    r"|print-?only|info-?box|dateline|pub-?date|sns)(?:$|[\s_-])"
    # beginnings and ends of names that are written together
    r"|(?:comment|sidebar|related|newsletter|recommend|footer|share|social|promo|subscribe|advert"
    r"|sponsor|trending|popular|byline|caption|breadcrumb)s?(?:[A-Z_-]|$|\s)"
    r"|[a-z](?:Comments?|Related|Share|Social|Promo|Newsletter|Footer|Sidebar|Caption|Byline|Recirc)"
)
_ARTICLE_NAME: Final = re.compile(
    r"(?:article|entry|post|story|page|main|news)[-_]{0,2}(?:body|content|text)"
    r"|content[-_]{0,2}body|body[-_]{0,2}(?:content|copy|text)"
    r"|(?:^|\s)(?:content|article|story|main)(?:$|\s)",
    re.IGNORECASE,
)
_HIDDEN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_NAME_LOOKED_AT: Final = 256
_LEGAL: Final = re.compile(
    r"cookie|consent|privacy policy|personal data|©|\(c\) \d{4}|all rights reserved", re.IGNORECASE
)
_LEGAL_LOOKED_AT: Final = 2_000
# Scripts without spaces say in one character what others say in two or three.
_DENSE: Final = re.compile("[\u0e00-\u0e7f\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DENSE_EXTRA: Final = 1.5
_SENTENCE_END: Final = re.compile(r"[.!?…:;。！？\"”’»)\]။၊」]\s*$")  # noqa: RUF001
_SENTENCE: Final = re.compile(r"[.!?…,;。！？、，၊။]|[\u0e00-\u0e7f]")  # noqa: RUF001
_WORD: Final = re.compile(r"\w+")

_RUNNING_TEXT: Final = 70
"""Characters from which a block can be running text."""
_SHORTEST_OF_WRAPPER: Final = 25
_HEAVIEST: Final = 1_500
_MAX_LINKED: Final = 0.4
_LIST_WEIGHT: Final = 0.5
_LEGAL_WEIGHT: Final = 0.2
_WEIGHT_ABOVE_HEADLINE: Final = 0.3
_NAME_IS_WRONG: Final = 0.35
_NEARLY_ALL: Final = 0.7
_MOST: Final = 0.5
_ALL: Final = 0.9
_CLOSE: Final = 3
_MAX_LEAD: Final = 3


class _Block:
    """One piece of text and where it stands."""

    __slots__ = ("element", "linked", "number", "size", "tag", "text", "weight")

    def __init__(self, element: Element, tag: str, text: str, number: int) -> None:
        self.element = element
        self.tag = tag
        self.text = text
        self.number = number
        self.size = _size(text)
        self.linked = _linked(element, tag) / max(1, len(text))
        self.weight = 0.0
        is_running = (
            self.size >= _RUNNING_TEXT
            and tag not in _HEADINGS
            and self.linked < _MAX_LINKED
            and _SENTENCE.search(text) is not None
        )
        if is_running:
            self._weigh()

    def _weigh(self) -> None:
        weight = min(self.size, _HEAVIEST) * (1 - self.linked)
        if self.tag in _HOLDERS and self.tag != "blockquote":
            weight *= _LIST_WEIGHT
        if _LEGAL.search(self.text, 0, _LEGAL_LOOKED_AT):
            weight *= _LEGAL_WEIGHT
        self.weight = weight


class Paragraphs(NamedTuple):
    """The paragraphs of an article, and what is known about their place on the page."""

    texts: list[str]
    are_alone: bool = False
    """Whether the page has next to no other running text."""
    are_named: bool = False
    """Whether they stand in an element that is an article by its name."""


def article_paragraphs(tree: Tree, titles: tuple[str, ...]) -> Paragraphs:
    """Return the paragraphs of the article; `titles` are what the page calls itself.

    The tree is used up.
    """
    body = tree.select_one("body")
    if body is None:
        return Paragraphs([])
    tree.remove(_NEVER_TEXT)
    blocks, headline = _blocks(tree, titles)
    for block in blocks[: headline or 0]:
        block.weight *= _WEIGHT_ABOVE_HEADLINE
    kept = _without_others(blocks)
    weights = _weights(kept)
    if not weights:
        return Paragraphs([])
    top = _article_in(body, weights)
    known: dict[Element, bool] = {}
    inside = [block for block in kept if _is_inside(block.element, known, top.__eq__)]
    if headline is not None and inside:
        inside = _lead(kept, headline, inside[0].number) + inside
    are_alone = weights.get(top, 0.0) >= _ALL * weights.get(body, 0.0)
    return Paragraphs(_worth_reading(inside), are_alone, _has_named(top))


def _blocks(tree: Tree, titles: tuple[str, ...]) -> tuple[list[_Block], int | None]:
    """Return the blocks in the order of the page, and how many stand above its headline."""
    known = [words for title in titles if (words := _words(title))]
    blocks: list[_Block] = []
    seen: set[str] = set()
    headline = None
    room = MAX_CHARACTERS
    for element in tree.iter_elements(_BLOCKS):
        tag = element.tag
        text = _text_of(element, tag)
        if not text:
            continue
        room -= len(text)
        if room < 0 or len(blocks) == MAX_BLOCKS:
            break
        if tag == "h1":
            if headline is None and _is_title(text, known):
                headline = len(blocks)
            continue
        # The same text twice is one text, shown once to wide and once to narrow screens.
        if len(text) >= _RUNNING_TEXT:
            if text in seen:
                continue
            seen.add(text)
        blocks.append(_Block(element, tag, text, len(blocks)))
    return blocks, headline


def _text_of(element: Element, tag: str) -> str:
    """Return the text of a block, without that of other blocks inside it."""
    if tag == "pre":
        return element.text.strip()
    if tag in _WRAPPERS:
        text = _own_text(element)
        return text if len(text) >= _SHORTEST_OF_WRAPPER else ""
    if tag in _HOLDERS and element.select_one(_INSIDE) is not None:
        return _own_text(element)
    return " ".join(element.text.split())


def _own_text(element: Element) -> str:
    parts: list[str] = []
    for child in element.children:
        if isinstance(child, Element):
            if child.tag == "br":
                parts.append("\n")
            elif child.tag in _INLINE and child.select_one(_INSIDE) is None:
                parts.append(child.text)
        elif isinstance(child, Text) and not isinstance(child, Comment):
            parts.append(child.data)
    return " ".join("".join(parts).split())


def _linked(element: Element, tag: str) -> int:
    """Return how many characters of a block are links."""
    if tag in _WRAPPERS:
        children = (child for child in element.children if isinstance(child, Element))
        return sum(len(child.text) for child in children if child.tag == "a")
    return sum(len(link.text) for link in element.select("a"))


def _size(text: str) -> float:
    return len(text) if text.isascii() else len(text) + _DENSE_EXTRA * len(_DENSE.findall(text))


def _without_others(blocks: list[_Block]) -> list[_Block]:
    """Leave out what is inside of elements that are something else than an article."""
    weights = _weights(blocks)
    limit = sum(block.weight for block in blocks) * _NAME_IS_WRONG
    known: dict[Element, bool] = {}
    return [
        block
        for block in blocks
        if not _is_inside(
            block.element,
            known,
            lambda element: weights.get(element, 0.0) < limit and _is_named_other(element),
        )
    ]


def _is_inside(
    element: Element, known: dict[Element, bool], is_wanted: Callable[[Element], bool]
) -> bool:
    """Whether an element or one of its ancestors is wanted; `known` keeps what was found out."""
    path: list[Element] = []
    above: Node | None = element
    while isinstance(above, Element) and above not in known:
        path.append(above)
        above = above.parent
    found = known[above] if isinstance(above, Element) else False
    for each in reversed(path):
        found = found or is_wanted(each)
        known[each] = found
    return found


def _is_named_other(element: Element) -> bool:
    tag = element.tag
    if tag in _NEVER_OTHER:
        return False
    attributes = element.attrs
    if tag in _OTHER_TAGS or "hidden" in attributes or attributes.get("role") in _OTHER_ROLES:
        return True
    style = attributes.get("style")
    if style and _HIDDEN.search(str(style), 0, _NAME_LOOKED_AT):
        return True
    name = _name_of(element)
    return bool(name) and _OTHER_NAME.search(name) is not None


def _name_of(element: Element) -> str:
    """Return class and id."""
    classes, own_id = element.attr("class") or "", element.attr("id") or ""
    return f"{classes[:_NAME_LOOKED_AT]} {own_id[:_NAME_LOOKED_AT]}" if classes or own_id else ""


def _weights(blocks: list[_Block]) -> dict[Element, float]:
    """Return what each element holds; the parser nests them no deeper than browsers do."""
    weights: dict[Element, float] = {}
    for block in blocks:
        if block.weight:
            above: Node | None = block.element
            while isinstance(above, Element):
                weights[above] = weights.get(above, 0.0) + block.weight
                above = above.parent
    return weights


def _article_in(body: Element, weights: dict[Element, float]) -> Element:
    """Go down from the body for as long as one child holds nearly all of what its parent holds."""
    top = body
    while True:
        heaviest, weight = None, 0.0
        for child in top.children:
            if isinstance(child, Element) and weights.get(child, 0.0) > weight:
                heaviest, weight = child, weights[child]
        if heaviest is None or (heaviest.tag not in _WRAPPERS and heaviest.tag in _BLOCKS):
            return top
        enough = _MOST if _is_named_article(heaviest) else _NEARLY_ALL
        if weight < enough * weights.get(top, 0.0):
            return top
        top = heaviest


def _has_named(top: Element) -> bool:
    """Whether an element or one close around it is an article by its name."""
    around = islice(top.ancestors, _CLOSE)
    return any(_is_named_article(e) for e in (top, *around) if isinstance(e, Element))


def _is_named_article(element: Element) -> bool:
    return (
        element.tag in ("article", "main")
        or element.attr("itemprop") == "articleBody"
        or _ARTICLE_NAME.search(_name_of(element)) is not None
    )


def _lead(kept: list[_Block], headline: int, end: int) -> list[_Block]:
    """Return the paragraphs between the headline and the element of the article."""
    lead = [
        block
        for block in kept
        if headline <= block.number < end and block.weight and block.linked < 0.2
    ]
    return lead if len(lead) <= _MAX_LEAD else []


def _worth_reading(blocks: list[_Block]) -> list[str]:
    """Return texts without lines of links, and without scraps before and after the running text."""
    running = [number for number, block in enumerate(blocks) if block.weight]
    if not running:
        return []
    first, last = running[0], running[-1]
    read: list[_Block] = []
    for number, block in enumerate(blocks):
        if block.linked >= 0.5 and block.size < 200:
            continue
        is_sentence = block.tag not in _HEADINGS and _SENTENCE_END.search(block.text) is not None
        if number < first and not (is_sentence and block.size >= 30):
            continue
        if number > last and not (is_sentence and block.size >= 20 and block.tag == "p"):
            continue
        read.append(block)
    while read and read[-1].tag in _HEADINGS:
        read.pop()
    return [block.text for block in read]


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _is_title(text: str, titles: list[str]) -> bool:
    """Whether a heading says what the page calls itself, or a part of it."""
    words = _words(text[:1_000])
    return len(words) > 8 and any(
        words in title or (len(title) > 8 and title in words) for title in titles
    )
