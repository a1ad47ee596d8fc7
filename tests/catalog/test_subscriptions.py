"""Reading news: every walk sees each row once, in steps, also while others write."""

import re
import sqlite3
from pathlib import Path

import msgspec
import pytest
from catalog_rig import NOW, md5_of, page

import gossamer.catalog
from gossamer.catalog import downloads, stories, subscriptions
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.download_book import DownloadState, Rules, Type
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.catalog.subscriptions import READING
from gossamer.config.catalog import CatalogSettings
from gossamer.config.news import NewsSettings
from gossamer.messages import Due, Pointer
from gossamer.outcomes import Outcome, State
from gossamer.reports import FeedReport, Sighting

DAY = 86_400.0


@pytest.fixture
def news(tmp_path):
    with open_news(tmp_path) as catalog:
        catalog.use(Rules(NewsSettings(throttle_seconds=0, per_site=10_000)))
        catalog.begin_run(NOW)
        yield catalog


def open_news(folder: Path, **how: bool) -> NewsCatalog:
    return NewsCatalog.open(folder / "catalog.db", CatalogSettings(), **{"shared": True} | how)


def polled(due: Due, *urls: str, title: str = "") -> Verdict:
    """Return what a poll brings that finds these stories."""
    sightings = tuple(
        Sighting(url, md5_of(url), "a.example", url, title or url, (md5_of(url)[:8],))
        for url in urls
    )
    report = FeedReport(form="rss2", checksum=md5_of("".join(urls)), sightings=sightings)
    record = msgspec.json.encode(report)
    return Verdict(page(due.doc_id, records=(record,)), State.DONE)


def subscribed(news: NewsCatalog, *urls: str, source: str = "A") -> list[Due]:
    source_id = news.add_source(source, "", NOW)
    for url in urls:
        news.add_feed(source_id, url, NOW)
    return [due for due in news.due(10_000, 10_000, NOW) if due.url in urls]


def test_sources_come_by_name_and_feeds_by_url_in_many_steps(news, monkeypatch):
    monkeypatch.setattr(subscriptions, "_STEP", 3)
    names = [f"s{number:02}" for number in range(10)]
    for name in reversed(names):
        source_id = news.add_source(name, "", NOW)
        for number in reversed(range(7)):
            news.add_feed(source_id, f"https://{name}.example/{number}", NOW)
    found = list(subscriptions.sources(news.database))
    assert [(source.name, source.feeds) for source in found] == [(name, 7) for name in names]
    for source in found:
        feeds = subscriptions.feeds_of(news.database, source.source_id)
        assert [feed.url for feed in feeds] == [
            f"https://{source.name}.example/{number}" for number in range(7)
        ]


def test_a_feed_that_sources_share_is_found_in_each(news):
    for name in ("one", "two"):
        news.add_feed(news.add_source(name, "", NOW), "https://a.example/f", NOW)
    found = subscriptions.feeds_at(news.database, "https://a.example/f")
    assert [feed.source for feed in found] == ["one", "two"]
    assert subscriptions.feeds_at(news.database, "https://a.example/") == []


@pytest.mark.req("S4.4", "S4.5", "S4.6")
def test_downloads_of_feeds_and_stories_are_rows_of_one_table_in_each_state(news):
    dues = {
        due.url: due
        for due in subscribed(news, *(f"https://a.example/{name}" for name in ("ok", "bad", "no")))
    }
    urls = [f"https://a.example/story-{name}" for name in ("ok", "gone", "open", "later")]
    news.commit(
        [
            polled(dues["https://a.example/ok"], *urls),
            Verdict(page(dues["https://a.example/bad"].doc_id), State.DONE),
            Verdict(
                page(dues["https://a.example/no"].doc_id, outcome=int(Outcome.HTTP_4XX)),
                State.FAILED,
            ),
        ],
        NOW,
    )
    pages = {due.url: due for due in news.due(10, 10, NOW)}
    news.commit(
        [
            Verdict(page(pages[urls[0]].doc_id), State.DONE),
            Verdict(page(pages[urls[1]].doc_id, outcome=int(Outcome.HTTP_4XX)), State.FAILED),
            Verdict(
                page(pages[urls[3]].doc_id, outcome=int(Outcome.HTTP_5XX), status=503),
                State.PENDING,
                NOW + 3_600,
            ),
        ],
        NOW,
    )
    found = {row.url: row for row in downloads.downloads(news.database)}
    assert {url.rpartition("/")[2]: (row.type, row.state) for url, row in found.items()} == {
        "ok": (Type.FEED, DownloadState.SUCCESS),
        "bad": (Type.FEED, DownloadState.FEED_ERROR),
        "no": (Type.FEED, DownloadState.ERROR),
        "story-ok": (Type.CONTENT, DownloadState.SUCCESS),
        "story-gone": (Type.CONTENT, DownloadState.ERROR),
        "story-open": (Type.CONTENT, DownloadState.FETCHING),
        "story-later": (Type.CONTENT, DownloadState.PENDING),
    }
    later = found[urls[3]]
    assert (later.not_before, later.retries, later.ended_at) == (NOW + 3_600, 1, None)
    for state in DownloadState:
        chosen = downloads.downloads(news.database, state=state)
        assert {row.url for row in chosen} == {
            row.url for row in found.values() if row.state is state
        }
    feeds = downloads.downloads(news.database, type_=Type.FEED)
    assert {row.type for row in feeds} == {Type.FEED}


def test_walks_over_stories_and_downloads_see_each_once(news, monkeypatch):
    monkeypatch.setattr(stories, "_STEP", 4)
    monkeypatch.setattr(downloads, "_STEP", 4)
    # Many at one moment, so that a step ends in the midst of equals.
    for number, count in enumerate((9, 1, 13)):
        (due,) = subscribed(news, f"https://a.example/{number}")
        urls = [f"https://a.example/{number}/{story}" for story in range(count)]
        news.commit([polled(due, *urls)], NOW + number)
    found = [story.story_id for story in stories.stories(news.database)]
    assert found == list(range(23, 0, -1))
    some = stories.stories(news.database, since=NOW + 1, until=NOW + 2)
    assert [story.story_id for story in some] == [10]
    assert len(list(downloads.downloads(news.database))) == 26


def test_a_walk_ends_although_stories_are_added_meanwhile(news, monkeypatch):
    monkeypatch.setattr(stories, "_STEP", 2)
    (due,) = subscribed(news, "https://a.example/f")
    news.commit([polled(due, *(f"https://a.example/{n}" for n in range(6)))], NOW)
    seen = []
    for number, story in enumerate(stories.stories(news.database)):
        seen.append(story.story_id)
        (later,) = subscribed(news, f"https://a.example/more-{number}")
        news.commit([polled(later, f"https://a.example/new-{number}")], NOW + 1 + number)
    assert seen == [6, 5, 4, 3, 2, 1]


def test_between_two_steps_nothing_is_held(news, tmp_path):
    """A reader that stops in the midst keeps no writer from emptying its log."""
    (due,) = subscribed(news, "https://a.example/f")
    news.commit([polled(due, *(f"https://a.example/{n}" for n in range(300)))], NOW)
    with open_news(tmp_path, read_only=True, shared=False) as reader:
        walk = stories.stories(reader.database)
        next(walk)
        assert not reader.database.connection.in_transaction
        with sqlite3.connect(tmp_path / "catalog.db") as connection:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.close()
        assert busy == 0
        assert len(list(walk)) == 299


def test_stories_a_day_are_counted_by_source(news):
    for name, count in (("one", 2), ("two", 1)):
        (due,) = subscribed(news, f"https://{name}.example/f", source=name)
        urls = [f"https://{name}.example/{number}" for number in range(count)]
        news.commit([polled(due, *urls)], NOW)
    ids = {row.name: row.source_id for row in subscriptions.sources(news.database)}
    counted = subscriptions.stories_per_stretch(
        news.database, [NOW - DAY, NOW, NOW + DAY, NOW + 2 * DAY]
    )
    assert counted == {ids["one"]: [0, 2, 0], ids["two"]: [0, 1, 0]}
    assert subscriptions.stories_of_sources(news.database) == {ids["one"]: 2, ids["two"]: 1}
    totals = subscriptions.news_totals(news.database)
    assert (totals.sources, totals.feeds, totals.stories) == (2, 2, 3)


def test_a_story_is_found_by_its_number_and_by_its_url(news):
    (due,) = subscribed(news, "https://a.example/f")
    news.commit([polled(due, "https://a.example/1")], NOW)
    (story,) = stories.stories(news.database)
    assert (story.content, story.extraction) == (None, "none")
    assert stories.story(news.database, 2) is None
    assert stories.story(news.database, -1) is None
    assert stories.story(news.database, 1 << 70) is None
    (row,) = downloads.downloads_of_story(news.database, 1, 10)
    assert row.url == "https://a.example/1"
    known = news.find("https://a.example/1")
    assert known is not None
    assert stories.story_ids_of(news.database, known.doc_id) == [1]


def test_a_later_download_without_a_page_does_not_hide_the_page(news):
    (due,) = subscribed(news, "https://a.example/f")
    news.commit([polled(due, "https://a.example/1")], NOW)
    (visit,) = news.due(10, 10, NOW)
    pointer = Pointer("a.warc.gz", 7, 8)
    news.commit([Verdict(page(visit.doc_id, pointer=pointer), State.DONE)], NOW)
    with news.database.writing("add a download that failed") as connection:
        connection.execute(
            "INSERT INTO download (type, doc_id, story_id, url, state, made_at)"
            " SELECT type, doc_id, story_id, url, 3, made_at + 1 FROM download WHERE type = 1"
        )
    (story,) = stories.stories(news.database)
    assert (story.content, story.extraction) == (pointer, "queued")
    found = downloads.downloads_of_story(news.database, story.story_id, 10)
    assert [(row.state, row.pointer) for row in found] == [
        (DownloadState.ERROR, None),
        (DownloadState.SUCCESS, pointer),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "source_rows",
        "feed_ids_of",
        "feed_rows",
        "story_ids_before",
        "story_rows",
        "feeds_of_stories",
        "pages_of_stories",
        "download_ids_before",
        "download_ids_of_feed",
        "download_ids_of_story",
        "download_rows",
    ],
)
def test_no_step_of_a_walk_reads_a_whole_table(news, name):
    names = re.findall(r":(\w+)", READING[name])
    values = dict.fromkeys(names, 1) if names else ["1"] * READING[name].count("?")
    with news.database.doing("explain") as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {READING[name]}", values)]
    assert [step for step in plan if step.startswith("SCAN") and "json_each" not in step] == []


def test_every_statement_is_named_described_and_used():
    folder = Path(gossamer.catalog.__file__).parent
    text = (folder / "news_reading.sql").read_text()
    assert text.count("-- name: ") == len(READING)
    files = ("subscriptions", "stories", "downloads")
    code = "".join((folder / f"{name}.py").read_text() for name in files)
    assert set(READING) - set(re.findall(r'"([a-z_]+)"', code)) == set()
