"""Worker processes, started.

Apart from the rest, and light to import, so that a command can start its workers first and load the
coordinator's modules while the workers load theirs.
"""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from gossamer.crawl.watch import Watch

_SEND_BUFFER_BYTES: Final = 1 << 20
# Bodies come and go: memory kept for the next one saves the kernel from clearing it anew (glibc).
_ALLOCATOR: Final = {
    "MALLOC_MMAP_THRESHOLD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_TOP_PAD_": str(4 << 20),
}


class Launched:
    """A worker process that waits for its assignment, our end of its link, its watch."""

    def __init__(self) -> None:
        self.end, theirs = link_pair()
        self.watch = Watch.make()
        descriptors = (theirs.fileno(), self.watch.descriptor)
        arguments = [*map(str, descriptors), str(os.getpid())]
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "gossamer.crawl.worker", *arguments],
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


@contextlib.contextmanager
def launched(count: int) -> Iterator[list[Launched]]:
    """Start workers; at the end, whatever happened, none of them is left."""
    workers: list[Launched] = []
    try:
        workers.extend(Launched() for _ in range(count))
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
