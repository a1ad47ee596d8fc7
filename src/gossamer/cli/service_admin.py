"""`gossamer service admin` and `dc-admin`: statistics, settings and the end of the service."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, add_command
from gossamer.cli.service_call import (
    EXIT_DATA,
    EXIT_USAGE,
    CallError,
    client_keys,
    client_settings,
    patience,
    print_answer,
)
from gossamer.service.names import ADMIN_COMMANDS
from gossamer.wording import safe_json, visible

if TYPE_CHECKING:
    from gossamer.service.envelope import AdminRequest

PROGRAM = "dc-admin"
EXAMPLES = """
        {program} --cmd STAT --config dc-daemon.ini
        {program} --cmd STAT --fields RAMR,THREADS --classes AdminInterfaceServer
        {program} --cmd GET --fields '*' --classes BatchTasksManager
        {program} --cmd SET --fields LOG_LEVEL:debug,POLL_TIMEOUT:500 --classes URLManager
        {program} --cmd SUSPEND --fields 1 --classes BatchTasksManager
        {program} --cmd STOP

        The answer is a JSON list with a pair [object, error] for each class.
        """


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "admin",
        run,
        summary="ask or tell the threads of the crawling service something",
        examples=EXAMPLES.format(program="gossamer service admin"),
    )
    add_flags(parser)


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags of the administrator's program."""
    parser.add_argument("--cmd", required=True, choices=ADMIN_COMMANDS, help="the command")
    parser.add_argument(
        "--fields",
        default="",
        metavar="LIST",
        help="names, of SET name:value pairs, of SUSPEND 1 or 0, of SQL_CUSTOM the statement",
    )
    parser.add_argument(
        "--classes", default="", metavar="LIST", help="thread classes; of GET and SET a must"
    )
    parser.add_argument(
        "--config", "-c", type=Path, metavar="FILE", help="configuration (ini) with [Client]"
    )
    parser.add_argument("--host", metavar="HOST:PORT", help="the service's port for administration")
    parser.add_argument("--timeout", type=patience, metavar="SECONDS", help="how long to wait")


def run(arguments: Namespace) -> int:
    """Ask, print the answer, and return the exit code."""
    try:
        return _ask(arguments)
    except CallError as error:
        print(f"{PROGRAM}: {visible(str(error))}", file=sys.stderr)
        return error.code


def _ask(arguments: Namespace) -> int:
    import msgspec

    from gossamer.errors import GossamerError, InputError

    settings = client_settings(arguments.config, PROGRAM, needed=not arguments.host)
    keys = client_keys(settings)
    from gossamer.service.calling import ask
    from gossamer.service.exchange import parse_node

    try:
        node = parse_node(arguments.host or settings.client.admin_host)
        answer = ask(
            node,
            _request(arguments),
            timeout_seconds=arguments.timeout or settings.client.timeout_seconds,
            keys=keys,
        )
    except InputError as error:
        raise CallError(EXIT_USAGE, str(error)) from error
    except GossamerError as error:
        raise CallError(EXIT_DATA, str(error)) from error
    encoded = msgspec.json.encode(answer.pairs, order="sorted")
    print_answer(safe_json(msgspec.json.format(encoded, indent=4)).decode())
    return EXIT_DATA if any(error for _, error in answer.pairs) else 0


def _request(arguments: Namespace) -> "AdminRequest":
    from gossamer.errors import InputError
    from gossamer.service.envelope import AdminRequest
    from gossamer.service.fields import parse_assignments, parse_names

    classes = parse_names(arguments.classes)
    if arguments.cmd in {"GET", "SET"} and not (classes and arguments.fields):
        raise InputError(f"{arguments.cmd} needs --fields and --classes")
    match arguments.cmd:
        case "SET":
            return AdminRequest("SET", classes, parse_assignments(arguments.fields))
        case "SQL_CUSTOM":
            if not arguments.fields:
                raise InputError("SQL_CUSTOM needs a statement in --fields")
            return AdminRequest("SQL_CUSTOM", classes, [arguments.fields])
    return AdminRequest(arguments.cmd, classes, parse_names(arguments.fields))
