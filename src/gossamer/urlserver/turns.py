"""Whose turn it is: addresses that may take a request, the hosts at each, and how many each has.

A host that may have many requests out has its share of all places first; more only while nobody
else wants them. Else one slow host would in time hold every place.
"""

from collections import deque
from collections.abc import Callable, Sized
from typing import Final

from gossamer.messages import Visit
from gossamer.urlserver.dispatch import Dispatch
from gossamer.urlserver.host import Address, Host
from gossamer.urlserver.ready import Ready
from gossamer.urlserver.slots import SlotTable

# What a host may have out unless somebody asks for more; serving these one by one takes longer.
_LEAST_SHARE: Final = 2


class Turns:
    """Lets hosts send, in the order in which they are ready."""

    def __init__(
        self,
        ready: Ready,
        dispatch: Dispatch,
        table: SlotTable,
        live: Sized,
        consider: Callable[[Host, float], None],
    ) -> None:
        self._ready = ready
        self._dispatch = dispatch
        self._table = table
        self._live = live
        self._consider = consider

    def take(self, now: float, limit: int) -> list[Visit]:
        """Return what may be sent now; each robots.txt to fetch counts as one of `limit`."""
        visits: list[Visit] = []
        ready = self._ready
        share = self._share(limit)
        over_share: list[tuple[Host, Address]] = []
        room = limit
        while room > 0:
            address = ready.pop_address(now)
            if address is None:
                break
            while room > 0:
                sender = ready.pop_host(address, now)
                if sender is None:
                    break
                rest = share - sender.open
                if rest <= 0:
                    over_share.append((sender, address))
                    continue
                room -= self._dispatch.serve(sender, address, now, min(room, rest), visits)
                self._consider(sender, now)
            ready.renew(address)
        if over_share:
            self._serve_more(over_share, now, room, visits)
        return visits

    def _share(self, limit: int) -> int:
        """Return how many of all places each host may have before any has more."""
        places = len(self._live) + limit
        return max(places // max(self._table.taken_count, 1), _LEAST_SHARE)

    def _serve_more(
        self, senders: list[tuple[Host, Address]], now: float, room: int, visits: list[Visit]
    ) -> None:
        """Let hosts that have their share out take turns with the places that nobody else wants."""
        turns = deque(senders if room > 0 else ())
        while turns and room > 0:
            sender, address = turns.popleft()
            if self._dispatch.serve(sender, address, now, 1, visits):
                room -= 1
                turns.append((sender, address))
        for sender, address in senders:
            self._consider(sender, now)
            self._ready.renew(address)
