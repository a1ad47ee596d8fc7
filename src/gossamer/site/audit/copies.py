"""Pages with the same content, and pages with nearly the same text."""

from collections.abc import Iterator

from gossamer.catalog.near import NearDuplicates
from gossamer.site.audit.case import Case
from gossamer.site.audit.standing import is_html, names_another
from gossamer.site.audit.view import View
from gossamer.site.model import Page


def duplicates(view: View) -> Iterator[Case]:
    """Pages with the same bytes, unless they say which of their URLs is the right one."""
    groups: dict[str, list[Page]] = {}
    for page in view.pages:
        if _has_content(page):
            groups.setdefault(page.checksum, []).append(page)
    for first, *others in groups.values():
        # Same bytes, same canonical link: that of the page that was parsed speaks for all.
        if others and view.content_of(first).facts.canonical is None:
            yield Case(first.url, [page.url for page in others])


def near_duplicates(view: View) -> Iterator[Case]:
    """Pages whose texts differ in little, each with the first that it is near to."""
    near = NearDuplicates()
    leaders: dict[int, int] = {}
    groups: dict[int, list[str]] = {}
    for number, page in enumerate(view.documents):
        simhash = page.facts.simhash
        if simhash is None or page.facts.noindex or names_another(page):
            continue
        leader = leaders.get(simhash)
        if leader is None:
            leader = near.place(number, simhash)
            # Equal fingerprints are common, and need no search.
            leaders[simhash] = number if leader is None else leader
        if leader is not None:
            groups.setdefault(leader, []).append(page.url)
    for leader, others in sorted(groups.items()):
        yield Case(view.documents[leader].url, others)


def _has_content(page: Page) -> bool:
    return (
        page.error is None
        and 200 <= page.status < 300
        and page.bytes > 0
        and bool(page.checksum)
        and page.facts.redirect_to is None
        and is_html(page)
    )
