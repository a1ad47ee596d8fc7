"""The processes that extract: watched, killed, replaced; nothing is lost or done twice."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from extract_rig import (
    NOW,
    children_of,
    is_running,
    page_of,
    settings_of,
    story_text,
    wait_for,
)

from gossamer.catalog import extractions
from gossamer.clock import ManualClock
from gossamer.errors import GossamerError
from gossamer.news import extract_worker
from gossamer.news.extract_worker import Duty, PageWorker
from gossamer.news.extracting import extract_queued, start

PARAGRAPHS = "extract_rig:paragraphs"
MISBEHAVING = "extract_rig:misbehaving"


class TestMisbehaviour:
    def run(self, newsroom, *bodies: bytes, **news) -> list[tuple[int, int, str]]:
        """Extract these pages among ordinary ones, which all must come out well."""
        stories: list[int] = []
        ordinary = []
        for body in bodies:
            ordinary += [newsroom.story(page_of(f"before {n}")) for n in range(3)]
            stories.append(newsroom.story(body))
            ordinary += [newsroom.story(page_of(f"after {n}")) for n in range(3)]
        result = extract_queued(newsroom.directory, settings_of(**news), _extractor=MISBEHAVING)
        ended = newsroom.ended()
        assert {ended[story_id][::2] for story_id in ordinary} == {(1, "")}
        assert result.done + result.failed == len(ended)
        return [ended[story_id] for story_id in stories]

    def test_a_page_that_hangs_is_given_up_after_two_tries(self, newsroom):
        # Long enough for the ordinary pages on a busy machine, of which the first loads a lot.
        (hung,) = self.run(newsroom, b"HANG", extractors=2, extract_seconds=4.0)
        assert hung == (2, 2, "the extraction took longer than 4 s; it was tried 2 times")

    def test_a_page_that_kills_its_process_is_given_up_after_two_tries(self, newsroom):
        killer, leaver = self.run(newsroom, b"DIE", b"EXIT", extractors=1)
        said = "the extraction ended its process"
        assert killer == (2, 2, f"{said} by SIGKILL; it was tried 2 times")
        assert leaver == (2, 2, f"{said} with exit code 7; it was tried 2 times")

    def test_a_page_whose_process_died_once_is_tried_again(self, newsroom):
        (survivor,) = self.run(newsroom, b"<p>DIE ONCE</p>", extractors=1)
        assert survivor[:2] == (1, 2)

    def test_an_extractor_that_raises_fails_the_page_only(self, newsroom):
        (raised,) = self.run(newsroom, b"RAISE", extractors=0)
        assert raised == (2, 1, "the extractor failed: ValueError: half ? a character")

    def test_a_page_that_wants_too_much_memory_fails_and_its_process_is_replaced(self, newsroom):
        (greedy,) = self.run(newsroom, b"GREED", extractors=1)
        assert greedy == (2, 1, "the extraction needs more than 2048 MiB of memory")
        rows = newsroom.rows("SELECT tags FROM story WHERE story_id <> 4 ORDER BY story_id")
        before, after = set(rows[:3]), set(rows[-1:])
        assert len(before) == 1
        assert before != after

    def test_what_no_database_could_keep_is_left_out(self, newsroom):
        (odd,) = self.run(newsroom, b"ODD", extractors=0)
        assert odd[0] == 1
        row = newsroom.rows(
            "SELECT text, published, published_how, canonical_url, authors FROM article"
            " JOIN story USING (story_id) WHERE story_id = 4"
        )
        assert row == [("x?", NOW, "download", "", '["?"' + ',"?"' * 31 + "]")]

    def test_a_process_is_worn_after_many_pages_or_much_memory(self, newsroom, monkeypatch):
        newsroom.story(page_of("x"))
        (job,) = extractions.jobs(newsroom.catalog.database, 10)
        worker = PageWorker(Duty(str(newsroom.directory), settings_of()))
        # The process that runs the tests is large by now: what counts is that a limit is kept.
        monkeypatch.setattr(extract_worker, "WORN_BYTES", 1 << 50)
        assert not worker.work(job).worn
        monkeypatch.setattr(extract_worker, "WORN_PAGES", 2)
        assert worker.work(job).worn
        monkeypatch.setattr(extract_worker, "WORN_PAGES", 1_000)
        assert not worker.work(job).worn
        monkeypatch.setattr(extract_worker, "WORN_BYTES", 1)
        assert worker.work(job).worn

    def test_processes_that_cannot_begin_are_not_started_for_ever(self, newsroom, capfd):
        newsroom.story(page_of("x"))
        with pytest.raises(GossamerError, match="before it began, 3 times"):
            extract_queued(newsroom.directory, settings_of(), _extractor="no_such_module:at_all")
        assert "no_such_module" in capfd.readouterr().err
        assert newsroom.waiting() == 1


class TestKilled:
    def test_a_killed_child_is_replaced_and_its_page_tried_again(self, newsroom, tmp_path):
        stories = [newsroom.story(page_of(f"story {n}")) for n in range(6)]
        extractor = start(
            newsroom.directory, settings_of(extractors=1), _extractor="extract_rig:gated"
        )
        try:
            begun = wait_for(lambda: list(tmp_path.glob("begun-*")))
            (child,) = children_of(extractor.process_id)
            assert begun[0].name == f"begun-{child}"
            os.kill(child, signal.SIGKILL)
            wait_for(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
            (tmp_path / "open").touch()
        finally:
            assert extractor.stop(drain=True)
        ended = newsroom.ended()
        assert {each[0] for each in ended.values()} == {1}
        assert [ended[story_id][1] for story_id in stories] == [2, 1, 1, 1, 1, 1]
        assert extractor.restarts == 0

    def test_a_killed_extractor_loses_nothing_and_doubles_nothing(self, newsroom):
        texts = {
            newsroom.story(page_of(story_text(n // 2)), source=f"source {n % 2}"): story_text(
                n // 2
            )
            for n in range(100)
        }
        seed = random.randrange(1 << 32)
        print("seed", seed)
        draw = random.Random(seed)
        extractor = start(
            newsroom.directory, settings_of(extractors=2), _extractor="extract_rig:slow"
        )
        children: set[int] = set()
        try:
            for kill in range(3):
                goal = len(newsroom.texts()) + 3
                wait_for(lambda: len(newsroom.texts()) >= goal or not newsroom.waiting())  # noqa: B023
                time.sleep(draw.random() * 0.1)
                pid = extractor.process_id
                children.update(children_of(pid))
                os.kill(pid, signal.SIGKILL)
                wait_for(lambda: extractor.restarts > kill)  # noqa: B023
                assert newsroom.catalog.check() == []
        finally:
            assert extractor.stop(drain=True)
        assert newsroom.texts() == texts
        assert set(newsroom.ended().values()) == {(1, 1, "")}
        # Each text was in both sources.
        groups = newsroom.rows("SELECT group_id, count(*) FROM story GROUP BY group_id")
        assert len(groups) == 50
        assert {count for _, count in groups} == {2}
        wait_for(lambda: not any(map(is_running, children)))

    def test_told_to_drain_it_does_so_even_if_it_is_killed(self, newsroom, tmp_path):
        for number in range(10):
            newsroom.story(page_of(f"story {number}"))
        extractor = start(newsroom.directory, settings_of(), _extractor="extract_rig:gated")
        wait_for(lambda: list(tmp_path.glob("begun-*")))
        (tmp_path / "open").touch()
        os.kill(extractor.process_id, signal.SIGKILL)
        assert extractor.stop(drain=True)
        assert extractor.restarts == 1
        assert len(newsroom.texts()) == 10
        assert newsroom.waiting() == 0

    def test_two_at_once_end_each_job_once(self, newsroom):
        for number in range(100):
            newsroom.story(page_of(f"story {number}"))
        extractor = start(newsroom.directory, settings_of(), _extractor="extract_rig:slow")
        try:
            own = extract_queued(newsroom.directory, settings_of(), _extractor="extract_rig:slow")
        finally:
            assert extractor.stop(drain=True)
        assert 0 <= own.done <= 100
        assert len(newsroom.texts()) == 100
        assert set(newsroom.ended().values()) == {(1, 1, "")}


class TestTheExtractor:
    def test_it_extracts_what_is_queued_while_it_runs(self, newsroom):
        extractor = start(newsroom.directory, settings_of(), _extractor=PARAGRAPHS)
        try:
            for number in range(3):
                story_id = newsroom.story(page_of(f"story {number}"))
                wait_for(lambda: story_id in newsroom.texts())  # noqa: B023
            # Also what is queued again behind its back.
            extractions.requeue(newsroom.catalog.database, story_id=1)
            wait_for(lambda: not newsroom.waiting())
            assert extractor.alive
        finally:
            assert extractor.stop(drain=False)
        assert not extractor.alive
        assert extractor.restarts == 0

    def test_its_clock_is_that_of_the_engine(self, newsroom):
        newsroom.story(page_of("story"))
        start(
            newsroom.directory, settings_of(), clock=ManualClock(NOW), _extractor=PARAGRAPHS
        ).stop(drain=True)
        ((extracted_at,),) = newsroom.rows("SELECT extracted_at FROM article")
        assert NOW <= extracted_at < NOW + 600

    def test_told_to_stop_it_leaves_the_rest_queued(self, newsroom, tmp_path):
        for number in range(40):
            newsroom.story(page_of(f"story {number}"))
        extractor = start(
            newsroom.directory, settings_of(extractors=1), _extractor="extract_rig:gated"
        )
        wait_for(lambda: list(tmp_path.glob("begun-*")))
        assert extractor.stop(drain=False)
        assert newsroom.waiting() == 40
        assert set(newsroom.ended().values()) == {(0, 0, "")}

    def test_it_ends_with_its_parent(self, newsroom, tmp_path):
        newsroom.story(page_of("story"))
        script = (
            "import sys, time\nfrom pathlib import Path\n"
            "from extract_rig import settings_of\nfrom gossamer.news.extracting import start\n"
            "extractor = start(Path(sys.argv[1]), settings_of(), _extractor='extract_rig:gated')\n"
            "print(extractor.process_id, flush=True)\ntime.sleep(600)\n"
        )
        parent = subprocess.Popen(
            [sys.executable, "-c", script, newsroom.directory], stdout=subprocess.PIPE, text=True
        )
        try:
            process_id = int(parent.stdout.readline())
            wait_for(lambda: list(tmp_path.glob("begun-*")))
            family = [process_id, *children_of(process_id)]
            assert len(family) == 2
            assert all(map(is_running, family))
        finally:
            parent.kill()
            parent.communicate()
        wait_for(lambda: not any(map(is_running, family)))
        assert newsroom.waiting() == 1
