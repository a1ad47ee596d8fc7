"""What a page says about itself apart from its text: meta elements, links, JSON-LD, times.

One walk over the tree gathers all of it, within limits; the files that know about dates, names and
titles choose. Nothing here is believed yet.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from turbohtml import Document as Tree
from turbohtml import Element

from gossamer.parse.places import text_of, words_of

MAX_MARKS: Final = 2_000
"""Elements of a kind that are looked at."""
MAX_SCRIPT_CHARACTERS: Final = 1 << 20
"""Of all scripts of a page together."""
MAX_VALUE: Final = 4_096
_MAX_NODES: Final = 2_000
_MAX_DEPTH: Final = 12
_GATHERED: Final = ("h1", "html", "link", "meta", "script", "time", "title")
_PROPERTIES: Final = ("property", "name", "itemprop", "http-equiv")
_ARTICLE_TYPE: Final = re.compile(r"(?:Article|Posting|Report|Review|Story)$")
_COMMENTED: Final = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*<!\[CDATA\[\*/)")
_END_OF_COMMENT: Final = re.compile(r"(?:-->|//\s*\]\]>|/\*\]\]>\*/)\s*$")

Node = dict[str, Any]


class Marks(msgspec.Struct):
    """What was gathered; texts as the page has them."""

    metas: dict[str, list[str]]
    """Contents by property or name, in lower case."""
    links: dict[str, list[str]]
    """Targets by rel, in lower case."""
    nodes: list[Node]
    """Articles in the JSON-LD, in the order of the page."""
    times: list[Element]
    headings: list[str]
    scripts: list[str]
    title: str = ""
    language: str = ""

    def meta(self, *names: str) -> str:
        """Return the first content of the first of these that has one."""
        return next((value for name in names for value in self.metas.get(name, ())), "")


def marks_of(tree: Tree) -> Marks:
    """Gather what a page says about itself."""
    marks = Marks({}, {}, [], [], [], [])
    left = dict.fromkeys(_GATHERED, MAX_MARKS)
    room = MAX_SCRIPT_CHARACTERS
    for element in tree.iter_elements(_GATHERED):
        tag = element.tag
        if not left[tag]:
            continue
        left[tag] -= 1
        if tag == "script":
            text = element.text[: room + 1]
            if len(text) <= room:
                room -= len(text)
                _take_script(marks, element, text)
        else:
            _take(marks, element, tag)
    return marks


def values_of(found: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON-LD: a text, something with a name, or a list of these."""
    for each in (found if isinstance(found, list) else [found])[:64]:
        value = each
        if isinstance(value, dict):
            value = value.get("name") or value.get("@value") or value.get("url") or value.get("@id")
            if isinstance(value, list):
                value = value[0] if value else ""
        if isinstance(value, str) and value.strip():
            yield value[:MAX_VALUE]


def value_of(node: Node, *names: str) -> str:
    """Return the first text that a node has under one of these names."""
    return next((value for name in names for value in values_of(node.get(name))), "")


def _take(marks: Marks, element: Element, tag: str) -> None:
    if tag == "meta":
        content = text_of(element, "content")[:MAX_VALUE].strip()
        if content:
            for kind in _PROPERTIES:
                for name in text_of(element, kind)[:MAX_VALUE].lower().split():
                    marks.metas.setdefault(name, []).append(content)
    elif tag == "link":
        for rel in words_of(element, "rel"):
            marks.links.setdefault(rel, []).append(text_of(element, "href")[:MAX_VALUE])
    elif tag == "time":
        marks.times.append(element)
    elif tag == "h1":
        marks.headings.append(element.text[:MAX_VALUE])
    elif tag == "title":
        marks.title = marks.title or element.text[:MAX_VALUE]
    elif not marks.language:
        marks.language = (text_of(element, "lang") or text_of(element, "xml:lang"))[:64]


def _take_script(marks: Marks, element: Element, text: str) -> None:
    kind = text_of(element, "type").lower()
    if "ld+json" in kind:
        marks.nodes.extend(_articles(_decoded(text)))
    elif text and (not kind or "javascript" in kind or "json" in kind or kind == "module"):
        marks.scripts.append(text)


def _decoded(text: str) -> Any:
    text = _END_OF_COMMENT.sub("", _COMMENTED.sub("", text))
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        # Many pages have bare line ends inside of strings.
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _articles(document: Any) -> list[Node]:
    """Return the nodes of a document that are articles, without going through all of a huge one."""
    found: list[Node] = []
    waiting: list[tuple[Any, int]] = [(document, 0)]
    for _ in range(_MAX_NODES):
        if not waiting:
            break
        value, depth = waiting.pop()
        if isinstance(value, dict):
            if _is_article(value.get("@type")):
                found.append(value)
            inner = [each for each in value.values() if isinstance(each, dict | list)]
        else:
            inner = value if isinstance(value, list) else []
        if depth < _MAX_DEPTH:
            waiting.extend((each, depth + 1) for each in reversed(inner[:_MAX_NODES]))
    return found


def _is_article(kind: Any) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(isinstance(each, str) and _ARTICLE_TYPE.search(each[-64:]) for each in kinds[:8])
