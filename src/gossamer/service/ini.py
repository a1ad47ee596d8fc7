"""The ini file of the service: found, read into typed settings, and written with every setting."""

import configparser
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, get_type_hints

from msgspec import Struct

from gossamer.config.schema import Key, keys_of
from gossamer.daemons.endpoints import is_loopback, parse_target
from gossamer.errors import ConfigError, InputError
from gossamer.service.settings import THREAD_CLASSES, PeerSettings, ServiceSettings

SYSTEM_FOLDER: Final = Path("/etc")
_MAX_BYTES: Final = 1 << 20
_SWITCHES: Final = configparser.ConfigParser.BOOLEAN_STATES


class UnreadableError(ConfigError):
    """There is no configuration file, or it is not one."""


def find(program: str, system_folder: Path = SYSTEM_FOLDER) -> Path:
    """Return the configuration of a program: PROGRAM.ini here, or /etc/PROGRAM/PROGRAM.ini."""
    places = (Path(f"{program}.ini"), system_folder / program / f"{program}.ini")
    for place in places:
        if place.is_file():
            return place
    raise UnreadableError(
        f"no configuration: neither {places[0]} in this folder nor {places[1]} is there; "
        "name one with --config FILE"
    )


def load(path: Path) -> ServiceSettings:
    """Read a configuration; what it does not name has its default."""
    sections = {
        attribute: _read_section(title, entries)
        for title, entries in _read_file(path).items()
        for attribute in [_attribute_of(title, path)]
    }
    settings = ServiceSettings(**sections, folder=path.absolute().parent)
    _check(settings)
    return settings


def _read_file(path: Path) -> dict[str, dict[str, str]]:
    # Values are taken as they stand: `%` and `;` may be part of a path.
    parser = configparser.ConfigParser(interpolation=None, default_section="", strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their case
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise UnreadableError(f"cannot read {path}: it is longer than {_MAX_BYTES} bytes")
        parser.read_string(content.decode(), str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UnreadableError(f"cannot read the configuration {path}: {reason}") from error
    return {title: dict(parser[title]) for title in parser.sections()}


@cache
def sections() -> dict[str, str]:
    """Return the title of each section and the attribute that holds it."""
    return {_title(struct): attribute for attribute, struct in _structs().items()}


def keys(attribute: str) -> dict[str, Key]:
    """Return the keys of one section by their name in the file."""
    struct = _structs()[attribute]
    found = keys_of(_title(struct), struct)
    return {key.source_name or name: key for name, key in found.items()}


def _structs() -> dict[str, type[Struct]]:
    hints = get_type_hints(ServiceSettings)
    return {name: hint for name, hint in hints.items() if name != "folder"}


def _title(struct: type[Struct]) -> str:
    return (struct.__doc__ or "").partition("]")[0].removeprefix("`[")


def _attribute_of(title: str, path: Path) -> str:
    found = sections().get(title)
    if found is None:
        raise ConfigError(
            f"unknown section [{title}] in {path}{_hint(title, sections())}; "
            f"allowed are {', '.join(sections())}"
        )
    return found


def _read_section(title: str, entries: Mapping[str, str]) -> Any:
    known = keys(sections()[title])
    values = {}
    for name, text in entries.items():
        key = known.get(name) or next((key for key in known.values() if key.name == name), None)
        if key is None:
            raise ConfigError(f"unknown setting {name} in [{title}]{_hint(name, known)}")
        values[key.name] = _read_value(key, name, text.strip())
    return _structs()[sections()[title]](**values)


def _read_value(key: Key, name: str, text: str) -> Any:
    try:
        return key.convert(_raw_value(key, text))
    except ValueError as error:
        raise ConfigError(
            f"[{key.table}] {name} = {text} is not allowed; expected: {key.expected}"
        ) from error


def _raw_value(key: Key, text: str) -> object:
    """Give the text the kind of value that the setting has; raise ValueError if it is none."""
    match key.default:
        case bool():
            if text.lower() not in _SWITCHES:
                raise ValueError(text)
            return _SWITCHES[text.lower()]
        case int():
            return int(text)
        case float():
            return float(text)
        case tuple():
            return tuple(word.strip() for word in text.split(",") if word.strip())
    return text


def _hint(name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _check(settings: ServiceSettings) -> None:
    """Raise ConfigError for what no single setting can tell."""
    sequence = settings.server.instantiate_sequence
    if sorted(sequence) != sorted(THREAD_CLASSES) or sequence[0] != THREAD_CLASSES[0]:
        raise ConfigError(
            f"[Server] instantiateSequence = {', '.join(sequence)} is not allowed; expected: "
            f"each of {', '.join(THREAD_CLASSES)} once, {THREAD_CLASSES[0]} first"
        )
    server = settings.server
    if not (server.insecure or server.curve_secret_key_file or is_loopback(server.host)):
        raise ConfigError(
            f"[Server] host = {server.host} is not allowed: other machines can reach it; set "
            "curve_secret_key_file and curve_clients_dir, or insecure = 1"
        )
    if bool(server.curve_secret_key_file) != bool(server.curve_clients_dir):
        raise ConfigError(
            "[Server] curve_secret_key_file and curve_clients_dir belong together; set both or none"
        )
    _check_peers(settings.peers)
    client = settings.client
    if bool(client.curve_secret_key_file) != bool(client.curve_server_key_file):
        raise ConfigError(
            "[Client] curve_secret_key_file and curve_server_key_file belong together; "
            "set both or none"
        )
    for name, values in (("hosts", client.hosts), ("admin_host", (client.admin_host,))):
        for value in values:
            try:
                parse_target(value)
            except InputError as error:
                raise ConfigError(f"[Client] {name} = {value} is not allowed: {error}") from error
    if not client.hosts:
        raise ConfigError("[Client] hosts is empty; expected: at least one HOST:PORT")


def _check_peers(peers: PeerSettings) -> None:
    """Raise ConfigError for hosts that cannot crawl together."""
    try:
        hosts = [str(parse_target(host)) for host in peers.hosts]
    except InputError as error:
        raise ConfigError(f"[Peers] hosts is not allowed: {error}") from error
    if not hosts:
        return
    if len(hosts) < 2 or len(set(hosts)) < len(hosts):
        raise ConfigError("[Peers] hosts is not allowed; expected: at least two, each once")
    if peers.own_host not in hosts:
        raise ConfigError(
            f"[Peers] self = {peers.own_host} is not allowed; expected: one of {', '.join(hosts)}"
        )
    if bool(peers.curve_secret_key_file) != bool(peers.curve_server_key_file):
        raise ConfigError(
            "[Peers] curve_secret_key_file and curve_server_key_file belong together; "
            "set both or none"
        )


def sample() -> str:
    """Return an ini file with every setting, its default, and a comment on each."""
    lines = [
        "# Configuration of the crawling service: dc-daemon, dc-client and dc-admin.",
        "# Every setting is here with its default. File names are relative to this file's folder.",
    ]
    for title, attribute in sections().items():
        purpose = (_structs()[attribute].__doc__ or "").partition(": ")[2].splitlines()[0]
        lines += ["", f"# {purpose[:1].upper()}{purpose[1:]}", f"[{title}]"]
        for name, key in keys(attribute).items():
            remark = f"{key.description} ({key.expected})"
            lines += ["", *(f"# {line}" for line in wrap(remark, 98))]
            lines.append(f"{name} = {_text_of(key.default)}".rstrip())
    return "\n".join(lines) + "\n"


def _text_of(value: object) -> str:
    match value:
        case bool():
            return "1" if value else "0"
        case tuple():
            return ", ".join(map(str, value))
    return str(value)


if __name__ == "__main__":
    sys.stdout.write(sample())
