"""Pages that were made to hurt: every one ends in an Article, with work that does not explode."""

import json
import random

import pytest
from article_pages import pages
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parse import article_text
from gossamer.parse.article import MAX_BYTES, MAX_TEXT, Article, Hints, extract
from gossamer.parse.article_authors import MAX_AUTHORS
from gossamer.parse.article_facts import MAX_DESCRIPTION, MAX_TAGS, MAX_TITLE

URL = "https://news.example/2024/05/06/story"
TEXT = "Some words of a sentence, that goes on and on for a while. " * 3
PARAGRAPH = f"<p>{TEXT}</p>"
HINTS = Hints(title="The feed's title", description="The feed's words.", published=1.7e9)


def checked(html: bytes | str, **more: object) -> Article:
    """Extract, and check what must hold of every article."""
    article = extract(html, URL, hints=HINTS, **more)
    for confidence in (
        article.text_confidence,
        article.authors_confidence,
        article.published_confidence,
        article.language_confidence,
    ):
        assert 0.0 <= confidence <= 1.0
    assert len(article.text) <= MAX_TEXT
    assert len(article.title) <= MAX_TITLE
    assert len(article.description) <= MAX_DESCRIPTION
    assert len(article.tags) <= MAX_TAGS
    assert len(article.authors) <= MAX_AUTHORS
    assert (article.published is None) == (article.published_how == "")
    assert bool(article.text) == bool(article.how)
    return article


# About a megabyte each: what costs the square of its length does not end within a test's time.
HOSTILE = {
    "a megabyte of nested tags": "<div>" * 200_000 + PARAGRAPH,
    "nested tags with text": "<div>some text of a div that is long enough " * 20_000,
    "inline and block by turns": "<div><span>" * 80_000 + PARAGRAPH,
    "nested lists": "<ul><li>" * 100_000 + "x",
    "nested quotations": ("<blockquote>" + "words, and more words. " * 4) * 9_000,
    "nested headings": ("<h2><div>" + "words, and more. " * 20) * 3_000,
    "nested tables": "<table><tr><td>" * 40_000,
    "unclosed formatting": "<p><i><b><u>" * 150_000 + "text, with words.",
    "100,000 attributes": "<p " + " ".join(f"a{n}=b" for n in range(100_000)) + f">{TEXT}</p>",
    "100,000 attributes without spaces": "<p " + "".join(f"a{n}='b'" for n in range(100_000)) + ">",
    "a long class": f'<div class="{"share_" * 200_000}">{PARAGRAPH}</div>',
    "200,000 paragraphs": "<p>a</p>" * 200_000,
    "100,000 links": "<p>" + "<a href=x>y</a>" * 100_000 + "</p>",
    "60,000 metas": '<meta name=author content="A B">' * 60_000 + PARAGRAPH,
    "60,000 headings": f"<title>{'word ' * 200}</title>" + "<h1>word other</h1>" * 60_000,
    "50,000 times": '<time datetime="2026-01-01">x</time>' * 50_000 + PARAGRAPH,
    "dates without end": "<p class=date>" + "1 jan " * 200_000,
    "deep JSON-LD": f'<script type="application/ld+json">{"[" * 200_000}</script>{PARAGRAPH}',
    "wide JSON-LD": '<script type="application/ld+json">['
    + ",".join(['{"@type":"NewsArticle","author":{"name":"x"}}'] * 20_000)
    + f"]</script>{PARAGRAPH}",
    "broken JSON-LD": '<script type="application/ld+json">{"@type":"NewsArticle",</script>'
    * 20_000,
    "a string that never ends": '<script>var content="' + "x" * 1_000_000,
    "20,000 strings": "<script>" + f'text:"{TEXT}"' * 5_000 + "</script>",
    "escaped quotes": "<script>" + 'content:\\"aaaaaaaaaaaaaaa' * 40_000 + "</script>",
    "only angle brackets": "<" * 2_000_000,
    "only zeros": "\0" * 2_000_000,
    "only entities": "&amp;" * 400_000,
    "a flood of roots": "<html a=1>" * 200_000,
    "halves of characters": "<p>\ud800" + TEXT + "</p><title>\udfff</title>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_an_article(name):
    checked(HOSTILE[name])


def test_the_slow_extractor_never_sees_what_it_would_choke_on(monkeypatch):
    """Its parser takes a minute for 100,000 attributes, and more for a megabyte of tags."""
    seen: list[int] = []
    monkeypatch.setattr(article_text, "_ask_slow", lambda markup: seen.append(len(markup)) or "")
    for name in ("100,000 attributes", "100,000 attributes without spaces", "nested lists"):
        checked(HOSTILE[name])
    assert seen == []
    picture = f'<img src="data:image/png;base64,{"aB3/" * 4_000}">'
    checked(f"<div>{picture}</div><div><span>{TEXT}</span></div>")
    assert len(seen) == 1


def test_a_failure_of_the_slow_extractor_costs_its_opinion_only(monkeypatch):
    def fail(markup: str) -> str:
        raise IndexError("a bug of somebody else's")

    monkeypatch.setattr(article_text, "_slow_extract", fail)
    page = next(page for page in pages() if page.template == "divs_for_paragraphs")
    assert checked(page.html).how == "fast"


def test_what_is_behind_the_limit_is_not_looked_at():
    article = checked(PARAGRAPH + "<p>x</p>" * (MAX_BYTES // 8) + "<p>The very end.</p>")
    assert "The very end" not in article.text
    assert article.detail.startswith(f"only the first {MAX_BYTES} of ")


@pytest.mark.parametrize(
    "node",
    [
        None, 7, "x", [], {"@type": 7}, {"@type": ["Article", None, {}]},
        {"@type": "Article", "author": {"name": {"name": ["deep"]}}, "headline": ["a", "b"]},
        {"@type": "Article", "author": [None, 7, [], {"name": None}], "keywords": {"x": 1}},
        {"@type": "Article", "datePublished": 20240506, "image": [{}], "articleBody": 7},
        {"@type": "Article", "inLanguage": {"name": "English"}, "publisher": "x", "url": []},
    ],
)  # fmt: skip
def test_json_ld_of_any_shape(node):
    script = f'<script type="application/ld+json">{json.dumps(node)}</script>'
    assert checked(f"{script}<h1>Title of it all</h1>{PARAGRAPH * 3}").text


@pytest.mark.parametrize("charset", ["", "utf-8", "utf-16", "nonsense", "\0", "x" * 10_000])
@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe<", b"\0<\0p", b"\xef\xbb\xbf<p>x", bytes(range(256))]
)
def test_bytes_in_any_charset(body, charset):
    checked(body, charset=charset)


@pytest.mark.parametrize(
    "url", ["", "x", "http://[", "javascript:x", "https://x/" + "2024/" * 9_999]
)
def test_any_address(url):
    page = pages()[0]
    assert extract(page.html, url).text == page.story.text


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=2_000))
def test_random_bytes(body):
    checked(body)
    checked(b"<html><body><p>" + body)


_PIECES = [
    "<p>", "</p>", "<div class='share'>", "<article>", "</div>", "<script>", "</script>", "<h1>",
    "<table><td>", "<meta name=author content='", "'>", "<time datetime='2024-05-06'>", TEXT, "\0",
    "<script type='application/ld+json'>{\"@type\":\"Article\",\"articleBody\":\"", '"}', "<br>",
    "<li>", "<a href=x>", "<svg>", "<template>", "<form>", "&#0;", "<title>", "<!--", "日本語。",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=60))
def test_random_soup(pieces):
    checked("".join(pieces))


def test_real_pages_cut_anywhere():
    random_ = random.Random(7)
    for page in pages()[::3]:
        body = page.html.encode()
        for _ in range(4):
            checked(body[: random_.randrange(len(body))])
