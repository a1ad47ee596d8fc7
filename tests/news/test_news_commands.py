"""Commands of news against a publisher on loopback: feeds are found, polled and read."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from press import Press, press

QUICK = ("--allow-private", "--quiet", "--set", "urlserver.host_per_second=200")


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        link = b'<link rel="alternate" type="application/rss+xml" href="%s">'
        page = link % b"/news.rss" + link % b"/broken.rss"
        served.routes["/"] = (200, {"Content-Type": "text/html"}, page)
        items = [{"link": f"/story-{number}", "title": f"Story {number}"} for number in range(3)]
        served.feed("/news.rss", items, title="The \x9bDaily Loop")
        served.routes["/broken.rss"] = (200, {"Content-Type": "text/xml"}, b"<html>no feed</html>")
        for number in range(3):
            served.story(f"/story-{number}", f"Story {number}")
        yield served


def listed(gossamer, folder: Path) -> dict[str, list[str]]:
    found = json.loads(gossamer("news", "list", "--json", "--dir", folder).stdout)["sources"]
    return {source["source"]: [feed["url"] for feed in source["feeds"]] for source in found}


def test_the_feeds_of_a_site_are_found_and_told(gossamer, paper, tmp_path):
    done = gossamer("news", "add", paper.url("/"), *QUICK, "--dir", "w")
    feed, name = paper.url("/news.rss"), paper.root.removeprefix("http://")
    assert done.stdout == f"added  {feed}  rss2  ({name})  The \\x9bDaily Loop\n"
    assert listed(gossamer, tmp_path / "w") == {name: [feed]}


def test_a_feed_is_its_own_answer_and_gets_the_name_it_is_given(gossamer, paper, tmp_path):
    words = (paper.url("/news.rss"), "--source", "Loop", *QUICK, "--dir", "w")
    assert gossamer("news", "add", *words).stdout.startswith("added")
    assert listed(gossamer, tmp_path / "w") == {"Loop": [paper.url("/news.rss")]}


def test_where_no_feed_is_the_exit_code_says_so(gossamer, paper, tmp_path):
    paper.routes.clear()
    done = gossamer("news", "add", paper.url("/"), *QUICK, "--dir", "w", check=1)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"no feed found at {paper.url('/')} (http.4xx: status 404); " in done.stderr
    assert not (tmp_path / "w").exists()


def test_why_a_page_could_not_be_looked_at_is_told(gossamer, paper):
    """Else nobody would look for the reason in robots.txt."""
    forbidding = b"User-agent: *\nDisallow: /news"
    paper.routes["/robots.txt"] = (200, {"Content-Type": "text/plain"}, forbidding)
    done = gossamer("news", "add", paper.url("/news.rss"), *QUICK, "--dir", "w", check=1)
    assert f"no feed found at {paper.url('/news.rss')} (policy.robots: " in done.stderr


def test_an_import_may_be_checked(gossamer, paper, tmp_path):
    path = tmp_path / "feeds.txt"
    path.write_text(f"{paper.url('/news.rss')}\n{paper.url('/broken.rss')}\n")
    done = gossamer("news", "import", path, "--check", *QUICK, "--dir", "w", check=1)
    assert "feeds.txt, line 2: no feed found at" in done.stderr
    assert list(listed(gossamer, tmp_path / "w").values()) == [[paper.url("/news.rss")]]


def test_from_a_site_to_its_stories(gossamer, paper, tmp_path):
    """The whole way: found, polled, fetched, extracted, and read back from the archive."""
    gossamer("news", "add", paper.url("/"), "--source", "Loop", *QUICK, "--dir", "w")
    gossamer("news", "run", "--once", "--delay", "0", *QUICK, "--dir", "w")
    lines = gossamer("news", "stories", "--format", "jsonl", "--dir", "w").stdout.splitlines()
    stories = {story["url"]: story for story in map(json.loads, lines)}
    assert set(stories) == {paper.url(f"/story-{number}") for number in range(3)}
    story = stories[paper.url("/story-1")]
    assert (story["title"], story["extraction"]) == ("Story 1", "done")
    assert "Story 1 5." in story["text"]
    assert story["feeds"] == [paper.url("/news.rss")]
    place = story["content"]
    assert (tmp_path / "w" / "archive" / place["file"]).stat().st_size >= sum(
        (place["offset"], place["length"])
    )
    health = json.loads(gossamer("news", "health", "--json", "--dir", "w").stdout)
    assert health["totals"]["stories"] == 3
    assert health["sources"][0]["feeds"][0]["why_quiet"].startswith("not quiet")
    redone = gossamer("news", "extract", "--redo", "--story", story["story_id"], "--dir", "w")
    assert redone.stdout.startswith("1 extracted, 0 failed")
    gossamer("news", "extract", "--source", "nobody", "--dir", "w", check=2)
    unknown = gossamer("news", "extract", "--redo", "--story", "99", "--dir", "w", check=2)
    assert unknown.stderr == "gossamer: there is no story 99 in w\n"
