"""`gossamer news extract`: turn stored pages into articles."""

import sys
import time
from argparse import Namespace
from typing import TYPE_CHECKING, TextIO

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_directory,
    add_settings,
    load_settings,
    positive,
)
from gossamer.errors import InputError
from gossamer.wording import seconds_in_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.news.extract_drain import Extracted

_EVERY_SECONDS = 5.0


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "extract",
        run,
        summary="extract the articles of stored pages that wait for it, or all of them again",
        examples="""
        gossamer news extract --dir press                           what is queued
        gossamer news extract --redo --dir press                    everything again
        gossamer news extract --redo --story 42 --dir press         one story again
        gossamer news extract --redo --source example.org --dir press
        """,
    )
    parser.add_argument("--redo", action="store_true", help="also what was extracted before")
    parser.add_argument("--story", type=positive, metavar="ID", help="only this story")
    parser.add_argument("--source", metavar="NAME", help="only the stories of this source")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")
    add_directory(parser)
    add_settings(parser)


def run(arguments: Namespace) -> int:
    """Extract; say how many were done."""
    from gossamer.catalog.stories import story
    from gossamer.cli.news_workspace import known_source, open_news

    settings = load_settings(arguments).settings
    with open_news(arguments.dir) as catalog:
        if arguments.source is not None:
            known_source(catalog, arguments.source)
        if arguments.story is not None and story(catalog.database, arguments.story) is None:
            raise InputError(f"there is no story {arguments.story} in {arguments.dir}")

    from gossamer.news.extracting import extract_queued

    summary = extract_queued(
        arguments.dir,
        settings,
        redo=arguments.redo,
        story_id=arguments.story,
        source=arguments.source,
        on_progress=None if arguments.quiet else Teller(sys.stderr),
    )
    if not arguments.quiet:
        print(f"{_words(summary)} in {seconds_in_words(summary.seconds)}")
    if summary.failed:
        print(
            "gossamer: some pages could not be extracted; `gossamer news show ID` says why",
            file=sys.stderr,
        )
    return 0


class Teller:
    """Says every few seconds how far it is."""

    def __init__(self, stream: TextIO, monotonic: "Callable[[], float]" = time.monotonic) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._next = monotonic() + _EVERY_SECONDS

    def __call__(self, so_far: "Extracted") -> None:
        """Take note of how far it is."""
        if self._monotonic() >= self._next:
            self._next = self._monotonic() + _EVERY_SECONDS
            print(f"{_words(so_far)} so far", file=self._stream, flush=True)


def _words(extracted: "Extracted") -> str:
    return f"{extracted.done:,} extracted, {extracted.failed:,} failed"
