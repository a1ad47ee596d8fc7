"""Ordinary pages over kept connections, fetched without libcurl by compiled code (lane.c).

Theory of operation. libcurl makes every connection and fetches the first page over it. When a
server has given it an ordinary one, and the head of the next is usual, too, that connection is
taken over with the response in it (`take_over`). From then on ordinary visits to the same place go
out on it, with the very bytes that libcurl would have sent. A response is only looked at until it
is there as a whole and known to be ordinary. If it is anything else, or takes its time, libcurl
gets the connection with all of the response still in it (`Carried`), and goes on as if it had sent
the request itself: nothing is asked for twice. What was taken of a long one goes before the rest,
by a relay. So all that is judged, mended, decoded, cut or
timed out is so by the same code as ever.

A kept connection that proves dead before a line of the response came is the exception that it is
for libcurl, too: the visit begins anew on another one.
"""

import os
import re
import select
import socket
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any, Final, Protocol

import pycurl
from msgspec import Struct, field

from gossamer.config.spider import SpiderSettings
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.spider.head import Head
from gossamer.spider.loop import Loop
from gossamer.spider.request import RequestForm
from gossamer.spider.sockets import Handover, KnownHandover
from gossamer.url.parts import authority_of

try:
    from gossamer.spider import _lane
except ImportError:
    _lane = None  # type: ignore[assignment] # mypy takes the module for granted

Left = tuple[int, Visit, float, float, float, float, int, bytes]
"""What libcurl has to go on with: descriptor (-1 if it proved dead), visit, when it was started by
both clocks, when its request was sent, how much of the time since was ours, how many pages the
connection has brought, and what was taken of the response."""

MOST_PLACES: Final = 1_024
# Responses that the compiled part keeps to (MOST_BYTES there).
_MOST_BYTES: Final = 262_144
# To enter and to leave costs as much as so many pages save.
_WORTH_ITS_WAY: Final = 8
_MOST_NEEDED: Final = 64
# As long as libcurl keeps one that nobody uses.
_LONGEST_IDLE_SECONDS: Final = 118.0
_MAX_ROUTES: Final = 4_096
# URLs up to the path of which it is clear what libcurl makes of them; 80 it would leave out.
_BASE: Final = re.compile(r"http://([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::(?!80/)[1-9][0-9]*)?/")


def is_compiled() -> bool:
    """Whether the compiled part is there."""
    return _lane is not None


class Moving(Protocol):
    """What the lane needs of a transfer that is to go on there."""

    visit: Visit
    getinfo: Callable[[int], Any]
    gate_descriptor: int
    started: float
    wall: float
    sent_at: float
    grace: float


class Route(Struct):
    """A server at an address."""

    base: str
    """Its URLs up to the path."""
    address: str
    rest: bytes
    """What follows the path in a request to it."""
    is_open: bool
    idle: list[int] = field(default_factory=list)
    """Places of connections that wait for a visit; the compiled part keeps this list."""
    ordinary: int = 0
    """How many pages were so since the last that was not, of those that libcurl fetched."""
    needed: int = 1
    """How many must have been before a connection may enter."""


_NO_ROUTE: Final = Route("/", "", b"", False)


def make_lane(
    settings: SpiderSettings, form: RequestForm, loop: Loop, places: int, max_descriptor: int
) -> "Lane | None":
    """Return a lane where there can be one: all requests look alike, and nothing is secret."""
    if _lane is None or settings.proxy or not form.is_uniform or form.has_secrets:
        return None
    return Lane(settings, form, loop, places, max_descriptor)


class Lane:
    """Has ordinary visits sent and their responses taken in."""

    def __init__(
        self,
        settings: SpiderSettings,
        form: RequestForm,
        loop: Loop,
        places: int,
        max_descriptor: int,
    ) -> None:
        self._form = form
        self._loop = loop
        self._max_descriptor = max_descriptor
        self._routes: dict[tuple[str, str], Route] = {}
        self._route = _NO_ROUTE
        max_head = min(settings.max_header_bytes, settings.max_header_line_bytes)
        self._lane = lane = _lane.Lane(
            Fetch,
            Outcome.OK,
            places,
            max_head - 4,
            settings.max_header_count,
            min(settings.max_wire_bytes, settings.max_doc_bytes),
        )
        # Looking them up anew takes as long as some of them do.
        self.send, self.stamp, self.collect = lane.send, lane.stamp, lane.collect
        self.open_count, self.forgive, self.cancel = lane.open_count, lane.forgive, lane.cancel
        # What libcurl closes in the place of a connection that was taken over: one that has ended.
        self._ended, other = socket.socketpair()
        other.close()

    def watch(self, callback: Callable[[object], None]) -> None:
        """Have something called when there is something to collect."""
        self._loop.tap(self._lane.fileno(), (select.POLLIN, callback, None))

    def follow(self, base: str, address: str) -> None:
        """Take the route of the visits that follow: their URLs begin with `base`."""
        self._route = route = self._route_to(base, address)
        self._lane.use(base, route.rest, route.idle)

    def leave_route(self) -> None:
        """Send nothing before a route is taken again."""
        self._route = _NO_ROUTE
        self._lane.use(_NO_ROUTE.base, _NO_ROUTE.rest, [])

    def lend(self, visit: Visit) -> "Carried | None":
        """Return an idle connection of the route, for a visit that only libcurl can make."""
        if not self._route.idle or visit.tries or visit.manner is not None:
            return None
        descriptor = self._lane.lend()
        return None if descriptor < 0 else Carried(descriptor)

    def note(self, fetch: Fetch, *, is_ordinary: bool) -> None:
        """Hear of what libcurl fetched."""
        if fetch.visit.url[4] == ":":
            is_ordinary = is_ordinary and len(fetch.head) + len(fetch.raw) <= _MOST_BYTES
            route = self._route_of(fetch.visit)
            route.ordinary = route.ordinary + 1 if is_ordinary else 0

    def take_over(self, transfer: "Moving", head: Head) -> bool:
        """Have a connection with a usual response in it, and the visit that it is for; or not."""
        visit = transfer.visit
        if (
            len(head.raw) + (head.content_length or 0) > _MOST_BYTES
            or head.version != "1.1"
            or any(name == "connection" and value != "keep-alive" for name, value in head.headers)
        ):
            return False
        route = self._route_of(visit)
        if not route.is_open or route.ordinary < route.needed or transfer.gate_descriptor < 0:
            return False
        try:
            copy = os.dup(transfer.gate_descriptor)
        except OSError:
            return False
        times = transfer.started, transfer.wall, transfer.sent_at, transfer.grace
        request, address = self._form.plain_head(visit.url), transfer.getinfo(pycurl.PRIMARY_IP)
        if copy > self._max_descriptor or not self._lane.adopt(
            copy, address, route.idle, visit, request, *times
        ):
            os.close(copy)
            return False
        self._loop.forget(transfer.gate_descriptor)
        os.dup2(self._ended.fileno(), transfer.gate_descriptor, inheritable=False)
        return True

    def doubt(self, visit: Visit, pages: int) -> None:
        """Hear that a response was not ordinary, after so many that were."""
        route = self._route_of(visit)
        route.ordinary = 0
        if pages < _WORTH_ITS_WAY:
            route.needed = min(route.needed * 2, _MOST_NEEDED)
        else:
            route.needed = max(route.needed // 2, 1)

    def sweep(self, now: float, patience: float) -> list[Left]:
        """Return what takes long; connections that nobody uses are closed."""
        return self._lane.sweep(now, patience, _LONGEST_IDLE_SECONDS)

    def close(self) -> None:
        """Close every connection."""
        self._loop.untap(self._lane.fileno())
        self._lane.close()
        self._ended.close()
        self._routes.clear()

    def _route_of(self, visit: Visit) -> Route:
        route = self._route
        if visit.address == route.address and visit.url.startswith(route.base):
            return route
        return self._route_to(f"{authority_of(visit.url)}/", visit.address)

    def _route_to(self, base: str, address: str) -> Route:
        route = self._routes.get((base, address))
        if route is None:
            if len(self._routes) >= _MAX_ROUTES:
                # What is idle there ends when nobody has used it for long enough.
                self._routes.clear()
            route = Route(base, address, self._form.plain_rest(base), _is_plain(base))
            self._routes[base, address] = route
        return route


def _is_plain(base: str) -> bool:
    found = _BASE.fullmatch(base)
    if found is None:
        return False
    last = found[1].rpartition(".")[2]
    if not last[0].isdigit():
        return True
    try:
        return str(IPv4Address(found[1])) == found[1]
    except ValueError:
        return False


class Carried:
    """A connection of the lane's on its way to libcurl, with or without a request in it.

    Where the request is out already, libcurl writes its own into one end of a socket pair, where
    nobody reads it; then the connection takes the place of that end, under the same number.
    """

    def __init__(self, descriptor: int, sent_at: float = 0.0, taken: bytes = b"") -> None:
        self._descriptor = descriptor
        self._sent_at = sent_at
        self.taken = taken
        """The beginning of the response, which is no longer in the connection."""
        self._sink: socket.socket | None = None

    def hand_over(self) -> Handover:
        """Return what libcurl is to take for a new connection."""
        if not self._sent_at:
            descriptor, self._descriptor = self._descriptor, -1
            return KnownHandover(descriptor)
        theirs, self._sink = socket.socketpair()
        return KnownHandover(theirs.detach())

    def put_in_place(self, descriptor: int, loop: Loop, now: float) -> float:
        """Give libcurl the connection, now that its request is out; returns when it really was."""
        if not self._sent_at:
            return now
        loop.forget(descriptor)
        os.dup2(self._descriptor, descriptor, inheritable=False)
        self.close()
        return self._sent_at

    def close(self) -> None:
        """Let go of what was not handed over."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._sink is not None:
            self._sink.close()
            self._sink = None
