"""What a worker reports of a document to who asked for it: crosses to the catalog as a record."""

from typing import Final

from msgspec import Struct

from gossamer.url.plain import KEY_BYTES

FEED_DATE_CONFIDENCE: Final = 0.8
"""How sure a date of publication is that a feed names."""
UPDATE_DATE_CONFIDENCE: Final = 0.5
"""The same where it names only when the story was last changed."""


class Sighting(Struct, frozen=True, array_like=True, gc=False):
    """A story as a feed names it."""

    url: str
    """Canonical."""
    md5: bytes
    host: str
    guid: str
    title: str
    keys: tuple[bytes, ...]
    """URL and guid, in full and in the lossy form, hashed: a story is known by any of them."""
    title_key: bytes | None = None
    """The normalised title, hashed; None when it has none."""
    published: float | None = None
    authors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    language: str = ""
    image: str = ""
    content_html: str = ""
    updated: float | None = None
    """All that Atom must say of its time, when it was published being optional (RFC 4287)."""


class FeedReport(Struct, frozen=True, array_like=True, gc=False):
    """A feed as it was found."""

    form: str = ""
    """Empty: it is no feed."""
    title: str = ""
    home: str = ""
    language: str = ""
    ttl_seconds: float | None = None
    hub: str = ""
    topic: str = ""
    checksum: bytes = b""
    """Of the sorted URLs of its stories (S4.33)."""
    redundant: bool = False
    """The checksum is that of the last visit: the stories were not looked at, nor kept."""
    sightings: tuple[Sighting, ...] = ()
    detail: str = ""
    """For people: why it is no feed, or what was tolerated."""


class Hints(Struct, frozen=True, omit_defaults=True):
    """What a feed said of a story, kept for its extraction."""

    title: str = ""
    published: float | None = None
    authors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    language: str = ""
    image: str = ""
    content_html: str = ""
    updated: float | None = None


class PageReport(Struct, frozen=True, array_like=True, gc=False):
    """A page as the crawling service remembers it."""

    charset: str = ""
    raw_md5: str = ""
    """Of the body, in hexadecimal digits."""
    links: tuple[str, ...] = ()
    """Canonical URLs that may be followed: of pages, and of what is neither page nor medium."""
    media: tuple[str, ...] = ()
    """Canonical URLs of pictures, sound and films."""
    links_inside: int = 0
    """How many of the links lead to its own host."""
    links_outside: int = 0
    last_modified: float | None = None
    title: str = ""
    spoiled: bool = False
    """It is what a proxy answered in the place of the server."""
    length: int | None = None
    """How long a document is whose head alone was asked for, if the head says so."""
    picked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Canonical URLs that are in the places which a site has named, by site."""
    keys: bytes = b""
    """Those of links and media, one after the other: whoever commits has no time to waste."""
    garbled: bool = False
    """It cannot be read in its charset."""

    @property
    def is_keyed(self) -> bool:
        """Whether it has the keys of all links and media; one that was written down may not."""
        return len(self.keys) == KEY_BYTES * (len(self.links) + len(self.media))
