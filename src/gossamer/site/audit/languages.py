"""Versions of a page in other languages: whether they are there, and name each other.

Theory of operation. The versions of a page usually name all the same set of URLs, themselves among
them; such a set is looked at once and not once for each of its pages: with thirty languages that is
a thirtieth of the work.
"""

from collections.abc import Iterator

from gossamer.site.audit.case import Case
from gossamer.site.audit.standing import is_broken, is_document, is_forbidden
from gossamer.site.audit.view import View
from gossamer.site.model import Page

Versions = tuple[str, ...]
"""The URLs that a page names, each once: x-default often repeats one."""


def without_return(view: View) -> Iterator[Case]:
    """Pages that name another version which does not name them."""
    returns = _Returns(view)
    for page in view.documents:
        if page.facts.hreflang and (silent := returns.missing(page)):
            yield Case(page.url, silent)


def broken(view: View) -> Iterator[Case]:
    """Pages that name another version which fails or leads elsewhere."""
    known: dict[Versions, list[str]] = {}
    for page in view.documents:
        if not page.facts.hreflang:
            continue
        versions = _versions(page)
        if versions not in known:
            known[versions] = [url for url in versions if _is_bad(view.by_url.get(url))]
        if known[versions]:
            yield Case(page.url, known[versions])


class _Returns:
    """What the versions of a page name."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._sets: dict[Versions, frozenset[str]] = {}
        self._agreed: dict[Versions, bool] = {}
        self._named: dict[str, frozenset[str] | None] = {}

    def missing(self, page: Page) -> list[str]:
        """Return the versions of a page that do not name it, by whichever of its URLs."""
        versions = _versions(page)
        if page.url in self._set_of(versions) and self._do_agree(versions):
            return []
        own = {page.url, *page.aliases, page.facts.canonical}
        return [
            url
            for url in versions
            if url not in own
            and (named := self._named_by(url)) is not None
            and own.isdisjoint(named)
        ]

    def _do_agree(self, versions: Versions) -> bool:
        """Whether all of them, as far as they are known, name this same set."""
        if versions not in self._agreed:
            named = self._set_of(versions)
            self._agreed[versions] = all(self._named_by(url) in (None, named) for url in versions)
        return self._agreed[versions]

    def _named_by(self, url: str) -> frozenset[str] | None:
        """Return what a page names; None when nothing is known about it."""
        if url not in self._named:
            page = self._view.by_url.get(url)
            self._named[url] = None if page is None else self._named_on(page)
        return self._named[url]

    def _named_on(self, page: Page) -> frozenset[str] | None:
        content = self._view.content_of(page)
        # For versions that fail there is another rule.
        return self._set_of(_versions(content)) if is_document(content) else None

    def _set_of(self, versions: Versions) -> frozenset[str]:
        if versions not in self._sets:
            self._sets[versions] = frozenset(versions)
        return self._sets[versions]


def _versions(page: Page) -> Versions:
    return tuple(dict.fromkeys(page.facts.hreflang.values()))


def _is_bad(page: Page | None) -> bool:
    return page is not None and (
        is_broken(page) or is_forbidden(page) or page.facts.redirect_to is not None
    )
