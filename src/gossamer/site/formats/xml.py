"""The map as sitemaps.org wants it, for search engines.

It lists what a visitor may find: pages answered with 200, each under one URL, none that asks not to
be indexed, or to be indexed under another URL. A sitemap holds at most 50,000 URLs and 50 MB;
beyond that it is several files and an index that names them.
"""

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final
from urllib.parse import quote

from gossamer.errors import InputError
from gossamer.site.audit.standing import names_another
from gossamer.site.model import Page, SiteMap, is_error
from gossamer.site.tree import origin_of_site

MAX_URLS: Final = 50_000
MAX_BYTES: Final = 50 * 1024 * 1024
# The type tLoc of the schema (sitemap.xsd), which counts the characters before they are escaped.
MIN_LOCATION: Final = 12
MAX_LOCATION: Final = 2048

_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
# Not with xml.sax.saxutils, which loads an HTTP client: 7 ms of each `gossamer site`.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


def write(site_map: SiteMap, file: BinaryIO) -> None:
    """Write the one sitemap of a site; a site that needs several has to go to files."""
    parts = sitemaps(site_map)
    first = next(parts)
    if next(parts, None) is not None:
        raise InputError(
            f"this site needs more than one sitemap (over {MAX_URLS:,} URLs or 50 MB); "
            "name a file or a folder for them with -o"
        )
    file.write(first)


def files(site_map: SiteMap, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of all files: the sitemap, or its parts and then their index."""
    parts = sitemaps(site_map)
    first, second = next(parts), next(parts, None)
    if second is None:
        yield name, first
        return
    stem = name.removesuffix(".xml")
    locations: list[str] = []
    for number, content in enumerate(_chain(first, second, parts), start=1):
        part = f"{stem}-{number}.xml"
        locations.append(f"{origin_of_site(site_map)}/{quote(part)}")
        yield part, content
    yield name, index(locations)


def sitemaps(
    site_map: SiteMap, *, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES
) -> Iterator[bytes]:
    """Yield as many sitemaps as the site needs, at least one."""
    head, tail = _frame("urlset")
    lines = [head]
    size = len(head) + len(tail)
    for page in filter(is_listed, site_map.pages):
        line = _entry("url", page.url)
        if len(lines) > max_urls or size + len(line) > max_bytes:
            yield b"".join([*lines, tail])
            lines, size = [head], len(head) + len(tail)
        lines.append(line)
        size += len(line)
    yield b"".join([*lines, tail])


def index(locations: Iterable[str]) -> bytes:
    """Return the index of these sitemaps."""
    head, tail = _frame("sitemapindex")
    return b"".join([head, *(_entry("sitemap", location) for location in locations), tail])


def is_listed(page: Page) -> bool:
    """Whether a page belongs in a sitemap."""
    return (
        page.status == 200
        and not is_error(page)
        and page.alias_of is None
        and not page.facts.noindex
        and not names_another(page)
        and page.facts.redirect_to is None
        and MIN_LOCATION <= len(page.url) <= MAX_LOCATION
    )


def _frame(element: str) -> tuple[bytes, bytes]:
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{element} xmlns="{_NAMESPACE}">\n'
    return head.encode(), f"</{element}>\n".encode()


def _entry(element: str, url: str) -> bytes:
    # What XML cannot hold no canonical URL holds; quoting leaves all else as it is.
    location = quote(url, safe="!#$%&'()*+,/:;=?@[]~\"<>\\^`{|}").translate(_ESCAPES)
    return f"<{element}><loc>{location}</loc></{element}>\n".encode()


def _chain(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest
