"""Worker processes, started.

Two ways. A command forks its workers once it has loaded what they need: nothing is loaded twice,
which saves a tenth of a second of each worker and as much until the first request. Everywhere else
(in somebody's program, which may have threads, and for the successor of a worker that died) a
worker is a new interpreter.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from gossamer.crawl.watch import Watch

FETCHER: Final = "gossamer.crawl.worker"
_SEND_BUFFER_BYTES: Final = 1 << 20
# Bodies come and go: memory kept for the next one saves the kernel from clearing it anew (glibc).
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _TOP_PAD = 64 << 20, 256 << 20, 4 << 20
_ALLOCATOR: Final = {
    "MALLOC_MMAP_THRESHOLD_": str(_MMAP_THRESHOLD),
    "MALLOC_TRIM_THRESHOLD_": str(_TRIM_THRESHOLD),
    "MALLOC_TOP_PAD_": str(_TOP_PAD),
}
# The same by number, from malloc.h: for a process that has begun already.
_MALLOC_OPTIONS: Final = ((-3, _MMAP_THRESHOLD), (-1, _TRIM_THRESHOLD), (-2, _TOP_PAD))


class Launched:
    """A worker process that waits for its assignment, our end of its link, its watch."""

    def __init__(self, module: str = FETCHER, *, fork: bool = False) -> None:
        self.end, theirs = link_pair()
        self.watch = Watch.make()
        descriptors = (theirs.fileno(), self.watch.descriptor)
        arguments = [*map(str, descriptors), str(os.getpid())]
        self.process: subprocess.Popen[bytes] | Forked
        if fork:
            self.process = Forked(module, arguments, descriptors)
        else:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", module, *arguments],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                env={**_ALLOCATOR, **os.environ},
            )
        theirs.close()

    def close(self) -> None:
        """End the process and let go of what connects us with it; may be called twice."""
        self.process.kill()
        self.process.wait()
        self.end.close()
        self.watch.close()


class Forked:
    """A copy of this process that runs a worker; it offers what is used of Popen."""

    def __init__(self, module: str, arguments: Sequence[str], keep: Sequence[int]) -> None:
        run = importlib.import_module(module).main
        sys.stdout.flush()
        sys.stderr.flush()
        # What is there now is never garbage: so the child does not touch, and copy, all of it.
        gc.freeze()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                _leave_parent(keep)
                code = run(arguments)
            except BaseException:  # noqa: BLE001 - nothing may get back into the parent's code
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        self._has_ended = False

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process is gone and its number perhaps somebody else's."""
        if not self._has_ended:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        """Wait for its end."""
        if not self._has_ended:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            self._has_ended = True


@contextlib.contextmanager
def launched(count: int, module: str = FETCHER, *, fork: bool = False) -> Iterator[list[Launched]]:
    """Start workers that run this module; at the end, whatever happened, none of them is left.

    `fork`: only for a process that has no thread yet.
    """
    workers: list[Launched] = []
    try:
        workers.extend(Launched(module, fork=fork) for _ in range(count))
        yield workers
    finally:
        for worker in workers:
            worker.close()


def worker_count(wanted: int) -> int:
    """Return how many workers `[crawl] workers` means here: -1 is one for each core."""
    return wanted if wanted >= 0 else len(os.sched_getaffinity(0))


def link_pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets with room for a burst of findings."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
    return ours, theirs


def _leave_parent(keep: Sequence[int]) -> None:
    """Let go of what is the parent's: its input, its files, its ends of the links of others."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    first = 3
    for number in sorted(keep):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, max(os.sysconf("SC_OPEN_MAX"), 4_096))
    if sys.platform == "linux":
        allocator = ctypes.CDLL(None)
        for option, value in _MALLOC_OPTIONS:
            allocator.mallopt(option, value)
