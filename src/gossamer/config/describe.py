"""Settings for people: as a commented TOML file, as rows for a table, as a reference page."""

import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from msgspec import Struct

from gossamer.config.load import DEFAULT, Loaded
from gossamer.config.schema import Key, struct_of, tables

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Row(Struct, frozen=True):
    """One setting with its documentation, its value and where the value came from."""

    table: str
    name: str
    source_name: str | None
    type: str
    allowed: str
    description: str
    default: Any
    value: Any
    origin: str


def rows(loaded: Loaded) -> list[Row]:
    """Return all settings in the order of the tables."""
    return [
        _row(key, getattr(getattr(loaded.settings, table), key.name), loaded.origins)
        for table, keys in tables().items()
        for key in keys.values()
    ]


def _row(key: Key, value: Any, origins: Mapping[tuple[str, str], str]) -> Row:
    return Row(
        table=key.table,
        name=key.name,
        source_name=key.source_name,
        type=key.type,
        allowed=key.allowed,
        description=key.description,
        default=key.default,
        value=value,
        origin=origins.get((key.table, key.name), DEFAULT),
    )


def to_toml(all_rows: list[Row]) -> str:
    """Return the settings as a commented file that `load` reads back to the same settings."""
    lines: list[str] = []
    for table, members in _by_table(all_rows):
        lines += [f"# {_purpose(table)}", f"[{table}]", ""]
        for row in members:
            lines += [f"# {line}" for line in wrap(row.description, 98)]
            lines += [f"# {line}" for line in wrap(_remark(row), 98)]
            lines += [f"{row.name} = {toml_value(row.value)}", ""]
    return "\n".join(lines)


def to_markdown(all_rows: list[Row]) -> str:
    """Return the reference page: every table, every setting."""
    lines = [
        "# Settings",
        "",
        "This page is made from the source by `make docs`; change the descriptions there.",
        "",
        "A settings file is TOML with one table for each room; give it with `--config FILE`. A",
        "flag (`--set table.key=value`, or a named one such as `--max-pages`) wins over the file.",
        "Where the source documents name a setting, their spelling is accepted too.",
        "`gossamer config` prints the effective settings as such a file.",
        "",
    ]
    for table, members in _by_table(all_rows):
        lines += [f"## [{table}]", "", _purpose(table), ""]
        lines += ["| Setting | Also written | Type | Default | Meaning |", "|---|---|---|---|---|"]
        lines += [_markdown_row(row) for row in members]
        lines.append("")
    return "\n".join(lines)


def toml_value(value: Any) -> str:
    """Write one value as TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return '"' + "".join(_toml_character(character) for character in value) + '"'
        case list() | tuple():
            return "[" + ", ".join(toml_value(item) for item in value) + "]"
        case dict():
            if not value:
                return "{}"
            pairs = (f"{_toml_key(name)} = {toml_value(item)}" for name, item in value.items())
            return "{ " + ", ".join(pairs) + " }"
    raise TypeError(f"a setting cannot hold {value!r}")


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def _toml_character(character: str) -> str:
    """Escape what TOML demands and, beyond that, all that a terminal would not show as it is."""
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _by_table(all_rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    for table in tables():
        yield table, [row for row in all_rows if row.table == table]


def _purpose(table: str) -> str:
    """`[urlserver]`: queues, politeness … without the name of the table."""
    words = (struct_of(table).__doc__ or "").partition(": ")[2]
    return words[:1].upper() + words[1:]


def _remark(row: Row) -> str:
    remark = f"{row.type}, {row.allowed}" if row.allowed else row.type
    if row.source_name:
        remark += f"; also written {row.source_name}"
    if row.origin != DEFAULT:
        remark += f"; from {row.origin}, default {toml_value(row.default)}"
    return f"({remark})"


def _markdown_row(row: Row) -> str:
    also = f"`{row.source_name}`" if row.source_name else ""
    kind = f"{row.type}, {row.allowed}" if row.allowed else row.type
    cells = (f"`{row.name}`", also, kind, f"`{toml_value(row.default)}`", row.description)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
