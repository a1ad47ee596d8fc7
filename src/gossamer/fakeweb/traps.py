"""Endless corners of the web under /~/trap/: each page leads to ever more of its kind."""

import hashlib
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final
from urllib.parse import parse_qsl, urlencode

_ROOT: Final = "/~/trap/"


def trap_page(target: str) -> bytes | None:
    """Return the page of a trap by its path and query, or None if there is no such trap."""
    if target == _ROOT:
        return _html("Traps", [(_ROOT + first, name) for name, (first, _, _) in TRAPS.items()])
    rest = target.removeprefix(_ROOT)
    name = rest.partition("/")[0].partition("?")[0]
    if name not in TRAPS or not target.startswith(_ROOT):
        return None
    return TRAPS[name][2](rest.removeprefix(name))


def _calendar(rest: str) -> bytes:
    try:
        day = date.fromisoformat("-".join(rest.strip("/").split("/")))
        near = [day + timedelta(days=step) for step in (-1, 1, 30, 365)]
    except (ValueError, OverflowError):
        day, near = date(2026, 1, 1), [date(2026, 1, 2)]
    links = [(f"{_ROOT}calendar/{other:%Y/%m/%d}", f"{other:%d %B %Y}") for other in near]
    return _html(f"No events on {day:%d %B %Y}", links)


def _deep(rest: str) -> bytes:
    depth = rest.count("/")
    return _html(f"Level {depth}", [(f"{word}/", word) for word in _words(rest, 2)])


def _session(rest: str) -> bytes:
    words = _words(rest, 12)
    sessions = ["".join(words[start : start + 4]) for start in (0, 4, 8)]
    links = [
        (f"{_ROOT}session?sid={sid}&page={page}", f"page {page}")
        for page, sid in enumerate(sessions)
    ]
    return _html("Welcome, guest", links)


def _facets(rest: str) -> bytes:
    chosen = parse_qsl(rest.partition("?")[2])[:40]
    names = ("color", "size", "brand", "price", "sort", "view")
    links = [
        (f"{_ROOT}facets?{urlencode([*chosen, (name, value)])}", f"{name} {value}")
        for name, value in zip(names, _words(rest, len(names)), strict=True)
    ]
    return _html("0 articles found", links)


def _repeat(rest: str) -> bytes:
    # Relative links without a leading slash, as a broken template writes them.
    del rest
    return _html("Shop", [("shop/", "shop"), ("shop/cart/", "cart"), ("cart/", "cart")])


def _growing(rest: str) -> bytes:
    query = rest.partition("?")[2]
    longer = f"{query}&next=1" if query else "next=1"
    return _html(
        "More results",
        [(f"{_ROOT}growing?{longer}", "next"), (f"{_ROOT}growing?{longer}&all=1", "all")],
    )


def _maze(rest: str) -> bytes:
    links = [(f"{_ROOT}maze/{word}.html", word) for word in _words(rest, 5)]
    return _html("Sorry, we could not find that page", links)


# Name -> where it begins, what it is, the page for the rest of the path.
TRAPS: Final[dict[str, tuple[str, str, Callable[[str], bytes]]]] = {
    "calendar": ("calendar/2026/01/01", "a calendar without end, both ways", _calendar),
    "deep": ("deep/", "folders in folders, no two alike", _deep),
    "session": ("session?sid=0", "a new session id in every link", _session),
    "facets": ("facets?color=red", "filters that combine without end", _facets),
    "repeat": ("repeat/", "relative links that repeat path segments", _repeat),
    "growing": ("growing?next=1", "a query that grows with each step", _growing),
    "maze": ("maze/start.html", "not-found pages that say 200 and link to more of them", _maze),
}


def _words(text: str, count: int) -> list[str]:
    digest = hashlib.blake2b(text.encode(), digest_size=4 * count).hexdigest()
    return [digest[8 * number : 8 * number + 8] for number in range(count)]


def _html(title: str, links: list[tuple[str, str]]) -> bytes:
    items = "".join(
        f'<li><a href="{href.replace("&", "&amp;")}">{text}</a></li>\n' for href, text in links
    )
    return (
        f"<!DOCTYPE html>\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{items}</ul>\n".encode()
    )
