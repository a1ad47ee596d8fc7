"""Worker processes, started.

Two ways. A command forks a nursery before it has any thread: a process that loads what workers
need, forks them and ends. So nothing is loaded twice, and the command loads meanwhile, on another
core, what it needs itself. Everywhere else (in somebody's program, which may have threads, for the
successor of a worker that died, where the kernel is not Linux) a worker is a new interpreter.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from gossamer.crawl.duty import die_with_parent
from gossamer.crawl.watch import Watch

if TYPE_CHECKING:
    import subprocess

FETCHER: Final = "gossamer.crawl.worker"
# Loaded before workers are forked: by the command, which needs it, too, or by the nursery.
_IN_COMMON: Final = ("gossamer.spider.spider", "gossamer.url.traps")
_IN_COMMON_TO_KEEP: Final = ("gossamer.catalog.sqlite", "gossamer.store.repair")
_TO_KEEP: Final = ("gossamer.crawl.archived", "gossamer.store.warc")
_PR_SET_CHILD_SUBREAPER: Final = 36
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

    def __init__(self, module: str = FETCHER, nursery: "Nursery | None" = None) -> None:
        self.end, theirs = link_pair()
        self.watch = Watch.make()
        self.process: subprocess.Popen[bytes] | Forked
        if nursery is not None:
            self.process = nursery.expect(theirs, self.watch)
            return
        self.process = _interpreter(module, (theirs.fileno(), self.watch.descriptor))
        theirs.close()

    def close(self) -> None:
        """End the process and let go of what connects us with it; may be called twice."""
        self.process.kill()
        self.process.wait()
        self.end.close()
        self.watch.close()


class Nursery:
    """A copy of this process that loads a module, forks the workers expected, and ends.

    Workers are this process's own children then: it adopts what its children leave behind, until
    the nursery has ended. A worker waits for that before it says that it is ready, since it dies
    with its parent.
    """

    def __init__(self, module: str, first: Sequence[str]) -> None:
        self._module = module
        self._first = first
        self._expected: list[tuple[socket.socket, int]] = []
        self._pid = 0
        self._report = -1
        self._pids: dict[int, int] = {}

    def expect(self, theirs: socket.socket, watch: Watch) -> "Forked":
        """Have one more worker forked, with these."""
        self._expected.append((theirs, watch.descriptor))
        return Forked(self, len(self._expected) - 1)

    def begin(self) -> None:
        """Fork, and leave the workers to the nursery."""
        sys.stdout.flush()
        sys.stderr.flush()
        # What is there now is never garbage: so the child does not touch, and copy, all of it.
        gc.freeze()
        self._report, report = os.pipe()
        _adopt_orphans(yes=True)
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            with _leaving_at_the_end():
                die_with_parent(parent)
                self._fork_workers(parent, report)
        os.close(report)
        for theirs, _ in self._expected:
            theirs.close()

    def pid_of(self, number: int) -> int:
        """Return the process of a worker, as soon as it is there; 0 if it never will be."""
        if self._pid:
            nursery, self._pid = self._pid, 0
            with open(self._report, "rb") as report:  # noqa: PTH123 - a descriptor
                told = array("i", report.read())
            self._pids = dict(zip(told[::2], told[1::2], strict=True))
            _, status = os.waitpid(nursery, 0)
            _adopt_orphans(yes=False)
            if os.waitstatus_to_exitcode(status) > 0:
                # What is wrong with it has been shown; one worker after the other would die of it.
                raise RuntimeError(f"{self._module} cannot be loaded")
        return self._pids.get(number, 0)

    def _fork_workers(self, parent: int, report: int) -> None:
        # As workers do: the parent decides what an interruption of all means.
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        _load(self._first)
        run = importlib.import_module(self._module).main
        gc.freeze()
        nursery = os.getpid()
        for number, (theirs, watch) in enumerate(self._expected):
            if os.fork() == 0:
                with _leaving_at_the_end():
                    os.write(report, array("i", (number, os.getpid())).tobytes())
                    descriptors = (theirs.fileno(), watch)
                    _leave_parent(descriptors)
                    sys.exit(run(_arguments(descriptors, parent, nursery)))
        sys.exit(0)


class Forked:
    """A worker that a nursery forks; it offers what is used of Popen."""

    def __init__(self, nursery: Nursery, number: int) -> None:
        self._nursery = nursery
        self._number = number
        self._has_ended = False

    @property
    def pid(self) -> int:
        """Its number; asked before it is there, one waits."""
        return self._nursery.pid_of(self._number)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process is gone and its number perhaps somebody else's."""
        if not self._has_ended and self.pid:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        """Wait for its end."""
        if not self._has_ended and self.pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        self._has_ended = True


@contextlib.contextmanager
def launched(count: int, module: str, first: Sequence[str] = ()) -> Iterator[list[Launched]]:
    """Fork workers that run this module; at the end, whatever happened, none of them is left.

    Only for a process that has no thread yet. `first`: other modules that they all will load.
    """
    nursery = Nursery(module, first) if count and sys.platform == "linux" else None
    workers: list[Launched] = []
    try:
        workers.extend(Launched(module, nursery) for _ in range(count))
        if nursery is not None:
            nursery.begin()
        yield workers
    finally:
        for worker in workers:
            worker.close()


def fetchers(
    count: int, *, keep: bool, handlers: Sequence[str] = ()
) -> contextlib.AbstractContextManager[list[Launched]]:
    """Fork workers that fetch, and perhaps `keep` what they fetch, as `launched` says.

    `handlers`: modules of ours with handlers that all of them will use.
    """
    _load(_IN_COMMON)
    from gossamer.spider.loop import prepare  # noqa: PLC0415 - not before it is needed

    prepare()
    if keep:
        _load(_IN_COMMON_TO_KEEP)
    return launched(count, FETCHER, (*(_TO_KEEP if keep else ()), *handlers))


def worker_count(wanted: int) -> int:
    """Return how many workers `[crawl] workers` means here: -1 is one for each core."""
    return wanted if wanted >= 0 else len(os.sched_getaffinity(0))


def link_pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets with room for a burst of findings."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
    return ours, theirs


def _interpreter(module: str, descriptors: tuple[int, int]) -> "subprocess.Popen[bytes]":
    """Start a worker as a new interpreter."""
    import subprocess  # noqa: PLC0415 - 1 ms of each command that forks its workers

    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", module, *_arguments(descriptors, os.getpid())],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        env={**_ALLOCATOR, **os.environ},
    )


def _load(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)


def _arguments(descriptors: Sequence[int], parent: int, nursery: int = 0) -> list[str]:
    """Return what a worker is told on its command line."""
    return [*map(str, descriptors), str(parent), str(nursery)]


def _adopt_orphans(*, yes: bool) -> None:
    """Become the parent of what our children leave behind when they end, or no longer."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


@contextlib.contextmanager
def _leaving_at_the_end() -> Iterator[None]:
    """End this process where the block does: nothing may get back into the parent's code."""
    code = 1
    try:
        yield
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - see above
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


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
