"""Extraction jobs in the catalog: queued once, ended once, with all that was found."""

import re
from pathlib import Path

import pytest
from catalog_rig import NOW, found
from news_desk import TEXT, Desk, article, bands, model_bands

import gossamer.catalog
from gossamer.catalog import extractions
from gossamer.catalog.extractions import EXTRACTIONS, Extraction
from gossamer.errors import CatalogError
from gossamer.messages import Pointer


@pytest.fixture
def desk():
    desk = Desk()
    yield desk
    desk.catalog.close()


class TestTheQueue:
    @pytest.mark.req("S4.36")
    def test_a_download_has_one_job_however_often_it_is_queued(self, desk):
        download_id = desk.download(desk.story())
        extractions.queue(desk.connection, download_id, 1, NOW + 9)
        assert desk.jobs() == [download_id]
        assert extractions.waiting(desk.database) == 1
        desk.finish(Extraction(download_id, 1, article()))
        extractions.queue(desk.connection, download_id, 1, NOW + 10)
        assert desk.jobs() == []
        assert extractions.waiting(desk.database) == 0

    def test_a_job_says_all_that_an_extraction_needs(self, desk):
        story_id = desk.story("Daily", hints='{"title":"T"}')
        pointer = Pointer("x-w1-000001.warc.gz", 77, 99)
        fetch_id = desk.fetched(story_id, pointer=pointer, content_type="text/html")
        download_id = desk.download(story_id, fetch_id=fetch_id)
        (job,) = extractions.jobs(desk.database, 10)
        assert job == extractions.Job(
            download_id=download_id,
            story_id=story_id,
            tries=0,
            url="http://press.example/1",
            pointer=pointer,
            content=None,
            content_type="text/html",
            fetched_at=NOW,
            hints='{"title":"T"}',
            source="Daily",
        )

    def test_a_job_has_the_url_that_was_fetched_in_the_end(self, desk):
        story_id = desk.story()
        desk.catalog.add([found("http://press.example/moved")], NOW)
        desk.fetched(story_id)
        fetch_id, doc_id = desk.one(
            "SELECT last_page, doc_id FROM url WHERE url = 'http://press.example/moved'"
        )
        desk.download(story_id, fetch_id=fetch_id, doc_id=doc_id)
        (job,) = extractions.jobs(desk.database, 10)
        assert job.url == "http://press.example/moved"

    def test_what_is_kept_in_the_place_of_a_page_is_told(self, desk):
        desk.download(desk.story(), content="(unsupported content type)")
        (job,) = extractions.jobs(desk.database, 10)
        assert (job.content, job.pointer) == ("(unsupported content type)", None)

    def test_the_queue_is_read_in_pieces(self, desk):
        story_id = desk.story()
        ids = [desk.download(story_id) for _ in range(5)]
        first = [job.download_id for job in extractions.jobs(desk.database, 2)]
        rest = [job.download_id for job in extractions.jobs(desk.database, 9, after=first[-1])]
        assert first + rest == ids

    def test_the_jobs_of_a_story_or_a_source_can_be_read_alone(self, desk):
        stories = [desk.story(source) for source in "ABB"]
        ids = [desk.download(story_id) for story_id in stories]
        one = extractions.jobs(desk.database, 9, story_id=stories[1])
        assert [job.download_id for job in one] == [ids[1]]
        some = extractions.jobs(desk.database, 9, source_id=desk.source("B"))
        assert [job.download_id for job in some] == ids[1:]

    def test_a_try_in_vain_leaves_the_job_queued(self, desk):
        download_id = desk.download(desk.story())
        extractions.count_try(desk.database, download_id, "it took too long")
        (job,) = extractions.jobs(desk.database, 10)
        assert job.tries == 1
        assert desk.one("SELECT detail FROM extraction") == ("it took too long",)

    def test_jobs_are_queued_again_of_a_story_of_a_source_or_all(self, desk):
        stories = [desk.story("A"), desk.story("A"), desk.story("B")]
        ids = [desk.download(story_id) for story_id in stories]
        rounds = [
            ({"story_id": stories[1]}, [ids[1]]),
            ({"source_id": desk.source("A")}, ids[:2]),
            ({}, ids),
        ]
        for which, expected in rounds:
            desk.finish(*(Extraction(number, 1, None, "no") for number in ids))
            assert desk.jobs() == []
            assert extractions.requeue(desk.database, **which) == len(expected)
            assert desk.jobs() == expected
            assert extractions.requeue(desk.database, **which) == 0
        assert set(
            desk.connection.execute("SELECT state, tries, ended_at, detail FROM extraction")
        ) == {(0, 0, None, "")}


class TestTheEnd:
    def test_an_article_and_what_its_page_says_are_kept(self, desk):
        story_id = desk.story()
        download_id = desk.download(story_id)
        kept = article(
            title="Another title", canonical_url="http://press.example/c", published=NOW - 60,
            published_how="json-ld", published_confidence=0.95, authors=("A. B.", "C"),
            authors_confidence=0.7, language="en", language_confidence=0.6, description="D",
            image="http://press.example/i.png", tags=("x", "y"), fingerprint=(1 << 64) - 1,
        )  # fmt: skip
        assert desk.finish(Extraction(download_id, story_id, kept, "a note")) == (1, 0)
        assert desk.one(
            "SELECT title, canonical_url, published, published_how, published_confidence, authors,"
            " authors_confidence, language, language_confidence, description, image, tags, group_id"
            " FROM story"
        ) == (
            "A title", "http://press.example/c", NOW - 60, "json-ld", 0.95, '["A. B.","C"]', 0.7,
            "en", 0.6, "D", "http://press.example/i.png", '["x","y"]', None,
        )  # fmt: skip
        assert desk.one(
            "SELECT story_id, text, how, confidence, fingerprint, extracted_at FROM article"
        ) == (story_id, TEXT, "fast", 0.9, -1, NOW + 5)
        assert desk.one("SELECT state, tries, ended_at, detail FROM extraction") == (
            1, 1, NOW + 5, "a note",
        )  # fmt: skip

    def test_the_title_of_the_page_counts_if_the_feed_had_none(self, desk):
        story_id = desk.story(title="")
        download_id = desk.download(story_id)
        desk.finish(Extraction(download_id, story_id, article(title="From the page")))
        assert desk.one("SELECT title, title_key FROM story") == ("From the page", None)

    def test_a_story_that_nobody_dates_is_dated_when_it_was_seen(self, desk):
        story_id = desk.story()
        download_id = desk.download(story_id)
        desk.finish(Extraction(download_id, story_id, article(published_confidence=0.5)))
        assert desk.one("SELECT published, published_how, published_confidence FROM story") == (
            NOW,
            "download",
            0.0,
        )

    def test_a_failure_has_a_reason_and_leaves_what_was_found_before(self, desk):
        story_id = desk.story()
        download_id = desk.download(story_id)
        desk.finish(Extraction(download_id, story_id, article(language="en", fingerprint=7)))
        before = desk.one("SELECT * FROM story"), desk.one("SELECT * FROM article")
        extractions.requeue(desk.database)
        assert desk.finish(Extraction(download_id, story_id, None, "too slow " * 100)) == (0, 1)
        assert (desk.one("SELECT * FROM story"), desk.one("SELECT * FROM article")) == before
        state, detail = desk.one("SELECT state, detail FROM extraction")
        assert state == 2
        assert detail == ("too slow " * 100)[:500]

    def test_a_job_ends_once_whoever_else_has_done_it(self, desk):
        story_id = desk.story()
        download_id = desk.download(story_id)
        assert desk.finish(Extraction(download_id, story_id, article(text="first"))) == (1, 0)
        assert desk.finish(Extraction(download_id, story_id, article(text="second"))) == (0, 0)
        assert desk.finish(Extraction(download_id, story_id, None, "late")) == (0, 0)
        assert desk.one("SELECT text FROM article") == ("first",)
        assert desk.one("SELECT state, tries FROM extraction") == (1, 1)

    @pytest.mark.parametrize("latest_first", [False, True])
    def test_the_latest_download_of_a_story_has_the_say_in_any_order(self, desk, latest_first):
        story_id = desk.story()
        ids = [desk.download(story_id), desk.download(story_id)]
        results = [
            Extraction(number, story_id, article(text=str(number), fingerprint=number))
            for number in ids
        ]
        for result in reversed(results) if latest_first else results:
            assert desk.finish(result) == (1, 0)
        assert desk.one("SELECT text, fingerprint FROM article") == (str(ids[1]), ids[1])
        assert bands(desk) == model_bands({story_id: ids[1]})

    def test_all_of_a_batch_is_kept_or_nothing(self, desk):
        story_id = desk.story()
        ids = [desk.download(story_id), desk.download(story_id)]
        broken = article(text="half a character \ud800")
        with pytest.raises((CatalogError, UnicodeEncodeError)):
            desk.finish(
                Extraction(ids[0], story_id, article()), Extraction(ids[1], story_id, broken)
            )
        assert desk.jobs() == ids
        assert desk.one("SELECT count(*) FROM article") == (0,)


class TestStatements:
    def test_every_statement_is_named_described_and_used(self):
        folder = Path(gossamer.catalog.__file__).parent
        text = (folder / "news_extractions.sql").read_text()
        assert text.count("-- name: ") == len(EXTRACTIONS)
        code = "".join(
            (folder / name).read_text() for name in ("extractions.py", "story_groups.py")
        )
        assert set(EXTRACTIONS) - set(re.findall(r'"([a-z_]+)"', code)) == set()

    @pytest.mark.parametrize("name", sorted(set(EXTRACTIONS) - {"requeue_all", "requeue_source"}))
    def test_no_hot_statement_reads_a_whole_table_or_sorts(self, desk, name):
        names = re.findall(r":(\w+)", EXTRACTIONS[name])
        values = dict.fromkeys(names, 1) if names else ["1"] * EXTRACTIONS[name].count("?")
        plan = [
            row[3]
            for row in desk.connection.execute(f"EXPLAIN QUERY PLAN {EXTRACTIONS[name]}", values)
        ]
        for step in plan:
            assert "TEMP B-TREE" not in step, plan
            small = "json_each" in step or "extraction_queue" in step
            assert not step.startswith("SCAN") or small, plan
