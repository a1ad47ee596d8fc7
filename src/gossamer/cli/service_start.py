"""`gossamer service start` and `dc-daemon`: run the crawling service."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from gossamer.cli.arguments import Commands, add_command
from gossamer.wording import visible

EXAMPLES = """
        {program} --config dc-daemon.ini
        {program} --config dc-daemon.ini --name north
        {program} --config dc-daemon.ini --daemon

        Without --config: dc-daemon.ini in this folder, or /etc/dc-daemon/dc-daemon.ini.
        SIGTERM, Ctrl-C or STOP of an administrator end it, with exit code 0.
        """


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "start",
        run,
        summary="run the crawling service",
        examples=EXAMPLES.format(program="gossamer service start"),
    )
    add_flags(parser)


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags of the daemon."""
    parser.add_argument("--config", "-c", type=Path, metavar="FILE", help="configuration (ini)")
    parser.add_argument(
        "--name", "-n", metavar="NAME", help="name of the instance; wins over the configuration"
    )
    parser.add_argument("--daemon", action="store_true", help="go into the background")


def run(arguments: Namespace) -> int:
    """Serve; a configuration that cannot be used ends with exit code 1, and starts nothing."""
    from gossamer.errors import GossamerError

    try:
        from gossamer.service.daemon import run_daemon

        return run_daemon(arguments.config, arguments.name, background=arguments.daemon)
    except GossamerError as error:
        print(f"dc-daemon: {visible(str(error))}", file=sys.stderr)
        return 1
