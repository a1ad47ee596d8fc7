"""What the properties of a site ask of the crawler: headers, times, types. Pure."""

import contextlib
from base64 import b64encode
from collections.abc import Mapping

import msgspec

from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.headers import next_values, parse_cookies, parse_headers
from gossamer.objects.problems import ObjectError


def number_of(properties: Mapping[str, str], name: str, default: int) -> int:
    """Return a property that is a whole number."""
    text = properties.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 6 else default


def headers_of(
    properties: Mapping[str, str], uses: dict[tuple[str, str], int]
) -> tuple[tuple[str, str], ...]:
    """Return the request headers of a site: HTTP_HEADERS, HTTP_COOKIE and its log-in.

    Of several values each is used in turn. What cannot be read was refused when it was set.
    """
    headers: dict[str, str] = {}
    with contextlib.suppress(ObjectError):
        headers = dict(next_values(parse_headers(properties.get("HTTP_HEADERS", "")), uses))
    with contextlib.suppress(ObjectError):
        cookies = parse_cookies(properties.get("HTTP_COOKIE", ""))
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    name = properties.get("HTTP_AUTH_NAME", "")
    if name:
        pair = f"{name}:{properties.get('HTTP_AUTH_PWD', '')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return tuple(headers.items())


def milliseconds_of(text: str) -> int:
    """Return a time that is written in seconds; 0 for what is no time."""
    try:
        seconds = float(text) if len(text) < 20 else 0.0
    except ValueError:
        return 0
    return int(1_000 * seconds) if 0.001 <= seconds <= 3_600 else 0


def is_allowed(content_type: str, properties: Mapping[str, str]) -> bool:
    """Whether a site wants documents of this type (ALLOWED_CTYPES); without a list all are."""
    allowed = [each.strip().lower() for each in properties.get("ALLOWED_CTYPES", "").split(",")]
    return not any(allowed) or content_type in allowed or "*" in allowed


def status_after(code: int, properties: Mapping[str, str]) -> int:
    """Return the status of a crawled URL; sites may set another for an HTTP code."""
    text = properties.get("HTTP_CODE_STATUS_UPDATE", "")
    if text:
        with contextlib.suppress(msgspec.DecodeError, ValueError):
            statuses = msgspec.json.decode(text, type=dict[str, int])
            if str(code) in statuses:
                return int(CrawlStatus(statuses[str(code)]))
    return int(CrawlStatus.CRAWLED)
