"""Links and assets that lead nowhere, and what robots.txt keeps from us."""

from collections.abc import Callable, Iterator
from itertools import chain

from gossamer.site.audit.case import Case
from gossamer.site.audit.standing import (
    is_broken,
    is_forbidden,
    is_missing,
    is_rate_limited,
    is_refused,
    trouble_of,
)
from gossamer.site.audit.view import Places, View
from gossamer.site.model import AssetCheck, Page


def broken_links(view: View) -> Iterator[Case]:
    """Pages that fail and that others link to."""
    return _linked_pages(view, is_broken)


def broken_pages(view: View) -> Iterator[Case]:
    """Pages that fail and that no page links to: the start page, or what a sitemap names."""
    for page in view.pages:
        if is_broken(page) and not page.facts.linked_count:
            yield Case(page.url, detail=trouble_of(page))


def forbidden_links(view: View) -> Iterator[Case]:
    """Pages that others link to and that want a password, or do not want us."""
    return _linked_pages(view, is_forbidden)


def rate_limited(view: View) -> Iterator[Case]:
    """Pages that were not shown to us because we asked too often."""
    for page in view.pages:
        if is_rate_limited(page):
            yield Case(page.url, detail=trouble_of(page))


def broken_assets(view: View) -> Iterator[Case]:
    """Assets that are not there; also pages in frames that fail."""
    trouble = _checked(view, is_missing)
    # What only a frame shows has no link that leads to it.
    trouble.update({page.url: trouble_of(page) for page in view.pages if is_broken(page)})
    return _used_assets(view, trouble)


def refused_assets(view: View) -> Iterator[Case]:
    """Assets whose server did not want to show them to us."""
    return _used_assets(view, _checked(view, is_refused))


def robots_blocked(view: View) -> Iterator[Case]:
    """URLs of the site that robots.txt forbids."""
    blocked = dict.fromkeys(view.map.robots_blocked)
    if not blocked:
        return
    places = Places(blocked)
    for page in view.pages:
        places.note(page, page.links)
    for url in blocked:
        yield places.case(url)


def _linked_pages(view: View, applies: Callable[[Page], bool]) -> Iterator[Case]:
    for page in view.pages:
        facts = page.facts
        if facts.linked_count and applies(page):
            yield Case(page.url, facts.linked_from, trouble_of(page), facts.linked_count)


def _checked(view: View, applies: Callable[[AssetCheck], bool]) -> dict[str, str]:
    return {url: trouble_of(check) for url, check in view.map.checked.items() if applies(check)}


def _used_assets(view: View, trouble: dict[str, str]) -> Iterator[Case]:
    """Yield those of the URLs that a page uses as an asset."""
    if not trouble:
        return
    places = Places(trouble)
    for page in view.pages:
        places.note(page, chain.from_iterable(page.assets.values()))
    for url, words in trouble.items():
        if places.has(url):
            yield places.case(url, words)
