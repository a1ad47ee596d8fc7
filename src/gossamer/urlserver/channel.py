"""What of c-ares is in use: a channel, a question, what its errors mean.

Apart from the resolver because loading it takes as long as a dozen small modules, and a crawl of
hosts that are addresses asks nobody.
"""

import socket
from collections.abc import Callable
from typing import Final

import pycares
from pycares import AddrInfoResult, Channel
from pycares import errno as ares

from gossamer.config.urlserver import UrlServerSettings
from gossamer.errors import ConfigError
from gossamer.outcomes import Outcome

_TRIES: Final = 3
# c-ares doubles its patience with each of the three tries: 1 + 2 + 4.
_PARTS: Final = 7
# ARES_AI_NOSORT of ares.h, which pycares does not name: sorting opens a socket for each address.
_NO_SORTING: Final = 1 << 7
_OUTCOMES: Final = {
    ares.ARES_ENOTFOUND: Outcome.DNS_NXDOMAIN,
    ares.ARES_EBADNAME: Outcome.DNS_NXDOMAIN,
    ares.ARES_ENODATA: Outcome.DNS_NODATA,
    ares.ARES_ESERVFAIL: Outcome.DNS_SERVFAIL,
    ares.ARES_EREFUSED: Outcome.DNS_SERVFAIL,
    ares.ARES_ENOTIMP: Outcome.DNS_SERVFAIL,
    ares.ARES_ETIMEOUT: Outcome.DNS_TIMEOUT,
    ares.ARES_ECONNREFUSED: Outcome.DNS_TIMEOUT,
    ares.ARES_ECANCELLED: Outcome.DNS_TIMEOUT,
    ares.ARES_EDESTRUCTION: Outcome.DNS_TIMEOUT,
}
TIMEOUT: Final = ares.ARES_ETIMEOUT
"""The error of a question that nobody answers."""

Answered = Callable[[AddrInfoResult | None, int | None], None]


def open_channel(settings: UrlServerSettings) -> Channel:
    """Return a channel that gives an answer within the time the settings allow."""
    servers = [_with_brackets(server) for server in settings.dns_servers]
    try:
        count = len(servers) or _system_servers()
        return Channel(
            flags=pycares.ARES_FLAG_NOSEARCH,
            timeout=settings.dns_timeout_seconds / (_PARTS * max(count, 1)),
            tries=_TRIES,
            servers=servers or None,
        )
    except (pycares.AresError, UnicodeError) as error:
        raise ConfigError(
            f"cannot use the name servers {', '.join(settings.dns_servers) or 'of this system'}: "
            f"{error}; write urlserver.dns_servers as address or address:port"
        ) from error


def ask(channel: Channel, host: str, family: socket.AddressFamily, answered: Answered) -> None:
    """Ask for the addresses of a host; `answered` is called once, from whatever thread."""
    try:
        channel.getaddrinfo(
            host,
            None,
            family=family,
            type=socket.SOCK_STREAM,
            flags=_NO_SORTING,
            callback=answered,
        )
    except (pycares.AresError, UnicodeError, ValueError):
        # No name server could know such a name.
        answered(None, ares.ARES_EBADNAME)


def failure(error: int) -> tuple[Outcome, str]:
    """Return what an error means, and its words."""
    words = ares.strerror(error)
    return _OUTCOMES.get(error, Outcome.DNS_BAD), (
        words.decode("ascii", "replace") if isinstance(words, bytes) else words
    )


def _system_servers() -> int:
    """Return how many name servers the system is configured to ask."""
    channel = Channel()
    try:
        return len(channel.servers)
    finally:
        channel.close()


def _with_brackets(server: str) -> str:
    """Write a bare IPv6 address so that no part of it is taken for a port."""
    return f"[{server}]" if server.count(":") > 1 and not server.startswith("[") else server
