"""What a feed says, as records that travel between processes; and how much of it is taken."""

from msgspec import Struct

from gossamer.outcomes import Outcome


class FeedLimits(Struct, frozen=True, kw_only=True):
    """How far a feed is read; whatever is beyond is left out, and the feed says so."""

    max_bytes: int = 5 << 20
    """Of the body, unpacked."""
    max_json_bytes: int = 4 << 20
    """Of a JSON feed, which cannot be read in part."""
    max_items: int = 10_000
    max_elements: int = 100_000
    """Of an XML document: reading ends after so many."""
    max_url: int = 2_048
    """An item with a longer URL is skipped: cut, it would be another URL."""
    max_guid: int = 1_024
    max_title: int = 1_024
    max_description: int = 4_096
    max_content: int = 200_000
    """Characters of the full text of one item."""
    max_feed_content: int = 2_000_000
    """Characters of the full texts of all items."""
    max_names: int = 32
    """Authors, tags and enclosures of one item, each."""


class Enclosure(Struct, frozen=True, array_like=True, gc=False):
    """A file that belongs to an item: sound, film, picture."""

    url: str
    type: str = ""
    length: int = 0
    """In bytes, as the feed claims; 0 if it does not say."""


class Item(Struct, frozen=True, array_like=True, gc=False):
    """One entry of a feed. Text is plain but for `content_html`; what is not said is empty."""

    url: str
    """Canonical; "" if the item has only a guid."""
    guid: str
    """What tells the item from others; the URL if the feed has nothing better."""
    guid_is_permalink: bool = False
    title: str = ""
    description: str = ""
    content_html: str = ""
    authors: tuple[str, ...] = ()
    published: int | None = None
    """Seconds since 1970, UTC; not later than the feed claims, which may be in the future."""
    updated: int | None = None
    tags: tuple[str, ...] = ()
    image: str = ""
    enclosures: tuple[Enclosure, ...] = ()
    language: str = ""


class Feed(Struct, frozen=True, array_like=True):
    """What a document says as a feed."""

    form: str = ""
    """rss2, rss09 (0.91 to 0.94), rdf (0.90, 1.0 and 1.1), atom1, atom03, json, news_sitemap,
    sitemap, sitemap_index; "" if it is no feed."""
    title: str = ""
    home: str = ""
    """The page that the feed belongs to."""
    language: str = ""
    ttl_seconds: int = 0
    """How long the feed says that it need not be asked again; 0 if it does not say."""
    hub: str = ""
    """WebSub: where to subscribe."""
    topic: str = ""
    """WebSub: what the feed calls itself (rel=self), which is what one subscribes to."""
    items: tuple[Item, ...] = ()
    children: tuple[str, ...] = ()
    """The sitemaps that a sitemap index names."""
    skipped: int = 0
    """How many items were left out: without URL and guid, or with a URL that is too long."""
    outcome: Outcome = Outcome.OK
    """OK, PARSE_TRUNCATED if something is missing at the end, PARSE_FAILED if it is no feed."""
    detail: str = ""
    """What is wrong, for people."""
    flags: tuple[str, ...] = ()
    """What was put up with, sorted: bad_date, bad_xml, cut, dtd, long_guid, long_text, long_url,
    no_identity, same_guid, wrong_charset."""
