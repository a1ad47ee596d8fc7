"""URLs from named places of a page, whatever the page and the paths are like."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Document, Fetch, Manner, Page, Visit
from gossamer.outcomes import Outcome
from gossamer.service.picking import Picked, picked

URL = "http://a.example/list/page"


def pick(
    body: bytes, *paths: str, content_type: str = "text/html", charset: str = "utf-8"
) -> Picked:
    """Return what a site picks from a page."""
    text = json.dumps({"sets": {"*": paths}})
    visit = Visit(1, 1, "127.0.0.1", URL, manner=Manner(picks=(("one", text),)))
    fetch = Fetch(visit, Outcome.OK, status=200, body=body)
    return picked(
        VisitedPage(Document(fetch, None), Page(content_type=content_type, charset=charset))
    )


def urls(body: bytes, *paths: str, **fields: str) -> tuple[str, ...]:
    """Return the URLs of the one site."""
    ((site, found),) = pick(body, *paths, **fields)
    assert site == "one"
    return found


BODY = (
    b"<a href=x>x</a><a href='/y#z'>y</a><a href='mailto:a@b'>m</a><img src=pic.png>"
    b"<span data-u='http://b.example/t'>text</span><a>none</a><p>deep/er</p>"
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("//a", ("http://a.example/list/x", "http://a.example/y")),
        ("//a/@href", ("http://a.example/list/x", "http://a.example/y")),
        ("//img", ("http://a.example/list/pic.png",)),
        ("//span/@data-u", ("http://b.example/t",)),
        ("//p/text()", ("http://a.example/list/deep/er",)),
        ("//nothing", ()),
        ("//a[", ()),
        ("count(//a", ()),
        ("system-property('x')", ()),
    ],
)
def test_what_paths_find(path: str, expected: tuple[str, ...]) -> None:
    assert urls(BODY, path) == expected


def test_several_paths_find_each_url_once() -> None:
    found = urls(BODY, "//img", "//a", "//a[1]")
    assert found == (
        "http://a.example/list/pic.png",
        "http://a.example/list/x",
        "http://a.example/y",
    )


def test_references_are_relative_to_the_base_of_the_page() -> None:
    assert urls(b"<base href='/other/'><a href=x>", "//a") == ("http://a.example/other/x",)
    assert urls(b"<base href='mailto:x'><a href=x>", "//a") == ("http://a.example/list/x",)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("//*//*//*//*//*//*//*", b"<div>" * 3_000),
        ("//a[.//a[.//a[.//a]]]", b"<a><b>" * 5_000),
        ("//a/preceding::a/preceding::a/preceding::a", b"<a href=x>" * 5_000),
        ("//a[contains(., 'x')]" + "[contains(., 'x')]" * 40, b"<a>x</a>" * 20_000),
    ],
)
def test_paths_that_would_take_long_find_nothing_or_end(path: str, body: bytes) -> None:
    assert len(urls(body, path)) <= 1


def test_pages_that_no_set_means_and_documents_that_are_no_pages_are_left_alone() -> None:
    text = json.dumps({"sets": {"/nowhere/": ["//a"]}})
    visit = Visit(1, 1, "127.0.0.1", URL, manner=Manner(picks=(("one", text), ("two", "no JSON"))))
    page = VisitedPage(Document(Fetch(visit, Outcome.OK, body=BODY), None), Page("text/html"))
    assert picked(page) == ()
    assert pick(BODY, "//a", content_type="application/pdf") == ()
    plain = VisitedPage(Document(Fetch(Visit(1, 1, "", URL), Outcome.OK), None), None)
    assert picked(plain) == ()


def test_when_the_time_is_over_nothing_more_is_found() -> None:
    text = json.dumps({"sets": {"*": ["//a"]}})
    visit = Visit(1, 1, "127.0.0.1", URL, manner=Manner(picks=(("one", text),)))
    page = VisitedPage(Document(Fetch(visit, Outcome.OK, body=BODY), None), Page("text/html"))
    moments = iter(range(0, 1_000, 10))
    assert picked(page, monotonic=lambda: float(next(moments))) == (("one", ()),)


@given(st.binary(max_size=200), st.text(max_size=30), st.sampled_from(["", "utf-8", "nonsense"]))
def test_no_page_and_no_path_raises(body: bytes, path: str, charset: str) -> None:
    for _, found in pick(body, path or ".", charset=charset):
        assert all(url.startswith(("http://", "https://")) for url in found)
