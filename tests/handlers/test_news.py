"""Whether a page says anything that its family has not said."""

import tracemalloc

from gossamer.config.crawl import CrawlSettings
from gossamer.config.handlers import HandlerSettings
from gossamer.config.parse import ParseSettings
from gossamer.config.url import UrlSettings
from gossamer.handlers import news
from gossamer.handlers.findings import Finder
from gossamer.handlers.news import NewsDesk
from gossamer.messages import Document, Fetch, Findings, News, Visit
from gossamer.outcomes import Outcome, State
from gossamer.parse.page import understand
from gossamer.url.canonical import Joiner
from gossamer.url.scope import Scope


class Reader:
    """A finder that is shown pages."""

    def __init__(self) -> None:
        self._joiner = Joiner()
        scope = Scope(CrawlSettings(scope="any"), [])
        self.finder = Finder(scope, self._joiner, UrlSettings(), HandlerSettings())
        self.desk = NewsDesk(self._joiner)

    def document(self, path: str, body: str) -> Document:
        visit = Visit(1, 1, "192.0.2.1", "http://h" + path)
        headers = (("content-type", "text/html"),)
        return Document(
            Fetch(visit=visit, outcome=Outcome.OK, status=200, headers=headers, body=body.encode()),
            None,
        )

    def read(self, path: str, body: str, *extra: str) -> Findings:
        document = self.document(path, body)
        page = understand(document, ParseSettings(), self._joiner)
        return self.finder.findings(document, page, extra)


def maze(*names: str) -> str:
    return "<title>Sorry</title>" + "".join(f'<a href="/m/{name}">{name}</a>' for name in names)


def taught() -> Reader:
    """A reader that knows what the maze has to say."""
    reader = Reader()
    reader.read("/m/a", maze("b"))
    reader.read("/m/a", maze("b"))
    return reader


def probation(findings: Findings) -> dict[str, str]:
    return {found.url.removeprefix("http://h"): found.probation for found in findings.found}


def test_links_of_a_page_without_news_are_on_probation():
    reader = Reader()
    first = reader.read("/m/a", maze("b", "c"))
    assert first.news == News.SOME
    assert probation(first) == {"/m/b": "", "/m/c": ""}
    # The title of the first was enough; the second is looked at as a whole.
    assert reader.read("/m/b", maze("b", "c")).news == News.SOME
    third = reader.read("/m/c", maze("d", "e"))
    assert third.news == News.NONE
    assert probation(third) == {"/m/d": "h/m/*", "/m/e": "h/m/*"}


def test_a_page_that_leads_to_another_family_is_not_judged_by_that():
    reader = taught()
    findings = reader.read("/m/b", maze("c") + '<a href="/other/x">x</a>')
    assert findings.news == News.SOME, "a new text"
    findings = reader.read("/m/c", maze("d") + '<a href="/other/y">x</a>')
    assert findings.news == News.UNKNOWN
    assert probation(findings) == {"/m/d": "h/m/*", "/other/y": "h/m/*"}


def test_another_page_with_something_to_say_acquits_them_once():
    reader = taught()
    reader.read("/m/b", maze("c", "d"))
    again = reader.read("/index", "<title>All</title><a href='/m/c'>c</a><a href='/m/a'>a</a>")
    assert probation(again) == {"/m/c": "", "/m/a": ""}
    more = reader.read("/index2", "<title>More</title><a href='/m/c'>c</a><a href='/m/d'>d</a>")
    assert probation(more) == {"/m/d": ""}


def test_nofollow_acquits_nobody():
    reader = taught()
    reader.read("/m/b", maze("c"))
    index = "<title>All</title><a rel=nofollow href='/m/c'>c</a>"
    assert probation(reader.read("/index", index)) == {}


def test_urls_that_a_handler_adds_are_not_on_probation():
    reader = taught()
    findings = reader.read("/m/b", maze("c"), "http://h/mine")
    assert probation(findings) == {"/m/c": "h/m/*", "/mine": ""}


def test_findings_that_could_not_be_kept_were_not_said():
    reader = Reader()
    findings = reader.read("/m/a", maze("b"))
    reader.finder.forget(findings)
    again = reader.read("/m/a", maze("b"))
    assert again.news == News.SOME
    assert probation(again) == {"/m/b": ""}


def test_the_reason_of_a_url_that_is_a_trap_by_itself_goes_with_it():
    findings = Reader().read("/", '<a href="/a/a/a/a/">a</a>')
    (found,) = findings.found
    assert (found.state, found.outcome) == (State.EXCLUDED, Outcome.POLICY_TRAP)
    assert found.detail == "/a repeated in the path"


def test_memory_is_bounded_whatever_is_said():
    reader = Reader()
    desk = NewsDesk(Joiner(), max_bytes=200_000)
    document = reader.document("/x", "")
    page = understand(reader.document("/x", "<title>x</title>"), ParseSettings(), Joiner())
    tracemalloc.start()
    try:
        for number in range(20_000):
            word = "".join("abcdefghij"[int(digit)] for digit in str(number))
            titled = page.__class__(content_type="text/html", title=word)
            assert desk.has_news(f"h/{number % 300}/*", document.fetch, titled)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1_000_000


def long_page(*words: str) -> str:
    return "<title>Sorry</title>" + "".join(f"<p>{word} {word}</p>" * 4_000 for word in words)


def test_a_long_page_that_begins_as_another_is_looked_through_to_its_end():
    reader = Reader()
    reader.read("/m/a", maze("b"))
    pages = [long_page("same", "one"), long_page("same", "two"), long_page("same", "three")]
    assert [reader.read("/m/a", page).news for page in pages] == [News.SOME] * 3
    # Of the first only the beginning was looked at, so it has news once more.
    assert reader.read("/m/a", pages[0]).news == News.SOME
    assert {reader.read("/m/a", page).news for page in pages} == {News.NONE}


def test_a_long_page_that_begins_like_no_other_is_not_looked_through(monkeypatch):
    looked_at = []

    def note(body, *_):
        looked_at.append(len(body))
        return {body}

    monkeypatch.setattr(news, "statements", note)
    reader = Reader()
    for word in ("a", "b", "c"):
        assert reader.read("/m/a", long_page(word)).news == News.SOME
    assert 0 < max(looked_at) < len(long_page("a"))
