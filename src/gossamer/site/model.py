"""The site map: its pages, their assets and links, what went wrong.

One tree: each page once, under the page that led to it first (S2.17, B12); the rest of the links
are lists of targets. URLs are absolute and canonical throughout; only the site itself knows which
of them are its own.
"""

from typing import Final

from msgspec import Struct, field

_OK: Final = 200
ASSET_KINDS: Final = ("img", "css", "js", "video", "audio", "font", "iframe", "other")
"""In the order in which they are shown (B9)."""


def no_assets() -> dict[str, list[str]]:
    """Return an empty list for each kind."""
    return {kind: [] for kind in ASSET_KINDS}


class Facts(Struct, gc=False):
    """What an audit wants to know of a page beyond what the map shows."""

    outcome: str = "ok"
    """The class of reliability 3.0 by its written name, such as `http.4xx` or `policy.robots`."""
    detail: str = ""
    description: str | None = None
    """The content of the meta description; None if there is none."""
    canonical: str | None = None
    hreflang: dict[str, str] = field(default_factory=dict)
    """Language (or x-default) -> URL, of the link elements with rel=alternate."""
    redirect_to: str | None = None
    """Where it leads, if it is a redirect (by status or by an immediate refresh)."""
    simhash: int | None = None
    noindex: bool = False
    nofollow: bool = False
    in_sitemap: bool = False
    """Whether a sitemap of the site lists it."""
    linked_from: list[str] = field(default_factory=list)
    """Pages of the site that link to it, in order, at most a hundred."""
    linked_count: int = 0
    """How many pages link to it in all."""
    insecure_assets: list[str] = field(default_factory=list)
    """Assets loaded over http by a page that came over https."""


class Page(Struct, gc=False):
    """One page of the site; the fields up to `error` are the JSON shape that is documented."""

    url: str
    parent: str | None
    """The page that led to it first; None for the start page and for what only a sitemap names."""
    depth: int
    status: int
    """The HTTP status; 0 when there was none."""
    content_type: str
    checksum: str
    """SHA-256 of the body in hexadecimal; empty when there is no body."""
    alias_of: str | None
    """The page that has the same content under another URL, or that it redirects to."""
    aliases: list[str]
    assets: dict[str, list[str]]
    """A list for each kind; pages with equal assets share it."""
    links: list[str]
    """Pages of the site it links to, each once, in order of appearance."""
    title: str
    bytes: int
    milliseconds: int
    error: str | None
    """What went wrong, for people; None when nothing did."""
    facts: Facts = field(default_factory=Facts)


class AssetCheck(Struct):
    """What became of an asset that was looked at (`--check-assets`)."""

    url: str
    status: int
    error: str | None
    bytes: int = 0
    content_type: str = ""
    outcome: str = "ok"
    """As `Facts.outcome`; it tells what the server did wrong from what we chose not to ask."""


class SiteMap(Struct):
    """A crawl of one site, over or stopped on the way."""

    start_url: str
    site: str
    """Host, with the port if it is written: what counts as the site (B8)."""
    pages: list[Page]
    """Breadth first: by depth, then by when they were first met; the start page first."""
    seconds: float
    complete: bool
    """Whether nothing was left to fetch when it ended."""
    stopped_by: str = ""
    """Why it is not complete: `max-pages`, `max-depth`, `max-time`, `interrupted`, …"""
    filtered: bool = False
    """Whether patterns of the user kept some of the site out (`--include`, `--exclude`)."""
    robots_blocked: list[str] = field(default_factory=list)
    """URLs of the site that robots.txt forbids; they are not pages."""
    checked: dict[str, AssetCheck] = field(default_factory=dict)
    """Assets that were looked at, by URL."""
    notes: list[str] = field(default_factory=list)
    """What a reader of the map must know, such as that robots.txt was set aside."""


class Summary(Struct):
    """The numbers under a map (and `summary` in its JSON)."""

    start_url: str
    site: str
    complete: bool
    stopped_by: str
    pages: int
    """Pages with content of their own."""
    aliases: int
    errors: int
    assets: dict[str, int]
    """Distinct assets by kind."""
    bytes: int
    seconds: float
    pages_per_second: float
    depth: int
    """Of the deepest page."""
    notes: list[str]


def is_error(page: Page) -> bool:
    """Whether a page belongs among the errors."""
    return page.error is not None


def leads_away(page: Page) -> bool:
    """Whether it is a redirect, though to nothing that the map shows."""
    return not 200 <= page.status < 300 and page.facts.redirect_to is not None


def summary_of(site_map: SiteMap) -> Summary:
    """Return the numbers of a map."""
    # Most pages share their assets with others.
    shown: dict[int, dict[str, list[str]]] = {}
    pages = aliases = errors = size = depth = 0
    for page in site_map.pages:
        size += page.bytes
        if page.error is not None:
            errors += 1
        elif page.alias_of is not None or (page.status != _OK and leads_away(page)):
            aliases += 1
        else:
            pages += 1
            # Not with max(): a call for each page takes longer than all else here.
            if page.depth > depth:  # noqa: PLR1730
                depth = page.depth
            shown[id(page.assets)] = page.assets
    distinct = {kind: set[str]() for kind in ASSET_KINDS}
    for assets in shown.values():
        for kind, urls in assets.items():
            if urls:
                distinct[kind].update(urls)
    fetched = pages + aliases + errors
    return Summary(
        start_url=site_map.start_url,
        site=site_map.site,
        complete=site_map.complete,
        stopped_by=site_map.stopped_by,
        pages=pages,
        aliases=aliases,
        errors=errors,
        assets={kind: len(urls) for kind, urls in distinct.items()},
        bytes=size,
        seconds=round(site_map.seconds, 3),
        pages_per_second=round(fetched / site_map.seconds, 1) if site_map.seconds > 0 else 0.0,
        depth=depth,
        notes=site_map.notes,
    )
