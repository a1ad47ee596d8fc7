"""Which host may send next: a heap of addresses, each with a heap of its hosts.

Theory of operation. A host that could send waits in the heap of its address under the moment from
which it may; an address that could take a request stands in the ready heap under the later of its
own moment and that of its first host. A dispatch touches one address and one host, so its cost does
not grow with the number of hosts, not even when all of them share one address. Entries that have
become wrong stay in the heaps and are recognised when they come up: a host's entry by its ticket,
an address's by its key. When they are the greater part, they are swept out.
"""

from heapq import heapify, heappop, heappush
from typing import Final

from gossamer.urlserver.host import Address, Host

_NEVER: Final = float("inf")
_SWEEP_AT_LEAST: Final = 64


class Ready:
    """Order of service; knows no limits but the addresses' own."""

    def __init__(self, address_limit: int) -> None:
        self._limit = address_limit
        self._heap: list[tuple[float, int, Address]] = []
        self._ticket = 0
        self._standing = 0

    def __len__(self) -> int:
        return self._standing

    def put(self, host: Host, address: Address, moment: float) -> None:
        """Let a host wait for its turn from this moment on."""
        self._ticket = ticket = self._ticket + 1
        host.ticket = ticket
        heappush(address.waiting, (moment, ticket, host))
        if moment < address.key:
            self.renew(address)

    def renew(self, address: Address) -> None:
        """Put an address where it belongs after its state or its hosts changed."""
        waiting = address.waiting
        while waiting and waiting[0][1] != waiting[0][2].ticket:
            heappop(waiting)
        if address.unstarted or address.open >= self._limit or not waiting:
            key = _NEVER
        else:
            key = max(address.next_at, waiting[0][0])
        if key == address.key:
            return
        self._standing += (key != _NEVER) - (address.key != _NEVER)
        address.key = key
        if key != _NEVER:
            self._ticket = ticket = self._ticket + 1
            heappush(self._heap, (key, ticket, address))
            if len(self._heap) > 3 * self._standing + _SWEEP_AT_LEAST:
                self._sweep()

    def pop_address(self, now: float) -> Address | None:
        """Return the address whose turn it is; `renew` puts it back."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            key, _, address = heappop(heap)
            if key == address.key:
                address.key = _NEVER
                self._standing -= 1
                return address
        return None

    def pop_host(self, address: Address, now: float) -> Host | None:
        """Return the next host of an address that may take a request now."""
        waiting = address.waiting
        if address.unstarted or address.open >= self._limit or address.next_at > now:
            return None
        while waiting and waiting[0][0] <= now:
            _, ticket, host = heappop(waiting)
            if ticket == host.ticket:
                host.ticket = 0
                return host
        return None

    def next_at(self) -> float | None:
        """Return the first moment at which an address may be ready."""
        heap = self._heap
        while heap and heap[0][0] != heap[0][2].key:
            heappop(heap)
        return heap[0][0] if heap else None

    def first(self) -> Host | None:
        """Return the host that waits for the first of these moments."""
        if self.next_at() is None:
            return None
        waiting = self._heap[0][2].waiting
        return waiting[0][2] if waiting else None

    def _sweep(self) -> None:
        """Keep one right entry for each address that stands in the heap."""
        right = {entry[2]: entry for entry in self._heap if entry[0] == entry[2].key}
        self._heap = list(right.values())
        heapify(self._heap)
