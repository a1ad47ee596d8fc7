"""`gossamer add`: put start URLs into a workspace without crawling."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_directory,
    add_json,
    add_settings,
    load_settings,
)
from gossamer.cli.terminal import print_json
from gossamer.errors import InputError

MAX_LINE_BYTES = 65_536
_STANDARD_INPUT = Path("-")


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "add",
        run,
        summary="put start URLs into a workspace without crawling",
        examples="""
        gossamer add https://example.org/ https://example.net/ --dir both
        gossamer add --file urls.txt --dir big       one URL a line; # starts a comment
        sort -u *.txt | gossamer add --file - --dir big
        """,
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="a start URL (http or https)")
    parser.add_argument("--file", type=Path, metavar="FILE", help="one URL a line; - reads a pipe")
    add_directory(parser)
    add_settings(parser)
    add_json(parser, "the numbers")


def run(arguments: Namespace) -> int:
    """Add the URLs and say how many were new."""
    urls = [*arguments.urls, *(_lines(arguments.file) if arguments.file else ())]
    if not urls:
        raise InputError("no URL given; write: gossamer add URL --dir WORKSPACE")

    from gossamer.crawl.pipeline import add_urls
    from gossamer.crawl.workspace import Workspace

    settings = load_settings(arguments).settings
    new = add_urls(arguments.dir, urls, settings)
    if arguments.json:
        print_json({"given": len(urls), "new": new})
        return 0
    if any("url-server" in holder for holder in Workspace(arguments.dir).holders()):
        advice = "the URL server takes them up"
    else:
        advice = f"crawl them with: gossamer crawl --dir {quote(str(arguments.dir))}"
    print(f"{new:,} new of {len(urls):,}; {advice}")
    return 0


def _lines(path: Path) -> Iterator[str]:
    try:
        if path == _STANDARD_INPUT:
            yield from _urls_in(sys.stdin.buffer, "standard input")
        else:
            with path.open("rb") as file:
                yield from _urls_in(file, str(path))
    except OSError as error:
        raise InputError(f"cannot read URLs from {path}: {error.strerror}") from error


def _urls_in(file: BinaryIO, name: str) -> Iterator[str]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"{name}, line {number}: longer than {MAX_LINE_BYTES} bytes")
        try:
            # The mark that editors of Windows put before the first line is no part of it.
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{name}, line {number}: not valid UTF-8") from error
        if text and not text.startswith("#"):
            yield text
