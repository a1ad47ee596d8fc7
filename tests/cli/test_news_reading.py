"""`gossamer news`: what the reading commands show of a workspace, in every form."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from news_samples import (
    BLOG,
    DAY,
    FEED,
    HOSTILE,
    NEW,
    NOW,
    OLD,
    STORIES,
    TEXT,
    make_news,
    open_catalog,
)

from gossamer.cli import news_downloads
from gossamer.cli.formats import iso_time
from gossamer.cli.news_health import plot

STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


@pytest.fixture(scope="session")
def press(tmp_path_factory) -> Path:
    return make_news(tmp_path_factory.mktemp("news") / "w")


@pytest.fixture
def news(run, press):
    """Run a reading command; it must end well, and nothing that it writes may steer a terminal."""

    def run_news(*words: object, steering: bool = False) -> str:
        code, out, err = run("news", *words, "--dir", press)
        assert (code, err) == (0, "")
        assert steering or not STEERING.search(out.replace("\r\n", "\n")), out
        return out

    return run_news


def rows_of(out: str) -> list[dict]:
    return [json.loads(line) for line in out.splitlines()]


def refused(run, *words: object) -> str:
    """Run a command that must complain in one line about bad input; return the complaint."""
    code, out, err = run("news", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


class TestList:
    def test_sources_with_their_feeds(self, news):
        out = news("list")
        assert out.index("The Example  https://example.org/") < out.index(FEED) < out.index(OLD)
        assert out.index("blog.example") < out.index(BLOG) < out.index(NEW)
        assert "disabled: it is\\x1b[1m gone" in out

    def test_as_json(self, news):
        sources = json.loads(news("list", "--json"))["sources"]
        assert [source["source"] for source in sources] == [
            "The Example",
            "blog.example",
            "quiet.example",
        ]
        first, second = sources[0]["feeds"]
        assert (first["url"], first["title"], first["form"]) == (FEED, HOSTILE, "rss2")
        assert (second["enabled"], second["why_disabled"]) == (False, "it is\x1b[1m gone")
        assert sources[1]["content_delay_seconds"] == 3_600
        assert sources[0]["tags"] == "local"


class TestStories:
    def test_a_line_of_json_has_all_that_is_known(self, news):
        story = rows_of(news("stories", "--format", "jsonl"))[-1]
        assert story == {
            "story_id": 1,
            "source": "The Example",
            "url": STORIES[0],
            "canonical_url": "https://example.org/bridge-opens",
            "guid": STORIES[0],
            "title": "Bridge opens",
            "authors": ["A. Author", HOSTILE],
            "authors_confidence": 0.5,
            "published": iso_time(NOW - 2 * DAY),
            "published_how": "json-ld",
            "published_confidence": 0.9,
            "language": "en",
            "language_confidence": 0.99,
            "text": TEXT,
            "text_how": "main",
            "text_confidence": 0.75,
            "description": HOSTILE,
            "image": "https://example.org/i.png",
            "tags": ["roads", "a;b"],
            "collected": iso_time(NOW),
            "feeds": [FEED],
            "content": {"file": "news.warc.gz", "offset": 400, "length": 90},
            "group": 1,
            "extraction": "done",
            "extraction_detail": None,
        }

    def test_what_has_no_page_yet_says_so(self, news):
        story = rows_of(news("stories", "--format", "jsonl"))[0]
        assert (story["url"], story["text"], story["content"]) == (STORIES[3], None, None)
        assert (story["extraction"], story["group"]) == ("none", None)
        assert (story["published"], story["published_how"]) == (iso_time(NOW - DAY), "feed")

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ([], [4, 3, 2, 1]),
            (["--limit", "2"], [4, 3]),
            (["--limit", "0"], []),
            (["--group"], [4, 3, 2]),
            (["--language", "EN"], [2, 1]),
            (["--language", "e"], []),
            (["--query", "MAYOR bridge"], [2, 1]),
            (["--query", "mayor tunnel"], []),
            (["--source", "The Example"], [4, 3, 2, 1]),
            (["--source", "blog.example"], []),
            (["--since", iso_time(NOW)], [4, 3, 2, 1]),
            (["--since", iso_time(NOW + 1)], []),
            (["--until", iso_time(NOW)], []),
            (["--until", iso_time(NOW + 1)], [4, 3, 2, 1]),
            (["--by", "published", "--until", iso_time(NOW - 1.5 * DAY)], [2, 1]),
            (["--by", "published", "--since", iso_time(NOW - 1.5 * DAY)], [4, 3]),
            (["--since", "1s"], []),
        ],
    )
    def test_what_is_asked_for_is_what_comes(self, news, words, expected):
        found = rows_of(news("stories", "--format", "jsonl", *words))
        assert [story["story_id"] for story in found] == expected

    def test_csv_is_one_row_a_story_and_runs_no_formula(self, news):
        out = news("stories", "--format", "csv", "--with-text")
        table = list(csv.DictReader(io.StringIO(out, newline="")))
        assert [row["story_id"] for row in table] == ["4", "3", "2", "1"]
        bridge = table[-1]
        assert bridge["description"].startswith("'=cmd()\\x1b[31m")
        assert bridge["text"].split("\n")[0] == "The bridge\\x1b[2J is open."
        assert bridge["feeds"] == FEED
        assert bridge["content"] == "news.warc.gz 400 90"
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in bridge.values())

    def test_texts_are_left_out_of_csv_unless_asked_for_even_if_looked_into(self, news):
        out = news("stories", "--format", "csv", "--query", "mayor")
        table = list(csv.DictReader(io.StringIO(out, newline="")))
        assert [row["text"] for row in table] == ["", ""]

    def test_rss_is_a_feed_that_our_own_reader_understands(self, news):
        from gossamer.parse.feed import read_feed
        from gossamer.parse.feed_records import FeedLimits

        out = news("stories", "--format", "rss", "--with-text")
        feed = read_feed(out.encode(), "text/xml", "", "https://x.example/", FeedLimits())
        assert feed.form == "rss2"
        assert feed.flags == ()
        assert [item.url for item in feed.items] == [
            STORIES[3],
            STORIES[2],
            *["https://example.org/bridge-opens"] * 2,
        ]
        bridge = feed.items[-1]
        assert (bridge.guid, bridge.published) == (STORIES[0], NOW - 2 * DAY)
        assert bridge.tags == ("roads", "a;b")
        assert "&lt;b&gt;the mayor&lt;/b&gt; &amp; others" in bridge.content_html

    def test_rss_is_valid_xml_with_the_text_as_it_was(self, news):
        channel = fromstring(news("stories", "--format", "rss", "--source", "The Example"))
        assert channel.findtext("channel/title") == "Stories of The Example"
        description = channel.findall("channel/item")[-1].findtext("description") or ""
        # What XML cannot hold at all is marked; a line break is the one XML makes of it.
        marked = HOSTILE.replace("\x1b", "\ufffd").replace("\x00", "\ufffd")
        assert description == marked.replace("\r\n", "\n")
        assert "content:encoded" not in news("stories", "--format", "rss")

    def test_parquet_has_types(self, news, tmp_path):
        from pyarrow import parquet

        path = tmp_path / "stories.parquet"
        assert news("stories", "--format", "parquet", "-o", path) == ""
        rows = parquet.read_table(path).to_pylist()
        assert [row["story_id"] for row in rows] == [4, 3, 2, 1]
        bridge = rows[-1]
        assert bridge["published"].timestamp() == NOW - 2 * DAY
        assert (bridge["text"], bridge["authors"]) == (TEXT, ["A. Author", HOSTILE])
        assert bridge["content"] == {"file": "news.warc.gz", "offset": 400, "length": 90}
        assert rows[0]["text"] is None

    def test_parquet_without_pyarrow_says_what_to_install(self, press, tmp_path):
        blocked = "import sys; sys.modules['pyarrow'] = None; from gossamer.cli.main import main; "
        words = ["news", "stories", "--format", "parquet", "-o", "s.parquet", "--dir", str(press)]
        done = subprocess.run(
            [sys.executable, "-c", f"{blocked}sys.exit(main({words!r}))"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 2
        assert "gossamer[news]" in done.stderr
        assert done.stderr.count("\n") == 1
        assert list(tmp_path.iterdir()) == []

    def test_a_table_shows_the_latest(self, news, tmp_path):
        out = news("stories")
        assert [line.split()[0] for line in out.splitlines()] == ["id", "4", "3", "2", "1"]
        path = tmp_path / "table.txt"
        assert news("stories", "-o", path) == ""
        assert path.read_text() == out
        assert "the mayor" in news("stories", "--with-text")
        assert news("stories", "--source", "blog.example").startswith("No stories")

    def test_a_table_is_short_unless_somebody_asks_for_more(self, news, monkeypatch):
        monkeypatch.setattr(news_downloads, "TABLE_LIMIT", 2)
        assert len(news("stories").splitlines()) == 3
        assert len(news("stories", "--limit", "3").splitlines()) == 4
        assert len(news("stories", "--format", "jsonl").splitlines()) == 4

    @pytest.mark.parametrize(
        "words",
        [
            ["--since", "yesterday"],
            ["--since", "7x"],
            ["--until", "2026-13-01"],
            ["--format", "xml"],
            ["--format", "parquet"],
            ["--source", "nobody"],
            ["--limit", "-1"],
            ["--by", "eaten"],
        ],
    )
    def test_bad_input_gets_one_line(self, run, press, words):
        refused(run, "stories", *words, "--dir", press)


class TestDownloads:
    def test_every_download_with_its_state(self, news):
        found = {row["id"]: row for row in rows_of(news("downloads", "--format", "jsonl"))}
        assert list(found) == [6, 5, 4, 3, 2, 1]
        assert {number: row["state"] for number, row in found.items()} == {
            1: "success",
            2: "error",
            3: "success",
            4: "success",
            5: "error",
            6: "pending",
        }
        assert found[6] == {
            "id": 6,
            "url": STORIES[3],
            "type": "content",
            "state": "pending",
            "error": "http.5xx: status 503: no\x1b[5m luck",
            "retries": 1,
            "not_before": iso_time(NOW + 3_600),
            "priority": 0,
            "host": "example.org",
            "made": iso_time(NOW),
            "ended": None,
            "status": None,
            "feed": FEED,
            "story": 4,
            "content": None,
        }
        assert (found[2]["type"], found[2]["feed"], found[2]["status"]) == ("feed", BLOG, 404)
        assert found[1]["content"]["offset"] == 100
        assert found[5]["not_before"] is None

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["--state", "pending"], [6]),
            (["--state", "fetching"], []),
            (["--state", "error"], [5, 2]),
            (["--type", "feed"], [2, 1]),
            (["--type", "content", "--state", "success"], [4, 3]),
            (["--source", "blog.example"], [2]),
            (["--limit", "1"], [6]),
        ],
    )
    def test_what_is_asked_for_is_what_comes(self, news, words, expected):
        found = rows_of(news("downloads", "--format", "jsonl", *words))
        assert [row["id"] for row in found] == expected

    def test_as_a_table_and_as_csv(self, news):
        assert "no\\x1b[5m luck" in news("downloads")
        table = list(csv.DictReader(io.StringIO(news("downloads", "--format", "csv"), newline="")))
        assert [row["content"] for row in table][-1] == "news.warc.gz 100 90"

    def test_an_unknown_source_is_named(self, run, press):
        assert "nobody" in refused(run, "downloads", "--source", "nobody", "--dir", press)


class TestHealth:
    AT = ("--at", iso_time(NOW + 600))

    def test_why_each_feed_is_quiet(self, news):
        found = json.loads(news("health", "--json", *self.AT))
        why = {
            feed["url"]: feed["why_quiet"]
            for source in found["sources"]
            for feed in source["feeds"]
        }
        assert why == {
            FEED: "not quiet: the last poll found a new story",
            OLD: "disabled because it is\x1b[1m gone; never polled",
            BLOG: "failing with http.4xx: status 404: no\x1b[5m luck (failures: 0.5)",
            NEW: "never polled",
        }

    def test_stories_a_day_and_totals(self, news):
        found = json.loads(news("health", "--json", *self.AT))
        assert found["totals"] == {
            "sources": 3,
            "feeds": 4,
            "feeds_disabled": 1,
            "feeds_failing": 1,
            "stories": 4,
            "downloads_open": 1,
            "extractions_queued": 0,
            "next_poll": iso_time(NOW + 600),
        }
        assert found["sources"][0]["stories_a_day"] == [0] * 13 + [4]
        assert found["sources"][0]["stories"] == 4
        feed = found["sources"][0]["feeds"][0]
        assert feed["last_success"] == iso_time(NOW)
        assert feed["next_poll"] is not None

    def test_for_people_with_a_plot(self, news):
        out = news("health", *self.AT)
        assert "The Example  ▁▁▁▁▁▁▁▁▁▁▁▁▁█  0.3 stories a day, 4 in all" in out
        assert "10 min ago" in out

    def test_of_one_source(self, news, run, press):
        out = news("health", "--source", "blog.example", *self.AT)
        assert BLOG in out
        assert FEED not in out
        assert "nobody" in refused(run, "health", "--source", "nobody", "--dir", press)

    def test_a_terminal_without_bars_gets_letters(self):
        assert plot([0, 4, 8], "utf-8") == "▁▄█"
        assert plot([0, 4, 8], "ascii") == "_:#"
        assert plot([0, 0], "no such encoding") == "__"


class TestShow:
    def test_a_source(self, news):
        out = news("show", "The Example")
        assert FEED in out
        assert "4 in all" in out
        (found,) = json.loads(news("show", "The Example", "--json"))["sources"]
        assert [feed["url"] for feed in found["feeds"]] == [FEED, OLD]

    @pytest.mark.parametrize("typed", [BLOG, "HTTPS://Blog.Example/atom"])
    def test_a_feed_with_its_downloads(self, news, typed):
        assert "no\\x1b[5m luck" in news("show", typed)
        (found,) = json.loads(news("show", typed, "--json"))["feeds"]
        assert found["failures"] == 0.5
        assert [row["state"] for row in found["downloads"]] == ["error"]

    @pytest.mark.parametrize("typed", ["1", STORIES[0]])
    def test_a_story_with_its_text(self, news, typed):
        out = news("show", typed)
        assert "The bridge\\x1b[2J is open.\n\n=SUM" in out
        (found,) = json.loads(news("show", typed, "--json"))["stories"]
        assert (found["story_id"], found["text"]) == (1, TEXT)
        assert [row["id"] for row in found["downloads"]] == [3]

    @pytest.mark.parametrize(
        "typed",
        ["99", "0", "9" * 30, "nobody", "https://example.org/unknown", FEED + "x", "ftp://x"],
    )
    def test_what_is_not_known_is_named(self, run, press, typed):
        assert typed in refused(run, "show", typed, "--dir", press)


class TestExport:
    def test_opml_is_read_again(self, news):
        from gossamer.parse.opml import read_opml

        found = read_opml(news("export").encode())
        assert [each.feed_url for each in found] == [FEED, OLD, BLOG, NEW]
        assert found[0].category == "The Example"
        assert found[0].home == "https://example.org/"

    def test_csv_and_text(self, news, tmp_path):
        rows = list(csv.DictReader(io.StringIO(news("export", "--format", "csv"), newline="")))
        assert [row["source"] for row in rows][:2] == ["The Example", "The Example"]
        path = tmp_path / "feeds.txt"
        assert news("export", "--format", "text", "-o", path) == ""
        assert path.read_text().split() == [FEED, OLD, BLOG, NEW]


def in_ascii(folder: Path, *words: str) -> bytes:
    """Run a command whose standard output can hold ASCII only."""
    return subprocess.run(
        [sys.executable, "-m", "gossamer.cli", "news", *words, "--dir", str(folder)],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=True,
    ).stdout


def test_letters_that_a_terminal_lacks_are_escaped_and_json_stays_whole(tmp_path):
    with open_catalog(tmp_path) as catalog:
        source = catalog.add_source("Zürich", "", NOW)
        catalog.add_feed(source, FEED, NOW, title="漢字")
    shown = in_ascii(tmp_path, "list").decode("ascii")
    assert "Z\\xfcrich" in shown
    assert "\\u6f22\\u5b57" in shown
    assert "Z\\xfcrich  ______________" in in_ascii(tmp_path, "health").decode("ascii")
    for words in (["list", "--json"], ["health", "--json"], ["show", "Zürich", "--json"]):
        (found,) = json.loads(in_ascii(tmp_path, *words))["sources"]
        assert (found["source"], found["feeds"][0]["title"]) == ("Zürich", "漢字")


def test_whoever_stops_reading_early_is_not_complained_to(press):
    words = [sys.executable, "-m", "gossamer.cli", "news", "stories", "--format", "jsonl"]
    # Nobody reads from the very beginning: who stops in time would depend on who is faster.
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [*words, "--dir", str(press)], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    "command",
    ["list", "stories", "downloads", "health", "export", "show x", "enable x", "remove x"],
)
def test_without_a_workspace_it_says_how_to_make_one(run, tmp_path, command):
    code, out, err = run("news", *command.split(), "--dir", tmp_path / "none")
    assert (code, out) == (3, "")
    assert "gossamer news add" in err
    assert list(tmp_path.iterdir()) == []
