"""The programs `dc-daemon`, `dc-client` and `dc-admin`: commands of `gossamer service` by name."""

import sys
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from textwrap import dedent, indent
from typing import NoReturn

from gossamer.cli import service_admin, service_call, service_start
from gossamer.cli.arguments import EXIT_USAGE, Parser
from gossamer.cli.main import EXIT_BROKEN_PIPE, EXIT_INTERNAL, EXIT_INTERRUPTED
from gossamer.cli.terminal import drop_output
from gossamer.wording import visible


class _Program(Parser):
    """A parser that complains in the program's own name."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line."""
        print(f"{self.prog}: {visible(message)} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(EXIT_USAGE)


def daemon(argv: Sequence[str] | None = None) -> int:
    """Run `dc-daemon`."""
    return _run(_daemon_parser(), service_start.run, argv)


def client(argv: Sequence[str] | None = None) -> int:
    """Run `dc-client`."""
    return _run(_client_parser(), service_call.run, argv)


def admin(argv: Sequence[str] | None = None) -> int:
    """Run `dc-admin`."""
    return _run(_admin_parser(), service_admin.run, argv)


def parsers() -> list[Parser]:
    """Return the parser of each program."""
    return [_daemon_parser(), _client_parser(), _admin_parser()]


def _daemon_parser() -> _Program:
    parser = _parser("dc-daemon", "Run the crawling service.", service_start.EXAMPLES)
    service_start.add_flags(parser)
    return parser


def _client_parser() -> _Program:
    parser = _parser(
        "dc-client", "Have the crawling service carry out one operation.", service_call.EXAMPLES
    )
    service_call.add_flags(parser, short=True)
    return parser


def _admin_parser() -> _Program:
    parser = _parser(
        "dc-admin",
        "Ask or tell the threads of the crawling service something.",
        service_admin.EXAMPLES,
    )
    service_admin.add_flags(parser)
    return parser


def _parser(program: str, description: str, examples: str) -> _Program:
    shown = indent(dedent(examples.format(program=program)).strip("\n"), "  ")
    return _Program(
        prog=program,
        description=description,
        epilog=f"examples:\n{shown}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _run(parser: _Program, run: Callable[[Namespace], int], argv: Sequence[str] | None) -> int:
    try:
        return run(parser.parse_args(argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): end as quietly as other tools do.
        drop_output()
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last border: a bug ends in one line, not a dump
        problem = visible(f"internal error: {type(error).__name__}: {error}")
        print(f"{parser.prog}: {problem}", file=sys.stderr)
        return EXIT_INTERNAL
