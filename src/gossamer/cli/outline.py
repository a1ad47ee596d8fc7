"""What the parser knows, as data: for completion scripts and the reference page."""

from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from typing import NamedTuple

_PLACES = {
    "--dir": "directory",
    "--keep": "directory",
    "--resume": "directory",
    "--config": "file",
    "--compare": "file",
    "--capture": "file",
    "--file": "file",
    "-o": "file",
    "--output": "file",
}


class Flag(NamedTuple):
    """One flag of a command."""

    name: str
    help: str
    takes: str
    """Nothing (empty), `value`, `file`, `directory`, or the choices separated by spaces."""
    shown: str
    """The value as the help writes it: N, FILE, {jsonl,csv} …"""


class Argument(NamedTuple):
    """Something that is written without a flag."""

    shown: str
    help: str
    choices: tuple[str, ...]


class Command(NamedTuple):
    """One command; the name of a member of a group begins with that of the group."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    arguments: tuple[Argument, ...]
    examples: str

    @property
    def words(self) -> tuple[str, ...]:
        """What may be written without a flag, where that is a choice."""
        return tuple(word for argument in self.arguments for word in argument.choices)


def outline(parser: ArgumentParser) -> tuple[Command, ...]:
    """Return the commands of a parser in their order, the members of a group after it."""
    found = tuple(_commands(parser, ""))
    if not found:
        raise TypeError("the parser has no commands")
    return found


def program(parser: ArgumentParser) -> Command:
    """Return a program without commands as if it were one."""
    return Command(
        parser.prog,
        parser.description or "",
        tuple(_flags(parser)),
        tuple(_arguments(parser)),
        parser.epilog or "",
    )


def _commands(parser: ArgumentParser, group: str) -> Iterator[Command]:
    for action in _actions(parser):
        if isinstance(action, _SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._get_subactions()}  # noqa: SLF001 - argparse has no public way to list commands
            for name, child in action.choices.items():
                yield Command(
                    group + name,
                    helps[name],
                    tuple(_flags(child)),
                    tuple(_arguments(child)),
                    child.epilog or "",
                )
                yield from _commands(child, f"{group}{name} ")


def _flags(parser: ArgumentParser) -> Iterator[Flag]:
    for action in _actions(parser):
        if action.help != SUPPRESS:
            for name in action.option_strings:
                yield Flag(name, action.help or "", _takes(action), _shown(action))


def _arguments(parser: ArgumentParser) -> Iterator[Argument]:
    for action in _actions(parser):
        if not action.option_strings:
            choices = tuple(str(choice) for choice in action.choices or ())
            yield Argument(_shown(action), action.help or "", choices)


def _takes(action: Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices:
        return " ".join(str(choice) for choice in action.choices)
    places = (_PLACES[name] for name in action.option_strings if name in _PLACES)
    return next(places, "value")


def _shown(action: Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices:
        return "|".join(str(choice) for choice in action.choices)
    return action.dest.upper()


def _actions(parser: ArgumentParser) -> list[Action]:
    return parser._actions  # noqa: SLF001 - argparse has no public way to list what it knows
