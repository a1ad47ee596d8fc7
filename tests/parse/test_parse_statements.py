"""What a document says, in pieces that can be compared."""

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.messages import Page
from gossamer.parse.statements import (
    _CALENDAR,
    clauses,
    made_up_name,
    statements,
    title_said,
    title_said_by_python,
)
from gossamer.url.canonical import Joiner

URL = "http://h/maze/page.html"
HTML = Page(content_type="text/html", charset="utf-8")


def said(body: str, url: str = URL, left_out: str = "/maze/") -> set[bytes]:
    return statements(body.encode(), HTML, url, Joiner(), lambda target: left_out in target)


def test_clauses_have_no_case_space_numbers_or_dates():
    assert clauses("Page 17 of 20. No  Events!\nJanuary 2026") == [b"pageof", b"noevents"]
    assert clauses("In January all is well") == [b"injanuaryalliswell"]


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from([*"aB1.;!?\t\n\v\f\r \x1c\x85\u3000", "May", "day", "sun"])).map(
            "".join
        ),
    )
)
def test_clauses_are_joined_alike(text):
    assert title_said(text, URL) == b"".join(clauses(text))


def test_titles_by_lot_are_joined_alike():
    """Dates in any number and order, cut by what is not heeded, so that others come to light."""
    names = [name.decode() for _, names in _CALENDAR for name in names]
    parts = [*names, *(name[:2] for name in names), *(name[2:] for name in names)]
    parts += [*"aB17.;!?\t\n\v\f\r ", "\x1c", "\x85", "\u3000", "\ud800", "é"]
    random = Random(6)
    for _ in range(20_000):
        text = "".join(random.choices(parts, k=random.randint(0, 12)))
        text = text.title() if random.random() < 0.5 else text
        assert title_said(text, URL) == b"".join(clauses(text))
        name = "".join(random.choices("abC019-_~%&", k=random.randint(0, 6)))
        url = f"http://h/a{random.choice('/=?.')}{name}{random.choice(['', '.html', '/', '.'])}"
        title = name.join(random.choices(parts, k=random.randint(0, 4)))
        assert title_said(title, url) == title_said_by_python(title, url)
    for length in (2_047, 2_048, 2_049, 100_000):
        text = ("May 1. " * length)[:length]
        assert title_said(text, URL) == b"".join(clauses(text))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://h/a/3f2a9b1c.html", "3f2a9b1c"),
        ("http://h/a?q=3f2a9b1c", "3f2a9b1c"),
        ("http://h/a/apple.html", ""),
        ("http://h/a/1234", ""),
        ("http://h/a/Line2D.html", ""),
        ("http://h/a/", ""),
    ],
)
def test_a_name_is_made_up_when_it_is_an_id(url, name):
    assert made_up_name(url) == name


def test_text_of_links_that_are_left_out_does_not_count():
    inner = '<p>Sorry</p> <a href="/maze/x.html">{}</a> <a href="y.html">{}</a>'
    assert said(inner.format("one", "two")) == said(inner.format("three", "four")) == {b"sorry"}
    outer = '<p>Sorry</p> <a href="/else/x.html">{}</a>'
    assert said(outer.format("one")) != said(outer.format("two"))


def test_links_into_parts_of_a_page_are_judged_once_for_that_page():
    index = "".join(
        f'<a href="/{folder}/x.html#part{part}">{folder} word{part}</a><br>'
        for folder in ("maze", "else")
        for part in "abcdef"
    )
    asked: list[str] = []

    def is_left_out(target: str) -> bool:
        asked.append(target)
        return "/maze/" in target

    told = statements(index.encode(), HTML, URL, Joiner(), is_left_out)
    assert asked == ["http://h/maze/x.html", "http://h/else/x.html"]
    assert told == {b"elsewordaelsewordbelsewordcelseworddelsewordeelsewordf"}


def test_links_are_resolved_as_the_page_says():
    body = '<base href="/else/"><a href="x.html">one</a>'
    assert said(body) == {b"one"}
    assert said(body, left_out="/else/") == set()


def test_pictures_count_with_their_numbers_even_in_a_link_that_does_not():
    body = '<a href="/maze/x.html"><img src="/pictures/{}.png"></a><script src="/{}.js"></script>'
    assert said(body.format(1, 1)) == {b"/pictures/1.png"}
    assert said(body.format(1, 1)) == said(body.format(1, 2)) != said(body.format(2, 1))


def test_script_and_style_say_nothing():
    assert said("<style>a{}</style><script>var one</script>") == set()


def test_an_id_that_is_repeated_says_nothing():
    body = "There is no page {}"
    pages = [
        said(body.format(name), f"http://h/a/{name}.html") for name in ("3f2a9b1c", "a09f77de")
    ]
    assert pages[0] == pages[1] != set()


def test_files_are_compared_as_a_whole_and_calendars_without_their_dates():
    def file(body: bytes, media_type: str) -> set[bytes]:
        return statements(body, Page(content_type=media_type), URL, Joiner(), lambda _: True)

    assert file(b"1 2 3", "text/csv") != file(b"1 2 4", "text/csv")
    assert file(b"DTSTAMP:20260101", "text/calendar") == file(b"DTSTAMP:20260102", "text/calendar")
    assert file(b"SUMMARY:A", "text/calendar") != file(b"SUMMARY:B", "text/calendar")


@pytest.mark.parametrize(
    "body",
    [
        b"<a href=x>" * 30_000,
        b"<a href='/maze/1'><b>" * 15_000,
        b"<html a1>" * 40_000,
        b"<div>" * 60_000,
        b"a" * 300_000,
        b"<img src=1>" * 25_000,
        b"\xff\xfe" + b"<\0a\0" * 50_000,
        b"",
    ],
)
def test_hostile_pages_cost_little(body):
    start = time.process_time()
    statements(body, HTML, URL, Joiner(), lambda _: True)
    assert time.process_time() - start < 1.0


def test_what_cannot_be_parsed_says_nothing():
    page = Page(content_type="text/html", charset="no-such-charset")
    assert statements(b"<p>one", page, URL, Joiner(), lambda _: False) == set()
