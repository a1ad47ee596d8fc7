"""The text of an article by a cascade: two fast extractors, and a slow one where they disagree.

Ours (article_paragraphs.py) and turbohtml's look at a page in different ways, so a text that both
find is hardly ever wrong. Where turbohtml's is a part of ours, ours is taken, too: it often stops
at the first of several sections. Where they differ otherwise, trafilatura is asked, too, and the
text that agrees best with the other two is taken. docs/decisions/extraction.md has the figures.
"""

import logging
import re
from collections import Counter
from importlib.util import find_spec
from typing import Final, Literal

import msgspec
from turbohtml import Document as Tree

from gossamer.parse.article_paragraphs import article_paragraphs
from gossamer.parse.article_script import one_paragraph_a_line

AGREED: Final = 0.8
"""Share of words that two texts have in common from which they are the same article."""
PART: Final = 0.95
"""Share of the words of a text that another must have for it to be a part of that."""
SMALLEST_PART: Final = 0.2
MAX_TAGS: Final = 50_000
"""A page with more is left to turbohtml alone, which takes the same time for each."""
MAX_TAGS_OF_SLOW: Final = 15_000
MAX_CHARACTERS_OF_SLOW: Final = 1 << 20
# Pieces that may be attributes; a picture inside of an attribute has fewer, for its length.
_LONG_TAG: Final = re.compile(r"<[a-zA-Z](?:[^<>\s\"'/]*+[\s\"'/]++){20000}")
_MIN_WORDS: Final = 40
_FAVOUR: Final = 0.05
_PART_CONFIDENCE: Final = 0.85
_STANDING_OUT_CONFIDENCE: Final = 0.8
_LONG: Final = 1_000
_NEXT_TO_NOTHING: Final = 0.25
_ALONE, _MAJORITY = 0.35, 0.85
_COMPARED: Final = 1 << 17
# Scripts without spaces are compared by characters.
_DENSE: Final = re.compile("[\u0e00-\u0e7f\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]")
_SLOW: Final = "trafilatura"
NOT_INSTALLED: Final = "trafilatura is not installed; install it: pip install 'gossamer[news]'"


class Body(msgspec.Struct, frozen=True):
    """The text of an article, one paragraph to a line."""

    text: str = ""
    how: Literal["", "fast", "slow", "script"] = ""
    confidence: float = 0.0
    note: str = ""
    """What was left undone."""


def body_of(
    tree: Tree, markup: str, main_text: str, titles: tuple[str, ...], hidden: str = ""
) -> Body:
    """Return the text of a page; the tree is used up.

    `markup` is what the tree was made from, and `main_text` what turbohtml finds in it. A `hidden`
    text, from the data of scripts, is the third opinion instead of the slow extractor's.
    """
    theirs = one_paragraph_a_line(main_text)
    tags = markup.count("<")
    if tags > MAX_TAGS:
        return Body(theirs, "fast" if theirs else "", 0.3 if theirs else 0.0)
    paragraphs = article_paragraphs(tree, titles)
    ours = "\n".join(paragraphs.texts)
    words, other_words = _words(ours), _words(theirs)
    if words.total() >= _MIN_WORDS:
        likeness = _likeness(words, other_words)
        if likeness >= AGREED:
            return Body(ours, "fast", _confidence(likeness))
        if _is_part(other_words, words):
            return Body(ours, "fast", _PART_CONFIDENCE)
        # turbohtml found next to nothing on a page with a long article that nobody can miss.
        is_long = len(ours) >= _LONG and other_words.total() <= _NEXT_TO_NOTHING * words.total()
        if is_long and paragraphs.are_alone and paragraphs.are_named and not hidden:
            return Body(ours, "fast", _STANDING_OUT_CONFIDENCE)
    fast = [_Candidate(ours, "fast", words), _Candidate(theirs, "fast", other_words)]
    if hidden:
        return _chosen([_Candidate(hidden, "script", _words(hidden)), *fast])
    if not has_slow():
        return msgspec.structs.replace(_chosen(fast), note=f"it was needed: {NOT_INSTALLED}")
    slow = one_paragraph_a_line(_ask_slow(markup)) if _is_harmless(markup, tags) else ""
    slow = _with_lines(slow, theirs)
    asked = _words(slow)
    # It sometimes sees all but the article.
    if paragraphs.are_alone and asked.total() < _NEXT_TO_NOTHING * words.total():
        return _chosen(fast)
    return _chosen([_Candidate(slow, "slow", asked), *fast])


def _with_lines(slow: str, theirs: str) -> str:
    """Return a text with its paragraphs: the slow extractor's last resort is one long line."""
    is_same = "\n" not in slow and "".join(slow.split()) == "".join(theirs.split())
    return theirs if is_same else slow


def has_slow() -> bool:
    """Whether the slow extractor is installed."""
    return find_spec(_SLOW) is not None


class _Candidate(msgspec.Struct, frozen=True, eq=False):
    text: str
    how: Literal["fast", "slow", "script"]
    words: Counter[str]


def _chosen(candidates: list[_Candidate]) -> Body:
    """Return the text that is most like the others; in doubt the slow extractor's."""
    best, most = Body(), -1.0
    for each in candidates:
        if not each.text:
            continue
        likeness = [_likeness(each.words, one.words) for one in candidates if one is not each]
        score = sum(likeness) / len(likeness) + (_FAVOUR if each.how == "slow" else 0.0)
        if score > most:
            # Two that agree are a majority; one alone is a guess.
            confidence = round(_ALONE + (_MAJORITY - _ALONE) * max(likeness), 2)
            best, most = Body(each.text, each.how, confidence), score
    return best


def _confidence(likeness: float) -> float:
    return round(0.87 + 0.12 * (likeness - AGREED) / (1 - AGREED), 2)


def _words(text: str) -> Counter[str]:
    """Count words; both texts are from one page, so marks that stick to them do not matter."""
    text = text[:_COMPARED]
    if text.isascii() or not _DENSE.search(text):
        return Counter(text.split())
    return Counter("".join(text.split()))


def _is_part(words: Counter[str], others: Counter[str]) -> bool:
    total = words.total()
    return total >= SMALLEST_PART * others.total() and (words & others).total() >= PART * total > 0


def _likeness(words: Counter[str], others: Counter[str]) -> float:
    """Return the share of words in common, between 0 and 1."""
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def _is_harmless(markup: str, tags: int) -> bool:
    """Whether the slow extractor ends in time: its parser takes n² for n attributes of a tag."""
    return (
        tags <= MAX_TAGS_OF_SLOW
        and len(markup) <= MAX_CHARACTERS_OF_SLOW
        and not _LONG_TAG.search(markup)
    )


def _ask_slow(markup: str) -> str:
    try:
        return _slow_extract(markup)
    except Exception as error:  # noqa: BLE001 - another project's code meets a hostile page
        logging.getLogger(__name__).debug("trafilatura failed: %r", error)
        return ""


def _slow_extract(markup: str) -> str:
    # A quarter of a second the first time, and not in every installation.
    from trafilatura import extract  # noqa: PLC0415

    # What it says about broken pages is about the pages.
    logging.getLogger(_SLOW).setLevel(logging.CRITICAL)
    return extract(markup, fast=True, include_comments=False) or ""
