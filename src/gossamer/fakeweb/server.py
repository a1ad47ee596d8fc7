"""The server process: one listening socket for all hosts, a DNS socket, a log, an orderly end."""

import asyncio
import gc
import json
import os
import signal
import socket
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic_ns
from typing import Final

from gossamer.fakeweb.connection import Connection
from gossamer.fakeweb.dns import Answers, DnsServer
from gossamer.fakeweb.graph import Graph
from gossamer.fakeweb.hosts import Hosts
from gossamer.fakeweb.log import LogWriter
from gossamer.fakeweb.options import Options
from gossamer.fakeweb.site import Site
from gossamer.fakeweb.truth import truth_json

_BEAT_SECONDS: Final = 0.005
_STALL_NS: Final = 10_000_000
_IDLE_SECONDS: Final = 60.0
_BACKLOG: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where a server listens and what it writes beside the web itself."""

    port: int = 0
    dns_port: int = 0
    log: Path | None = None
    truth: Path | None = None
    ready_file: Path | None = None
    max_seconds: float = 0.0
    until_stdin_closes: bool = False


class Server:
    """What all connections share."""

    def __init__(self, options: Options, graph: Graph, log: LogWriter) -> None:
        self.options = options
        self.log = log
        self.random = Random(options.seed)
        self.connections: set[Connection] = set()
        self.answer = Site(graph).answer
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, script: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run a script as a task that ends with the server."""
        task = asyncio.get_running_loop().create_task(script)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def next_connection(self) -> int:
        """Return a fresh number."""
        return next(self._numbers)

    async def stop(self) -> None:
        """End every connection and wait for the scripts."""
        for connection in list(self.connections):
            connection.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def serve(options: Options, serving: Serving, announce: Callable[[str], None]) -> None:
    """Serve a fake web until a signal or limit ends it; `announce` gets a line of JSON."""
    asyncio.run(_serve(options, serving, announce))


async def _serve(options: Options, serving: Serving, announce: Callable[[str], None]) -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(_listener(serving.port))
        graph = Graph(options, Hosts(options, listener.getsockname()[1]))
        if serving.truth:
            await asyncio.to_thread(_write_truth, graph, serving.truth)
        log = LogWriter(serving.log)
        stack.callback(log.close)
        server = Server(options, graph, log)
        # The web lives as long as the process; collecting it again and again only costs time.
        gc.freeze()
        stopped = _stop_event(serving, announce)
        loop = asyncio.get_running_loop()
        acceptor = await loop.create_server(
            lambda: Connection(server), sock=listener, backlog=_BACKLOG
        )
        dns = await _start_dns(graph, serving.dns_port, log) if options.names else None
        async with asyncio.TaskGroup() as group:
            beat = group.create_task(_beat(log, monotonic_ns()))
            sweep = group.create_task(_sweep(server))
            _announce(graph, dns, serving, announce)
            await stopped
            acceptor.close()
            await server.stop()
            beat.cancel()
            sweep.cancel()
        if dns:
            dns.close()


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The wildcard address serves all of 127.0.0.0/8; Connection refuses other addresses.
        listener.bind(("0.0.0.0", port))
    except OSError:
        listener.close()
        raise
    return listener


def _write_truth(graph: Graph, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(truth_json(graph))


def _stop_event(serving: Serving, announce: Callable[[str], None]) -> asyncio.Future[None]:
    """Return a future that is done when the server is to end."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[None] = loop.create_future()

    def stop() -> None:
        if not stopped.done():
            stopped.set_result(None)

    def stdin_readable() -> None:
        data = os.read(0, 4_096)
        # A line is answered with a line: what had been answered before it is in the log by then.
        for _ in range(data.count(b"\n")):
            announce("")
        if not data:
            loop.remove_reader(0)
            stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    if serving.max_seconds:
        loop.call_later(serving.max_seconds, stop)
    if serving.until_stdin_closes:
        loop.add_reader(0, stdin_readable)
    return stopped


async def _start_dns(graph: Graph, port: int, log: LogWriter) -> asyncio.DatagramTransport:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: DnsServer(Answers(graph.hosts), log), local_addr=("127.0.0.1", port)
    )
    return transport


async def _beat(log: LogWriter, last: int) -> None:
    """Notice when the server was kept from looking at its sockets, and write it down."""
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        now = monotonic_ns()
        if now - last > _STALL_NS:
            log.stall(last, now)
        last = now


async def _sweep(server: Server) -> None:
    """Close connections that nobody uses."""
    while True:
        await asyncio.sleep(_IDLE_SECONDS / 6)
        since = asyncio.get_running_loop().time() - _IDLE_SECONDS
        for connection in list(server.connections):
            connection.close_if_idle(since)


def _announce(
    graph: Graph,
    dns: asyncio.DatagramTransport | None,
    serving: Serving,
    announce: Callable[[str], None],
) -> None:
    dns_server = None
    if dns:
        address, port = dns.get_extra_info("sockname")[:2]
        dns_server = f"{address}:{port}"
    line = json.dumps(
        {
            "start_urls": [graph.home(host) for host in range(graph.options.hosts)],
            "oddities": f"http://127.0.0.1:{graph.hosts.port}/~/",
            "port": graph.hosts.port,
            "dns": dns_server,
            "pid": os.getpid(),
        }
    )
    if serving.ready_file:
        # Written beside and renamed, so that a reader who waits for the file never sees half of it.
        partial = serving.ready_file.with_name(serving.ready_file.name + ".part")
        partial.write_text(line + "\n", encoding="utf-8")
        partial.replace(serving.ready_file)
    announce(line)
