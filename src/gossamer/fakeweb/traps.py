"""Endless corners of the web under /~/trap/: each page leads to ever more of its kind."""

import hashlib
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final
from urllib.parse import parse_qsl, urlencode

_ROOT: Final = "/~/trap/"
_SPOKEN: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "islet",
    "juniper", "knoll", "lagoon", "meadow", "orchard", "pebble", "quarry", "river", "shore",
    "thicket", "upland", "valley", "willow", "yarrow", "zephyr", "brook", "cliff")  # fmt: skip


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


def _echo(rest: str) -> bytes:
    name = rest.strip("/").removesuffix(".html")
    links = [(f"{_ROOT}echo/{word}.html", word) for word in _words(rest, 5)]
    return _html(f"There is no page {name}", links)


def _spoken(rest: str) -> bytes:
    digests = _words(rest, 3 * 4)
    spoken = [_SPOKEN[int(digest, 16) % len(_SPOKEN)] for digest in digests]
    names = ["-".join(spoken[start : start + 3]) for start in range(0, len(spoken), 3)]
    links = [(f"{_ROOT}spoken/{name}.html", name.replace("-", " ")) for name in names]
    return _html("Did you mean one of these?", links)


def _pager(rest: str) -> bytes:
    digits = rest.rpartition("=")[2][:12]
    page = int(digits) if digits.isascii() and digits.isdigit() else 1
    links = [(f"{_ROOT}pager?page={page + step}", f"page {page + step}") for step in (1, 2, 10)]
    return _html(f"Page {page}: no more entries", links)


def _months(rest: str) -> bytes:
    if rest.startswith("/"):
        return _html("Nothing is planned on this day", [(f"{_ROOT}months?year=2026&month=1", "up")])
    asked = dict(parse_qsl(rest.partition("?")[2]))
    try:
        first = date(int(asked["year"][:4]), int(asked["month"][:2]), 1)
        near = [first - timedelta(days=1), first + timedelta(days=31)]
    except (KeyError, ValueError, OverflowError):
        first, near = date(2026, 1, 1), [date(2026, 2, 1)]
    links = [
        (f"{_ROOT}months?year={other.year}&month={other.month}", f"{other:%B %Y}") for other in near
    ]
    days = [first + timedelta(days=number) for number in range(28)]
    links += [(f"{_ROOT}months/day?date={day}", f"{day.day}") for day in days]
    links += [(f"{_ROOT}months/new?date={day}", "add an event") for day in days]
    return _html(f"{first:%B %Y}", links)


# Name -> where it begins, what it is, the page for the rest of the path.
TRAPS: Final[dict[str, tuple[str, str, Callable[[str], bytes]]]] = {
    "calendar": ("calendar/2026/01/01", "a calendar without end, both ways", _calendar),
    "deep": ("deep/", "folders in folders, no two alike", _deep),
    "session": ("session?sid=0", "a new session id in every link", _session),
    "facets": ("facets?color=red", "filters that combine without end", _facets),
    "repeat": ("repeat/", "relative links that repeat path segments", _repeat),
    "growing": ("growing?next=1", "a query that grows with each step", _growing),
    "maze": ("maze/start.html", "not-found pages that say 200 and link to more of them", _maze),
    "echo": ("echo/start.html", "the same, and each repeats the name that was asked for", _echo),
    "spoken": ("spoken/start.html", "the same, with names made of words", _spoken),
    "pager": ("pager?page=1", "a list that goes on after its last entry", _pager),
    "months": ("months?year=2026", "months of days, each day with a form", _months),
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
