"""What holds for all bytes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config.parse import ParseSettings
from gossamer.messages import Document, Fetch, Kind, Page, Visit
from gossamer.outcomes import Outcome
from gossamer.parse.page import understand
from gossamer.url.canonical import Joiner

PIECES = [
    b"<a href=", b"<img src=", b"<base href=", b"<meta http-equiv=refresh content=", b"<link rel=",
    b"<style>", b"</style>", b"<svg>", b"<table>", b"<template>", b"<frameset>", b" srcset=", b",",
    b"<object codebase=", b"url(", b"@import", b'"', b"'", b">", b"<", b"/", b"#", b"?", b"&", b" ",
    b"\\", b"\n", b"0;url=", b"http://", b"//[", b"%", b"\xff", b"\0", b"\xc3\xa9", b"data:", b"]>",
    b"\xed\xa0\x80", b"<urlset><url><loc>", b"<?xml version='1.0'?>", b"<!DOCTYPE", b"[<!ENTITY",
    b"\x1f\x8b\x08",
]  # fmt: skip
BODIES = st.one_of(
    st.binary(max_size=400),
    st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3)), max_size=40).map(b"".join),
)
TYPES = st.one_of(
    st.sampled_from(["", "text/html", "text/html; charset=utf-16", "text/html; charset=utf-7"]),
    st.sampled_from(["application/xml", "text/css", "application/gzip", "text/plain", "image/png"]),
    st.text(max_size=30),
)
HEADERS = st.lists(st.tuples(st.sampled_from(["refresh", "x-robots-tag"]), st.text(max_size=30)))


def page_of(body: bytes, content_type: str, kind: Kind, headers: list[tuple[str, str]]) -> Page:
    visit = Visit(1, 1, "192.0.2.1", "http://site.example/dir/page.html", kind=int(kind))
    every = (("content-type", content_type), *headers)
    fetch = Fetch(visit=visit, outcome=Outcome.OK, status=200, headers=every, body=body)
    limits = ParseSettings(max_links=20, max_bytes=1_024, max_sitemap_urls=20)
    return understand(Document(fetch, None), limits, Joiner())


@settings(max_examples=600, deadline=None)
@given(BODIES, TYPES, st.sampled_from(list(Kind)), HEADERS)
def test_any_bytes_become_a_page(body, content_type, kind, headers):
    page = page_of(body, content_type, kind, headers)
    assert page.outcome in (Outcome.OK, Outcome.PARSE_TRUNCATED, Outcome.PARSE_FAILED)
    assert page.outcome is Outcome.OK or page.detail
    assert len(page.title) <= 512
    everything = (*page.links, *page.assets, *page.sitemap_urls)
    assert len(page.links) <= 20
    for link in everything:
        assert link.url.startswith(("http://", "https://"))
        assert "#" not in link.url
    for group in (page.links, page.assets, page.sitemap_urls):
        assert len({(link.url, link.kind) for link in group}) == len(group)


@given(BODIES, TYPES)
def test_understanding_depends_on_nothing_else(body, content_type):
    first = page_of(body, content_type, Kind.PAGE, [])
    assert page_of(body, content_type, Kind.PAGE, []) == first


@given(st.lists(st.sampled_from(["a", "b", "c", "a#x", "b?q", "", "#y"]), max_size=12))
def test_every_distinct_href_is_found_once(hrefs):
    body = "".join(f'<a href="{href}">t</a>' for href in hrefs).encode()
    page = page_of(b"<!doctype html>" + body, "text/html", Kind.PAGE, [])
    expected = dict.fromkeys(href.partition("#")[0] for href in hrefs)
    expected.pop("", None)
    assert [link.url for link in page.links] == [f"http://site.example/dir/{h}" for h in expected]
