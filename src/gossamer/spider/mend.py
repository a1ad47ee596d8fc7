"""Heads that libcurl would refuse, though every browser shows the page behind them.

Pure: the bytes at the start of a response come in, and out goes what to do: wait for more of them,
let them pass, or hand libcurl other bytes instead. Only what is harmless is mended: a minor version
above 1 (RFC 9110, 2.5: it changes nothing), lines without a colon, and cookies by the thousand.
"""

import re
from typing import Final

from msgspec import Struct

# Nearly all heads: final, of a version that libcurl knows, and a colon in each line.
_USUAL: Final = re.compile(
    rb"HTTP/1\.[01] [02-9]\d\d(?!\d)[^\n]*+\n(?:[^:\r\n]*+:[^\n]*+\n)*+\r?\n"
)
_STATUS: Final = re.compile(rb"HTTP/1\.(\d) (\d\d\d)(?!\d)")
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_NO_COLON: Final = re.compile(rb"\n[^:\r\n \t][^:\r\n]*\r?(?=\n)")
# libcurl takes 5,000 lines; so many do not fit into fewer bytes than this.
_MANY_LINES: Final = 4_000
_MANY_LINES_BYTES: Final = _MANY_LINES * 4
_MAX_COOKIES: Final = 1_000


class Passed(Struct, frozen=True, gc=False):
    """The head is fit for libcurl, or beyond mending."""

    chunked: bool = False


class Mended(Struct, frozen=True, gc=False):
    """The head, and what libcurl gets to see instead."""

    original: bytes
    """The bytes to be taken from the connection: interim responses and the head."""
    head: bytes
    """The final head as the server sent it."""
    replacement: bytes
    flags: tuple[str, ...]


def inspect(data: bytes) -> Passed | Mended | None:
    """Look at the start of a response; None when more of it is needed."""
    usual = _USUAL.match(data)
    if usual is not None and usual.end() <= _MANY_LINES_BYTES:
        return Passed(chunked=data.find(b"hunked", 0, usual.end()) >= 0)
    start = 0
    while True:
        status = _STATUS.match(data, start)
        if status is None:
            return None if _may_become_status(data[start : start + 13]) else Passed()
        end = _HEAD_END.search(data, status.end())
        if end is None:
            return None
        if status[2][:1] != b"1" or status[2] == b"101":
            break
        start = end.end()
    stop = end.end()
    many = stop - start > _MANY_LINES_BYTES and data.count(b"\n", start, stop) > _MANY_LINES
    if status[1] > b"1" or many or _NO_COLON.search(data, start, stop) is not None:
        return _mend(data, start, stop)
    return Passed(chunked=data.find(b"hunked", start, stop) >= 0)


def is_head_end_after(data: bytes, looked_at: int) -> bool:
    """Whether an empty line ends in what was not looked at before."""
    return _HEAD_END.search(data, max(looked_at - 2, 0)) is not None


def _may_become_status(data: bytes) -> bool:
    """Whether the first bytes of a status line could still follow."""
    digits = data[9:12]
    return (
        len(data) < 12
        and b"HTTP/1.".startswith(data[:7])
        and (len(data) < 8 or data[7:8].isdigit())
        and data[8:9] in (b"", b" ")
        and (not digits or digits.isdigit())
    )


def _mend(data: bytes, start: int, stop: int) -> Mended:
    head = data[start:stop]
    first, *lines = head.split(b"\n")
    flags: dict[str, None] = {}
    if first[7:8] > b"1":
        first = b"HTTP/1.1" + first[8:]
        flags["version_unusual"] = None
    kept = [first]
    cookies = 0
    was_dropped = False
    for line in lines:
        is_folded = line[:1] in (b" ", b"\t")
        if is_folded and was_dropped:
            continue
        was_dropped = not is_folded and b":" not in line and line not in (b"", b"\r")
        if was_dropped:
            flags["header_dropped"] = None
        elif line[:11].lower() == b"set-cookie:":
            cookies += 1
            was_dropped = cookies > _MAX_COOKIES
        if was_dropped:
            continue
        kept.append(line)
    return Mended(data[:stop], head, data[:start] + b"\n".join(kept), tuple(flags))
