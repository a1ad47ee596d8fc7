"""Feeds that are broken, mislabelled, cut or no feeds at all: what can be read is read."""

# ruff: noqa: E501 -- samples are easier to read in one line

import gzip

import pytest

from gossamer.outcomes import Outcome
from gossamer.parse.feed import Feed, FeedLimits, read_feed

URL = "https://news.example/feeds/all.xml"
ITEM = "<item><title>{title}</title><link>https://news.example/{name}</link></item>"
TWO = ITEM.format(title="One", name=1) + ITEM.format(title="Two", name=2)
HEAD = '<?xml version="1.0"?><rss version="2.0"><channel><title>T</title>'
TAIL = "</channel></rss>"


def read(body: bytes | str, charset: str = "", content_type: str = "", **limits: int) -> Feed:
    if isinstance(body, str):
        body = body.encode()
    return read_feed(body, content_type, charset, URL, FeedLimits(**limits))


def urls_of(feed: Feed) -> list[str]:
    return [item.url.removeprefix("https://news.example/") for item in feed.items]


@pytest.mark.parametrize(
    ("body", "urls", "titles"),
    [
        (HEAD + ITEM.format(title="A & B", name="x?a=1&b=2&copy=3") + TAIL, ["x?a=1&b=2&copy=3"], ["A & B"]),
        (HEAD + ITEM.format(title="caf&eacute;&nbsp;&hellip;", name="x") + TAIL, ["x"], ["café …"]),
        (HEAD + ITEM.format(title="a\x00b\x03c\x1b", name="x\x08") + TAIL, ["x"], ["abc"]),
        (HEAD + ITEM.format(title="&nosuch;", name="x") + TAIL, ["x"], ["&nosuch;"]),
        (HEAD + ITEM.format(title="1 < 2", name="x") + TAIL, ["x"], ["1 < 2"]),
        (HEAD + ITEM.format(title="a<br>b", name="x") + TAIL, ["x"], ["a b"]),
        ("<br />\n<b>Warning</b>: x in /a.php\n" + HEAD + TWO + TAIL, ["1", "2"], ["One", "Two"]),
        ("junk\n" + HEAD + TWO + TAIL, ["1", "2"], ["One", "Two"]),
        ("<!-- c -->" + HEAD + TWO + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO + TAIL + "<script>x</script>", ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("</item>", "") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("</title>", "") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("</link>", "") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("</title>", "</TITLE>") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("<item>", "<item a=b c='<' d>") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("title", "unbound:title") + TAIL, ["1", "2"], ["", ""]),
        (HEAD + TWO.replace("<item>", "<item><br><p>") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("<item>", "<!-- open <item>") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + TWO.replace("<item>", "<?x <item>") + TAIL, ["1", "2"], ["One", "Two"]),
        (HEAD + "</wrong>" + TWO + TAIL, ["1", "2"], ["One", "Two"]),
    ],
)  # fmt: skip
def test_broken_xml_is_repaired(body, urls, titles):
    feed = read(body)
    assert urls_of(feed) == urls
    assert [item.title for item in feed.items] == titles
    assert feed.outcome is Outcome.OK
    assert "bad_xml" in feed.flags or "unbound" in body


def test_description_that_was_left_open_ends_where_the_next_field_begins():
    feed = read(
        HEAD + "<item><description>Words <b>bold<guid>g</guid><link>https://news.example/x</link>"
        "<pubDate>2026-11-16</pubDate></item>" + TAIL
    )
    (item,) = feed.items
    assert (item.guid, item.description, item.published) == ("g", "Words bold", 1_794_787_200)
    assert urls_of(feed) == ["x"]


@pytest.mark.parametrize(
    ("end", "urls", "skipped"),
    [
        ("", ["1", "2"], 0),
        ("<item><title>Three</title><link>https://news.example/3</link><desc", ["1", "2", "3"], 0),
        ("<item><link>https://news.example/3</link><description>cut he", ["1", "2", "3"], 0),
        ("<item><title>Three</title><link>https://news.example/thr", ["1", "2"], 1),
        ("<item><guid>https://news.example/3</guid><link>https://ne", ["1", "2"], 1),
        ("<item><title><![CDATA[Thr", ["1", "2"], 1),
    ],
)
def test_a_feed_that_ends_early_yields_no_half_url(end, urls, skipped):
    feed = read(HEAD + TWO + end)
    assert urls_of(feed) == urls
    assert feed.skipped == skipped
    assert feed.outcome is Outcome.PARSE_TRUNCATED
    assert feed.flags == ("cut",)
    assert feed.detail == "the end is missing"


def test_many_attributes_and_deep_nesting_spoil_nothing():
    attributes = " ".join(f"a{number}=b" for number in range(500))
    deep = "<x>" * 500
    feed = read(f"{HEAD}<item {attributes}>&{deep}</item>{TWO}{TAIL}")
    assert urls_of(feed) == ["1", "2"]
    assert feed.skipped == 1


def test_nothing_but_a_cut_beginning_is_a_failure():
    feed = read(HEAD + "<item><title>x")
    assert feed.outcome is Outcome.PARSE_FAILED
    assert (feed.form, feed.title) == ("rss2", "T")


@pytest.mark.parametrize(
    ("codec", "declared", "header", "flags"),
    [
        ("windows-1251", "windows-1251", "", ()),
        ("windows-1251", "", "windows-1251", ()),
        ("windows-1251", "windows-1251", "iso-8859-1", ()),
        ("windows-1251", "utf-8", "", ("wrong_charset",)),
        ("windows-1251", "", "utf-8", ("wrong_charset",)),
        ("windows-1251", "nonsense", "", ("wrong_charset",)),
        ("windows-1251", "", "\0", ("wrong_charset",)),
        ("windows-1251", "punycode", "\u00e9\ud800", ("wrong_charset",)),
        ("koi8-r", "koi8-r", "utf-8", ()),
        ("utf-8", "windows-1251", "", ("wrong_charset",)),
        ("utf-8", "iso-8859-1", "utf-8", ()),
        ("utf-8", "utf-16", "", ("wrong_charset",)),
        ("utf-8", "", "", ()),
        ("utf-16", "utf-8", "utf-8", ()),
    ],
)
def test_charset(codec, declared, header, flags):
    title = "Правительство объявило о новых мерах поддержки сельского хозяйства"  # noqa: RUF001
    encoding = f' encoding="{declared}"' if declared else ""
    body = f'<?xml version="1.0"{encoding}?><rss><channel><title>x</title>'
    body += ITEM.format(title=title, name=1) * 3 + TAIL
    feed = read(body.encode(codec), header)
    assert [item.title for item in feed.items] == [title] * 3
    assert feed.flags == flags
    assert feed.outcome is Outcome.OK


def test_latin_letters_in_a_feed_labelled_utf_8():
    body = HEAD.replace("?>", ' encoding="utf-8"?>') + ITEM.format(title="Café à la crème", name=1)
    feed = read((body + TAIL).encode("latin-1"), "utf-8")
    assert feed.items[0].title == "Café à la crème"
    assert feed.flags == ("wrong_charset",)


def test_one_bad_byte_does_not_change_the_charset():
    body = HEAD.encode() + ITEM.format(title="Größe für Übermütige", name=1).encode() * 3
    feed = read(
        body + ITEM.format(title="bad", name=2).encode().replace(b"bad", b"b\xffd") + TAIL.encode()
    )
    assert [item.title for item in feed.items][::3] == ["Größe für Übermütige", "b\ufffdd"]
    assert feed.flags == ("wrong_charset",)


def test_text_in_japanese_escapes():
    body = (
        HEAD.replace("?>", ' encoding="iso-2022-jp"?>') + ITEM.format(title="日本語", name=1) + TAIL
    )
    assert read(body.encode("iso-2022-jp")).items[0].title == "日本語"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is empty"),
        (b" \r\n\xef\xbb\xbf ", "is empty"),
        (b"<!DOCTYPE html><title>404</title>", "is no feed but HTML"),
        (b"\n<html><body><rss></rss></body></html>", "is no feed but HTML"),
        (b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', "is no feed but HTML"),
        (b"<svg/>", "is no feed but"),
        (b"Just a moment...", "is no feed but"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is no feed but"),
        (b"{}", "is no feed but JSON"),
        (b'{"items": [1, 2]}', "is no feed but JSON"),
        (b'{"version": "https://jsonfeed.org/version/1", "items": [', "is no feed but JSON"),
        (b"[1]", "is no feed but JSON"),
        (b"[" * 100_000, "is no feed but JSON"),
        (b"\x1f\x8bnothing", "cannot be unpacked"),
        (gzip.compress(gzip.compress(b"<rss/>", mtime=0), mtime=0), "gzip inside gzip"),
    ],
)  # fmt: skip
def test_what_is_no_feed_says_so(body, words):
    feed = read(body, content_type="text/html")
    assert (feed.form, feed.items, feed.outcome) == ("", (), Outcome.PARSE_FAILED)
    assert words in feed.detail


def test_the_label_is_told():
    assert read(b"<html/>", content_type="application/rss+xml").detail == (
        "is no feed but HTML (labelled application/rss+xml)"
    )


def test_an_empty_feed_is_a_feed():
    feed = read(HEAD + TAIL)
    assert (feed.form, feed.title, feed.items, feed.outcome) == ("rss2", "T", (), Outcome.OK)


LAUGHS = "".join(
    f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">' if n else '<!ENTITY lol0 "lol">' for n in range(10)
)


@pytest.mark.parametrize(
    "subset",
    [
        LAUGHS,
        '<!ENTITY x SYSTEM "file:///etc/hostname">',
        '<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;',
        f'<!ENTITY x "{"x" * 50_000}">',
    ],
    ids=["laughs", "file", "parameter", "quadratic"],
)
@pytest.mark.parametrize("fault", ["", "&", "<b>"])
def test_entities_of_the_document_are_refused(subset, fault):
    body = f'<?xml version="1.0"?><!DOCTYPE rss [{subset}]><rss><channel>' + ITEM.format(
        title="&x;&lol9;" + fault, name=1
    )
    feed = read(body + TAIL)
    assert (feed.form, feed.items, feed.outcome) == ("", (), Outcome.PARSE_FAILED)
    assert feed.detail == "declares entities"


def test_entities_behind_the_first_element_are_text():
    feed = read(
        f"<rss><channel><!DOCTYPE rss [{LAUGHS}]>{ITEM.format(title='&lol9;', name=1)}{TAIL}"
    )
    assert [item.title for item in feed.items] == ["&lol9;"]


def test_the_letters_of_html_may_be_declared():
    doctype = (
        '<!DOCTYPE rss [<!ENTITY % HTMLlat1 PUBLIC "-//W3C//ENTITIES Latin 1 for XHTML//EN" '
        '"http://www.w3.org/TR/xhtml1/DTD/xhtml-lat1.ent"> %HTMLlat1;]>'
    )
    feed = read(f"{doctype}<rss><channel>{ITEM.format(title='caf&eacute;', name=1)}{TAIL}")
    assert [item.title for item in feed.items] == ["café"]
    assert (feed.outcome, feed.flags) == (Outcome.OK, ("dtd",))


def test_the_first_items_of_too_many_are_kept():
    items = "".join(ITEM.format(title=number, name=number) for number in range(30))
    feed = read(HEAD + items + TAIL, max_items=10)
    assert urls_of(feed) == [str(number) for number in range(10)]
    assert (feed.outcome, feed.flags) == (Outcome.PARSE_TRUNCATED, ("cut",))
    assert "items beyond 10" in feed.detail
    assert read(HEAD + items + TAIL, max_items=30).outcome is Outcome.OK
    entries = ",".join(f'{{"id": "{number}"}}' for number in range(30))
    many = read(
        f'{{"version": "https://jsonfeed.org/version/1", "items": [{entries}]}}', max_items=10
    )
    assert (len(many.items), many.outcome) == (10, Outcome.PARSE_TRUNCATED)
    places = "".join(f"<sitemap><loc>/{number}</loc></sitemap>" for number in range(30))
    index = read(f"<sitemapindex>{places}</sitemapindex>", max_items=10)
    assert (len(index.children), index.outcome) == (10, Outcome.PARSE_TRUNCATED)


def test_bytes_beyond_the_limit_are_not_read():
    body = (HEAD + TWO * 100).encode()
    feed = read(body, max_bytes=1_000)
    assert 2 < len(feed.items) < 20
    assert (feed.outcome, "cut" in feed.flags) == (Outcome.PARSE_TRUNCATED, True)
    packed = read(gzip.compress(body), max_bytes=1_000)
    assert packed.items == feed.items
    assert packed.outcome is Outcome.PARSE_TRUNCATED
    json = b'{"version": "https://jsonfeed.org/version/1", "items": []}'
    assert read(json, max_json_bytes=20).outcome is Outcome.PARSE_FAILED


def test_a_gzip_bomb_is_cut():
    bomb = gzip.compress(HEAD.encode() + b" " * (64 << 20))
    feed = read(bomb)
    assert feed.outcome is Outcome.PARSE_FAILED
    assert "cut" in feed.flags


def test_elements_beyond_the_limit_are_not_read():
    feed = read(HEAD + TWO + "<x/>" * 1_000 + TWO + TAIL, max_elements=500)
    assert urls_of(feed) == ["1", "2"]
    assert (feed.outcome, feed.flags) == (Outcome.PARSE_TRUNCATED, ("cut",))
    loose = read(HEAD + "&" + TWO + "<x/>" * 1_000 + TWO + TAIL, max_elements=500)
    assert urls_of(loose) == ["1", "2"]
    assert loose.outcome is Outcome.PARSE_TRUNCATED
