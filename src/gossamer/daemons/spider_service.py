"""Runs the Spider daemon as a process: listener, spool, signals, and what is said about them."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from gossamer.clock import SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.memory import calm_collector
from gossamer.daemons.endpoints import require_trust
from gossamer.daemons.peers import Endpoint, endpoint_of, listen, load_secret
from gossamer.daemons.spider_daemon import SpiderDaemon
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.spool import Spool


class Plan(Struct, frozen=True):
    """Where a Spider listens, delivers, and keeps what it cannot deliver yet."""

    listen: Endpoint
    store: Endpoint
    spool: Path | None = None
    insecure: bool = False


class Account(Struct, frozen=True):
    """What a Spider has done when it ends."""

    orders: int
    delivered: int
    waiting_bytes: int
    spool: str


def serve_spider(
    plan: Plan,
    settings: Settings,
    on_listening: Callable[[Endpoint], None],
    say: Callable[[str], None],
) -> Account:
    """Serve until SIGTERM or SIGINT, then wind up; `say` gets messages for people."""
    secret = load_secret(settings.wire)
    require_trust(plan.store, has_secret=secret is not None, insecure=plan.insecure)
    clock = SystemClock()
    notes = Notes(say, clock)
    folder = plan.spool or default_spool(plan.listen.port)
    with listen(plan.listen, secret, plan.insecure) as listener:
        spool = Spool(
            folder, settings.spider.spool_bytes, say=lambda text: notes.say("the spool", text)
        )
        daemon = SpiderDaemon(settings, listener, plan.store, secret, spool, clock, notes)
        try:
            with _signals(daemon) as stops:
                calm_collector()
                on_listening(endpoint_of(listener))
                _serve(daemon, stops)
            return Account(daemon.orders, daemon.delivered, spool.used_bytes, str(folder))
        finally:
            daemon.close()


def default_spool(port: int) -> Path:
    """Return the folder for the spool of a Spider on this port, when none is given.

    It is the port that was asked for, also when that is 0: what one process left there must be
    found by the next.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "gossamer" / f"spider-{port}"


def _serve(daemon: SpiderDaemon, stops: list[int]) -> None:
    heard = 0
    while daemon.turn():
        if len(stops) > heard:
            heard = len(stops)
            daemon.stop()


@contextmanager
def _signals(daemon: SpiderDaemon) -> Iterator[list[int]]:
    """Gather SIGTERM and SIGINT in a list, and wake the loop for them."""
    stops: list[int] = []
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    daemon.watch(ours.fileno(), lambda: _drain(ours))
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    handlers = {
        number: signal.signal(number, lambda number, _frame: stops.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stops
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        daemon.unwatch(ours.fileno())
        ours.close()
        theirs.close()


def _drain(end: socket.socket) -> None:
    try:
        end.recv(4_096)
    except BlockingIOError:
        pass
