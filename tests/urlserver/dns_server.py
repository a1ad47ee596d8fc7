"""A DNS server on loopback that does what a script says, over UDP and TCP."""

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from typing import Self

A, CNAME, AAAA, OPT = 1, 5, 28, 41
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 2, 3, 4, 5


class Question:
    """A query as it came, with the parts an answer repeats."""

    def __init__(self, packet: bytes, *, tcp: bool) -> None:
        self.id = packet[:2]
        self.tcp = tcp
        labels, at = [], 12
        while packet[at]:
            labels.append(packet[at + 1 : at + 1 + packet[at]].decode())
            at += 1 + packet[at]
        self.name = ".".join(labels).lower()
        self.kind = struct.unpack("!H", packet[at + 1 : at + 3])[0]
        self.raw = packet[12 : at + 5]

    def reply(self, records=(), *, code=NOERROR, cut=False, count=None) -> bytes:
        """Return an answer; `count` overstates the number of records."""
        flags = 0x8180 | code | (0x0200 if cut else 0)
        number = len(records) if count is None else count
        head = self.id + struct.pack("!5H", flags, 1, number, 0, 0)
        return head + self.raw + b"".join(records)


def encoded(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def record(name: str, kind: int, data: bytes, ttl: int = 300) -> bytes:
    return encoded(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def address(name: str, text: str, ttl: int = 300) -> bytes:
    family, kind = (socket.AF_INET6, AAAA) if ":" in text else (socket.AF_INET, A)
    return record(name, kind, socket.inet_pton(family, text), ttl)


Script = Callable[[Question], bytes | None]


def _one_port_for_both() -> tuple[socket.socket, socket.socket]:
    """Listen on a port that is free for packets and for connections."""
    while True:
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        try:
            return udp, socket.create_server(udp.getsockname())
        except OSError:
            # Somebody has connections on the port of that number.
            udp.close()


class DnsServer:
    """Answers names by their script; names without one do not exist."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        self._scripts = scripts
        self.asked: Counter = Counter()
        self._udp, self._tcp = _one_port_for_both()
        self.port = self._udp.getsockname()[1]
        self._threads = [
            threading.Thread(target=self._serve_udp, daemon=True),
            threading.Thread(target=self._serve_tcp, daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing a socket does not wake a thread that waits on it, a packet and a connection do.
        self._stopping = True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as poke:
            poke.sendto(b"", ("127.0.0.1", self.port))
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            pass
        for thread in self._threads:
            thread.join(5)
        self._udp.close()
        self._tcp.close()

    _stopping = False

    def _answer(self, packet: bytes, *, tcp: bool) -> bytes | None:
        question = Question(packet, tcp=tcp)
        self.asked[question.name] += 1
        script = self._scripts.get(question.name)
        return question.reply(code=NXDOMAIN) if script is None else script(question)

    def _serve_udp(self) -> None:
        while True:
            packet, peer = self._udp.recvfrom(4_096)
            if self._stopping:
                return
            answer = self._answer(packet, tcp=False)
            if answer is not None:
                self._udp.sendto(answer, peer)

    def _serve_tcp(self) -> None:
        while True:
            connection, _ = self._tcp.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(2)
                if self._stopping:
                    return
                while head := connection.recv(2, socket.MSG_WAITALL):
                    (length,) = struct.unpack("!H", head)
                    packet = connection.recv(length, socket.MSG_WAITALL)
                    answer = self._answer(packet, tcp=True) or b""
                    connection.sendall(struct.pack("!H", len(answer)) + answer)
