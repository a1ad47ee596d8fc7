"""One sample of every format, read to the last field; and the head of a feed."""

# ruff: noqa: E501 -- samples are easier to read in one line

import gzip
import hashlib

import msgspec
import pytest

from gossamer.outcomes import Outcome
from gossamer.parse.feed import (
    Enclosure,
    Feed,
    FeedLimits,
    Item,
    link_header,
    read_feed,
    urls_checksum,
)

URL = "https://news.example/feeds/all.xml"
NOVEMBER = 1_794_798_841  # 2026-11-16T03:14:01Z

RSS_2 = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel>
  <title>The &amp;quot;Daily&amp;quot; &amp;amp; Sunday</title>
  <link>https://news.example/</link>
  <atom:link rel="self" href="https://news.example/feeds/all.xml" type="application/rss+xml"/>
  <atom:link rel="hub" href="https://hub.example/"/>
  <image><url>https://news.example/logo.png</url><title>Logo</title><link>https://other.example/</link></image>
  <language>en-GB</language><ttl>30</ttl>
  <item>
    <title><![CDATA[Storm <em>hits</em> the coast &mdash; again]]></title>
    <link>
      https://news.example/2026/
      storm?a=1&amp;b=2
    </link>
    <guid isPermaLink="false">tag:news.example,2026:1</guid>
    <description>&lt;p&gt;Wind &amp;amp; rain.&lt;/p&gt;&lt;p&gt;More&lt;/p&gt;</description>
    <content:encoded><![CDATA[<p>Wind &amp; rain, at length.</p>]]></content:encoded>
    <dc:creator>Ann Archer</dc:creator>
    <author>bob@news.example (Bob Bell)</author>
    <pubDate>Mon, 16 Nov 2026 03:14:01 GMT</pubDate>
    <category>Weather</category><category domain="x">Coast</category>
    <source url="https://wire.example/rss"><title>Wire</title></source>
    <media:thumbnail url="/thumb.jpg"/>
    <enclosure url="https://news.example/a.mp3" type="audio/mpeg" length="123456"/>
  </item>
  <item><title>Short</title><link>/second</link></item>
</channel></rss>"""

RSS_091 = """<?xml version="1.0"?>
<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">
<rss version="0.91"><channel><title>Old caf&eacute;</title><link>http://old.example/</link>
<language>fr</language>
<item><title>Un</title><link>http://old.example/1</link><description>Premi&egrave;re</description></item>
</channel></rss>"""

RSS_092 = """<rss version="0.92"><channel><title>News</title><link>http://old.example/</link>
<item><description>No title, but &lt;a href="x"&gt;a link&lt;/a&gt;</description>
<link>http://old.example/1</link></item></channel></rss>"""

RSS_090 = """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://channel.netscape.com/rdf/simple/0.9/"><channel><title>Ninety</title>
<link>http://old.example/</link></channel><image><title>No</title><link>http://no.example/</link></image>
<item><title>Un</title><link>http://old.example/1</link></item></rdf:RDF>"""

RSS_1 = """<?xml version="1.0"?><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/" xmlns:d="http://purl.org/dc/elements/1.1/"
 xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
<channel r:about="http://rdf.example/"><title>RDF</title><link>http://rdf.example/</link>
<sy:updatePeriod> hourly </sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>
<d:language>de</d:language>
<items><r:Seq><r:li r:resource="http://rdf.example/1"/></r:Seq></items></channel>
<item r:about="http://rdf.example/1"><title>Eins</title><link>http://rdf.example/1</link>
<d:date>2026-11-16T04:14:01+01:00</d:date><d:creator>Uwe</d:creator><d:subject>Netz</d:subject></item>
</r:RDF>"""

ATOM_1 = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="sv" xml:base="https://atom.example/blog/">
<title type="html">Nytt &amp;amp; gammalt</title><id>urn:x</id><updated>2026-11-16T03:14:01Z</updated>
<link rel="alternate" type="text/html" href="./"/><link rel="self" href="feed.atom"/>
<link rel="hub" href="https://hub.example/"/>
<author><name>Redaktionen</name><email>r@atom.example</email></author>
<entry>
  <title type="text">Mindre &lt; st&#246;rre</title>
  <link rel="edit" href="edit/1"/><link href="2026/en" hreflang="en" type="application/json"/>
  <link href="2026/ett"/>
  <link rel="enclosure" href="/ljud.ogg" type="audio/ogg" length="77"/>
  <id>tag:atom.example,2026:ett</id>
  <published>2026-11-16T03:14:01.25Z</published><updated>2026-11-16T03:15:01Z</updated>
  <summary>Kort</summary>
  <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p class="a">L&#229;ngt &amp; <b>fett</b><br/></p></div></content>
  <author><email>e@x.example</email><name>Eva</name></author><contributor><name>Nej</name></contributor>
  <category term="t" label="Tagg"/>
  <source><title>Annan</title><id>urn:annan</id><link href="https://annan.example/"/></source>
</entry>
<entry xml:base="/other/" xml:lang="nb"><title>To</title><link href="to"/><id>urn:2</id></entry>
</feed>"""

ATOM_03 = """<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>Old Atom</title>
<link rel="alternate" type="text/html" href="http://atom.example/"/>
<entry><title mode="escaped">A &lt;b&gt;bold&lt;/b&gt; one</title><id>urn:1</id>
<link rel="alternate" type="text/html" href="http://atom.example/1"/>
<issued>2026-11-16T03:14:01Z</issued><modified>2026-11-16</modified>
<content type="text/html" mode="escaped">&lt;p&gt;Hi&lt;/p&gt;</content></entry></feed>"""

JSON_11 = """{"version": "https://jsonfeed.org/version/1.1", "title": "JSON & co",
"home_page_url": "https://json.example/", "feed_url": "https://json.example/feed.json",
"language": "en-US", "hubs": [{"type": "WebSub", "url": "https://hub.example/"}],
"authors": [{"name": "Everybody"}],
"items": [
 {"id": "https://json.example/1", "url": "https://json.example/1", "title": "One < two",
  "content_html": "<p>Long</p>", "summary": "Short", "image": "/i.png",
  "date_published": "2026-11-16T03:14:01Z", "date_modified": "2026-11-16T03:14:02Z",
  "authors": [{"name": "Ann"}, {"name": "Bob"}], "tags": ["x", "y"], "language": "fr",
  "attachments": [{"url": "https://json.example/a.mp3", "mime_type": "audio/mpeg",
                   "size_in_bytes": 9}]},
 {"id": 2, "content_text": "a < b", "external_url": "https://else.example/2"}]}"""

JSON_10 = """{"version": "https://jsonfeed.org/version/1", "title": "T",
"items": [{"id": "x1", "url": "https://json.example/1", "author": {"name": "Ann"}}]}"""

NEWS_SITEMAP = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>https://news.example/a</loc><lastmod>2026-11-16T03:15:00Z</lastmod>
<n:news><n:publication><n:name>The Daily</n:name><n:language>en</n:language></n:publication>
<n:publication_date>2026-11-16T03:14:01Z</n:publication_date><n:title>A &amp; B</n:title>
<n:keywords>sea, wind</n:keywords></n:news>
<image:image><image:loc>https://news.example/a.jpg</image:loc><image:title>No</image:title></image:image>
</url></urlset>"""

SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">
<url><loc>https://news.example/a</loc><xhtml:link rel="alternate" hreflang="de" href="https://news.example/de"/>
<lastmod>2026-11-16</lastmod></url><url><loc>https://news.example/b</loc></url></urlset>"""

SITEMAP_INDEX = """<sitemapindex><sitemap><loc>https://news.example/s1.xml</loc></sitemap>
<sitemap><loc>/s2.xml</loc></sitemap><sitemap><loc>ftp://x/</loc></sitemap></sitemapindex>"""


def read(body: bytes | str, url: str = URL, **limits: int) -> Feed:
    if isinstance(body, str):
        body = body.encode()
    return read_feed(body, "", "", url, FeedLimits(**limits))


@pytest.mark.req("S4.29")
def test_rss_2():
    feed = read(RSS_2)
    first, second = feed.items
    assert first == Item(
        url="https://news.example/2026/storm?a=1&b=2",
        guid="tag:news.example,2026:1",
        guid_is_permalink=False,
        title="Storm hits the coast — again",
        description="Wind & rain. More",
        content_html="<p>Wind &amp; rain, at length.</p>",
        authors=("Ann Archer", "Bob Bell"),
        published=NOVEMBER,
        tags=("Weather", "Coast"),
        image="https://news.example/thumb.jpg",
        enclosures=(Enclosure("https://news.example/a.mp3", "audio/mpeg", 123_456),),
    )
    assert second == Item(
        url="https://news.example/second",
        guid="https://news.example/second",
        guid_is_permalink=True,
        title="Short",
    )
    assert msgspec.structs.replace(feed, items=()) == Feed(
        form="rss2",
        title='The "Daily" & Sunday',
        home="https://news.example/",
        language="en-gb",
        ttl_seconds=1_800,
        hub="https://hub.example/",
        topic=URL,
    )


def test_rss_091_has_a_document_type_and_the_letters_of_html():
    feed = read(RSS_091)
    assert (feed.form, feed.title, feed.language) == ("rss09", "Old café", "fr")
    assert feed.items[0].description == "Première"
    assert feed.outcome is Outcome.OK
    assert feed.flags == ("dtd",)


def test_rss_092_needs_no_title():
    feed = read(RSS_092)
    assert feed.form == "rss09"
    assert [(item.title, item.description) for item in feed.items] == [("", "No title, but a link")]


def test_rss_090_and_rss_10_have_items_beside_the_channel():
    old, new = read(RSS_090), read(RSS_1)
    assert (old.form, old.title, old.home) == ("rdf", "Ninety", "http://old.example/")
    assert [item.url for item in old.items] == ["http://old.example/1"]
    assert (new.form, new.title, new.language, new.ttl_seconds) == ("rdf", "RDF", "de", 1_800)
    assert new.items == (
        Item(
            url="http://rdf.example/1",
            guid="http://rdf.example/1",
            guid_is_permalink=True,
            title="Eins",
            authors=("Uwe",),
            published=NOVEMBER,
            tags=("Netz",),
        ),
    )


@pytest.mark.req("S4.29")
def test_atom_1():
    feed = read(ATOM_1)
    first, second = feed.items
    assert first == Item(
        url="https://atom.example/blog/2026/ett",
        guid="tag:atom.example,2026:ett",
        title="Mindre < större",
        description="Kort",
        content_html='<div><p class="a">Långt &amp; <b>fett</b><br></p></div>',
        authors=("Eva",),
        published=NOVEMBER,
        updated=NOVEMBER + 60,
        tags=("Tagg",),
        enclosures=(Enclosure("https://atom.example/ljud.ogg", "audio/ogg", 77),),
    )
    assert second.url == "https://atom.example/other/to"
    assert (second.language, second.authors) == ("nb", ("Redaktionen",))
    assert (feed.form, feed.title, feed.language) == ("atom1", "Nytt & gammalt", "sv")
    assert feed.home == "https://atom.example/blog/"
    assert feed.topic == "https://atom.example/blog/feed.atom"
    assert feed.hub == "https://hub.example/"


def test_atom_03():
    feed = read(ATOM_03)
    assert (feed.form, feed.home) == ("atom03", "http://atom.example/")
    (item,) = feed.items
    assert (item.title, item.content_html) == ("A bold one", "<p>Hi</p>")
    assert (item.published, item.updated) == (NOVEMBER, NOVEMBER // 86_400 * 86_400)


def test_json_feed():
    feed = read(JSON_11)
    first, second = feed.items
    assert first == Item(
        url="https://json.example/1",
        guid="https://json.example/1",
        title="One < two",
        description="Short",
        content_html="<p>Long</p>",
        authors=("Ann", "Bob"),
        published=NOVEMBER,
        updated=NOVEMBER + 1,
        tags=("x", "y"),
        image="https://news.example/i.png",
        enclosures=(Enclosure("https://json.example/a.mp3", "audio/mpeg", 9),),
        language="fr",
    )
    assert (second.url, second.guid) == ("https://else.example/2", "2")
    assert (second.content_html, second.authors) == ("a &lt; b", ("Everybody",))
    assert msgspec.structs.replace(feed, items=()) == Feed(
        form="json",
        title="JSON & co",
        home="https://json.example/",
        language="en-us",
        hub="https://hub.example/",
        topic="https://json.example/feed.json",
    )
    assert read(JSON_10).items[0].authors == ("Ann",)


def test_news_sitemap():
    feed = read(NEWS_SITEMAP)
    assert (feed.form, feed.title) == ("news_sitemap", "The Daily")
    assert feed.items == (
        Item(
            url="https://news.example/a",
            guid="https://news.example/a",
            guid_is_permalink=True,
            title="A & B",
            published=NOVEMBER,
            updated=NOVEMBER + 59,
            tags=("sea", "wind"),
            image="https://news.example/a.jpg",
            language="en",
        ),
    )


def test_sitemap_and_index():
    sitemap, index = read(SITEMAP), read(SITEMAP_INDEX)
    assert sitemap.form == "sitemap"
    assert [item.url for item in sitemap.items] == [
        "https://news.example/a",
        "https://news.example/b",
    ]
    assert index.form == "sitemap_index"
    assert index.children == ("https://news.example/s1.xml", "https://news.example/s2.xml")
    assert (index.items, index.outcome) == ((), Outcome.OK)


@pytest.mark.parametrize(
    ("written", "content"),
    [
        ('<content type="html">&lt;p&gt;x&lt;/p&gt;</content>', "<p>x</p>"),
        ("<content>1 &lt; 2</content>", "1 &lt; 2"),
        ("<content>&lt;p&gt;x&lt;/p&gt;</content>", "<p>x</p>"),
        ('<content type="text">a &amp; b</content>', "a &amp; b"),
        ('<content type="html" src="/elsewhere"/>', ""),
        ('<content mode="base64">PHA+eDwvcD4=</content>', ""),
        ('<content type="image/png">iVBORw0KGgo=</content>', ""),
        ('<content type="image/svg+xml"><svg><title>x</title></svg></content>', ""),
    ],
)
def test_forms_of_atom_content(written, content):
    body = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>{written}</entry></feed>'
    (item,) = read(body).items
    assert (item.content_html, item.title) == (content, "")


@pytest.mark.parametrize(
    ("head", "language"),
    [
        ("<rss><channel xml:lang='de'>", "de"),
        ("<rss xml:lang='fr'><channel xml:lang='de'>", "de"),
        ("<rss xml:lang='fr'><channel xml:lang='de'><language>pt_BR</language>", "pt-br"),
        ("<rss><channel><language>none of your business</language>", ""),
    ],
)
def test_language_of_a_feed(head, language):
    assert read(f"{head}<link rel='hub'/></channel></rss>").language == language


@pytest.mark.parametrize(
    ("written", "title"),
    [
        (r"Cut \ud83d", "Cut \ufffd"),
        (r"Cut \ude00 again", "Cut \ufffd again"),
        (r"\ud83d\ud83d\ude00\uDE00", "\ufffd\U0001f600\ufffd"),
        (r"C:\\ud800 \ud83d", "C:\\ud800 \ufffd"),
    ],
)
def test_half_a_character_in_json_spoils_no_feed(written, title):
    items = f'{{"id": "1", "url": "/1", "title": "{written}"}}, {{"id": "2", "url": "/2"}}'
    feed = read(f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{items}]}}')
    assert [item.title for item in feed.items] == [title, ""]


def test_an_entry_of_json_that_is_no_object_is_skipped():
    body = '{"version": "https://jsonfeed.org/version/1", "items": [7, [], null, {"id": "a"}, {"id": true}]}'
    feed = read(body)
    assert [item.guid for item in feed.items] == ["a"]
    assert (feed.skipped, feed.outcome) == (4, Outcome.OK)


ALL = {
    "rss2": RSS_2,
    "rss09": RSS_092,
    "rdf": RSS_1,
    "atom1": ATOM_1,
    "atom03": ATOM_03,
    "json": JSON_11,
    "news_sitemap": NEWS_SITEMAP,
    "sitemap": SITEMAP,
    "sitemap_index": SITEMAP_INDEX,
}


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize(
    "changed",
    [
        lambda body: body.encode("utf-8-sig"),
        lambda body: body.encode("utf-16"),
        lambda body: body.encode("utf-16-le"),
        lambda body: body.encode("utf-16-be"),
        lambda body: body.encode("utf-32"),
        lambda body: b"\r\n \t" + body.encode(),
        lambda body: gzip.compress(body.encode()),
    ],
    ids=["mark", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "space", "gzip"],
)
def test_the_wrapping_changes_nothing(form, changed):
    assert read(changed(ALL[form])) == read(ALL[form])
    assert read(ALL[form]).form == form
    assert read(ALL[form]).outcome is Outcome.OK


@pytest.mark.parametrize("form", ALL)
def test_a_feed_survives_the_way_to_another_process(form):
    feed = read(ALL[form])
    assert msgspec.json.decode(msgspec.json.encode(feed), type=Feed) == feed
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(feed), type=Feed) == feed


@pytest.mark.parametrize(
    ("head", "seconds"),
    [
        ("<ttl>60</ttl>", 3_600),
        ("<ttl>0</ttl>", 0),
        ("<ttl>-5</ttl>", 0),
        ("<ttl>soon</ttl>", 0),
        ("<ttl>99999999</ttl>", 0),
        ("<sy:updatePeriod>daily</sy:updatePeriod>", 86_400),
        (
            "<sy:updatePeriod>Daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>",
            21_600,
        ),
        (
            "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>",
            3_600,
        ),
        ("<sy:updatePeriod>never</sy:updatePeriod>", 0),
        ("<ttl>5</ttl><sy:updatePeriod>weekly</sy:updatePeriod>", 300),
    ],
)
def test_how_long_a_feed_asks_to_be_left_alone(head, seconds):
    body = f"<rss version='2.0' xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'><channel>{head}</channel></rss>"
    assert read(body).ttl_seconds == seconds


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], {}),
        (
            ['<https://hub.example/>; rel="hub", <https://a.example/f>; rel=self'],
            {"hub": "https://hub.example/", "self": "https://a.example/f"},
        ),
        (
            ['<https://hub.example/?a,b>; title="x, <y>"; rel="HUB other"', "<b>;rel=hub"],
            {"hub": "https://hub.example/?a,b", "other": "https://hub.example/?a,b"},
        ),
        (["</self> ;rel = self"], {"self": "/self"}),
        (["</hub>; Rel=hub"], {"hub": "/hub"}),
        (["no link", "<x>", "<x>; rel", '<x>; rel="', "<" * 9_000], {}),
    ],
)
def test_link_headers(values, found):
    assert link_header(values) == found


@pytest.mark.req("S4.33")
def test_checksum_is_of_the_sorted_distinct_urls():
    a, b, c = (f"https://news.example/{letter}" for letter in "abc")
    expected = hashlib.sha256(f"{a}\n{b}\n{c}".encode()).digest()
    assert urls_checksum([a, b, c]) == expected
    assert urls_checksum(iter([c, a, b, a, c])) == expected
    assert urls_checksum([a, b]) != expected
    assert urls_checksum([]) == hashlib.sha256(b"").digest()
    first, again = read(RSS_2), read(RSS_2.replace("<title>Short", "<title>Changed"))
    assert urls_checksum(item.url for item in first.items) == urls_checksum(
        item.url for item in reversed(again.items)
    )
