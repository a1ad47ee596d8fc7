"""`gossamer news`: feeds, the stories in them, and how both are got."""

from gossamer.cli import (
    news_add,
    news_downloads,
    news_extract,
    news_health,
    news_import,
    news_list,
    news_run,
    news_show,
    news_stories,
    news_switch,
)
from gossamer.cli.arguments import Commands, add_group

_MEMBERS = (
    news_add,
    news_import,
    news_list,
    news_show,
    news_switch,
    news_run,
    news_stories,
    news_health,
    news_downloads,
    news_extract,
)


def register(commands: Commands) -> None:
    """Declare the group and its commands."""
    members = add_group(
        commands,
        "news",
        summary="follow news feeds: subscribe, poll, extract and read stories",
        examples="""
        gossamer news add https://example.org/ --dir press     find the feeds of a site
        gossamer news import feeds.opml --dir press            or take a list of feeds
        gossamer news run --dir press                          poll them until stopped
        gossamer news stories --since 7d --dir press           what has come of it
        gossamer news health --dir press                       and why a feed is quiet
        gossamer news COMMAND --help                           flags and examples of a command
        """,
    )
    for member in _MEMBERS:
        member.register(members)
