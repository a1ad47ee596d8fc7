"""WebSub: hubs tell us at once what feeds would tell us when they are polled next.

Theory of operation. A feed that names a hub has a row in the catalog (`catalog/pushes.py`). A
process beside the engine asks the hubs (`push_asker.py`, by `hub_client.py`) and listens to them
(`push_listener.py`, `push_desk.py`). A push that its hub has signed makes the feed due, no more:
the ring polls it as always. Why is written in docs/decisions/websub.md.

Two threads: one asks and tidies, one runs the event loop of the listener. The process ends when its
input does, so that it never outlives the engine.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from gossamer.catalog import pushes
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.clock import Clock, ShiftedClock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.workspace import Workspace
from gossamer.errors import GossamerError, InputError
from gossamer.news.hub_client import HubClient
from gossamer.news.push_asker import PushAsker
from gossamer.news.push_desk import PushDesk
from gossamer.news.push_listener import Limits, PushListener

_CALLBACK_NOTE: Final = "websub_callback"
_ROUND_SECONDS: Final = 0.5
_TROUBLED_SECONDS: Final = 5.0
_READY_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 15.0
_BACKLOG: Final = 128


def serve(
    directory: Path,
    settings: Settings,
    clock: Clock,
    stop: threading.Event,
    on_ready: Callable[[str, int], None] | None = None,
) -> None:
    """Ask and listen to hubs until told to stop; `on_ready` hears host and port."""
    prefix = check_callback(settings)
    with (
        contextlib.closing(listen(settings.news.callback_listen)) as listener,
        NewsCatalog.open(
            Workspace(directory).require().catalog, settings.catalog, shared=True
        ) as catalog,
        HubClient(settings, clock) as client,
    ):
        _note_callback(catalog, settings)
        desk = PushDesk(catalog.database, clock, settings.news.lease_seconds)
        asker = PushAsker(desk, client, settings, clock)
        limits = Limits(max_body_bytes=settings.spider.max_doc_bytes)
        with _asking(asker, desk, stop):
            if on_ready is not None:
                on_ready(*listener.getsockname()[:2])
            asyncio.run(_listening(PushListener(desk, prefix, limits), listener, stop))
        desk.close()


class Handle:
    """The process that asks and listens to hubs."""

    def __init__(self, process: "subprocess.Popen[bytes]", host: str, port: int) -> None:
        self._process = process
        self.host = host
        self.port = port

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def running(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it; may be called twice."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def start(directory: Path, settings: Settings, clock: Clock | None = None) -> Handle:
    """Start the process; complain if it cannot listen where it should."""
    check_callback(settings)
    shift = clock.time() - SystemClock.time() if clock is not None else 0.0
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer.news.websub"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    handle = Handle(process, "", 0)
    try:
        orders = _Orders(str(directory), settings, shift)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(orders) + b"\n")
            process.stdin.flush()
        # It says one line, or ends.
        ready = _line_within(process, _READY_SECONDS)
        said = msgspec.json.decode(ready, type=_Ready) if ready else _Ready(error="it has ended")
    except BaseException:
        process.kill()
        handle.stop()
        raise
    if said.error:
        handle.stop()
        raise InputError(f"cannot listen to hubs: {said.error}")
    handle.host, handle.port = said.host, said.port
    return handle


def check_callback(settings: Settings) -> str:
    """Return the path of the callback; complain about one that no hub could call."""
    url = settings.news.callback_url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InputError(
            f"cannot use {url!r} as [news] callback_url; give the URL at which hubs reach this "
            "machine, such as https://news.example.org/websub"
        )
    return parts.path.rstrip("/")


def listen(text: str) -> socket.socket:
    """Return a socket that listens at `HOST:PORT`; port 0 stands for any that is free."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port is None or parts.path or parts.query:
        raise InputError(
            f"cannot listen at {text!r}; write [news] callback_listen as 127.0.0.1:8090 or "
            "[::1]:8090"
        )
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"cannot listen at {text}: {error}; choose another address or port with [news] "
            "callback_listen"
        ) from error


class _Orders(Struct, frozen=True):
    directory: str
    settings: Settings
    shift_seconds: float


class _Ready(Struct, frozen=True):
    host: str = ""
    port: int = 0
    error: str = ""


def _note_callback(catalog: NewsCatalog, settings: Settings) -> None:
    """Have all hubs asked again when they know a callback that is ours no longer."""
    url = settings.news.callback_url
    earlier = catalog.note(_CALLBACK_NOTE)
    if earlier == url:
        return
    if earlier is not None:
        pushes.ask_all_again(catalog.database)
    catalog.put_note(_CALLBACK_NOTE, url)


@contextlib.contextmanager
def _asking(asker: PushAsker, desk: PushDesk, stop: threading.Event) -> Iterator[None]:
    def run() -> None:
        try:
            while not stop.is_set():
                stop.wait(_round(asker, desk))
        finally:
            # Whatever went wrong: who listens but does not ask any more must not seem to work.
            stop.set()

    thread = threading.Thread(target=run, name="push asker")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _round(asker: PushAsker, desk: PushDesk) -> float:
    """Ask some hubs and tidy up; return how long to wait before the next round."""
    try:
        asker.round()
        desk.tidy()
    except GossamerError as error:
        # A full disk, for one: it may be over soon.
        print(f"gossamer: WebSub: {error}", file=sys.stderr)
        return _TROUBLED_SECONDS
    return _ROUND_SECONDS


async def _listening(
    listener: PushListener, listening: socket.socket, stop: threading.Event
) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait() -> None:
        stop.wait()
        loop.call_soon_threadsafe(stopped.set)

    waiting = threading.Thread(target=wait, name="push stop")
    waiting.start()
    try:
        listening.setblocking(False)
        await listener.serve(listening, stopped)
    finally:
        stop.set()
        waiting.join()


def _line_within(process: "subprocess.Popen[bytes]", seconds: float) -> bytes:
    """Return the first line that a process says; nothing if it ends, or takes too long."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        return process.stdout.readline()
    finally:
        timer.cancel()


def main() -> int:
    """Run the process that `start` starts: orders come in as one line, the end as end of input."""
    # Ctrl-C reaches all processes of a terminal; this one ends with the engine.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Orders)
    stop = threading.Event()

    def until_end() -> None:
        while os.read(0, 4_096):
            pass
        stop.set()

    def ready(host: str, port: int) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(_Ready(host, port)) + b"\n")
        sys.stdout.buffer.flush()

    threading.Thread(target=until_end, daemon=True).start()
    try:
        clock = ShiftedClock(SystemClock.time() + orders.shift_seconds)
        serve(Path(orders.directory), orders.settings, clock, stop, ready)
    except GossamerError as error:
        sys.stdout.buffer.write(msgspec.json.encode(_Ready(error=str(error))) + b"\n")
        sys.stdout.buffer.flush()
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
