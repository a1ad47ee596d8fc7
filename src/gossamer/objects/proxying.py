"""Proxies that a site wants to be crawled through: USER_PROXY, HTTP_PROXY_HOST, HTTP_PROXY_PORT.

Pure. What a proxy may be: an http proxy, as `host:port`, with a log-in if it wants one. A proxy
without a port is asked at 3128.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.file_references import file_name
from gossamer.objects.frequency import FrequencyLimit, decode_limits
from gossamer.objects.patterns import MAX_SUBJECT, PatternError, check_pattern, found_in
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.wording import shortened

ANY_DOMAIN: Final = "*"
MAX_TEXT: Final = 65_536
_DEFAULT_PORT: Final = 3_128
_DEFAULT_PRIORITY: Final = 10
_PROXY: Final = re.compile(
    r"(?:http://)?(?P<login>[A-Za-z0-9._~%!$&'*+=-]{1,128}:[A-Za-z0-9._~%!$&'*+=-]{0,128}@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?)"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)

Patterns = Annotated[tuple[str, ...], Meta(max_length=10)]
"""Few: each may take a quarter of a second before it is given up."""
Switch = Literal[0, 1]
Status = Annotated[int, Meta(ge=int(CrawlStatus.NEW), le=int(CrawlStatus.PROCESSED))]


class WishedProxy(Struct, frozen=True, forbid_unknown_fields=True):
    """A proxy as USER_PROXY describes it."""

    domains: Patterns = (ANY_DOMAIN,)
    priority: int = _DEFAULT_PRIORITY
    limits: dict[str, object] | None = None
    state: Switch = 1


class ContentCheck(Struct, frozen=True, forbid_unknown_fields=True):
    """How to tell that a page is not the server's, and what follows."""

    patterns: Patterns = ()
    rotate: Switch = 1
    """1: the page is not kept, and another proxy is asked."""
    faults: Switch = 1
    """1: it is a fault of the proxy."""


class UserProxy(Struct, frozen=True, forbid_unknown_fields=True):
    """The value of USER_PROXY."""

    source: Literal[0, 1] = 0
    """0: the proxies named here; 1: those of the site that were made with PROXY_NEW."""
    file_path: Annotated[str, Meta(max_length=200)] = ""
    """A file of the service with more proxies, in the form of `proxies`."""
    tries_count: Annotated[int, Meta(ge=1, le=100)] = 1
    """How many proxies are tried for one URL of a batch."""
    proxies: Annotated[dict[str, WishedProxy], Meta(max_length=1_000)] = {}
    raw_content_check: ContentCheck = ContentCheck()
    status_update_empty_proxy_list: Status = int(CrawlStatus.CRAWLED)
    status_update_no_available_proxy: Status = int(CrawlStatus.CRAWLED)
    status_update_tries_limit: Status = int(CrawlStatus.CRAWLED)


class Candidate(Struct, frozen=True):
    """A proxy that could be used."""

    url: str
    domains: tuple[str, ...] = (ANY_DOMAIN,)
    priority: int = _DEFAULT_PRIORITY
    limits: tuple[FrequencyLimit, ...] = ()
    proxy_id: int = 0
    """Its number in the catalog; 0 if it is not there."""


@lru_cache(maxsize=1_024)
def parse_user_proxy(text: str) -> UserProxy:
    """Return what USER_PROXY says; raises an ObjectError that names what cannot be used."""
    kind = "USER_PROXY"
    if len(text) > MAX_TEXT:
        raise ObjectError("Property", kind, f"at most {MAX_TEXT} characters are expected")
    try:
        wished = msgspec.json.decode(text, type=UserProxy)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ObjectError("Property", kind, f"JSON as documented is expected: {error}") from None
    if wished.file_path:
        file_name(kind, wished.file_path)
    _check_proxies(kind, wished.proxies)
    for pattern in wished.raw_content_check.patterns:
        _check(kind, "raw_content_check", pattern)
    return wished


@lru_cache(maxsize=64)
def parse_proxy_file(text: str) -> dict[str, WishedProxy]:
    """Return the proxies of a file: a JSON map like `proxies` of USER_PROXY."""
    kind = "USER_PROXY"
    try:
        proxies = msgspec.json.decode(text, type=dict[str, WishedProxy])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ObjectError("Property", kind, f"a JSON map of proxies is expected: {error}") from None
    _check_proxies(kind, proxies)
    return proxies


@lru_cache(maxsize=1_024)
def proxy_url(text: str) -> str:
    """Return a proxy as `http://[login@]host:port`; raises an ObjectError for what is none."""
    match = _PROXY.fullmatch(text.strip())
    if match is None:
        scheme = text.partition("://")[0].lower() if "://" in text else ""
        if scheme not in ("", "http"):
            raise UnsupportedError("Property", "proxy", "only http proxies are supported")
        shown = shortened(text.rpartition("@")[2], 60)
        raise ObjectError("Property", "proxy", f"host:port is expected, not {shown!r}")
    port = int(match["port"] or _DEFAULT_PORT)
    if not 0 < port < 65_536:
        raise ObjectError("Property", "proxy", f"a port from 1 to 65535 is expected, not {port}")
    return f"http://{match['login'] or ''}{match['host'].lower()}:{port}"


def single_proxy(properties: Mapping[str, str]) -> str:
    """Return the proxy of HTTP_PROXY_HOST and HTTP_PROXY_PORT; empty if there is none."""
    host = properties.get("HTTP_PROXY_HOST", "").strip()
    if not host:
        return ""
    port = properties.get("HTTP_PROXY_PORT", "").strip()
    match = _PROXY.fullmatch(host)
    has_port = match is None or match["port"] is not None
    return proxy_url(host if has_port or not port else f"{host.rstrip('/')}:{port}")


def check_user_proxy(text: str) -> None:
    """Raise an ObjectError unless a value of USER_PROXY is empty or can be used."""
    if text.strip():
        parse_user_proxy(text)


def check_proxy_host(text: str) -> None:
    """Raise an ObjectError unless a value of HTTP_PROXY_HOST is empty or names a proxy."""
    if text.strip():
        proxy_url(text)


def check_proxy_port(text: str) -> None:
    """Raise an ObjectError unless a value of HTTP_PROXY_PORT is empty or a port."""
    bare = text.strip()
    if bare and not (bare.isascii() and bare.isdecimal() and 0 < int(bare[:6]) < 65_536):
        raise ObjectError("Property", "HTTP_PROXY_PORT", "a port from 1 to 65535 is expected")


def candidates_of(proxies: Mapping[str, WishedProxy]) -> list[Candidate]:
    """Return the proxies that are switched on."""
    return [
        Candidate(proxy_url(host), each.domains, each.priority, _limits(each))
        for host, each in proxies.items()
        if each.state
    ]


def is_usable(host: str, domains: Sequence[str], limits: str | None) -> bool:
    """Whether a proxy of PROXY_NEW can be used at all."""
    try:
        proxy_url(host)
        for domain in domains:
            if domain != ANY_DOMAIN:
                check_pattern(domain)
        read_limits(limits)
    except ObjectError:
        return False
    return True


def read_limits(text: str | None) -> tuple[FrequencyLimit, ...]:
    """Return the limits of a proxy of PROXY_NEW: JSON like HTTP_FREQ_LIMITS."""
    try:
        return decode_limits("Proxy.limits", msgspec.json.decode(text)) if text else ()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ObjectError("Proxy", "limits", "a JSON map of domains is expected") from None


def serves(domains: Sequence[str], host: str) -> bool:
    """Whether a proxy is for this host; a pattern that cannot be decided lets nothing pass."""
    try:
        return any(each == ANY_DOMAIN or found_in(each, host) for each in domains)
    except PatternError:
        return False


def is_spoiled(patterns: Sequence[str], body: bytes) -> bool:
    """Whether the beginning of a page shows that it is not the server's.

    A pattern that takes too long to decide finds nothing: it must not cost the page.
    """
    if not patterns or not body:
        return False
    text = body[:MAX_SUBJECT].decode("utf-8", "replace")
    for pattern in patterns:
        try:
            if found_in(pattern, text):
                return True
        except PatternError:
            continue
    return False


def _limits(each: WishedProxy) -> tuple[FrequencyLimit, ...]:
    return () if each.limits is None else decode_limits("USER_PROXY", each.limits)


def _check_proxies(kind: str, proxies: Mapping[str, WishedProxy]) -> None:
    for host, each in proxies.items():
        proxy_url(host)
        _limits(each)
        for domain in each.domains:
            if domain != ANY_DOMAIN:
                _check(kind, "domains", domain)


def _check(kind: str, field: str, pattern: str) -> None:
    try:
        check_pattern(pattern)
    except PatternError as fault:
        raise ObjectError("Property", f"{kind}.{field}", fault.expected) from None
