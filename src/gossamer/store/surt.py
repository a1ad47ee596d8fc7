"""Sort-friendly URI keys, as replay tools compute them to look a URL up in an index.

Unlike the canonical form of `gossamer.url`, which decides what is fetched, this form folds what
archives take to be the same page: case, needless escapes, `www.`, the order of query arguments,
session ids, a slash at the end.
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

_WWW: Final = re.compile(r"www\d*\.")
_SLASHES: Final = re.compile(r"//+")
_SESSION: Final = re.compile(
    r"(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}"
    r"|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_ESCAPED: Final = frozenset({*range(33), *range(127, 256), ord("#"), ord("%")})
_MAX_LAYERS: Final = 8


def surt_key(url: str) -> str:
    """Return the key of a canonical http or https URL: `com,example)/path?query`."""
    parts = urlsplit(url)
    path = _SLASHES.sub("/", _least_escaped(parts.path)).lower()
    if len(path) > 1:
        path = path.removesuffix("/")
    query = _SESSION.sub("", _least_escaped(parts.query).lower())
    if query:
        query = "?" + "&".join(sorted(query.split("&"), key=_by_argument))
    return f"{_host(parts.hostname or '')}{_port(parts.scheme, parts.port)}){path or '/'}{query}"


def _least_escaped(text: str) -> str:
    """Undo every layer of escaping, then escape what has to be."""
    if "%" not in text and text.isascii() and text.isprintable() and " " not in text:
        return text
    data = text.encode("utf-8", "replace")
    for _ in range(_MAX_LAYERS):
        data, before = unquote_to_bytes(data), data
        if data == before:
            break
    return "".join(f"%{byte:02x}" if byte in _ESCAPED else chr(byte) for byte in data)


def _by_argument(argument: str) -> tuple[str, ...]:
    return tuple(argument.split("=", 1))


def _host(host: str) -> str:
    if ":" in host:
        return f"[{host}]"
    www = _WWW.match(host)
    return ",".join(reversed(host[www.end() if www else 0 :].split(".")))


def _port(scheme: str, port: int | None) -> str:
    return "" if port is None or port == _DEFAULT_PORTS.get(scheme) else f":{port}"
