"""Polls of many feeds over a simulated week: how many a second, what each costs.

.venv/bin/python bench/news.py [--feeds 100000] [--fresh 10] [--few 2000]

Each host is an address of its own on loopback; nginx answers for all of them. Nine feeds of ten
are files that never change (and are asked for with If-None-Match); the rest have a new story each
time. All feeds are polled once, which is not measured; then each is due at a random moment of a
week, and the clock leaps over the time in which nothing is due. Pages of stories are not fetched.
The same with few feeds shows what it costs to know many.
"""

import argparse
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import queued
import sites

from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.clock import SystemClock
from gossamer.config.load import load
from gossamer.config.settings import Settings
from gossamer.news.run import run_news

WEEK = 604_800.0
START = 1_900_000_000.0
POLLS_OF_A_STEP = 100
FEEDS_OF_A_HOST = 20
FEEDS_OF_A_SOURCE = 100
_ITEMS = "".join(
    f"<item><title>Old story {n} of many</title><link>http://example.org/{n}</link></item>"
    for n in range(20)
)
_FRESH = (
    "<rss version='2.0'><channel><title>$host</title><item><title>$request_id</title>"
    f"<link>http://example.org/$request_id</link></item>{_ITEMS}</channel></rss>"
)
_LOCATIONS = """location /feed/ {{ root {folder}; try_files /feed.xml =404; }}
        location /fresh/ {{ default_type application/rss+xml; return 200 "{fresh}"; }}"""


class LeapingClock(SystemClock):
    """Wall time that somebody else moves; what is measured runs in real time."""

    now = START

    @classmethod
    def time(cls) -> float:
        return cls.now


class LeapingCatalog(NewsCatalog):
    """Leaps to when something is due, and about a hundred feeds more, until the week is over."""

    step_seconds = WEEK

    def next_due_at(self, now: float, held_hosts: Collection[str] = ()) -> float | None:
        due_at = super().next_due_at(now, held_hosts)
        if due_at is None or due_at <= now or due_at > START + WEEK:
            return due_at
        LeapingClock.now = max(due_at, now + self.step_seconds)
        return now


class Week(NamedTuple):
    """What a simulated week took."""

    polls: int
    stories: int
    seconds: float
    cpu_seconds: float
    megabytes: float


def subscribe(workspace: Path, feeds: int, fresh: int, port: int) -> None:
    """Make a workspace with so many feeds."""
    (workspace / "archive").mkdir(parents=True)
    with NewsCatalog.open(workspace / "catalog.db", Settings().catalog) as catalog:
        connection = catalog.database.connection
        # One sync for all of this.
        connection.execute("PRAGMA synchronous = OFF")
        source = 0
        for number in range(feeds):
            if number % FEEDS_OF_A_SOURCE == 0:
                source = catalog.add_source(
                    f"Source {number}", "", START, content_delay_seconds=10 * WEEK
                )
            host = number // FEEDS_OF_A_HOST
            address = f"127.{1 + host // 62_500}.{host // 250 % 250}.{1 + host % 250}"
            kind = "fresh" if number % 100 < fresh else "feed"
            catalog.add_feed(source, f"http://{address}:{port}/{kind}/{number}", START)


def poll_all(workspace: Path, settings: Settings, kind: type[NewsCatalog]) -> Week:
    """Run the engine until nothing more is due."""
    began, before = time.monotonic(), cpu_seconds()
    summary = run_news(
        workspace, settings, once=True, clock=LeapingClock(), extract=False, kind=kind
    )
    return Week(
        summary.brought.polls,
        summary.brought.stories,
        time.monotonic() - began,
        cpu_seconds() - before,
        summary.run.progress.memory_bytes / 1e6,
    )


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the workers that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def spread(workspace: Path) -> None:
    """Let every feed be due at some moment of the week, and only then."""
    chance = random.Random(1)
    with sqlite3.connect(workspace / "catalog.db") as catalog:
        feeds = [row[0] for row in catalog.execute("SELECT feed_id FROM feed")]
        catalog.executemany(
            "UPDATE feed SET due_at = ?, last_new_story_at = ? WHERE feed_id = ?",
            [(START + chance.random() * WEEK, START - 100 * WEEK, feed) for feed in feeds],
        )


def measure(folder: Path, feeds: int, fresh: int, port: int) -> Week:
    """Return what a week with so many feeds takes."""
    workspace = folder / f"news-{feeds}"
    subscribe(workspace, feeds, fresh, port)
    settings = load(
        None,
        {
            "url": {"allow_private": True},
            "urlserver": {"host_per_second": 0.0},
            "spider": {"allowed_ports": []},
            # A feed with a new story would be due again in five minutes, and so no week would end.
            "news": {"throttle_seconds": 0.0, "per_site": 20, "first_delay_seconds": WEEK},
        },
    )
    LeapingClock.now = START
    first = poll_all(workspace, settings, NewsCatalog)
    print(f"{feeds:,} feeds polled for the first time: {first}")
    spread(workspace)
    LeapingCatalog.step_seconds = WEEK * POLLS_OF_A_STEP / feeds
    return poll_all(workspace, settings, LeapingCatalog)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=100_000)
    parser.add_argument("--few", type=int, default=2_000)
    parser.add_argument("--fresh", type=int, default=10, help="per cent with a new story each time")
    arguments = parser.parse_args()
    if not sites.available():
        raise SystemExit("left out: the feeds need nginx")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        feed = f"<rss version='2.0'><channel><title>Old</title>{_ITEMS}</channel></rss>"
        (folder / "feed.xml").write_text(feed, encoding="utf-8")
        with queued.web(folder, _LOCATIONS.format(folder=folder, fresh=_FRESH)) as port:
            weeks = {
                feeds: measure(folder, feeds, arguments.fresh, port)
                for feeds in (arguments.few, arguments.feeds)
            }
    for feeds, week in weeks.items():
        print(
            f"{feeds:>9,} feeds: {week.polls:,} polls, {week.stories:,} new stories in "
            f"{week.seconds:.1f} s = {week.polls / week.seconds:,.0f} a second, "
            f"{1_000 * week.cpu_seconds / max(1, week.polls):.2f} ms CPU a poll, "
            f"{week.megabytes:.0f} MB"
        )
    few, many = weeks[arguments.few], weeks[arguments.feeds]
    ratio = (many.cpu_seconds / many.polls) / (few.cpu_seconds / few.polls)
    print(f"CPU a poll with {arguments.feeds:,} feeds: {ratio:.2f} x that with {arguments.few:,}")


if __name__ == "__main__":
    main()
