"""What passes between the rooms: Due -> Visit -> Fetch -> Document -> Page -> Findings.

A room takes one kind and gives the next, and never changes what it was handed. What crosses a
process boundary is `array_like` (small and fast as msgpack): Visit, Done, Found, Findings.
"""

from enum import IntEnum
from typing import Final

from msgspec import Struct

from gossamer.outcomes import PAGE_OUTCOMES, Outcome, State

NOT_MODIFIED_STATUS: Final = 304
# The outcome of a DONE that does not tell: over the wire only the store server hears it.
NOT_SAID: Final = 0
_SUCCESSES: Final = (Outcome.OK, Outcome.NOT_MODIFIED)


class Kind(IntEnum):
    """What a URL is fetched as."""

    PAGE = 0
    SITEMAP = 1
    ASSET = 2
    FEED = 3
    ROBOTS = 4
    CHECK = 5
    """Only its head is asked for: whether it is there."""


class News(IntEnum):
    """Whether a page says anything that others of its family (url/families.py) did not."""

    UNKNOWN = 0
    """Not looked at; or it says nothing, but leads to pages of another family."""
    SOME = 1
    NONE = 2


class Manner(Struct, frozen=True, array_like=True, gc=False):
    """How a URL is asked for when not as all others, and for whom."""

    headers: tuple[tuple[str, str], ...] = ()
    """In the place of the usual ones with these names."""
    timeout_ms: int = 0
    """0: as usual."""
    connect_ms: int = 0
    delay_ms: int = 0
    """The gap between requests to its host is not shorter than this."""
    kept_as: tuple[tuple[str, str], ...] = ()
    """The sites of the service that want it, each with the md5 under which they know it."""
    keeps_headers: bool = True
    keeps_request: bool = True
    keeps_cookies: bool = False
    keeps_types: tuple[str, ...] = ()
    """Content types of which raw contents are kept; empty: all."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Content types, each with the one that is meant by it."""
    agent: str = ""
    """Product token of the User-Agent in `headers`: what robots.txt says to it counts as well."""
    proxy: str = ""
    """It is asked for through this proxy, `http://host:port`; empty: directly."""
    spoiled_by: tuple[str, ...] = ()
    """A page in which one of these expressions is found is the proxy's, not the server's."""
    keeps_spoiled: bool = False
    """Such a page is kept all the same."""
    picks: tuple[tuple[str, str], ...] = ()
    """Sites of the service that say where on a page URLs are collected from, and what they say."""


class Due(Struct, frozen=True, gc=False):
    """A URL that the catalog offers to the URL server, already leased to it."""

    doc_id: int
    url: str
    host: str
    """Lower-case host name without port: the key of queues and politeness."""
    depth: int = 0
    kind: Kind = Kind.PAGE
    tries: int = 0
    """How often it has been tried already."""
    via: tuple[str, ...] = ()
    """The redirect chain that led here, first URL first."""
    etag: str | None = None
    last_modified: str | None = None
    seen: bytes | None = None
    """Of a feed: what its stories summed up to when it was last read."""
    manner: Manner | None = None


class Visit(Struct, frozen=True, array_like=True, gc=False):
    """An order to the spider: fetch this now, from this address."""

    trans_id: int
    doc_id: int
    address: str
    url: str
    depth: int = 0
    kind: int = 0
    tries: int = 0
    report_start: bool = False
    """Say so the moment the request is on the wire (hosts that are given gaps need it)."""
    via: tuple[str, ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    seen: bytes | None = None
    manner: Manner | None = None


class Done(Struct, frozen=True, array_like=True, gc=False):
    """The transfer is over, whatever came of it: the host's slot is free."""

    trans_id: int
    outcome: int
    """NOT_SAID when it will become known by another way."""
    status: int = 0
    sent_at: float = 0.0
    """Monotonic time at which the request went out; 0.0 if it never did."""
    retry_after_seconds: float | None = None


class Fetch(Struct, gc=False):
    """A visit and everything that came of it on the wire."""

    visit: Visit
    outcome: Outcome
    detail: str = ""
    """For people: what exactly happened."""
    status: int = 0
    http_version: str = ""
    request_head: bytes = b""
    """The request as sent."""
    head: bytes = b""
    """Status line and header lines of the final response as received, ended by an empty line."""
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case, values as Latin-1 text, in order."""
    raw: bytes = b""
    """The body as received, transfer coding removed, content coding kept: what an archive keeps."""
    body: bytes = b""
    """The body decoded."""
    flags: tuple[str, ...] = ()
    """Oddities that were tolerated, e.g. `length_unknown`, `tls_unverified`."""
    address: str = ""
    """The address the socket was really connected to."""
    fetched_at: float = 0.0
    """Wall time at which the fetch began."""
    sent_at: float = 0.0
    milliseconds: int = 0
    retry_after_seconds: float | None = None
    redirect_to: str | None = None
    """Where a redirect leads, absolute and canonical."""

    @property
    def success(self) -> bool:
        """Whether a complete, usable document was received (or is known to be unchanged)."""
        return self.outcome in _SUCCESSES and (200 <= self.status < 300 or self.status == 304)

    def first_headers(self) -> dict[str, str]:
        """Return the first value of each header: for who asks for several."""
        return dict(reversed(self.headers))

    def header(self, name: str) -> str | None:
        """Return the first value of a header (`name` in lower case)."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


class Pointer(Struct, frozen=True, array_like=True, gc=False):
    """Where the store keeps something: file name, byte offset, byte length."""

    file: str
    offset: int
    length: int


class Document(Struct, frozen=True, gc=False):
    """A fetch whose bytes the store has taken."""

    fetch: Fetch
    pointer: Pointer | None
    payload_digest: str = ""


class Link(Struct, frozen=True, array_like=True, gc=False):
    """A reference found in a page, absolute and canonical."""

    url: str
    kind: str
    """`a`, `frame`, `canonical`, `sitemap` …, or an asset kind: img, css, js, video …"""
    nofollow: bool = False


class Page(Struct, frozen=True, gc=False):
    """A document understood."""

    content_type: str = ""
    """The type after sniffing, without parameters."""
    charset: str = ""
    title: str = ""
    links: tuple[Link, ...] = ()
    """References to other pages."""
    assets: tuple[Link, ...] = ()
    """References to what the page needs to be shown."""
    sitemap_urls: tuple[Link, ...] = ()
    canonical: str | None = None
    description: str | None = None
    """The content of the meta description; None if there is none."""
    languages: tuple[tuple[str, str], ...] = ()
    """Language and URL of each link with rel=alternate and hreflang, in the page or its header."""
    refresh: str | None = None
    """Target of an immediate meta refresh (S4.23)."""
    nofollow: bool = False
    noindex: bool = False
    simhash: int | None = None
    outcome: Outcome = Outcome.OK
    """OK, or one of PARSE_*: how far the understanding went."""
    detail: str = ""


class Found(Struct, frozen=True, array_like=True, gc=False):
    """A URL discovered: enters the catalog if it is not known yet."""

    url: str
    md5: bytes
    host: str
    depth: int
    kind: int = 0
    state: int = int(State.PENDING)
    outcome: int | None = None
    """The reason, when the state is EXCLUDED."""
    via: tuple[str, ...] = ()
    probation: str = ""
    """The family of the page it was found on, when that page said nothing new."""
    detail: str = ""
    """For people: why it is excluded."""


class Findings(Struct, frozen=True, array_like=True, gc=False):
    """All that one visit adds to what is known; committed in one transaction."""

    doc_id: int
    trans_id: int
    outcome: int
    status: int
    fetched_at: float
    milliseconds: int
    tries: int = 1
    content_type: str = ""
    body_bytes: int = 0
    wire_bytes: int = 0
    checksum: bytes | None = None
    simhash: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    pointer: Pointer | None = None
    redirect_to: str | None = None
    title: str = ""
    detail: str = ""
    retry_after_seconds: float | None = None
    targets: bytes = b""
    """The first 8 bytes of the md5 of each outgoing link, concatenated."""
    found: tuple[Found, ...] = ()
    payload_digest: str = ""
    records: tuple[str, ...] = ()
    """What handlers of the user's own made of the page, each as JSON."""
    news: int = int(News.UNKNOWN)

    @property
    def is_page(self) -> bool:
        """Whether there is a document to show for it; a redirect is done, but it is no page."""
        return self.outcome in PAGE_OUTCOMES and (
            self.status == NOT_MODIFIED_STATUS or not 300 <= self.status < 400
        )
