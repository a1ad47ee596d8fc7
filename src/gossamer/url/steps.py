"""Steps of our own on what the standard makes of a URL; canonical.py says which, and why."""

import re
from typing import Final

from gossamer.config.url import UrlSettings
from gossamer.url.parameters import tidy_query

WEB: Final = ("http://", "https://")
_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})")
_STRAY_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)


def without_fragment(text: str) -> str:
    """Cut off the fragment, which starts at the first `#` wherever it stands (WHATWG URL, 4.4)."""
    bare, mark, _ = text.partition("#")
    # Spaces at the end of the text mean nothing, spaces before a fragment belong to the path.
    return bare + mark if mark and bare and bare[-1] <= " " else bare


def finish(url: str, settings: UrlSettings) -> str | None:
    """Do our own steps on what the standard made of a URL."""
    if not url.startswith(WEB):
        return None
    if url[-1] == "#":
        url = url[:-1]
    path = url.find("/", 8)
    if "@" in url and "@" in url[:path]:
        start = url.index("//") + 2
        url = url[:start] + url[url.index("@") + 1 :]
        path = url.find("/", 8)
    if url[path - 1] == "." or ".:" in url[:path]:
        url = _without_final_dot(url, path)
    if "%" in url:
        url = _with_plain_escapes(url)
    if settings.sort_query or settings.drop_parameters:
        url = tidy_query(url, settings)
    return url if len(url) <= settings.max_bytes else None


def _without_final_dot(url: str, path: int) -> str:
    """`example.org.` names the same host as `example.org`; `example.org..` names none and stays."""
    head, colon, port = url[:path].rpartition(":")
    if not port.isdecimal():
        head, colon, port = url[:path], "", ""
    if head[-1] == "." and head[-2] not in "./":
        return head[:-1] + colon + port + url[path:]
    return url


def _with_plain_escapes(url: str) -> str:
    """Write every escape in one way (RFC 3986, 6.2.2.1 and 6.2.2.2)."""
    # Beside a percent sign that escapes nothing, a decoded digit could make a new escape.
    return url if _STRAY_PERCENT.search(url) else _ESCAPE.sub(_plain_escape, url)


def _plain_escape(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code in _UNRESERVED else match[0].upper()
