"""Title, address, description, picture and tags of an article, from what its page says."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urljoin

import msgspec

from gossamer.parse.article_marks import MAX_VALUE, Marks, value_of, values_of
from gossamer.parse.feed_text import looks_like_markup, on_one_line, text_in
from gossamer.url.canonical import canonicalize

MAX_TITLE: Final = 512
MAX_DESCRIPTION: Final = 1_024
MAX_TAGS: Final = 50
MAX_TAG: Final = 100
# Between the title of an article and the name of its site.
_BEFORE_SITE: Final = re.compile(r"\s+[|\-–—·»•:]+\s+")  # noqa: RUF001
_MIN_TITLE: Final = 12
_MIN_LIKENESS: Final = 0.3
_MAX_HEADINGS: Final = 8
_WORD: Final = re.compile(r"\w+")


class Facts(msgspec.Struct, frozen=True):
    """What a page says about its article; "" for what it does not say."""

    title: str
    canonical_url: str
    description: str
    image: str
    tags: tuple[str, ...]


def facts_of(marks: Marks, url: str) -> Facts:
    """Return what a page at `url` says about its article."""
    node = marks.nodes[0] if marks.nodes else {}
    canonical = next(iter(marks.links.get("canonical", ())), "") or marks.meta("og:url")
    description = marks.meta("og:description", "description", "twitter:description")
    image = marks.meta("og:image", "og:image:url", "twitter:image", "twitter:image:src")
    return Facts(
        title=title_of(marks),
        canonical_url=_address(canonical, url),
        description=plain(description or value_of(node, "description"))[:MAX_DESCRIPTION],
        image=_address(image or value_of(node, "image", "thumbnailUrl"), url),
        tags=_tags(marks),
    )


def plain(said: str) -> str:
    """Return a text on one line; markup inside, which some write where none belongs, is removed."""
    return text_in(said) if looks_like_markup(said) else on_one_line(said)


def titles_of(marks: Marks) -> tuple[str, ...]:
    """Return all that a page calls itself, the most reliable first, as it is written."""
    nodes = [value_of(node, "headline") for node in marks.nodes[:2]]
    metas = [marks.meta("og:title"), marks.meta("twitter:title"), marks.title]
    return tuple(title for title in (*nodes, *metas) if title.strip())


def title_of(marks: Marks) -> str:
    """Return what the reader sees as the title, without the name of the site."""
    titles = [plain(said) for said in titles_of(marks)]
    headline = _headline(marks.headings, titles)
    if headline:
        return headline[:MAX_TITLE]
    site = on_one_line(marks.meta("og:site_name"))
    for said, title in zip(titles_of(marks), titles, strict=True):
        short = _without_site(title, site, is_plain_title=said == marks.title)
        if short:
            return short[:MAX_TITLE]
    return next((text for each in marks.headings if (text := on_one_line(each))), "")[:MAX_TITLE]


def _headline(headings: list[str], titles: list[str]) -> str:
    """Return the heading that has most words in common with what the page calls itself."""
    said = [words for title in titles if (words := set(_WORD.findall(title.lower())))]
    best, most = "", _MIN_LIKENESS
    for heading in headings[:_MAX_HEADINGS]:
        text = on_one_line(heading)
        words = set(_WORD.findall(text.lower()))
        if len(text) < _MIN_TITLE or not words:
            continue
        likeness = max((len(words & each) / min(len(words), len(each)) for each in said), default=0)
        if likeness > most:
            best, most = text, likeness
    return best


def _without_site(title: str, site: str, *, is_plain_title: bool) -> str:
    parts = _BEFORE_SITE.split(title)
    if len(parts) == 1:
        return title
    if site and parts[-1].casefold() == site.casefold():
        return title[: title.rindex(parts[-1])].rstrip(" |-–—·»•:")  # noqa: RUF001
    if site and parts[0].casefold() == site.casefold():
        return title[title.index(parts[1]) :]
    # Only the title element is for the window, where the site's name is added.
    if is_plain_title and len(parts[0]) >= _MIN_TITLE and len(parts[-1]) < len(parts[0]):
        return title[: title.rindex(parts[-1])].rstrip(" |-–—·»•:")  # noqa: RUF001
    return title


def _address(reference: str, url: str) -> str:
    """Return an absolute URL in its canonical form; nothing for what is none of http."""
    reference = reference.strip()
    if not reference or len(reference) >= MAX_VALUE:
        return ""
    try:
        return canonicalize(urljoin(url, reference)) or ""
    except ValueError:
        return ""


def _tags(marks: Marks) -> tuple[str, ...]:
    tags: dict[str, str] = {}
    for said in _said_tags(marks):
        tag = plain(said)
        if 1 < len(tag) <= MAX_TAG:
            tags.setdefault(tag.casefold(), tag)
        if len(tags) == MAX_TAGS:
            break
    return tuple(tags.values())


def _said_tags(marks: Marks) -> Iterator[str]:
    yield from marks.metas.get("article:tag", ())
    for node in marks.nodes[:1]:
        for value in values_of(node.get("keywords")):
            yield from value.split(",")
    for name in ("news_keywords", "keywords", "parsely-tags", "sailthru.tags"):
        for value in marks.metas.get(name, ())[:8]:
            yield from value.split(",")
