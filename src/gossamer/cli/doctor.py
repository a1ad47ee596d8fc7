"""`gossamer doctor`: check the installation, the machine and a workspace, and say what to do."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_json,
    add_settings,
    folder,
    load_settings,
)
from gossamer.cli.terminal import Section, print_json, print_sections

if TYPE_CHECKING:
    from gossamer.cli.checks import Check

EXIT_PROBLEM = 1


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "doctor",
        run,
        summary="check installation, limits, clock, DNS, disk and a workspace, and say what to do",
        examples="""
        gossamer doctor                       the machine
        gossamer doctor --dir example         the machine and a workspace (reads all of its archive)
        gossamer doctor --offline             without a DNS question

        Exit codes: 0 nothing is wrong (warnings are allowed); 1 something is.
        """,
    )
    parser.add_argument(
        "--dir", type=folder, metavar="WORKSPACE", help="also check this workspace, in full"
    )
    parser.add_argument(
        "--dns-name",
        default="example.org",
        metavar="NAME",
        help="what to ask for (example.org)",
    )
    parser.add_argument("--offline", action="store_true", help="ask no name server")
    add_settings(parser)
    add_json(parser, "the findings")


def run(arguments: Namespace) -> int:
    """Run every check; fail if one found a problem."""
    from gossamer.cli import checks

    settings = load_settings(arguments).settings
    found = checks.machine(arguments.dir or Path(), settings)
    if not arguments.offline:
        found.append(checks.dns(arguments.dns_name, settings))
    if arguments.dir is not None:
        found += checks.workspace(arguments.dir, settings)
    wrong = any(check.level == checks.PROBLEM for check in found)
    if arguments.json:
        print_json({"ok": not wrong, "checks": found})
    else:
        _print(found)
    return EXIT_PROBLEM if wrong else 0


def _print(found: "list[Check]") -> None:
    rows = [(check.level, check.name, check.found) for check in found]
    print_sections([Section("", ("", "check", "found"), rows)])
    advice = [(check.level, check.name, check.advice) for check in found if check.advice]
    if advice:
        print()
        print_sections([Section("What to do", ("", "check", "advice"), advice)])
    sys.stdout.flush()
