"""Redirects that take several hops, lead to an error, or never end."""

from collections.abc import Iterator

from gossamer.site.audit.case import MAX_WHERE, Case
from gossamer.site.audit.standing import is_broken, trouble_of
from gossamer.site.audit.view import View
from gossamer.site.model import Page


def chains(view: View) -> Iterator[Case]:
    """Redirects to a redirect; of a chain those URLs where visitors enter it."""
    routes = view.routes
    inner = {page.facts.redirect_to for page in view.pages}
    for page in view.pages:
        _, hops = routes.ends.get(page.url, ("", 0))
        if hops > 1 and (page.url not in inner or _is_linked(view, page)):
            yield Case(page.url, routes.path(page.url), f"{hops:,} hops", hops)
        elif hops == 0 and page.facts.outcome == "redir.too_many":
            yield Case(page.url, detail=trouble_of(page))


def loops(view: View) -> Iterator[Case]:
    """Redirects that lead back to where they began, each circle once."""
    told: set[str] = set()
    for page in view.pages:
        url = page.url
        circle = view.routes.circles.get(url)
        if circle is not None and url not in told:
            told.update(circle)
            start = circle.index(url) + 1
            hops = circle[start:] + circle[:start]
            yield Case(url, hops[:MAX_WHERE], total=len(hops))
        elif circle is None and page.facts.outcome == "redir.loop":
            yield Case(url, detail=trouble_of(page))


def broken_redirects(view: View) -> Iterator[Case]:
    """Redirects at the end of which there is an error, or that run into a loop of others."""
    for page in view.pages:
        facts = page.facts
        end, _ = view.routes.ends.get(page.url, ("", 0))
        target = view.by_url.get(end)
        if target is not None and is_broken(target):
            words = f"leads to {end}: {trouble_of(target)}"
        elif page.url in view.routes.lost:
            words = "leads into a redirect loop"
        else:
            continue
        yield Case(page.url, facts.linked_from, words, facts.linked_count)


def _is_linked(view: View, page: Page) -> bool:
    """Whether a page that is no redirect itself links to it."""
    return any(url not in view.routes for url in page.facts.linked_from)
