"""The main thread: starts the thread classes in their sequence, looks after them, stops them."""

import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer.clock import Clock
from gossamer.service.admin_interface import AdminInterfaceServer
from gossamer.service.background import Starter
from gossamer.service.batch_tasks import BatchTasksManager
from gossamer.service.client_interface import ClientInterfaceService
from gossamer.service.curve import ServerKeys, load_server_keys
from gossamer.service.figures import Statistics, read_statistics, write_statistics
from gossamer.service.journal import Journal
from gossamer.service.managers import SitesManager, URLManager
from gossamer.service.nursery import ChildError, Make, Nursery
from gossamer.service.operations import Parts
from gossamer.service.settings import ServiceSettings
from gossamer.service.threaded import ADMIN, Event, EventKind, Order, OrderKind, Place
from gossamer.service.zeromq import zmq

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
_FILE_NAME: Final = "service-statistics.json"
_MOST_RESTARTS: Final = 1


class Supervisor:
    """One run of the service."""

    def __init__(
        self,
        settings: ServiceSettings,
        instance: str,
        parts: Parts,
        clock: Clock,
        journal: Journal,
        starter: Starter,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._starter = starter
        self._clock = clock
        self._makers = _makers(instance, parts, load_server_keys(settings))
        self._context = zmq.Context()
        self._statistics: Statistics = {}
        place = Place(self._context, settings, clock, journal, "")
        self._nursery = Nursery("supervisor", place)
        self._failed = False

    def run(self) -> int:
        """Serve until told to stop; return the exit code."""
        self._nursery.item.open(self._context, self._clock)
        self._load_statistics()
        with _wake_on_signals() as wake:
            try:
                self._start_all()
                self._serve(wake)
            except ChildError as error:
                self._failed = True
                self._journal.error(str(error))
                self._starter.tell(str(error))
            self._stop(list(reversed(self._nursery.names)))
        self._save_statistics()
        self._nursery.item.close()
        if not self._nursery.names:
            self._context.term()
        # Threads that hang do not keep the process: they are daemons, and the exit code tells.
        self._journal.info("stopped" if not self._failed else "stopped after an error")
        return EXIT_FAILED if self._failed else EXIT_OK

    def _start_all(self) -> None:
        for name in self._settings.server.instantiate_sequence:
            words = self._nursery.start(name, self._makers[name], self._statistics.get(name))
            self._journal.info(f"started {name}{_listening(words)}")
        self._journal.info("ready")
        self._starter.tell()

    def _serve(self, wake: socket.socket) -> None:
        poller = zmq.Poller()
        poller.register(self._nursery.item.socket, zmq.POLLIN)
        poller.register(wake.fileno(), zmq.POLLIN)
        while self._nursery.names:
            ready = dict(poller.poll())
            if wake.fileno() in ready:
                self._journal.info(f"signal {wake.recv(64)[0]}: stops")
                return
            while (told := self._nursery.next_event()) is not None:
                self._on_event(*told)

    def _on_event(self, name: str, event: Event) -> None:
        match event.kind:
            case EventKind.STOP_WANTED:
                self._stop(event.names)
            case EventKind.DIED:
                self._journal.warning(f"{name} died: {event.text}")
                self._revive(name, event)

    def _revive(self, name: str, event: Event) -> None:
        if self._nursery.restarts.get(name, 0) >= _MOST_RESTARTS:
            self._nursery.bury(name)
            raise ChildError(f"{name} died again, so the service cannot go on: {event.text}")
        words = self._nursery.restart(name, event.statistics)
        self._journal.info(f"started {name} again{_listening(words)}")

    def _stop(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._nursery.names:
                continue
            try:
                self._statistics[name] = self._nursery.stop(name)
            except ChildError as error:
                self._failed = True
                self._journal.error(str(error))
                continue
            self._journal.info(f"stopped {name}")
            if name != ADMIN and ADMIN in self._nursery.names:
                self._nursery.tell(ADMIN, Order(OrderKind.CLASS_STOPPED, name))

    # Statistics.

    def _load_statistics(self) -> None:
        try:
            self._statistics = read_statistics(self._statistics_file)
        except ValueError as error:
            self._journal.warning(f"counting begins anew: {error}")

    def _save_statistics(self) -> None:
        try:
            write_statistics(self._statistics_file, self._statistics)
        except OSError as error:
            self._journal.warning(f"cannot write {self._statistics_file}: {error.strerror}")

    @property
    def _statistics_file(self) -> Path:
        name = self._settings.application.statistics_file
        return self._settings.place(name) if name else self._settings.data_dir / _FILE_NAME


def _listening(words: str) -> str:
    return f", listens on {words}" if words else ""


def _makers(instance: str, parts: Parts, keys: ServerKeys | None) -> dict[str, Make]:
    curve = keys.own if keys else None
    return {
        "AdminInterfaceServer": lambda place: AdminInterfaceServer(place, instance, keys),
        "URLManager": lambda place: URLManager("URLManager", place, parts.open_operations),
        "SitesManager": lambda place: SitesManager("SitesManager", place, parts.open_operations),
        "BatchTasksManager": lambda place: BatchTasksManager(
            place, parts.open_periodics, parts.open_batches
        ),
        "ClientInterfaceService": lambda place: ClientInterfaceService(place, instance, curve),
    }


@contextmanager
def _wake_on_signals() -> Iterator[socket.socket]:
    """Have SIGTERM and SIGINT written to a socket that the main loop waits for."""
    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    actions = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield reader
    finally:
        for number, action in actions.items():
            signal.signal(number, action)
        signal.set_wakeup_fd(before)
        reader.close()
        writer.close()
