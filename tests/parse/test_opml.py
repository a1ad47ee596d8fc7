"""Lists of subscriptions: what other readers write is read, what is written is read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.opml import Subscription, read_opml, write_opml

LIST = """<?xml version="1.0" encoding="UTF-8"?>
<opml version="1.1"><head><title>Mine</title></head><body>
<outline text="News"><outline text="World/Europe" title="World/Europe">
  <outline type="rss" text="A &amp; B" title="A &amp; B" xmlUrl="http://a.example/rss"
   htmlUrl="http://a.example"/></outline>
  <outline text="C" xmlurl="HTTP://C.example/feed#x"/></outline>
<outline text="D" type="rss" url="http://d.example/rss" category="/Tech/Web,/Other"/>
<outline text="A again" xmlUrl="http://a.example/rss"/>
<outline text="page" type="link" url="http://e.example/"/>
<outline text="bad" xmlUrl="ftp://f.example/rss"/><outline xmlUrl="http://g.example/rss"/>
</body></opml>"""


def test_nested_outlines_are_read():
    assert read_opml(LIST.encode()) == [
        Subscription("A & B", "http://a.example/rss", "http://a.example/", "News/World-Europe"),
        Subscription("C", "http://c.example/feed", "", "News"),
        Subscription("D", "http://d.example/rss", "", "Tech/Web"),
        Subscription("", "http://g.example/rss", "", ""),
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-8-sig"),
        lambda text: b"\n" + text.encode(),
        lambda text: text.replace("A &amp; B", "A & B").encode(),
        lambda text: text.replace("</body>", "</body></wrong>").encode(),
        lambda text: text.replace("<opml", "<!DOCTYPE opml [<!ENTITY x 'y'>]><opml").encode(),
        lambda text: text.partition("</body>")[0].encode(),
    ],
    ids=["utf-16", "mark", "space", "ampersand", "wrong end", "entities", "cut"],
)
def test_broken_lists_are_read(change):
    assert read_opml(change(LIST)) == read_opml(LIST.encode())


@pytest.mark.parametrize("fault", ["", "&"])
def test_outlines_beyond_the_limit_are_left_out(fault):
    many = "".join(f'<outline text="{n}" xmlUrl="http://a.example/{n}"/>' for n in range(50))
    found = read_opml(f"<opml><body>{fault}{many}</body></opml>".encode(), max_outlines=10)
    assert [each.title for each in found] == [str(n) for n in range(10)]


def test_entities_are_not_expanded():
    body = "<!DOCTYPE opml [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><opml><outline text='&x;' xmlUrl='http://a.example/'/></opml>"
    assert read_opml(body.encode()) == [Subscription("&x;", "http://a.example/")]


WORDS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Cn", "Z"), blacklist_characters="/"),
    min_size=1,
    max_size=12,
)


@given(
    st.lists(
        st.builds(
            Subscription,
            WORDS,
            st.integers(0, 99).map(lambda number: f"http://a.example/{number}?a=1&b=2"),
            st.sampled_from(["", "http://a.example/"]),
            st.lists(WORDS, max_size=3).map("/".join),
        ),
        unique_by=lambda subscription: subscription.feed_url,
    )
)
def test_what_is_written_is_read_back(subscriptions):
    assert sorted(read_opml(write_opml(subscriptions)), key=hash) == sorted(subscriptions, key=hash)


def test_feeds_of_a_category_stand_together():
    written = write_opml(
        [
            Subscription('"A" <x>', "http://a.example/", "", "One/Two"),
            Subscription("B\n\x00\ud800", "http://b.example/"),
            Subscription("C", "http://c.example/", "http://home.example/", "One"),
        ],
        title="My & list",
    )
    assert written.decode().splitlines()[2:] == [
        "<head><title>My &amp; list</title></head>",
        "<body>",
        '  <outline type="rss" text="B  " title="B  " xmlUrl="http://b.example/"/>',
        '  <outline text="One" title="One">',
        '    <outline type="rss" text="C" title="C" xmlUrl="http://c.example/" htmlUrl="http://home.example/"/>',
        '    <outline text="Two" title="Two">',
        '      <outline type="rss" text="&quot;A&quot; &lt;x&gt;" title="&quot;A&quot; &lt;x&gt;" xmlUrl="http://a.example/"/>',
        "    </outline>",
        "  </outline>",
        "</body>",
        "</opml>",
    ]


@given(
    st.binary() | st.text().map(lambda text: f"<opml><outline {text}".encode("utf-8", "replace"))
)
def test_nothing_raises(body):
    for subscription in read_opml(body):
        assert subscription.feed_url.startswith("http")
