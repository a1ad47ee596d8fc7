"""The seam between the threads and what does the work: three functions that settings name.

Each thread calls the function itself and keeps what it got, so nothing is shared between threads.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.objects.batch import Batch
from gossamer.objects.enumerations import Operation
from gossamer.service.settings import ServiceSettings


class Operations(Protocol):
    """What carries out operations. One thread at a time uses an instance."""

    def execute(self, operation: Operation, payload: object) -> object:
        """Do it, and return the answer object; a GossamerError becomes the error of the answer."""
        ...

    def close(self) -> None:
        """Give back what was opened."""
        ...


@runtime_checkable
class Patient(Protocol):
    """Operations that somebody else carries out, who may take longer than anybody waits."""

    def unanswered(self, operation: Operation) -> int:
        """Return how many of a kind were asked for and are still going on."""
        ...


def unanswered(operations: Operations, operation: Operation) -> int:
    """Return how many operations of a kind go on behind; none where each is waited for."""
    return operations.unanswered(operation) if isinstance(operations, Patient) else 0


class Periodic(Struct, frozen=True):
    """Something that is done again and again."""

    name: str
    """In capitals; its period is the variable NAME_PERIOD of the BatchTasksManager."""
    period_seconds: float
    run: Callable[[float], Mapping[str, float]]
    """Takes the time (seconds since 1970), returns counters; see counters.py."""
    close: Callable[[], None] = lambda: None
    """Called once, at the end, in the thread that ran it."""
    complaints: Callable[[], Sequence[str]] = tuple
    """Returns what was wrong in the last run, for people: each is told them once."""


OpenOperations = Callable[[ServiceSettings], Operations]
RunBatch = Callable[[Batch, Callable[[], bool]], Batch]
"""Is asked whether the service stops, so that nobody waits for the batch any more."""
OpenBatches = Callable[[ServiceSettings], RunBatch]
OpenPeriodics = Callable[[ServiceSettings, Operations], Sequence[Periodic]]
"""The operations that it is given are carried out by the SitesManager, over messages."""


class Parts(Struct, frozen=True):
    """What the daemon is put together from."""

    open_operations: OpenOperations
    open_periodics: OpenPeriodics | None = None
    open_batches: OpenBatches | None = None


def load_parts(settings: ServiceSettings) -> Parts:
    """Return the parts that the settings name; raise ConfigError for one that is not there."""
    application = settings.application
    return Parts(
        open_operations=_load("operations", application.operations),
        open_periodics=_load("periodics", application.periodics),
        open_batches=_load("batches", application.batches),
    )


def _load(key: str, name: str) -> Any:
    if not name:
        return None
    module, _, function = name.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"[Application] {key} = {name} cannot be loaded: {error}") from error
