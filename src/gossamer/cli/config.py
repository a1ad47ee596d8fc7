"""`gossamer config`: the effective settings with their documentation."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, add_command, add_json, add_settings, load_settings
from gossamer.cli.terminal import (
    Section,
    is_terminal,
    print_json,
    print_sections,
    print_whole,
)

if TYPE_CHECKING:
    from gossamer.config.describe import Row


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "config",
        run,
        summary="print the effective settings with their documentation",
        examples="""
        gossamer config                              all settings and their defaults
        gossamer config > gossamer.toml              a file to edit, for --config
        gossamer config --config gossamer.toml       check a file and show what it makes
        gossamer config --markdown                   the reference page of the documentation
        """,
    )
    add_settings(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--toml", action="store_true", help="as a file, also on a terminal")
    form.add_argument("--markdown", action="store_true", help="as the reference page")
    add_json(form, "the settings")


def run(arguments: Namespace) -> int:
    """Print the settings: a table on a terminal, a valid file in a pipe."""
    from gossamer.config.describe import rows, to_markdown, to_toml

    all_rows = rows(load_settings(arguments))
    if arguments.json:
        print_json(all_rows)
    elif arguments.markdown:
        print_whole(to_markdown(all_rows).removesuffix("\n"))
    elif arguments.toml or not is_terminal(sys.stdout):
        print_whole(to_toml(all_rows).removesuffix("\n"))
    else:
        print_sections(_sections(all_rows))
    return 0


def _sections(all_rows: "list[Row]") -> list[Section]:
    from gossamer.config.describe import toml_value
    from gossamer.config.schema import tables

    return [
        Section(
            f"[{table}]",
            ("setting", "value", "from", "meaning"),
            [
                (row.name, toml_value(row.value), row.origin, _meaning(row))
                for row in all_rows
                if row.table == table
            ],
        )
        for table in tables()
    ]


def _meaning(row: "Row") -> str:
    allowed = f"{row.type}, {row.allowed}" if row.allowed else row.type
    also = f"; also {row.source_name}" if row.source_name else ""
    return f"{row.description} ({allowed}{also})"
