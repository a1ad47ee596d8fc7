"""The settings as data: every key of every table with its type, limits and documentation."""

import math
import re
from functools import cache
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import Struct, inspect

from gossamer.config.settings import Settings


class Key(Struct, frozen=True):
    """One setting, as its room declares it."""

    table: str
    name: str
    annotation: Any
    source_name: str | None
    type: str
    """In words: `whole number`, `list of texts` …"""
    allowed: str
    """In words: `1 to 1000000`, `one of host, any` …; empty when the type says all."""
    description: str
    default: Any

    def convert(self, value: object) -> Any:
        """Return the value in the type of the setting; raise ValueError if it is not allowed."""
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("not a finite number")
        try:
            return msgspec.convert(value, self.annotation)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error

    @property
    def expected(self) -> str:
        """Type and limits in one phrase, for messages."""
        return f"{self.type}, {self.allowed}" if self.allowed else self.type


TABLES: Final = Settings.__struct_fields__


def tables() -> dict[str, dict[str, Key]]:
    """Return all settings: table name -> key name -> key."""
    return {table: keys_in(table) for table in TABLES}


@cache
def keys_in(table: str) -> dict[str, Key]:
    """Return the settings of one table by their names: most runs look at one or two."""
    return keys_of(table, struct_of(table))


def struct_of(table: str) -> type[Struct]:
    """Return the struct in which a room declares its table."""
    struct: type[Struct] = get_type_hints(Settings)[table]
    return struct


def keys_of(table: str, struct: type[Struct]) -> dict[str, Key]:
    """Return the keys of one table: key name -> key."""
    defaults = struct()
    hints = get_type_hints(struct, include_extras=True)
    return {
        name: _key(table, name, annotation, getattr(defaults, name))
        for name, annotation in hints.items()
    }


def _key(table: str, name: str, annotation: Any, default: Any) -> Key:
    info = inspect.type_info(annotation)
    description, source_name = "", None
    if isinstance(info, inspect.Metadata):
        description = (info.extra_json_schema or {}).get("description", "")
        source_name = (info.extra or {}).get("source_name")
        info = info.type
    return Key(
        table=table,
        name=name,
        annotation=annotation,
        source_name=source_name,
        type=_type_in_words(info),
        allowed=_limits_in_words(info),
        description=description,
        default=default,
    )


def _type_in_words(info: inspect.Type) -> str:
    match info:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "whole number"
        case inspect.FloatType():
            return "number"
        case inspect.StrType():
            return "text"
        case inspect.VarTupleType():
            return f"list of {_type_in_words(_bare(info.item_type))}s"
        case inspect.DictType():
            return f"table of name = {_type_in_words(_bare(info.value_type))}"
    raise TypeError(f"a setting cannot have the type {info}")


def _bare(info: inspect.Type) -> inspect.Type:
    return info.type if isinstance(info, inspect.Metadata) else info


def _limits_in_words(info: inspect.Type) -> str:
    match info:
        case inspect.IntType() | inspect.FloatType():
            if info.ge is not None and info.le is not None:
                return f"{info.ge} to {info.le}"
            if info.ge is not None:
                return f"at least {info.ge}"
            return f"at most {info.le}" if info.le is not None else ""
        case inspect.StrType():
            return _text_limits_in_words(info)
    return ""


def _text_limits_in_words(info: inspect.StrType) -> str:
    if info.pattern is not None:
        # Not `$`, which a line break may follow.
        whole = info.pattern.removeprefix("^").removesuffix(r"\Z")
        choice = re.fullmatch(r"\(([\w|]+)\)", whole)
        if choice:
            return "one of " + ", ".join(choice[1].split("|"))
        return f"matching {whole}"
    if info.min_length and info.max_length:
        return f"{info.min_length} to {info.max_length} characters"
    return f"at most {info.max_length} characters" if info.max_length else ""
