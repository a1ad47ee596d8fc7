"""Where the feeds of a site may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.discovery import COMMON_PATHS, MAX_FOUND, feed_links

URL = "https://www.news.example/world/"


def found(body: str | bytes, charset: str = "") -> list[str]:
    return feed_links(body.encode() if isinstance(body, str) else body, charset, URL)[0]


def test_feeds_that_a_page_declares_are_counted_without_comments_and_itself():
    declares = '<link rel="alternate" type="application/rss+xml" href="{}">'
    page = "".join(map(declares.format, ("/comments/feed/", "/a", "/world/", "/b", "/a")))
    urls, declared = feed_links(f'{page}<a href="/feed"><a href="/b">'.encode(), "", URL)
    paths = [url.removeprefix("https://www.news.example") for url in urls]
    assert paths == ["/a", "/b", "/feed", "/comments/feed/"]
    assert declared == 2


def test_declared_feeds_come_first_and_comments_last():
    page = """<!doctype html><head><base href="/sub/">
    <link rel="alternate" type="application/rss+xml" title="Comments" href="/comments/feed/">
    <link rel="ALTERNATE" type="application/atom+xml; charset=utf-8" href="all.atom">
    <link rel="alternate" type="application/feed+json" href="https://cdn.example/feed.json">
    <link rel="alternate" hreflang="de" href="/de/"><link rel="stylesheet" href="/rss.css">
    <link rel="alternate stylesheet" type="text/xml" href="/style.xml">
    </head><a href="/rss/world.xml">RSS</a><a href="/story">Story</a>"""
    assert found(page) == [
        "https://www.news.example/sub/all.atom",
        "https://cdn.example/feed.json",
        "https://www.news.example/rss/world.xml",
        "https://www.news.example/comments/feed/",
    ]


@pytest.mark.parametrize(
    ("href", "is_feed"),
    [
        ("/feed", True),
        ("/feed/", True),
        ("/feeds/news.xml", True),
        ("/rss.php?id=1", True),
        ("/world.rss", True),
        ("/index.rdf", True),
        ("/index.xml", True),
        ("/?feed=rss2", True),
        ("/?format=rss", True),
        ("https://news.example/atom.xml", True),
        ("https://feeds.other.example/x", True),
        ("https://other.example/feed", False),
        ("https://reader.example/add?url=https://www.news.example/feed", False),
        ("/feedback", False),
        ("/newsfeed-story", False),
        ("/atomic-power", False),
        ("/harass", False),
        ("mailto:rss@news.example", False),
        ("#rss", False),
    ],
)
def test_anchors_that_look_like_feeds(href, is_feed):
    assert bool(found(f'<a href="{href}">x</a>')) is is_feed


def test_an_anchor_may_say_what_it_leads_to():
    assert found('<a href="/x" type="application/rss+xml">x</a>') == ["https://www.news.example/x"]


@pytest.mark.parametrize("charset", ["", "utf-8", "nonsense", "\0"])
def test_an_unknown_charset_counts_as_none(charset):
    assert found('<a href="/feed">x</a>', charset) == ["https://www.news.example/feed"]


def test_results_are_distinct_and_limited():
    many = "".join(f'<a href="/feed/{number}"></a>' * 2 for number in range(1_000))
    assert len(found(many)) == MAX_FOUND
    assert len(set(found(many))) == MAX_FOUND


def test_paths_to_try_are_distinct():
    assert len(set(COMMON_PATHS)) == len(COMMON_PATHS)
    assert all(path.startswith("/") for path in COMMON_PATHS)


@given(st.binary(), st.text(max_size=12), st.text(max_size=30))
def test_nothing_raises(body, charset, url):
    targets, declared = feed_links(b"<a href=/feed>" + body, charset, url)
    assert all(target.startswith(("http://", "https://")) for target in targets)
    assert 0 <= declared <= len(targets)
