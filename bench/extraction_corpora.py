"""Corpora for bench/extraction.py from public packages that carry article pages and their truth.

.venv/bin/python bench/extraction_corpora.py OUT [--postlight DIR] [--curated DIR] [--newspaper DIR]

DIR is the unpacked package. None of the pages may be redistributed, so none is in this repository.

* postlight: npm, @postlight/parser 2.2.2 (not the newest: later ones leave the pages out). 136 news
  pages of as many layouts. Somebody wrote down by hand, for each site, in which elements the
  article is and what inside of them is not the article: that is the truth here, less captions,
  asides and share buttons. The tests of the package say title, author and date. Needs Node.
* curated: PyPI, the source of article-extractor 0.5.9. 28 pages of 2026 with hand-made extracts.
* newspaper: PyPI, the source of newspaper4k 0.9.6. 23 pages in ten languages with text files.
"""

import argparse
import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from turbohtml import Document, Element, parse

NOT_ARTICLE = (
    "h1,script,style,noscript,iframe,form,button,svg,figure,figcaption,aside,template,object,"
    "embed,video,audio"
)
SHARE = "[class*=share i],[class*=social i],[class*=sns i]"
# Forums, products, lyrics, data bases, and one page that is scrambled.
NO_ARTICLES = {
    "www.reddit.com", "pastebin.com", "genius.com", "bookwalker.jp", "clinicaltrials.gov",
    "jvndb.jvn.jp", "www.sanwa.co.jp", "www.elecom.co.jp", "www.ipa.go.jp", "github.com",
    "otrs.com", "www.oreilly.co.jp", "www.abendblatt.de", "biorxiv.org", "www.jnsa.org",
    "epaper.zeit.de", "www.linkedin.com",
}  # fmt: skip
Item = tuple[str, bytes, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Make corpora of article pages.")
    parser.add_argument("out", type=Path)
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path)
    arguments = parser.parse_args()
    for name, read in READERS.items():
        folder = getattr(arguments, name)
        if folder is not None:
            print(name, write(arguments.out / name, read(folder)), "pages")


def write(folder: Path, items: Iterator[Item]) -> int:
    (folder / "html").mkdir(parents=True, exist_ok=True)
    truth = {}
    for name, body, said in items:
        (folder / "html" / f"{name}.html.gz").write_bytes(gzip.compress(body, mtime=0))
        truth[name] = {key: value for key, value in said.items() if value}
    text = json.dumps(truth, ensure_ascii=False, indent=1)
    (folder / "ground-truth.json").write_text(text, encoding="utf-8")
    return len(truth)


def postlight(folder: Path) -> Iterator[Item]:
    script = Path(__file__).parent / "peers" / "postlight_rules.mjs"
    rules = subprocess.run(["node", script, folder], check=True, capture_output=True).stdout
    seen = set()
    for rule in json.loads(rules):
        path = folder / rule["fixture"]
        if rule["site"] in NO_ARTICLES or path in seen or not rule["url"] or not path.exists():
            continue
        seen.add(path)
        body = path.read_bytes()
        text = _ruled(body, rule.get("content") or [], rule["clean"])
        if text:
            name = rule["fixture"].split("/", 1)[1].replace("/", "_").removesuffix(".html")
            yield (
                name,
                body,
                {
                    "articleBody": text,
                    "url": rule["url"],
                    "headline": rule.get("title"),
                    "author": rule.get("author"),
                    "datePublished": rule.get("date"),
                },
            )


def _ruled(body: bytes, contents: list[str | list[str]], clean: list[Any]) -> str:
    """Return the text in the first of these places that has one."""
    for places in contents:
        tree = parse(body, positions=False)
        elements: list[Element] = []
        for place in [places] if isinstance(places, str) else places:
            found = tree.select(place)
            if not found:
                elements = []
                break
            elements.extend(found)
        for selector in [each for each in clean if isinstance(each, str)]:
            _empty(tree, selector)
        _empty(tree, NOT_ARTICLE)
        for element in elements:
            for inner in element.select(SHARE):
                if len(inner.to_text()) < 200:
                    inner.clear()
        own = set(elements)
        tops = [each for each in elements if not own.intersection(each.ancestors)]
        text = "\n".join(each.to_text() for each in tops)
        if len(text.split()) >= 30 or len(text) > 200:
            return text
    return ""


def curated(folder: Path) -> Iterator[Item]:
    index = folder / "tests/fixtures/fullpage_to_article_html/fixtures_index.json"
    for case in json.loads(index.read_text(encoding="utf-8"))["cases"]:
        tree = parse((folder / case["expected_html"]).read_bytes(), positions=False)
        _empty(tree, NOT_ARTICLE)
        truth = {"articleBody": tree.to_text(), "url": case["url"]}
        yield f"{case['host']}_{case['case']}", (folder / case["raw_html"]).read_bytes(), truth


def newspaper(folder: Path) -> Iterator[Item]:
    data = folder / "tests" / "data"
    for text in sorted((data / "txt").glob("*.txt")):
        page = data / "html" / f"{text.stem}.html"
        facts = data / "metadata" / f"{text.stem}.json"
        if page.exists():
            said = json.loads(facts.read_text(encoding="utf-8")) if facts.exists() else {}
            yield (
                text.stem,
                page.read_bytes(),
                {
                    "articleBody": text.read_text(encoding="utf-8"),
                    "url": said.get("url") or "https://news.example/",
                    "headline": said.get("title"),
                    "author": said.get("authors"),
                    "datePublished": said.get("publish_date"),
                    "inLanguage": said.get("language"),
                },
            )


def _empty(tree: Document, selector: str) -> None:
    for element in tree.select(selector):
        element.clear()


READERS = {"postlight": postlight, "curated": curated, "newspaper": newspaper}

if __name__ == "__main__":
    main()
