"""The link between URL Server and Spider: one message a line, in ASCII (S0.15-S0.18, S1.28-S1.32).

Both dialects of the source documents are understood, one is written: orders with five fields,
status messages with the keyword first. A line that is not understood costs its sender nothing but
patience: ten in a row, and the link is closed.
"""

from ipaddress import ip_address
from typing import Final

import msgspec

from gossamer.errors import WireError

MAX_LINE_BYTES: Final = 70_000
MAX_URL_BYTES: Final = 65_535
MAX_HOST_BYTES: Final = 1_024
MAX_CREDIT: Final = 2**31 - 1
MAX_DOC_ID: Final = 2**32 - 1
MAX_TRANS_ID: Final = 2**64 - 1
MAX_BAD_LINES: Final = 10

_PRINTABLE: Final = bytes(range(0x21, 0x7F))


class Order(msgspec.Struct, frozen=True, gc=False):
    """URL Server to Spider: fetch this URL from this address."""

    trans_id: int
    doc_id: int
    address: str
    """IPv4 dotted, or IPv6 without brackets."""
    host: str
    """The host name as the order gives it; in the form with four fields, that of the URL."""
    url: str


class Credit(msgspec.Struct, frozen=True, gc=False):
    """Spider to URL Server, `GET n`: ready for this many orders more."""

    count: int


class Working(msgspec.Struct, frozen=True, gc=False):
    """Spider to URL Server: the transaction is still open."""

    trans_id: int


class Finished(msgspec.Struct, frozen=True, gc=False):
    """Spider to URL Server, `DONE`: the transaction is over, whatever came of it."""

    trans_id: int


Status = Credit | Working | Finished


def order_line(order: Order) -> bytes:
    """Write an order, with five fields; raises WireError for one that no line can carry."""
    text = f"{order.trans_id} {order.doc_id} {order.address} {order.host} {order.url}"
    try:
        line = text.encode("ascii")
    except UnicodeEncodeError as error:
        raise WireError(f"an order must be ASCII: {_shown(text.encode())}") from error
    parse_order(line)
    return line + b"\n"


def credit_line(count: int) -> bytes:
    """Write `GET n`."""
    _check_range(count, 1, MAX_CREDIT, "URL_COUNT")
    return b"GET %d\n" % count


def working_line(trans_id: int) -> bytes:
    """Write `WORKING trans`."""
    _check_range(trans_id, 0, MAX_TRANS_ID, "TRANS_ID")
    return b"WORKING %d\n" % trans_id


def done_line(trans_id: int) -> bytes:
    """Write `DONE trans`."""
    _check_range(trans_id, 0, MAX_TRANS_ID, "TRANS_ID")
    return b"DONE %d\n" % trans_id


def parse_order(line: bytes) -> Order:
    """Read `trans doc ip host url` or `trans doc ip url`."""
    fields = line.split(b" ")
    if len(fields) == 5:
        host = fields[3]
        if b"://" in host:
            raise WireError(f"an order with a URL in place of HOST_NAME: {_shown(line)}")
    elif len(fields) == 4:
        host = _host_in(fields[3], line)
    else:
        raise WireError(f"an order has 4 or 5 fields, this has {len(fields)}: {_shown(line)}")
    if not host or len(host) > MAX_HOST_BYTES or not _is_printable(host):
        raise WireError(f"HOST_NAME cannot be used: {_shown(line)}")
    return Order(
        trans_id=_number(fields[0], 0, MAX_TRANS_ID, "TRANS_ID"),
        doc_id=_number(fields[1], 0, MAX_DOC_ID, "DOC_ID"),
        address=_address(fields[2]),
        host=host.decode("ascii"),
        url=_url(fields[-1], line),
    )


def parse_status(line: bytes) -> Status:
    """Read `GET n`, `WORKING trans`, `DONE trans`, `trans WORKING` or `trans DONE`."""
    first, space, second = line.partition(b" ")
    if space:
        if first == b"GET":
            return Credit(_number(second, 1, MAX_CREDIT, "URL_COUNT"))
        if first in _STATUSES:
            return _STATUSES[first](_number(second, 0, MAX_TRANS_ID, "TRANS_ID"))
        if second in _STATUSES:
            return _STATUSES[second](_number(first, 0, MAX_TRANS_ID, "TRANS_ID"))
    raise WireError(f"neither GET, WORKING nor DONE: {_shown(line)}")


_STATUSES: Final[dict[bytes, type[Working | Finished]]] = {b"WORKING": Working, b"DONE": Finished}


class LineReader:
    """Cuts what arrives on one link into lines; keeps at most one of them."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max = max_bytes
        self._held = bytearray()
        self._skipped = 0
        """How much of the line is gone by, if it is over-long; else 0."""

    @property
    def waiting_bytes(self) -> int:
        """How much of an unfinished line is kept."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes | None]:
        """Return the lines that are complete now, without LF or CR LF, and None for each over-long.

        An over-long line is told as soon as it is known to be one, and once more for each further
        `max_bytes` of it: a peer that never ends a line uses up our patience, too.
        """
        lines: list[bytes | None] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._add(piece, lines)
            if not self._skipped:
                line = bytes(self._held)
                lines.append(line[:-1] if line.endswith(b"\r") else line)
            self._held.clear()
            self._skipped = 0
        self._add(rest, lines)
        return lines

    def _add(self, piece: bytes, lines: list[bytes | None]) -> None:
        before = self._skipped
        length = len(piece) + (before or len(self._held))
        if not before and length <= self._max:
            self._held += piece
            return
        self._held.clear()
        self._skipped = length
        # How many times the limit was exceeded so far: (length - 1) // max.
        told = (before - 1) // self._max if before else 0
        lines.extend([None] * ((length - 1) // self._max - told))


class Patience:
    """How much nonsense in a row a link may bring."""

    def __init__(self, limit: int = MAX_BAD_LINES) -> None:
        self._limit = limit
        self._bad = 0

    def bad(self) -> bool:
        """Count a bad line; whether it is one too many, so that the link must be closed."""
        self._bad += 1
        return self._bad >= self._limit

    def good(self) -> None:
        """A good line: all is forgiven."""
        self._bad = 0


def _number(field: bytes, least: int, most: int, name: str) -> int:
    # isdigit of bytes knows ASCII digits only; the length is checked before int() may be slow.
    if not field.isdigit() or len(field) > 20:
        raise WireError(f"{name} is not a decimal number: {_shown(field)}")
    number = int(field)
    _check_range(number, least, most, name)
    return number


def _check_range(number: int, least: int, most: int, name: str) -> None:
    if not least <= number <= most:
        raise WireError(f"{name} {number} is out of range; allowed are {least} to {most}")


def _address(field: bytes) -> str:
    try:
        text = field.decode("ascii")
        ip_address(text)
    except ValueError as error:
        raise WireError(f"HOST_IP is not an address: {_shown(field)}") from error
    if "%" in text:
        raise WireError(f"HOST_IP has a zone, which means nothing elsewhere: {_shown(field)}")
    return text


def _url(field: bytes, line: bytes) -> str:
    scheme, mark, rest = field.partition(b"://")
    if not (mark and scheme and rest and _is_printable(field)):
        raise WireError(f"not a URL without spaces, controls and non-ASCII: {_shown(line)}")
    if len(field) > MAX_URL_BYTES:
        raise WireError(f"a URL of {len(field)} bytes; allowed are {MAX_URL_BYTES}")
    return field.decode("ascii")


def _host_in(url: bytes, line: bytes) -> bytes:
    """Take the host name out of the URL's authority; an IPv6 address loses its brackets."""
    _, mark, rest = url.partition(b"://")
    if not mark:
        raise WireError(f"an order with 4 fields ends with a URL: {_shown(line)}")
    for end in b"/?#":
        rest = rest.partition(bytes((end,)))[0]
    site = rest.rpartition(b"@")[2]
    if site.startswith(b"["):
        return site[1:].partition(b"]")[0].lower()
    return site.partition(b":")[0].lower()


def _is_printable(field: bytes) -> bool:
    """Whether it is ASCII without space and control characters."""
    return not field.translate(None, _PRINTABLE)


def _shown(line: bytes) -> str:
    """Show a piece of a line in a message, short and without anything that steers a terminal."""
    return ascii(line[:100].decode("latin-1")) + ("..." if len(line) > 100 else "")
