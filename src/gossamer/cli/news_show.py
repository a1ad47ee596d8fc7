"""`gossamer news show`: all that is known of one source, feed or story."""

import time
from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.cli.arguments import Commands, add_command, add_directory, add_json
from gossamer.cli.terminal import Section, cell, print_json, print_sections, visible_lines
from gossamer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.catalog.connection import Database
    from gossamer.catalog.downloads import DownloadRow
    from gossamer.catalog.news_catalog import NewsCatalog
    from gossamer.catalog.stories import StoryRow
    from gossamer.catalog.subscriptions import FeedRow, SourceRow

_MAX_DOWNLOADS = 20
_MAX_DIGITS = 18


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "show",
        run,
        summary="show all that is known of a source, a feed or a story",
        examples="""
        gossamer news show example.org --dir press
        gossamer news show https://example.org/feed.xml --dir press     with its last downloads
        gossamer news show 42 --dir press                               a story with its text
        gossamer news show https://example.org/a-story --json --dir press
        """,
    )
    parser.add_argument("name", metavar="SOURCE|FEED|STORY_ID|URL", help="its name, number or URL")
    add_directory(parser)
    add_json(parser, "all of it")


class Found(NamedTuple):
    """What a name stands for: one of these is not empty, or none is known."""

    sources: "Sequence[SourceRow]" = ()
    feeds: "Sequence[FeedRow]" = ()
    stories: "Sequence[StoryRow]" = ()


def run(arguments: Namespace) -> int:
    """Show what the name stands for."""
    from gossamer.cli.news_workspace import open_news

    now = time.time()
    with open_news(arguments.dir) as catalog:
        found = find(catalog, arguments.name)
        if not any(found):
            raise InputError(
                f"{arguments.name} is no source, feed or story in {arguments.dir}; "
                f"list what is: gossamer news list --dir {quote(str(arguments.dir))}"
            )
        if arguments.json:
            print_json(_as_json(catalog.database, found, now))
        else:
            _print(catalog.database, found, now)
    return 0


def find(catalog: "NewsCatalog", name: str) -> Found:
    """Return the source of this name, the story of this number, or what has this URL."""
    from gossamer.catalog.stories import story, story_ids_of
    from gossamer.catalog.subscriptions import source_named
    from gossamer.cli.news_workspace import canonical, known_feeds

    database = catalog.database
    source = source_named(database, name)
    if source is not None:
        return Found(sources=[source])
    if name.isascii() and name.isdigit() and len(name) <= _MAX_DIGITS:
        ids = [int(name)]
    else:
        feeds = known_feeds(catalog, name)
        if feeds:
            return Found(feeds=feeds)
        row = catalog.find(name) or catalog.find(canonical(name))
        ids = [] if row is None else story_ids_of(database, row.doc_id)
    stories = (story(database, story_id) for story_id in ids)
    return Found(stories=[each for each in stories if each is not None])


def _as_json(database: "Database", found: Found, now: float) -> dict[str, list[dict[str, Any]]]:
    """Return what was found, all of one kind; several sources may share a feed or a story."""
    import msgspec

    from gossamer.catalog.subscriptions import feeds_of
    from gossamer.cli.news_health import fares_of, feed_health, source_health
    from gossamer.cli.news_records import download_record, story_record

    kinds = {
        "sources": [
            source_health(fare, feeds_of(database, fare.source.source_id), now)
            for fare in fares_of(database, found.sources, now)
        ],
        "feeds": [
            feed_health(feed, now) | {"downloads": list(map(download_record, downloads))}
            for feed, downloads in _with_downloads(database, found.feeds)
        ],
        "stories": [
            msgspec.structs.asdict(story_record(story))
            | {"downloads": list(map(download_record, downloads))}
            for story, downloads in _with_story_downloads(database, found.stories)
        ],
    }
    return {kind: rows for kind, rows in kinds.items() if rows}


def _print(database: "Database", found: Found, now: float) -> None:
    import msgspec
    from msgspec.structs import replace

    from gossamer.cli.news_health import fares_of, feed_health, source_section
    from gossamer.cli.news_records import source_record, story_record

    for fare in fares_of(database, found.sources, now):
        known = msgspec.structs.asdict(source_record(fare.source))
        print_sections([_properties(known), source_section(database, fare, now)])
    for feed, downloads in _with_downloads(database, found.feeds):
        print_sections([_properties(feed_health(feed, now)), _history(downloads)])
    for story, downloads in _with_story_downloads(database, found.stories):
        known = msgspec.structs.asdict(story_record(replace(story, text=None)))
        print_sections([_properties(known), _history(downloads)])
        if story.text:
            print(f"\n{visible_lines(story.text)}")


def _with_downloads(
    database: "Database", feeds: "Sequence[FeedRow]"
) -> "Iterator[tuple[FeedRow, list[DownloadRow]]]":
    from gossamer.catalog.downloads import downloads_of_feed

    for feed in feeds:
        yield feed, downloads_of_feed(database, feed.feed_id, _MAX_DOWNLOADS)


def _with_story_downloads(
    database: "Database", stories: "Sequence[StoryRow]"
) -> "Iterator[tuple[StoryRow, list[DownloadRow]]]":
    from gossamer.catalog.downloads import downloads_of_story

    for story in stories:
        yield story, downloads_of_story(database, story.story_id, _MAX_DOWNLOADS)


def _properties(known: dict[str, Any]) -> Section:
    rows = [
        (name.replace("_", " "), _words(value))
        for name, value in known.items()
        if value not in (None, (), "")
    ]
    return Section("", ("", ""), rows)


def _words(value: Any) -> str:
    from gossamer.cli.news_records import Place

    match value:
        case tuple():
            return "; ".join(value)
        case Place():
            return f"{value.file}, {value.length:,} bytes from {value.offset:,} on"
        case float():
            return f"{value:g}"
    return cell(value)


def _history(downloads: "Sequence[DownloadRow]") -> Section:
    from gossamer.cli.news_downloads import download_section
    from gossamer.cli.news_records import download_record

    section = download_section([download_record(row) for row in downloads])
    return section._replace(title="Downloads, the latest first" if downloads else "No downloads")
