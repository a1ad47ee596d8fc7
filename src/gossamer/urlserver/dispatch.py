"""A host's turn: which of its URLs goes out, and the order that is made of it.

The URL at the head of the queue meets robots.txt here. The rules let it into the Active range, that
is, it becomes an order with a TRANS_ID; or they end it; or they are not known, and then fetching
them is the request that is made.
"""

from collections.abc import Callable, MutableMapping
from typing import Final

from gossamer.messages import Due, Visit
from gossamer.urlserver.authority import key_of
from gossamer.urlserver.errands import Errands
from gossamer.urlserver.exits import Exits
from gossamer.urlserver.host import Address, Host, Order, Slot, start_alike
from gossamer.urlserver.hosts import HostTable
from gossamer.urlserver.pace import Pace
from gossamer.urlserver.robots import RobotsState
from gossamer.urlserver.slots import SlotTable

_ALLOW_ALL: Final = RobotsState.ALLOW_ALL


class Dispatch:
    """Makes orders of what is queued for a host whose turn has come."""

    def __init__(
        self,
        pace: Pace,
        table: SlotTable,
        hosts: HostTable,
        exits: Exits,
        errands: Errands,
        live: MutableMapping[int, Order],
        shrunk: Callable[[Slot | None, float], None],
    ) -> None:
        self._address_gap = pace.address_gap
        self._address_limit = pace.address_limit
        self._table = table
        self._hosts = hosts
        self._exits = exits
        self._errands = errands
        self._live = live
        self._shrunk = shrunk

    def serve(
        self, host: Host, address: Address, now: float, room: int, visits: list[Visit]
    ) -> int:
        """Send what a host may have now; return how many requests that is."""
        if host.next_at > now or now >= host.fresh_until:
            return 0
        limit = self._address_limit
        count = self.serve_alike(host, address, now, room, visits)
        while (
            count < room
            and host.open < host.limit
            and not host.unstarted
            and address.open < limit
            and not address.unstarted
        ):
            if host.errands:
                self._errands.send(host.errands.pop(0), host, address, now)
            else:
                due = self._next_due(host, now)
                if due is not None:
                    visits.append(self._send(due, host, address, now))
                elif host.errands:
                    continue
                else:
                    break
            count += 1
        return count

    def serve_alike(
        self, host: Host, address: Address, now: float, room: int, visits: list[Visit]
    ) -> int:
        """Send what a host may have without a look at each, if there is nothing to be heeded."""
        if host.gap or self._address_gap or host.dead or host.errands:
            return 0
        most = min(room, host.limit - host.open, self._address_limit - address.open)
        return self._send_alike(host, address, now, most, visits)

    def _send_alike(
        self, host: Host, address: Address, now: float, most: int, visits: list[Visit]
    ) -> int:
        """Send the first URLs of a host without gaps, as far as the same rules let them pass.

        Most hosts have one authority, whose rules are looked up once for all of them. What is not
        like the first one is left to `_next_due`.
        """
        slot = host.slot
        if slot is None or not slot.pending or host.awaiting is not None:
            return 0
        pending = slot.pending
        path = pending[0].url.find("/", 8)
        base = pending[0].url[: path + 1]
        authority = host.authorities.get(base[:-1])
        rules = authority.rules if authority is not None else None
        if rules is None or now >= rules.expires_at:
            return 0
        allows = None if rules.state is _ALLOW_ALL else rules.allows
        free, live, pack = slot.free, self._live, self._table.pack
        count = 0
        while count < most and pending:
            due = pending[0]
            url = due.url
            if due.manner is not None or not url.startswith(base):
                break
            if allows is not None and not allows(url[path:]):
                break
            pending.popleft()
            count += 1
            position = free.pop()
            trans_id = pack(slot.generation + count, slot.index, position)
            live[trans_id] = Order(trans_id, host, address, now, now, due, position)
            visits.append(_visit(trans_id, due, address.name))
        self._table.queued -= count
        slot.generation += count
        slot.used += count
        start_alike(host, address, count)
        return count

    def _next_due(self, host: Host, now: float) -> Due | None:
        """Take the first URL that robots.txt lets pass; None if none does or rules come first."""
        slot = host.slot
        if slot is None or host.awaiting is not None:
            return None
        pending = slot.pending
        found: Due | None = None
        before = len(pending)
        while pending:
            due = pending[0]
            url = due.url
            path = url.find("/", 8)
            name = url[:path]
            if due.manner is not None:
                name = key_of(name, due)
            authority = host.authorities.get(name)
            if host.dead and self._exits.end_if_dead(due, name, host, now):
                pending.popleft()
                continue
            rules = authority.rules if authority is not None else None
            if rules is None or now >= rules.expires_at:
                if not self._errands.ask(name, host):
                    break
                continue
            pending.popleft()
            if rules.state is _ALLOW_ALL or rules.allows(url[path:]):
                found = due
                break
            self._exits.forbid(due, rules, now)
        self._table.queued -= before - len(pending)
        if found is None and len(pending) < before:
            self._shrunk(slot, now)
        return found

    def _send(self, due: Due, host: Host, address: Address, now: float) -> Visit:
        """Move a URL into the Active range."""
        slot = host.slot
        assert slot is not None
        slot.generation += 1
        position = slot.free.pop()
        slot.used += 1
        trans_id = self._table.pack(slot.generation, slot.index, position)
        order = Order(trans_id, host, address, now, now, due, position)
        order.starts(self._address_gap)
        self._live[trans_id] = order
        if order.host_waits:
            self._hosts.changed(host)
        return _visit(trans_id, due, address.name, report_start=order.report_start)


def _visit(trans_id: int, due: Due, address: str, *, report_start: bool = False) -> Visit:
    return Visit(
        trans_id,
        due.doc_id,
        address,
        due.url,
        due.depth,
        due.kind,
        due.tries,
        report_start,
        due.via,
        due.etag,
        due.last_modified,
        due.seen,
        due.manner,
    )
