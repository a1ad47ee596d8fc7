"""What a worker notes of a document when feeds are looked for: a handler like a user's own."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from gossamer.handlers.visited import VisitedPage
from gossamer.outcomes import Outcome
from gossamer.parse.discovery import feed_links
from gossamer.parse.feed import read_feed, urls_checksum
from gossamer.parse.sniff import HTML, XHTML, claimed_by

HANDLER: Final = "gossamer.news.noticing:notice"
"""The name under which a worker finds the handler."""

_READABLE: Final = (Outcome.OK, Outcome.PARSE_TRUNCATED)
_MAX_TITLE: Final = 300
_MAX_CHILDREN: Final = 1_000


class Notice(Struct, omit_defaults=True):
    """A document as a feed, or as a page that may name feeds."""

    form: str = ""
    """Empty: it is no feed."""
    title: str = ""
    home: str = ""
    own_url: str = ""
    """What the feed calls itself."""
    items: int = 0
    checksum: str = ""
    """Of the URLs of its items; empty when it has none."""
    children: list[str] = []
    """The sitemaps of a sitemap index."""
    feeds: list[str] = []
    """What a page names that may be feeds."""
    declared: int = 0
    """How many of them, the first ones, a page declares to be its feeds."""


def notice(page: VisitedPage) -> Iterator[Notice]:
    """Yield the one record of a document."""
    claimed, charset = claimed_by(page.headers.get("content-type"))
    feed = read_feed(page.body, claimed, charset, page.url)
    if feed.form and feed.outcome in _READABLE:
        urls = [item.url or item.guid for item in feed.items]
        yield Notice(
            form=feed.form,
            title=feed.title[:_MAX_TITLE],
            home=feed.home,
            own_url=feed.topic,
            items=len(urls),
            checksum=urls_checksum(urls).hex() if urls else "",
            children=list(feed.children[:_MAX_CHILDREN]),
        )
    elif page.content_type in (HTML, XHTML):
        feeds, declared = feed_links(page.body, page.charset, page.url)
        yield Notice(feeds=feeds, declared=declared)
