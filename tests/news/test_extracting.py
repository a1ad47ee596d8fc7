"""Stored pages become articles, and can do so again."""

import gzip
import random
import time

import msgspec
import pytest
from extract_rig import (
    NOW,
    fetch_of,
    page_of,
    settings_of,
    story_text,
)

from gossamer.catalog import extractions
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.download_book import Rules
from gossamer.clock import ManualClock
from gossamer.config.news import NewsSettings
from gossamer.errors import InputError
from gossamer.messages import Findings
from gossamer.news.articles import MIN_COMPARED, fingerprint_of
from gossamer.news.extracting import Extracted, extract_queued
from gossamer.outcomes import Outcome, State
from gossamer.reports import FeedReport, Hints, Sighting
from gossamer.store.reading import read_document
from gossamer.url.parts import md5_of

PARAGRAPHS = "extract_rig:paragraphs"


class StandingClock(ManualClock):
    """Wall time that stands still; waits are real."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


class TestPages:
    @pytest.mark.parametrize("extractors", [0, 2])
    def test_the_queue_is_worked_off(self, newsroom, extractors):
        texts = {newsroom.story(page_of(f"story {n}\nmore")): f"story {n}\nmore" for n in range(70)}
        heard: list[Extracted] = []
        result = extract_queued(
            newsroom.directory,
            settings_of(extractors=extractors),
            clock=StandingClock(NOW + 5),
            on_progress=heard.append,
            _extractor=PARAGRAPHS,
        )
        assert (result.done, result.failed) == (70, 0)
        assert newsroom.texts() == texts
        assert set(newsroom.ended().values()) == {(1, 1, "")}
        assert newsroom.rows("SELECT DISTINCT extracted_at FROM article") == [(NOW + 5,)]
        assert heard[-1].done == 70
        assert [each.done for each in heard] == sorted({each.done for each in heard})
        assert newsroom.waiting() == 0

    def test_an_empty_queue_needs_no_process(self, newsroom):
        assert extract_queued(newsroom.directory, settings_of()) == Extracted()

    def test_a_page_is_decoded_as_its_head_says(self, newsroom):
        body = gzip.compress("<p>Grüße</p>".encode("iso-8859-1"))
        head = "Content-Type: text/html; charset=iso-8859-1\r\nContent-Encoding: gzip"
        story_id = newsroom.story(body, head=head)
        extract_queued(newsroom.directory, settings_of(extractors=0), _extractor=PARAGRAPHS)
        assert newsroom.texts() == {story_id: "Grüße"}

    def test_a_page_that_repeats_a_stored_one_is_read_from_there(self, newsroom):
        body = page_of("said twice")
        stories = [newsroom.story(body), newsroom.story(body)]
        kinds = newsroom.rows("SELECT file_id, offset FROM fetch")
        assert len(set(kinds)) == 2
        extract_queued(newsroom.directory, settings_of(extractors=0), _extractor=PARAGRAPHS)
        assert newsroom.texts() == dict.fromkeys(stories, "said twice")
        # Each is understood as the page of its own URL.
        tags = newsroom.rows("SELECT tags FROM story ORDER BY story_id")
        assert tags == [(f'["http://press.example/{n}"]',) for n in (1, 2)]

    def test_what_is_no_page_fails_with_a_reason(self, newsroom):
        literal = newsroom.story(b"GIF89a", content="(unsupported content type)")
        data = newsroom.story(b"{}", content_type="application/json")
        plain = newsroom.story(b"<p>plain</p>", content_type="text/plain")
        result = extract_queued(
            newsroom.directory, settings_of(extractors=0), _extractor=PARAGRAPHS
        )
        assert (result.done, result.failed) == (1, 2)
        assert newsroom.ended() == {
            literal: (2, 1, "there is no page: (unsupported content type)"),
            data: (2, 1, "a page of type application/json has no article"),
            plain: (1, 1, ""),
        }

    def test_a_damaged_archive_fails_the_page_and_no_other(self, newsroom):
        stories = [newsroom.story(page_of(story_text(n))) for n in range(3)]
        (place,) = newsroom.rows(
            "SELECT name, offset FROM fetch JOIN file USING (file_id) LIMIT 1 OFFSET 1"
        )
        newsroom.store.close()
        file = newsroom.archive / place[0]
        damaged = bytearray(file.read_bytes())
        damaged[place[1] + 40] ^= 0xFF
        file.write_bytes(damaged)
        extract_queued(newsroom.directory, settings_of(extractors=0), _extractor=PARAGRAPHS)
        ended = newsroom.ended()
        assert [ended[story_id][0] for story_id in stories] == [1, 2, 1]
        assert f"cannot read {place[0]} at byte {place[1]}" in ended[stories[1]][2]

    def test_the_feed_fills_what_the_page_lacks(self, newsroom):
        hints = Hints(
            title="From the feed", published=NOW - 99, authors=("A",), tags=("t",),
            description="D", language="fr", image="http://press.example/i",
        )  # fmt: skip
        newsroom.story(page_of("text"), hints=hints, title="")
        extract_queued(
            newsroom.directory, settings_of(extractors=0), _extractor="extract_rig:paragraphs"
        )
        assert newsroom.rows(
            "SELECT title, published, published_how, authors, description, language, image, tags"
            " FROM story"
        ) == [
            (
                "From the feed", NOW - 99, "feed", '["A"]', "D", "fr", "http://press.example/i",
                '["http://press.example/1"]',
            )
        ]  # fmt: skip

    def test_when_a_story_was_updated_is_better_than_no_date(self, newsroom):
        newsroom.story(page_of("text"), hints=Hints(updated=NOW - 99))
        extract_queued(newsroom.directory, settings_of(extractors=0), _extractor=PARAGRAPHS)
        assert newsroom.rows(
            "SELECT published, published_how, published_confidence FROM story"
        ) == [(NOW - 99, "feed", 0.5)]

    def test_the_raw_page_stays_and_a_rerun_changes_nothing(self, newsroom):
        text = story_text(1)
        for source in ("A", "B"):
            newsroom.story(page_of(text), source=source)
        newsroom.story(b"", content="(unsupported content type)")

        def run(**options) -> list:
            extract_queued(
                newsroom.directory,
                settings_of(),
                clock=StandingClock(NOW),
                _extractor=PARAGRAPHS,
                **options,
            )
            tables = ("story", "article", "article_band", "extraction", "download", "fetch")
            return [newsroom.rows(f"SELECT * FROM {table}") for table in tables]

        first = run()
        assert first[2]
        assert run() == first
        assert run(redo=True) == first
        assert run(redo=True, story_id=2) == first
        assert run(redo=True, source="B") == first

    def test_only_what_is_named_is_done(self, newsroom):
        stories = [newsroom.story(page_of("x"), source=source) for source in "ABBC"]
        plain = settings_of(extractors=0)

        def done(**which) -> int:
            return extract_queued(newsroom.directory, plain, _extractor=PARAGRAPHS, **which).done

        assert done(story_id=stories[1]) == 1
        assert set(newsroom.texts()) == {stories[1]}
        assert done(source="B") == 1
        assert set(newsroom.texts()) == set(stories[1:3])
        assert done(source="B", redo=True) == 2
        assert done(story_id=stories[2], redo=True) == 1
        assert newsroom.waiting() == 2
        assert done(redo=True) == 4
        with pytest.raises(InputError, match="no source 'D'"):
            done(source="D")

    def test_it_stops_when_told_and_goes_on_later(self, newsroom):
        for number in range(200):
            newsroom.story(page_of(str(number)))
        heard: list[Extracted] = []
        first = extract_queued(
            newsroom.directory,
            settings_of(extractors=0),
            on_progress=heard.append,
            stop=lambda: bool(heard),
            _extractor="extract_rig:slow",
        )
        assert 0 < first.done < 200
        assert newsroom.waiting() == 200 - first.done
        second = extract_queued(
            newsroom.directory, settings_of(extractors=0), _extractor=PARAGRAPHS
        )
        assert first.done + second.done == 200
        assert len(newsroom.texts()) == 200


@pytest.mark.req("S4.36")
def test_the_page_of_a_story_is_stored_and_its_extraction_queued_with_it(newsroom):
    catalog = newsroom.catalog.use(Rules(NewsSettings(throttle_seconds=0)))
    catalog.add_feed(catalog.add_source("Gazette", "", NOW), "http://press.example/feed", NOW)
    url = "http://press.example/story"
    sighting = Sighting(url, md5_of(url), "press.example", url, "A title", (b"a key",), b"title")
    report = FeedReport(form="rss2", checksum=b"sum", sightings=(sighting,))
    (feed,) = catalog.due(10, 10, NOW)
    found = Findings(
        feed.doc_id, 1, int(Outcome.OK), 200, NOW, 5, body_bytes=9,
        records=(msgspec.json.encode(report).decode(),),
    )  # fmt: skip
    catalog.commit([Verdict(found, State.DONE)], NOW)
    assert newsroom.waiting() == 0
    (due,) = catalog.due(10, 10, NOW + 60)
    assert due.url == url
    body = page_of("what the story says")
    stored = newsroom.store.append(fetch_of(due.doc_id, url, body))
    newsroom.store.sync()
    found = Findings(
        due.doc_id, 2, int(Outcome.OK), 200, NOW, 5, content_type="text/html",
        body_bytes=len(body), pointer=stored.pointer,
    )  # fmt: skip
    catalog.commit([Verdict(found, State.DONE)], NOW + 60)
    (job,) = extractions.jobs(catalog.database, 10)
    ((download_id, story_id),) = newsroom.rows(
        "SELECT download_id, story_id FROM download WHERE type = 1 AND state = 2"
    )
    assert (job.download_id, job.story_id, job.url) == (download_id, story_id, url)
    extract_queued(newsroom.directory, settings_of(), _extractor=PARAGRAPHS)
    assert newsroom.texts() == {story_id: "what the story says"}
    # What was fetched is kept as it was.
    assert read_document(newsroom.archive, job.pointer).raw == body


def test_a_news_page_becomes_an_article(newsroom):
    said = [f"On day {day} the council spoke of the bridge, in vain." for day in range(15)]
    page = (
        "<html lang=en><head><title>The bridge</title>"
        "<meta property='article:published_time' content='2026-05-30T10:00:00Z'></head>"
        "<body><nav><a href='/'>Front page</a> <a href='/sport'>Sport</a></nav><article>"
        f"<h1>The bridge</h1>{''.join(f'<p>{line}</p>' for line in said)}</article></body></html>"
    ).encode()
    stories = [newsroom.story(page, source=source, title="") for source in ("A", "B")]
    assert extract_queued(newsroom.directory, settings_of()).done == 2
    for story_id in stories:
        text = newsroom.texts()[story_id]
        assert all(line in text for line in said)
        assert "Sport" not in text
    assert (
        newsroom.rows("SELECT title, published, language, group_id FROM story")
        == [("The bridge", 1_780_135_200.0, "en", stories[0])] * 2
    )


class TestGroups:
    def test_the_same_text_in_two_sources_is_one_group(self, newsroom):
        text, other = story_text(1), story_text(2)
        edited = text.replace(text.split()[30], "corrected", 1)
        first = newsroom.story(page_of(text), source="A")
        second = newsroom.story(page_of(text + "\nBy our own staff."), source="B")
        third = newsroom.story(page_of(edited), source="C")
        alone = newsroom.story(page_of(other), source="B")
        extract_queued(newsroom.directory, settings_of(), _extractor=PARAGRAPHS)
        assert dict(newsroom.rows("SELECT story_id, group_id FROM story")) == {
            first: first,
            second: first,
            third: first,
            alone: None,
        }

    def test_short_texts_are_in_no_group(self, newsroom):
        notice = "Please switch on what this page needs."
        assert len(notice) < MIN_COMPARED
        for source in "AB":
            newsroom.story(page_of(notice), source=source)
        extract_queued(newsroom.directory, settings_of(extractors=0), _extractor=PARAGRAPHS)
        assert newsroom.rows("SELECT DISTINCT group_id FROM story") == [(None,)]
        assert newsroom.rows("SELECT * FROM article_band") == []

    def test_a_script_without_spaces_is_compared_as_well(self):
        draw = random.Random(3)
        one, other = ("".join(chr(draw.randint(0x4E00, 0x4F00)) for _ in range(900)) for _ in "ab")
        edited = one[:450] + "一" + one[451:]
        prints = [fingerprint_of(text) for text in (one, other, edited)]
        assert None not in prints
        assert (prints[0] ^ prints[2]).bit_count() <= 3
        assert (prints[0] ^ prints[1]).bit_count() > 3
