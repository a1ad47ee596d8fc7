"""Which addresses and ports may be connected to.

Theory of operation. The decision is made on the address, never on how a host is spelled, and on our
own tables: an IPv4 address is public unless it lies in a listed network; an IPv6 address is public
only inside 2000::/3 and outside the listed networks. An address that carries an IPv4 address inside
is judged by that one. What cannot be read as an address is refused. A host that the user named is
allowed the addresses it had when it was first looked up, and only those.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

import msgspec

from gossamer.config.url import UrlSettings
from gossamer.errors import ConfigError, ProtocolError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Networks that are not the public Internet, each with the word a person needs.
FORBIDDEN_IPV4: Final = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by a carrier",
    "127.0.0.0/8": "loopback",
    "168.63.129.16/32": "cloud metadata",
    "169.254.0.0/16": "link-local and cloud metadata",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "6to4 relays",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "benchmarks",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved and broadcast",
}
FORBIDDEN_IPV6: Final = {
    "::1/128": "loopback",
    "::/96": "unspecified and IPv4-compatible",
    "64:ff9b:1::/48": "local translation",
    "100::/64": "discard",
    "2001::/23": "protocol assignments and Teredo",
    "2001:db8::/32": "documentation",
    "3fff::/20": "documentation",
    "5f00::/16": "segment routing",
    "fc00::/7": "unique local",
    "fe80::/10": "link-local",
    "fec0::/10": "site-local",
    "ff00::/8": "multicast",
}
# Prefix, and the bit at which the IPv4 address inside ends.
EMBEDDING_IPV6: Final = {"::ffff:0:0/96": 128, "64:ff9b::/96": 128, "2002::/16": 48}

_IPV4: Final = tuple((IPv4Network(text), why) for text, why in FORBIDDEN_IPV4.items())
_IPV6: Final = tuple((IPv6Network(text), why) for text, why in FORBIDDEN_IPV6.items())
_EMBEDDING: Final = tuple((IPv6Network(text), end) for text, end in EMBEDDING_IPV6.items())
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_MAX_REMEMBERED: Final = 8_192

# The browsers' list (Fetch standard, "bad port"): services that might take a request for a command.
# fmt: off
_BROWSERS_BAD_PORTS: Final = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995,
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
    6679, 6697, 10080,
})
# fmt: on
# Databases and caches: no web page is there, and some obey text that only resembles their own.
_DATABASE_PORTS: Final = frozenset({1433, 1521, 3306, 5432, 6379, 11211, 27017})
BAD_PORTS: Final = _BROWSERS_BAD_PORTS | _DATABASE_PORTS


class AddressPolicy:
    """Says for a host and an address whether a connection may be made; never changes."""

    def __init__(
        self,
        settings: UrlSettings,
        named_hosts: Mapping[str, frozenset[str]] | None = None,
        own_addresses: Iterable[str] = (),
    ) -> None:
        self._allow_all = settings.allow_private
        self._allow_networks = settings.allow_networks
        self._lifted = tuple(map(_network, settings.allow_networks))
        self._named = {host: _normals(addresses) for host, addresses in (named_hosts or {}).items()}
        self._own = _normals(own_addresses)
        self._reasons: dict[str, str | None] = {}

    def allows(self, host: str, address: str) -> bool:
        """Whether a URL of this host may be fetched from this address."""
        return self._why_not(host, address) is None

    def refusal(self, host: str, addresses: Iterable[str]) -> str | None:
        """Return why a host is refused; one forbidden address refuses all its answers."""
        for address in addresses:
            why = self._why_not(host, address)
            if why is not None:
                return f"{host} has the address {address}, which is not public ({why})"
        return None

    def is_named(self, host: str) -> bool:
        """Whether the user named this host."""
        return host in self._named

    def awaits_pin(self, host: str) -> bool:
        """Whether the user named this host and its addresses are not known yet."""
        return self._named.get(host) == frozenset()

    def naming(self, host: str, addresses: Iterable[str] = ()) -> "AddressPolicy":
        """Return a policy where the user named this host; the first addresses given are its own."""
        if self._named.get(host):
            return self
        policy: AddressPolicy = copy(self)
        policy._named = {**self._named, host: _normals(addresses)}
        return policy

    def to_dict(self) -> dict[str, object]:
        """Return the policy as plain data."""
        return {
            "allow_private": self._allow_all,
            "allow_networks": list(self._allow_networks),
            "named_hosts": {host: sorted(pins) for host, pins in self._named.items()},
            "own_addresses": sorted(self._own),
        }

    def to_bytes(self) -> bytes:
        """Return the policy as it is sent to other processes."""
        return msgspec.msgpack.encode(self.to_dict())

    @staticmethod
    def from_dict(data: Mapping[str, object]) -> "AddressPolicy":
        """Return the policy that `to_dict` described."""
        try:
            return _policy(msgspec.convert(data, _Written))
        except msgspec.ValidationError as error:
            raise ProtocolError(f"cannot read an address policy: {error}") from error

    @staticmethod
    def from_bytes(data: bytes) -> "AddressPolicy":
        """Return the policy that `to_bytes` wrote."""
        try:
            return _policy(msgspec.msgpack.decode(data, type=_Written))
        except msgspec.DecodeError as error:
            raise ProtocolError(f"cannot read an address policy: {error}") from error

    def _why_not(self, host: str, address: str) -> str | None:
        try:
            why = self._reasons[address]
        except KeyError:
            why = self._remember(address)
        pins = self._named.get(host) if why is not None else None
        if pins and (address in pins or _normal(address) in pins):
            return None
        return why

    def _remember(self, address: str) -> str | None:
        if len(self._reasons) >= _MAX_REMEMBERED:
            self._reasons.clear()
        why = self._reasons[address] = self._judge(address)
        return why

    def _judge(self, text: str) -> str | None:
        address = _read(text)
        if address is None:
            return "it cannot be read as an IP address"
        if self._allow_all:
            return None
        inner = _inner(address)
        for each in (address, inner):
            if any(each in network for network in self._lifted):
                return None
        if not self._own.isdisjoint((str(address), str(inner))):
            return "this machine's own"
        return _forbidden(inner)


def port_refusal(port: int, allowed: Sequence[int] = ()) -> str | None:
    """Return why a port is not used; `allowed`, unless empty, lists all that are."""
    if allowed:
        return None if port in allowed else f"port {port} is not among the allowed ports"
    if port in BAD_PORTS:
        return f"port {port} belongs to another service than the web"
    return None if 0 < port < 65_536 else f"port {port} does not exist"


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An address policy on its way to another process."""

    allow_private: bool
    allow_networks: tuple[str, ...]
    named_hosts: dict[str, frozenset[str]]
    own_addresses: frozenset[str]


def _policy(written: _Written) -> AddressPolicy:
    settings = UrlSettings(
        allow_private=written.allow_private, allow_networks=written.allow_networks
    )
    return AddressPolicy(settings, written.named_hosts, written.own_addresses)


def _read(text: str) -> Address | None:
    """Return the address, without the zone that is only this machine's business."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _normal(text: str) -> str | None:
    """Return one spelling for all that reach the same end, None for what is no address."""
    address = _read(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return None if address is None else str(address)


def _normals(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(normal for normal in map(_normal, texts) if normal is not None)


def _inner(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address carries inside, else the address itself."""
    if isinstance(address, IPv6Address):
        for network, end in _EMBEDDING:
            if address in network:
                return IPv4Address(int(address) >> (128 - end) & 0xFFFF_FFFF)
    return address


def _forbidden(address: Address) -> str | None:
    table = _IPV4 if isinstance(address, IPv4Address) else _IPV6
    for network, why in table:
        if address in network:
            return f"{network}, {why}"
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "outside 2000::/3, not assigned"
    return None


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ConfigError(
            f"cannot use {text!r} in [url] allow_networks: {error}; "
            "give networks such as 10.1.0.0/16 or fd00:1234::/32"
        ) from error
