"""The head of a response: what the server said, and what is wrong with it.

libcurl hands over one line at a time, those of interim (1xx) responses and trailers too; here
they become one `Head`. libcurl refuses much that is wrong by itself; this module finds what it
lets pass.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gossamer.config.spider import SpiderSettings
from gossamer.outcomes import Outcome

MAX_INTERIM_RESPONSES: Final = 16
MAX_COOKIES: Final = 50
_BLANK: Final = frozenset((b"\r\n", b"\n"))
VERSIONS: Final = {
    "HTTP/1.1": "1.1",
    "HTTP/1.0": "1.0",
    "HTTP/2": "2",
    "HTTP/3": "3",
}
NOTABLE: Final = frozenset(
    (
        "content-encoding",
        "content-length",
        "location",
        "retry-after",
        "set-cookie",
        "transfer-encoding",
    )
)


class Head(Struct, gc=False):
    """One response head, understood."""

    raw: bytes = b""
    status: int = 0
    version: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    complete: bool = False
    """Whether the empty line at its end has arrived."""
    content_length: int | None = None
    is_usual: bool = False
    """200 and a length: nothing in it calls for a closer look."""
    # plain_head.c fills in the fields up to here, in this order.
    fault: Outcome | None = None
    """What makes the response unusable."""
    detail: str = ""
    flags: tuple[str, ...] = ()
    chunked: bool = False
    ambiguous: bool = False
    """Usable, but the connection it came on is not to be used again."""
    codings: tuple[str, ...] = ()
    """Content codings in the order in which they were applied."""
    locations: tuple[str, ...] = ()
    retry_after: str | None = None


def read_head(lines: Sequence[bytes], settings: SpiderSettings) -> Head:
    """Read the lines that have arrived so far; the last head counts, trailers do not."""
    start, end, interim = _final_block(lines)
    block = lines[start:end]
    head = Head(raw=b"".join(block), complete=end < len(lines))
    if interim > MAX_INTERIM_RESPONSES:
        head.fault = Outcome.PROTO_INTERIM
        head.detail = f"{interim} interim responses, at most {MAX_INTERIM_RESPONSES} are waited for"
    if not block:
        return head
    if head.complete:
        head.raw += lines[end]
    _check_size(head, block, settings)
    if head.fault is None:
        _read_status(head, block[0])
        _read_fields(head)
    return head


def _final_block(lines: Sequence[bytes]) -> tuple[int, int, int]:
    """Return where the final head starts and ends, and how many interim ones came before it."""
    start = interim = 0
    for position, line in enumerate(lines):
        if line in _BLANK:
            if position > start and _is_interim(lines[start]):
                start = position + 1
                interim += 1
            else:
                return start, position, interim
    return start, len(lines), interim


def _is_interim(status_line: bytes) -> bool:
    """Whether a final response has yet to follow; 101 is one, and 1000 is no status at all."""
    code = status_line[9:13].rstrip()
    return len(code) == 3 and code[:1] == b"1" and code != b"101"


def _check_size(head: Head, block: Sequence[bytes], settings: SpiderSettings) -> None:
    size = len(head.raw)
    if size > settings.max_header_bytes:
        _fail(
            head,
            Outcome.PROTO_HEADER_LIMIT,
            f"header of more than {settings.max_header_bytes} bytes",
        )
    elif size > settings.max_header_line_bytes and (
        max(map(len, block)) > settings.max_header_line_bytes
    ):
        limit = settings.max_header_line_bytes
        _fail(head, Outcome.PROTO_HEADER_LIMIT, f"header line of more than {limit} bytes")
    elif len(block) > settings.max_header_count:
        cookies = sum(line[:11].lower() == b"set-cookie:" for line in block)
        if len(block) - 1 - cookies > settings.max_header_count:
            limit = settings.max_header_count
            _fail(head, Outcome.PROTO_HEADER_LIMIT, f"more than {limit} header lines")


def _read_status(head: Head, line: bytes) -> None:
    version, _, rest = line.decode("latin-1").partition(" ")
    code = rest[:3]
    if code.isascii() and code.isdigit() and len(code) == 3 and not rest[3:4].isdigit():
        head.status = int(code)
    if version not in VERSIONS:
        _fail(head, Outcome.PROTO_VERSION, f"answered with version {version[:20]!r}")
    elif head.status < 100:
        _fail(head, Outcome.PROTO_STATUS, f"no status code in {line[:40]!r}")
    else:
        head.version = VERSIONS[version]
        if head.status == 101:
            _fail(head, Outcome.PROTO_UPGRADE, "switches to a protocol that was not asked for")


def _read_fields(head: Head) -> None:
    text = head.raw.decode("latin-1")
    fields: list[tuple[str, str]] = []
    notable: dict[str, list[str]] = {}
    flags: list[str] = []
    lines = text.split("\r\n")
    line_ends = len(lines) - 1
    if text.count("\r") != line_ends:
        _fail(head, Outcome.PROTO_HEADER, "carriage return inside a header line")
    if text.count("\n") != line_ends:
        flags.append("bare_lf")
        lines = text.replace("\r\n", "\n").split("\n")
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or " " in name or "\t" in name:
            if line:
                _note_odd_line(head, name, bool(colon), flags)
            continue
        value = value.strip(" \t")
        if name in NOTABLE:
            found = notable.setdefault(name, [])
            if name == "set-cookie" and len(found) >= MAX_COOKIES:
                flags.append("cookies_dropped")
                continue
            found.append(value)
        fields.append((name, value))
    head.headers = tuple(fields)
    if "\0" in text:
        _fail(head, Outcome.PROTO_HEADER, "NUL byte in a header line")
    if notable:
        read_notable(head, notable, flags)
    if flags:
        head.flags = tuple(dict.fromkeys(flags))


def _note_odd_line(head: Head, name: str, has_colon: bool, flags: list[str]) -> None:
    """A line that is no header is dropped, unless another reader could see framing in it."""
    if has_colon and name.strip() in ("content-length", "transfer-encoding"):
        _fail(head, Outcome.PROTO_HEADER, f"white space in the name of {name.strip()}")
    flags.append("header_dropped")


def read_notable(head: Head, notable: dict[str, list[str]], flags: list[str]) -> None:
    """Read the fields that tell how the response is framed, coded and meant."""
    lengths = notable.get("content-length")
    if lengths is not None:
        _read_length(head, lengths)
    transfer = notable.get("transfer-encoding")
    if transfer is not None and head.version.startswith("1"):
        _read_transfer_coding(head, transfer, flags)
    codings = notable.get("content-encoding")
    if codings is not None:
        head.codings = tuple(
            coding
            for value in codings
            for part in value.split(",")
            if (coding := part.strip().lower()) and coding != "identity"
        )
    head.locations = tuple(notable.get("location", ()))
    retry_after = notable.get("retry-after")
    if retry_after:
        head.retry_after = retry_after[0]


def _read_length(head: Head, values: list[str]) -> None:
    """Equal lengths merge; all else about lengths is a way to smuggle (RFC 9112, 6.3)."""
    if len(values) == 1 and values[0].isascii() and values[0].isdigit():
        head.content_length = int(values[0][:40])
        return
    parts = [part.strip() for value in values for part in value.split(",")]
    if any(not (part.isascii() and part.isdigit()) for part in parts):
        _fail(head, Outcome.PROTO_FRAMING, f"Content-Length {values[0][:40]!r} is not a number")
    elif len({int(part[:40]) for part in parts}) > 1:
        _fail(head, Outcome.PROTO_FRAMING, "two different lengths")
    else:
        head.content_length = int(parts[0][:40])


def _read_transfer_coding(head: Head, values: list[str], flags: list[str]) -> None:
    parts = [part.strip().lower() for value in values for part in value.split(",") if part.strip()]
    if parts == ["identity"]:
        flags.append("transfer_identity")
        return
    head.chunked = "chunked" in parts
    if parts != ["chunked"]:
        fault = Outcome.PROTO_FRAMING
        if parts[-1:] == ["chunked"] and parts.count("chunked") == 1:
            fault = coding_fault(parts[0])
        _fail(head, fault, f"transfer coding {', '.join(parts)[:80]!r}")
    if head.content_length is not None:
        flags.append("length_and_chunked")
        head.content_length = None
        head.ambiguous = True
    if head.version == "1.0":
        flags.append("chunked_http_1_0")
        head.ambiguous = True


def coding_fault(coding: str) -> Outcome:
    """Return the class of a transfer coding nobody asked for: a real one, or nonsense."""
    known = ("gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd")
    return Outcome.BODY_ENCODING if coding in known else Outcome.PROTO_FRAMING


def _fail(head: Head, fault: Outcome, detail: str) -> None:
    if head.fault is None:
        head.fault = fault
        head.detail = detail
