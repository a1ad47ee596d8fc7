"""ThreadedObject: what every thread of the service is.

Theory of operation. A thread owns its transport items and everything it counts; nobody else touches
them. It waits for messages on all items at once, hands each to the item's handler, looks around
(for what is due), and waits again. It hears orders from its parent (start, stop, somebody was
started again) over one client item, and questions of administrators over another. There is no lock
and no other way in.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct

import gossamer
from gossamer.clock import Clock
from gossamer.errors import GossamerError
from gossamer.service.counters import is_gauge
from gossamer.service.envelope import Ask, Told
from gossamer.service.figures import Figures, process_figures
from gossamer.service.journal import Journal
from gossamer.service.settings import ServiceSettings
from gossamer.service.transport import Context, Frames, Kind, TransportItem, inproc
from gossamer.service.variables import LogLevel, Outcome, PollTimeout, Variables
from gossamer.service.zeromq import zmq

ADMIN: Final = "AdminInterfaceServer"
REFUSED: Final = 2
"""The error of a class that does not do what an administrator asks for."""
_BURST: Final = 100
"""Messages of one item before the others get their turn."""
_LAST_WORDS_MS: Final = 2_000


class EventKind(StrEnum):
    """What a thread tells its parent."""

    READY = "ready"
    STOPPED = "stopped"
    DIED = "died"
    STOP_WANTED = "stop wanted"


class OrderKind(StrEnum):
    """What a parent tells a thread."""

    STOP = "stop"
    RESTARTED = "restarted"
    CLASS_STOPPED = "class stopped"


class Event(Struct, frozen=True):
    """From a thread to its parent."""

    kind: EventKind
    text: str = ""
    names: list[str] = []
    statistics: Figures = {}


class Order(Struct, frozen=True):
    """From a parent to a thread."""

    kind: OrderKind
    name: str = ""


class Place(Struct, frozen=True):
    """What a thread is given at birth: nothing in it changes."""

    context: Context
    settings: ServiceSettings
    clock: Clock
    journal: Journal
    parent: str
    """The address of the parent's server."""
    generation: int = 0
    """How often it was started before, and died."""
    statistics: Figures = {}
    """What earlier runs counted."""


class ThreadedObject:
    """A thread with transport items. Subclasses are the thread classes of the service."""

    def __init__(self, name: str, place: Place) -> None:
        self.name = name
        self.settings = place.settings
        self.clock = place.clock
        self.journal = place.journal.named(name)
        self.counters: Figures = {}
        self.variables = Variables()
        self.variables.declare("LOG_LEVEL", LogLevel, self.journal.level)
        self.variables.declare("POLL_TIMEOUT", PollTimeout, place.settings.server.poll_timeout_ms)
        self.variables.declare("SUSPENDED", bool, False)
        self._place = place
        self._items: list[TransportItem] = []
        self._poller = zmq.Poller()
        self._stopping = False
        self._started = place.clock.time()
        self._parent = self.add_client("PARENT", place.parent, self._on_order)
        self._admin: TransportItem | None = None

    # What subclasses say and do.

    def prepare(self) -> None:
        """Get ready: the items are open, nothing was received yet."""

    def look_around(self) -> None:
        """Do what is due; called after every wait."""

    def wait_seconds(self) -> float | None:
        """Return after which time there is something to do at the latest; None: no matter."""
        return None

    def finish(self) -> None:
        """Bring to an end what was begun; called when the thread is told to stop."""

    def class_stopped(self, name: str) -> None:
        """Take note that another class was stopped."""

    def class_restarted(self, name: str) -> None:
        """Take note that another class was started again; items to it are connected anew."""

    def extra_statistics(self) -> dict[str, Any]:
        """Return what STAT tells beyond counters."""
        return {}

    def command(self, ask: Ask) -> Told | None:
        """Carry out a command that not every class has; None: there is none of that name."""
        del ask
        return None

    # What subclasses use.

    def add_server(self, item: TransportItem) -> TransportItem:
        """Add a server."""
        self._items.append(item)
        return item

    def add_client(self, name: str, endpoint: str, handler: Any) -> TransportItem:
        """Add a client; it is known at the other end by the name of this thread."""
        item = TransportItem(name, Kind.CLIENT, endpoint, handler, identity=self.name)
        self._items.append(item)
        return item

    def join_administration(self) -> None:
        """Add the client over which administrators ask."""
        self._admin = self.add_client("ADMIN", inproc(ADMIN), self._on_ask)

    def count(self, name: str, by: float = 1) -> None:
        """Add to a counter."""
        self.counters[name] = self.counters.get(name, 0) + by

    def report(self, event: Event) -> None:
        """Tell the parent."""
        self._parent.send([msgspec.json.encode(event)])

    def is_called_away(self) -> bool:
        """Whether the parent has said to stop: who works for long asks now and then."""
        while (frames := self._parent.receive()) is not None:
            self._on_order(frames)
        return self._stopping

    def place_of_child(self, parent: str) -> Place:
        """Return the place of a thread that this one starts."""
        return msgspec.structs.replace(
            self._place, parent=parent, generation=0, statistics={}, journal=self.journal
        )

    # The life of the thread.

    def run(self) -> None:
        """Live: the body of the thread."""
        context, clock = self._place.context, self.clock
        self._parent.open(context, clock)
        try:
            last = self._live()
        except GossamerError as error:
            last = Event(EventKind.DIED, str(error), statistics=self.statistics())
        except BaseException as error:  # noqa: BLE001 - whatever it died of, its parent must know
            self.journal.error(f"died of {type(error).__name__}: {error}", error)
            text = f"{type(error).__name__}: {error}"
            last = Event(EventKind.DIED, text, statistics=self.statistics())
        for item in self._items:
            if item is not self._parent:
                item.flush(_LAST_WORDS_MS if last.kind is EventKind.STOPPED else 0)
        self.report(last)
        self._parent.close()

    def _live(self) -> Event:
        self._resume()
        for item in self._items:
            if item is not self._parent:
                item.open(self._place.context, self.clock, patient=self._place.generation > 0)
            self._poller.register(item.socket, zmq.POLLIN)
        self.prepare()
        self._register()
        self.report(Event(EventKind.READY, ", ".join(self._addresses())))
        while not self._stopping:
            self._turn()
        self.finish()
        return Event(EventKind.STOPPED, statistics=self.statistics())

    def _resume(self) -> None:
        """Go on counting where earlier runs ended."""
        earlier = self._place.statistics
        for item in self._items:
            item.resume(earlier)
        known = {name for item in self._items for name in item.figures()}
        for name, value in earlier.items():
            if name not in known and not is_gauge(name):
                self.counters[name] = value

    def _addresses(self) -> list[str]:
        return [item.endpoint for item in self._items if item.protocol == "tcp"]

    def _turn(self) -> None:
        ready = dict(self._poller.poll(self._wait_ms()))
        for item in [item for item in self._items if item.socket in ready]:
            for _ in range(_BURST):
                frames = item.receive()
                if frames is None:
                    break
                item.handler(frames)
        self.look_around()

    def _wait_ms(self) -> int:
        most: int = self.variables["POLL_TIMEOUT"]
        seconds = self.wait_seconds()
        # Rounded up: waking too early would only mean to wait once more.
        return most if seconds is None else min(most, int(seconds * 1000) + 1)

    # Orders of the parent.

    def _on_order(self, frames: Frames) -> None:
        order = msgspec.json.decode(frames[-1], type=Order)
        match order.kind:
            case OrderKind.STOP:
                self._stopping = True
            case OrderKind.CLASS_STOPPED:
                self.class_stopped(order.name)
            case OrderKind.RESTARTED:
                self._reconnect(order.name)
                self.class_restarted(order.name)

    def _reconnect(self, name: str) -> None:
        for item in self._items:
            if item.kind is Kind.CLIENT and item.endpoint == inproc(name):
                self._poller.unregister(item.socket)
                item.reopen(self._place.context, self.clock)
                self._poller.register(item.socket, zmq.POLLIN)
        if name == ADMIN:
            self._register()

    def _register(self) -> None:
        if self._admin is not None:
            self._admin.send([msgspec.json.encode(Told(0, {"className": self.name}))])

    # Questions of administrators.

    def _on_ask(self, frames: Frames) -> None:
        told = self.tell(msgspec.json.decode(frames[-1], type=Ask))
        if self._admin is not None:
            self._admin.send([msgspec.json.encode(told)])

    def tell(self, ask: Ask) -> Told:
        """Carry out an administrator's command."""
        match ask.command:
            case "STAT":
                return Told(ask.id, self._chosen(ask.fields))
            case "GET":
                return _told(ask, self.variables.get(list(ask.fields)))
            case "SET" if isinstance(ask.fields, dict):
                return self._set(ask, ask.fields)
            case "SUSPEND":
                return self._set(ask, {"SUSPENDED": _switch(ask.fields)})
            case "SYSTEM":
                return Told(ask.id, {"TRANSPORTS": [item.describe() for item in self._items]})
        return self.command(ask) or _refusal(ask, f"{self.name} does not know {ask.command}")

    def _set(self, ask: Ask, values: Mapping[str, Any]) -> Told:
        outcome = self.variables.set(values)
        self.journal.level = self.variables["LOG_LEVEL"]
        return _told(ask, outcome)

    def _chosen(self, names: list[str]) -> dict[str, Any]:
        known: dict[str, Any] = {
            "START_DATE": datetime.fromtimestamp(self._started, UTC).isoformat(),
            "RESTARTS": self._place.generation,
            "VERSION": gossamer.__version__,
            **self.statistics(),
            **process_figures(),
            **self.extra_statistics(),
        }
        return {name: known.get(name) for name in names} if names else known

    def statistics(self) -> Figures:
        """Return the counters of the class and of its items."""
        figures = dict(self.counters)
        for item in self._items:
            figures |= item.figures()
        return figures


def _told(ask: Ask, outcome: Outcome) -> Told:
    return Told(ask.id, outcome.fields, REFUSED if outcome.refused else 0)


def _refusal(ask: Ask, text: str) -> Told:
    return Told(ask.id, {"error": text}, REFUSED)


def _switch(fields: Any) -> Any:
    """Return whether to suspend: `1` (or nothing) does, `0` goes on."""
    words = list(fields.values()) if isinstance(fields, dict) else list(fields)
    return {"0": False, "1": True}.get(str(words[0]), words[0]) if words else True
