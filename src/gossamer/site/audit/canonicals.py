"""Canonical links that contradict what they name."""

from collections.abc import Iterator

from gossamer.site.audit.case import Case
from gossamer.site.audit.standing import (
    is_broken,
    is_forbidden,
    is_html,
    names_another,
    trouble_of,
)
from gossamer.site.audit.view import View
from gossamer.site.model import Page


def to_errors(view: View) -> Iterator[Case]:
    """Canonical links to a page that fails."""
    for url, target in _named(view):
        if is_broken(target) or is_forbidden(target):
            yield Case(url, [target.url], trouble_of(target))


def to_redirects(view: View) -> Iterator[Case]:
    """Canonical links to a page that leads elsewhere."""
    for url, target in _named(view):
        if target.facts.redirect_to is not None:
            yield Case(url, [target.url, target.facts.redirect_to])


def chains(view: View) -> Iterator[Case]:
    """Canonical links to a page whose own canonical link names yet another."""
    for url, target in _named(view):
        further = view.content_of(target).facts.canonical
        if further not in (None, target.url):
            yield Case(url, [target.url, further])


def to_hidden(view: View) -> Iterator[Case]:
    """Canonical links to a page that search engines may not list or read."""
    blocked = frozenset(view.map.robots_blocked)
    for page in _naming(view):
        canonical = page.facts.canonical or ""
        target = view.by_url.get(canonical)
        if canonical in blocked:
            yield Case(page.url, [canonical], "blocked by robots.txt")
        elif target is not None and view.content_of(target).facts.noindex:
            yield Case(page.url, [canonical], "noindex")


def off_site(view: View) -> Iterator[Case]:
    """Canonical links to another site."""
    for page in _naming(view):
        canonical = page.facts.canonical or ""
        if not view.is_on_site(canonical):
            yield Case(page.url, [canonical])


def _naming(view: View) -> Iterator[Page]:
    """Pages whose canonical link names another URL."""
    for page in view.pages:
        if names_another(page) and page.error is None and is_html(page):
            yield page


def _named(view: View) -> Iterator[tuple[str, Page]]:
    """Pages with the page that their canonical link names, if it is known."""
    for page in _naming(view):
        target = view.by_url.get(page.facts.canonical or "")
        if target is not None:
            yield page.url, target
