"""`gossamer service call` and `dc-client`: have the service carry out one operation."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.cli.arguments import Commands, add_command, seconds
from gossamer.cli.terminal import drop_output, print_whole
from gossamer.service.names import CLIENT_COMMANDS
from gossamer.wording import visible

if TYPE_CHECKING:
    from gossamer.daemons.endpoints import Endpoint
    from gossamer.objects.answers import ClientResponse
    from gossamer.objects.enumerations import Operation
    from gossamer.service.curve import ClientKeys
    from gossamer.service.settings import ServiceSettings

PROGRAM = "dc-client"
# Exit codes of the client; 0 is for an answer without an error.
EXIT_DATA, EXIT_USAGE, EXIT_UNEXPECTED, EXIT_OBJECT, EXIT_START = 1, 2, 3, 4, 5
_PORT = 5504
EXAMPLES = """
        {program} --command SITE_NEW --file site-new.json --config dc-daemon.ini
        {program} --command SITE_STATUS --fields '{{"id": "..."}}' --config dc-daemon.ini
        {program} --command URL_NEW --file url-new.json --dcc_clientHost 127.0.0.1
        {program} --command SITE_FIND --file site-find.json --merge 0 \\
            --dcc_clientHost 10.0.0.11:5504,10.0.0.12:5504

        The answer is JSON. Exit codes: 0 done, 1 a file, its JSON, the network or the answer,
        2 arguments or configuration, 3 an error of the program, 4 the object, 5 keys or libraries.
        """


class CallError(Exception):
    """A call ends with this exit code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "call",
        run,
        summary="have the crawling service carry out one operation",
        examples=EXAMPLES.format(program="gossamer service call"),
    )
    add_flags(parser)


def add_flags(parser: ArgumentParser, *, short: bool = False) -> None:
    """Add the flags of the client; with `short`, also the short forms that scripts know."""

    def names(long: str, brief: str) -> list[str]:
        return [long, brief] if short else [long]

    parser.add_argument(
        *names("--command", "-cmd"), required=True, choices=CLIENT_COMMANDS, help="the operation"
    )
    parser.add_argument(
        *names("--file", "-f"), type=Path, metavar="FILE", help="the object of the operation (JSON)"
    )
    parser.add_argument(
        *names("--fields", "-ff"), metavar="JSON", help="fields on top of those in the file"
    )
    parser.add_argument(
        "--mode",
        type=int,
        choices=(0, 1, 2),
        default=0,
        help="how fields are applied: 0 replaces them, 1 replaces nested ones that are there, "
        "2 adds, and appends to lists",
    )
    parser.add_argument(
        *names("--merge", "-mrg"),
        type=_switch,
        default=True,
        metavar="N",
        help="merge the answers of all nodes (1), or show each (0)",
    )
    parser.add_argument(
        *names("--config", "-c"),
        type=Path,
        metavar="FILE",
        help="configuration (ini) with a section [Client]",
    )
    parser.add_argument(
        "--dcc_timeout", type=patience, metavar="SECONDS", help="how long to wait for an answer"
    )
    parser.add_argument(
        "--dcc_clientHost", metavar="HOSTS", help="where the service is: HOST or HOST:PORT,…"
    )
    parser.add_argument(
        "--dcc_clientPort",
        type=int,
        metavar="PORT",
        help=f"its port for clients ({_PORT}); wins over those in the configuration",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the answer there")
    parser.add_argument("-e", "--errors", type=Path, metavar="FILE", help="write complaints there")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what is done")


def run(arguments: Namespace) -> int:
    """Call, print the answer, and return the exit code of the client."""
    try:
        response = _call(arguments)
        _print(arguments.output, _json(response))
    except CallError as error:
        _complain(arguments, str(error))
        return error.code
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - the client's own code for what nobody expected
        _complain(arguments, f"internal error: {type(error).__name__}: {error}")
        return EXIT_UNEXPECTED
    from gossamer.service.exchange import complaint, is_good, refusal

    problem = refusal(response) if is_good(response) else complaint(response)
    if problem is None:
        return 0
    _complain(arguments, problem)
    return EXIT_DATA


def _call(arguments: Namespace) -> "ClientResponse":
    settings = client_settings(arguments.config, PROGRAM, needed=not arguments.dcc_clientHost)
    nodes = _nodes(arguments, settings)
    timeout = arguments.dcc_timeout or settings.client.timeout_seconds
    operation, payload = _request(arguments)
    keys = client_keys(settings)
    if arguments.verbose:
        _complain(arguments, f"asks {', '.join(map(str, nodes))} for {operation.name}")
    from gossamer.errors import ServiceError
    from gossamer.service.calling import call

    try:
        return call(
            nodes,
            operation,
            payload,
            timeout_seconds=timeout,
            merge=arguments.merge,
            keys=keys,
        )
    except ServiceError as error:
        raise CallError(EXIT_DATA, str(error)) from error


def client_settings(config: Path | None, program: str, *, needed: bool) -> "ServiceSettings":
    """Return the configuration of a client; without one, the defaults if it is not needed."""
    from gossamer.errors import ConfigError, InputError

    try:
        from gossamer.service.ini import UnreadableError, find, load
    except InputError as error:
        raise CallError(EXIT_START, str(error)) from error
    try:
        if config is None and not needed:
            from gossamer.service.settings import ServiceSettings

            return ServiceSettings()
        return load(config or find(program))
    except UnreadableError as error:
        raise CallError(EXIT_DATA, str(error)) from error
    except ConfigError as error:
        raise CallError(EXIT_USAGE, str(error)) from error


def client_keys(settings: "ServiceSettings") -> "ClientKeys | None":
    """Return the keys of a client; what cannot be loaded is a failed start."""
    from gossamer.errors import GossamerError

    try:
        from gossamer.service.curve import load_client_keys

        return load_client_keys(settings.client, settings.folder)
    except GossamerError as error:
        raise CallError(EXIT_START, str(error)) from error


def _nodes(arguments: Namespace, settings: "ServiceSettings") -> "list[Endpoint]":
    from gossamer.errors import InputError
    from gossamer.service.exchange import parse_node

    port = arguments.dcc_clientPort
    hosts = settings.client.hosts
    if arguments.dcc_clientHost:
        hosts = tuple(host.strip() for host in arguments.dcc_clientHost.split(",") if host.strip())
    elif port is not None:
        # The same host may be there with several ports.
        hosts = tuple(dict.fromkeys(host.rpartition(":")[0] for host in hosts))
    try:
        return [parse_node(_with_port(host, port)) for host in hosts]
    except InputError as error:
        raise CallError(EXIT_USAGE, str(error)) from error


def _with_port(host: str, port: int | None) -> str:
    has_port = host.rpartition(":")[2].isdecimal() and (host.count(":") == 1 or "]:" in host)
    if has_port:
        return host
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{name}:{_PORT if port is None else port}"


def _request(arguments: Namespace) -> "tuple[Operation, object]":
    """Return the operation and its object, made from file and fields."""
    from gossamer.errors import InputError
    from gossamer.objects.coding import decode
    from gossamer.objects.problems import ObjectError
    from gossamer.service.envelope import operation_of
    from gossamer.service.fields import DataError

    if arguments.file is None and arguments.fields is None:
        raise CallError(EXIT_USAGE, "name the object of the operation with --file or --fields")
    operation = operation_of(arguments.command)
    try:
        return operation, decode(operation, _data(arguments))
    except DataError as error:
        raise CallError(EXIT_DATA, str(error)) from error
    except ObjectError as error:
        raise CallError(EXIT_OBJECT, str(error)) from error
    except InputError as error:
        raise CallError(EXIT_USAGE, str(error)) from error


def _data(arguments: Namespace) -> Any:
    from gossamer.service.fields import apply_fields, fill_from_files, parse_json, read_json

    data = None
    if arguments.file is not None:
        data = fill_from_files(read_json(arguments.file), arguments.file.parent)
    if arguments.fields is not None:
        fields = fill_from_files(parse_json(arguments.fields, "--fields"), Path())
        data = apply_fields(data, fields, arguments.mode)
    return data


def _json(response: "ClientResponse") -> str:
    from gossamer.objects.coding import dumps

    return dumps(response)


def _print(path: Path | None, text: str) -> None:
    if path is None:
        print_answer(text)
        return
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CallError(EXIT_DATA, f"cannot write {path}: {error.strerror}") from error


def print_answer(text: str) -> None:
    """Print an answer; a reader who went away is left to the program as a whole."""
    try:
        print_whole(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise CallError(EXIT_DATA, f"cannot write the answer: {error.strerror}") from error


def _complain(arguments: Namespace, text: str) -> None:
    line = f"{PROGRAM}: {visible(text)}"
    if arguments.errors is not None:
        try:
            with arguments.errors.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError:
            pass  # Then it is said where it is said otherwise.
        else:
            return
    print(line, file=sys.stderr)


def patience(text: str) -> float:
    """Read how long to wait for an answer: some time at least."""
    if found := seconds(text):
        return found
    raise ArgumentTypeError("0 seconds leave no time for an answer")


def _switch(text: str) -> bool:
    """Read --merge: any number above zero, or true, merges."""
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return float(text) > 0
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number, true or false") from None
