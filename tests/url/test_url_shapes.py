"""Shapes of URLs: numbers, dates and ids folded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import least_cpu
from gossamer.url.canonical import canonicalize, path_query_of
from gossamer.url.shapes import _FOLDED, Growth, _word, fold, shape_of


@pytest.mark.parametrize(
    ("path_query", "growth", "pattern"),
    [
        ("/article/123", Growth.NUMBERS, "/article/{n}"),
        ("/top-10/h1n1.html", Growth.NUMBERS, "/top-{n}/h{n}n{n}.html"),
        ("/p/550e8400-e29b-41d4-a716-446655440000", Growth.NUMBERS, "/p/{id}"),
        ("/commit/deadbeef0123", Growth.NUMBERS, "/commit/{id}"),
        ("/events/2024/05", Growth.DATES, "/events/{date}"),
        ("/events/2024/5/17/", Growth.DATES, "/events/{date}/"),
        ("/events/2024-05-17", Growth.DATES, "/events/{date}"),
        ("/events/20240517", Growth.DATES, "/events/{date}"),
        ("/2024/05/17/4711", Growth.NUMBERS, "/{date}/{n}"),
        ("/2024/13/45", Growth.NUMBERS, "/{n}/{n}/{n}"),
        ("/item?id=5", Growth.NUMBERS, "/item?id={n}"),
        ("/item?id=5a", Growth.NUMBERS, "/item?id={text}"),
        ("/calendar?date=2024-05-17", Growth.DATES, "/calendar?date={date}"),
        ("/calendar?year=2024&month=5", Growth.DATES, "/calendar?month={date}&year={date}"),
        ("/calendar?month=5&year=2024", Growth.DATES, "/calendar?month={date}&year={date}"),
        ("/calendar?week=7", Growth.DATES, "/calendar?week={date}"),
        ("/list?a=1&b=x", Growth.QUERIES, "/list?*"),
        ("/list/7?a=1&b=x", Growth.QUERIES, "/list/{n}?*"),
        ("/x?sid=0123456789abcdef&a=1", Growth.SESSIONS, "/x?sid={session}&a=1"),
        ("/x;jsessionid=0123456789ABCDEF?a=1", Growth.SESSIONS, "/x;jsessionid={session}?a=1"),
        ("/(S(abcdefghij0123456))/x.aspx", Growth.SESSIONS, "/{session}/x.aspx"),
    ],
)
def test_shape(path_query, growth, pattern):
    shape = shape_of(path_query)
    assert shape is not None
    assert (shape.growth, shape.pattern) == (growth, pattern)


@pytest.mark.parametrize(
    "path_query", ["/", "/about", "/a/b.html", "/x?", "/wiki/%E6%97%A5%E6%9C%AC"]
)
def test_url_that_is_the_only_one_of_its_kind_has_no_shape(path_query):
    assert shape_of(path_query) is None


def test_titles_in_other_scripts_do_not_fall_together():
    assert fold("/%E6%97%A5/12") == "/%E6%97%A5/{n}"
    assert fold("/%E612") == "/%E6{n}"


@given(st.text(alphabet="ab01/-.%?&=;é2", max_size=40))
def test_shape_is_found_for_every_url_and_folding_is_final(text):
    url = canonicalize("http://h/" + text)
    assert url is not None
    shape = shape_of(path_query_of(url))
    if shape is not None:
        assert shape.pattern.startswith("/")
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet="aF012/-.%", max_size=20))
def test_the_short_way_of_folding_agrees_with_the_long_one(text):
    assert fold(text) == _FOLDED.sub(_word, text)


@pytest.mark.parametrize(
    "hostile",
    [
        "/x?" + "year_" * 1_600 + "=1",
        "/x?" + "year_" * 1_600 + "&" + "year_" * 20,
        "/" + "a" * 8_000 + "1g",
        "/" + "20240" * 1_600,
        "/" + "deadbee0-" * 900,
        "/x?sid=" + "0" * 8_000 + "~",
        "/x" + ";sid=" * 1_600,
        "/" + "%" * 8_000,
    ],
)
def test_hostile_urls_cost_little(hostile):
    assert least_cpu(lambda: shape_of(hostile)) < 0.05
