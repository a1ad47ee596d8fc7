"""How a worker process begins: with its parent's life as its own, and its first message.

Apart from the rest because workers of different kinds begin alike.
"""

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gossamer.crawl.link import Assignment, Link, Tag, decode_assignment
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.watch import Watch
from gossamer.crawl.workspace import hold_as_worker

_PR_SET_PDEATHSIG: Final = 1


def report_for_duty(arguments: Sequence[str]) -> tuple[Link, Watch, Assignment]:
    """Do what every worker of the ring does first; return what connects it with its parent."""
    link, watch, first = begin_duty(arguments)
    assignment = decode_assignment(first)
    if assignment.workers_lock:
        hold_as_worker(Path(assignment.workers_lock))
    return link, watch, assignment


def begin_duty(arguments: Sequence[str]) -> tuple[Link, Watch, bytes]:
    """Do what every child process of ours does first; return what its parent tells it, too."""
    die_with_parent(int(arguments[2]))
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


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process with its parent (elsewhere the link's end tells)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)
