"""What the properties of a site ask of the crawler: headers, times, types. Pure."""

import contextlib
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.file_references import FILE_PREFIX, ReadFile, file_name, no_files
from gossamer.objects.headers import (
    Headers,
    next_values,
    parse_cookie_rules,
    parse_header_file,
    parse_headers,
)
from gossamer.objects.problems import ObjectError

_SECRET: Final = frozenset({"authorization", "cookie"})
_PRODUCT_TOKEN: Final = re.compile("[A-Za-z_-]+")
_MAX_TOKEN: Final = 100
_TYPE: Final = re.compile(r"[0-9a-z!#$&^_.+-]{1,63}/[0-9a-z!#$&^_.+-]{1,63}")
_Aliases = Annotated[dict[str, str], Meta(max_length=1_000)]


def number_of(properties: Mapping[str, str], name: str, default: int) -> int:
    """Return a property that is a whole number."""
    text = properties.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 6 else default


class Occasion(Struct, frozen=True):
    """What a request is made for."""

    url: str
    redirected: bool = False
    """A redirect led to it."""
    elsewhere: bool = False
    """It goes to another host than the URL that was wanted."""
    is_hurried: bool = False
    """There is no time for patterns: what only goes to some URLs is not sent."""


def headers_of(
    properties: Mapping[str, str],
    uses: dict[tuple[str, str], int],
    occasion: Occasion,
    read_file: ReadFile = no_files,
) -> tuple[tuple[str, str], ...]:
    """Return the request headers of a site: HTTP_HEADERS, HTTP_COOKIE and its log-in.

    Of several values each is used in turn. What cannot be read was refused when it was set. What is
    secret does not follow a redirect to another host.
    """
    headers: dict[str, str] = {}
    if "HTTP_HEADERS" in properties:
        with contextlib.suppress(ObjectError):
            headers = dict(next_values(_named_headers(properties, read_file), uses))
    cookies = _cookies(properties["HTTP_COOKIE"], occasion) if "HTTP_COOKIE" in properties else {}
    name = properties.get("HTTP_AUTH_NAME", "")
    if name:
        pair = f"{name}:{properties.get('HTTP_AUTH_PWD', '')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    if occasion.elsewhere:
        headers = {key: value for key, value in headers.items() if key.lower() not in _SECRET}
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    if is_set(properties, "REFERER_SELF_URL"):
        headers["Referer"] = occasion.url
    return tuple(headers.items())


def _cookies(text: str, occasion: Occasion) -> dict[str, str]:
    cookies: dict[str, str] = {}
    with contextlib.suppress(ObjectError):
        for rule in parse_cookie_rules(text):
            if occasion.is_hurried and not rule.is_for_all:
                continue
            if rule.is_for(
                occasion.url, redirected=occasion.redirected, elsewhere=occasion.elsewhere
            ):
                cookies.update(rule.cookies)
    return cookies


def _named_headers(properties: Mapping[str, str], read_file: ReadFile) -> Headers:
    text = properties.get("HTTP_HEADERS", "")
    if text.strip().startswith(FILE_PREFIX):
        return parse_header_file(read_file(file_name("HTTP_HEADERS", text)))
    return parse_headers(text)


def is_set(properties: Mapping[str, str], name: str) -> bool:
    """Whether a switch is there and is not 0."""
    return properties.get(name, "").strip() not in ("", "0")


def agent_of(headers: Iterable[tuple[str, str]]) -> str:
    """Return the product token by which headers name the crawler; empty if they do not."""
    for name, value in headers:
        if name.lower() == "user-agent" and (token := _PRODUCT_TOKEN.match(value)):
            return token[0][:_MAX_TOKEN].lower()
    return ""


def milliseconds_of(text: str) -> int:
    """Return a time that is written in seconds; 0 for what is no time."""
    try:
        seconds = float(text) if len(text) < 20 else 0.0
    except ValueError:
        return 0
    return int(1_000 * seconds) if 0.001 <= seconds <= 3_600 else 0


def is_allowed(content_type: str, properties: Mapping[str, str]) -> bool:
    """Whether a site wants documents of this type (ALLOWED_CTYPES); without a list all are."""
    return is_among(content_type, types_of(properties.get("ALLOWED_CTYPES", "")))


def types_of(text: str) -> tuple[str, ...]:
    """Return a list of content types; empty if it is for all of them."""
    if not text:
        return ()
    types = [each.strip().lower() for each in text.split(",") if each.strip()]
    return () if "*" in types else tuple(types)


def check_types(text: str) -> None:
    """Raise an ObjectError unless a value of MIME_TYPE_STORE_ON_DISK is a list of types, or `*`."""
    if not all(map(_TYPE.fullmatch, types_of(text))):
        raise ObjectError(
            "Property", "MIME_TYPE_STORE_ON_DISK", "content types or * are expected, with commas"
        )


def is_among(content_type: str, types: Sequence[str]) -> bool:
    """Whether a content type is in a list; an empty list has all."""
    return not types or content_type in types


@lru_cache(maxsize=1_024)
def aliases_of(text: str) -> tuple[tuple[str, str], ...]:
    """Return the content types of CONTENT_TYPE_MAP, each with the one that is meant by it."""
    kind = "CONTENT_TYPE_MAP"
    if not text.strip():
        return ()
    try:
        aliases = msgspec.json.decode(text, type=_Aliases)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ObjectError("Property", kind, "a JSON map of types to types is expected") from None
    pairs = tuple((key.strip().lower(), value.strip().lower()) for key, value in aliases.items())
    if not all(_TYPE.fullmatch(each) for pair in pairs for each in pair):
        raise ObjectError("Property", kind, "content types such as text/html are expected")
    return pairs


def meant_type(content_type: str, aliases: Sequence[tuple[str, str]]) -> str:
    """Return the content type that is meant by one."""
    for alias, meant in aliases:
        if alias == content_type:
            return meant
    return content_type


def status_after(code: int, properties: Mapping[str, str]) -> int:
    """Return the status of a crawled URL; sites may set another for an HTTP code."""
    text = properties.get("HTTP_CODE_STATUS_UPDATE", "")
    if text:
        with contextlib.suppress(msgspec.DecodeError, ValueError):
            statuses = msgspec.json.decode(text, type=dict[str, int])
            if str(code) in statuses:
                return int(CrawlStatus(statuses[str(code)]))
    return int(CrawlStatus.CRAWLED)
