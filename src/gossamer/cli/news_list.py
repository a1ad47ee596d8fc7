"""`gossamer news list` and `export`: what is subscribed to, for people and for other readers."""

import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.cli.arguments import Commands, add_command, add_directory, add_json
from gossamer.cli.terminal import Section, print_sections
from gossamer.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.catalog.connection import Database
    from gossamer.catalog.subscriptions import FeedRow, SourceRow

FORMATS = ("opml", "csv", "text")


def register(commands: Commands) -> None:
    """Declare both commands."""
    listing = add_command(
        commands,
        "list",
        run,
        summary="list sources and their feeds",
        examples="""
        gossamer news list --dir press
        gossamer news list --json --dir press
        """,
    )
    add_directory(listing)
    add_json(listing, "all of it")
    export = add_command(
        commands,
        "export",
        run_export,
        summary="write the list of feeds, for other readers or for `news import`",
        examples="""
        gossamer news export --dir press -o feeds.opml
        gossamer news export --format csv --dir press
        gossamer news export --format text --dir press | sort
        """,
    )
    add_directory(export)
    export.add_argument("--format", choices=FORMATS, default="opml", help="(opml)")
    export.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a file, complete or not there at all"
    )


def run(arguments: Namespace) -> int:
    """List everything, one source after the other."""
    from gossamer.cli.news_workspace import open_news
    from gossamer.cli.news_writing import print_json_list

    with open_news(arguments.dir) as catalog:
        if arguments.json:
            print_json_list({}, "sources", _rows(catalog.database, time.time()))
        else:
            print_sections(_sections(catalog.database))
    return 0


def run_export(arguments: Namespace) -> int:
    """Write the list in the form asked for."""
    from gossamer.catalog.subscriptions import feeds_of, sources
    from gossamer.cli.export import open_output
    from gossamer.cli.news_lists import write_list
    from gossamer.cli.news_workspace import open_news

    with open_news(arguments.dir) as catalog, open_output(arguments.output) as out:
        database = catalog.database
        entries = ((source, feeds_of(database, source.source_id)) for source in sources(database))
        write_list(arguments.format, entries, out)
    return 0


def _rows(database: "Database", now: float) -> "Iterator[dict[str, Any]]":
    import msgspec

    from gossamer.catalog.subscriptions import feeds_of, sources
    from gossamer.cli.news_records import feed_record, source_record

    for source in sources(database):
        feeds = [feed_record(feed, now) for feed in feeds_of(database, source.source_id)]
        yield msgspec.structs.asdict(source_record(source)) | {"feeds": feeds}


def _sections(database: "Database") -> "Iterator[Section]":
    from gossamer.catalog.subscriptions import feeds_of, sources

    empty = True
    for source in sources(database):
        empty = False
        rows = [_row(feed) for feed in feeds_of(database, source.source_id)]
        yield Section(_title(source), ("feed", "form", "state", "title"), rows)
    if empty:
        yield Section("No sources; add one with: gossamer news add URL", (), [])


def _title(source: "SourceRow") -> str:
    state = "" if source.enabled else "  (disabled)"
    return visible(f"{source.name}  {source.home}".rstrip() + state)


def _row(feed: "FeedRow") -> tuple[object, ...]:
    state = "enabled" if feed.enabled else f"disabled: {feed.why_disabled}"
    return (feed.url, feed.form or None, state, feed.title or None)
