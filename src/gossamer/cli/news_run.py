"""`gossamer news run`: the engine that polls feeds and fetches the stories in them."""

import sys
from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_directory,
    add_private,
    add_settings,
    add_workers,
    load_settings,
    positive,
    seconds,
)
from gossamer.cli.moments import moment
from gossamer.cli.terminal import print_json
from gossamer.wording import count_in_words, seconds_in_words, visible

if TYPE_CHECKING:
    from gossamer.news.run import NewsSummary


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "run",
        run,
        summary="poll the feeds that are due, fetch and extract their stories",
        examples="""
        gossamer news run --dir press                       until stopped
        gossamer news run --once --dir press                what is due now, and end
        gossamer news run --once --at 2026-05-31 --dir press    as if it were that day
        """,
    )
    parser.add_argument(
        "--once", action="store_true", help="end when nothing more is due, instead of waiting"
    )
    parser.add_argument(
        "--at", type=moment, metavar="TIME", help="set the clock, for rehearsals (ISO 8601)"
    )
    add_directory(parser)
    add_private(parser)
    add_workers(parser)
    parser.add_argument(
        "--concurrency", type=positive, metavar="N", help="fetches open at once in all (64)"
    )
    parser.add_argument(
        "--delay",
        type=seconds,
        metavar="SECONDS",
        help="between two requests to one host (0.5); 0: none",
    )
    parser.add_argument(
        "--no-extract", action="store_true", help="leave the extraction to `news extract`"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    add_settings(parser)


def run(arguments: Namespace) -> int:
    """Run the engine; show progress meanwhile and a summary at the end."""
    from gossamer.cli.progress import follow
    from gossamer.clock import ShiftedClock
    from gossamer.news.run import run_news
    from gossamer.parse.article_text import NOT_INSTALLED, has_slow

    settings = load_settings(arguments, _overrides(arguments)).settings
    if not arguments.no_extract and not arguments.quiet and not has_slow():
        print(f"gossamer: texts will be extracted less well: {NOT_INSTALLED}", file=sys.stderr)
    with follow(sys.stderr, quiet=arguments.quiet) as on_progress:
        summary = run_news(
            arguments.dir,
            settings,
            once=arguments.once,
            clock=None if arguments.at is None else ShiftedClock(arguments.at),
            extract=not arguments.no_extract,
            on_progress=on_progress,
        )
    _print_summary(arguments, summary)
    return summary.run.exit_code


def _print_summary(arguments: Namespace, summary: "NewsSummary") -> None:
    run, brought = summary.run, summary.brought
    if arguments.json:
        print_json(summary)
    if run.exit_code:
        print(f"gossamer: {visible(run.message)}", file=sys.stderr)
    if arguments.json or arguments.quiet:
        return
    if not run.exit_code:
        print(visible(run.message))
    print(
        f"{count_in_words(brought.polls, 'feed')} polled, "
        f"{count_in_words(brought.stories, 'new story', 'new stories')}, "
        f"{count_in_words(brought.pages, 'page')}, {count_in_words(brought.errors, 'error')} "
        f"in {seconds_in_words(run.seconds)}"
    )
    print(f"more: gossamer news health --dir {visible(quote(str(arguments.dir)))}")


def _overrides(arguments: Namespace) -> dict[str, dict[str, object]]:
    """Return the settings that named flags set."""
    per_second = None
    if arguments.delay is not None:
        per_second = 1 / arguments.delay if arguments.delay else 0.0
    flags: dict[str, dict[str, object]] = {
        "crawl": {"concurrency": arguments.concurrency, "workers": arguments.workers},
        "urlserver": {"host_per_second": per_second},
        "url": {"allow_private": arguments.allow_private or None},
    }
    return {
        table: {name: value for name, value in entries.items() if value is not None}
        for table, entries in flags.items()
    }
