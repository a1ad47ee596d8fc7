"""Settings from a TOML file and from flags, checked once.

Each layer (file, then flags) may spell a key our way (`queue_count`) or as the source documents do
(`Queue_Count`), not both ways at once. Every message names the key, the value and what is allowed.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gossamer.config.check import check
from gossamer.config.schema import TABLES, Key, keys_in
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError

MAX_FILE_BYTES = 1_048_576
DEFAULT = "default"
COMMAND_LINE = "command line"


class Loaded(Struct, frozen=True):
    """Settings, and for each (table, key) that was set: where."""

    settings: Settings
    origins: dict[tuple[str, str], str]


def load(path: Path | None, overrides: Mapping[str, Mapping[str, object]]) -> Settings:
    """Return the effective settings: defaults, then the file, then the overrides."""
    return load_with_origins(path, overrides).settings


def load_with_origins(path: Path | None, overrides: Mapping[str, Mapping[str, object]]) -> Loaded:
    """Return the effective settings and where each came from."""
    values: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    origins: dict[tuple[str, str], str] = {}
    layers: list[tuple[str, Mapping[str, object]]] = [(COMMAND_LINE, overrides)]
    if path is not None:
        layers.insert(0, (str(path), _read(path)))
    for origin, layer in layers:
        for key, value in _keys_set(origin, layer):
            values[key.table][key.name] = value
            origins[key.table, key.name] = origin
    settings = msgspec.convert(values, Settings)
    check(settings)
    return Loaded(settings, origins)


def parse_assignment(text: str) -> tuple[str, str, object]:
    """Read `table.key=value` as the flag --set takes it; the value is TOML, or plain text."""
    place, equals, raw = text.partition("=")
    table, dot, name = place.strip().partition(".")
    if not (equals and dot and table and name):
        raise ConfigError(f"--set {text}: write it as table.key=value, e.g. spider.http2=false")
    key = _find(COMMAND_LINE, table, name)
    return table, name, _value_from_text(key, raw.strip())


def _value_from_text(key: Key, raw: str) -> object:
    if key.type == "text" and not raw.startswith(('"', "'")):
        return raw
    import tomllib  # noqa: PLC0415 - most runs have nothing to read with it

    try:
        value: object = tomllib.loads(f"value = {raw}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = raw
    if isinstance(value, str) and key.type == "list of texts":
        return [value]
    return value


def _read(path: Path) -> Mapping[str, object]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read the settings in {path}: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"cannot read the settings in {path}: larger than {MAX_FILE_BYTES} bytes")
    import tomllib  # noqa: PLC0415 - most runs have no such file

    try:
        # With or without the mark that editors of Windows put first.
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"cannot read the settings in {path}: not valid TOML: {error}") from error


def _keys_set(origin: str, layer: Mapping[str, object]) -> list[tuple[Key, Any]]:
    found: dict[tuple[str, str], tuple[Key, Any]] = {}
    spelled: dict[tuple[str, str], str] = {}
    for table, entries in layer.items():
        if table not in TABLES or not isinstance(entries, Mapping):
            raise ConfigError(f"{origin}: {_not_a_table(table, entries)}")
        for name, value in entries.items():
            key = _find(origin, table, name)
            place = (table, key.name)
            if place in spelled:
                both = f"{spelled[place]} and {name}"
                raise ConfigError(f"{origin}: [{table}] {both} are one setting; keep one of them")
            spelled[place] = name
            found[place] = (key, _convert(origin, key, name, value))
    return list(found.values())


def _find(origin: str, table: str, name: str) -> Key:
    if table not in TABLES:
        raise ConfigError(f"{origin}: {_not_a_table(table, {})}")
    keys = keys_in(table)
    if name in keys:
        return keys[name]
    for key in keys.values():
        if key.source_name == name:
            return key
    raise ConfigError(f"{origin}: unknown setting {name} in [{table}]; {_advice(table, name)}")


def _advice(table: str, name: str) -> str:
    elsewhere = [other for other in TABLES if name in _names(other)]
    if elsewhere:
        return f"it belongs in [{elsewhere[0]}]"
    known = {spelling.lower(): spelling for spelling in reversed(_names(table))}
    nearest = _nearest(name, known)
    if nearest:
        return f"did you mean {known[nearest[0]]}?"
    return "`gossamer config` prints all settings"


def _names(table: str) -> list[str]:
    keys = keys_in(table).values()
    return [key.name for key in keys] + [key.source_name for key in keys if key.source_name]


def _not_a_table(name: str, value: object) -> str:
    known = ", ".join(f"[{table}]" for table in TABLES)
    if name in TABLES:
        return f"[{name}] is a table of settings, not a value ({value!r})"
    owners = [table for table in TABLES if name in _names(table)]
    if owners:
        return f"{name} stands outside of a table; put it below [{owners[0]}]"
    nearest = _nearest(name, TABLES)
    hint = f"did you mean [{nearest[0]}]? " if nearest else ""
    return f"unknown table [{name}]; {hint}the tables are {known}"


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - only for who made a mistake

    return get_close_matches(name.lower(), list(known), n=1)


def _convert(origin: str, key: Key, spelling: str, value: object) -> Any:
    try:
        return key.convert(value)
    except ValueError as error:
        raise ConfigError(
            f"{origin}: [{key.table}] {spelling} = {_shown(value)} is not allowed; "
            f"expected: {key.expected}"
        ) from error


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
