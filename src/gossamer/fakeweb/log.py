"""The append-only request log: the server writes it, the judge reads it.

One record a line, fields separated by tabs, times in nanoseconds of the machine's monotonic clock
(the one that `time.monotonic_ns()` reads in every process):

    S  number  time  connection  address  host  method  target  waited   a request was seen
    E  number  time  status  body_bytes  how                    its answer has ended
    L  time  time                                               the server did not look in between
    D  time  type  name  rcode                                  a DNS question was answered

`how` is done (every byte was given to the kernel), cut (the server ended it on purpose) or gone
(the client went away first, or the server stopped). Each line is written with one system call, so
that no end of any process loses it. An L line says that a request seen at or just after its second
time may have arrived as early as its first. `waited` says it better, where the system tells it: so
many nanoseconds before it was seen the last byte of the request had come in.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns
from typing import Final, Self

DONE: Final = "done"
CUT: Final = "cut"
GONE: Final = "gone"
_ESCAPES: Final = {number: f"%{number:02X}" for number in (*range(33), 127)}


class LogWriter:
    """Appends records to a log file, or nowhere when there is none."""

    def __init__(self, path: Path | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = None if path is None else os.open(path, flags, 0o644)
        self._number = 0

    def start(
        self,
        connection: int,
        address: str,
        host: str,
        method: str,
        target: str,
        waited_ns: int | None = None,
        *,
        seen_ns: int = 0,
    ) -> int:
        """Record that a request was seen, now or at a moment, and return its number."""
        self._number += 1
        fields = f"{connection}\t{address}\t{_clean(host)}\t{_clean(method)}\t{_clean(target)}"
        if waited_ns is not None:
            fields += f"\t{waited_ns}"
        self._write(f"S\t{self._number}\t{seen_ns or monotonic_ns()}\t{fields}\n")
        return self._number

    def end(self, number: int, status: int, body_bytes: int, how: str) -> None:
        """Record that the answer to a request has ended."""
        self._write(f"E\t{number}\t{monotonic_ns()}\t{status}\t{body_bytes}\t{how}\n")

    def stall(self, start_ns: int, end_ns: int) -> None:
        """Record that the server did not look at its sockets for a while."""
        self._write(f"L\t{start_ns}\t{end_ns}\n")

    def lookup(self, kind: int, name: str, rcode: int) -> None:
        """Record a DNS question."""
        self._write(f"D\t{monotonic_ns()}\t{kind}\t{_clean(name)}\t{rcode}\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, line: str) -> None:
        if self._file is not None:
            os.write(self._file, line.encode())


@dataclass(slots=True)
class Request:
    """One request as the server saw it; `end_ns` is None while it is open."""

    number: int
    start_ns: int
    connection: int
    address: str
    host: str
    method: str
    target: str
    end_ns: int | None = None
    status: int = 0
    body_bytes: int = 0
    how: str = ""
    waited_ns: int | None = None
    """How long it had been here when it was seen; None if nobody can tell."""

    @property
    def arrived_ns(self) -> int:
        """When it arrived, as far as is known."""
        return self.start_ns - (self.waited_ns or 0)

    @property
    def url(self) -> str:
        """The URL that was asked for."""
        return f"http://{self.host}{self.target}"

    @property
    def is_robots(self) -> bool:
        """Whether robots.txt was asked for."""
        return self.target == "/robots.txt"


@dataclass(slots=True)
class Lookup:
    """One DNS question."""

    time_ns: int
    kind: int
    name: str
    rcode: int


@dataclass(slots=True)
class Log:
    """A whole log; requests are in the order in which they were seen."""

    requests: list[Request] = field(default_factory=list)
    stalls: list[tuple[int, int]] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a log file; a torn last line is left out."""
        with path.open(encoding="utf-8", newline="\n") as lines:
            return cls.parse(lines)

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Self:
        """Read the lines of a log."""
        log = cls()
        open_requests: dict[int, Request] = {}
        for line in lines:
            if line.endswith("\n"):
                log._add(line[:-1].split("\t"), open_requests)
        return log

    def _add(self, fields: list[str], open_requests: dict[int, Request]) -> None:
        match fields:
            case ["S", number, time, connection, address, host, method, target, *waited]:
                request = Request(
                    int(number), int(time), int(connection), address, host, method, target
                )
                request.waited_ns = int(waited[0]) if waited else None
                open_requests[request.number] = request
                self.requests.append(request)
            case ["E", number, time, status, body_bytes, how]:
                request = open_requests.pop(int(number))
                request.end_ns, request.how = int(time), how
                request.status, request.body_bytes = int(status), int(body_bytes)
            case ["L", start, end]:
                self.stalls.append((int(start), int(end)))
            case ["D", time, kind, name, rcode]:
                self.lookups.append(Lookup(int(time), int(kind), name, int(rcode)))
            case _:
                raise ValueError(f"not a line of a fakeweb log: {fields!r}")


def _clean(text: str) -> str:
    """Return text without blanks and control characters, so that a record stays one line."""
    return text if text.isprintable() and " " not in text else text.translate(_ESCAPES)
