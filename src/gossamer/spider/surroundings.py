"""What all transfers of a spider share, and how each handle of libcurl is set up for it."""

from collections.abc import Callable
from typing import Any, Final

import pycurl
from msgspec import Struct, field

from gossamer.clock import Clock
from gossamer.config.spider import SpiderSettings
from gossamer.spider.cookies import Cookies
from gossamer.spider.gate import Gate
from gossamer.spider.proxies import Proxies
from gossamer.spider.request import RequestForm
from gossamer.url.address import AddressPolicy

_BUFFER_BYTES: Final = 262_144
# CURLOPT_SUPPRESS_CONNECT_HEADERS, which pycurl has no name for.
_SUPPRESS_CONNECT_HEADERS: Final = 265


class Surroundings(Struct):
    """What all transfers of a spider share; only the policy is ever replaced."""

    settings: SpiderSettings
    sitemap_settings: SpiderSettings
    """The same with the limits of sitemaps."""
    policy: AddressPolicy
    clock: Clock
    form: RequestForm
    trust_path: str
    max_descriptor: int
    on_sent: Callable[[int, float], None]
    on_new_socket: Callable[[int], None]
    gate: Gate
    first_look_seconds: float
    """After how much time those without deadlines of their own are looked at."""
    report_seconds: float
    """After how much time one that is still open is reported."""
    proxies: Proxies
    cookies: Cookies = field(default_factory=Cookies)


def configure(handle: pycurl.Curl, shared: Surroundings) -> None:
    """Set all that is the same for every visit."""
    settings = shared.settings
    options: dict[int, Any] = {
        pycurl.USERAGENT: settings.user_agent,
        pycurl.HTTPHEADER: shared.form.lines,
        # Proxies named in the environment would connect where they like.
        pycurl.PROXY: settings.proxy,
        pycurl.NOPROXY: "" if settings.proxy else "*",
        # Else the proxy's answer to CONNECT would pass for the server's.
        _SUPPRESS_CONNECT_HEADERS: 1,
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.REDIR_PROTOCOLS: 0,
        pycurl.FOLLOWLOCATION: 0,
        pycurl.HTTP_CONTENT_DECODING: 0,
        pycurl.HTTP09_ALLOWED: 0,
        pycurl.PATH_AS_IS: 1,
        pycurl.NOSIGNAL: 1,
        # After each transfer libcurl looks through all the addresses that it has connected to
        # in this time. Only the name of a proxy gains by being remembered.
        pycurl.DNS_CACHE_TIMEOUT: 60 if settings.proxy else 1,
        pycurl.BUFFERSIZE: _BUFFER_BYTES,
        # A backstop only: the deadlines are our own.
        pycurl.CONNECTTIMEOUT_MS: 2 * max(settings.timeout_connect_ms, 10_000),
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS
        if settings.http2
        else pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.SSL_VERIFYPEER: int(settings.verify_tls),
        pycurl.SSL_VERIFYHOST: 2 if settings.verify_tls else 0,
    }
    for option, value in options.items():
        handle.setopt(option, value)
    # With a directory beside the file, libcurl would read both anew for each connection.
    handle.unsetopt(pycurl.CAPATH)
    if shared.trust_path:
        handle.setopt(pycurl.CAINFO, shared.trust_path)
