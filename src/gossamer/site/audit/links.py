"""Links and assets that lead nowhere, and what robots.txt keeps from us."""

from collections.abc import Callable, Collection, Iterator
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
    return _linked_pages(view, is_broken, lambda _: True)


def broken_pages(view: View) -> Iterator[Case]:
    """Pages that fail and that no page links to: the start page, or what a sitemap names."""
    found = [page for page in view.pages if is_broken(page) and not page.facts.linked_count]
    used = _uses(view, [page.url for page in found])
    for page in found:
        if not used.has(page.url):
            yield Case(page.url, detail=trouble_of(page))


def forbidden_links(view: View) -> Iterator[Case]:
    """Pages that others link to and that want a password, or do not want us."""
    return _linked_pages(view, is_forbidden, view.map.checked.__contains__)


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


def _linked_pages(
    view: View, applies: Callable[[Page], bool], told_as_asset: Callable[[str], bool]
) -> Iterator[Case]:
    """Yield pages with where they are linked, without those places that load them as assets.

    A frame is a link, too: what is wrong with it is told once, where assets are.
    """
    found = [page for page in view.pages if page.facts.linked_count and applies(page)]
    loading = _loading(view, {page.url for page in found if told_as_asset(page.url)})
    for page in found:
        facts, told = page.facts, loading.get(page.url, ())
        count = facts.linked_count - len(told)
        if count:
            where = [url for url in facts.linked_from if url not in told]
            yield Case(page.url, where, trouble_of(page), count)


def _loading(view: View, urls: set[str]) -> dict[str, set[str]]:
    """Return which pages load these URLs as assets and link to them as well."""
    loading: dict[str, set[str]] = {}
    if urls:
        for page in view.pages:
            for url in urls.intersection(chain.from_iterable(page.assets.values())):
                if url in page.links:
                    loading.setdefault(url, set()).add(page.url)
    return loading


def _checked(view: View, applies: Callable[[AssetCheck], bool]) -> dict[str, str]:
    return {url: trouble_of(check) for url, check in view.map.checked.items() if applies(check)}


def _used_assets(view: View, trouble: dict[str, str]) -> Iterator[Case]:
    """Yield those of the URLs that a page uses as an asset."""
    places = _uses(view, trouble)
    for url, words in trouble.items():
        if places.has(url):
            yield places.case(url, words)


def _uses(view: View, urls: Collection[str]) -> Places:
    """Return where pages use these URLs as assets."""
    places = Places(urls)
    if urls:
        for page in view.pages:
            places.note(page, chain.from_iterable(page.assets.values()))
    return places
