"""`gossamer news downloads`: every download, of feeds and of stories."""

from argparse import Namespace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, add_command, add_directory, natural
from gossamer.cli.terminal import Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.catalog.downloads import DownloadRow
    from gossamer.catalog.news_catalog import NewsCatalog
    from gossamer.cli.news_records import DownloadRecord

STATES = ("pending", "fetching", "success", "error", "feed_error")
TYPES = ("feed", "content")
TABLE_LIMIT = 50


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "downloads",
        run,
        summary="show downloads, the latest first: state, error, retries, when it is tried again",
        examples="""
        gossamer news downloads --dir press                              the latest 50
        gossamer news downloads --state error --dir press
        gossamer news downloads --state pending --format jsonl --dir press
        gossamer news downloads --type feed --source example.org --dir press
        """,
    )
    add_directory(parser)
    parser.add_argument("--state", choices=STATES, help="only those in this state")
    parser.add_argument("--type", choices=TYPES, help="only feeds, or only stories")
    parser.add_argument("--source", metavar="NAME", help="only those of this source")
    parser.add_argument(
        "--limit", type=natural, metavar="N", help="so many at most (table: 50, else all)"
    )
    parser.add_argument(
        "--format", choices=("table", "jsonl", "csv"), default="table", help="(table)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a file, complete or not there at all"
    )


def run(arguments: Namespace) -> int:
    """Show the downloads in the form asked for."""
    from gossamer.cli.news_records import DownloadRecord, download_record
    from gossamer.cli.news_workspace import open_news
    from gossamer.cli.news_writing import open_form, write_csv, write_jsonl, write_table

    with open_news(arguments.dir) as catalog, open_form(arguments) as out:
        records = map(download_record, _chosen(catalog, arguments))
        match arguments.format:
            case "jsonl":
                write_jsonl(records, out)
            case "csv":
                write_csv(DownloadRecord, records, out)
            case _:
                write_table(download_section(list(records)), out)
    return 0


def _chosen(catalog: "NewsCatalog", arguments: Namespace) -> "Iterator[DownloadRow]":
    from gossamer.catalog.download_book import DownloadState, Type
    from gossamer.catalog.downloads import downloads
    from gossamer.cli.news_workspace import source_filter

    found = downloads(
        catalog.database,
        state=DownloadState[arguments.state.upper()] if arguments.state else None,
        type_=Type[arguments.type.upper()] if arguments.type else None,
        source_id=source_filter(catalog, arguments.source),
    )
    return islice(found, table_limit(arguments))


def table_limit(arguments: Namespace) -> int | None:
    """Return how many rows are wanted: a table for people has few unless they ask for more."""
    if arguments.limit is not None or arguments.format != "table":
        limit: int | None = arguments.limit
        return limit
    return TABLE_LIMIT


def download_section(records: "Sequence[DownloadRecord]") -> Section:
    """Return downloads as a table for people."""
    header = ("id", "type", "state", "status", "retries", "not before", "url", "error")
    rows = [
        (
            str(each.id),
            each.type,
            each.state,
            None if each.status is None else str(each.status),
            each.retries,
            each.not_before,
            each.url,
            each.error,
        )
        for each in records
    ]
    return Section("" if rows else "No downloads", header, rows)
