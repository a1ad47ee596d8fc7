"""The map as the rules look at it: with the indexes that several of them need."""

from collections.abc import Iterable

from gossamer.site.audit.case import MAX_WHERE, Case
from gossamer.site.audit.routes import Routes
from gossamer.site.audit.standing import is_document, is_indexable
from gossamer.site.model import Page, SiteMap
from gossamer.url.parts import site_of


class View:
    """A site map with its indexes; made once for all rules."""

    def __init__(self, site_map: SiteMap) -> None:
        self.map = site_map
        self.pages = site_map.pages
        self.by_url = {page.url: page for page in site_map.pages}
        self.documents = [page for page in site_map.pages if is_document(page)]
        self.indexable = [page for page in self.documents if is_indexable(page)]
        self.found = _found_from_start(site_map)
        """The URLs that links lead to, from the start page on."""
        self.routes = Routes(
            {
                page.url: page.facts.redirect_to
                for page in site_map.pages
                if page.facts.redirect_to is not None
            }
        )
        # All pages are of the site, so their hosts are those that count as the site.
        self._sites = {site_map.site, *(site_of(page.url) for page in site_map.pages)}

    def is_on_site(self, url: str) -> bool:
        """Whether a URL belongs to the site."""
        return site_of(url) in self._sites

    def content_of(self, page: Page) -> Page:
        """Return the page that was parsed for this one: of equal pages only the first is."""
        if page.alias_of is None or page.facts.redirect_to is not None:
            return page
        first = self.by_url.get(page.alias_of, page)
        return first if first.checksum == page.checksum else page


def _found_from_start(site_map: SiteMap) -> set[str]:
    found = {site_map.start_url}
    # Parents stand before their children.
    for page in site_map.pages:
        if page.parent in found:
            found.add(page.url)
    return found


class Places:
    """Collects for some URLs the pages where they occur: the first hundred, and how many."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        self._pages: dict[str, list[str]] = {url: [] for url in self._wanted}
        self._counts = dict.fromkeys(self._wanted, 0)

    def note(self, page: Page, urls: Iterable[str]) -> None:
        """Note which of the URLs of a page are wanted; call it once for a page."""
        for url in self._wanted.intersection(urls):
            self._counts[url] += 1
            if self._counts[url] <= MAX_WHERE:
                self._pages[url].append(page.url)

    def case(self, url: str, detail: str = "") -> Case:
        """Return what is known of a URL."""
        return Case(url, self._pages[url], detail, self._counts[url])

    def has(self, url: str) -> bool:
        """Whether it occurs anywhere."""
        return self._counts[url] > 0
