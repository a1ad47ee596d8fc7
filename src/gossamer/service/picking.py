"""URLs taken from named places of a page (COLLECT_URLS_XPATH_LIST): runs where pages are parsed.

A path finds elements, or texts. Of an element the attribute that names its URL is taken, of a text
the text itself. Time and size of a question are limited as in templates; a path that cannot be used
on a page finds nothing there.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final

from turbohtml import HTMLParseError

from gossamer.handlers.visited import VisitedPage
from gossamer.objects.picking import path_sets_in
from gossamer.parse.scraper_expression import QueryError, RegularExpressionError
from gossamer.parse.scraper_xpath import Found, LateError, Query, attribute_of, shape_of, tree_of
from gossamer.url.canonical import Joiner

_SECONDS: Final = 2.0
_MAX_BYTES: Final = 4 << 20
_HTML: Final = frozenset(("text/html", "application/xhtml+xml"))
_ATTRIBUTES: Final = ("href", "src", "data-src", "action", "data", "poster", "cite")
_MOST_URLS: Final = 10_000
_CACHE_BYTES: Final = 1 << 20

Picked = tuple[tuple[str, tuple[str, ...]], ...]


def picked(page: VisitedPage, monotonic: Callable[[], float] = time.monotonic) -> Picked:
    """Return the URLs that sites want to be collected from a page, by site, if they say where."""
    manner = page.fetch.visit.manner
    if manner is None or not manner.picks:
        return ()
    asked: dict[str, tuple[str, ...]] = {}
    for site_id, text in manner.picks:
        sets = path_sets_in(text)
        paths = () if sets is None else sets.paths_for(page.url)
        if paths:
            asked[site_id] = paths
    if not asked or page.content_type not in _HTML:
        return ()
    return _found(page, asked, monotonic)


def _found(
    page: VisitedPage, asked: dict[str, tuple[str, ...]], monotonic: Callable[[], float]
) -> Picked:
    until = monotonic() + _SECONDS
    body = page.body[:_MAX_BYTES]
    try:
        tree = tree_of(body, page.charset)
    except (HTMLParseError, ValueError, MemoryError, RecursionError):
        return tuple((site_id, ()) for site_id in asked)
    query = Query(tree, shape_of(tree, len(body)), _SECONDS, lambda: monotonic() >= until)
    base = _base_of(page, query)
    joiner = Joiner(cache_bytes=_CACHE_BYTES)
    made = []
    for site_id, paths in asked.items():
        urls = (joiner.join(base, text) for path in paths for text in _texts(query, path))
        unique = list(dict.fromkeys(url for url in urls if url is not None))
        made.append((site_id, tuple(unique[:_MOST_URLS])))
    return tuple(made)


def _texts(query: Query, path: str) -> Iterator[str]:
    try:
        found = query.xpath(path)
    except (QueryError, RegularExpressionError, LateError):
        return
    for each in found:
        text = _reference(each).strip()
        if text:
            yield text


def _reference(found: Found) -> str:
    if isinstance(found, str):
        return found
    values = (attribute_of(found, name) for name in _ATTRIBUTES)
    return next(filter(None, values), "")


def _base_of(page: VisitedPage, query: Query) -> str:
    """Return what references of a page are relative to."""
    named = next(_texts(query, "//base[@href]"), "")
    return (Joiner(cache_bytes=_CACHE_BYTES).join(page.url, named) if named else None) or page.url
