"""Rules beyond the limits of one setting: settings that must agree, texts with a grammar."""

import ipaddress
import re
from collections.abc import Iterator

from gossamer.config.secrets import without_login
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError

# Sent by the spider itself for each request: a fixed value would contradict the connection.
_OWN_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "user-agent"}
)
# As texts: what is not given is not looked at, and to compile them all takes 0.3 ms of each start.
_HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_CONTROL = r"[\x00-\x1f\x7f]"
# A scheme that libcurl knows, or none, which is http; then a host.
_PROXY = r"(?i)(?:(?:https?|socks4a?|socks5h?)://)?(?:[^/]*@)?[^/@:\s][^/@\s]*/?"
_LOWEST_RATE = 1 / 86_400
_HANDLER = r"[^:]+:[A-Za-z_]\w*"


def check(settings: Settings) -> None:
    """Raise ConfigError for the first rule that the settings break."""
    for complaint in complaints(settings):
        raise ConfigError(complaint)


def complaints(settings: Settings) -> Iterator[str]:
    """Yield a message for each broken rule."""
    yield from _rates(settings)
    yield from _timers(settings)
    yield from _plan(settings)
    yield from _expressions(settings)
    yield from _addresses(settings)
    yield from _header_fields(settings)
    yield from _extensions(settings)


def _rates(settings: Settings) -> Iterator[str]:
    for name in ("host_per_second", "address_per_second"):
        rate = getattr(settings.urlserver, name)
        if 0 < rate < _LOWEST_RATE:
            yield (
                f"[urlserver] {name} = {rate} is not allowed; "
                f"expected: 0, or a number from {_LOWEST_RATE:.7f} (one request a day) to 1000000"
            )


def _timers(settings: Settings) -> Iterator[str]:
    status_seconds = settings.urlserver.timeout_spider_status_seconds
    update_ms = settings.spider.timeout_update_ms
    if status_seconds * 1000 < 2 * update_ms:
        yield (
            f"[urlserver] timeout_spider_status_seconds = {status_seconds} is too short for "
            f"[spider] timeout_update_ms = {update_ms}: the wait for a status must be at least "
            f"twice the time between two; allowed are {-(-2 * update_ms // 1000)} seconds or more"
        )
    urlserver = settings.urlserver
    if urlserver.dns_min_ttl_seconds > urlserver.dns_max_ttl_seconds:
        yield (
            f"[urlserver] dns_min_ttl_seconds = {urlserver.dns_min_ttl_seconds} is more than "
            f"dns_max_ttl_seconds = {urlserver.dns_max_ttl_seconds}; it must be at most that"
        )


def _plan(settings: Settings) -> Iterator[str]:
    catalog = settings.catalog
    if not (
        catalog.recrawl_min_seconds <= catalog.recrawl_first_seconds <= catalog.recrawl_max_seconds
    ):
        yield (
            f"[catalog] recrawl_min_seconds = {catalog.recrawl_min_seconds}, "
            f"recrawl_first_seconds = {catalog.recrawl_first_seconds}, "
            f"recrawl_max_seconds = {catalog.recrawl_max_seconds}: "
            "each must be at least as large as the one before"
        )


def _expressions(settings: Settings) -> Iterator[str]:
    for name in ("include", "exclude"):
        for expression in getattr(settings.crawl, name):
            try:
                re.compile(expression)
            except (re.error, RecursionError, OverflowError) as error:
                yield f"[crawl] {name} = {expression!r} is not a regular expression: {error}"


def _addresses(settings: Settings) -> Iterator[str]:
    for network in settings.url.allow_networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            yield f"[url] allow_networks = {network!r} is not a network (10.1.0.0/16): {error}"
    for server in settings.urlserver.dns_servers:
        if not _is_server(server):
            yield (
                f"[urlserver] dns_servers = {server!r} is not an address, nor an address with a "
                "port such as 192.0.2.1:53 or [2001:db8::1]:53"
            )
    for port in settings.spider.allowed_ports:
        if not 1 <= port <= 65_535:
            yield f"[spider] allowed_ports = {port} is not a port; allowed are 1 to 65535"

    proxy = settings.spider.proxy
    if proxy and not re.fullmatch(_PROXY, proxy):
        shown = without_login(proxy)
        yield f"[spider] proxy = {shown!r} is no proxy, such as http://proxy.example:3128"


def _is_server(text: str) -> bool:
    bracketed = re.fullmatch(r"\[([^\]]+)\](?::(\d{1,5}))?", text)
    with_port = re.fullmatch(r"([\d.]+):(\d{1,5})", text)
    parts = bracketed or with_port
    address, port = (parts[1], parts[2]) if parts else (text, None)
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return port is None or 1 <= int(port) <= 65_535


def _header_fields(settings: Settings) -> Iterator[str]:
    spider = settings.spider
    if re.search(_CONTROL, spider.user_agent):
        yield f"[spider] user_agent = {spider.user_agent!r} contains a control character"
    for name, value in spider.headers.items():
        if not re.fullmatch(_HEADER_NAME, name):
            yield f"[spider] headers: {name!r} is not a header name"
        elif name.lower() in _OWN_HEADERS:
            yield f"[spider] headers: {name} is set for each request; it cannot be given here"
        elif re.search(_CONTROL, value):
            yield f"[spider] headers: the value of {name} contains a control character"


def _extensions(settings: Settings) -> Iterator[str]:
    for handler in settings.handlers.use:
        if not re.fullmatch(_HANDLER, handler):
            yield f'[handlers] use = {handler!r} is not written as "module:function"'
    for host, reason in settings.urlserver.robots_ignore.items():
        if not reason.strip():
            yield f"[urlserver] robots_ignore: give the reason for {host}"
