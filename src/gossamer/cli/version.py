"""`gossamer version`: which gossamer this is."""

from argparse import Namespace

from gossamer.cli.arguments import Commands, add_command, add_json


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "version",
        run,
        summary="print the version",
        examples="""
        gossamer version
        gossamer version --json
        """,
    )
    add_json(parser, "the versions")


def run(arguments: Namespace) -> int:
    """Print the version."""
    import platform

    import gossamer
    from gossamer.cli.terminal import print_json

    number = gossamer.__version__
    if arguments.json:
        print_json({"gossamer": number, "python": platform.python_version()})
    else:
        print(f"gossamer {number}")
    return 0
