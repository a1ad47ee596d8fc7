"""`gossamer news add`: subscribe to a feed, or to the feeds of a site."""

import sys
import time
from argparse import ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, NamedTuple

from gossamer.cli.arguments import (
    Commands,
    Parser,
    add_command,
    add_directory,
    add_private,
    add_settings,
    load_settings,
)
from gossamer.wording import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.config.settings import Settings
    from gossamer.news.finding import Candidate
    from gossamer.news.subscribing import Subscribed, Wish

EXIT_NOT_FOUND = 1
_HOUR_SECONDS = 3_600.0
_MAX_HOURS = 8_784.0
_MAX_TITLE = 60
_ADVICE = "if you know that it is a feed, use --no-check"


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "add",
        run,
        summary="subscribe to feeds, or to the feeds of sites, which are looked for",
        examples="""
        gossamer news add https://example.org/ --dir press            find its feeds
        gossamer news add https://example.org/feed.xml --dir press    a feed
        gossamer news add https://example.org/ --source 'The Example' --dir press
        gossamer news add https://example.org/feed.xml --no-check --dir press
        gossamer news add https://example.org/ --thorough --dir press
        gossamer news add https://example.org/ --delay-content 6 --dir press

        The exit code is 1 when a URL leads to no feed.
        """,
    )
    parser.add_argument("urls", nargs="+", metavar="URL", help="a feed, or any page of a site")
    parser.add_argument(
        "--source", metavar="NAME", help="what the medium is called (the domain of the site)"
    )
    parser.add_argument(
        "--no-check", action="store_true", help="take each URL for a feed without fetching it"
    )
    parser.add_argument(
        "--delay-content",
        type=_hours,
        metavar="HOURS",
        help="fetch stories only so long after they were found (0)",
    )
    add_search(parser)
    add_directory(parser)
    add_settings(parser)


def add_search(parser: Parser) -> None:
    """Add how feeds are looked for."""
    add_private(parser)
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="try the usual paths of feeds on sites, too, whose pages declare their feeds",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: Namespace) -> int:
    """Find the feeds, enter them, and say what was found."""
    from gossamer.cli.news_workspace import change_news, tell_disabled
    from gossamer.news.subscribing import Wish, subscribe
    from gossamer.url.canonical import parse_start_url

    settings = load_settings(arguments, private(arguments)).settings
    urls = list(dict.fromkeys(parse_start_url(url, settings.url) for url in arguments.urls))
    if arguments.no_check:
        wishes = [Wish(url, source=arguments.source or "") for url in urls]
        barren: list[str] = []
    else:
        wishes, barren = _found(urls, settings, arguments)
    for complaint in barren:
        print(f"gossamer: {visible(complaint)}; {_ADVICE}", file=sys.stderr)
    if wishes:
        delay = arguments.delay_content
        with change_news(arguments.dir, settings, create=True) as catalog:
            ids = []
            for each in subscribe(catalog, wishes, time.time(), content_delay_seconds=delay):
                print(_line(each))
                ids.append(each.feed_id)
            tell_disabled(catalog, ids, arguments.dir)
    return EXIT_NOT_FOUND if barren else 0


def private(arguments: Namespace) -> "dict[str, dict[str, object]]":
    """Return the settings that --allow-private makes."""
    return {"url": {"allow_private": True}} if arguments.allow_private else {}


class Searched(NamedTuple):
    """What came of a search."""

    feeds: "dict[str, list[Candidate]]"
    """Those of each URL, none for one that has none."""
    troubles: dict[str, str]
    """Why URLs could not be fetched."""

    def complaint(self, url: str) -> str:
        """Say that a URL leads to no feed, and why if that is known."""
        why = self.troubles.get(url)
        return f"no feed found at {url} ({why})" if why else f"no feed found at {url}"


def search(urls: "Sequence[str]", settings: "Settings", arguments: Namespace) -> Searched:
    """Look for feeds over the network."""
    from gossamer.cli.progress import follow
    from gossamer.news.finding import find_feeds

    searched = Searched({url: [] for url in urls}, {})
    with follow(sys.stderr, quiet=arguments.quiet) as on_progress:
        candidates = find_feeds(
            urls,
            settings,
            thorough=arguments.thorough,
            on_progress=on_progress,
            on_trouble=searched.troubles.__setitem__,
        )
    for candidate in candidates:
        searched.feeds[candidate.start].append(candidate)
    return searched


def _found(
    urls: "Sequence[str]", settings: "Settings", arguments: Namespace
) -> "tuple[list[Wish], list[str]]":
    """Return the feeds that were found, and complaints about URLs that lead to none."""
    from gossamer.news.subscribing import wish_of

    searched = search(urls, settings, arguments)
    name = arguments.source or ""
    feeds = searched.feeds
    wishes = [wish_of(each, name) for candidates in feeds.values() for each in candidates]
    return wishes, [searched.complaint(url) for url in feeds if not feeds[url]]


def _line(subscribed: "Subscribed") -> str:
    words = [
        "added" if subscribed.new else "known already",
        subscribed.url,
        subscribed.form,
        f"({subscribed.source})",
        shortened(subscribed.title, _MAX_TITLE),
    ]
    return "  ".join(visible(word) for word in words if word)


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = -1.0
    if not 0 <= hours <= _MAX_HOURS:
        raise ArgumentTypeError(f"{text!r} is not a number of hours from 0 to {_MAX_HOURS:.0f}")
    return hours * _HOUR_SECONDS
