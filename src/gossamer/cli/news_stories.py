"""`gossamer news stories`: what was collected, for people and for programs."""

from argparse import Namespace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, add_command, add_directory, natural
from gossamer.cli.moments import when
from gossamer.cli.news_downloads import table_limit
from gossamer.cli.terminal import Section
from gossamer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.catalog.news_catalog import NewsCatalog
    from gossamer.catalog.stories import StoryRow
    from gossamer.cli.news_records import StoryRecord

FORMATS = ("jsonl", "csv", "parquet", "rss", "table")


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "stories",
        run,
        summary="write stories, the latest first: as lines of JSON, a table, Parquet, a feed",
        examples="""
        gossamer news stories --dir press                                   the latest 50
        gossamer news stories --since 7d --source example.org --dir press
        gossamer news stories --since 2026-05-01 --until 2026-06-01 --format jsonl --dir press
        gossamer news stories --format csv --with-text -o stories.csv --dir press
        gossamer news stories --query 'climate vote' --language en --group --dir press
        gossamer news stories --since 1d --format rss -o today.xml --dir press
        """,
    )
    add_directory(parser)
    parser.add_argument(
        "--since", type=when, metavar="WHEN", help="from then on: 2026-05-31, 7d, 12h"
    )
    parser.add_argument("--until", type=when, metavar="WHEN", help="before then")
    parser.add_argument(
        "--by",
        choices=("collected", "published"),
        default="collected",
        help="which time --since and --until mean (collected)",
    )
    parser.add_argument("--source", metavar="NAME", help="only those of this source")
    parser.add_argument(
        "--query", metavar="TEXT", help="only those with all these words, in title or text"
    )
    parser.add_argument("--language", metavar="XX", help="only those in this language: en, de")
    parser.add_argument(
        "--group", action="store_true", help="only the latest of those that say nearly the same"
    )
    parser.add_argument(
        "--limit", type=natural, metavar="N", help="so many at most (table: 50, else all)"
    )
    parser.add_argument(
        "--with-text", action="store_true", help="with their texts (jsonl and parquet always)"
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="(table)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a file, complete or not there at all"
    )


def run(arguments: Namespace) -> int:
    """Write the stories in the form asked for."""
    if arguments.format == "parquet" and arguments.output is None:
        raise InputError("Parquet needs a file; name it with -o FILE")

    from gossamer.cli.news_records import StoryRecord, story_record
    from gossamer.cli.news_workspace import open_news
    from gossamer.cli.news_writing import open_form, write_csv, write_jsonl, write_rss, write_table

    with open_news(arguments.dir) as catalog, open_form(arguments) as out:
        records = map(story_record, islice(_chosen(catalog, arguments), table_limit(arguments)))
        match arguments.format:
            case "jsonl":
                write_jsonl(records, out)
            case "csv":
                write_csv(StoryRecord, records, out)
            case "rss":
                title = f"Stories of {arguments.source}" if arguments.source else "Stories"
                write_rss(records, out, title=title, with_text=arguments.with_text)
            case "parquet":
                from gossamer.cli.news_parquet import write_parquet

                write_parquet(records, out)
            case _:
                write_table(_section(list(records), with_text=arguments.with_text), out)
    return 0


def _chosen(catalog: "NewsCatalog", arguments: Namespace) -> "Iterator[StoryRow]":
    """Go through the stories that were asked for."""
    from msgspec.structs import replace

    from gossamer.catalog.stories import stories
    from gossamer.cli.news_workspace import source_filter

    by_collection = arguments.by == "collected"
    bounds = {"since": arguments.since, "until": arguments.until} if by_collection else {}
    shows_text = arguments.with_text or arguments.format in ("jsonl", "parquet")
    found = stories(
        catalog.database,
        source_id=source_filter(catalog, arguments.source),
        with_text=shows_text or bool(arguments.query),
        **{name: value for name, value in bounds.items() if value is not None},
    )
    groups: set[int] = set()
    for story in found:
        if not _matches(story, arguments):
            continue
        if arguments.group and story.group_id is not None:
            if story.group_id in groups:
                continue
            groups.add(story.group_id)
        yield story if shows_text else replace(story, text=None)


def _matches(story: "StoryRow", arguments: Namespace) -> bool:
    """Whether a story has the language, the words and the date that were asked for."""
    if arguments.language and not _speaks(story.language, arguments.language):
        return False
    if arguments.by == "published" and not _is_between(story, arguments):
        return False
    if not arguments.query:
        return True
    said = f"{story.title}\n{story.description}\n{story.text or ''}".casefold()
    return all(word in said for word in arguments.query.casefold().split())


def _speaks(language: str, wanted: str) -> bool:
    """Whether a language is the one wanted; `pt` is also `pt-BR`."""
    known, asked = language.lower().replace("_", "-"), wanted.lower().replace("_", "-")
    return known == asked or known.startswith(f"{asked}-")


def _is_between(story: "StoryRow", arguments: Namespace) -> bool:
    if story.published is None:
        return False
    after = arguments.since is None or story.published >= arguments.since
    return after and (arguments.until is None or story.published < arguments.until)


def _section(records: "Sequence[StoryRecord]", *, with_text: bool) -> Section:
    header: tuple[str, ...] = ("id", "published", "source", "title", "url")
    rows: list[tuple[object, ...]] = [
        (
            str(each.story_id),
            (each.published or each.collected)[:16].replace("T", " "),
            each.source,
            each.title,
            each.url,
        )
        for each in records
    ]
    if with_text:
        header = (*header, "text")
        rows = [(*row, each.text) for row, each in zip(rows, records, strict=True)]
    return Section("" if rows else "No stories", header, rows)
