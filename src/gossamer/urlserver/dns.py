"""Host names to addresses without blocking: c-ares with its own thread behind a small cache.

`resolve` asks, `fileno` becomes readable when answers wait, `results` collects them. c-ares reads
/etc/hosts first and knows `localhost`; names are never completed with search domains, because a
name from the web means what it says.
"""

import os
import socket
from collections import OrderedDict, deque
from ipaddress import ip_address
from types import TracebackType
from typing import Final, Self, TypeAlias

import pycares
from pycares import errno as ares

from gossamer.clock import Clock, SystemClock
from gossamer.config.urlserver import UrlServerSettings
from gossamer.errors import ConfigError
from gossamer.outcomes import Outcome
from gossamer.urlserver.resolution import Resolution

__all__ = ["Resolution", "Resolver"]

MAX_ADDRESSES: Final = 16
_MAX_CACHED: Final = 10_000
_MAX_OPEN: Final = 128
_TRIES: Final = 3
# c-ares doubles its patience with each of the three tries: 1 + 2 + 4.
_PARTS: Final = 7
_GRACE_SECONDS: Final = 1.0
# ARES_AI_NOSORT of ares.h, which pycares does not name: sorting opens a socket for each address.
_NO_SORTING: Final = 1 << 7
_FAMILIES: Final = {"any": socket.AF_UNSPEC, "4": socket.AF_INET, "6": socket.AF_INET6}
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
# What a name server has said about a name is remembered; that none could say anything is not.
_DENIALS: Final = frozenset({Outcome.DNS_NXDOMAIN, Outcome.DNS_NODATA})
_Raw: TypeAlias = tuple[str, pycares.AddrInfoResult | None, int | None]


class Resolver:
    """Answers each `resolve` with one entry of `results`, in any order."""

    def __init__(self, settings: UrlServerSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock: Clock = clock or SystemClock()
        self._family = _FAMILIES[settings.ip_version]
        self._cache: OrderedDict[str, Resolution] = OrderedDict()
        self._asked: dict[str, float] = {}
        self._backlog: deque[str] = deque()
        self._waiting: set[str] = set()
        self._raw: deque[_Raw] = deque()
        self._ready: list[tuple[str, Resolution]] = []
        self._channel = _open_channel(settings)
        self._second: pycares.Channel | None = None
        self._readable, self._writable = os.pipe()
        os.set_blocking(self._readable, False)
        os.set_blocking(self._writable, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def fileno(self) -> int:
        """Return a descriptor that is readable while answers wait."""
        return self._readable

    def resolve(self, host: str, *, again: bool = False) -> None:
        """Ask for a host; a question that is under way already is not asked twice.

        `again`: what is remembered of it does not count.
        """
        if host in self._asked or host in self._waiting:
            return
        answer = self._literal(host) or (None if again else self._cached(host))
        if answer is not None:
            self._ready.append((host, answer))
            self._signal()
        elif again:
            self._ask(host, self._second_channel())
        elif len(self._asked) < _MAX_OPEN:
            self._ask(host, self._channel)
        else:
            self._backlog.append(host)
            self._waiting.add(host)

    def results(self) -> list[tuple[str, Resolution]]:
        """Return the answers that have come."""
        self._drain_pipe()
        while self._raw:
            host, result, error = self._raw.popleft()
            if self._asked.pop(host, None) is not None:
                self._keep(host, self._understood(host, result, error))
        self._give_up_overdue()
        while self._backlog and len(self._asked) < _MAX_OPEN:
            host = self._backlog.popleft()
            self._waiting.discard(host)
            self._ask(host, self._channel)
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        """Stop asking."""
        if self._readable < 0:
            return
        for channel in (self._channel, self._second):
            if channel is not None:
                channel.cancel()
                channel.close()
        # Cancelling has called back for every open question, so nothing signals after this.
        readable, writable = self._readable, self._writable
        self._readable = self._writable = -1
        os.close(writable)
        os.close(readable)

    def _literal(self, host: str) -> Resolution | None:
        """Answer for a host that is an address already."""
        try:
            address = ip_address(host)
        except ValueError:
            return None
        if self._settings.ip_version not in ("any", str(address.version)):
            detail = (
                f"{host} is no IPv{self._settings.ip_version} address, and only these are in use"
            )
            return Resolution((), float("inf"), Outcome.DNS_NODATA, detail)
        return Resolution((str(address),), float("inf"))

    def _cached(self, host: str) -> Resolution | None:
        answer = self._cache.get(host)
        if answer is None or answer.expires_at <= self._clock.monotonic():
            return None
        self._cache.move_to_end(host)
        return answer

    def _second_channel(self) -> pycares.Channel:
        """Return a channel for what is asked again: c-ares, too, remembers what a channel heard."""
        if self._second is None:
            self._second = _open_channel(self._settings)
        return self._second

    def _ask(self, host: str, channel: pycares.Channel) -> None:
        self._asked[host] = self._clock.monotonic() + self._settings.dns_timeout_seconds

        def answered(result: pycares.AddrInfoResult | None, error: int | None) -> None:
            self._raw.append((host, result, error))
            self._signal()

        try:
            channel.getaddrinfo(
                host,
                None,
                family=self._family,
                type=socket.SOCK_STREAM,
                flags=_NO_SORTING,
                callback=answered,
            )
        except (pycares.AresError, UnicodeError, ValueError):
            # No name server could know such a name.
            answered(None, ares.ARES_EBADNAME)

    def _understood(
        self, host: str, result: pycares.AddrInfoResult | None, error: int | None
    ) -> Resolution:
        """Turn an answer of c-ares into a resolution."""
        now = self._clock.monotonic()
        if result is None or not result.nodes:
            outcome = Outcome.DNS_NODATA if error is None else _OUTCOMES.get(error, Outcome.DNS_BAD)
            text = "no addresses" if error is None else _text(ares.strerror(error))
            kept = self._settings.dns_negative_ttl_seconds if outcome in _DENIALS else 0.0
            return Resolution((), now + kept, outcome, f"cannot resolve {host}: {text}")
        nodes = sorted(
            result.nodes[: 4 * MAX_ADDRESSES], key=lambda node: node.family != socket.AF_INET
        )
        addresses = tuple(dict.fromkeys(_text(node.addr[0]) for node in nodes))[:MAX_ADDRESSES]
        ttl = min([node.ttl for node in nodes] + [alias.ttl for alias in result.cnames])
        low, high = self._settings.dns_min_ttl_seconds, self._settings.dns_max_ttl_seconds
        return Resolution(addresses, now + min(max(float(ttl), low), high))

    def _keep(self, host: str, resolution: Resolution) -> None:
        self._ready.append((host, resolution))
        if resolution.expires_at <= self._clock.monotonic():
            self._cache.pop(host, None)
            return
        self._cache[host] = resolution
        self._cache.move_to_end(host)
        if len(self._cache) > _MAX_CACHED:
            self._cache.popitem(last=False)

    def _give_up_overdue(self) -> None:
        """Answer for c-ares where it takes longer than it was told to."""
        limit = self._clock.monotonic() - _GRACE_SECONDS
        for host in [host for host, deadline in self._asked.items() if deadline < limit]:
            del self._asked[host]
            self._keep(host, self._understood(host, None, ares.ARES_ETIMEOUT))

    def _signal(self) -> None:
        try:
            os.write(self._writable, b"!")
        except OSError:
            # Full: it is readable already. Closed: nobody reads any more.
            return

    def _drain_pipe(self) -> None:
        try:
            while len(os.read(self._readable, 4_096)) == 4_096:
                pass
        except BlockingIOError:
            return


def _open_channel(settings: UrlServerSettings) -> pycares.Channel:
    """Return a channel that gives an answer within the time the settings allow."""
    servers = [_with_brackets(server) for server in settings.dns_servers]
    try:
        count = len(servers) or _system_servers()
        return pycares.Channel(
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


def _system_servers() -> int:
    """Return how many name servers the system is configured to ask."""
    channel = pycares.Channel()
    try:
        return len(channel.servers)
    finally:
        channel.close()


def _with_brackets(server: str) -> str:
    """Write a bare IPv6 address so that no part of it is taken for a port."""
    return f"[{server}]" if server.count(":") > 1 and not server.startswith("[") else server


def _text(value: str | bytes) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value
