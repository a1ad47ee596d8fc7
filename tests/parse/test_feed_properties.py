"""Whatever the bytes are: no exception, every limit kept, every URL one that can be fetched."""

# ruff: noqa: E501 -- samples are easier to read in one line

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gossamer.outcomes import Outcome
from gossamer.parse.feed import Feed, FeedLimits, link_header, read_feed, urls_checksum

ITEM = (
    "<item><title>Größe &amp; mehr</title><link>http://a.example/{0}</link><guid>g{0}</guid>"
    "<description>&lt;p&gt;Text&lt;/p&gt;</description><pubDate>Mon, 16 Nov 2026 03:14:01 GMT"
    "</pubDate><author>a@b.example (A)</author><category>c</category>"
    '<enclosure url="/a.mp3" length="7" type="audio/mpeg"/></item>'
)
ENTRY = (
    '<entry><title type="html">T</title><link href="/{0}"/><id>urn:{0}</id><updated>2026-11-16'
    '</updated><content type="xhtml"><div><p>x<br/></p></div></content></entry>'
)
SAMPLES = (
    '<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>T</title><ttl>5</ttl>'
    + "".join(ITEM.format(number) for number in range(3))
    + "</channel></rss>",
    '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://b.example/"><title>T</title>'
    + "".join(ENTRY.format(number) for number in range(3))
    + "</feed>",
    "<urlset><url><loc>http://a.example/1</loc><lastmod>2026-11-16</lastmod></url></urlset>",
    "<sitemapindex><sitemap><loc>/1.xml</loc></sitemap></sitemapindex>",
    (
        '{"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": ['
        '{"id": "1", "url": "/1", "content_html": "<p>x</p>", "tags": ["a"], "authors": [{"name": "A"}],'
        ' "attachments": [{"url": "/a", "size_in_bytes": 5}]}]}'
    ),
)
LIMITS = FeedLimits(
    max_items=2,
    max_url=64,
    max_guid=48,
    max_title=8,
    max_description=9,
    max_content=20,
    max_feed_content=30,
    max_names=1,
    max_elements=200,
)
PIECES = st.sampled_from(
    [
        *(b"<", b">", b"&", b'"', b"{", b"\xff", b"\0", b"&#xD800;", b"\\ud800", b"&#0;"),
        *(b"]]>", b"<![CDATA[", b"<!--", b"</item>", b"<item>", b"</title>", b"<?xml ?>"),
        b"<link>http://a.example/" + b"x" * 80,
        b"<guid>" + b"g" * 80,
        b"<!DOCTYPE a [",
        b"xmlns='http://purl.org/dc/terms/'",
    ]
)


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    body = draw(st.sampled_from(SAMPLES)).encode()
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(body)))
        gone = draw(st.integers(0, 40))
        body = body[:start] + draw(PIECES | st.binary(max_size=4)) + body[start + gone :]
    return body


def check(feed: Feed, limits: FeedLimits) -> None:
    assert msgspec.json.decode(msgspec.json.encode(feed), type=Feed) == feed
    assert len(feed.items) <= limits.max_items
    assert len(feed.children) <= limits.max_items
    assert len(feed.title) <= limits.max_title
    assert sum(len(item.content_html) for item in feed.items) <= limits.max_feed_content
    urls = [feed.home, feed.hub, feed.topic, *feed.children]
    for item in feed.items:
        assert item.guid
        assert len(item.guid) <= max(limits.max_guid, limits.max_url)
        assert len(item.title) <= limits.max_title
        assert len(item.description) <= limits.max_description
        assert len(item.content_html) <= limits.max_content
        assert max(len(item.authors), len(item.tags)) <= limits.max_names
        assert len(item.enclosures) <= limits.max_names
        urls += [item.url, item.image, *(enclosed.url for enclosed in item.enclosures)]
    for url in filter(None, urls):
        assert url.startswith(("http://", "https://"))
        assert len(url) <= limits.max_url
        assert not any(letter <= " " for letter in url)
    assert feed.form or (feed.outcome, feed.items) == (Outcome.PARSE_FAILED, ())
    assert feed.detail or feed.outcome is Outcome.OK


@given(mutations())
def test_a_changed_feed_keeps_to_the_limits(body):
    check(read_feed(body, "", "", "http://site.example/feed", LIMITS), LIMITS)
    check(read_feed(body, "", "", "http://site.example/feed"), FeedLimits())


@given(st.binary(), st.text(max_size=20), st.text(max_size=20), st.text(max_size=40))
def test_any_bytes_keep_to_the_limits(body, content_type, charset, url):
    check(read_feed(body, content_type, charset, url, LIMITS), LIMITS)
    check(read_feed(b"<rss><channel><item>" + body, "", charset, url, LIMITS), LIMITS)


@given(st.integers(0, len(SAMPLES[0])))
def test_a_feed_cut_anywhere_yields_only_urls_of_the_whole(length):
    whole = read_feed(SAMPLES[0].encode(), "", "", "http://site.example/feed")
    part = read_feed(SAMPLES[0][:length].encode(), "", "", "http://site.example/feed")
    assert [item.url for item in part.items] == [item.url for item in whole.items][
        : len(part.items)
    ]


@given(st.lists(st.text()))
def test_order_and_repetition_do_not_change_the_checksum(urls):
    assert urls_checksum(urls) == urls_checksum([*reversed(urls), *urls])
    assert len(urls_checksum(urls)) == 32


@given(st.lists(st.text() | st.from_regex(r'(<[a-z:/]{0,9}>;rel="?[a-z ]{0,9}"?,?){0,4}')))
def test_link_headers_never_raise(values):
    for relation, reference in link_header(values).items():
        assert relation == relation.lower()
        assert "<" not in reference
