"""The table of per-host queues and the leftover queue (S1.11 to S1.18, S1.25, S1.26).

A slot belongs to one host while it holds URLs of it. What does not fit waits in the leftover queue:
behind a slot that is full (`overflow`), or for a slot at all (`waiting`, first come first served).
"""

from collections import deque

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Due
from gossamer.urlserver.host import Host, Slot


class SlotTable:
    """Who has a queue, and what waits for one."""

    def __init__(self, settings: UrlServerSettings) -> None:
        self._count = settings.queue_count
        self._length = settings.queue_len
        self._active = min(settings.host_concurrent, settings.queue_len)
        # A host is offered again when half of its queue is gone, so that refills come in batches.
        self.low_water = settings.queue_len // 2
        self._slots: list[Slot] = []
        self._free: list[Slot] = []
        self._overflow: dict[Host, deque[Due]] = {}
        self._waiting: dict[Host, deque[Due]] = {}
        self.rejected: set[str] = set()
        self.hungry = True
        self.queued = 0
        self.leftover = 0
        self._active_unit: int = 10 ** len(str(self._active - 1))
        self._slot_unit: int = 10 ** len(str(self._count))

    @property
    def free_count(self) -> int:
        """How many queues are empty."""
        return self._count - len(self._slots) + len(self._free)

    @property
    def taken_count(self) -> int:
        """How many hosts have a queue."""
        return len(self._slots) - len(self._free)

    def only_host(self) -> Host | None:
        """Return the host that has the only queue in use; None if there are more, or none."""
        if self.taken_count != 1 or self._waiting:
            return None
        return next(slot.host for slot in self._slots if slot.host is not None)

    @property
    def some_wait(self) -> bool:
        """Whether a leftover could fill an empty queue."""
        return bool(self._waiting)

    def pack(self, generation: int, slot: int, active: int) -> int:
        """Return the digits of generation, host slot and active slot as one number (A10)."""
        return (generation * self._slot_unit + slot) * self._active_unit + active

    def unpack(self, trans_id: int) -> tuple[int, int, int]:
        """Return (generation, host slot, active slot)."""
        rest, active = divmod(trans_id, self._active_unit)
        generation, slot = divmod(rest, self._slot_unit)
        return generation, slot, active

    def add(self, host: Host, due: Due) -> None:
        """Put a URL in its host's queue, or among the leftovers."""
        slot = self._bind(host) if host.slot is None else host.slot
        if slot is None:
            self._waiting.setdefault(host, deque()).append(due)
            self.leftover += 1
            host.in_line = True
            return
        length = slot.used + len(slot.pending)
        if length >= self._length:
            self._overflow.setdefault(host, deque()).append(due)
            self.leftover += 1
        else:
            slot.pending.append(due)
            self.queued += 1
            length += 1
        if length > self.low_water and not slot.rejected:
            slot.rejected = True
            self.rejected.add(host.name)

    def put_back(self, slot: Slot, due: Due) -> None:
        """Put a URL that was out at the head of its queue."""
        slot.pending.appendleft(due)
        self.queued += 1

    def shrunk(self, slot: Slot) -> Host | None:
        """Move leftovers up after URLs left a queue; return a host that got a queue of its own."""
        host = slot.host
        if host is None:
            return None
        if self._overflow and host in self._overflow:
            self._move_up(slot, host, self._overflow)
        if slot.rejected and len(slot) <= self.low_water:
            slot.rejected = False
            self.rejected.discard(host.name)
            self.hungry = True
        if slot.pending or slot.used:
            return None
        slot.host = host.slot = None
        self._free.append(slot)
        return self._next_waiting()

    def take_all(self, host: Host) -> list[Due]:
        """Remove and return a host's URLs that are not out; `shrunk` is to be called after."""
        taken = [*self._overflow.pop(host, ()), *self._waiting.pop(host, ())]
        self.leftover -= len(taken)
        host.in_line = False
        if host.slot is not None:
            self.queued -= len(host.slot.pending)
            taken = [*host.slot.pending, *taken]
            host.slot.pending.clear()
        return taken

    def drain(self) -> list[Due]:
        """Remove and return every URL that is not out."""
        hosts = {slot.host for slot in self._slots if slot.host is not None}
        hosts.update(self._waiting)
        taken = [due for host in hosts for due in self.take_all(host)]
        for slot in list(self._slots):
            self.shrunk(slot)
        return taken

    def _bind(self, host: Host) -> Slot | None:
        """Give a host an empty queue if there is one."""
        if self._free:
            slot = self._free.pop()
        elif len(self._slots) < self._count:
            slot = Slot(len(self._slots), self._active)
            self._slots.append(slot)
        else:
            return None
        slot.host = host
        slot.rejected = False
        host.slot = slot
        return slot

    def _next_waiting(self) -> Host | None:
        """Give the queue that has just become empty to the host that waits longest."""
        if not self._waiting:
            self.hungry = True
            return None
        host = next(iter(self._waiting))
        slot = self._bind(host)
        if slot is None:
            return None
        host.in_line = False
        self._move_up(slot, host, self._waiting)
        rest = self._waiting.pop(host, None)
        if rest:
            self._overflow[host] = rest
        if len(slot) > self.low_water:
            slot.rejected = True
            self.rejected.add(host.name)
        return host

    def _move_up(self, slot: Slot, host: Host, leftovers: dict[Host, deque[Due]]) -> None:
        """Move leftovers of a host into its queue as far as they fit."""
        waiting = leftovers[host]
        while waiting and len(slot) < self._length:
            slot.pending.append(waiting.popleft())
            self.queued += 1
            self.leftover -= 1
        if not waiting:
            del leftovers[host]
