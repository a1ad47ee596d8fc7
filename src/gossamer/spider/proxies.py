"""Proxies that orders name: which may be connected to, and how.

The rule (docs/decisions/service-requests.md). A proxy is a host like any other: its address must
pass the address policy, and its port must not belong to another service, unless the administrator
has named this very proxy. What is asked for through it has passed the policy as ever, and it is
told the address that has: it opens a tunnel there and resolves nothing.
"""

from collections.abc import Iterable

from gossamer.url.address import AddressPolicy, port_refusal


class Proxies:
    """Judges proxies of the form `http://[login@]host:port`."""

    def __init__(self, named: Iterable[str]) -> None:
        self._named = frozenset(_authority(each.strip().lower()) for each in named)

    def refusal(self, proxy: str) -> str | None:
        """Return why a proxy is not used, as far as its port tells."""
        authority = _authority(proxy)
        if authority in self._named:
            return None
        port = authority.rpartition(":")[2]
        why = port_refusal(int(port) if port.isdecimal() else 0)
        return None if why is None else f"the proxy {authority} is not used: {why}"

    def allows(self, proxy: str, address: str, policy: AddressPolicy) -> bool:
        """Whether a proxy may be connected to at this address."""
        authority = _authority(proxy)
        host = authority.rpartition(":")[0].strip("[]")
        return authority in self._named or policy.allows(host, address)


def without_login(proxy: str) -> str:
    """Return a proxy as it may be shown."""
    return f"http://{_authority(proxy)}"


def _authority(proxy: str) -> str:
    return proxy.removeprefix("http://").rpartition("@")[2].rstrip("/")
