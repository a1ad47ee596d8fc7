"""`gossamer news import`: take over a list of feeds."""

import sys
import time
from argparse import Namespace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_directory,
    add_settings,
    load_settings,
)
from gossamer.cli.news_add import add_search, private, search
from gossamer.errors import InputError
from gossamer.wording import count_in_words, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.config.settings import Settings
    from gossamer.news.importing import FeedList, Flaw
    from gossamer.news.subscribing import Wish

EXIT_FLAWED = 1
_STANDARD_INPUT = Path("-")
_MAX_SHOWN = 50


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "import",
        run,
        summary="subscribe to the feeds of a list: OPML, CSV, or one URL a line",
        examples="""
        gossamer news import feeds.opml --dir press
        gossamer news import feeds.csv --dir press            columns: url, source, title, home
        gossamer news import feeds.txt --check --dir press    one URL a line; # starts a comment
        gossamer news import - --dir press < feeds.txt

        Bad lines are named and left out; the exit code is then 1.
        """,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the list; - reads a pipe")
    parser.add_argument(
        "--check", action="store_true", help="fetch each feed first; leave out what is none"
    )
    add_search(parser)
    parser.add_argument(
        "--folders", action="store_true", help="the folders of an OPML list are the sources"
    )
    add_directory(parser)
    add_settings(parser)


def run(arguments: Namespace) -> int:
    """Subscribe to what can be read; name what cannot."""
    from gossamer.cli.news_workspace import change_news
    from gossamer.news.importing import read_list
    from gossamer.news.subscribing import subscribe

    settings = load_settings(arguments, private(arguments)).settings
    listed = read_list(_read(arguments.file), arguments.file.name, settings.url)
    flaws = list(listed.flaws)
    wishes = _with_folders(listed) if arguments.folders else listed.wishes
    if arguments.check:
        wishes, unproved = _proved(wishes, settings, arguments)
        flaws += unproved
    _complain(arguments.file, flaws)
    if not wishes:
        raise InputError(f"{arguments.file} names no feed that could be used")
    with change_news(arguments.dir, settings, create=True) as catalog:
        new = sum(each.new for each in subscribe(catalog, wishes, time.time()))
    advice = f"gossamer news run --dir {visible(quote(str(arguments.dir)))}"
    print(f"{new:,} new of {count_in_words(len(wishes), 'feed')}; poll them with: {advice}")
    return EXIT_FLAWED if flaws else 0


def _read(path: Path) -> bytes:
    from gossamer.news.importing import MAX_BYTES

    try:
        if path == _STANDARD_INPUT:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read feeds from {path}: {error.strerror}") from error


def _proved(
    wishes: "Sequence[Wish]", settings: "Settings", arguments: Namespace
) -> "tuple[list[Wish], list[Flaw]]":
    """Fetch what is wanted; return the feeds that it is or leads to, and what is neither."""
    from msgspec.structs import replace

    from gossamer.news.importing import Flaw

    searched = search(list(dict.fromkeys(wish.url for wish in wishes)), settings, arguments)
    found = searched.feeds
    proved = [
        replace(wish, url=each.url, title=wish.title or each.title, form=each.form)
        for wish in wishes
        for each in found[wish.url]
    ]
    unproved = [
        Flaw(wish.line, searched.complaint(wish.url)) for wish in wishes if not found[wish.url]
    ]
    return proved, unproved


def _with_folders(listed: "FeedList") -> "list[Wish]":
    from msgspec.structs import replace

    return [replace(wish, source=wish.source or wish.tags) for wish in listed.wishes]


def _complain(path: Path, flaws: "Sequence[Flaw]") -> None:
    for flaw in flaws[:_MAX_SHOWN]:
        place = f"{path}, line {flaw.line}" if flaw.line else str(path)
        print(f"gossamer: {visible(f'{place}: {flaw.why}')}", file=sys.stderr)
    if len(flaws) > _MAX_SHOWN:
        more = count_in_words(len(flaws) - _MAX_SHOWN, "more bad line")
        print(f"gossamer: {path}: {more}", file=sys.stderr)
