"""The text of an article: which extractor wins, how sure it is, and what replaces a missing one."""

import statistics
import sys

import pytest
from article_pages import Page, f1, pages, scores

from gossamer.parse import article_text
from gossamer.parse.article import MAX_PLAIN, Article, Hints, extract

URL = "https://news.example/a/story"
LONG = (
    "The council agreed yesterday, after a long debate, that the river needs a second bridge. " * 4
)


def of_template(name: str) -> list[Page]:
    return [page for page in pages() if page.template == name]


def score(page: Page, article: Article) -> float:
    return f1(*scores(page.story.text, article.text))


def test_the_measure_knows_right_from_wrong():
    truth = "one two three four five six seven eight"
    assert scores(truth, truth) == (1.0, 1.0)
    assert scores(truth, "") == (0.0, 0.0)
    precision, recall = scores(truth, truth + " and a great deal more that is not in it")
    assert precision < 0.6
    assert recall == 1.0
    precision, recall = scores(truth, "one two three four five")
    assert precision == 1.0
    assert recall == 0.4


def test_f1_over_the_made_corpus_does_not_fall():
    """The floor of the corpus; public corpora are measured by bench/extraction.py."""
    found = [scores(page.story.text, extract(page.html, page.url).text) for page in pages()]
    assert len(found) == 48
    mean = f1(statistics.mean(p for p, _ in found), statistics.mean(r for _, r in found))
    assert mean >= 0.98
    assert min(f1(*each) for each in found) >= 0.8


@pytest.mark.parametrize(
    "template",
    [
        "semantic", "blog", "hidden_by_paywall", "in_a_form", "in_sections", "with_teasers",
        "rich", "twice",
    ],
)  # fmt: skip
def test_what_two_fast_extractors_agree_on_is_taken_at_once(template):
    for page in of_template(template):
        article = extract(page.html, page.url)
        assert article.how == "fast"
        assert article.text_confidence >= 0.8
        assert score(page, article) >= 0.99


def test_the_slow_extractor_is_asked_only_where_the_fast_ones_differ(monkeypatch):
    asked: list[str] = []

    def ask(markup: str) -> str:
        asked.append(markup)
        return ""

    monkeypatch.setattr(article_text, "_ask_slow", ask)
    for page in of_template("semantic"):
        extract(page.html, page.url)
    assert asked == []
    for page in of_template("divs_for_paragraphs"):
        extract(page.html, page.url)
    assert len(asked) == 4


def test_the_slow_extractor_really_runs():
    assert {extract(p.html, p.url).how for p in of_template("divs_for_paragraphs")} == {"slow"}


def test_an_article_of_short_lines_keeps_them():
    """The slow extractor gives one long line where the tags of head and body are left out."""
    lines = [f"Line {number} of a short notice." for number in range(12)]
    article = "".join(f"<p>{line}</p>" for line in lines)
    page = f"<html><title>A notice</title><article>{article}</article>"
    found = extract(page, "https://example.org/notice")
    assert (found.how, found.text.split("\n")) == ("slow", lines)


def test_a_disputed_text_is_less_sure_than_an_agreed_one():
    agreed = [extract(p.html, p.url).text_confidence for p in of_template("semantic")]
    disputed = [extract(p.html, p.url).text_confidence for p in of_template("divs_for_paragraphs")]
    assert max(disputed) < min(agreed)


def test_without_the_slow_extractor_there_is_still_a_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    for page in of_template("divs_for_paragraphs"):
        article = extract(page.html, page.url)
        assert article.how == "fast"
        assert score(page, article) >= 0.9
        assert "pip install 'gossamer[news]'" in article.detail
    assert extract(of_template("semantic")[0].html, URL).detail == ""


def test_short_content_without_any_tag_is_taken_as_it_is():
    article = extract("Rain tomorrow.\n\n  3 < 4, says the ministry.  ", URL)
    assert article.how == "plain"
    assert article.text == "Rain tomorrow.\n3 < 4, says the ministry."


@pytest.mark.parametrize(("length", "how"), [(MAX_PLAIN - 1, "plain"), (MAX_PLAIN, "fast")])
def test_longer_content_is_not_taken_as_it_is(length, how):
    assert extract((LONG * 20)[:length], URL).how == how


def test_plain_content_is_read_in_the_charset_of_the_header():
    article = extract("Größe und Gewicht".encode("latin-1"), URL, charset="iso-8859-1")
    assert article.text == "Größe und Gewicht"


@pytest.mark.parametrize("template", ["in_json_ld", "in_a_variable"])
def test_a_page_that_shows_nothing_is_read_from_its_scripts(template):
    for page in of_template(template):
        article = extract(page.html, page.url)
        assert article.how == "script"
        assert score(page, article) >= 0.85


@pytest.mark.parametrize(
    "script",
    [
        f"var x = {{content: '{LONG} It\\'s <b>bold</b>.'}};",
        f'window.data = {{"bodyHtml": "<p>{LONG}</p><p>It\\u0027s <b>bold</b>.</p>"}};',
        f"let articleBody = `{LONG} It's <b>bold</b>.`;",
    ],
)
def test_strings_of_scripts_are_understood(script):
    article = extract(f"<body><script>{script}</script></body>", URL)
    assert article.how == "script"
    assert " ".join(article.text.split()) == " ".join(f"{LONG} It's bold.".split())


def test_settings_in_scripts_are_not_taken_for_a_text():
    script = 'var a = {"content": "width=device-width", "text": "' + "x" * 400 + '"};'
    assert extract(f"<body><script>{script}</script></body>", URL).text == ""


def test_the_content_of_the_feed_replaces_a_missing_text():
    hints = Hints(title="Bridge", content_html=f"<p>{LONG}</p><p>End.</p>", description="short")
    article = extract("<html><body><p>Please log in.</p></body>", URL, hints=hints)
    assert article.how == "feed"
    assert article.text == f"{LONG.strip()}\nEnd."


def test_title_and_description_of_the_feed_replace_a_missing_text():
    hints = Hints(title="Bridge", description="A <b>second</b> bridge.")
    article = extract("<html><body></body>", URL, hints=hints)
    assert (article.how, article.text) == ("feed", "Bridge\nA second bridge.")
    assert (article.title, article.description) == ("Bridge", "A second bridge.")
    assert article.text_confidence < 0.5


def test_the_text_of_the_page_goes_before_the_feed():
    page = of_template("semantic")[0]
    article = extract(
        page.html, page.url, hints=Hints(title="T", content_html="<p>teaser</p>" * 400)
    )
    assert article.how == "fast"
    assert score(page, article) >= 0.99


def test_no_text_anywhere_is_an_article_without_text():
    article = extract("<html><body></body></html>", URL)
    assert (article.text, article.how, article.text_confidence) == ("", "", 0.0)


def test_bytes_and_text_give_the_same_article():
    page = of_template("blog")[3]
    assert page.story.language == "ja"
    coded = page.html.replace('charset="utf-8"', 'charset="shift_jis"')
    by_bytes = extract(coded.encode("shift_jis"), page.url)
    assert score(page, by_bytes) >= 0.99
    assert by_bytes == extract(coded, page.url)


def test_the_charset_of_the_header_goes_before_that_of_the_page():
    page = of_template("blog")[2]
    assert page.story.language == "ru"
    body = page.html.encode("windows-1251")
    assert score(page, extract(body, page.url, charset="windows-1251")) >= 0.99
    assert score(page, extract(body, page.url, charset="no-such-charset")) < 0.1


def test_a_text_that_is_there_twice_is_read_once():
    page = of_template("twice")[1]
    assert extract(page.html, page.url).text == page.story.text


def test_comments_teasers_and_captions_are_left_out():
    page = of_template("blog")[0]
    article = extract(page.html, page.url)
    assert "reader1" not in article.text
    assert "Share this" not in article.text
    assert article.text == page.story.text
