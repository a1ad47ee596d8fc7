"""What dc-client sends: a JSON file, changed by fields from the command line."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.errors import GossamerError, InputError

REPLACE, REPLACE_NESTED, ADD = 0, 1, 2
"""The modes of applying fields."""
MODES: Final = (REPLACE, REPLACE_NESTED, ADD)
_FILE: Final = "file:"
_MAX_BYTES: Final = 256 << 20
_DEEPEST: Final = 100


class DataError(GossamerError):
    """A file cannot be read, or it is not JSON."""


def read_json(path: Path) -> Any:
    """Return what a JSON file holds."""
    return parse_json(_read(path), str(path))


def parse_json(text: bytes | str, what: str) -> Any:
    """Return what JSON says; `what` names it in a complaint."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DataError(f"{what} is not JSON: {error}") from error


def apply_fields(data: Any, fields: Any, mode: int = REPLACE) -> Any:
    """Return an object, or each of a list of objects, with fields of the command line on top.

    Mode 0 replaces top-level fields; 1 goes into objects and replaces what is there already; 2 goes
    into objects, adds what is missing, and appends to lists. Without data the fields are all.
    """
    if not isinstance(fields, dict):
        raise InputError('--fields takes a JSON object such as {"maxURLs": 10}')
    if data is None:
        return fields
    if isinstance(data, list):
        return [apply_fields(item, fields, mode) for item in data]
    if not isinstance(data, dict):
        raise InputError("--fields can be applied to an object, or to a list of objects")
    if mode == REPLACE:
        return data | fields
    return _merged(data, fields, adding=mode == ADD)


def _merged(below: dict[str, Any], above: dict[str, Any], *, adding: bool) -> dict[str, Any]:
    result = dict(below)
    for name, value in above.items():
        if name not in below:
            if adding:
                result[name] = value
        elif isinstance(below[name], dict) and isinstance(value, dict):
            result[name] = _merged(below[name], value, adding=adding)
        elif adding and isinstance(below[name], list):
            result[name] = below[name] + (value if isinstance(value, list) else [value])
        else:
            result[name] = value
    return result


def fill_from_files(data: Any, folder: Path, depth: int = 0) -> Any:
    """Return the data with each text `file:NAME` replaced by what is in that file.

    `file:file:NAME` becomes `file:NAME`, which the service understands in some properties.
    """
    if depth > _DEEPEST:
        raise DataError(f"the request is nested deeper than {_DEEPEST} levels")
    match data:
        case dict():
            return {name: fill_from_files(value, folder, depth + 1) for name, value in data.items()}
        case list():
            return [fill_from_files(value, folder, depth + 1) for value in data]
        case str() if data.startswith(_FILE + _FILE):
            return data.removeprefix(_FILE)
        case str() if data.startswith(_FILE):
            name = data.removeprefix(_FILE).removeprefix("//")
            path = folder / Path(name).expanduser()
            try:
                return _read(path).decode()
            except UnicodeDecodeError as error:
                raise DataError(f"{path} is not text in UTF-8") from error
    return data


def parse_names(text: str) -> list[str]:
    """Read a comma list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def parse_assignments(text: str) -> dict[str, Any]:
    """Read `name:value,name:value` or a JSON object; each value is JSON, or else a plain word."""
    if text.lstrip().startswith("{"):
        value = parse_json(text, "--fields")
        if isinstance(value, dict):
            return value
    found: dict[str, Any] = {}
    rest = text.strip()
    while rest:
        name, colon, rest = rest.partition(":")
        if not colon or not name.strip():
            raise InputError(
                f"--fields: {name.strip()!r} has no value; write name:value,name:value"
            )
        found[name.strip()], rest = _take_value(rest.lstrip())
    return found


def _take_value(text: str) -> tuple[Any, str]:
    """Return the value at the beginning, and what follows its comma."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        word, _, rest = text.partition(",")
        return word.strip(), rest.strip()
    after = text[end:].lstrip()
    if after and not after.startswith(","):
        word, _, rest = text.partition(",")
        return word.strip(), rest.strip()
    return value, after.removeprefix(",").strip()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from error
    if len(content) > _MAX_BYTES:
        raise DataError(f"cannot read {path}: it is longer than {_MAX_BYTES} bytes")
    return content
