"""The operations that other data hosts ask for."""

from collections.abc import Callable, Mapping
from typing import Any

from gossamer.catalog.propagation_desk import Claims
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.errors import ServiceError
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.enumerations import CrawlerType, Operation
from gossamer.objects.hosts import (
    HostClaim,
    HostClaimAnswer,
    HostDone,
    HostTask,
    HostTaskAnswer,
)
from gossamer.service.guard import Reading, machine_reading
from gossamer.service.peers import LoadMeter, ring_of
from gossamer.service.propagation import order_of
from gossamer.service.settings import ServiceSettings


class HostDesk:
    """Serves other hosts: those of the same list, and nobody else."""

    def __init__(
        self,
        catalog: ServiceCatalog,
        settings: ServiceSettings,
        read: Callable[[], Reading] = machine_reading,
    ) -> None:
        self._catalog = catalog
        self._settings = settings
        self._ring = ring_of(settings.peers)
        self._claims = Claims(catalog, settings.returning.stuck_seconds)
        self._meter = LoadMeter(settings.guard, read)

    @property
    def operations(self) -> Mapping[Operation, Callable[[Any, float], object]]:
        """What it does, by operation."""
        return {
            Operation.HOST_CLAIM: self._claim,
            Operation.HOST_TASK: self._task,
            Operation.HOST_DONE: self._done,
        }

    def _claim(self, claim: HostClaim, now: float) -> HostClaimAnswer:
        self._check(claim.hosts, claim.host)
        verdicts = self._claims.claim(claim, now)
        open_batches = self._catalog.open_batches(CrawlerType.NORMAL)
        load = self._meter.measure(open_batches, self._settings.crawling.max_batches)
        return HostClaimAnswer(verdicts=verdicts, load=load)

    def _task(self, task: HostTask, now: float) -> HostTaskAnswer:
        self._check(task.hosts, task.host)
        crawling = self._settings.crawling
        return self._claims.take(task, order_of(crawling), crawling.max_batches, now)

    def _done(self, done: HostDone, now: float) -> GeneralResponse:
        self._check(done.hosts, done.sender)
        if done.host not in self._ring.hosts:
            raise ServiceError(f"{done.host} is none of the hosts in [Peers] of {self._ring.own}")
        return GeneralResponse(statuses=[self._claims.done(done, now)])

    def _check(self, digest: str, sender: str) -> None:
        if digest != self._ring.digest:
            raise ServiceError(
                f"[Peers] hosts of {sender} differs from that of {self._ring.own}, which has "
                f"{', '.join(self._ring.hosts)}; all hosts need the same list"
            )
        if sender not in self._ring.others:
            raise ServiceError(
                f"{sender} is none of the other hosts in [Peers] of {self._ring.own}"
            )
