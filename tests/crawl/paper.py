"""A crawl on paper: the rules for links at work on a site that is a function, without a network."""

import weakref
from collections.abc import Callable

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.handlers import HandlerSettings
from gossamer.config.settings import Settings
from gossamer.config.url import UrlSettings
from gossamer.crawl.admission import Admission
from gossamer.handlers.findings import Finder
from gossamer.messages import Document, Fetch, Findings, Found, Visit
from gossamer.outcomes import Outcome, State
from gossamer.parse.page import understand
from gossamer.url.canonical import Joiner
from gossamer.url.parts import host_of, md5_of, path_query_of
from gossamer.url.scope import Scope

NOW = 1_800_000_000.0
HOST = "http://paper.example"
Site = Callable[[str], tuple[str, bytes] | None]
"""From path and query to media type and body; None where there is no page."""


class Paper:
    """Crawls a site and remembers in which order it asked for what."""

    def __init__(self, site: Site, settings: UrlSettings | None = None) -> None:
        self._site = site
        self._settings = Settings(url=settings or UrlSettings())
        self._joiner = Joiner(self._settings.url)
        scope = Scope(self._settings.crawl, [HOST + "/"])
        self._finder = Finder(scope, self._joiner, self._settings.url, HandlerSettings())
        self.catalog = SqliteCatalog.open(":memory:", CatalogSettings())
        weakref.finalize(self, self.catalog.close)
        self.catalog.begin_run(NOW)
        self.admission = Admission(self._settings.url)
        self.asked: list[str] = []

    def crawl(self, start: str = "/", most: int = 20_000) -> list[str]:
        """Ask for everything there is to ask for, starting here; return what was asked for."""
        url = HOST + start
        self.catalog.add([Found(url, md5_of(url), host_of(url), 0)], NOW)
        while len(self.asked) < most and (batch := self.catalog.due(16, 16, NOW)):
            verdicts = [self._visit(due.doc_id, due.url, due.depth) for due in batch]
            self.catalog.commit(verdicts, NOW, gate=self.admission)
        assert self.catalog.check() == []
        return self.asked

    def _visit(self, doc_id: int, url: str, depth: int) -> Verdict:
        self.asked.append(path_query_of(url))
        findings = self._fetch(Visit(doc_id, doc_id, "192.0.2.1", url, depth))
        return Verdict(findings, State.DONE if findings.is_page else State.FAILED)

    def _fetch(self, visit: Visit) -> Findings:
        answer = self._site(path_query_of(visit.url))
        if answer is None:
            gone = Fetch(visit=visit, outcome=Outcome.HTTP_4XX, status=404, fetched_at=NOW)
            return self._finder.findings(Document(gone, None), None)
        media_type, body = answer
        fetch = Fetch(
            visit=visit,
            outcome=Outcome.OK,
            status=200,
            headers=(("content-type", media_type),),
            raw=body,
            body=body,
            fetched_at=NOW,
        )
        document = Document(fetch, None)
        page = understand(document, self._settings.parse, self._joiner)
        return self._finder.findings(document, page)


def html(title: str, *parts: str) -> tuple[str, bytes]:
    """Return a page with a title and parts, each on a line of its own."""
    lines = "\n".join(parts)
    return "text/html", f"<!DOCTYPE html><title>{title}</title>\n<h1>{title}</h1>\n{lines}".encode()


def link(href: str, text: str) -> str:
    """Return a link."""
    return f'<p><a href="{href}">{text}</a></p>'


def in_words(number: int) -> str:
    """Return a number as a text of letters only, no two alike."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))
