"""Date, authors, language, title and the rest: where each is from, and how sure it is."""

import json
from datetime import UTC, datetime

import pytest
from article_pages import pages

from gossamer.parse import article_language
from gossamer.parse.article import Article, Hints, extract
from gossamer.parse.article_authors import names_in
from gossamer.parse.article_language import code_of

URL = "https://news.example/a/story"
ENGLISH = "The council agreed that the river needs a second bridge before the winter comes. " * 8
GERMAN = (
    "Der Rat hat gestern beschlossen, dass der Fluss eine zweite Brücke braucht, sagte sie. " * 8
)
OF_LANTERN = '<meta property="og:site_name" content="The Lantern">'
BOTH = ("Ada Marlow", "Jon Ferrer")


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def page(head: str = "", body: str = "", text: str = ENGLISH, lang: str = "en") -> str:
    return (
        f'<html lang="{lang}"><head><title>A second bridge</title>{head}</head>'
        f"<body><article><h1>A second bridge for the town</h1>{body}<p>{text}</p></article></body>"
    )


def ld(**node: object) -> str:
    value = {"@context": "https://schema.org", "@type": "NewsArticle", **node}
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def of(html: str, url: str = URL, **hints: object) -> Article:
    return extract(html, url, hints=Hints(**hints))


@pytest.mark.parametrize(
    ("html", "url", "how", "at"),
    [
        (page(ld(datePublished="2024-05-06T07:08:09Z")), URL, "json-ld", "2024-05-06T07:08:09"),
        (page(ld(datePublished="2024-05-06T07:08+02:00")), URL, "json-ld", "2024-05-06T05:08"),
        (
            page('<meta property="article:published_time" content="2024-05-06T07:08:09Z">'),
            URL, "meta", "2024-05-06T07:08:09",
        ),
        (page('<meta name="DC.date.issued" content="2024-05-06">'), URL, "meta", "2024-05-06"),
        (
            page('<meta itemprop="datePublished" content="2024-05-06T07:08Z">'),
            URL, "meta", "2024-05-06T07:08",
        ),
        (
            page(body='<time itemprop="datePublished" datetime="2024-05-06">May</time>'),
            URL, "microdata", "2024-05-06",
        ),
        (page(body='<time datetime="2024-05-06T07:08Z">x</time>'), URL, "time", "2024-05-06T07:08"),
        (page(), "https://n.example/2024/05/06/bridge", "url", "2024-05-06"),
        (page(), "https://n.example/world/2024/may/06/bridge", "url", "2024-05-06"),
        (page(), "https://n.example/home/2024/5/6/bridge", "url", "2024-05-06"),
        (page(), "https://n.example/bridge-20240506.html", "url", "2024-05-06"),
        (page(), "https://n.example/2024/05/bridge", "url", "2024-05-01"),
        (page(body='<span class="post-date">May 6, 2024</span>'), URL, "text", "2024-05-06"),
        (page(body='<p class="date">6. Mai 2024, 07:08</p>'), URL, "text", "2024-05-06T07:08"),
        (page(body='<p class="time">2024年5月6日</p>'), URL, "text", "2024-05-06"),
    ],
)  # fmt: skip
def test_a_date_is_found_wherever_it_stands(html, url, how, at):
    article = of(html, url)
    assert article.published == moment(at)
    assert article.published_how == how
    assert 0 < article.published_confidence < 1


def test_the_date_of_the_feed_is_taken_where_the_page_has_none():
    article = of(page(), published=moment("2024-05-06T07:08"))
    assert (article.published, article.published_how) == (moment("2024-05-06T07:08"), "feed")


def test_the_date_of_the_page_goes_before_that_of_the_feed():
    html = page(ld(datePublished="2024-05-06T07:08:09Z"))
    article = of(html, published=moment("2024-05-09"))
    assert (article.published_how, article.published) == ("json-ld", moment("2024-05-06T07:08:09"))


def test_sources_of_dates_are_ordered_by_what_they_are_worth():
    """Alone, each is less sure than the one before it."""
    ordered = [
        of(page(ld(datePublished="2024-05-06"))),
        of(page('<meta property="article:published_time" content="2024-05-06">')),
        of(page(), published=moment("2024-05-06")),
        of(page(body='<time itemprop="datePublished" datetime="2024-05-06">x</time>')),
        of(page(), "https://n.example/2024/05/06/bridge"),
        of(page(body='<time datetime="2024-05-06">x</time>')),
        of(page(body='<span class="date">May 6, 2024</span>')),
        of(page(), "https://n.example/2024/05/bridge"),
        of(page()),
    ]
    confidences = [article.published_confidence for article in ordered]
    assert confidences == sorted(set(confidences), reverse=True)


def test_a_second_source_makes_a_date_surer_and_another_day_less_sure():
    html = page(ld(datePublished="2024-05-06T07:08:09Z"))
    alone = of(html).published_confidence
    assert of(html, "https://n.example/2024/05/06/x").published_confidence > alone
    assert of(html, "https://n.example/2024/04/01/x").published_confidence < alone


def test_a_day_takes_its_time_from_a_source_that_names_the_same_day():
    html = page(ld(datePublished="2024-05-06"), '<time datetime="2024-05-06T07:08Z">x</time>')
    article = of(html)
    assert (article.published, article.published_how) == (moment("2024-05-06T07:08"), "json-ld")


@pytest.mark.parametrize(
    "absurd",
    ["0001-01-01", "1969-12-31T23:59:59Z", "2999-01-01", "2024-13-45", "yesterday", "", "1e400"],
)
def test_absurd_dates_are_none(absurd):
    article = of(page(ld(datePublished=absurd)))
    assert (article.published, article.published_how) == (None, "")
    assert article.published_confidence == 0.0


def test_a_date_after_the_fetch_is_not_believed():
    html = page(ld(datePublished="2024-05-09T00:00:00Z"))
    assert of(html, fetched_at=moment("2024-05-06")).published is None
    assert of(html, fetched_at=moment("2024-05-08T12:00")).published == moment("2024-05-09")


def test_the_change_of_a_page_is_not_its_publication():
    html = page(ld(dateModified="2024-05-09", datePublished="2024-05-06"))
    assert of(html).published == moment("2024-05-06")
    assert of(page(ld(dateModified="2024-05-09"))).published_confidence <= 0.5


@pytest.mark.parametrize(
    ("html", "names"),
    [
        (page(ld(author="Ada Marlow")), ("Ada Marlow",)),
        (page(ld(author={"@type": "Person", "name": "Ada Marlow"})), ("Ada Marlow",)),
        (page(ld(author=[{"name": "Ada Marlow"}, {"name": "Jon Ferrer"}])), BOTH),
        (page('<meta name="author" content="By Ada Marlow and Jon Ferrer">'), BOTH),
        (page('<meta property="article:author" content="https://x.example/ada">'), ()),
        (page('<meta name="author" content="ada@news.example">'), ()),
        (page(body='<a rel="author" href="/ada">Ada Marlow</a>'), ("Ada Marlow",)),
        (
            page(body='<span itemprop="author"><b itemprop="name">Ada Marlow</b>, editor</span>'),
            ("Ada Marlow",),
        ),
        (page(body='<p class="byline">Von Ada Marlow | 3 min</p>'), ("Ada Marlow",)),
        (page(body='<div class="author-name">著者 松村太郎</div>'), ("著者 松村太郎",)),
        (page(body=f'<div class="author">{ENGLISH}</div>'), ()),
        (page(), ()),
    ],
)  # fmt: skip
def test_authors_are_found_wherever_they_stand(html, names):
    article = of(html)
    assert article.authors == names
    assert (article.authors_confidence > 0) == bool(names)


def test_sources_of_authors_are_ordered_by_what_they_are_worth():
    byline = '<p class="byline">By Ada Marlow</p>'
    ordered = [
        of(page(ld(author="Ada Marlow") + '<meta name="author" content="Ada Marlow">')),
        of(page(ld(author="Ada Marlow"))),
        of(page('<meta name="author" content="Ada Marlow">')),
        of(page(), authors=("Ada Marlow",)),
        of(page(body='<a rel="author" href="/x">Ada Marlow</a>')),
        of(page(body=byline)),
        of(page(body='<p class="byline">By News Staff</p>')),
    ]
    confidences = [article.authors_confidence for article in ordered]
    assert confidences == sorted(set(confidences), reverse=True)


def test_the_site_is_not_an_author():
    site = '<meta property="og:site_name" content="The Daily Lantern">'
    article = of(page(site + '<meta name="author" content="The Daily Lantern">'))
    assert article.authors == ()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("By ADA MARLOW", ("ADA MARLOW",)),
        ("Par Rosa Weidel et Tom Achterberg", ("Rosa Weidel", "Tom Achterberg")),
        ("Ada Marlow, Jon Ferrer & Mina Okafor", ("Ada Marlow", "Jon Ferrer", "Mina Okafor")),
        ("Ada Marlow Updated 3 May 2024", ("Ada Marlow",)),
        ("Posted by Ada Marlow on May 3", ("Ada Marlow",)),
        ("3 hours ago", ()),
        ("View all comments", ()),
        ("www.news.example", ()),
        ("a", ()),
    ],
)
def test_names_in_bylines(line, names):
    assert names_in([line]) == names


def test_language_is_that_of_the_text():
    for made in pages()[:16]:
        article = extract(made.html, made.url)
        assert (article.language, article.language_confidence) == (made.story.language, 0.99)


def test_a_wrong_claim_about_the_language_is_noticed():
    article = of(page(text=GERMAN, lang="en"))
    assert article.language == "de"
    assert 0.5 < article.language_confidence < 0.9
    assert of(page(text=GERMAN, lang="de-AT")).language_confidence == 0.99


def test_the_claim_decides_for_a_short_text():
    article = of(page(text="Nichts Neues gibt es heute aus der Stadt zu sagen, leider gar nichts."
                      , lang="en"))  # fmt: skip
    assert (article.language, article.language_confidence) == ("en", 0.5)
    assert of("<html lang=fi><body><p>Sade.</p>").language == "fi"


def test_the_language_of_the_feed_is_a_claim_like_that_of_the_page():
    article = of("<html><body></body>", language="pt-BR", title="Ponte")
    assert article.language == "pt"
    assert 0 < article.language_confidence < 0.7
    assert of(page(text=GERMAN, lang=""), language="de").language_confidence == 0.99


def test_without_the_detector_the_claims_are_all_there_is(monkeypatch):
    monkeypatch.setattr(article_language, "can_detect", lambda: False)
    assert of(page(text=GERMAN, lang="en")).language == "en"
    assert of(page(text=GERMAN, lang="en")).language_confidence < 0.9
    assert of(page(text=GERMAN, lang="")).language == ""


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("en-GB", "en"), ("DE_at", "de"), ("zh", "zh"), ("nb-NO", "no"), ("iw", "he"), ("x", ""),
        ("", ""), ("english", ""), ("12", ""), (" fr ", "fr"), ("ger", "de"),
    ],
)  # fmt: skip
def test_language_tags(tag, code):
    assert code_of(tag) == code


@pytest.mark.parametrize(
    ("head", "heading", "title"),
    [
        ("<title>Second bridge agreed | The Lantern</title>", "", "Second bridge agreed"),
        ('<title>x</title><meta property="og:title" content="Second bridge agreed">', "",
         "Second bridge agreed"),
        ('<meta property="og:title" content="Bridge: town agrees"><title>y</title>',
         "The town agrees to a bridge", "The town agrees to a bridge"),
        (f"{OF_LANTERN}<title>Second bridge agreed - The Lantern</title>", "",
         "Second bridge agreed"),
        (f"{OF_LANTERN}<title>The Lantern: Second bridge agreed</title>", "",
         "The Lantern: Second bridge agreed"),
        (f"{OF_LANTERN}<title>The Lantern | Second bridge agreed</title>", "",
         "Second bridge agreed"),
        ("<title>Second bridge agreed</title>", "The Daily Lantern", "Second bridge agreed"),
        ("", "Second bridge agreed", "Second bridge agreed"),
        ("<title>A &amp; B &lt;now&gt; &quot;here&quot;</title>", "", 'A & B <now> "here"'),
        ("", "", "Said the feed"),
    ],
)  # fmt: skip
def test_titles_are_what_the_reader_sees(head, heading, title):
    html = f"<html><head>{head}</head><body><h1>{heading}</h1><p>{ENGLISH}</p></body>"
    assert of(html, title="Said the feed").title == title


def test_other_facts():
    head = (
        '<link rel="canonical" href="/a/story?x=1#top">'
        '<meta name="keywords" content="river, Bridge,,">'
        '<meta property="og:image" content="../i.jpg">'
        '<meta property="article:tag" content="bridge">'
        '<meta name="description" content="It  is &amp;amp; agreed.">'
    )
    article = of(page(head))
    assert article.canonical_url == "https://news.example/a/story?x=1"
    assert article.image == "https://news.example/i.jpg"
    assert article.tags == ("bridge", "river")
    assert article.description == "It is & agreed."


@pytest.mark.parametrize(
    "reference", ["javascript:alert(1)", "data:x,y", "http://[", "ftp://x/", ""]
)
def test_what_is_no_address_of_the_web_is_no_address(reference):
    article = of(page(f'<link rel="canonical" href="{reference}">'))
    assert article.canonical_url == ""


@pytest.mark.parametrize(
    "wrapped",
    [
        {"@graph": [{"@type": "WebSite"}, {"@type": "NewsArticle", "author": "Ada Marlow"}]},
        [{"@type": ["Thing", "BlogPosting"], "author": "Ada Marlow"}],
        {"@type": "WebPage", "mainEntity": {"@type": "Article", "author": "Ada Marlow"}},
    ],
)  # fmt: skip
def test_articles_are_found_inside_of_other_json_ld(wrapped):
    script = f'<script type="application/ld+json">{json.dumps(wrapped)}</script>'
    assert of(page(script)).authors == ("Ada Marlow",)


def test_json_ld_with_line_ends_in_strings_and_in_comments_is_read():
    script = (
        '<script type="application/ld+json"><!--\n{"@type": "Article", "author": "Ada Marlow",'
        ' "description": "two\nlines"}\n--></script>'
    )
    article = of(page(script))
    assert (article.authors, article.description) == (("Ada Marlow",), "two lines")
