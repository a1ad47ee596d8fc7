"""`gossamer export`: what is known, for other programs, line by line and in constant memory."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gossamer.cli.arguments import Commands, add_command, add_directory
from gossamer.errors import InputError, StoreError
from gossamer.wording import count_in_words

if TYPE_CHECKING:
    from gossamer.store.verify import Report

_STANDARD_OUTPUT = Path("-")
_PLACES = 3
"""So many places of damage are named."""


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "export",
        run,
        summary="write every known URL, the archive's index, the link graph, or records",
        examples="""
        gossamer export --dir example --format jsonl -o urls.jsonl     one object a URL
        gossamer export --dir example --format csv -o urls.csv         for a spreadsheet
        gossamer export --dir example --format cdxj -o index.cdxj      for replay tools
        gossamer export --dir example --format links                   source TAB target
        gossamer export --dir example --format records                 what your handlers made
        gossamer export --dir example --format jsonl | head -1
        """,
    )
    add_directory(parser)
    parser.add_argument(
        "--format",
        choices=("jsonl", "csv", "cdxj", "links", "records"),
        default="jsonl",
        help="(jsonl)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a file, complete or not there at all"
    )


def run(arguments: Namespace) -> int:
    """Stream the records to a file or to standard output."""
    from gossamer.cli.formats import lines
    from gossamer.cli.reading import open_workspace
    from gossamer.crawl.workspace import Workspace
    from gossamer.store.verify import Report

    report, workspace = Report(), Workspace(arguments.dir)
    if arguments.output is not None and workspace.owns(arguments.output):
        raise InputError(
            f"cannot write {arguments.output}: it is a part of the workspace; choose another file"
        )
    with open_workspace(arguments.dir) as catalog, open_output(arguments.output) as out:
        for line in lines(arguments.format, catalog, workspace.archive, report):
            out.write(line)
    if not report.sound:
        # Only now: what can be read is there, in a file, too.
        raise StoreError(_damage(arguments.dir, report))
    return 0


def _damage(directory: Path, report: "Report") -> str:
    places = [
        f"{fault.file} at byte {fault.offset} {fault.url}".rstrip() + f": {fault.problem}"
        for fault in report.faults[:_PLACES]
    ]
    if report.fault_count > _PLACES:
        places.append(f"and {report.fault_count - _PLACES:,} more")
    return (
        f"the archive of {directory} is damaged in {count_in_words(report.fault_count, 'place')}: "
        f"{', '.join(places)}; all that can be read was written; "
        "restore the files from a copy and export again"
    )


@contextmanager
def open_output(path: Path | None) -> Iterator[BinaryIO]:
    """Give standard output, or a file that is there only when it is complete."""
    if path is None or path == _STANDARD_OUTPUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        from gossamer.store.output import whole_file

        with whole_file(path) as file:
            yield file
