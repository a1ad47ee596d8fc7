"""What a worker makes of a page for the crawling service: a handler like a user's own."""

import hashlib
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from gossamer.handlers.visited import VisitedPage
from gossamer.reports import PageReport
from gossamer.url.parts import host_of

_MEDIA: Final = ("img", "audio", "video")


def report(page: VisitedPage) -> Iterator[PageReport]:
    """Yield the one record of a page."""
    host = host_of(page.url)
    inside = sum(host_of(url) == host for url in page.links)
    media = [url for kind in _MEDIA for url in page.assets.get(kind, ())]
    yield PageReport(
        charset=page.charset,
        raw_md5=hashlib.md5(page.body, usedforsecurity=False).hexdigest() if page.body else "",
        links=page.links,
        media=tuple(dict.fromkeys(media)),
        links_inside=inside,
        links_outside=len(page.links) - inside,
        last_modified=_moment(page.headers.get("last-modified", "")),
        title=page.title,
    )


def _moment(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
