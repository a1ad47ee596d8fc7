"""No feed takes more than a second of CPU, whatever is in it.

The shapes have 128 KiB: each takes less than a tenth of what is allowed, and would take many times
as long if any step on its way were quadratic.
"""

# ruff: noqa: E501 -- samples are easier to read in one line

import time
from collections.abc import Iterator

import pytest

from gossamer.outcomes import Outcome
from gossamer.parse.feed import FeedLimits, read_feed
from gossamer.parse.opml import read_opml

SIZE = 128 << 10
SECONDS = 1.0
HEAD = b'<rss version="2.0"><channel>'
ITEM = b"<item><link>http://x.example/a</link>"


def repeated(piece: bytes, size: int = SIZE) -> bytes:
    return (piece * (size // len(piece) + 1))[:size]


def numbered(piece: bytes) -> bytes:
    return b"".join(piece % number for number in range(SIZE // (len(piece) + 3)))


def shapes() -> Iterator[tuple[str, bytes]]:
    yield "items", repeated(b"<item><guid>x</guid></item>")
    yield "open items", repeated(b"<item>")
    yield "elements", repeated(b"<a/>")
    yield "nested elements", repeated(b"<a>")
    yield "ends", repeated(b"</a>")
    yield "ends below much", repeated(b"<q>", 2_000) + repeated(b"</a>")
    yield "open tags", repeated(b"<a")
    yield "open tags with quotes", repeated(b"<a b=\"'")
    yield "less-than signs", repeated(b"<")
    yield "quotes", b"<a " + repeated(b"\"'")
    yield "attributes", b"<a " + numbered(b'a%d=">" ') + b">"
    yield "one attribute again and again", b"<a " + repeated(b"a='b' ") + b">"
    yield "namespaces", numbered(b'<a xmlns:p%d="http://purl.org/dc/terms/"/>')
    yield "bases", repeated(b'<a xml:base="b/">')
    yield "giant attribute", b'<a b="' + repeated(b"x") + b'">'
    yield "giant name", b"<" + repeated(b"x") + b">"
    yield "comments", repeated(b"<!---->")
    yield "open comments", repeated(b"<!--")
    yield "open instructions", repeated(b"<?")
    yield "open declarations", repeated(b"<!")
    yield "sections", repeated(b"<![CDATA[]]>")
    yield "open sections", repeated(b"<![CDATA[")
    yield "giant comment", b"<!--" + repeated(b"- ") + b"-->"
    yield "zeros", repeated(b"\0")
    yield "bytes of no charset", repeated(b"\xff")
    yield "lines", repeated(b"\r\n")
    for field in (b"title", b"description", b"guid", b"link", b"pubDate", b"author", b"category"):
        named = field.decode()
        yield f"white {named}", ITEM + b"<" + field + b">" + repeated(b" a")
        yield f"tags in {named}", ITEM + b"<" + field + b">" + repeated(b"<b>x</b>")
        for inside in (b"<", b"<b", b"<!--", b"<script", b"&amp;amp;", b"&a", b"&eacute;", b"@ ("):
            packed = inside if inside[:1] == b"&" else inside.replace(b"<", b"&lt;")
            yield (
                f"{inside.decode()} in {named}",
                ITEM + b"<" + field + b">" + repeated(packed) + b"</" + field + b"></item>",
            )
    yield "categories", ITEM + repeated(b"<category>x</category>")
    yield "keywords", ITEM + b"<media:keywords>" + repeated(b",a") + b"</media:keywords></item>"
    yield "enclosures", ITEM + repeated(b'<enclosure url="a"/>')
    yield "paths", repeated(ITEM.replace(b"/a", b"/" + b"a/../%41/" * 80) + b"</item>")


SHAPES = dict(shapes())


@pytest.mark.parametrize("fault", [b"", b"&nbsp;"], ids=["strictly", "loosely"])
@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_shape_is_cheap(shape, fault):
    body = HEAD + fault + SHAPES[shape]
    started = time.process_time()
    feed = read_feed(body, "", "", "http://site.example/feed")
    assert time.process_time() - started < SECONDS
    assert len(feed.items) + feed.skipped <= 10_001
    assert feed.outcome in (Outcome.PARSE_TRUNCATED, Outcome.PARSE_FAILED)


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (b"{" * SIZE, Outcome.PARSE_FAILED),
        (b'{"items":[' * (SIZE // 10), Outcome.PARSE_FAILED),
        (b'{"version":"https://jsonfeed.org/version/1","items":[' + b"1," * 99_999 + b"1]}", Outcome.PARSE_FAILED),
        (b'{"version":"https://jsonfeed.org/version/1","items":[{"id":' + b"9" * SIZE + b"}]}", Outcome.OK),
        (b'{"version":"https://jsonfeed.org/version/1","items":[{"id":"a","tags":[' + b'"a",' * 99_999 + b"1]}]}", Outcome.OK),
        (b"<!DOCTYPE " + b"a" * SIZE, Outcome.PARSE_FAILED),
        (b"<!DOCTYPE x " * (SIZE // 12), Outcome.PARSE_FAILED),
        (b"<!DOCTYPE x [" + b"<!ENTITY % " * 6_000 + b"<rss>", Outcome.PARSE_FAILED),
        (b" " * SIZE, Outcome.PARSE_FAILED),
        (b"<rs " * (SIZE // 4), Outcome.PARSE_FAILED),
        ("<rss>Привет".encode("cp1251") * (SIZE // 11), Outcome.PARSE_FAILED),
    ],
    ids=range(11),
)  # fmt: skip
def test_hostile_document_is_cheap(body, outcome):
    started = time.process_time()
    feed = read_feed(body, "", "", "http://site.example/feed")
    assert time.process_time() - started < SECONDS
    assert feed.outcome is outcome


def test_a_hundred_thousand_items_are_cut():
    item = b"<item><title>T</title><link>http://x.example/%d</link></item>"
    body = HEAD + b"".join(item % number for number in range(100_000)) + b"</channel></rss>"
    limits = FeedLimits(max_items=1_000)
    started = time.process_time()
    feed = read_feed(body, "", "", "http://site.example/feed", limits)
    assert time.process_time() - started < SECONDS
    assert [feed.items[0].url, feed.items[-1].url] == ["http://x.example/0", "http://x.example/999"]
    assert (len(feed.items), feed.outcome) == (1_000, Outcome.PARSE_TRUNCATED)
    assert "cut" in feed.flags


@pytest.mark.parametrize(
    "shape", ["nested elements", "ends below much", "open comments", "attributes"]
)
def test_hostile_list_is_cheap(shape):
    started = time.process_time()
    assert read_opml(b"<opml><body>" + SHAPES[shape][: SIZE // 4].replace(b"<a", b"<outline")) == []
    assert time.process_time() - started < SECONDS
