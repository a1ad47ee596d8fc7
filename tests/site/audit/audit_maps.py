"""Small maps for the rules: a site without any fault, to which one fault is added."""

import hashlib
import itertools

from gossamer.site.audit.audit import audit
from gossamer.site.findings import Finding
from gossamer.site.model import Facts, Page, SiteMap, no_assets

SITE = "https://a.test"


def at(path: str) -> str:
    """Return a URL of the site; whole URLs are left as they are."""
    return path if "://" in path else SITE + path


def page(path: str, status: int = 200, error: str | None = None, **fields) -> Page:
    """Return a page without a fault but for what is asked for; `facts` are fields of Facts."""
    url = at(path)
    facts = {"description": f"About {url}", "linked_from": [at("/")], "linked_count": 1}
    facts |= {name: fields.pop(name) for name in Facts.__struct_fields__ if name in fields}
    defaults = {
        "parent": at("/"),
        "depth": 1,
        "content_type": "text/html",
        "checksum": hashlib.sha256(url.encode()).hexdigest(),
        "alias_of": None,
        "aliases": [],
        "assets": no_assets() | fields.pop("assets", {}),
        "links": [],
        "title": f"Page {url[-40:]}",
        "bytes": 4_000,
        "milliseconds": 50,
    }
    return Page(url=url, status=status, error=error, facts=Facts(**facts), **defaults | fields)


def gone(path: str, **fields) -> Page:
    """Return a page that is not there."""
    return page(path, 404, "404 Not Found", **{"outcome": "http.4xx"} | fields)


def redirect(path: str, target: str, **fields) -> Page:
    """Return a page that leads elsewhere."""
    return page(path, 301, redirect_to=at(target), title="", bytes=0, checksum="", **fields)


def site(*pages: Page, **fields) -> SiteMap:
    """Return a map of a start page and these pages."""
    start = page("/", parent=None, depth=0, linked_from=[], linked_count=0)
    has_start = any(other.url == start.url for other in pages)
    fields = {"seconds": 1.0, "complete": True} | fields
    return SiteMap(
        start_url=start.url,
        site="a.test",
        pages=list(pages) if has_start else [start, *pages],
        **fields,
    )


def finding(rule: str, site_map: SiteMap) -> Finding | None:
    """Return what a rule found."""
    found = [each for each in audit(site_map) if each.rule == rule]
    assert len(found) <= 1, "a rule has one finding"
    return found[0] if found else None


def found(rule: str, site_map: SiteMap) -> dict[str, list[str]]:
    """Return the URLs that a rule found, each with what belongs to it, as paths of the site."""
    result = finding(rule, site_map)
    if result is None:
        return {}
    return {
        short(url): [short(place) for place in result.where.get(url, [])] for url in result.urls
    }


def short(url: str) -> str:
    """Return the path of a URL of the site; other URLs are left as they are."""
    return url.removeprefix(SITE)


def copies(*paths: str, **fields) -> list[Page]:
    """Return pages with the same bytes; the first is the one that was parsed."""
    first, *others = paths
    checksum = hashlib.sha256(first.encode()).hexdigest()
    parsed = page(first, checksum=checksum, aliases=[at(path) for path in others], **fields)
    return [
        parsed,
        *(page(path, checksum=checksum, alias_of=at(first), title="") for path in others),
    ]


def numbered(count: int) -> list[str]:
    """Return so many paths."""
    return [f"/{number}" for number in itertools.islice(itertools.count(), count)]
