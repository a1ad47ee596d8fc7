"""Links in headers say what link elements in the head of a page would say."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.messages import Kind, Link
from gossamer.outcomes import Outcome
from gossamer.parse.link_headers import links_in

SITE = "http://site.example/"
CANONICAL = '<https://site.example/one>; rel="canonical"'


def linked(page_of, *values, body="", **options):
    headers = tuple(("link", value) for value in values)
    return page_of(body, headers=headers, **options)


@pytest.mark.parametrize(
    ("value", "reference", "relations"),
    [
        ("<a>;rel=next", "a", ["next"]),
        ("  < a > ; REL = Next ", "a", ["next"]),
        ('<a>; rel="next prev"', "a", ["next", "prev"]),
        ('<a,b;c>; title="x, <y>; rel=z"; rel=next', "a,b;c", ["next"]),
        (r'<a>; title="x\"; rel=z"; rel=next', "a", ["next"]),
        (r'<a>; rel="ne\xt"', "a", ["next"]),
        ("<a>; rel=next; rel=prev", "a", ["next"]),
        ('<a>; rel="next', "a", ["next"]),
        ('<a>; rel="next\\', "a", ["next"]),
        ("<a>; crossorigin; rel=next", "a", ["next"]),
        ("<a>", "a", []),
        ("<caf\xc3\xa9>; rel=next", "caf\xe9", ["next"]),
        ("<caf\xe9>; rel=next", "caf\xe9", ["next"]),
    ],
)
def test_a_link_is_read(value, reference, relations):
    (link,) = links_in([value])
    assert (link.reference, link.relations) == (reference, relations)


@pytest.mark.parametrize(
    "value", ["", "a; rel=next", "<>; rel=next", "< >;rel=next", "<a>; rel=next; anchor='#b'"]
)
def test_what_is_no_link_of_this_page_is_passed_over(value):
    assert list(links_in([value])) == []


def test_several_links_may_stand_in_one_header_or_in_many():
    values = ["<a>; rel=x, <b>;rel=y,<c>", "<d>; title='e, <f>; rel=z"]
    assert [link.reference for link in links_in(values)] == ["a", "b", "c", "d", "f"]


@given(st.lists(st.text('<>;,="\\ relanchorx\xe9', max_size=60) | st.text(), max_size=4))
def test_nothing_raises(values):
    for link in links_in(values):
        assert link.reference


@pytest.mark.parametrize("part", ['<a>\\"', '<a>"', "<a", "<a>;", "<a> ;x", '<a>;x="\\', "<"])
def test_the_time_grows_with_the_length_only(part):
    started = time.process_time()
    for _ in links_in([part * 30_000] * 64):
        pass
    assert time.process_time() - started < 10


def test_a_canonical_link(page_of):
    page = linked(page_of, CANONICAL)
    assert page.canonical == "https://site.example/one"
    assert page.links == (Link("https://site.example/one", "canonical"),)
    assert page == page_of("<link rel=canonical href=https://site.example/one>")


def test_versions_in_other_languages(page_of):
    page = linked(page_of, "</de>; rel=alternate; hreflang=DE, </x>; rel=alternate; hreflang=fr")
    assert page.languages == (("de", f"{SITE}de"), ("fr", f"{SITE}x"))
    assert [link.kind for link in page.links] == ["alternate", "alternate"]


def test_neighbours_feeds_and_style_sheets(page_of):
    page = linked(
        page_of,
        "<2>; rel=next",
        "<0>; rel=previous",
        '<feed>; rel=alternate; type="application/rss+xml"',
        "<a.css>; rel=stylesheet",
    )
    kinds = {(link.kind, link.url.rpartition("/")[2]) for link in page.links}
    assert kinds == {("next", "2"), ("prev", "0"), ("feed", "feed")}
    assert [(link.kind, link.url) for link in page.assets] == [("css", f"{SITE}dir/a.css")]


def test_what_the_page_itself_says_comes_first(page_of):
    body = (
        "<link rel=canonical href=/own><link rel=alternate hreflang=de href=/own-de>"
        "<link rel=stylesheet href=a.css><a href=x>x</a>"
    )
    plain = page_of(body)
    page = linked(
        page_of,
        CANONICAL,
        "</de>; rel=alternate; hreflang=de",
        "</fr>; rel=alternate; hreflang=fr",
        "<a.css>; rel=stylesheet",
        body=body,
    )
    assert page.canonical == f"{SITE}own"
    assert page.languages == (("de", f"{SITE}own-de"), ("fr", f"{SITE}fr"))
    assert page.assets == plain.assets
    assert page.links[: len(plain.links)] == plain.links


def test_they_are_relative_to_the_url_and_not_to_the_base(page_of):
    page = linked(page_of, "<one>; rel=canonical", body="<base href=/elsewhere/><a href=x>x</a>")
    assert page.canonical == f"{SITE}dir/one"
    assert f"{SITE}elsewhere/x" in {link.url for link in page.links}


def test_other_relations_change_nothing(page_of):
    page = linked(page_of, "</wp-json/>; rel='https://api.w.org/'", "</x>; rel=preconnect", "</y>")
    assert page == page_of("")


def test_a_document_of_another_type_has_them_too(page_of):
    page = linked(page_of, CANONICAL, body=b"%PDF-1.4", content_type="application/pdf")
    assert (page.canonical, page.content_type) == ("https://site.example/one", "application/pdf")


def test_they_are_no_entries_of_a_sitemap(page_of):
    body = f"<urlset><url><loc>{SITE}a</loc></url></urlset>"
    page = linked(page_of, CANONICAL, body=body, content_type="text/xml", kind=Kind.SITEMAP)
    assert [link.url for link in page.links] == [f"{SITE}a"]


def test_those_over_the_limit_of_a_page_are_dropped_and_it_says_so(page_of):
    value = ", ".join(f"</{number}>; rel=alternate" for number in range(9))
    page = linked(page_of, value, body="<a href=x>x</a><img src=y>", max_links=5)
    assert len(page.links) + len(page.assets) == 5
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "6 references over the limit of 3 were dropped" in page.detail
