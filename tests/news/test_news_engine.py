"""The engine of news, run as people run it, judged by what the publisher was asked for."""

import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from press import Press, Request, press

T = 1_900_000_000
MINUTE, HOUR = 60, 3_600
ONCE = ("--once", "--allow-private", "--delay", "0", "--quiet", "--no-extract")
FAST = ("--set", "news.throttle_seconds=0.05", "--set", "news.per_site=50")
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


class Desk:
    """A workspace, and the commands on it."""

    def __init__(self, gossamer: Command, directory: Path) -> None:
        self._gossamer = gossamer
        self.directory = directory

    def subscribe(self, *urls: str, source: str = "Loop") -> None:
        self("add", "--no-check", "--source", source, *urls)

    def __call__(self, *arguments: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        name, *rest = arguments
        return self._gossamer("news", name, *rest, "--dir", self.directory, **more)

    def run(self, at: float = T, *more: str) -> None:
        self("run", *ONCE, *FAST, "--at", str(at), *more)

    def downloads(self) -> list[dict[str, Any]]:
        lines = self("downloads", "--format", "jsonl").stdout.splitlines()
        return sorted((json.loads(line) for line in lines), key=lambda row: row["id"])

    def kept(self) -> list[str]:
        """Return what is kept of each download of a feed: `archived`, or a text in its place."""
        contents = [row["content"] for row in self.downloads() if row["type"] == "feed"]
        return [content if isinstance(content, str) else "archived" for content in contents]

    def contents(self) -> dict[str, dict[str, Any]]:
        return {row["url"]: row for row in self.downloads() if row["type"] == "content"}

    def stories(self) -> list[dict[str, Any]]:
        lines = self("stories", "--format", "jsonl").stdout.splitlines()
        return [json.loads(line) for line in lines]

    def archived(self) -> Counter[str]:
        """Return how often each URL has a response with a body in the archive."""
        seen: Counter[str] = Counter()
        for file in sorted((self.directory / "archive").glob("*.warc.gz")):
            with file.open("rb") as stream:
                for record in ArchiveIterator(stream):
                    if record.rec_type == "response":
                        seen[record.rec_headers.get_header("WARC-Target-URI")] += 1
        return seen


@pytest.fixture
def desk(gossamer: Command, tmp_path: Path) -> Desk:
    return Desk(gossamer, tmp_path / "press")


@pytest.mark.req("S4.1", "S4.3", "S4.22", "S4.27", "S4.28", "S4.29", "S4.32")
def test_one_round_downloads_feeds_and_all_their_stories_once(desk: Desk, paper: Press) -> None:
    for number in range(12):
        paper.story(f"/story/{number}", f"Story {number}")
    paper.feed("/one", [{"link": f"/story/{n}", "title": f"Story {n}"} for n in range(8)])
    paper.feed("/two", [{"link": f"/story/{n}", "title": f"Story {n}"} for n in range(4, 12)])
    desk.subscribe(paper.url("/one"), paper.url("/two"))
    desk.run()
    assert Counter(request.path for request in paper.log) == Counter(
        ["/robots.txt", "/one", "/two", *(f"/story/{n}" for n in range(12))]
    )
    assert sorted(story["url"] for story in desk.stories()) == sorted(
        paper.url(f"/story/{n}") for n in range(12)
    )
    assert {row["state"] for row in desk.downloads()} == {"success"}
    archived = desk.archived()
    assert all(archived[paper.url(f"/story/{n}")] == 1 for n in range(12))
    assert archived[paper.url("/one")] == 1


@pytest.mark.req("S4.2", "S4.8", "S4.9", "S4.10", "S4.11", "S4.12", "S4.13")
def test_the_engine_shares_the_work_among_the_processes_it_was_told_to_have(
    desk: Desk, paper: Press
) -> None:
    at_once: list[int] = []
    busy: set[str] = set()

    def slow(request: Request) -> tuple[int, dict[str, str], bytes]:
        name = request.headers["host"] + request.path
        busy.add(name)
        at_once.append(len(busy))
        time.sleep(0.05)
        busy.discard(name)
        return 200, {"Content-Type": "text/html"}, request.path.encode() * 100

    with press("127.0.0.2") as second, press("127.0.0.3") as third:
        papers = (paper, second, third)
        for each in papers:
            items = [{"link": f"/{n}", "title": f"{each.root} {n}"} for n in range(20)]
            each.feed("/feed", items)
            each.routes.update({f"/{n}": slow for n in range(20)})
            desk.subscribe(each.url("/feed"), source=each.root)
        # Four of each site in one provision: the provider is called again and again.
        few = ("--set", "news.per_site=4", "--set", "urlserver.host_concurrent=1")
        desk.run(T, "--workers", "3", "--concurrency", "3", *few)
        archives = list((desk.directory / "archive").glob("*.warc.gz"))
        workers = {file.name.rsplit("-", 1)[0] for file in archives}
        assert len(workers) == 3, archives
        # As many at once as there are processes, and each URL went to one of them.
        assert max(at_once) == 3
        for each in papers:
            assert all(each.asked(f"/{n}") == 1 for n in range(20))


@pytest.mark.req("S4.17", "S4.18", "S4.19")
def test_polls_follow_the_table(desk: Desk, paper: Press) -> None:
    paper.story("/a", "A")
    paper.feed("/feed", [{"link": "/a", "title": "A"}])
    desk.subscribe(paper.url("/feed"))
    polled = []
    # Before and after it is due, well apart: what counts is the poll before, not its run.
    for minute in (0, 4, 7, 18, 21, 46, 49, 102, 105):
        before = paper.asked("/feed")
        desk.run(T + minute * MINUTE)
        if paper.asked("/feed") > before:
            polled.append(minute)
    assert polled == [0, 7, 21, 49, 105]
    paper.story("/b", "B")
    paper.feed("/feed", [{"link": "/b", "title": "B"}, {"link": "/a", "title": "A"}])
    desk.run(T + 217 * MINUTE)
    assert paper.asked("/b") == 1
    desk.run(T + 224 * MINUTE)
    assert paper.asked("/feed") == 7


@pytest.mark.req("S4.34", "S4.35")
def test_a_redundant_feed_is_not_stored_again(desk: Desk, paper: Press) -> None:
    paper.story("/a", "A")
    paper.feed("/feed", [{"link": "/a", "title": "A"}], lastBuildDate="today")
    desk.subscribe(paper.url("/feed"))
    desk.run(T)
    assert desk.archived()[paper.url("/feed")] == 1
    paper.feed("/feed", [{"link": "/a", "title": "A again"}], lastBuildDate="tomorrow")
    desk.run(T + 6 * MINUTE)
    assert desk.kept() == ["archived", "(redundant feed)"]
    assert desk.archived()[paper.url("/feed")] == 1
    assert len(desk.stories()) == 1


def test_an_unchanged_feed_is_asked_for_conditionally(desk: Desk, paper: Press) -> None:
    paper.story("/a", "A")
    paper.feed("/feed", [{"link": "/a", "title": "A"}])
    status, headers, body = paper.routes["/feed"]  # type: ignore[misc]

    def validated(request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.headers.get("if-none-match") == '"1"':
            return 304, {"ETag": '"1"'}, b""
        return status, {**headers, "ETag": '"1"'}, body

    paper.routes["/feed"] = validated
    desk.subscribe(paper.url("/feed"))
    # Each well after the feed is due, which counts from the poll before, not from its run.
    for minute in (0, 10, 40):
        desk.run(T + minute * MINUTE)
    polls = [request for request in paper.log if request.path == "/feed"]
    assert [poll.headers.get("if-none-match") for poll in polls] == [None, '"1"', '"1"']
    assert desk.kept() == ["archived", "(redundant feed)", "(redundant feed)"]


@pytest.mark.req("S4.23")
def test_meta_refresh_is_followed(desk: Desk, paper: Press) -> None:
    page = b'<html><head><meta http-equiv="refresh" content="0; url=/there"></head></html>'
    paper.routes["/a"] = (200, {"Content-Type": "text/html"}, page)
    paper.story("/there", "The story itself")
    paper.feed("/feed", [{"link": "/a", "title": "A"}])
    desk.subscribe(paper.url("/feed"))
    desk.run()
    assert (paper.asked("/a"), paper.asked("/there")) == (1, 1)
    assert desk.contents()[paper.url("/a")]["state"] == "success"
    (story,) = desk.stories()
    assert story["url"] == paper.url("/a")


@pytest.mark.req("S4.24")
def test_a_domain_with_credentials_gets_them_and_no_other(desk: Desk, paper: Press) -> None:
    wanted = f"Basic {b64encode(b'me:secret').decode()}"

    def guarded(request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.headers.get("authorization") != wanted:
            return 401, {"WWW-Authenticate": 'Basic realm="x"'}, b"who are you?"
        return 200, {"Content-Type": "text/html"}, b"<p>for readers only"

    paper.routes["/a"] = guarded
    with press("127.0.0.2") as other:
        other.routes["/a"] = guarded
        paper.feed("/feed", [{"link": "/a"}, {"link": other.url("/a")}])
        desk.subscribe(paper.url("/feed"))
        desk.run(T, "--set", 'spider.credentials={"127.0.0.1" = "me:secret"}')
        contents = desk.contents()
        assert contents[paper.url("/a")]["state"] == "success"
        assert contents[other.url("/a")]["state"] == "error"
        assert all("authorization" not in request.headers for request in other.log)
    files = list((desk.directory / "archive").glob("*.warc.gz"))
    raw = b"".join(gzip.decompress(file.read_bytes()) for file in files)
    assert b"for readers only" in raw
    assert wanted.encode() not in raw


@pytest.mark.req("S4.25", "S4.37", "S4.39", "S4.40")
def test_the_fetcher_tries_nothing_again_but_the_handler_queues_busy_ones(
    desk: Desk, paper: Press
) -> None:
    busy: dict[str, int] = {"/busy": 503, "/broken": 500, "/gone": 404, "/many": 429}
    for path, status in busy.items():
        paper.routes[path] = (status, {}, b"")
    paper.feed("/feed", [{"link": path} for path in busy])
    desk.subscribe(paper.url("/feed"))
    desk.run(T)
    assert {path: paper.asked(path) for path in busy} == dict.fromkeys(busy, 1)
    contents = desk.contents()
    states = {path: contents[paper.url(path)]["state"] for path in busy}
    assert states == {"/busy": "pending", "/broken": "error", "/gone": "error", "/many": "error"}
    waiting = contents[paper.url("/busy")]
    assert waiting["retries"] == 1
    assert waiting["not_before"].startswith("2030-03-17T18:46:4")
    desk.run(T + HOUR - MINUTE)
    assert paper.asked("/busy") == 1
    paper.story("/busy", "Not busy any more")
    desk.run(T + HOUR + MINUTE)
    assert paper.asked("/busy") == 2
    assert desk.contents()[paper.url("/busy")]["state"] == "success"


@pytest.mark.parametrize("status", [503, 429])
def test_a_feed_that_says_tomorrow_is_asked_tomorrow_and_its_host_before(
    desk: Desk, paper: Press, status: int
) -> None:
    paper.story("/a", "A")
    paper.feed("/feed", [{"link": "/a", "title": "A"}])
    desk.subscribe(paper.url("/feed"))
    desk.run(T)
    paper.routes["/feed"] = (status, {"Retry-After": str(23 * HOUR)}, b"")
    desk.run(T + 7 * MINUTE)
    assert paper.asked("/feed") == 2
    paper.story("/b", "B")
    paper.feed("/other", [{"link": "/b", "title": "B"}])
    desk.subscribe(paper.url("/other"))
    desk.run(T + 2 * HOUR)
    desk.run(T + 22 * HOUR)
    assert (paper.asked("/feed"), paper.asked("/b")) == (2, 1)
    desk.run(T + 24 * HOUR)
    assert paper.asked("/feed") == 3


def test_a_round_ends_though_a_host_is_held_and_more_is_due_there(desk: Desk, paper: Press) -> None:
    busy = [f"/{number}" for number in range(9)]
    paper.routes.update({path: (429, {"Retry-After": "9000"}, b"") for path in busy})
    desk.subscribe(*map(paper.url, busy))
    few = ("--set", "news.per_site=3", "--set", "urlserver.host_concurrent=1")
    desk("run", *ONCE, *few, "--at", str(T), timeout=60)
    assert sum(map(paper.asked, busy)) == 1


def test_robots_txt_is_obeyed_for_stories(desk: Desk, paper: Press) -> None:
    paper.routes["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /private\n")
    paper.story("/open", "Open")
    paper.feed("/feed", [{"link": "/private/a"}, {"link": "/open"}])
    desk.subscribe(paper.url("/feed"))
    desk.run()
    assert paper.asked("/private/a") == 0
    contents = desk.contents()
    assert contents[paper.url("/private/a")]["state"] == "error"
    assert "robots" in contents[paper.url("/private/a")]["error"]
    assert contents[paper.url("/open")]["state"] == "success"


def test_private_addresses_are_not_reached_unless_allowed(desk: Desk, paper: Press) -> None:
    paper.feed("/feed", [{"link": "/a"}])
    desk.subscribe(paper.url("/feed"))
    desk("run", "--once", "--quiet", "--no-extract", "--at", str(T))
    assert paper.log == []
    (row,) = desk.downloads()
    assert row["state"] == "error"
    assert "private" in row["error"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", b"<html><title>no feed</title>"),
        ("application/rss+xml", b""),
        ("application/rss+xml", b"\x00\x01\x02"),
        ("application/json", b'{"version": 1'),
    ],
)
def test_what_is_no_feed_is_a_feed_error(desk: Desk, paper: Press, kind: str, body: bytes) -> None:
    paper.routes["/feed"] = (200, {"Content-Type": kind}, body)
    desk.subscribe(paper.url("/feed"))
    desk.run()
    assert [row["state"] for row in desk.downloads()] == ["feed_error"]


def test_a_film_is_noted_but_not_stored(desk: Desk, paper: Press) -> None:
    paper.routes["/film"] = (200, {"Content-Type": "video/mp4"}, b"\x00\x00\x00\x18ftypmp42" * 50)
    paper.feed("/feed", [{"link": "/film"}])
    desk.subscribe(paper.url("/feed"))
    desk.run()
    row = desk.contents()[paper.url("/film")]
    assert (row["state"], row["content"]) == ("success", "(unsupported content type)")
    assert desk.archived()[paper.url("/film")] == 0


def test_a_large_feed_of_one_guid_or_of_changing_guids_makes_each_story_once(
    desk: Desk, paper: Press
) -> None:
    def items(guid: Callable[[int], str]) -> list[dict[str, Any]]:
        return [{"link": f"/{n}", "guid": guid(n)} for n in range(40)]

    paper.feed("/same", items(lambda _: "the only guid"))
    desk.subscribe(paper.url("/same"))
    desk.run(T)
    assert len(desk.stories()) == 40
    paper.feed("/same", [*items(lambda n: f"fresh {n}"), {"link": "/new", "guid": "fresh"}])
    desk.run(T + 6 * MINUTE)
    assert len(desk.stories()) == 41


def running(desk: Desk, *more: str) -> "subprocess.Popen[bytes]":
    """Start the engine in a process group of its own."""
    command = [sys.executable, "-m", "gossamer.cli", "news", "run"]
    flags = ["--allow-private", "--delay", "0", "--quiet", "--no-extract", *FAST]
    return subprocess.Popen(
        [*command, *flags, "--dir", str(desk.directory), *more], start_new_session=True
    )


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def busy_or_over(engine: "subprocess.Popen[bytes]", paper: Press) -> None:
    """Wait until an engine has asked for something, or has ended."""
    asked = len(paper.log)
    until(lambda: len(paper.log) > asked or engine.poll() is not None)


def test_the_running_engine_notices_new_feeds_and_stops_cleanly(desk: Desk, paper: Press) -> None:
    paper.feed("/one", [{"link": "/a"}])
    paper.feed("/two", [{"link": "/b"}])
    desk.subscribe(paper.url("/one"))
    engine = running(desk)
    try:
        until(lambda: paper.asked("/a") == 1)
        desk.subscribe(paper.url("/two"), source="Later")
        until(lambda: paper.asked("/b") == 1)
        engine.send_signal(signal.SIGTERM)
        assert engine.wait(120) == 143
    finally:
        if engine.poll() is None:
            os.killpg(engine.pid, signal.SIGKILL)
            engine.wait()
    assert {row["state"] for row in desk.downloads()} <= {"success", "error"}


def test_a_second_engine_is_refused_and_told_why(desk: Desk, paper: Press) -> None:
    paper.feed("/one", [{"link": "/a"}])
    desk.subscribe(paper.url("/one"))
    engine = running(desk)
    try:
        until(lambda: paper.asked("/a") == 1)
        refused = desk("run", "--once", check=3)
        assert "in use by process" in refused.stderr
        assert "news" in refused.stderr
    finally:
        os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()


@pytest.mark.slow
def test_no_story_is_lost_or_doubled_over_a_hundred_kills(desk: Desk, paper: Press) -> None:
    """Kill the whole tree at random moments while feeds change; then let it finish."""
    chance = random.Random(7)
    published: list[str] = []
    feeds = [f"/feed/{number}" for number in range(10)]

    def publish() -> None:
        for number, feed in enumerate(feeds):
            if chance.random() < 0.3:
                path = f"/story/{number}/{len(published)}"
                paper.story(path, f"Story {path}")
                published.append(path)
            listed = [path for path in published if path.startswith(f"/story/{number}/")]
            paper.feed(feed, [{"link": path, "title": path} for path in reversed(listed)])

    publish()
    desk.subscribe(*(paper.url(feed) for feed in feeds))
    at, killed = float(T), 0
    while killed < 100:
        engine = running(desk, "--once", "--at", str(at), "--workers", "1")
        busy_or_over(engine, paper)
        time.sleep(chance.uniform(0.0, 0.15))
        killed += engine.poll() is None
        with suppress(ProcessLookupError):  # it may have finished by itself
            os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()
        publish()
        at += chance.choice([0, 301, 301])
    at += 8 * 24 * HOUR
    desk.run(at)
    desk.run(at + 6 * HOUR)
    stories = Counter(story["url"] for story in desk.stories())
    assert len(published) > 200
    assert stories == Counter(paper.url(path) for path in published)
    contents = [row for row in desk.downloads() if row["type"] == "content"]
    assert len(contents) == len(published)
    assert {row["state"] for row in contents} == {"success"}
    with sqlite3.connect(desk.directory / "catalog.db") as catalog:
        assert catalog.execute("PRAGMA integrity_check").fetchone() == ("ok",)
