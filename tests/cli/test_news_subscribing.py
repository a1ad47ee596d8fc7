"""`gossamer news add`, `import`, `enable`, `disable`, `remove`: what is subscribed to."""

import json
import multiprocessing
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from news_samples import NOW, open_catalog

FEED = "https://news.example/feed.xml"


@pytest.fixture
def press(tmp_path) -> Path:
    return tmp_path / "w"


@pytest.fixture
def sources(run, press):
    """Return sources and feeds as `news list` tells them."""

    def listed() -> dict[str, list[dict]]:
        found = json.loads(run("news", "list", "--json", "--dir", press)[1])["sources"]
        return {source["source"]: source["feeds"] for source in found}

    return listed


def urls(feeds: list[dict]) -> list[str]:
    return [feed["url"] for feed in feeds]


class TestAddUnchecked:
    def test_a_feed_is_entered_under_the_domain_of_its_site(self, run, press, sources):
        code, out, err = run("news", "add", FEED, "www.other.example", "--no-check", "--dir", press)
        assert (code, err) == (0, "")
        assert out.splitlines() == [
            f"added  {FEED}  (news.example)",
            "added  http://www.other.example/  (other.example)",
        ]
        assert {name: urls(feeds) for name, feeds in sources().items()} == {
            "news.example": [FEED],
            "other.example": ["http://www.other.example/"],
        }
        assert sources()["news.example"][0]["next_poll"] is not None

    def test_a_port_of_its_own_is_a_source_of_its_own(self, run, press, sources):
        feeds = ["http://127.0.0.1:81/a", "http://127.0.0.1:82/a", "http://[::1]:83/a"]
        assert run("news", "add", *feeds, "--no-check", "--dir", press)[0] == 0
        assert list(sources()) == ["127.0.0.1:81", "127.0.0.1:82", "[::1]:83"]

    def test_what_is_there_already_is_told(self, run, press, sources):
        words = ("news", "add", FEED, "--source", " My \n paper ", "--no-check", "--dir", press)
        assert run(*words)[1].startswith("added")
        assert run(*words)[1] == f"known already  {FEED}  (My paper)\n"
        assert urls(sources()["My paper"]) == [FEED]

    def test_what_is_disabled_is_told_and_stays_so(self, run, press, sources):
        words = ("news", "add", FEED, "--source", "My paper", "--no-check", "--dir", press)
        run(*words)
        run("news", "disable", FEED, "--why", "sports only", "--dir", press)
        code, out, err = run(*words)
        assert (code, out) == (0, f"known already  {FEED}  (My paper)\n")
        assert err == (
            f"gossamer: {FEED} is disabled because sports only; to have it polled: "
            f"gossamer news enable {FEED} --dir {press}\n"
        )
        assert not sources()["My paper"][0]["enabled"]

    def test_a_feed_of_a_disabled_source_is_told_when_it_is_added_or_enabled(self, run, press):
        words = ("news", "add", FEED, "--source", "My paper", "--no-check", "--dir", press)
        run(*words)
        run("news", "disable", "My paper", "--dir", press)
        advice = f"gossamer news enable 'My paper' --dir {press}\n"
        for command in (words, ("news", "enable", FEED, "--dir", press)):
            err = run(*command)[2]
            assert "is disabled because its source My paper is; to have it polled" in err
            assert err.endswith(advice)
        assert run("news", "enable", "My paper", "--dir", press)[2] == ""
        assert run(*words)[2] == ""

    def test_stories_may_be_fetched_later(self, run, press):
        run("news", "add", FEED, "--no-check", "--dir", press)
        words = ("--no-check", "--delay-content", "1.5", "--dir", press)
        assert run("news", "add", FEED, *words)[0] == 0
        (source,) = json.loads(run("news", "list", "--json", "--dir", press)[1])["sources"]
        assert source["content_delay_seconds"] == 5_400

    @pytest.mark.parametrize(
        "words",
        [
            ["ftp://x.example/"],
            [FEED, "http://"],
            ["https://me:secret@news.example/"],
            [FEED, "--delay-content", "-1"],
            [FEED, "--delay-content", "nan"],
            [],
        ],
    )
    def test_bad_input_gets_one_line_and_leaves_nothing(self, run, press, words):
        code, out, err = run("news", "add", *words, "--no-check", "--dir", press)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "secret" not in err
        assert not press.exists()


class TestImport:
    def write(self, folder: Path, name: str, content: str | bytes) -> Path:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def test_a_list_of_urls_with_bad_lines(self, run, press, tmp_path, sources):
        content = (
            f"# feeds\n\n{FEED}\nftp://x\x1b.example/\n{FEED}\nhttps://b.example/rss\n".encode()
        )
        path = self.write(tmp_path, "feeds.txt", content + b"http://\xff.example/\n")
        code, out, err = run("news", "import", path, "--dir", press)
        assert code == 1
        assert out.startswith("2 new of 3 feeds")
        assert [line.split(", ")[1].split(":")[0] for line in err.splitlines()] == [
            "line 4",
            "line 7",
        ]
        assert "\x1b" not in err
        assert list(sources()) == ["b.example", "news.example"]

    def test_a_table(self, run, press, tmp_path, sources):
        table = f'url,source,title,home\n{FEED},"Paper, The",News,https://news.example/\n,x,,\n'
        code, _, err = run("news", "import", self.write(tmp_path, "f.csv", table), "--dir", press)
        assert code == 1
        assert "line 3: no URL" in err
        (feed,) = sources()["Paper, The"]
        assert (feed["url"], feed["title"]) == (FEED, "News")

    def test_opml_whose_folders_are_topics_unless_told_otherwise(
        self, run, press, tmp_path, sources
    ):
        opml = (
            '<opml version="2.0"><body><outline text="Politics">'
            f'<outline type="rss" text="A" xmlUrl="{FEED}" htmlUrl="https://paper.example/"/>'
            '<outline type="rss" text="B" xmlUrl="https://b.example/rss"/>'
            "</outline></body></opml>"
        )
        path = self.write(tmp_path, "feeds.opml", opml)
        assert run("news", "import", path, "--dir", press)[0] == 0
        assert list(sources()) == ["b.example", "paper.example"]
        other = tmp_path / "other"
        assert run("news", "import", path, "--folders", "--dir", other)[0] == 0
        listed = json.loads(run("news", "list", "--json", "--dir", other)[1])["sources"]
        assert [source["source"] for source in listed] == ["Politics"]

    @pytest.mark.parametrize("form", ["opml", "csv"])
    def test_what_was_exported_comes_back(self, run, press, tmp_path, form):
        named = [("=Paper & <Co>", FEED), ("B", "https://b.example/rss?a=1&b=%22")]
        with open_catalog(press) as catalog:
            for name, url in named:
                catalog.add_feed(catalog.add_source(name, "", NOW), url, NOW, title="-T")
        path = tmp_path / f"list.{form}"
        assert run("news", "export", "--format", form, "-o", path, "--dir", press)[0] == 0
        copy = tmp_path / "copy"
        assert run("news", "import", path, "--folders", "--dir", copy)[0] == 0
        found = json.loads(run("news", "list", "--json", "--dir", copy)[1])["sources"]
        assert [
            (source["source"], feed["url"], feed["title"])
            for source in found
            for feed in source["feeds"]
        ] == [(name, url, "-T") for name, url in named]

    def test_a_pipe(self, press):
        done = subprocess.run(
            [sys.executable, "-m", "gossamer.cli", "news", "import", "-", "--dir", str(press)],
            input=f"{FEED}\n".encode(),
            capture_output=True,
            check=True,
        )
        assert done.stdout.startswith(b"1 new of 1 feed;")

    @pytest.mark.parametrize("content", ["", "# nothing\n", "ftp://x/\n", "<opml/>", "url\n"])
    def test_a_list_without_a_feed_is_refused(self, run, press, tmp_path, content):
        path = self.write(tmp_path, "list", content)
        code, out, err = run("news", "import", path, "--dir", press)
        assert (code, out) == (2, "")
        assert err.splitlines()[-1].endswith("names no feed that could be used")
        assert not press.exists()

    def test_many_bad_lines_are_counted(self, run, press, tmp_path):
        path = self.write(tmp_path, "feeds.txt", f"{FEED}\n" + "ftp://x/\n" * 60)
        code, _, err = run("news", "import", path, "--dir", press)
        assert code == 1
        assert len(err.splitlines()) == 51
        assert "10 more bad lines" in err

    def test_a_file_that_is_not_there(self, run, press, tmp_path):
        code, _, err = run("news", "import", tmp_path / "none.txt", "--dir", press)
        assert code == 2
        assert "none.txt" in err


class TestSwitch:
    OTHER = "https://news.example/other.xml"

    @pytest.fixture(autouse=True)
    def subscribed(self, run, press):
        run("news", "add", FEED, self.OTHER, "--no-check", "--dir", press)

    def enabled(self, sources) -> dict[str, bool]:
        return {feed["url"]: feed["enabled"] for feed in sources()["news.example"]}

    def test_a_feed(self, run, press, sources):
        assert run("news", "disable", FEED, "--why", "dull", "--dir", press)[0] == 0
        assert self.enabled(sources) == {FEED: False, self.OTHER: True}
        assert sources()["news.example"][0]["why_disabled"] == "dull"
        assert sources()["news.example"][0]["next_poll"] is None
        assert run("news", "enable", FEED, "--dir", press)[1] == f"enabled {FEED}\n"
        assert self.enabled(sources) == {FEED: True, self.OTHER: True}
        assert sources()["news.example"][0]["next_poll"] is not None

    def test_a_source_with_all_its_feeds(self, run, press, sources):
        run("news", "disable", FEED, "--dir", press)
        assert run("news", "disable", "news.example", "--dir", press)[0] == 0
        assert self.enabled(sources) == {FEED: False, self.OTHER: False}
        assert run("news", "enable", "news.example", "--dir", press)[0] == 0
        assert self.enabled(sources) == {FEED: True, self.OTHER: True}
        assert all(feed["next_poll"] for feed in sources()["news.example"])

    def test_removal(self, run, press, sources):
        assert run("news", "remove", FEED, "--dir", press)[1] == f"removed {FEED}\n"
        assert urls(sources()["news.example"]) == [self.OTHER]
        assert run("news", "remove", "news.example", "--dir", press)[0] == 0
        assert sources() == {}

    def test_one_unknown_name_and_nothing_is_changed(self, run, press, sources):
        code, out, err = run("news", "disable", FEED, "nobody\x1b", "--dir", press)
        assert (code, out) == (2, "")
        assert "nobody\\x1b" in err
        assert self.enabled(sources) == {FEED: True, self.OTHER: True}


class TestBesideAnEngine:
    def test_writing_and_reading_go_on_while_another_writes(self, run, press):
        """The engine shares the catalog: its transactions and ours take turns."""
        run("news", "add", FEED, "--no-check", "--dir", press)
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        engine = context.Process(target=keep_writing, args=(press, stop))
        engine.start()
        try:
            wait_for(press, "engine-0.example")
            for number in range(5):
                url = f"https://site-{number}.example/rss"
                assert run("news", "add", url, "--no-check", "--dir", press)[0] == 0
                assert run("news", "health", "--dir", press)[0] == 0
        finally:
            stop.set()
            engine.join(30)
        assert engine.exitcode == 0
        with open_catalog(press) as catalog:
            assert catalog.check() == []
        listed = json.loads(run("news", "list", "--json", "--dir", press)[1])["sources"]
        names = {source["source"] for source in listed}
        assert names >= {f"site-{number}.example" for number in range(5)} | {"engine-0.example"}

    def test_a_crawl_is_not_disturbed(self, run, press):
        from gossamer.clock import SystemClock
        from gossamer.crawl.workspace import Workspace

        run("news", "add", FEED, "--no-check", "--dir", press)
        workspace = Workspace(press)
        workspace.lock(SystemClock(), "crawl")
        try:
            code, _, err = run("news", "add", FEED, "--no-check", "--dir", press)
            assert code == 3
            assert "in use" in err
            assert run("news", "list", "--dir", press)[0] == 0
        finally:
            workspace.unlock()


def keep_writing(folder: Path, stop) -> None:
    """Stand in for an engine: one transaction after the other."""
    with open_catalog(folder) as catalog:
        number = 0
        while not stop.is_set():
            source = catalog.add_source(f"engine-{number}.example", "", NOW)
            catalog.add_feed(source, f"https://engine-{number}.example/rss", NOW)
            number += 1


def wait_for(folder: Path, name: str) -> None:
    """Wait until a source is there."""
    give_up = time.monotonic() + 60
    with sqlite3.connect(folder / "catalog.db") as connection:
        while not connection.execute("SELECT 1 FROM source WHERE name = ?", (name,)).fetchone():
            assert time.monotonic() < give_up
            time.sleep(0.05)
    connection.close()
