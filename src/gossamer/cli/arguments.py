"""Flags that commands share, and how a command is declared."""

import sys
from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
    _MutuallyExclusiveGroup,
    _SubParsersAction,
)
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from gossamer.cli.terminal import complain

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from gossamer.config.load import Loaded

EXIT_USAGE = 2


# argparse makes one for each flag that it is told of, and would ask for the width of the terminal
# each time, by way of a module that takes 2 ms to load.
_UNSEEN = partial(RawDescriptionHelpFormatter, width=80)


class Parser(ArgumentParser):
    """argparse with our form of complaint: one line, then where to read more."""

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        self.formatter_class = RawDescriptionHelpFormatter
        return super().format_help()

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        """Print the help; that it cannot be written is an error with every Python."""
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and end with the code for bad input."""
        complain(f"{message} (see {self.prog} --help)")
        raise SystemExit(EXIT_USAGE)


# argparse declares it generic for type checkers only.
Commands: TypeAlias = "_SubParsersAction[Parser]"


def new_parser() -> tuple[Parser, Commands]:
    """Return the top parser and the place where commands register."""
    top = Parser(
        prog="gossamer",
        description="A polite, crash-safe web crawler. All state of a crawl lives in one folder.",
        epilog=_examples(
            """
            gossamer crawl https://example.org/ --dir example   crawl one host
            gossamer crawl https://example.org/ --dir example   again: go on where it stopped
            gossamer status --dir example                       what is known so far
            gossamer export --dir example --format jsonl        every URL as a line of JSON
            gossamer COMMAND --help                             flags and examples of a command
            """
        ),
        formatter_class=_UNSEEN,
        allow_abbrev=False,
    )
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands: Commands = top.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    return top, commands


def add_command(
    commands: Commands, name: str, run: Callable[[Namespace], int], *, summary: str, examples: str
) -> Parser:
    """Declare a command: its name, what it does, examples for its help."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=_examples(examples),
        formatter_class=_UNSEEN,
        allow_abbrev=False,
    )
    parser.add_argument("--debug", action="store_true", default=SUPPRESS, help=SUPPRESS)
    parser.set_defaults(run=run)
    return parser


def add_group(commands: Commands, name: str, *, summary: str, examples: str) -> Commands:
    """Declare a command that has commands of its own; return the place where they register."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=_examples(examples),
        formatter_class=_UNSEEN,
        allow_abbrev=False,
    )
    members: Commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    return members


def add_directory(parser: Parser) -> None:
    """Add --dir, the workspace."""
    parser.add_argument(
        "--dir",
        type=folder,
        required=True,
        metavar="WORKSPACE",
        help="the folder that holds all state",
    )


def add_settings(parser: Parser) -> None:
    """Add --config and --set."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings (TOML); see `gossamer config`"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="one setting, e.g. spider.http2=false (repeatable)",
    )


def add_json(parser: Parser | _MutuallyExclusiveGroup, what: str) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help=f"{what} as JSON on standard output")


def add_private(parser: Parser) -> None:
    """Add --allow-private."""
    parser.add_argument(
        "--allow-private", action="store_true", help="lift the address policy: your own network"
    )


def add_workers(parser: Parser) -> None:
    """Add --workers."""
    parser.add_argument(
        "--workers", type=natural, metavar="N", help="worker processes (one for each core); 0: none"
    )


def load_settings(
    arguments: Namespace, overrides: Mapping[str, Mapping[str, object]] | None = None
) -> "Loaded":
    """Return the settings that --config, --set and the named flags make; named flags win."""
    from gossamer.config.load import load_with_origins, parse_assignment

    merged: dict[str, dict[str, object]] = {}
    for assignment in arguments.set:
        table, name, value = parse_assignment(assignment)
        merged.setdefault(table, {})[name] = value
    for table, entries in (overrides or {}).items():
        merged.setdefault(table, {}).update(entries)
    return load_with_origins(arguments.config, merged)


def folder(text: str) -> Path:
    """Read the name of a folder; an empty one, of a variable that is not set, means no folder."""
    if not text:
        raise ArgumentTypeError("the name is empty; give a folder (. is the current one)")
    return Path(text)


def natural(text: str) -> int:
    """Read a whole number that is not negative."""
    return _whole_number(text, least=0)


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    return _whole_number(text, least=1)


def _whole_number(text: str, *, least: int) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return int(text)


def seconds(text: str) -> float:
    """Read a time in seconds: 0, or at least a microsecond."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if number == 0 or 1e-6 <= number <= 86_400:
        return number
    raise ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 86400")


def _examples(text: str) -> str:
    """Indent a block by two; its first line shows by how much it is indented in the source."""
    lines = text.strip("\n").splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(["examples:", *(f"  {line[margin:]}".rstrip() for line in lines)])
