"""A DNS server over UDP for the names of a fake web, and for names that misbehave.

Beside the hosts, these names under fake.test have answers of their own:

    private, metadata, loopback      A 10.0.0.1, 169.254.169.254, 127.0.0.1
    mixed                            A of host 0 and 10.0.0.1
    rebind                           A of host 0 at odd questions, 127.0.0.1 at even ones
    alias                            CNAME to host 0, with its A
    many                             40 addresses
    *.wild                           A of host 0, whatever stands before it
    nodata                           no answer, no error
    servfail, refused                that error
    timeout                          no packet at all
    garbage, wrong-id, truncated     a packet of noise; another question's id; the TC flag
"""

import asyncio
import struct
from itertools import count
from typing import Final, cast

from gossamer.fakeweb.hosts import DOMAIN, Hosts
from gossamer.fakeweb.log import LogWriter

A: Final = 1
CNAME: Final = 5
NOERROR: Final = 0
SERVFAIL: Final = 2
NXDOMAIN: Final = 3
REFUSED: Final = 5
TTL_SECONDS: Final = 300
_HEADER: Final = struct.Struct("!HHHHHH")
_FIXED: Final = {"private": "10.0.0.1", "metadata": "169.254.169.254", "loopback": "127.0.0.1"}
_ERRORS: Final = {"servfail": SERVFAIL, "refused": REFUSED}
_SILENT: Final = -1


class Answers:
    """Decides the answer to each question; pure but for the alternation of `rebind`."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._rebinds = count(1)

    def packet(self, question: bytes) -> tuple[bytes, str, int, int]:
        """Return the answer (empty for none), and the name, type and response code for the log."""
        try:
            name, kind, end = read_question(question)
        except (IndexError, struct.error, UnicodeDecodeError):
            return b"", "", 0, _SILENT
        label = name.removesuffix(f".{DOMAIN}")
        if label in ("timeout", "garbage"):
            return (
                (b"", name, kind, _SILENT)
                if label == "timeout"
                else (b"\xff" * 7, name, kind, _SILENT)
            )
        rcode, records = self._records(label, name)
        if kind != A:
            records = [record for record in records if record[0] == CNAME]
        identity = (
            question[:2] if label != "wrong-id" else bytes(255 - byte for byte in question[:2])
        )
        truncated = label == "truncated"
        answer = _packet(identity, question[12:end], rcode, [] if truncated else records, truncated)
        return answer, name, kind, rcode

    def _records(self, label: str, name: str) -> tuple[int, list[tuple[int, bytes]]]:
        first = self._hosts.address(0)
        if label in _ERRORS:
            return _ERRORS[label], []
        if label == "alias":
            return NOERROR, [(CNAME, _name(self._hosts.name(0))), (A, _address(first))]
        if label == "many":
            return NOERROR, [(A, _address(f"127.16.0.{last}")) for last in range(1, 41)]
        if label == "mixed":
            return NOERROR, [(A, _address(first)), (A, _address("10.0.0.1"))]
        if label == "rebind":
            address = first if next(self._rebinds) % 2 else "127.0.0.1"
            return NOERROR, [(A, _address(address))]
        if label in _FIXED:
            return NOERROR, [(A, _address(_FIXED[label]))]
        if label in ("nodata", "truncated"):
            return NOERROR, []
        if label == "wrong-id" or label.endswith(".wild"):
            return NOERROR, [(A, _address(first))]
        host = self._hosts.number(name)
        return (
            (NXDOMAIN, [])
            if host is None
            else (NOERROR, [(A, _address(self._hosts.address(host)))])
        )


class DnsServer(asyncio.DatagramProtocol):
    """Answers the questions that come to one UDP socket."""

    def __init__(self, answers: Answers, log: LogWriter) -> None:
        self._answers = answers
        self._log = log
        self._transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the socket to answer on."""
        # Not an isinstance: Python 3.11's transport is one in all but name.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer one question."""
        answer, name, kind, rcode = self._answers.packet(data)
        self._log.lookup(kind, name, rcode)
        if answer:
            self._transport.sendto(answer, addr)


def read_question(packet: bytes) -> tuple[str, int, int]:
    """Return name and type of a packet's first question, and where it ends."""
    position, labels = _HEADER.size, []
    while length := packet[position]:
        labels.append(packet[position + 1 : position + 1 + length].decode("ascii").lower())
        position += 1 + length
    (kind,) = struct.unpack_from("!H", packet, position + 1)
    return ".".join(labels), kind, position + 5


def _packet(
    identity: bytes, question: bytes, rcode: int, records: list[tuple[int, bytes]], truncated: bool
) -> bytes:
    # QR and AA set, recursion desired and available, as a resolver answers.
    flags = 0x8580 | rcode | (0x0200 if truncated else 0)
    answer = identity + _HEADER.pack(0, flags, 1, len(records), 0, 0)[2:] + question
    owner = b"\xc0\x0c"
    for kind, data in records:
        answer += owner + struct.pack("!HHIH", kind, 1, TTL_SECONDS, len(data)) + data
        if kind == CNAME:
            owner = data
    return answer


def _address(address: str) -> bytes:
    return bytes(map(int, address.split(".")))


def _name(name: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode() for label in name.split(".")) + b"\0"
