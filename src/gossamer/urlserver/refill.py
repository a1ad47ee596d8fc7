"""When to ask the catalog for more, and whom it should leave out (S1.21 to S1.26)."""

from typing import Final

from gossamer.config.urlserver import UrlServerSettings
from gossamer.urlserver.host import Host
from gossamer.urlserver.requests import Refill
from gossamer.urlserver.slots import SlotTable

_MAX_COUNT: Final = 10_000
# After a batch that was smaller than asked for, queues that still hold something wait this long.
_PAUSE_SECONDS: Final = 0.05
# And this long while no order could be made of it anyway: so other hosts get their turn, too.
_SATURATED_PAUSE_SECONDS: Final = 1.0


class Refills:
    """The maps of the last batch (domain to address to number of URLs) and the next request."""

    def __init__(self, settings: UrlServerSettings, table: SlotTable) -> None:
        self._table = table
        self._length = settings.queue_len
        self._max_urls_per_address = settings.max_urls_per_address or settings.queue_len
        self._urls_of: dict[Host, int] = {}
        self._address_of: dict[Host, str] = {}
        self._urls_at: dict[str, int] = {}
        self._held: dict[str, float] = {}
        self._asked = 0
        self._came_short_at = float("-inf")

    def note(self, host: Host, urls: int) -> None:
        """Count URLs of the new batch."""
        self._urls_of[host] = self._urls_of.get(host, 0) + urls
        if host.address is not None:
            name = self._address_of[host] = host.address.name
            self._urls_at[name] = self._urls_at.get(name, 0) + urls

    def located(self, host: Host) -> None:
        """Enter a host of the batch in the maps as soon as its address is known."""
        urls = self._urls_of.get(host)
        if urls and host not in self._address_of and host.address is not None:
            name = self._address_of[host] = host.address.name
            self._urls_at[name] = self._urls_at.get(name, 0) + urls

    def hold(self, host: Host) -> None:
        """Leave a host out until it may be asked again."""
        self._held[host.name] = host.next_at

    def held(self, now: float) -> dict[str, float]:
        """Return the hosts that are left out, and until when each of them is."""
        self._held = {name: until for name, until in self._held.items() if until > now}
        return self._held

    def answered(self, count: int, now: float) -> None:
        """Note how many URLs came."""
        self._came_short_at = now if count < self._asked else float("-inf")

    def more_there(self) -> None:
        """Note that the next batch need not be small because the last one was."""
        self._came_short_at = float("-inf")

    def next(self, now: float, *, saturated: bool = False) -> Refill | None:
        """Return the request to make now, if one is to be made, and forget the batch before.

        `saturated`: no order could be made of what it brings, so that it has time.
        """
        table = self._table
        if table.some_wait or not table.free_count:
            return None
        pause = _SATURATED_PAUSE_SECONDS if saturated else _PAUSE_SECONDS
        if now - self._came_short_at < pause and not table.hungry and table.queued:
            return None
        table.hungry = False
        crowded = frozenset(
            name for name, count in self._urls_at.items() if count > self._max_urls_per_address
        )
        hosts = {host.name for host, name in self._address_of.items() if name in crowded}
        self._urls_of.clear()
        self._address_of.clear()
        self._urls_at.clear()
        self._asked = min(table.free_count * self._length, _MAX_COUNT)
        return Refill(
            self._asked,
            max(self._length - table.low_water, 1),
            frozenset(hosts.union(table.rejected, self.held(now))),
            crowded,
        )
