"""A visited page as a user's code sees it."""

from collections.abc import Mapping
from functools import cached_property

from gossamer.messages import Document, Fetch, Link, Page
from gossamer.outcomes import name_of
from gossamer.parse.text import visible_text


class VisitedPage:
    """One fetched URL: what was asked, what came, what it means."""

    def __init__(self, document: Document, page: Page | None) -> None:
        self._document = document
        self._page = page if page is not None else Page()
        self._assets: dict[str, tuple[str, ...]] | None = None

    def __repr__(self) -> str:
        return f"<VisitedPage {self.status} {self.url}>"

    @property
    def fetch(self) -> Fetch:
        """The fetch behind it: what was ordered, and all that came of it on the wire."""
        return self._document.fetch

    @property
    def understood(self) -> Page:
        """All that was understood of it."""
        return self._page

    @property
    def url(self) -> str:
        """The canonical URL."""
        return self._document.fetch.visit.url

    @property
    def doc_id(self) -> int:
        """The number of the URL in the catalog."""
        return self._document.fetch.visit.doc_id

    @property
    def depth(self) -> int:
        """How many links away from a start URL."""
        return self._document.fetch.visit.depth

    @property
    def status(self) -> int:
        """The HTTP status; 0 if there was no answer."""
        return self._document.fetch.status

    @property
    def outcome(self) -> str:
        """The outcome class, such as `ok` or `net.timeout.connect`."""
        return name_of(self._document.fetch.outcome)

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The response headers, names in lower case, repeated ones joined by a comma."""
        joined: dict[str, str] = {}
        for name, value in self._document.fetch.headers:
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return joined

    @property
    def body(self) -> bytes:
        """The body, content coding removed."""
        return self._document.fetch.body

    @cached_property
    def text(self) -> str:
        """The visible text of a page."""
        return visible_text(self.body, self._page)

    @property
    def title(self) -> str:
        """The title of the page."""
        return self._page.title

    @property
    def content_type(self) -> str:
        """The media type, sniffed if the server's word is wrong."""
        return self._page.content_type

    @property
    def charset(self) -> str:
        """The character encoding."""
        return self._page.charset

    @property
    def links(self) -> tuple[str, ...]:
        """The pages this one refers to, absolute, each once."""
        return tuple(dict.fromkeys(link.url for link in self._page.links))

    @property
    def followed(self) -> tuple[str, ...]:
        """Those of the links that a crawler may go on to: neither page nor link says nofollow."""
        if self.nofollow:
            return ()
        return tuple(dict.fromkeys(link.url for link in self._page.links if not link.nofollow))

    @property
    def assets(self) -> Mapping[str, tuple[str, ...]]:
        """What the page needs to be shown, by kind: img, css, js, video, font and so on."""
        # Asked for every page of a map; to wait for others that ask it too, as a cached_property
        # does, takes longer than to make it.
        if self._assets is None:
            self._assets = _by_kind(self._page.assets)
        return self._assets

    @property
    def canonical(self) -> str | None:
        """The URL that the page names as its own (rel=canonical)."""
        return self._page.canonical

    @property
    def description(self) -> str | None:
        """The meta description; None if there is none."""
        return self._page.description

    @property
    def languages(self) -> Mapping[str, str]:
        """The same page in other languages: language (hreflang) -> URL."""
        return dict(self._page.languages)

    @property
    def noindex(self) -> bool:
        """Whether the page asks not to be indexed (robots meta element or X-Robots-Tag)."""
        return self._page.noindex

    @property
    def nofollow(self) -> bool:
        """Whether the page asks that its links are not followed."""
        return self._page.nofollow

    @property
    def fetched_at(self) -> float:
        """When the fetch began, in seconds since 1970 (UTC)."""
        return self._document.fetch.fetched_at

    @property
    def redirect_to(self) -> str | None:
        """Where a redirect leads."""
        return self._document.fetch.redirect_to or self._page.refresh


def _by_kind(links: tuple[Link, ...]) -> dict[str, tuple[str, ...]]:
    by_kind: dict[str, list[str]] = {}
    for link in links:
        by_kind.setdefault(link.kind, []).append(link.url)
    return {kind: tuple(urls) for kind, urls in by_kind.items()}
