"""`gossamer service`: run the crawling service, call it, administer it."""

from gossamer.cli import service_admin, service_call, service_keys, service_start
from gossamer.cli.arguments import Commands, add_group

_MEMBERS = (service_start, service_call, service_admin, service_keys)


def register(commands: Commands) -> None:
    """Declare the group and its commands."""
    members = add_group(
        commands,
        "service",
        summary="run, call and administer the crawling service",
        examples="""
        gossamer service start --config dc-daemon.ini
        gossamer service call --command SITE_NEW --file site-new.json --config dc-daemon.ini
        gossamer service admin --cmd STAT --config dc-daemon.ini
        gossamer service COMMAND --help                        flags and examples of a command

        dc-daemon, dc-client and dc-admin are the same three commands under names of their own.
        """,
    )
    for member in _MEMBERS:
        member.register(members)
