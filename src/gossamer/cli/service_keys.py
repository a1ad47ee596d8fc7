"""`gossamer service keys`: make a pair of keys for encrypted connections."""

from argparse import Namespace
from pathlib import Path

from gossamer.cli.arguments import Commands, add_command


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "keys",
        run,
        summary="make a pair of keys for the service, or for one that may connect to it",
        examples="""
        gossamer service keys server --folder keys            for [Server] curve_secret_key_file
        gossamer service keys alice --folder keys/clients     for [Server] curve_clients_dir

        NAME.key may be shown to everybody, NAME.key_secret to nobody.
        """,
    )
    parser.add_argument("name", metavar="NAME", help="whose keys they are")
    parser.add_argument(
        "--folder", type=Path, default=Path(), metavar="FOLDER", help="where to write them"
    )


def run(arguments: Namespace) -> int:
    """Make them, and say where they are."""
    from gossamer.service.curve import make_keys

    for path in make_keys(arguments.folder, arguments.name):
        print(path)
    return 0
