"""Text for people: coloured on a terminal, plain in a pipe, and never able to steer either."""

import os
import sys
from codecs import lookup
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from gossamer.wording import safe_json, visible

if TYPE_CHECKING:
    from rich.console import Console


class Section(NamedTuple):
    """A titled table; numbers stand to the right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]


def visible_lines(text: str) -> str:
    """Return the text with line breaks and tabs kept and all else as `visible` does."""
    return "\n".join(
        "\t".join(visible(cell) for cell in line.split("\t"))
        for line in text.replace("\r\n", "\n").split("\n")
    )


def print_json(value: object) -> None:
    """Print a value as indented JSON, in UTF-8 whatever the terminal's encoding."""
    import msgspec

    encoded = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.flush()
    sys.stdout.buffer.write(safe_json(encoded) + b"\n")


def print_whole(text: str) -> None:
    """Print a text in UTF-8, whatever the terminal's encoding; when this returns, it is out."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.buffer.flush()


def complain(message: str) -> None:
    """Say in one line what is wrong; if nobody can be told, the exit code still says it."""
    try:
        print(f"gossamer: {visible(message)}", file=sys.stderr, flush=True)
    except OSError:
        drop_output(sys.stderr)


def remind(secrets: Sequence[str], how: str) -> None:
    """Say what a workspace does not keep, and how it may be given again."""
    if secrets:
        names = ", ".join(secrets)
        complain(f"not kept from an earlier run, give it again {how} if it is needed: {names}")


def drop_output(stream: TextIO | None = None) -> None:
    """Give up what is still to be written, so that ending does not try, and fail, once more."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, (stream or sys.stdout).fileno())
    os.close(devnull)


def print_sections(sections: Iterable[Section], stream: TextIO | None = None) -> None:
    """Print titled tables: drawn on a terminal, as aligned columns in a pipe."""
    out = stream or sys.stdout
    if is_terminal(out):
        _print_drawn(sections, out)
    else:
        for number, section in enumerate(sections):
            print(("\n" if number else "") + _aligned(section), file=out)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at this stream through a terminal that understands colours."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def can_draw(stream: TextIO) -> bool:
    """Whether lines, icons and bars appear there as what they are."""
    return is_terminal(stream) and lookup(stream.encoding).name == "utf-8"


def console_on(stream: TextIO) -> "Console":
    """Return a console that writes no colours when NO_COLOR is set."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=stream,
        color_system=None if plain else "auto",
        highlight=False,
        markup=False,
        emoji=False,
    )


def cell(value: object) -> str:
    """Write one value for a table."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
    return visible(str(value))


def _aligned(section: Section) -> str:
    rows = [[cell(value) for value in row] for row in section.rows]
    table = [list(section.header), *rows] if any(section.header) else rows
    widths = [max(len(line[column]) for line in table) for column in range(len(section.header))]
    right = _numeric_columns(section)
    lines = [section.title] if section.title else []
    for line in table:
        padded = (
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append(("  " + "  ".join(padded)).rstrip())
    return "\n".join(lines)


def _numeric_columns(section: Section) -> frozenset[int]:
    return frozenset(
        column
        for column in range(len(section.header))
        if section.rows and all(isinstance(row[column], int | float | None) for row in section.rows)
    )


def _print_drawn(sections: Iterable[Section], out: TextIO) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = console_on(out)
    for section in sections:
        table = Table(
            title=section.title or None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            show_header=any(section.header),
            header_style="dim",
        )
        right = _numeric_columns(section)
        for column, name in enumerate(section.header):
            table.add_column(name, justify="right" if column in right else "left", overflow="fold")
        for row in section.rows:
            table.add_row(*(Text(cell(value)) for value in row))
        console.print(table)
