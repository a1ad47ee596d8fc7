"""What a worker makes of a page for the crawling service: a handler like a user's own."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

from gossamer.clock import header_moment
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Kind
from gossamer.objects.proxying import is_spoiled
from gossamer.parse.charset import recoded
from gossamer.reports import PageReport
from gossamer.service.picking import Picked, picked
from gossamer.url.parts import host_of, md5_of
from gossamer.url.plain import KEY_BYTES

_MEDIA: Final = ("img", "audio", "video")
_NOT_NEEDED: Final = frozenset((*_MEDIA, "iframe"))
_REMEMBERED: Final = 16_384
"""Links: some megabytes of them."""


def report(page: VisitedPage) -> Iterator[PageReport]:
    """Yield the one record of a page."""
    links, media = _collected(page)
    host = host_of(page.url)
    # Pages of a site repeat the links of their neighbours.
    hosts = [_place(url)[1] for url in page.links]
    inside = hosts.count(host)
    yield PageReport(
        charset=page.charset,
        raw_md5=hashlib.md5(page.body, usedforsecurity=False).hexdigest() if page.body else "",
        links=links,
        media=media,
        links_inside=inside,
        links_outside=len(hosts) - inside,
        last_modified=_moment(page.headers.get("last-modified")),
        title=page.title,
        spoiled=_is_spoiled(page),
        length=_length(page),
        picked=_picked(page),
        keys=b"".join([_place(url)[0] for url in chain(links, media)]),
        garbled=recoded(page.body, page.charset)[1],
    )


def _collected(page: VisitedPage) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a page refers to (S3.67): media, and all else, pages first (C37)."""
    if page.nofollow:
        return (), ()
    assets = page.assets
    media = dict.fromkeys(url for kind in _MEDIA for url in assets.get(kind, ()))
    # A frame is a page, whose link says whether it may be followed.
    needed = (urls for kind, urls in assets.items() if kind not in _NOT_NEEDED)
    links = dict.fromkeys(chain(page.followed, *needed))
    return tuple(links), tuple(media)


def _picked(page: VisitedPage) -> Picked:
    """Return what sites pick from a page, without what is not to be followed."""
    if page.nofollow:
        return ()
    found = picked(page)
    refused = set(page.links).difference(page.followed) if found else ()
    return tuple((site, tuple(url for url in urls if url not in refused)) for site, urls in found)


@lru_cache(maxsize=_REMEMBERED)
def _place(url: str) -> tuple[bytes, str]:
    """Return the key and the host of a link."""
    return md5_of(url)[:KEY_BYTES], host_of(url)


@lru_cache(maxsize=1_024)
def _moment(text: str | None) -> float | None:
    return header_moment(text)


def _is_spoiled(page: VisitedPage) -> bool:
    manner = page.fetch.visit.manner
    return manner is not None and is_spoiled(manner.spoiled_by, page.body)


def _length(page: VisitedPage) -> int | None:
    """Return the length that a head announces; of a document it is known better."""
    text = page.headers.get("content-length", "") if page.fetch.visit.kind == Kind.CHECK else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
