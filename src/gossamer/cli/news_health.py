"""`gossamer news health`: how each feed fares, why it is quiet, and stories a day."""

import sys
import time
from argparse import Namespace
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.cli.arguments import Commands, add_command, add_directory, add_json
from gossamer.cli.moments import moment
from gossamer.cli.terminal import Section, print_sections
from gossamer.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.catalog.connection import Database
    from gossamer.catalog.subscriptions import FeedRow, NewsTotals, SourceRow

_BARS = "▁▂▃▄▅▆▇█"
_ASCII = str.maketrans(_BARS, "_.-:=+*#")


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "health",
        run,
        summary="show how feeds fare, why one is quiet, and the stories a day of each source",
        examples="""
        gossamer news health --dir press
        gossamer news health --source example.org --dir press
        gossamer news health --json --dir press
        """,
    )
    add_directory(parser)
    parser.add_argument("--source", metavar="NAME", help="only this source")
    parser.add_argument(
        "--at", type=moment, metavar="TIME", help="as if it were then, for rehearsals (ISO 8601)"
    )
    add_json(parser, "all of it")


def run(arguments: Namespace) -> int:
    """Show the state of all feeds, one source after the other."""
    from gossamer.catalog.subscriptions import feeds_of, news_totals, sources
    from gossamer.cli.news_workspace import known_source, open_news
    from gossamer.cli.news_writing import print_json_list

    now = time.time() if arguments.at is None else arguments.at
    with open_news(arguments.dir) as catalog:
        database = catalog.database
        if arguments.source is None:
            chosen: Iterable[SourceRow] = sources(database)
        else:
            chosen = [known_source(catalog, arguments.source)]
        totals = news_totals(database)
        found = fares_of(database, chosen, now)
        if arguments.json:
            rows = (
                source_health(fare, feeds_of(database, fare.source.source_id), now)
                for fare in found
            )
            print_json_list({"totals": _totals(totals, now)}, "sources", rows)
        else:
            print_sections(_sections(database, totals, found, now))
    return 0


class Fare(NamedTuple):
    """How a source fares."""

    source: "SourceRow"
    days: "Sequence[int]"
    """Stories of each of the last days, today's last."""
    stories: int


def _totals(totals: "NewsTotals", now: float) -> dict[str, Any]:
    import msgspec

    from gossamer.cli.formats import iso_time

    counted: dict[str, Any] = msgspec.structs.asdict(totals)
    due_at = counted.pop("next_poll_at")
    return counted | {"next_poll": None if due_at is None else iso_time(max(due_at, now))}


def fares_of(database: "Database", sources: "Iterable[SourceRow]", now: float) -> "Iterator[Fare]":
    """Go through some sources and how they fare."""
    from gossamer.catalog.subscriptions import stories_of_sources, stories_per_stretch
    from gossamer.news.health import DAYS, day_ends

    days: dict[int, list[int]] = {}
    counts: dict[int, int] = {}
    for number, source in enumerate(sources):
        if not number:
            days = stories_per_stretch(database, day_ends(now))
            counts = stories_of_sources(database)
        of_days = days.get(source.source_id, [0] * DAYS)
        yield Fare(source, of_days, counts.get(source.source_id, 0))


def source_health(fare: Fare, feeds: "Iterable[FeedRow]", now: float) -> dict[str, Any]:
    """Return how a source and its feeds fare, for programs."""
    import msgspec

    from gossamer.cli.news_records import source_record

    return msgspec.structs.asdict(source_record(fare.source)) | {
        "stories": fare.stories,
        "stories_a_day": list(fare.days),
        "feeds": [feed_health(feed, now) for feed in feeds],
    }


def feed_health(feed: "FeedRow", now: float) -> dict[str, Any]:
    """Return how a feed fares, for programs."""
    import msgspec

    from gossamer.cli.news_records import feed_record
    from gossamer.news.health import next_poll_seconds, why_quiet

    return msgspec.structs.asdict(feed_record(feed, now)) | {
        "next_poll_seconds": next_poll_seconds(feed, now),
        "interval_seconds": feed.interval_seconds,
        "ttl_seconds": feed.ttl_seconds,
        "why_quiet": why_quiet(feed, now),
    }


def _sections(
    database: "Database", totals: "NewsTotals", found: "Iterator[Fare]", now: float
) -> "Iterator[Section]":
    rows = [
        (name.replace("_", " "), value if isinstance(value, int) else value or "-")
        for name, value in _totals(totals, now).items()
    ]
    yield Section("News", ("", ""), rows)
    for fare in found:
        yield source_section(database, fare, now)


def source_section(database: "Database", fare: Fare, now: float) -> Section:
    """Return how the feeds of a source fare, as a table for people."""
    from gossamer.catalog.subscriptions import feeds_of

    header = ("feed", "last success", "next poll", "failures", "why it is quiet")
    feeds = feeds_of(database, fare.source.source_id)
    return Section(_title(fare), header, [_feed_row(feed, now) for feed in feeds])


def _title(fare: Fare) -> str:
    rate = sum(fare.days) / len(fare.days)
    return visible(
        f"{fare.source.name}  {plot(fare.days, sys.stdout.encoding)}  "
        f"{rate:.1f} stories a day, {fare.stories:,} in all"
        + ("" if fare.source.enabled else "  (disabled)")
    )


def _feed_row(feed: "FeedRow", now: float) -> "Sequence[object]":
    from gossamer.news.health import next_poll_seconds, roughly, why_quiet

    wait = next_poll_seconds(feed, now)
    last = feed.last_success_at
    return (
        feed.url,
        None if last is None else f"{roughly(now - last)} ago",
        None if wait is None else f"in {roughly(wait)}" if wait else "due",
        f"{feed.failures:g}",
        why_quiet(feed, now),
    )


def plot(values: "Sequence[int]", encoding: str) -> str:
    """Draw numbers as bars, in letters where the terminal has no bars."""
    from gossamer.cli.progress import sparkline

    bars = sparkline(deque(map(float, values)))
    try:
        bars.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return bars.translate(_ASCII)
    return bars
