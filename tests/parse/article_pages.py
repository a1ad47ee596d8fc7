"""A small corpus of made-up article pages with their truth, and the measure for extractors.

Twelve templates, each as some real kind of site is built, filled from a seed with text in one of
six languages. The words make no sense; what matters is where they stand.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

WORDS = {
    "en": "the of and to in that was for it with as his on be at by this had not are but from they"
    " government river market people yesterday minister report winter school council water agreed"
    " before against several during nothing between letter public answer figures morning",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es"
    " Regierung Fluss Markt Menschen gestern Ministerin Bericht Winter Schule Rat Wasser zwischen"
    " gegen mehrere während nichts Brief Antwort Zahlen Morgen wurde haben sagte",
    "fr": "le la les de des et en que qui dans pour pas sur avec ce il elle une est par plus été"
    " gouvernement rivière marché personnes hier ministre rapport hiver école conseil eau entre"
    " contre plusieurs pendant rien lettre réponse chiffres matin avait était",
    "es": "el la los de que y en un una por con no para las se su al lo como más pero sus fue"
    " gobierno río mercado personas ayer ministra informe invierno escuela consejo agua entre"
    " contra varios durante nada carta respuesta cifras mañana había también",
    "ru": "и в не на что он как это по но из за так же от было для они мы когда даже"
    " правительство река рынок люди вчера министр доклад зима школа совет вода между против"
    " несколько ничего письмо ответ цифры утро сказал города",
    "ja": "政府は 川の 市場で 人々が 昨日 大臣の 報告を 冬に 学校の 会議で 水を 決めた これは"
    " とても 新しい 問題に ついて 話した しかし 多くの 町では まだ 答えが ない という",
}
NAMES = ("Ada Marlow", "Jon Ferrer", "Mina Okafor", "Pavel Lind", "Rosa Weidel", "Tom Achterberg")
SITE = "The Daily Lantern"


class Story(NamedTuple):
    """What a page is about, and what an extractor should find."""

    number: int
    language: str
    title: str
    author: str
    published: datetime
    paragraphs: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.paragraphs)

    @property
    def slug(self) -> str:
        return f"story-{self.number}"


class Page(NamedTuple):
    template: str
    story: Story
    url: str
    html: str


def pages(seed: int = 5) -> list[Page]:
    """Return the corpus: every template in four languages."""
    made = []
    for row, template in enumerate(TEMPLATES):
        for column in range(4):
            random_ = random.Random(seed * 1_000 + row * 10 + column)
            language = list(WORDS)[(row + column) % len(WORDS)]
            story = _story(random_, language, row * 4 + column)
            url = f"https://news.example/{story.published:%Y/%m/%d}/{story.slug}"
            html = template(story, random_)
            made.append(Page(template.__name__.strip("_"), story, url, html))
    return made


def scores(truth: str, found: str, size: int = 4) -> tuple[float, float]:
    """Return precision and recall over runs of four words."""
    wanted, got = _runs(truth, size), _runs(found, size)
    common = (wanted & got).total()
    precision = common / got.total() if got else 0.0
    recall = common / wanted.total() if wanted else 1.0
    return precision, recall


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _runs(text: str, size: int) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    return Counter(tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1)))


def _sentence(random_: random.Random, language: str, shortest: int = 8, longest: int = 22) -> str:
    words = random_.choices(WORDS[language].split(), k=random_.randint(shortest, longest))
    if language == "ja":
        return "".join(words) + "。"
    comma = len(words) // 2
    words[comma] += ","
    return " ".join(words).capitalize() + random_.choice((".", ".", ".", "?"))


def _paragraph(random_: random.Random, language: str) -> str:
    gap = "" if language == "ja" else " "
    return gap.join(_sentence(random_, language) for _ in range(random_.randint(2, 5)))


def _story(random_: random.Random, language: str, number: int) -> Story:
    title = _sentence(random_, language, 5, 9).rstrip(".?。").replace(",", "")
    moment = datetime(
        random_.randint(2015, 2026),
        random_.randint(1, 10),
        random_.randint(1, 28),
        random_.randint(6, 22),
        random_.randint(0, 59),
        tzinfo=UTC,
    )
    paragraphs = [_paragraph(random_, language) for _ in range(random_.randint(5, 12))]
    return Story(number, language, title, random_.choice(NAMES), moment, paragraphs)


def _teasers(random_: random.Random, story: Story, count: int = 8) -> str:
    """Links to other articles, some with a summary."""
    items = []
    for number in range(count):
        title = _sentence(random_, story.language, 5, 9)
        summary = f"<p>{_sentence(random_, story.language, 5, 9)}</p>" if number % 2 else ""
        items.append(f'<li><a href="/other/{number}">{title}</a>{summary}</li>')
    return f"<ul>{''.join(items)}</ul>"


def _menu(random_: random.Random, story: Story) -> str:
    words = random_.choices(WORDS[story.language].split(), k=9)
    return "".join(f'<li><a href="/section/{word}">{word}</a></li>' for word in words)


def _tagged(paragraphs: list[str], tag: str = "p") -> str:
    return "\n".join(f"<{tag}>{each}</{tag}>" for each in paragraphs)


def _head(story: Story, more: str = "") -> str:
    return (
        f'<!doctype html><html lang="{story.language}"><head><meta charset="utf-8">'
        f"<title>{story.title} | {SITE}</title>{more}"
        f'<link rel="canonical" href="/{story.published:%Y/%m/%d}/{story.slug}"></head>'
    )


def _json_ld(story: Story, **more: object) -> str:
    node = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": story.title,
        "datePublished": story.published.isoformat(),
        "author": [{"@type": "Person", "name": story.author}],
        "publisher": {"@type": "Organization", "name": SITE},
        **more,
    }
    return f'<script type="application/ld+json">{json.dumps({"@graph": [node]})}</script>'


def _semantic(story: Story, random_: random.Random) -> str:
    """A modern page with the elements that are meant for it."""
    return (
        f"{_head(story, _json_ld(story))}<body>"
        f"<header><nav><ul>{_menu(random_, story)}</ul></nav></header><main><article>"
        f"<h1>{story.title}</h1><p class=byline>By {story.author}</p><figure><img src=a.jpg>"
        f"<figcaption>{_sentence(random_, story.language)}</figcaption></figure>"
        f"{_tagged(story.paragraphs)}</article></main>"
        f"<aside>{_teasers(random_, story)}</aside>"
        f"<footer>© {SITE}. All rights reserved.</footer>"
    )


def _old_tables(story: Story, random_: random.Random) -> str:
    """A page of the nineties: tables for columns, lines broken by hand."""
    lines = "<br><br>\n".join(story.paragraphs)
    return (
        f"{_head(story)}<body bgcolor=white><table width=100%><tr><td width=150>"
        f"<ul>{_menu(random_, story)}</ul></td><td><h1>{story.title}</h1>"
        f"<font size=1>{story.author}, {story.published:%d %B %Y}</font><br>{lines}</td>"
        f"<td>{_teasers(random_, story, 5)}</td></tr></table>"
    )


def _blog(story: Story, random_: random.Random) -> str:
    """A blog with a long discussion below."""
    comments = "".join(
        f'<li class="comment"><b>reader{n}</b><p>{_paragraph(random_, story.language)}</p></li>'
        for n in range(6)
    )
    return (
        f"{_head(story)}<body class='single post has-sidebar'><div id=wrap>"
        f'<div id=header>{SITE}</div><div id=content><div class="post hentry tag-news">'
        f"<h1 class=entry-title>{story.title}</h1><div class=entry-meta>"
        f'<time class="published" datetime="{story.published:%Y-%m-%d}">x</time>'
        f' by <a rel=author href=/a>{story.author}</a></div><div class="entry-content">'
        f"{_tagged(story.paragraphs)}"
        f"<div class='sharedaddy share-buttons'>Share this</div></div></div>"
        f"<div id=comments class=comments-area><ol>{comments}</ol></div></div>"
        f"<div id=sidebar class=widget-area>{_teasers(random_, story)}</div></div>"
    )


def _hidden_by_paywall(story: Story, random_: random.Random) -> str:
    """The text is there, hidden until a dialog about cookies is answered."""
    cookies = "We use cookies and process personal data for purposes such as advertising. " * 6
    return (
        f"{_head(story)}<body style='overflow: hidden'><div id=app><h1>{story.title}</h1>"
        f'<div class="text" id="articleBody" style="display: none">'
        f"{_tagged(story.paragraphs)}</div></div>"
        f"<div class='dialog'><p>{cookies}</p><p>{cookies}</p></div>"
    )


def _in_a_form(story: Story, random_: random.Random) -> str:
    """A page that is one form from head to foot."""
    return (
        f'{_head(story)}<body><form method=post action="./x.aspx"><input type=hidden name=state>'
        f"<div class=top><ul class=menu>{_menu(random_, story)}</ul></div><h1>{story.title}</h1>"
        f'<span class="date">{story.published:%Y-%m-%d}</span><div class="ctl00_text">'
        f"{_tagged(story.paragraphs)}</div>"
        f"<div class=related>{_teasers(random_, story)}</div></form>"
    )


def _in_sections(story: Story, random_: random.Random) -> str:
    """The text in several parts, with advertisements between them."""
    middle = len(story.paragraphs) // 2
    parts = [story.paragraphs[:2], story.paragraphs[2:middle], story.paragraphs[middle:]]
    advertisement = '<div class="ad-slot">Advertisement</div>'
    body = advertisement.join(f'<div class="chunk">{_tagged(part)}</div>' for part in parts if part)
    return (
        f"{_head(story)}<body><div class=page><nav>{_menu(random_, story)}</nav>"
        f"<div class='story'><h1>{story.title}</h1>{body}</div>"
        f"<div class='more-stories'>{_teasers(random_, story)}</div></div>"
    )


def _with_teasers(story: Story, random_: random.Random) -> str:
    """Summaries of other articles stand above and below, each an article element."""
    others = "".join(
        f"<article class=card><h2><a href=/x/{n}>{_sentence(random_, story.language)}</a></h2>"
        f"<p>{_sentence(random_, story.language)}</p></article>"
        for n in range(6)
    )
    return (
        f"{_head(story)}<body><div class=latest>{others}</div><article class=main-story>"
        f"<h1>{story.title}</h1>"
        f"<div class=article__body>{_tagged(story.paragraphs)}</div></article>"
        f"<section class='recommended'>{others}</section>"
    )


def _rich(story: Story, random_: random.Random) -> str:
    """Subheadings, quotations, lists and captions between the paragraphs."""
    first, second, *rest = story.paragraphs
    return (
        f'{_head(story)}<body><main id="main"><h1>{story.title}</h1><div class="post-body">'
        f"<p>{first}</p><figure><img src=b.png><figcaption>Photo: someone</figcaption></figure>"
        f"<blockquote><p>{second}</p></blockquote>{_tagged(rest)}"
        f"<div class=author-bio>{story.author} writes about rivers.</div></div></main>"
    )


def _divs_for_paragraphs(story: Story, random_: random.Random) -> str:
    """Not one paragraph element."""
    body = "".join(f"<div><span>{each}</span></div>" for each in story.paragraphs)
    return (
        f"{_head(story)}<body><div class=a><div class=b>{SITE}</div><div class=c>"
        f"<h1>{story.title}</h1><div class=d>{body}</div></div>"
        f"<div class=e>{_teasers(random_, story, 5)}</div></div>"
    )


def _in_json_ld(story: Story, random_: random.Random) -> str:
    """An empty page that its scripts will fill; the data for machines has the text."""
    return (
        f"{_head(story, _json_ld(story, articleBody=story.text))}"
        f"<body><div id=root></div><noscript>Please switch on JavaScript.</noscript>"
    )


def _in_a_variable(story: Story, random_: random.Random) -> str:
    """An empty page whose text is a list in a variable of a script."""
    blocks = json.dumps([{"type": "p", "text": each} for each in story.paragraphs])
    return (
        f"{_head(story)}<body><div id=root>Loading</div><script>window.__STATE__ = "
        f'{{"id": 7, "blocks": {blocks}}};</script>'
    )


def _twice(story: Story, random_: random.Random) -> str:
    """The text is there once for narrow and once for wide screens."""
    body = _tagged(story.paragraphs)
    return (
        f'{_head(story)}<body><h1>{story.title}</h1><div class="mobile">{body}</div>'
        f'<div class="desktop">{body}</div>'
        f"<div class=footer-links>{_menu(random_, story)}</div>"
    )


TEMPLATES: tuple[Callable[[Story, random.Random], str], ...] = (
    _semantic, _old_tables, _blog, _hidden_by_paywall, _in_a_form, _in_sections, _with_teasers,
    _rich, _divs_for_paragraphs, _in_json_ld, _in_a_variable, _twice,
)  # fmt: skip
