"""All hosts and addresses the URL server knows at the moment, within bounds."""

from collections import OrderedDict
from typing import Final

from gossamer.urlserver.host import Address, Host
from gossamer.urlserver.pace import Pace
from gossamer.urlserver.requests import HostClock

_MAX_IDLE: Final = 20_000
_MAX_RULE_CHARACTERS: Final = 64 << 20


class HostTable:
    """Remembers hosts that are idle too: their addresses, rules and clocks are worth keeping."""

    def __init__(self, pace: Pace, max_idle: int = _MAX_IDLE) -> None:
        self._pace = pace
        self._max_idle = max_idle
        self._hosts: dict[str, Host] = {}
        self._addresses: dict[str, Address] = {}
        self._idle: OrderedDict[Host, None] = OrderedDict()
        self._idle_addresses: OrderedDict[Address, None] = OrderedDict()
        self._changed: dict[Host, None] = {}
        self.rule_characters = 0

    def __len__(self) -> int:
        return len(self._hosts)

    @property
    def address_count(self) -> int:
        """How many addresses are known."""
        return len(self._addresses)

    def longest_gap(self) -> float:
        """Return the longest gap between requests of the hosts in use, but for those in trouble."""
        in_use = (host for host in self._hosts.values() if not host.is_idle)
        return max((host.gap for host in in_use if not host.strikes), default=0.0)

    def find(self, name: str) -> Host | None:
        """Return a host if it is known."""
        return self._hosts.get(name)

    def get(self, name: str) -> Host:
        """Return a host, and keep it from being forgotten until `rest`."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, self._pace)
        elif host in self._idle:
            del self._idle[host]
        return host

    def rest(self, host: Host, now: float) -> None:
        """Note that nothing of a host is queued or out any more; forget the longest idle ones."""
        if host.is_idle and host.name in self._hosts:
            self._idle[host] = None
            self._idle.move_to_end(host)
            self._forget(now)

    def address(self, name: str) -> Address:
        """Return an address."""
        address = self._addresses.get(name)
        if address is None:
            address = self._addresses[name] = Address(name)
            self._idle_addresses[address] = None
        return address

    def locate(self, host: Host, name: str) -> None:
        """Place a host on an address."""
        address = self.address(name)
        if address is host.address:
            return
        self._leave(host)
        address.hosts += 1
        self._idle_addresses.pop(address, None)
        host.address = address
        # An entry in the old address's heap is void without its ticket.
        host.ticket = 0

    def changed(self, host: Host) -> None:
        """Note that a host's clock is to be stored."""
        self._changed[host] = None

    def clocks(self, now: float) -> list[HostClock]:
        """Return the clocks that changed since the last call."""
        changed, self._changed = self._changed, {}
        return [
            HostClock(
                host.name,
                max(host.next_at - now, 0.0),
                host.gap,
                host.strikes,
                host.parked,
                host.address.name if host.address else "",
            )
            for host in changed
        ]

    def all(self) -> list[Host]:
        """Return every host."""
        return list(self._hosts.values())

    def _forget(self, now: float) -> None:
        """Forget idle hosts beyond the bound, but none whose clock still counts."""
        for _ in range(2):
            full = self.rule_characters > _MAX_RULE_CHARACTERS or len(self._idle) > self._max_idle
            if not full or not self._idle:
                break
            host = next(iter(self._idle))
            if host.next_at > now:
                self._idle.move_to_end(host)
                continue
            del self._idle[host]
            del self._hosts[host.name]
            self._leave(host)
            for authority in host.authorities.values():
                if authority.rules is not None and authority.rules.rules is not None:
                    self.rule_characters -= authority.rules.rules.characters
        while self._idle_addresses:
            address = next(iter(self._idle_addresses))
            if address.next_at > now or address.open:
                break
            del self._idle_addresses[address]
            del self._addresses[address.name]

    def _leave(self, host: Host) -> None:
        if host.address is not None:
            host.address.hosts -= 1
            if not host.address.hosts:
                self._idle_addresses[host.address] = None
            host.address = None
