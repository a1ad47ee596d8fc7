"""Which URL and guid an item has, what is skipped, what is cut (requirements 5b.3, item 2)."""

# ruff: noqa: E501 -- samples are easier to read in one line

import pytest

from gossamer.outcomes import Outcome
from gossamer.parse.feed import Feed, FeedLimits, read_feed

URL = "https://news.example/feeds/all.xml"
NAMESPACES = (
    'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'
)


def read(*items: str, url: str = URL, **limits: int) -> Feed:
    inside = "".join(f"<item>{item}</item>" for item in items)
    body = f'<rss version="2.0" {NAMESPACES}><channel>{inside}</channel></rss>'
    return read_feed(body.encode(), "", "", url, FeedLimits(**limits))


@pytest.mark.parametrize(
    ("item", "url"),
    [
        ("<link>http://a.example/1</link><guid>http://a.example/g</guid>", "http://a.example/1"),
        ("<link>http://a.example/\n 1\t2 </link>", "http://a.example/12"),
        ("<link>HTTP://A.example:80/x#part</link>", "http://a.example/x"),
        ("<link>story.html</link>", "https://news.example/feeds/story.html"),
        ("<link>//cdn.example/x</link>", "https://cdn.example/x"),
        ("<link>www.a.example/x</link>", "http://www.a.example/x"),
        ("<link xml:base='http://b.example/d/'>x</link>", "http://b.example/d/x"),
        ("<guid>http://a.example/g</guid>", "http://a.example/g"),
        ("<guid isPermaLink='false'>http://a.example/?p=1</guid>", "http://a.example/?p=1"),
        ("<link></link><guid> http://a.example/g </guid>", "http://a.example/g"),
        ("<link>javascript:x</link><guid>http://a.example/g</guid>", "http://a.example/g"),
        ("<link>mailto:a@b.example</link><guid>1</guid>", ""),
        ("<guid>http://a.example/</guid><atom:link href='http://a.example/1'/>", "http://a.example/1"),
        ("<guid>7</guid><atom:link rel='self' href='http://a.example/1'/>", ""),
        ("<guid>7</guid><feedburner:origLink>http://a.example/1</feedburner:origLink>", "http://a.example/1"),
        ("<link>http://p.example/~r/1</link><feedburner:origLink>http://a.example/1</feedburner:origLink>", "http://p.example/~r/1"),
        ("<guid>7</guid><enclosure url='http://a.example/1.mp3'/>", "http://a.example/1.mp3"),
        ("<guid>7</guid><enclosure url='http://a.example/1.mp3'/><atom:link href='http://a.example/1'/>", "http://a.example/1"),
        ("<guid>7</guid>", ""),
    ],
)  # fmt: skip
def test_url_of_an_item(item, url):
    feed = read(item)
    assert [found.url for found in feed.items] == [url]
    assert feed.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("item", "guid", "is_permalink"),
    [
        ("<link>http://a.example/1</link><guid>http://a.example/g</guid>", "http://a.example/g", True),
        ("<link>http://a.example/1</link><guid isPermaLink='false'>http://a.example/g</guid>", "http://a.example/g", False),
        ("<link>http://a.example/1</link><guid isPermaLink='true'>abc</guid>", "abc", False),
        ("<link>http://a.example/1</link>", "http://a.example/1", True),
        ("<link>http://a.example/1</link><guid>http://a.example</guid>", "http://a.example/1", True),
        ("<link>http://a.example/1</link><guid>https://www.a.example/index.php</guid>", "http://a.example/1", True),
        ("<link>http://a.example/1</link><guid>\n a  b\n</guid>", "a b", False),
        ("<link>http://a.example/1</link><dc:identifier>doi:1</dc:identifier>", "doi:1", False),
    ],
)  # fmt: skip
def test_guid_of_an_item(item, guid, is_permalink):
    (found,) = read(item).items
    assert (found.guid, found.guid_is_permalink) == (guid, is_permalink)


def test_an_item_without_url_and_guid_is_skipped_and_counted():
    feed = read("<title>a</title>", "<guid>http://home.example/</guid>", "<guid>1</guid>")
    assert [item.guid for item in feed.items] == ["1"]
    assert (feed.skipped, feed.flags) == (2, ("no_identity",))


def test_an_overlong_url_is_never_cut_into_another():
    exact = "http://a.example/" + "x" * (2_048 - 17)
    feed = read(*(f"<link>{url}</link><guid>1</guid>" for url in (exact, exact + "x")))
    assert [item.url for item in feed.items] == [exact]
    assert (feed.skipped, feed.flags) == (1, ("long_url",))
    monster = read(f"<link>http://a.example/{'x' * 300_000}</link><guid>1</guid>")
    assert (monster.items, monster.skipped, monster.flags) == ((), 1, ("long_url",))


def test_an_overlong_guid_stays_unique():
    feed = read(
        *(f"<link>/{end}</link><guid>{'g' * 2_000}{end}</guid>" for end in "ab"),
        f"<link>/c</link><guid>{'g' * 1_024}</guid>",
    )
    first, second, third = (item.guid for item in feed.items)
    assert len(first) == len(second) == len(third) == 1_024
    assert len({first, second, third}) == 3
    assert first.startswith("g" * 900)
    assert third == "g" * 1_024
    assert feed.flags == ("long_guid",)


def test_one_guid_for_all_is_flagged():
    items = [f"<link>/{number}</link><guid>same</guid>" for number in range(5)]
    assert read(*items).flags == ("same_guid",)
    assert read(*items[:2], *(f"<link>/{n}</link>" for n in "abcd")).flags == ()
    assert read(items[0], items[0]).flags == ()


def test_texts_are_cut():
    feed = read(
        *(
            f"<guid>{number}</guid><title>{'t' * 50}</title><description>{'d ' * 50}</description>"
            f"<content:encoded xmlns:content='http://purl.org/rss/1.0/modules/content/'>{'c' * 50}"
            "</content:encoded>"
            for number in range(3)
        ),
        max_title=10,
        max_description=20,
        max_content=30,
        max_feed_content=70,
    )
    assert [len(item.content_html) for item in feed.items] == [30, 30, 10]
    assert {len(item.title) for item in feed.items} == {10}
    assert {len(item.description) for item in feed.items} <= {19, 20}
    assert feed.flags == ("long_text",)
    assert feed.outcome is Outcome.OK


def test_a_description_that_is_a_whole_text_is_kept_whole():
    (item,) = read(f"<guid>1</guid><description>{'long ' * 2_000}</description>").items
    assert len(item.description) <= 4_096
    assert item.content_html == ("long " * 2_000).strip()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Plain", "Plain"),
        ("AT&amp;T", "AT&T"),
        ("AT&amp;amp;T", "AT&T"),
        ("&lt;b&gt;Bold&lt;/b&gt; word", "Bold word"),
        ("<![CDATA[<p>One</p><p>Two<br/>three</p>]]>", "One Two three"),
        ("1 &lt; 2 and 3 &gt; 2", "1 < 2 and 3 > 2"),
        ("<![CDATA[a<script>alert('x')</script>b<!-- > c -->d<style>p{}</style>]]>", "abd"),
        ("<b>in</b> the <i>open</i>", "in the open"),
        ("  wide \n\t title\u00a0 ", "wide title"),
        ("<![CDATA[caf&eacute; &#233; &#x20AC;]]>", "café é €"),
        ("", ""),
    ],
)
def test_title_is_plain_text(written, shown):
    (item,) = read(f"<guid>1</guid><title>{written}</title>").items
    assert item.title == shown


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("<author>a@b.example (Ann Archer)</author>", ("Ann Archer",)),
        ("<author>Ann Archer &lt;a@b.example&gt;</author>", ("Ann Archer",)),
        ("<author>Ann (of B)</author>", ("Ann (of B)",)),
        ("<author>a@b.example</author>", ("a@b.example",)),
        ("<author>a@b.example ()</author>", ("a@b.example ()",)),
        ("<dc:creator>A</dc:creator><dc:creator>B</dc:creator><author>A</author>", ("A", "B")),
        ("<author><name>Ann</name><uri>x</uri></author>", ("Ann",)),
    ],
)
def test_authors(written, names):
    (item,) = read(f"<guid>1</guid>{written}").items
    assert item.authors == names


@pytest.mark.parametrize("fault", ["", "&nbsp;"])
@pytest.mark.parametrize(
    "image",
    [
        "<image><url>/i.png</url><title>Logo</title><link>http://no.example/</link></image>",
        "<image><link>http://no.example/</link><title>Logo</title><url>/i.png</url></image>",
        "<image>/i.png</image>",
    ],
)
def test_the_picture_of_an_item_is_not_the_item(image, fault):
    feed = read(f"{image}{fault}<title>Real</title><link>http://a.example/1</link>")
    (item,) = feed.items
    assert (item.title, item.url) == ("Real", "http://a.example/1")
    assert item.image == "https://news.example/i.png"


def test_lists_of_an_item_are_limited():
    many = "".join(
        f"<category>c{n}</category><author>a{n}</author><enclosure url='/{n}'/>" for n in range(99)
    )
    (item,) = read(f"<guid>1</guid>{many}", max_names=5).items
    assert len(item.tags) == len(item.authors) == len(item.enclosures) == 5


@pytest.mark.parametrize(
    "date", ["yesterday", "Wed, 01 Jan 0001 00:00:00 GMT", "9999-12-31", "2301-01-01"]
)
def test_an_absurd_date_is_none(date):
    feed = read(f"<guid>1</guid><pubDate>{date}</pubDate>")
    assert feed.items[0].published is None
    assert feed.flags == ("bad_date",)
    assert feed.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("length", "claimed"), [("12", 12), ("-1", 0), ("many", 0), ("9" * 30, 1 << 50), ("", 0)]
)
def test_length_of_an_enclosure(length, claimed):
    feed = read(f"<guid>1</guid><enclosure url='/a' length='{length}'/>")
    assert feed.items[0].enclosures[0].length == claimed
