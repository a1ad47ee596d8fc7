"""`gossamer news enable`, `disable`, `remove`: which feeds are polled."""

import time
from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, add_command, add_directory
from gossamer.errors import InputError
from gossamer.wording import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.catalog.news_catalog import NewsCatalog
    from gossamer.catalog.subscriptions import FeedRow, SourceRow


def register(commands: Commands) -> None:
    """Declare the three commands."""
    enable = add_command(
        commands,
        "enable",
        run_enable,
        summary="poll sources or feeds again, those that were given up, too",
        examples="""
        gossamer news enable example.org --dir press
        gossamer news enable https://example.org/feed.xml --dir press
        """,
    )
    disable = add_command(
        commands,
        "disable",
        run_disable,
        summary="stop polling sources or feeds; nothing is forgotten",
        examples="""
        gossamer news disable example.org --dir press
        gossamer news disable https://example.org/feed.xml --why 'sports only' --dir press
        """,
    )
    remove = add_command(
        commands,
        "remove",
        run_remove,
        summary="forget sources or feeds; their stories stay",
        examples="""
        gossamer news remove https://example.org/feed.xml --dir press
        gossamer news remove example.org --dir press       a source with all its feeds
        """,
    )
    for parser in (enable, disable, remove):
        parser.add_argument(
            "names", nargs="+", metavar="SOURCE|FEED", help="the name of a source, a feed's URL"
        )
        add_directory(parser)
    disable.add_argument(
        "--why", default="disabled by hand", metavar="TEXT", help="what `news health` says of it"
    )


def run_enable(arguments: Namespace) -> int:
    """Poll what is named."""

    def source(catalog: "NewsCatalog", found: "SourceRow") -> None:
        from gossamer.catalog.subscriptions import feeds_of

        # A source that is polled again is meant with all its feeds.
        ids = [feed.feed_id for feed in feeds_of(catalog.database, found.source_id)]
        catalog.set_source_enabled(found.source_id, True, time.time())
        catalog.set_feeds_enabled(ids, True, time.time())

    def feeds(catalog: "NewsCatalog", found: "Sequence[FeedRow]") -> None:
        from gossamer.cli.news_workspace import tell_disabled

        ids = [feed.feed_id for feed in found]
        catalog.set_feeds_enabled(ids, True, time.time())
        tell_disabled(catalog, ids, arguments.dir)

    return _each(arguments, "enabled", source, feeds)


def run_disable(arguments: Namespace) -> int:
    """Do not poll what is named."""

    def source(catalog: "NewsCatalog", found: "SourceRow") -> None:
        catalog.set_source_enabled(found.source_id, False, time.time())

    def feeds(catalog: "NewsCatalog", found: "Sequence[FeedRow]") -> None:
        ids = [feed.feed_id for feed in found]
        catalog.set_feeds_enabled(ids, False, time.time(), why=arguments.why)

    return _each(arguments, "disabled", source, feeds)


def run_remove(arguments: Namespace) -> int:
    """Forget what is named."""

    def source(catalog: "NewsCatalog", found: "SourceRow") -> None:
        catalog.remove_source(found.source_id)

    def feeds(catalog: "NewsCatalog", found: "Sequence[FeedRow]") -> None:
        for feed in found:
            catalog.remove_feed(feed.feed_id)

    return _each(arguments, "removed", source, feeds)


def _each(
    arguments: Namespace,
    done: str,
    to_source: "Callable[[NewsCatalog, SourceRow], None]",
    to_feeds: "Callable[[NewsCatalog, Sequence[FeedRow]], None]",
) -> int:
    """Do something to each source or feed that is named, or nothing if one is not known."""
    from gossamer.catalog.subscriptions import source_named
    from gossamer.cli.news_workspace import change_news, known_feeds

    with change_news(arguments.dir) as catalog:
        named = [
            (name, source_named(catalog.database, name), known_feeds(catalog, name))
            for name in arguments.names
        ]
        for name, source, feeds in named:
            if source is None and not feeds:
                raise InputError(
                    f"{name} is neither a source nor a feed in {arguments.dir}; nothing was "
                    f"changed; list all with: gossamer news list --dir {quote(str(arguments.dir))}"
                )
        for name, source, feeds in named:
            if source is not None:
                to_source(catalog, source)
            else:
                to_feeds(catalog, feeds)
            print(f"{done} {visible(name)}")
    return 0
