"""The text of an article that a page keeps in data for its scripts instead of showing it.

Two forms are known: one long text under a name such as `articleBody`, and a list of paragraphs,
each under a name such as `text`. The longest of all is taken.
"""

import json
import re
from typing import Final

from turbohtml import HTMLParseError, parse

from gossamer.parse.article_marks import Marks
from gossamer.parse.feed_text import looks_like_markup

MIN_CHARACTERS: Final = 256
"""Shorter texts are teasers."""
MAX_CHARACTERS: Final = 1 << 18
_MIN_PARAGRAPH: Final = 60
_MIN_PARAGRAPHS: Final = 3
_MAX_STRINGS: Final = 5_000
_WHOLE: Final = frozenset((
    "articleBody", "articleBodyHtml", "articleContent", "articleHtml", "articleText",
    "article_body", "article_html", "body", "bodyHtml", "bodyText", "body_html", "content",
    "contentHtml", "contentText", "content_html", "fullText", "full_text", "mainContent",
    "newsContent", "postContent", "post_content", "storyBody", "storyHTML", "storyText",
))  # fmt: skip
_PARAGRAPH: Final = frozenset(("content", "copy", "html", "paragraph", "text", "value"))
_NAMES: Final = "|".join(sorted(_WHOLE | _PARAGRAPH, key=len, reverse=True))
# A name, then a string as JSON or JavaScript writes it.
_STRING: Final = re.compile(
    rf"\b(?P<name>{_NAMES})[\"']?\s{{0,8}}[:=]\s{{0,8}}"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*+)\"|'(?P<single>(?:[^'\\]|\\.)*+)'"
    r"|`(?P<back>(?:[^`\\]|\\.)*+)`)",
    re.DOTALL,
)
_ESCAPED_QUOTE: Final = re.compile(r"\\(['`])")
_BARE_QUOTE: Final = re.compile(r"(?<!\\)\"")
_SENTENCE: Final = re.compile(r"[.!?…。！？]")  # noqa: RUF001


def text_in_json_ld(marks: Marks) -> str:
    """Return the longest text of an article in the JSON-LD of a page, one paragraph to a line."""
    bodies = (node.get("articleBody") for node in marks.nodes)
    return _longest([_readable(body) for body in bodies if isinstance(body, str)])


def text_in_scripts(marks: Marks) -> str:
    """Return the longest text of an article in all data of a page, one paragraph to a line."""
    found = [text for script in marks.scripts for text in _texts_in(script)]
    return _longest([text_in_json_ld(marks), *found])


def _longest(texts: list[str]) -> str:
    best = max(texts, key=len, default="")
    return best if len(best) >= MIN_CHARACTERS else ""


def lines_of(markup: str) -> str:
    """Return what a reader sees of a piece of HTML, one paragraph to a line."""
    markup = markup[:MAX_CHARACTERS]
    try:
        text = parse(markup, positions=False).to_text() if "<" in markup else markup
    except (HTMLParseError, ValueError, MemoryError, RecursionError):
        return ""
    return one_paragraph_a_line(text)


def one_paragraph_a_line(text: str) -> str:
    """Return a text without empty lines, with single spaces."""
    return "\n".join(line for each in text.splitlines() if (line := " ".join(each.split())))


def _texts_in(script: str) -> list[str]:
    whole: list[str] = []
    paragraphs: dict[str, list[str]] = {}
    for number, match in enumerate(_STRING.finditer(script)):
        if number == _MAX_STRINGS:
            break
        name = match["name"]
        literal = match["double"] or match["single"] or match["back"] or ""
        if len(literal) < _MIN_PARAGRAPH:
            continue
        text = _readable(_value_of(literal, is_json=match["double"] is not None))
        if name in _WHOLE and len(text) >= MIN_CHARACTERS and _SENTENCE.search(text):
            whole.append(text)
        if name in _PARAGRAPH and len(text) >= _MIN_PARAGRAPH and _SENTENCE.search(text):
            paragraphs.setdefault(name, []).append(text)
    lists = ["\n".join(each) for each in paragraphs.values() if len(each) >= _MIN_PARAGRAPHS]
    return whole + lists


def _value_of(literal: str, *, is_json: bool) -> str:
    """Return what a string of a script means; as it is written if that cannot be said."""
    literal = literal[:MAX_CHARACTERS]
    if not is_json:
        literal = _BARE_QUOTE.sub(r"\\\"", _ESCAPED_QUOTE.sub(r"\1", literal))
    try:
        value = json.loads(f'"{literal}"', strict=False)
    except ValueError:
        return literal.replace("\\n", "\n").replace("\\", "")
    return str(value)


def _readable(text: str) -> str:
    return lines_of(text) if looks_like_markup(text) else lines_of(text.replace("<", " "))
