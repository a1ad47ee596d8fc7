"""`gossamer url-server`: the URL Server as a daemon of its own."""

import sys
import time
from argparse import Namespace
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_directory,
    add_json,
    add_settings,
    load_settings,
)
from gossamer.cli.crawl import add_limits, add_politeness, overrides_from
from gossamer.cli.progress import plain_line
from gossamer.cli.terminal import print_json
from gossamer.wording import visible

if TYPE_CHECKING:
    from gossamer.crawl.progress import Progress

_EVERY_SECONDS = 10.0


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "url-server",
        run,
        summary="schedule the URLs of a workspace and order them from Spiders, until SIGTERM",
        examples="""
        gossamer url-server https://example.org/ --dir example --spider 127.0.0.1:4000
        gossamer url-server --dir example --spider 127.0.0.1:4000 --spider 127.0.0.1:4010
        gossamer url-server --dir example --config daemons.toml       Spider_Host, Spider_Port
        gossamer url-server --dir example --spider 127.0.0.1:4000 --until-idle
        gossamer add https://example.net/ --dir example               while it runs

        Spiders and a Store Server of the same workspace belong to it: gossamer spider --help,
        gossamer store-server --help. What is in scope is judged by the Store Server: give it the
        same --scope, --include, --exclude and --max-depth.
        Exit codes: 0 stopped by SIGTERM or SIGINT, or (--until-idle) nothing left to do; 2 bad
        input; 3 workspace; 4 disk; 5 (--until-idle) only waiting is left.
        """,
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="where to start (http or https)")
    add_directory(parser)
    parser.add_argument(
        "--spider",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="where a Spider listens (repeatable); else Spider_Host and Spider_Port",
    )
    parser.add_argument(
        "--until-idle",
        action="store_true",
        help="end when nothing is pending, open or awaited, or --max-pages is reached",
    )
    add_limits(parser)
    add_politeness(parser)
    add_settings(parser)
    parser.add_argument(
        "--insecure", action="store_true", help="speak to Spiders elsewhere without a secret"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--quiet", action="store_true", help="print errors only")
    add_json(output, "the summary")


def run(arguments: Namespace) -> int:
    """Serve until a signal comes, or until nothing is left."""
    settings = load_settings(arguments, overrides_from(arguments)).settings

    from gossamer.daemons.url_server import Plan, serve_urls

    plan = Plan(
        directory=arguments.dir,
        start_urls=tuple(arguments.urls),
        spiders=tuple(arguments.spider),
        insecure=arguments.insecure,
        until_idle=arguments.until_idle,
        recrawl=arguments.recrawl,
    )
    log = _Log(quiet=arguments.quiet)
    summary = serve_urls(plan, settings, on_progress=log.show, tell=log.tell)
    if arguments.json:
        print_json(summary)
    if summary.exit_code or not arguments.quiet:
        _print(summary.message)
    return summary.exit_code


class _Log:
    """What a daemon says: messages at once, where it stands now and then, if that has changed."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._next = time.monotonic() + _EVERY_SECONDS
        self._last: tuple[int, ...] = ()

    def tell(self, message: str) -> None:
        if not self._quiet:
            _print(message)

    def show(self, progress: "Progress") -> None:
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        standing = (progress.pages, progress.discovered, progress.failed, progress.in_flight)
        if standing != self._last:
            self._last = standing
            _print(plain_line(progress))


def _print(message: str) -> None:
    try:
        print(f"gossamer: {visible(message)}", file=sys.stderr, flush=True)
    except OSError:
        pass  # Nobody reads it any more; that is no reason to stop serving.
