"""A catalog of news without a network: what feeds and pages bring is made up by the test."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gossamer.catalog.catalog import Committed, Verdict
from gossamer.catalog.download_book import Rules
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.news import NewsSettings
from gossamer.config.settings import Settings
from gossamer.messages import Due, Findings, Found, Kind, Pointer
from gossamer.news.titles import title_key
from gossamer.news.verdict import news_verdict
from gossamer.outcomes import Outcome
from gossamer.parse.feed import urls_checksum
from gossamer.reports import FeedReport, Sighting
from gossamer.url.parts import host_of, md5_of

NOW = 1_900_000_000.0
STATES = ("pending", "fetching", "success", "error", "feed_error")


def key(name: str) -> bytes:
    """Return the key of a URL or guid."""
    return hashlib.blake2b(name.encode(), digest_size=8).digest()


def sighting(url: str, title: str = "", guid: str = "", published: float | None = None) -> Sighting:
    """Return a story as a feed names it."""
    guid = guid or url
    return Sighting(
        url=url,
        md5=md5_of(url),
        host=host_of(url),
        guid=guid,
        title=title or "(no title)",
        keys=tuple(dict.fromkeys((key(url), key(guid)))),
        title_key=title_key(title),
        published=published,
    )


def report(*sightings: Sighting, **more: Any) -> FeedReport:
    """Return a feed with these stories."""
    checksum = urls_checksum(each.url for each in sightings)
    return FeedReport(form="rss2", sightings=sightings, checksum=checksum, **more)


class Newsroom:
    """A catalog, and what happens to it."""

    def __init__(self, directory: Path, **news: Any) -> None:
        self.settings = Settings(news=NewsSettings(**news))
        self.catalog = NewsCatalog.open(directory / "catalog.db", CatalogSettings(), shared=True)
        self.catalog.use(Rules(self.settings.news))
        self.now = NOW
        self.catalog.begin_run(self.now)
        self._pages = 0

    def source(self, name: str = "Loop", **more: Any) -> int:
        """Return a source."""
        return self.catalog.add_source(name, "", self.now, **more)

    def feed(self, url: str, source: int | None = None) -> int:
        """Return a feed."""
        return self.catalog.add_feed(source or self.source(), url, self.now)[0]

    def provide(self, count: int = 1_000, per_host: int = 100) -> list[Due]:
        """Return what is handed out now."""
        return self.catalog.due(count, per_host, self.now)

    def commit(self, *findings: Findings) -> Committed:
        """Commit what visits brought, judged as the engine judges it."""
        verdicts: list[Verdict] = [news_verdict(each, self.settings, self.now) for each in findings]
        return self.catalog.commit(verdicts, self.now)

    def bring(
        self,
        due: Due,
        feed: FeedReport | None = None,
        *,
        status: int = 200,
        outcome: Outcome = Outcome.OK,
        **more: Any,
    ) -> Findings:
        """Return the findings of a visit; without anything else a page."""
        records = () if feed is None else (msgspec.json.encode(feed).decode(),)
        self._pages += 1
        pointer = Pointer("a.warc.gz", self._pages * 100, 100) if status == 200 else None
        values: dict[str, Any] = {
            "doc_id": due.doc_id,
            "trans_id": 1,
            "outcome": int(outcome),
            "status": status,
            "fetched_at": self.now,
            "milliseconds": 5,
            "tries": due.tries + 1,
            "content_type": "text/html",
            "body_bytes": 100 if status == 200 else 0,
            "pointer": pointer,
            "records": records,
        }
        return Findings(**values | more)

    def redirect(self, due: Due, target: str, status: int = 302) -> Findings:
        """Return the findings of a visit that leads elsewhere."""
        found = Found(
            target, md5_of(target), host_of(target), due.depth, int(due.kind), via=(due.url,)
        )
        return self.bring(due, status=status, redirect_to=target, found=(found,))

    def poll(self, feed: FeedReport, **more: Any) -> None:
        """Bring a feed to whoever is handed out as one."""
        feeds = [due for due in self.provide() if due.kind is Kind.FEED]
        assert feeds, "no feed is due"
        self.commit(*(self.bring(due, feed, **more) for due in feeds))

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows."""
        return self.catalog.database.connection.execute(sql, values).fetchall()

    def downloads(self) -> list[tuple[str, str, str]]:
        """Return URL, type and state of all downloads, in their order."""
        rows = self.query("SELECT url, type, state FROM download_row ORDER BY download_id")
        return [(url, ("feed", "content")[kind], STATES[state]) for url, kind, state in rows]

    def stories(self) -> list[str]:
        """Return the URLs of all stories, in their order."""
        return [url for (url,) in self.query("SELECT url FROM story ORDER BY story_id")]

    def due_in(self, feed_id: int) -> float | None:
        """Return in how many seconds a feed is due."""
        due_at = self.query("SELECT due_at FROM feed WHERE feed_id = ?", feed_id)[0][0]
        return None if due_at is None else due_at - self.now

    def close(self, problems: Sequence[str] = ()) -> None:
        """End; the accounting must be right."""
        assert self.catalog.check() == list(problems)
        self.catalog.close()
