"""How pages arrive: mixed with insecure parts, very large, very slow."""

from collections.abc import Iterator
from typing import Final

from gossamer.site.audit.case import Case
from gossamer.site.audit.standing import is_html
from gossamer.site.audit.view import View
from gossamer.site.model import Page
from gossamer.wording import bytes_in_words, seconds_in_words

LARGE_BYTES: Final = 2_000_000
SLOW_MILLISECONDS: Final = 3_000
BLOCKED_KINDS: Final = ("css", "js", "font", "iframe")
"""Kinds of assets that browsers refuse to load over http into a page that came over https."""


def mixed_and_blocked(view: View) -> Iterator[Case]:
    """Secure pages with insecure parts that browsers do not load."""
    for page in view.pages:
        if page.facts.insecure_assets and (blocked := _blocked(page)):
            yield Case(page.url, list(blocked))


def mixed(view: View) -> Iterator[Case]:
    """Secure pages with insecure pictures, sound or films."""
    for page in view.pages:
        if page.facts.insecure_assets:
            blocked = _blocked(page)
            shown = [url for url in dict.fromkeys(page.facts.insecure_assets) if url not in blocked]
            if shown:
                yield Case(page.url, shown)


def large(view: View) -> Iterator[Case]:
    """Pages of more than two megabytes; downloads of other kinds may be as large as they like."""
    for page in view.pages:
        if is_html(page):
            if page.bytes > LARGE_BYTES:
                yield Case(page.url, detail=bytes_in_words(page.bytes))
            elif page.facts.outcome == "body.too_large":
                yield Case(page.url, detail=page.error or "larger than what is fetched")


def slow(view: View) -> Iterator[Case]:
    """Pages that took more than three seconds."""
    for page in view.pages:
        if is_html(page) and page.milliseconds > SLOW_MILLISECONDS:
            yield Case(page.url, detail=seconds_in_words(page.milliseconds / 1000))


def _blocked(page: Page) -> dict[str, None]:
    insecure = set(page.facts.insecure_assets)
    return {
        url: None for kind in BLOCKED_KINDS for url in page.assets.get(kind, ()) if url in insecure
    }
