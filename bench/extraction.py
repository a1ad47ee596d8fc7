"""Quality and speed of article extractors: F1 over runs of four words, pages a second of one core.

.venv/bin/python bench/extraction.py [--corpus DIR ...] [--extractor NAME ...] [--worst N]

A corpus is a folder with `ground-truth.json`, an object of pages by id, and `html/ID.html.gz` (or
`html/ID.html`). A page has `articleBody` and `url`, and may have `headline`, `author`,
`datePublished` and `inLanguage`. The public article-extraction-benchmark has this form;
`bench/extraction_corpora.py` makes others from packages. Without --corpus, the small corpus of the
tests is used. Extractors that are not installed are left out.

F1 is made from the means of precision and recall over pages, as in that benchmark. Time is CPU time
of one process, after a first page that loads what is loaded once.
"""

import argparse
import gzip
import json
import logging
import re
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from turbohtml import parse

from gossamer.parse.article import Article, extract
from gossamer.parse.article_facts import titles_of
from gossamer.parse.article_marks import marks_of
from gossamer.parse.article_paragraphs import article_paragraphs

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "parse"))

import article_pages

_DAY = 86_400
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[.!?。！？]")  # noqa: RUF001
_BANDS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)


class Page(NamedTuple):
    name: str
    body: bytes
    truth: dict[str, Any]


Extract = Callable[[Page], str]


def main() -> None:
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(description="Measure article extractors.")
    parser.add_argument("--corpus", type=Path, action="append", default=[])
    parser.add_argument("--extractor", action="append", default=[])
    parser.add_argument("--running", action="store_true", help="compare running text only")
    parser.add_argument("--worst", type=int, default=0, help="show so many pages of gossamer")
    arguments = parser.parse_args()
    corpora = {folder.name: read_corpus(folder) for folder in arguments.corpus}
    if not corpora:
        corpora = {"made": made_corpus()}
    if len(corpora) > 1:
        corpora["all"] = [page for pages in corpora.values() for page in pages]
    extractors = {
        name: made
        for name, make in EXTRACTORS.items()
        if (not arguments.extractor or name in arguments.extractor) and (made := make())
    }
    for corpus, pages in corpora.items():
        print(f"\n{corpus}: {len(pages)} pages\n")
        print("| Extractor | F1 | Precision | Recall | Pages/s |\n|---|--:|--:|--:|--:|")
        for name, extractor in extractors.items():
            print(row(name, extractor, pages, _running if arguments.running else str))
        if not arguments.running and (not arguments.extractor or "gossamer" in arguments.extractor):
            report(pages, arguments.worst)


def read_corpus(folder: Path) -> list[Page]:
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    pages = []
    for name, said in truth.items():
        packed = folder / "html" / f"{name}.html.gz"
        body = (
            gzip.decompress(packed.read_bytes())
            if packed.exists()
            else (folder / "html" / f"{name}.html").read_bytes()
        )
        pages.append(Page(name, body, said))
    return pages


def made_corpus() -> list[Page]:
    return [
        Page(
            f"{page.template}-{page.story.number}",
            page.html.encode(),
            {
                "articleBody": page.story.text,
                "url": page.url,
                "headline": page.story.title,
                "inLanguage": page.story.language,
                "datePublished": page.story.published.isoformat(),
            },
        )
        for page in article_pages.pages()
    ]


def _running(text: str) -> str:
    """Return the lines that are sentences: bylines, captions and lists of links are a matter of
    taste, and rules made by hand differ about them."""
    return "\n".join(
        line for line in text.splitlines() if len(line) > 70 and _SENTENCE.search(line)
    )


def row(name: str, extractor: Extract, pages: list[Page], form: Callable[[str], str]) -> str:
    extractor(pages[0])
    started = time.process_time()
    texts = [extractor(page) for page in pages]
    seconds = time.process_time() - started
    texts = [form(text) for text in texts]
    scores = [
        article_pages.scores(form(page.truth.get("articleBody", "")), text)
        for page, text in zip(pages, texts, strict=True)
    ]
    found = [score for score, text in zip(scores, texts, strict=True) if text]
    precision = statistics.mean(score[0] for score in found) if found else 0.0
    recall = statistics.mean(score[1] for score in scores)
    f1 = article_pages.f1(precision, recall)
    return f"| {name} | {f1:.3f} | {precision:.3f} | {recall:.3f} | {len(pages) / seconds:.0f} |"


def report(pages: list[Page], worst: int) -> None:
    """Print where texts are from, what the confidences are worth, and how good the facts are."""
    articles = [extract(page.body, page.truth["url"]) for page in pages]
    measured = [
        (article_pages.f1(*article_pages.scores(page.truth["articleBody"], each.text)), each, page)
        for page, each in zip(pages, articles, strict=True)
    ]
    hows = {how: sum(each.how == how for each in articles) for how in {a.how for a in articles}}
    print(
        "\nfrom:", ", ".join(f"{how or 'nothing'} {count}" for how, count in sorted(hows.items()))
    )
    for low, high in pairwise(_BANDS):
        band = [f1 for f1, each, _ in measured if low <= each.text_confidence < high]
        if band:
            print(
                f"confidence from {low:.2f}: {len(band)} pages, mean F1 {statistics.mean(band):.3f}"
            )
    for kind, judge in (
        ("title", _title),
        ("authors", _authors),
        ("date", _date),
        ("language", _language),
    ):
        verdicts = [judge(each, page.truth) for _, each, page in measured]
        known = [verdict for verdict in verdicts if verdict]
        if known:
            right, silent = known.count("right"), known.count("silent")
            print(f"{kind}: {right} of {len(known)} right, {silent} not found")
    for f1, each, page in sorted(measured, key=lambda one: one[0])[:worst]:
        print(f"{f1:.2f} {each.how} {each.text_confidence:.2f} {page.name}")


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _title(article: Article, truth: dict[str, Any]) -> str:
    wanted = truth.get("headline")
    return wanted and ("right" if _words(article.title) == _words(wanted) else "wrong")


def _authors(article: Article, truth: dict[str, Any]) -> str:
    wanted = truth.get("author")
    if not wanted:
        return ""
    said = _words(" ".join(wanted) if isinstance(wanted, list) else wanted)
    if not article.authors:
        return "silent"
    return "right" if all(_words(name) in said for name in article.authors) else "wrong"


def _date(article: Article, truth: dict[str, Any]) -> str:
    try:
        wanted = datetime.fromisoformat(truth["datePublished"]).timestamp()
    except (TypeError, KeyError, ValueError):
        return ""
    if article.published is None:
        return "silent"
    return "right" if abs(article.published - wanted) <= _DAY else "wrong"


def _language(article: Article, truth: dict[str, Any]) -> str:
    wanted = truth.get("inLanguage")
    if not wanted:
        return ""
    return "right" if article.language == wanted else "wrong" if article.language else "silent"


def _gossamer() -> Extract:
    return lambda page: extract(page.body, page.truth["url"]).text


def _paragraphs() -> Extract:
    def found(page: Page) -> str:
        tree = parse(page.body, positions=False)
        return "\n".join(article_paragraphs(tree, titles_of(marks_of(tree))).texts)

    return found


def _turbohtml() -> Extract:
    return lambda page: parse(page.body, positions=False).main_text()


def _trafilatura() -> Extract | None:
    try:
        import trafilatura  # noqa: PLC0415
    except ImportError:
        return None
    return lambda page: trafilatura.extract(page.body, fast=True, include_comments=False) or ""


def _resiliparse() -> Extract | None:
    try:
        from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415
        from resiliparse.parse.encoding import bytes_to_str, detect_encoding  # noqa: PLC0415
    except ImportError:
        return None

    def found(page: Page) -> str:
        text = bytes_to_str(page.body, detect_encoding(page.body))
        return extract_plain_text(text, main_content=True, alt_texts=False, noscript=False)

    return found


def _readability() -> Extract | None:
    try:
        from readability import Document  # noqa: PLC0415
    except ImportError:
        return None
    return lambda page: parse(Document(page.body).summary(), positions=False).to_text()


EXTRACTORS: dict[str, Callable[[], Extract | None]] = {
    "gossamer": _gossamer,
    "paragraphs": _paragraphs,
    "turbohtml": _turbohtml,
    "trafilatura": _trafilatura,
    "resiliparse": _resiliparse,
    "readability": _readability,
}

if __name__ == "__main__":
    main()
