"""`gossamer crawl`: fetch what can be reached from the start URLs; go on where it stopped."""

import sys
from argparse import Namespace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    Parser,
    add_command,
    add_directory,
    add_json,
    add_private,
    add_settings,
    add_workers,
    load_settings,
    natural,
    positive,
    seconds,
)
from gossamer.cli.terminal import complain, print_json, remind
from gossamer.errors import InputError
from gossamer.wording import bytes_in_words, count_in_words, seconds_in_words, visible

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.crawl.pipeline import Summary


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "crawl",
        run,
        summary="crawl from the given URLs into a workspace, or go on with it",
        examples="""
        gossamer crawl https://example.org/ --dir example
        gossamer crawl https://example.org/ --dir example --max-pages 500   exactly 500 pages
        gossamer crawl https://example.org/docs/ --dir docs --scope prefix  only below /docs/
        gossamer crawl https://example.org/ --dir example --exclude '[?]'   no URL with a query
        gossamer crawl http://wiki.intranet/ --dir wiki --allow-private     inside your network
        gossamer crawl --dir example                                        go on
        gossamer crawl --dir example --recrawl                              visit again what is due

        Exit codes: 0 nothing left to do, or the limit given was reached exactly; 2 bad input;
        3 workspace; 4 disk; 5 stopped while work remains; 130 Ctrl-C; 143 SIGTERM.
        """,
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="where to start (http or https)")
    add_directory(parser)
    add_limits(parser)
    add_politeness(parser)
    add_workers(parser)
    add_settings(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--quiet", action="store_true", help="print errors only")
    add_json(output, "the summary")


def add_limits(parser: Parser) -> None:
    """Add how much is crawled: pages, depth, scope."""
    parser.add_argument(
        "--max-pages",
        type=natural,
        metavar="N",
        help="pages in the life of the workspace, exactly",
    )
    add_scope(parser)
    parser.add_argument(
        "--recrawl", action="store_true", help="also fetch again the pages that are due"
    )


def add_scope(parser: Parser) -> None:
    """Add which links are followed."""
    parser.add_argument(
        "--max-depth", type=natural, metavar="N", help="links from a start URL at most"
    )
    parser.add_argument(
        "--scope",
        choices=("host", "domain", "prefix", "any"),
        help="how far links are followed (host)",
    )
    parser.add_argument(
        "--include", action="append", metavar="RE", help="only URLs that match (repeatable)"
    )
    parser.add_argument(
        "--exclude", action="append", metavar="RE", help="no URLs that match (repeatable)"
    )


def add_politeness(parser: Parser) -> None:
    """Add how it is crawled: how much at once, how often, as whom."""
    parser.add_argument(
        "--concurrency", type=positive, metavar="N", help="fetches open at once in all (64)"
    )
    parser.add_argument(
        "--per-host", type=positive, metavar="N", help="fetches open at once to one host (2)"
    )
    parser.add_argument(
        "--delay",
        type=seconds,
        metavar="SECONDS",
        help="between two requests to one host (0.5); 0: none",
    )
    add_private(parser)
    parser.add_argument("--user-agent", metavar="TEXT", help="the User-Agent header")


def run(arguments: Namespace) -> int:
    """Crawl; show progress meanwhile and a summary at the end."""
    settings = settings_from(arguments)
    if not arguments.urls:
        _require_workspace(arguments)

    from gossamer.crawl.open_files import shortage

    few_files = shortage(settings.crawl.concurrency)
    if not arguments.quiet:
        _tell_what_is_set_aside(settings)
        if few_files:
            complain(few_files)

    from gossamer.cli.progress import follow
    from gossamer.crawl.launch import fetchers, worker_count

    with fetchers(worker_count(settings.crawl.workers), keep=True) as workers:
        from gossamer.crawl.pipeline import crawl_workspace, missing_secrets

        if not arguments.quiet:
            remind(missing_secrets(arguments.dir, settings), "with --config or --set")
        with follow(sys.stderr, quiet=arguments.quiet) as on_progress:
            summary = crawl_workspace(
                arguments.dir,
                arguments.urls,
                settings,
                recrawl=arguments.recrawl,
                on_progress=on_progress,
                launched=workers,
            )
    _print_summary(arguments, summary)
    return summary.exit_code


def settings_from(arguments: Namespace) -> "Settings":
    """Return the settings that the flags and the file make."""
    return load_settings(arguments, overrides_from(arguments)).settings


def overrides_from(arguments: Namespace) -> dict[str, dict[str, object]]:
    """Return the settings that named flags set."""
    per_second = None
    if arguments.delay is not None:
        per_second = 1 / arguments.delay if arguments.delay else 0.0
    flags: dict[str, dict[str, object]] = {
        "crawl": {
            "max_pages": arguments.max_pages,
            "max_depth": arguments.max_depth,
            "scope": arguments.scope,
            "include": arguments.include,
            "exclude": arguments.exclude,
            "concurrency": arguments.concurrency,
            "workers": getattr(arguments, "workers", None),
        },
        "urlserver": {"host_concurrent": arguments.per_host, "host_per_second": per_second},
        "url": {"allow_private": arguments.allow_private or None},
        "spider": {"user_agent": arguments.user_agent},
    }
    return {
        table: {name: value for name, value in entries.items() if value is not None}
        for table, entries in flags.items()
    }


def _require_workspace(arguments: Namespace) -> None:
    from gossamer.crawl.workspace import Workspace

    if not Workspace(arguments.dir).exists():
        raise InputError(
            f"no URL given, and no workspace in {arguments.dir} to go on with; "
            f"write: gossamer crawl URL --dir {quote(str(arguments.dir))}"
        )


def _tell_what_is_set_aside(settings: "Settings") -> None:
    for host, reason in settings.urlserver.robots_ignore.items():
        print(visible(f"gossamer: robots.txt of {host} is set aside: {reason}"), file=sys.stderr)


def _print_summary(arguments: Namespace, summary: "Summary") -> None:
    if arguments.json:
        print_json(summary)
    if summary.exit_code:
        complain(summary.message)
    if not arguments.json and not arguments.quiet:
        for line in summary_lines(arguments.dir, summary):
            print(line)


def summary_lines(directory: Path, summary: "Summary") -> list[str]:
    """Return what a person wants to know at the end; how to go on stands in the message."""
    progress = summary.progress
    headline = [] if summary.exit_code else [visible(summary.message)]
    size, time = bytes_in_words(progress.bytes), seconds_in_words(summary.seconds)
    states = ", ".join(
        f"{getattr(progress, state):,} {state}"
        for state in ("done", "pending", "leased", "excluded", "failed")
    )
    return [
        *headline,
        f"{count_in_words(progress.pages, 'page')}, {size} received in {time}",
        f"{count_in_words(progress.discovered, 'URL')} known: {states}",
        f"more: gossamer status --dir {visible(quote(str(directory)))}",
    ]
