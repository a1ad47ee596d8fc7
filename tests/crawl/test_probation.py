"""Links that only pages without news lead to: honest sites stay whole, endless ones end."""

import re
from collections.abc import Callable

import pytest
from paper import HOST, Paper, Site, html, in_words, link

from gossamer.config.url import UrlSettings
from gossamer.fakeweb.traps import TRAPS, trap_page
from gossamer.outcomes import Outcome, State

TEMPLATE = [
    f"<p>Part {in_words(number)} of the frame around each page.</p>" for number in range(60)
]
PDF = "application/pdf"


def numbers(path: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", path)]


def catalogue(path: str) -> tuple[str, bytes] | None:
    """3,000 products, each named by other products only, in a frame with one title for all."""
    (number,) = numbers(path) or [0]
    if number >= 3_000:
        return None
    related = [link(f"/product/{number * 3 + step}", "related") for step in (1, 2, 3)]
    return html("Shop", *TEMPLATE, f"<p>Colour {in_words(number)}</p>", *related)


def archive(path: str) -> tuple[str, bytes] | None:
    """A list of 200 pages that shows numbers only; what is behind them can be read."""
    if path.startswith("/item/"):
        (number,) = numbers(path)
        return html("Item", f"<p>About {in_words(number)}</p>")
    (page,) = numbers(path) or [1]
    if page > 200:
        return None
    items = [link(f"/item/{page * 10 + place}", f"#{page * 10 + place}") for place in range(10)]
    return html(f"Page {page}", *items, link(f"/list?page={page + 1}", "next"))


def listings(path: str) -> tuple[str, bytes] | None:
    """Folders of numbers, as measurements are kept: 60 years of 40 days, with files in each."""
    if path.endswith(".txt"):
        return "text/plain", f"Measured: {numbers(path)}".encode()
    depth = path.count("/")
    counts = {1: 60, 2: 40}
    if depth in counts:
        inner = [link(f"{path}{number}/", f"{number}/") for number in range(1, counts[depth] + 1)]
    else:
        inner = [link(f"{path}{number:02}.txt", f"{number:02}.txt") for number in (1, 2)]
    return html(f"Index of {path}", *inner)


def reports(path: str) -> tuple[str, bytes] | None:
    """A chain of 400 pages that differ only in the file that each leads to."""
    (number,) = numbers(path) or [1]
    if path.endswith(".pdf"):
        return PDF, b"%PDF-1.7 " + in_words(number).encode()
    following = [link(f"/report/{number + 1}", "next")] if number < 400 else []
    return html(f"Report {number}", link(f"/files/{number}.pdf", "download"), *following)


def comics(path: str) -> tuple[str, bytes] | None:
    """A chain of 400 pages that differ only in the picture that each shows."""
    (number,) = numbers(path) or [1]
    following = [link(f"/comic/{number + 1}", "next")] if number < 400 else []
    return html(f"Comic {number}", f'<img src="/pictures/{number}.png">', *following)


def diary(path: str) -> tuple[str, bytes] | None:
    """40 years of months, an event in one of eight."""
    year, month = numbers(path) or (1990, 1)
    if not 1990 <= year < 2030:
        return None
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    number = year * 12 + month
    events = [f"<p>Feast of {in_words(number)}</p>"] if number % 8 == 0 else []
    href = "/diary/{}/{:02}".format(*following)
    return html(f"Events in {month}/{year}", *events, link(href, "next month"))


def thin_wiki(path: str) -> tuple[str, bytes] | None:
    """2,000 pages with a title of their own and nothing else, linked in a tree of words."""
    name = path.rpartition("/")[2] or "a"
    if len(name) > 6:
        return None
    return html(f"All about {name}", *(link(f"/wiki/{name}{letter}", "more") for letter in "abc"))


@pytest.mark.parametrize(
    ("site", "pages"),
    [
        (catalogue, 3_000),
        (archive, 200 + 2_000),
        (listings, 1 + 60 + 60 * 40 + 60 * 40 * 2),
        (reports, 400 + 400),
        (comics, 400),
        (diary, 40 * 12),
        (thin_wiki, sum(3**length for length in range(6))),
    ],
)
def test_honest_site_is_crawled_to_its_end(site: Site, pages: int):
    paper = Paper(site)
    asked = paper.crawl()
    answered = [path for path in asked if site(path) is not None]
    assert len(set(answered)) == pages
    assert paper.catalog.counts().done == pages
    assert [trap for trap in paper.catalog.traps() if trap.reason] == []


def trap(path: str) -> tuple[str, bytes] | None:
    body = trap_page(path)
    return None if body is None else ("text/html", body)


@pytest.mark.parametrize("name", TRAPS)
def test_trap_ends_with_the_settings_as_they_are_shipped(name: str):
    paper = Paper(trap)
    asked = paper.crawl("/~/trap/" + TRAPS[name][0])
    assert len(asked) < 260
    reasons = {row.detail for row in paper.catalog.rows() if row.state is State.EXCLUDED}
    assert reasons
    assert all(reasons)


def album(path: str) -> tuple[str, bytes] | None:
    """A chain of 400 equal pages, and an index of them."""
    if path.startswith("/photo/"):
        (number,) = numbers(path)
        following = link(f"/photo/{number + 1}", "next") if number < 400 else ""
        return html("A photo", following)
    return html("Index", *(link(f"/photo/{number}", "photo") for number in range(1, 401)))


def test_what_another_page_leads_to_is_not_lost_whatever_came_first():
    paper = Paper(album, UrlSettings(max_fruitless_pages=20))
    assert len(paper.crawl("/photo/1")) < 30
    assert [trap.reason for trap in paper.catalog.traps() if trap.reason] == [
        "nothing new: more than 20 pages without news, reached from /photo/* only"
    ]
    asked = paper.crawl("/index")
    assert {f"/photo/{number}" for number in range(1, 401)} <= set(asked)
    assert paper.catalog.counts().excluded == 0


def test_an_index_that_is_found_in_time_keeps_its_pages_off_probation():
    paper = Paper(album)
    paper.crawl("/index")
    assert len(set(paper.asked)) == 401
    assert [trap for trap in paper.catalog.traps() if trap.reason] == []


def beside(trap_name: str, honest: int) -> Callable[[str], tuple[str, bytes] | None]:
    def site(path: str) -> tuple[str, bytes] | None:
        if path.startswith("/~/"):
            return trap(path)
        if path == "/":
            ways = [link(f"/a/{in_words(number)}", "page") for number in range(honest)]
            return html("Home", link("/~/trap/" + TRAPS[trap_name][0], "trap"), *ways)
        return html(f"About {path}")

    return site


def test_links_on_probation_come_after_all_others():
    asked = Paper(beside("maze", 300)).crawl()
    last_honest = max(place for place, path in enumerate(asked) if not path.startswith("/~/"))
    before = [path for path in asked[:last_honest] if path.startswith("/~/")]
    assert len(before) < 20


def test_reason_reaches_every_url_that_is_kept_out():
    paper = Paper(trap)
    paper.crawl("/~/trap/maze/start.html")
    rows = [row for row in paper.catalog.rows() if row.state is State.EXCLUDED]
    assert len(rows) > 100
    assert {row.outcome for row in rows} == {Outcome.POLICY_TRAP}
    assert {row.detail for row in rows} == {
        "nothing new: more than 100 pages without news, reached from /~/trap/maze/*.html only"
    }


def test_exempt_host_is_not_judged():
    host = HOST.partition("//")[2]
    asked = Paper(trap, UrlSettings(trap_exempt=(host,))).crawl("/~/trap/pager?page=1", most=500)
    assert len(asked) >= 500
