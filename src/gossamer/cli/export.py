"""`gossamer export`: what is known, for other programs, line by line and in constant memory."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from gossamer.cli.arguments import Commands, add_command, add_directory
from gossamer.errors import InputError

_BUFFER_BYTES = 1 << 18
_STANDARD_OUTPUT = Path("-")


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

    with open_workspace(arguments.dir) as catalog, open_output(arguments.output) as out:
        archive = Workspace(arguments.dir).archive
        for line in lines(arguments.format, catalog, archive):
            out.write(line)
    return 0


@contextmanager
def open_output(path: Path | None) -> Iterator[BinaryIO]:
    """Give standard output, or a file that is there only when it is complete."""
    if path is None or path == _STANDARD_OUTPUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with _replacing(path) as file:
            yield file


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of `path` only when it is complete and on the disk."""
    if path.exists() and not path.is_file():
        # A device or a pipe, such as /dev/null, must stay what it is.
        with _opened(path, "wb", path) as file:
            yield file
        return
    # A link stays a link: what it leads to is replaced.
    final = path.resolve() if path.is_symlink() else path
    temporary = final.with_name(f".{final.name}.{os.getpid()}.part")
    file = _opened(temporary, "xb", path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _opened(path: Path, mode: Literal["wb", "xb"], named: Path) -> BinaryIO:
    try:
        return path.open(mode, buffering=_BUFFER_BYTES)
    except OSError as error:
        raise InputError(f"cannot write {named}: {error.strerror}") from error
