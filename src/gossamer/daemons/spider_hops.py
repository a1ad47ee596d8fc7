"""Redirects that are followed within their order: which, and how soon.

Theory of operation. A URL Server times its orders, but not the hops that an order leads to. So a
hop is announced (WORKING, from which a URL Server counts its gaps) and announced again in less than
a gap, until it begins: meanwhile the URL Server orders nothing of that host. What it had ordered
before it heard of the hop, from us or from another Spider, has begun within a moment; the hop waits
for that moment and a full gap after it. If nothing could be announced for a gap, because the
machine was busy or asleep, an order may be on its way again: the hop is announced anew and waits as
if it were new, a few times, and is left to the URL Server then. It also begins no sooner than a gap
after the last request to its host that began here, and the address's gap after the last one to its
address. Orders are never held back: one that arrives while a hop waits goes first, and the hop
waits again. A request for the robots.txt that a hop depends on (`spider_robots.py`) waits for its
moment just like a hop.
"""

from collections import OrderedDict
from heapq import heappop, heappush
from typing import Final

from msgspec import Struct

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Kind
from gossamer.url.canonical import authority_of, host_of, port_of

# How long a word to the URL Server and an order that was on its way may take, both together.
_ON_ITS_WAY_SECONDS: Final = 0.25
_ANNOUNCEMENTS_IN_A_GAP: Final = 4
_SHORTEST_PAUSE_SECONDS: Final = 0.005
_MOST_LAPSES: Final = 5
_MOST_REMEMBERED: Final = 65_536


def stays_on_host(url: str, target: str) -> bool:
    """Whether a redirect leads to the same place, or from http to https of it."""
    if authority_of(url) == authority_of(target):
        return True
    return (
        url.startswith("http://")
        and target.startswith("https://")
        and host_of(url) == host_of(target)
        and (port_of(url), port_of(target)) == (80, 443)
    )


class Gaps:
    """When requests to hosts and addresses began of late, and how far apart they have to be."""

    def __init__(self, settings: UrlServerSettings) -> None:
        host_rate = settings.host_per_second
        address_rate = settings.address_per_second or 2 * host_rate
        self.host_gap = 1 / host_rate if host_rate else 0.0
        self._address_gap = 1 / address_rate if address_rate else 0.0
        self._hosts: OrderedDict[str, float] = OrderedDict()
        self._addresses: OrderedDict[str, float] = OrderedDict()

    def note(self, host: str, address: str, now: float) -> None:
        """Remember that a request begins."""
        # Also where hosts have no gap: a Crawl-delay may turn up later.
        _note(self._hosts, host, now)
        if self._address_gap:
            _note(self._addresses, address, now)

    def earliest(self, host: str, address: str, delay: float = 0.0) -> float:
        """Return when the next request may begin, as far as those before it are concerned.

        `delay`: the host's Crawl-delay, which counts if it is longer than the gap.
        """
        gap = max(self.host_gap, delay)
        return max(
            self._hosts.get(host, -gap) + gap,
            self._addresses.get(address, -self._address_gap) + self._address_gap,
        )


def _note(times: OrderedDict[str, float], key: str, now: float) -> None:
    times[key] = max(times.get(key, now), now)
    times.move_to_end(key)
    if len(times) > _MOST_REMEMBERED:
        times.popitem(last=False)


class Hop(Struct):
    """A redirect that is about to be followed, or the robots.txt to be asked before."""

    ticket: int
    """The transaction that it belongs to."""
    url: str
    kind: Kind
    host: str
    address: str
    delay: float
    pause: float
    """Between two announcements."""
    lapse: float
    """After so long without one, the URL Server may take the host for free."""
    wait: float
    not_before: float
    announced_at: float
    give_up_at: float
    lapses: int = 0

    @property
    def announce_at(self) -> float:
        """When it is to be announced again."""
        return self.announced_at + self.pause


class Moment(Struct, frozen=True):
    """What is to be done with hops now."""

    begin: list[Hop]
    announce: list[Hop]
    give_up: list[Hop]
    """Their moment did not come in time: the URL Server has to schedule them."""


class Hops:
    """The hops that wait for their moment."""

    def __init__(self, gaps: Gaps, patience_seconds: float) -> None:
        self._gaps = gaps
        self._patience = patience_seconds
        self._waiting: list[tuple[float, int, Hop]] = []
        self._count = 0

    def add(
        self,
        ticket: int,
        url: str,
        address: str,
        now: float,
        *,
        delay: float = 0.0,
        kind: Kind = Kind.PAGE,
    ) -> None:
        """Let a hop wait that has just been announced; `delay` is a Crawl-delay."""
        gap = max(self._gaps.host_gap, delay)
        wait = gap + _ON_ITS_WAY_SECONDS if gap else 0.0
        # The URL Server may not know of the Crawl-delay: it is told within a gap that it knows.
        pause = max((self._gaps.host_gap or gap) / _ANNOUNCEMENTS_IN_A_GAP, _SHORTEST_PAUSE_SECONDS)
        hop = Hop(
            ticket=ticket,
            url=url,
            kind=kind,
            host=host_of(url),
            address=address,
            delay=delay,
            pause=pause,
            lapse=max(self._gaps.host_gap or gap, 2 * pause),
            wait=wait,
            not_before=now + wait,
            announced_at=now,
            give_up_at=now + wait + self._patience,
        )
        self._push(min(hop.not_before, hop.announce_at), hop)

    def take(self, now: float) -> Moment:
        """Return what to do now; a hop that is to begin counts as begun."""
        moment = Moment([], [], [])
        while self._waiting and self._waiting[0][0] <= now:
            hop = heappop(self._waiting)[2]
            if hop.wait and now - hop.announced_at >= hop.lapse:
                hop.lapses += 1
                hop.not_before = now + hop.wait
            at = max(hop.not_before, self._gaps.earliest(hop.host, hop.address, hop.delay))
            if at <= now:
                self._gaps.note(hop.host, hop.address, now)
                moment.begin.append(hop)
            elif now >= hop.give_up_at or hop.lapses > _MOST_LAPSES:
                moment.give_up.append(hop)
            else:
                if now >= hop.announce_at:
                    hop.announced_at = now
                    moment.announce.append(hop)
                self._push(min(at, hop.announce_at, hop.give_up_at), hop)
        return moment

    def next_at(self) -> float | None:
        """Return when to ask again."""
        return self._waiting[0][0] if self._waiting else None

    def drop(self, tickets: set[int]) -> None:
        """Forget the hops of these transactions."""
        kept = [each for each in self._waiting if each[2].ticket not in tickets]
        if len(kept) < len(self._waiting):
            kept.sort()
            self._waiting = kept

    def _push(self, at: float, hop: Hop) -> None:
        self._count += 1
        heappush(self._waiting, (at, self._count, hop))
