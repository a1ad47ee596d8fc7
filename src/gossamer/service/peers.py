"""The data hosts that crawl together: their order, how busy they are, and calls to them."""

import hashlib
import socket
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.daemons.endpoints import parse_endpoint
from gossamer.errors import ServiceError
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.enumerations import Operation
from gossamer.objects.hosts import HostLoad
from gossamer.service.calling import call
from gossamer.service.curve import load_client_keys
from gossamer.service.exchange import complaint, is_good
from gossamer.service.guard import Reading, machine_reading, shares, trouble
from gossamer.service.settings import GuardSettings, PeerSettings, ServiceSettings

_KNOCK_SECONDS: Final = 2.0
"""A host that runs accepts a connection at once."""
_RETRY_SECONDS: Final = 5.0
"""So long a host that is down is not asked again."""
_LEAST_TICKS: Final = 100
_CPU_STEP: Final = 25.0
_MEMORY_STEP: Final = 1 << 28


class Ring(Struct, frozen=True):
    """All hosts, in the order in which they are asked."""

    own: str
    hosts: tuple[str, ...]

    @property
    def others(self) -> tuple[str, ...]:
        """All but this one."""
        return tuple(host for host in self.hosts if host != self.own)

    @property
    def digest(self) -> str:
        """A short form of the list, to compare it with another's."""
        return hashlib.sha256("\n".join(self.hosts).encode()).hexdigest()[:32]


def ring_of(settings: PeerSettings) -> Ring:
    """Return the hosts that the settings name."""
    hosts = sorted(str(parse_endpoint(host)) for host in settings.hosts)
    return Ring(str(parse_endpoint(settings.own_host)), tuple(hosts))


class Heard(Struct, frozen=True):
    """What came of a call."""

    answer: object = None
    """None: there was none."""
    error: str = ""
    """Why not."""
    is_down: bool = False
    """Nobody is there: the message has certainly not arrived."""
    is_refused: bool = False
    """The host has answered that it does not do it."""


class Caller(Protocol):
    """What reaches other hosts."""

    ring: Ring

    def ask(self, host: str, operation: Operation, payload: object) -> Heard:
        """Have another host do something; never raises for what the other does."""
        ...


class Peers:
    """Calls to other hosts. One that is down costs little: it is left alone for a while."""

    def __init__(self, settings: ServiceSettings, clock: Clock | None = None) -> None:
        self.ring = ring_of(settings.peers)
        self._timeout_seconds = settings.peers.timeout_seconds
        self._keys = load_client_keys(settings.peers, settings.folder)
        self._clock = clock or SystemClock()
        self._retry_at: dict[str, float] = {}

    def ask(self, host: str, operation: Operation, payload: object) -> Heard:
        """Have another host do something; never raises for what the other does."""
        if self._clock.monotonic() < self._retry_at.get(host, 0.0):
            return Heard(error=f"{host} is down", is_down=True)
        node = parse_endpoint(host)
        try:
            # Without this the death of a host would be noticed by its silence only.
            knock = min(_KNOCK_SECONDS, self._timeout_seconds)
            socket.create_connection((node.host, node.port), knock).close()
        except OSError as error:
            self._retry_at[host] = self._clock.monotonic() + _RETRY_SECONDS
            reason = error.strerror or str(error)
            return Heard(error=f"{host} is down: {reason}", is_down=True)
        self._retry_at.pop(host, None)
        return self._call(host, operation, payload)

    def _call(self, host: str, operation: Operation, payload: object) -> Heard:
        try:
            response = call(
                [parse_endpoint(host)],
                operation,
                payload,
                timeout_seconds=self._timeout_seconds,
                merge=False,
                keys=self._keys,
            )
        except ServiceError as error:
            return Heard(error=f"{host}: {error}", is_refused=True)
        if not response.items_list:
            return Heard(error=f"{host} is silent: {complaint(response)}")
        answer = response.items_list[0].item_object
        if not is_good(response) or answer is None:
            return Heard(error=f"{host} refuses: {complaint(response)}", is_refused=True)
        if isinstance(answer, GeneralResponse) and answer.error_code:
            return Heard(error=f"{host} refuses: {answer.error_message}", is_refused=True)
        return Heard(answer)


class LoadMeter:
    """Measures how busy this machine is, as the guard does."""

    def __init__(
        self, settings: GuardSettings, read: Callable[[], Reading] = machine_reading
    ) -> None:
        self._settings = settings
        self._read = read
        self._before = self._after = read()

    def measure(self, batches: int, max_batches: int) -> HostLoad:
        """Return the load of this host, which has so many batches open."""
        reading = self._read()
        if reading.ticks - self._after.ticks >= _LEAST_TICKS:
            self._before, self._after = self._after, reading
        after = replace(self._after, free_bytes=reading.free_bytes)
        busy, waiting = shares(self._before, after)
        return HostLoad(
            batches=batches,
            max_batches=max_batches,
            cpu_percent=round(busy, 1),
            io_wait_percent=round(waiting, 1),
            free_bytes=reading.free_bytes,
            is_busy=bool(trouble(self._before, after, self._settings)),
        )


def choose_host(own: str, loads: Mapping[str, HostLoad]) -> str:
    """Return who is to crawl a batch: the host with the least to do (S3.19), this one if equal.

    Processors and memory count in coarse steps, so that hosts which are about equally busy do not
    hand batches to each other for nothing.
    """
    return min(loads, key=lambda host: (*_burden(loads[host]), host != own, host))


def _burden(load: HostLoad) -> tuple[bool, bool, int, int, int]:
    is_full = load.batches >= load.max_batches
    free = (load.free_bytes or 0) // _MEMORY_STEP
    cpu = int(load.cpu_percent // _CPU_STEP)
    return load.is_busy, is_full, load.batches, cpu, -free.bit_length()
