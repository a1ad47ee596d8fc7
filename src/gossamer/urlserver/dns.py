"""Host names to addresses without blocking: c-ares with its own thread behind a small cache.

`resolve` asks, `fileno` becomes readable when answers wait, `results` collects them. c-ares reads
/etc/hosts first and knows `localhost`; names are never completed with search domains, because a
name from the web means what it says. c-ares is loaded by the first question (`channel.py`).
"""

import os
import socket
from collections import OrderedDict, deque
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from gossamer.clock import Clock, SystemClock
from gossamer.config.urlserver import UrlServerSettings
from gossamer.outcomes import Outcome
from gossamer.urlserver.resolution import Resolution

if TYPE_CHECKING:
    from pycares import AddrInfoResult, Channel

__all__ = ["Resolution", "Resolver"]

MAX_ADDRESSES: Final = 16
_MAX_CACHED: Final = 10_000
_MAX_OPEN: Final = 128
_GRACE_SECONDS: Final = 1.0
_FAMILIES: Final = {"any": socket.AF_UNSPEC, "4": socket.AF_INET, "6": socket.AF_INET6}
# What a name server has said about a name is remembered; that none could say anything is not.
_DENIALS: Final = frozenset({Outcome.DNS_NXDOMAIN, Outcome.DNS_NODATA})
_Raw: TypeAlias = "tuple[str, AddrInfoResult | None, int | None]"


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
        self._channel: Channel | None = None
        self._second: Channel | None = None
        if settings.dns_servers:
            # Servers that cannot be used are complained about before anything begins.
            self._first_channel()
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
            self._ask(host, self._first_channel())
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
            self._ask(host, self._first_channel())
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

    def _first_channel(self) -> "Channel":
        if self._channel is None:
            self._channel = _open_channel(self._settings)
        return self._channel

    def _second_channel(self) -> "Channel":
        """Return a channel for what is asked again: c-ares, too, remembers what a channel heard."""
        if self._second is None:
            self._second = _open_channel(self._settings)
        return self._second

    def _ask(self, host: str, channel: "Channel") -> None:
        from gossamer.urlserver.channel import ask  # noqa: PLC0415 - addresses need no resolver

        self._asked[host] = self._clock.monotonic() + self._settings.dns_timeout_seconds

        def answered(result: "AddrInfoResult | None", error: int | None) -> None:
            self._raw.append((host, result, error))
            self._signal()

        ask(channel, host, self._family, answered)

    def _understood(
        self, host: str, result: "AddrInfoResult | None", error: int | None
    ) -> Resolution:
        """Turn an answer of c-ares into a resolution."""
        from gossamer.urlserver.channel import failure  # noqa: PLC0415 - addresses need no resolver

        now = self._clock.monotonic()
        if result is None or not result.nodes:
            outcome, text = Outcome.DNS_NODATA, "no addresses"
            if error is not None:
                outcome, text = failure(error)
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
        if not self._asked:
            return
        from gossamer.urlserver.channel import TIMEOUT  # noqa: PLC0415 - addresses need no resolver

        limit = self._clock.monotonic() - _GRACE_SECONDS
        for host in [host for host, deadline in self._asked.items() if deadline < limit]:
            del self._asked[host]
            self._keep(host, self._understood(host, None, TIMEOUT))

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


def _open_channel(settings: UrlServerSettings) -> "Channel":
    from gossamer.urlserver.channel import open_channel  # noqa: PLC0415 - addresses need no resolver

    return open_channel(settings)


def _text(value: str | bytes) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value
