"""The one thread that writes to the catalog, so that the coordinator never waits for a disk.

Jobs run in the order in which they were given. Their results are called back in the coordinator's
own thread, from `collect`; `fileno()` becomes readable when there are any.

For a catalog in memory there is no disk to wait for, and two threads would only wait for each
other: there jobs run at once, in the coordinator's thread.
"""

import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from gossamer.catalog.catalog import Catalog

_Result = TypeVar("_Result")
_Then = Callable[[Any], None]
_Failed = Callable[[BaseException], None]
_Job = tuple[Callable[[Catalog], Any], _Then, _Failed]


class Writer:
    """Runs jobs on the catalog, one after the other."""

    def __init__(self, catalog: Catalog, on_error: _Failed, *, at_once: bool = False) -> None:
        """`at_once`: without a thread, each job when it is given."""
        self._catalog = catalog
        self._on_error = on_error
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[_Then, Any]] = queue.SimpleQueue()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._open = 0
        self._thread: threading.Thread | None = None
        if not at_once:
            self._thread = threading.Thread(target=self._run, name="gossamer-writer", daemon=True)
            self._thread.start()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when results wait."""
        return self._wake

    @property
    def idle(self) -> bool:
        """Whether every job's result has been called back."""
        return self._open == 0

    def submit(
        self,
        job: Callable[[Catalog], _Result],
        then: Callable[[_Result], None] | None = None,
        failed: _Failed | None = None,
    ) -> None:
        """Have a job done; `then` gets its result, or `failed` the error, from `collect`."""
        self._open += 1
        entry = job, then or _ignore, failed or self._on_error
        if self._thread is None:
            self._do(entry)
        else:
            self._jobs.put(entry)

    def wake(self) -> None:
        """Note that `fileno()` was readable."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)

    def collect(self) -> None:
        """Call back for the jobs that are done."""
        while not self._results.empty():
            then, result = self._results.get()
            self._open -= 1
            then(result)

    def close(self) -> None:
        """Finish the jobs that were given and end the thread."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
        self.collect()
        os.close(self._wake)

    def _run(self) -> None:
        while (entry := self._jobs.get()) is not None:
            self._do(entry)

    def _do(self, entry: _Job) -> None:
        job, then, failed = entry
        try:
            self._results.put((then, job(self._catalog)))
        # Handed to the coordinator, which decides: pause for a full disk, stop for the rest.
        except BaseException as error:  # noqa: BLE001
            self._results.put((failed, error))
        os.eventfd_write(self._wake, 1)


def _ignore(result: object) -> None:
    del result
