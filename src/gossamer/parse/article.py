"""What a news page says, as one record: text, title, authors, date and language, each with a doubt.

In comes a page (or what a feed carried instead of one) and what the feed said about it; out goes an
Article, whatever the input: a page without an article is an Article with the words of the feed, or
with no text at all.

The text is taken from the first of these that has enough of it: the page itself if it is plain
text, its article (article_text.py), the data of its scripts (article_script.py), the feed.
"""

import re
from typing import Final, Literal

import msgspec
from turbohtml import Document as Tree
from turbohtml import HTMLParseError, parse

from gossamer.parse.article_authors import Authors, authors_of, names_in
from gossamer.parse.article_date import Beginning, Published, datelines_of, published_of
from gossamer.parse.article_facts import MAX_DESCRIPTION, MAX_TITLE, facts_of, plain, titles_of
from gossamer.parse.article_language import language_of
from gossamer.parse.article_marks import Marks, marks_of
from gossamer.parse.article_script import (
    MIN_CHARACTERS,
    lines_of,
    one_paragraph_a_line,
    text_in_json_ld,
    text_in_scripts,
)
from gossamer.parse.article_text import body_of
from gossamer.parse.charset import to_utf8
from gossamer.parse.flood import cut_flood

How = Literal["", "plain", "fast", "slow", "script", "feed"]
"""Where the text is from: taken as it is, from a fast or the slow extractor, from data inside
scripts, from the feed, or ("") from nowhere."""

MAX_BYTES: Final = 2 << 20
"""Of a page; what is behind is not looked at."""
MAX_PLAIN: Final = 4_096
"""Content shorter than this, without any tag, is taken as it is."""
MAX_TEXT: Final = 1 << 20
_TAG: Final = re.compile(r"<[a-zA-Z/!?]")
_AROUND: Final = 2_000
_PLAIN_CONFIDENCE: Final = 0.9
_SCRIPT_CONFIDENCE: Final = 0.75
_FEED_CONTENT_CONFIDENCE: Final = 0.7
_FEED_CONFIDENCE: Final = 0.4
_FEED_FACT_CONFIDENCE: Final = 0.8


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What the feed said about a story before its page was looked at."""

    title: str = ""
    description: str = ""
    """May contain markup, as in feeds."""
    published: float | None = None
    """Seconds since 1970 (UTC)."""
    authors: tuple[str, ...] = ()
    language: str = ""
    """A language tag, of the item or of the whole feed."""
    content_html: str = ""
    fetched_at: float | None = None
    """When the page was fetched; a date more than a day after that is not believed."""


class Article(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a story, and how sure; a confidence is between 0 and 1."""

    title: str = ""
    text: str = ""
    """Paragraphs, one to a line."""
    how: How = ""
    text_confidence: float = 0.0
    authors: tuple[str, ...] = ()
    authors_confidence: float = 0.0
    published: float | None = None
    """Seconds since 1970 (UTC)."""
    published_how: str = ""
    """Where the date is from: json-ld, meta, microdata, feed, time, url, text; "" for no date."""
    published_confidence: float = 0.0
    language: str = ""
    """Two or three letters (ISO 639), lower case."""
    language_confidence: float = 0.0
    canonical_url: str = ""
    description: str = ""
    image: str = ""
    tags: tuple[str, ...] = ()
    detail: str = ""
    """What was cut or could not be read."""


class _Text(msgspec.Struct, frozen=True):
    text: str = ""
    how: How = ""
    confidence: float = 0.0


def extract(
    html: bytes | str, url: str, *, charset: str = "", hints: Hints | None = None
) -> Article:
    """Return what a page says; `charset` is the label of the HTTP header. Never raises."""
    hints = hints or Hints()
    if isinstance(html, str):
        # Halves of characters, which no encoding can write, are possible in a str.
        html, charset = html.encode("utf-8", "replace"), "utf-8"
    body, detail = _limited(html, charset)
    plain = _plain(body, charset)
    if plain is not None:
        return _of_plain_text(plain, hints, detail)
    try:
        tree = _tree(body, charset)
        return _of_page(tree, _decoded(body, tree), url, hints, detail)
    except (HTMLParseError, ValueError, MemoryError, RecursionError) as error:
        return _of_plain_text("", hints, f"cannot be parsed as HTML: {error}")


def _limited(body: bytes, charset: str) -> tuple[bytes, str]:
    notes: list[str] = []
    if len(body) > MAX_BYTES:
        notes.append(f"only the first {MAX_BYTES} of {len(body)} bytes were looked at")
        body = body[:MAX_BYTES]
    body, note = cut_flood(body, charset)
    return body, "; ".join([*notes, note] if note else notes)


def _plain(body: bytes, charset: str) -> str | None:
    """Return the text of short content without any tag; None for all other content."""
    if len(body) >= 4 * MAX_PLAIN:
        return None
    text = to_utf8(body, charset)[0].decode("utf-8", "replace")
    return text if len(text) < MAX_PLAIN and not _TAG.search(text) else None


def _tree(body: bytes, charset: str) -> Tree:
    """Parse; a charset label that the Encoding standard does not know counts as none."""
    try:
        return parse(body, positions=False, encoding=charset or None)
    except LookupError:
        return parse(body, positions=False)


def _decoded(body: bytes, tree: Tree) -> str:
    """Return the text of a page in the encoding that the parser found."""
    try:
        return body.decode(f"whatwg-{(tree.encoding or 'utf-8').lower()}", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _of_page(tree: Tree, markup: str, url: str, hints: Hints, detail: str) -> Article:
    # In this order: the search for the text uses the tree up.
    marks = marks_of(tree)
    authors = authors_of(tree, marks, hints.authors)
    datelines = datelines_of(tree, marks)
    main_text = tree.main_text()
    hidden = text_in_json_ld(marks)
    body = body_of(tree, markup, main_text, (*titles_of(marks), hints.title), hidden)
    found = _Text(body.text, body.how, body.confidence)
    detail = "; ".join(note for note in (detail, body.note) if note)
    if len(found.text) < MIN_CHARACTERS:
        hidden = text_in_scripts(marks)
        if len(hidden) > len(found.text):
            found = _Text(hidden, "script")
    if found.how == "script":
        found = _Text(found.text, "script", max(found.confidence, _SCRIPT_CONFIDENCE))
    beginning = Beginning(datelines, main_text[:_AROUND])
    published = published_of(marks, url, beginning, hints.published, hints.fetched_at)
    return _put_together(marks, url, _or_from_feed(found, hints), authors, published, hints, detail)


def _of_plain_text(text: str, hints: Hints, detail: str) -> Article:
    """Return an article that consists of a text and what the feed said about it."""
    text = one_paragraph_a_line(text)
    found = _Text(text, "plain", _PLAIN_CONFIDENCE) if text else _Text()
    marks = Marks({}, {}, [], [], [], [])
    names = names_in(hints.authors)
    authors = Authors(names, _FEED_FACT_CONFIDENCE if names else 0.0)
    published = published_of(marks, "", Beginning(), hints.published, hints.fetched_at)
    return _put_together(marks, "", _or_from_feed(found, hints), authors, published, hints, detail)


def _or_from_feed(found: _Text, hints: Hints) -> _Text:
    """Return the words of the feed where the page has no text, or much less than the feed."""
    if len(found.text) >= MIN_CHARACTERS or found.how == "plain":
        return found
    content = lines_of(hints.content_html)
    if len(content) > 2 * len(found.text):
        return _Text(content, "feed", _FEED_CONTENT_CONFIDENCE)
    if found.text:
        return found
    text = "\n".join(each for each in (hints.title.strip(), lines_of(hints.description)) if each)
    return _Text(text, "feed", _FEED_CONFIDENCE) if text else found


def _put_together(
    marks: Marks,
    url: str,
    found: _Text,
    authors: Authors,
    published: Published,
    hints: Hints,
    detail: str,
) -> Article:
    facts = facts_of(marks, url)
    text = found.text[:MAX_TEXT]
    language = language_of(marks, text, hints.language)
    return Article(
        title=facts.title or plain(hints.title)[:MAX_TITLE],
        text=text,
        how=found.how,
        text_confidence=found.confidence,
        authors=authors.names,
        authors_confidence=authors.confidence,
        published=published.moment,
        published_how=published.how,
        published_confidence=published.confidence,
        language=language.code,
        language_confidence=language.confidence,
        canonical_url=facts.canonical_url,
        description=facts.description or plain(hints.description)[:MAX_DESCRIPTION],
        image=facts.image,
        tags=facts.tags,
        detail=detail,
    )
