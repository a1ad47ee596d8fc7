"""Feeds as contents and as URLs, dates of publication, hashes of contents."""

import hashlib
import json
import zlib

import pytest

from gossamer.clock import ManualClock
from gossamer.objects.enumerations import URLType
from gossamer.parse.scraper import scrape
from gossamer.parse.scraper_dates import publication_date
from gossamer.parse.scraper_measure import content_hash
from gossamer.parse.scraper_records import Problems

FEED_URL = "https://news.example.org/feed.xml"
FEED = b"""<rss version="2.0"><channel><title>News</title><link>https://news.example.org/</link>
<language>en</language>
<item><title>One</title><link>https://news.example.org/1</link><guid>g1</guid>
<pubDate>Mon, 16 Nov 2026 03:00:00 GMT</pubDate><description>First &amp; best</description>
<category>a</category><category>b</category>
<enclosure url="https://news.example.org/1.mp3" type="audio/mpeg" length="5"/></item>
<item><title>Two</title><link>/2</link></item>
<item><title>No link</title><guid isPermaLink="false">only-guid</guid></item>
</channel></rss>"""


def processed(name, body=FEED, **more):
    return scrape(body, "application/rss+xml", "", FEED_URL, {"PROCESSOR_NAME": name}, **more)


def test_the_entries_of_a_feed_are_contents():
    result = processed("FEED_PARSER")
    assert result.errors == 0
    assert [content["title"] for content in result.contents] == ["One", "Two", "No link"]
    assert result.contents[0] == {
        "title": "One", "link": "https://news.example.org/1", "guid": "g1",
        "pubdate": "2026-11-16T03:00:00Z", "description": "First & best", "keywords": "a,b",
        "enclosure": "https://news.example.org/1.mp3", "html_lang": "en",
    }  # fmt: skip
    assert [(link.url, link.kind, link.content) for link in result.links] == [
        ("https://news.example.org/1", URLType.FETCHED, 0),
        ("https://news.example.org/2", URLType.FETCHED, 1),
    ]
    assert result.links[0].headers == {
        "X-pubdateRssFeed": "2026-11-16T03:00:00Z",
        "X-feed_url": FEED_URL,
        "X-base_url": "https://news.example.org/",
    }
    assert result.tags_count == 8


def test_the_entries_of_a_feed_may_be_urls_to_fetch():
    result = processed("RSS")
    assert result.contents == []
    assert [(link.url, link.kind, link.content) for link in result.links] == [
        ("https://news.example.org/1", URLType.SINGLE, -1),
        ("https://news.example.org/2", URLType.SINGLE, -1),
    ]
    assert "X-pubdateRssFeed" not in result.links[1].headers


@pytest.mark.parametrize("name", ["FEED_PARSER", "RSS"])
def test_an_empty_feed_and_no_feed_are_different_errors(name):
    empty = processed(name, b"<rss version='2.0'><channel><title>x</title></channel></rss>")
    assert empty.errors == 1 << 45
    assert processed(name, b"<html><p>no feed").errors == 1 << 36


def test_no_more_entries_are_taken_than_the_site_allows():
    result = processed("FEED_PARSER", max_urls_from_page=1)
    assert len(result.contents) == len(result.links) == 1
    assert result.errors == 1 << 43
    assert all(link.content < 1 for link in result.links)


def test_what_a_feed_said_comes_back_with_the_page():
    """The header that RSS sends along with a URL dates the page it leads to."""
    (link, _) = processed("RSS").links
    page = b"<title>One</title><p>Some words.</p>"
    result = scrape(page, "text/html", "", link.url, {}, link.headers, clock=ManualClock())
    assert result.pdate == 1_794_798_000


HEADERS = {
    "date": "Mon, 16 Nov 2026 12:00:00 GMT",
    "last-modified": "Sun, 15 Nov 2026 12:00:00 GMT",
    "x-pubdaterssfeed": "2026-11-13T12:00:00Z",
}
CONTENT = {"dc_date": "2026-11-12T12:00:00Z", "pubdate": "2026-11-11T12:00:00Z"}
IN_URL = "https://news.example.org/2026/11/14/x"
NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("mask", "day", "how"),
    [
        (255, 11, "pubdate"), (255 - 32, 12, "dc_date"), (255 - 48, 13, "feed"),
        (255 - 50, 14, "url"), (255 - 51, 15, "last-modified"), (255 - 59, 16, "date header"),
        (64, None, "now"), (128, None, ""), (0, None, ""), (1, 14, "url"),
        (4 + 64, 16, "date header"),
    ],
)  # fmt: skip
def test_sources_of_the_date_go_from_the_weakest_to_the_strongest(mask, day, how):
    found, said = publication_date(
        {"PDATE_SOURCES_MASK": str(mask)}, IN_URL, HEADERS, CONTENT, NOW, Problems()
    )
    assert said == how
    if day:
        assert found is not None
        assert found // 86_400 == (1_794_830_400 + (day - 16) * 86_400) // 86_400
    else:
        assert found == (NOW if how == "now" else None)


def test_a_source_that_must_step_back_fills_gaps_only():
    properties = {"PDATE_SOURCES_MASK_OVERWRITE": str(32 + 64)}
    assert publication_date(properties, IN_URL, HEADERS, CONTENT, NOW, Problems())[1] == "dc_date"
    alone = {"pubdate": CONTENT["pubdate"]}
    assert (
        publication_date(properties, "https://x.example/", {}, alone, NOW, Problems())[1]
        == "pubdate"
    )
    # Nothing steps back: the last source has the word.
    properties = {"PDATE_SOURCES_MASK_OVERWRITE": "0"}
    assert publication_date(properties, IN_URL, HEADERS, CONTENT, NOW, Problems())[1] == "now"


TEXT = "<b>Robert</b> Rupert"


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        (1, hashlib.md5(TEXT.encode()).hexdigest()), (2, f"{zlib.crc32(TEXT.encode()):08x}"),
        (3, "R1636163"), (4, hashlib.sha1(TEXT.encode()).hexdigest()),
        (9, hashlib.md5(b"Robert Rupert").hexdigest()),
    ],
)  # fmt: skip
def test_contents_are_told_apart_by_the_algorithm_of_the_site(algorithm, expected):
    properties = {"CONTENT_HASH": json.dumps({"tags": "title", "algorithm": algorithm})}
    problems = Problems()
    assert content_hash(properties, {"title": TEXT, "link": "x"}, problems) == expected
    assert problems.mask == 0


@pytest.mark.parametrize(
    ("name", "code"),
    [("Robert", "R163"), ("Rupert", "R163"), ("Ashcraft", "A2613"), ("Tymczak", "T522"),
     ("Pfister", "P236"), ("Lee", "L000"), ("Äé", "")],
)  # fmt: skip
def test_soundex_goes_on_to_the_last_letter(name, code):
    properties = {"CONTENT_HASH": '{"algorithm": "3", "tags": ["title"]}'}
    assert content_hash(properties, {"title": name}, Problems()) == code


def test_an_unknown_algorithm_is_an_error_and_absent_tags_are_not():
    problems = Problems()
    assert content_hash({"CONTENT_HASH": '{"algorithm": 7}'}, {"title": "x"}, problems) == ""
    assert problems.mask == 1 << 36
    problems = Problems()
    assert content_hash({"CONTENT_HASH": '{"tags": "guid"}'}, {"title": "x"}, problems) == ""
    assert problems.mask == 0
