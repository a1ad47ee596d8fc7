"""The site's own sitemap against what its links lead to."""

from collections.abc import Iterator

from gossamer.site.audit.case import Case
from gossamer.site.audit.standing import (
    is_broken,
    is_forbidden,
    names_another,
    trouble_of,
)
from gossamer.site.audit.view import View
from gossamer.site.model import Page


def orphans(view: View) -> Iterator[Case]:
    """Pages that the sitemap names and no link leads to, from the start page on."""
    # Before everything is fetched nobody knows what links to what.
    if not view.map.complete or view.map.filtered:
        return
    for page in view.documents:
        if page.facts.in_sitemap and page.url != view.map.start_url and not _is_linked(view, page):
            yield Case(page.url)


def left_out(view: View) -> Iterator[Case]:
    """Pages that links lead to and the sitemap does not name, if there is one at all."""
    if not any(page.facts.in_sitemap for page in view.pages):
        return
    for page in view.indexable:
        if not any(version.facts.in_sitemap for version in _versions(view, page)):
            yield Case(page.url)


def unsuitable(view: View) -> Iterator[Case]:
    """URLs in the sitemap that do not belong there."""
    for page in view.pages:
        if page.facts.in_sitemap and (reason := _reason_against(page)):
            yield Case(page.url, detail=reason)


def _is_linked(view: View, page: Page) -> bool:
    """Whether a page that can be found links to it, by whichever of its URLs."""
    versions = _versions(view, page)
    own = {version.url for version in versions}
    # That orphans link to each other helps nobody to find them. What can be found stands first in
    # the map: if none of the first hundred pages that link to it is such a page, no other is.
    return any(
        url in view.found and url not in own
        for version in versions
        for url in version.facts.linked_from
    )


def _versions(view: View, page: Page) -> list[Page]:
    found = (view.by_url.get(url) for url in page.aliases)
    return [page, *(alias for alias in found if alias is not None)]


def _reason_against(page: Page) -> str:
    if is_broken(page) or is_forbidden(page):
        return trouble_of(page)
    if page.facts.redirect_to is not None:
        return f"redirects to {page.facts.redirect_to}"
    if page.facts.noindex:
        return "noindex"
    if names_another(page):
        return f"names {page.facts.canonical} as canonical"
    return ""
