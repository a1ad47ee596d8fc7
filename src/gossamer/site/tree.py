"""The pages of a map as a tree: each once, under the page that led to it first (B12).

Whoever walks it needs neither recursion nor luck: a chain of 100,000 pages is a deep tree, and
parents that are missing or lead in a circle cost no page its place.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gossamer.site.model import Page, SiteMap, is_error
from gossamer.site.origin import origin_of


class Node(NamedTuple):
    """A page where the walk meets it."""

    page: Page
    depth: int
    """Below the top of the tree that it stands in, not below the start page."""
    last: bool
    """Whether no sibling follows."""


class Tree:
    """The pages of a map, by URL and by parent."""

    def __init__(self, site_map: SiteMap) -> None:
        self.by_url: dict[str, Page] = {page.url: page for page in site_map.pages}
        self.root: Page | None = site_map.pages[0] if site_map.pages else None
        self.others: list[Page] = []
        """Tops of further trees: pages that no page led to, such as those of a sitemap."""
        self._children: dict[str, list[Page]] = {}
        for page in site_map.pages:
            if page is self.root:
                continue
            if page.parent in self.by_url:
                self._children.setdefault(page.parent, []).append(page)
            else:
                self.others.append(page)
        self._break_circles(site_map.pages)

    def children(self, page: Page) -> list[Page]:
        """Return the pages that this page was the first to lead to."""
        return self._children.get(page.url, [])

    def shown(self, page: Page) -> bool:
        """Whether a page has its place in the tree: an error has one only if it leads to pages."""
        return not is_error(page) or bool(self.children(page))

    def walk(self, top: Page) -> Iterator[Node]:
        """Yield a page and all below it that are shown, parents first."""
        waiting = [Node(top, 0, last=True)]
        while waiting:
            node = waiting.pop()
            yield node
            below = [page for page in self.children(node.page) if self.shown(page)]
            waiting.extend(
                Node(page, node.depth + 1, last=number == 0)
                for number, page in enumerate(reversed(below))
            )

    def _break_circles(self, pages: list[Page]) -> None:
        tops = [*self.others, *([self.root] if self.root else [])]
        met = {url for top in tops for url in self._all_below(top)}
        for page in pages:
            if page.url not in met:
                # Its parents lead to itself: cut it loose, and all that hangs on it comes along.
                self._children[page.parent or ""].remove(page)
                self.others.append(page)
                met.update(self._all_below(page))

    def _all_below(self, top: Page) -> Iterator[str]:
        waiting = [top]
        while waiting:
            page = waiting.pop()
            yield page.url
            waiting.extend(self.children(page))


def origin_of_site(site_map: SiteMap) -> str:
    """Return the origin of most of the pages: that of the first page with content of its own."""
    for page in site_map.pages:
        if page.alias_of is None and not is_error(page):
            return origin_of(page.url)
    return origin_of(site_map.start_url)
