"""Runs in a network namespace of its own: a hostile site, and a canary on every other address.

`python canary.py WORKSPACE [FLAG ...]` makes all private networks local, crawls the site with the
real command and prints what was connected to as JSON. Nothing can leave the namespace.
"""

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Iterator
from html import escape
from pathlib import Path

from forbidden import EMBEDDING, METADATA, NETWORKS_4, NETWORKS_6, OWN_PUBLIC, places

SITE = "127.9.9.9"
PORT = 8000
PORTS = (PORT, 80, 443, 22, 8080)
PUBLIC = "93.184.216.34"
"""Stands for the Internet: outside of all forbidden networks, yet inside the namespace."""
PINNED = "127.9.9.50"
ROBOTS_HOSTS = [f"127.9.10.{last}" for last in range(1, 41)]
"""Start hosts whose robots.txt redirects to a forbidden address."""
WELCOME = {SITE, PUBLIC, PINNED, *ROBOTS_HOSTS}
DNS = ("127.0.0.1", 5353)
STATUSES = (301, 302, 303, 307, 308)
SCHEMES = ("file:///etc/passwd", "ftp://10.0.0.1/", "gopher://10.0.0.1:70/_x", "data:text/html,x")
# Names, and the answers to one question after the other; the last one stays. A name at a welcome
# address changes only after one of its pages was served, however long that takes.
NAMES: dict[str, list[tuple[str, ...]]] = {
    "private.test": [("10.1.1.1",)],
    "metadata.test": [(METADATA,)],
    "loopback.test": [("127.0.0.1",)],
    "zero.test": [("0.0.0.0",)],
    "own.test": [(OWN_PUBLIC,)],
    "unique-local.test": [("fd00::1",)],
    "mapped.test": [("::ffff:10.1.1.1",)],
    "translated.test": [("64:ff9b::a9fe:a9fe",)],
    "six-to-four.test": [("2002:a9fe:a9fe::1",)],
    "mixed.test": [(PUBLIC, "10.1.1.2")],
    "mixed-back.test": [("10.1.1.2", PUBLIC)],
    "mixed-six.test": [("fd00::2", "2606:2800:220:1::1")],
    "public.test": [(PUBLIC,)],
    "rebind.test": [(PUBLIC,), ("10.1.1.3",)],
    "rebind-mixed.test": [(PUBLIC,), (PUBLIC, "127.0.0.1")],
    "rebind-back.test": [("10.1.1.4",), (PUBLIC,)],
    "pinned.test": [(PINNED,), ("127.9.9.51",)],
}
REBINDING_PAGES = 200
REBINDING_SECONDS = 0.15
"""Each page of a name that rebinds takes so long that the name is asked for again meanwhile."""

PLACES = places()
# Vector -> the places it leads to; the number of the place is in the path.
VECTORS = {
    "link": PLACES,
    "redirect": PLACES,
    "sitemap": PLACES,
    "refresh": PLACES[::3],
    "chain": PLACES[::5],
    "base": PLACES[::5],
    "frame": PLACES[::3],
    "asset": PLACES[::3],
    # In a header other characters than ASCII have no agreed meaning.
    "header": [place for place in PLACES[::5] if place.isascii()],
    "line": PLACES[::5],
}


def is_welcome(address: str, port: int) -> bool:
    """Whether a connection there is what the user asked for, or goes to the open Internet."""
    return address in WELCOME and port == PORT


def target(vector: str, number: int) -> str:
    """Return the forbidden URL with this number."""
    place = VECTORS[vector][number]
    scheme = "https" if number % 7 == 3 and ":80" not in place else "http"
    return f"{scheme}://{place}/t/{vector}/{number}"


def page(body: str) -> bytes:
    return f"<!DOCTYPE html><title>Site</title>{body}".encode()


def anchor(url: str) -> str:
    return f'<a href="{escape(url)}">x</a>\n'


def wire(url: str) -> str:
    """Return a URL as a server puts it in a header: UTF-8 bytes, seen as Latin-1."""
    return url.encode().decode("latin-1").replace("\t", "")


class Site:
    """Answers requests for the addresses that are welcome."""

    def answer(self, address: str, host: str, path: str) -> tuple[int, str, bytes]:
        """Return status, extra header lines and body."""
        if path == "/robots.txt":
            return self._robots(address)
        if address in ROBOTS_HOSTS:
            return 200, "", page("This must never be asked for.")
        if address in (PUBLIC, PINNED):
            links = (anchor(f"http://{host}/{number}") for number in range(REBINDING_PAGES))
            return 200, "Connection: close\r\n", page("".join(links))
        if path == "/sitemap.xml":
            urls = (target("sitemap", number) for number in range(len(PLACES)))
            entries = "".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
            space = "http://www.sitemaps.org/schemas/sitemap/0.9"
            return 200, "", f'<urlset xmlns="{space}">{entries}</urlset>'.encode()
        if path == "/":
            return 200, "", page("".join(self._home()))
        _, kind, *rest = path.split("/")
        return self._led(kind, int(rest[0]), rest[1:])

    def _home(self) -> Iterator[str]:
        for vector, found in VECTORS.items():
            if vector == "link":
                yield from (anchor(target("link", number)) for number in range(len(found)))
            elif vector not in ("sitemap", "line"):
                yield from (anchor(f"/{vector}/{number}") for number in range(len(found)))
        yield from (anchor(f"/scheme/{number}") for number in range(len(SCHEMES)))
        yield from (anchor(f"http://{name}:{PORT}/") for name in NAMES)
        yield anchor("http://public.test:22/")

    def _led(self, kind: str, number: int, rest: list[str]) -> tuple[int, str, bytes]:
        if kind == "scheme":
            return 302, f"Location: {SCHEMES[number]}\r\n", b""
        if kind == "chain" and not rest:
            return 302, f"Location: /chain/{number}/on\r\n", b""
        url = target(kind, number)
        status = STATUSES[number % len(STATUSES)]
        if kind in ("redirect", "chain"):
            return status, f"Location: {wire(url)}\r\n", page("Elsewhere.")
        if kind == "header":
            return 200, f"Refresh: 0; url={wire(url)}\r\n", page("Elsewhere.")
        if kind == "refresh":
            return 200, "", page(f'<meta http-equiv=refresh content="0; url={escape(url)}">')
        if kind == "base":
            folder, _, last = url.rpartition("/")
            return 200, "", page(f'<base href="{escape(folder)}/">{anchor(last)}')
        if kind == "frame":
            return 200, "", page(f'<iframe src="{escape(url)}"></iframe>')
        return 200, "", page(f'<img src="{escape(url)}"><link rel=canonical href="{escape(url)}">')

    def _robots(self, address: str) -> tuple[int, str, bytes]:
        if address in ROBOTS_HOSTS:
            number = ROBOTS_HOSTS.index(address) * len(PLACES) // len(ROBOTS_HOSTS)
            return 302, f"Location: {wire(target('redirect', number))}/robots.txt\r\n", b""
        lines = [f"Sitemap: {target('line', number)}" for number in range(len(VECTORS["line"]))]
        lines.append(f"Sitemap: http://{SITE}:{PORT}/sitemap.xml")
        return 200, "", "\n".join(lines).encode() if address == SITE else b""


class Canary:
    """Accepts every connection, counts it by the address it was made to, serves the site."""

    def __init__(self) -> None:
        self.connections: Counter[str] = Counter()
        self.served: set[str] = set()
        """Hosts of which a page was served."""
        self._site = Site()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address, port = writer.get_extra_info("sockname")[:2]
        self.connections[f"{address} {port}"] += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                host = next(line[6:] for line in lines if line.lower().startswith("host: "))
                status, extra, body = 200, "", page("You should not see this.")
                if is_welcome(address, port):
                    status, extra, body = self._site.answer(address, host, lines[0].split()[1])
                if address in (PUBLIC, PINNED):
                    await asyncio.sleep(REBINDING_SECONDS)
                kind = "text/plain" if "robots" in lines[0] else "text/html"
                start = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}; charset=utf-8\r\n{extra}"
                writer.write(f"{start}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body)
                if kind == "text/html":
                    self.served.add(host.partition(":")[0])
                if "close" in extra:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Dns(asyncio.DatagramProtocol):
    """Answers as the table says, with a time to live of 0."""

    def __init__(self, served: Container[str]) -> None:
        self.questions: Counter[str] = Counter()
        self._served = served
        self._turns: Counter[str] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, position = [], 12
        while length := data[position]:
            labels.append(data[position + 1 : position + 1 + length].decode("ascii").lower())
            position += 1 + length
        name, (kind,) = ".".join(labels), struct.unpack_from("!H", data, position + 1)
        six = any(":" in address for answer in NAMES.get(name, []) for address in answer)
        answers = NAMES.get(name, [()])
        records = b""
        count = 0
        if kind == (28 if six else 1):
            self.questions[name] += 1
            for address in answers[self._turn(name, answers)]:
                family = socket.AF_INET6 if six else socket.AF_INET
                packed = socket.inet_pton(family, address)
                records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed
                count += 1
        code = 0 if name in NAMES else 3
        header = data[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, count, 0, 0)
        self._transport.sendto(header + data[12 : position + 5] + records, addr)  # type: ignore[attr-defined]  # a datagram transport in all but name

    def _turn(self, name: str, answers: list[tuple[str, ...]]) -> int:
        """Return which of its answers a name has this time."""
        turn = self._turns[name]
        is_done_with = name in self._served or not WELCOME.issuperset(answers[turn])
        if self.questions[name] > 1 and is_done_with:
            turn = self._turns[name] = min(turn + 1, len(answers) - 1)
        return turn


def make_everything_local() -> None:
    """Route all forbidden networks, and one that is not, to this namespace itself."""
    commands = ["ip link set lo up", f"ip addr add {OWN_PUBLIC}/32 dev lo"]
    commands += [f"ip route add local {network} dev lo" for network in NETWORKS_4[:3]]
    commands += [f"ip route add local {network} dev lo" for network in NETWORKS_4[4:]]
    commands += [f"ip route add local {PUBLIC.rpartition('.')[0]}.0/24 dev lo"]
    commands += [f"ip -6 route add local {network} dev lo" for network in (*NETWORKS_6, *EMBEDDING)]
    for command in commands:
        subprocess.run(command.split(), check=True)


async def assert_it_sings(canary: Canary) -> None:
    """Fail unless a connection to a forbidden address would be noticed, whichever family."""
    reachable = ("10.1.2.3", METADATA, "192.168.7.7", OWN_PUBLIC, "127.0.0.1", "::1", "fd00::7",
                 "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1")  # fmt: skip
    for address in reachable:
        for port in PORTS:
            _, writer = await asyncio.open_connection(address, port)
            writer.close()
    expected = {f"{address} {port}" for address in reachable for port in PORTS}
    async with asyncio.timeout(60):
        while set(canary.connections) != expected:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
    canary.connections.clear()


async def crawl(workspace: Path, flags: list[str]) -> "subprocess.CompletedProcess[str]":
    starts = [f"http://{host}:{PORT}/" for host in (SITE, "pinned.test", *ROBOTS_HOSTS)]
    proxy = dict.fromkeys(("http_proxy", "https_proxy", "ALL_PROXY"), "http://10.9.9.9:8080")
    argv = [sys.executable, "-m", "gossamer.cli", "crawl", *starts, "--dir", str(workspace), *flags]
    return await asyncio.to_thread(
        subprocess.run, argv, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **proxy},
    )  # fmt: skip


async def main(workspace: Path, flags: list[str]) -> None:
    canary = Canary()
    dns = Dns(canary.served)
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: dns, local_addr=DNS)
    for port in PORTS:
        await asyncio.start_server(canary.accept, "0.0.0.0", port, backlog=1024)
        await asyncio.start_server(canary.accept, "::", port, backlog=1024)
    await assert_it_sings(canary)
    result = await crawl(workspace, flags)
    report = {
        "exit_code": result.returncode,
        "message": result.stderr,
        "connections": dict(canary.connections),
        "questions": dict(dns.questions),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    make_everything_local()
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
