"""How a worker process begins: with its parent's life as its own, and its first message.

Apart from the rest because workers of different kinds begin alike.
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from gossamer.crawl.link import Assignment, Link, Tag, decode_assignment
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.watch import Watch
from gossamer.crawl.workspace import hold_as_worker
from gossamer.errors import GossamerError

_PR_SET_PDEATHSIG: Final = 1
_MOMENT_SECONDS: Final = 0.000_2


def report_for_duty(arguments: Sequence[str]) -> tuple[Link, Watch, Assignment]:
    """Do what every worker of the ring does first; return what connects it with its parent.

    One that a nursery forked ends with its parent only when it says that it is ready: by then, and
    while it prepares itself, the nursery ends, so that nobody waits for that.
    """
    _, nursery = _parents(arguments)
    link, watch, first = _listen(arguments) if nursery else begin_duty(arguments)
    assignment = decode_assignment(first)
    if assignment.workers_lock:
        hold_as_worker(Path(assignment.workers_lock))
    return link, watch, assignment


@contextlib.contextmanager
def excused(link: Link) -> Iterator[None]:
    """Prepare a worker; if it cannot begin, tell why and end: its successors could not either."""
    try:
        yield
    except GossamerError as error:
        link.send(Tag.UNFIT, (type(error).__name__, str(error)))
        sys.exit(1)


def say_ready(link: Link, arguments: Sequence[str]) -> None:
    """End with the parent from now on at the latest, and let it know that orders may come."""
    _stay_with_parent(arguments)
    link.send(Tag.READY, None)


def begin_duty(arguments: Sequence[str]) -> tuple[Link, Watch, bytes]:
    """Do what other child processes of ours do first; return what their parent tells, too."""
    _stay_with_parent(arguments)
    return _listen(arguments)


def _listen(arguments: Sequence[str]) -> tuple[Link, Watch, bytes]:
    calm_collector()
    # Ctrl-C and a service manager's SIGTERM reach the whole group; the coordinator decides, and
    # when it is gone, so are we.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    link = Link(socket.socket(fileno=int(arguments[0])), blocking=True)
    watch = Watch(int(arguments[1]))
    return link, watch, _first_message(link)


def _first_message(link: Link) -> bytes:
    while True:
        for tag, payload in link.receive():
            if tag is Tag.HELLO:
                return payload
        if link.closed:
            sys.exit(1)


def _stay_with_parent(arguments: Sequence[str]) -> None:
    """Become a child of the process that the arguments name, if we are not yet, and end with it."""
    parent, nursery = _parents(arguments)
    while nursery and os.getppid() == nursery:
        time.sleep(_MOMENT_SECONDS)
    die_with_parent(parent)


def _parents(arguments: Sequence[str]) -> tuple[int, int]:
    """Return the parent, and the nursery that comes before it, if there is one (else 0)."""
    return int(arguments[2]), int(arguments[3])


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process with its parent (elsewhere the link's end tells)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)
