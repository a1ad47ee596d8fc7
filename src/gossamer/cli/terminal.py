"""Text for people: coloured on a terminal, plain in a pipe, and never able to steer either.

Everything that came from the web passes `visible` before it is printed: control characters, escape
sequences, line breaks and the invisible characters that turn the direction of text become escapes.
"""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Inside a JSON text these can stand only in strings, so an escape there means the same.
_UNSAFE_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


class Section(NamedTuple):
    """A titled table; numbers stand to the right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]


def visible(text: str) -> str:
    """Return the text with every character that does not print shown as an escape."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _escape(character) for character in text
    )


def visible_lines(text: str) -> str:
    """Return the text with line breaks and tabs kept and all else as `visible` does."""
    return "\n".join(
        "\t".join(visible(cell) for cell in line.split("\t"))
        for line in text.replace("\r\n", "\n").split("\n")
    )


def safe_json(text: str) -> str:
    """Return JSON text without raw control or direction characters; it means the same."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE_IN_JSON.sub(lambda found: _json_escape(found[0]), text)


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    import msgspec

    encoded = msgspec.json.format(msgspec.json.encode(value), indent=2)
    print(safe_json(encoded.decode()))


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


def bytes_in_words(count: float) -> str:
    """Write a size: 512 B, 1.5 kB, 20 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def seconds_in_words(seconds: float) -> str:
    """Write a duration: 3.2 s, 4 min 5 s, 2 h 3 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


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


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
