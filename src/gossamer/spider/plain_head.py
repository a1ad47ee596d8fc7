"""Heads about which nothing is odd, read in one go from the first bytes of a response.

Nearly all are: complete, of HTTP/1, final, with lines of printable characters only, one length, no
transfer coding. libcurl has no objection to any of them, so its own reading of the lines need not
be listened to. Whatever else comes is left to `head.py`, which says the same of these.

Most of them are read by compiled code (plain_head.c) in the call that looks at the connection, if
it is there; `PlainHeads.read` reads the others, and all where no compiler was at hand when gossamer
was installed.
"""

import re
from collections.abc import Callable
from typing import Final

from gossamer.config.spider import SpiderSettings
from gossamer.spider.head import MAX_COOKIES, NOTABLE, VERSIONS, Head, read_notable

try:
    from gossamer.spider import _plain_head
except ImportError:
    _plain_head = None  # type: ignore[assignment] # mypy takes the module for granted

_STATUS: Final = re.compile(r"(HTTP/1\.[01]) ([2-5][0-9][0-9])(?: .*)?")
_NAME: Final = re.compile(r"[!#-'*+\-.0-9A-Z^-z|~]+")
# A length that libcurl takes for a number without a second look.
_MAX_DIGITS: Final = 18
_MAX_KNOWN: Final = 2_048
_MAX_KNOWN_BYTES: Final = 256
# Fields that hardly ever come a second time as they were.
_FLEETING: Final = NOTABLE | {"etag"}
_END: Final = b"\r\n\r\n"

Peek = Callable[[int], Head | bytes]
"""Looks at what has arrived on a connection; returns its head, or the first bytes."""


def is_compiled() -> bool:
    """Whether the compiled part is there."""
    return _plain_head is not None


class _OddError(Exception):
    """There is something about a line that has to be looked at more closely."""


class PlainHeads:
    """Reads plain heads. Most lines are those of the response before, so they are remembered."""

    def __init__(self, settings: SpiderSettings) -> None:
        limit = min(settings.max_header_bytes, settings.max_header_line_bytes)
        self._max_end = limit - len(_END)
        self._max_lines = settings.max_header_count
        self._statuses = _Statuses()
        self._fields = _Fields()
        self._field = self._fields.__getitem__
        self._notable = self._fields.notable
        self.peek: Peek | None = None
        """Of the compiled part, if it is there: reads most plain heads, and leaves the others."""
        if _plain_head is not None:
            self.peek = _plain_head.Reader(Head, self._max_end, self._max_lines).peek

    def read(self, data: bytes) -> Head | None:
        """Return the head at the start of a response; None if it is not plain or not there yet."""
        end = data.find(_END)
        if not 0 < end < self._max_end:
            return None
        lines = data[:end].split(b"\r\n")
        if not 1 < len(lines) <= self._max_lines:
            return None
        notable = self._notable
        notable.clear()
        try:
            version, status = self._statuses[lines.pop(0)]
            headers = tuple(map(self._field, lines))
        except _OddError:
            return None
        head = Head(data[: end + 4], status, version, headers, complete=True)
        if len(notable) == 1 and notable[0][0] == "content-length":
            head.content_length = length = _length(notable[0][1])
            head.is_usual = status == 200
            return None if length is None else head
        return head if not notable or _is_read(head, notable) else None

    def remembered(self) -> int:
        """Return how many lines and names are remembered."""
        return len(self._statuses) + len(self._fields) + len(self._fields.names)


def _length(value: str) -> int | None:
    """Return the length that a field tells; None if it is told oddly."""
    return int(value) if len(value) <= _MAX_DIGITS and value.isdecimal() else None


def _is_read(head: Head, fields: list[tuple[str, str]]) -> bool:
    """Read what matters for the transfer, unless there is anything odd about it."""
    notable: dict[str, list[str]] = {}
    for name, value in fields:
        notable.setdefault(name, []).append(value)
    for name, values in notable.items():
        most = MAX_COOKIES if name == "set-cookie" else 1
        if len(values) > most or name == "transfer-encoding":
            return False
        if name == "content-length" and _length(values[0]) is None:
            return False
    read_notable(head, notable, [])
    return True


class _Statuses(dict[bytes, tuple[str, int]]):
    """Version and code by status line."""

    def __missing__(self, line: bytes) -> tuple[str, int]:
        text = line.decode("latin-1")
        found = _STATUS.fullmatch(text)
        if found is None or not text.isprintable():
            raise _OddError
        status = VERSIONS[found[1]], int(found[2])
        if len(line) <= _MAX_KNOWN_BYTES:
            if len(self) >= _MAX_KNOWN:
                self.clear()
            self[line] = status
        return status


class _Fields(dict[bytes, tuple[str, str]]):
    """Name and value by header line; the notable ones are set apart, no fleeting one is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.notable: list[tuple[str, str]] = []
        self.names: dict[str, str] = {}

    def __missing__(self, line: bytes) -> tuple[str, str]:
        text = line.decode("latin-1")
        written, colon, value = text.partition(":")
        if not colon or not text.isprintable():
            raise _OddError
        name = self.names.get(written) or self._learn(written)
        field = name, value.strip(" ")
        if name in _FLEETING:
            if name in NOTABLE:
                self.notable.append(field)
        elif len(line) <= _MAX_KNOWN_BYTES:
            if len(self) >= _MAX_KNOWN:
                self.clear()
            self[line] = field
        return field

    def _learn(self, written: str) -> str:
        if _NAME.fullmatch(written) is None:
            raise _OddError
        name = written.lower()
        if len(written) <= _MAX_KNOWN_BYTES:
            if len(self.names) >= _MAX_KNOWN:
                self.names.clear()
            self.names[written] = name
        return name
