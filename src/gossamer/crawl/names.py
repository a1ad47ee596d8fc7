"""Host names to addresses, under the address policy.

A host that the user named as a start URL may be at a private address, and then only at the
addresses it had when it was first resolved; every other host must be at public addresses.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from gossamer.spider.spider import BEHIND_PROXY
from gossamer.url.address import AddressPolicy
from gossamer.urlserver.dns import Resolver
from gossamer.urlserver.resolution import Resolution, refused


class Names:
    """Asks the resolver and judges its answers."""

    def __init__(
        self,
        resolver: Resolver,
        policy: AddressPolicy,
        named_hosts: Collection[str],
        tell_policy: Callable[[AddressPolicy], None],
        *,
        proxied: bool = False,
    ) -> None:
        self._proxied = proxied
        self._resolver = resolver
        self._policy = policy
        self._unpinned = set(named_hosts)
        self.named = frozenset(named_hosts)
        """Hosts of start URLs."""
        self._tell_policy = tell_policy
        self._asked: set[str] = set()
        self._answers: list[tuple[str, Resolution]] = []

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._asked)

    def name(self, hosts: Iterable[str]) -> None:
        """Take note that the user named more hosts while we ran."""
        new = frozenset(hosts) - self.named
        self._unpinned |= new
        self.named |= new

    def ask(self, host: str, *, again: bool = False) -> None:
        """Have a host name resolved; behind a proxy only addresses are looked at."""
        if self._proxied and not _is_address(host):
            self._answers.append((host, Resolution((BEHIND_PROXY,), float("inf"))))
            return
        self._asked.add(host)
        self._resolver.resolve(host, again=again)

    def listen(self) -> None:
        """Take the answers that have come, refused ones as failures."""
        for host, answer in self._resolver.results():
            self._asked.discard(host)
            self._answers.append((host, self._judge(host, answer)))

    def answers(self) -> list[tuple[str, Resolution]]:
        """Return the answers taken since the last call."""
        answers, self._answers = self._answers, []
        return answers

    def _judge(self, host: str, resolution: Resolution) -> Resolution:
        if resolution.outcome is not None:
            return resolution
        if host in self._unpinned:
            self._unpinned.discard(host)
            self._policy = self._policy.naming(host, resolution.addresses)
            self._tell_policy(self._policy)
        refusal = self._policy.refusal(host, resolution.addresses)
        if refusal is None:
            return resolution
        return refused(resolution, refusal)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def own_addresses() -> list[str]:
    """Return the addresses of this machine's interfaces (on Linux)."""
    addresses = []
    with contextlib.suppress(OSError):
        lines = Path("/proc/net/if_inet6").read_text().splitlines()
        addresses += [str(IPv6Address(int(line.split()[0], 16))) for line in lines]
    with contextlib.suppress(OSError):
        previous = ""
        for line in Path("/proc/net/fib_trie").read_text().splitlines():
            if "/32 host LOCAL" in line:
                addresses.append(previous.rpartition("-- ")[2].strip())
            previous = line
    return addresses
