"""Where the feeds of a site may be: what its pages link to, and where most sites have theirs.

All of it is suspicion: only a reading of what is there (`feed.py`) makes it a feed.
"""

import re
from typing import Final

from turbohtml import Document as Tree
from turbohtml import Element, HTMLParseError, parse

from gossamer.parse.flood import cut_flood
from gossamer.parse.places import base_in, text_of, words_of
from gossamer.url.canonical import Joiner, host_of, registrable_domain

COMMON_PATHS: Final = (
    "/feed",
    "/rss",
    "/rss.xml",
    "/feed.xml",
    "/atom.xml",
    "/index.xml",
    "/feed.json",
    "/feeds/posts/default",
    "/index.rdf",
    "/?feed=rss2",
    "/news-sitemap.xml",
    "/sitemap-news.xml",
    "/news_sitemap.xml",
    "/sitemap_news.xml",
)
"""Paths to try on a site that names no feed, the likeliest first."""

MAX_FOUND: Final = 200
_MAX_BYTES: Final = 2 << 20
_MAX_ANCHORS: Final = 20_000
_TYPES: Final = frozenset(
    (
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/feed+json",
        "application/json",
        "application/xml",
        "application/rss",
        "application/atom",
        "text/xml",
        "text/rss",
    )
)
_PATH: Final = re.compile(
    r"[/._=?&-](?:feeds?|rss2?|atom|rdf)(?:[/._?&#-]|$)|[/=](?:index|posts?|news)\.xml$",
    re.IGNORECASE,
)
_FEED_HOSTS: Final = ("feeds.", "feed.", "rss.")
_COMMENTS: Final = re.compile(r"comments?\b", re.IGNORECASE)


def feed_links(body: bytes, charset: str, url: str) -> tuple[list[str], int]:
    """Return the URLs on a page that may be feeds: those it declares, then those it links to.

    And how many of the first it declares. Feeds of comments, which have no stories, come last and
    do not count.
    """
    tree = _tree(body, charset)
    if tree is None:
        return [], 0
    joiner = Joiner(cache_bytes=1 << 20)
    base = base_in(tree)
    base = (joiner.join(url, base) if base else None) or url
    own = registrable_domain(host_of(joiner.join(url, "") or "http://invalid/"))
    found: dict[str, None] = {}
    for element in tree.select("link[rel~=alternate i][href]")[:_MAX_ANCHORS]:
        if _is_declared(element):
            _add(found, joiner.join(base, text_of(element, "href")))
    found.pop(url, None)
    declared = sum(not _COMMENTS.search(target) for target in found)
    for element in tree.select("a[href]")[:_MAX_ANCHORS]:
        target = joiner.join(base, text_of(element, "href"))
        if target is not None and _may_be_feed(target, element, own):
            _add(found, target)
    found.pop(url, None)
    return sorted(found, key=lambda target: _COMMENTS.search(target) is not None), declared


def _tree(body: bytes, charset: str) -> Tree | None:
    body, _ = cut_flood(body[:_MAX_BYTES], charset)
    for label in (charset or None, None):
        try:
            return parse(body, positions=False, encoding=label)
        except (LookupError, ValueError):
            # A label that nobody knows counts as none.
            continue
        except (HTMLParseError, MemoryError, RecursionError):
            break
    return None


def _is_declared(element: Element) -> bool:
    """Tell a feed from translations, style sheets and other faces of a page."""
    kind = text_of(element, "type").partition(";")[0].strip().lower()
    return kind in _TYPES and "stylesheet" not in words_of(element, "rel")


def _may_be_feed(target: str, element: Element, own: str) -> bool:
    if text_of(element, "type").strip().lower() in _TYPES:
        return True
    host = host_of(target)
    if host.startswith(_FEED_HOSTS):
        return True
    return registrable_domain(host) == own and _PATH.search(target, 8) is not None


def _add(found: dict[str, None], target: str | None) -> None:
    if target is not None and len(found) < MAX_FOUND:
        found[target] = None
