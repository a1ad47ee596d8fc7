"""A workspace of news, filled by the catalog itself, with text that tries to do harm."""

import hashlib
from pathlib import Path

import msgspec

from gossamer.catalog import extractions
from gossamer.catalog.catalog import HostClock, Verdict
from gossamer.catalog.download_book import Rules
from gossamer.catalog.extractions import ExtractedArticle, Extraction
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.news import NewsSettings
from gossamer.messages import Findings, Pointer
from gossamer.outcomes import Outcome, State
from gossamer.reports import FeedReport, Sighting
from gossamer.url.parts import host_of, md5_of

NOW = 1_780_000_000.0
DAY = 86_400.0
HOSTILE = '=cmd()\x1b[31m"<&>\r\nnext\u202egnp\u2028\x7f\x00'
FEED = "https://example.org/feed.xml"
OLD = "https://example.org/old.xml"
BLOG = "https://blog.example/atom"
NEW = "https://quiet.example/rss"
STORIES = tuple(f"https://example.org/{name}" for name in ("bridge", "copy", "gone", "later"))
TEXT = 'The bridge\x1b[2J is open.\n\n=SUM("x") says <b>the mayor</b> & others\x0b.'


def sighting(url: str, **fields) -> Sighting:
    known = {"guid": url, "title": url, "keys": (md5_of(url)[:8],), "published": NOW - DAY} | fields
    return Sighting(url, md5_of(url), host_of(url), **known)


def report(*sightings: Sighting, **fields) -> FeedReport:
    urls = "\n".join(sorted(each.url for each in sightings))
    checksum = hashlib.sha256(urls.encode()).digest()
    return FeedReport(form="rss2", title=HOSTILE, checksum=checksum, sightings=sightings, **fields)


def findings(due, outcome: Outcome = Outcome.OK, status: int = 200, **fields) -> Findings:
    known = {
        "doc_id": due.doc_id,
        "trans_id": due.doc_id,
        "outcome": int(outcome),
        "status": status,
        "fetched_at": NOW,
        "milliseconds": 7,
        "content_type": "text/html",
        "body_bytes": 1_000,
        "wire_bytes": 500,
        "checksum": md5_of(f"body {due.doc_id}"),
        "pointer": Pointer("news.warc.gz", 100 * due.doc_id, 90),
    } | fields
    return Findings(**known)


def feed_verdict(due, said: FeedReport, **fields) -> Verdict:
    return Verdict(findings(due, records=(msgspec.json.encode(said),), **fields), State.DONE)


def failed(due, outcome: Outcome, status: int = 0, state: State = State.FAILED, due_at=0.0):
    nothing = {"body_bytes": 0, "checksum": None, "pointer": None, "detail": "no\x1b[5m luck"}
    return Verdict(findings(due, outcome, status, **nothing), state, due_at)


def open_catalog(folder: Path) -> NewsCatalog:
    folder.mkdir(mode=0o700, exist_ok=True)
    catalog = NewsCatalog.open(folder / "catalog.db", CatalogSettings(), shared=True)
    return catalog.use(Rules(NewsSettings(throttle_seconds=0, per_site=1_000)))


def make_news(folder: Path) -> Path:
    """Two polls of feeds, four stories: extracted, a copy, gone, and one that is tried again."""
    with open_catalog(folder) as catalog:
        example = catalog.add_source("The Example", "https://example.org/", NOW, tags="local")
        catalog.add_feed(example, FEED, NOW)
        old, _ = catalog.add_feed(example, OLD, NOW, title="Old news")
        catalog.set_feeds_enabled([old], False, NOW, why="it is\x1b[1m gone")
        blog = catalog.add_source("blog.example", "", NOW, content_delay_seconds=3_600)
        catalog.add_feed(blog, BLOG, NOW)
        catalog.begin_run(NOW)
        feeds = {due.url: due for due in catalog.due(100, 100, NOW)}
        said = report(
            sighting(
                STORIES[0],
                title=f"Bridge {HOSTILE}",
                authors=("A. Author", HOSTILE),
                tags=("roads", "a;b"),
                description=HOSTILE,
                language="en",
                image="https://example.org/i.png",
            ),
            *(sighting(url) for url in STORIES[1:]),
        )
        catalog.commit(
            [feed_verdict(feeds[FEED], said), failed(feeds[BLOG], Outcome.HTTP_4XX, 404)], NOW
        )
        pages = {due.url: due for due in catalog.due(100, 100, NOW + 1)}
        catalog.commit(
            [
                Verdict(findings(pages[STORIES[0]]), State.DONE),
                Verdict(findings(pages[STORIES[1]]), State.DONE),
                failed(pages[STORIES[2]], Outcome.HTTP_4XX, 404),
                failed(pages[STORIES[3]], Outcome.HTTP_5XX, 503, State.PENDING, NOW + 3_600),
            ],
            NOW + 2,
            hosts=[HostClock(host="blog.example", parked_until=NOW + 7_200)],
        )
        extract(catalog)
        quiet = catalog.add_source("quiet.example", "", NOW)
        catalog.add_feed(quiet, NEW, NOW)
        catalog.end_run(NOW + 10)
    return folder


def extract(catalog: NewsCatalog) -> None:
    """The first two stories say the same: one group."""
    jobs = extractions.jobs(catalog.database, 10)
    article = ExtractedArticle(
        title="Bridge opens",
        text=TEXT,
        how="main",
        confidence=0.75,
        fingerprint=0x1234_5678_9ABC_DEF0,
        canonical_url="https://example.org/bridge-opens",
        published=NOW - 2 * DAY,
        published_how="json-ld",
        published_confidence=0.9,
        authors=("A. Author", HOSTILE),
        authors_confidence=0.5,
        language="en",
        language_confidence=0.99,
        description=HOSTILE,
        image="https://example.org/i.png",
        tags=("roads", "a;b"),
    )
    results = [Extraction(job.download_id, job.story_id, article) for job in jobs]
    assert len(results) == 2
    extractions.finish(catalog.database, results, NOW + 3)
