"""What is said on a link, for people who look at it: one readable line for each message."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from gossamer.errors import WireError
from gossamer.outcomes import name_of
from gossamer.wire.enumerations import Specific, status_of
from gossamer.wire.exchange import read_full
from gossamer.wire.lines import (
    Credit,
    Finished,
    LineReader,
    Order,
    Working,
    parse_order,
    parse_status,
)
from gossamer.wire.results import FULL, Result, ResultReader

MAX_DOCUMENT_BYTES: Final = 64 << 20
_AUTH: Final = b"AUTH "
_ENOUGH: Final = len(_AUTH)
"""How many bytes it takes to tell lines from results: the fifth of a result is 0 or 1."""
_OTHER_WORDS: Final = ("AUTH", "OK", "STORE", "SAVED")


class Kind(StrEnum):
    """What a stream holds."""

    AUTO = "auto"
    LINES = "lines"
    RESULTS = "results"


class Said(Struct, frozen=True):
    """One message: a word for what it is, a line for people, and its parts."""

    what: str
    """order, GET, WORKING, DONE, AUTH, OK, STORE, SAVED, result, or bad."""
    text: str
    """May hold anything that came over the link: make it visible before it is printed."""
    parts: dict[str, object] = {}


class StreamReader:
    """One direction of a link, as messages.

    With AUTO the first bytes decide, and after a line of the handshake the next ones do: where a
    secret is used, the binary results of a Spider come after its AUTH.
    """

    def __init__(self, kind: Kind = Kind.AUTO) -> None:
        self._kind = kind
        self._undecided = b""
        self._lines: LineReader | None = LineReader() if kind is Kind.LINES else None
        self._results: ResultReader | None = None
        self.is_lost = False
        """Results made no sense: nothing after that can be read."""

    def feed(self, data: bytes) -> list[Said]:
        """Return the messages that are complete now; never raises."""
        if self.is_lost:
            return []
        if self._lines is not None:
            return [said_on(line) for line in self._lines.feed(data)]
        if self._results is not None:
            return self._read_results(data)
        return self._decide(self._undecided + data)

    def end(self) -> Said | None:
        """Return what is to be said about a message that was not finished; None without one."""
        waiting, what = len(self._undecided), "message"
        if self._lines is not None:
            waiting, what = self._lines.waiting_bytes, "line"
        elif self._results is not None and not self.is_lost:
            waiting, what = self._results.waiting_bytes, "result"
        if not waiting:
            return None
        text = f"ends within a {what}, of which {waiting} bytes are here"
        return Said("bad", text, {"line": text})

    def _decide(self, data: bytes) -> list[Said]:
        self._undecided = b""
        if data.startswith(_AUTH):
            line, end, rest = data.partition(b"\n")
            if end or len(data) > 1_000:
                return [said_on(line), *self.feed(rest)]
        elif len(data) >= _ENOUGH:
            if self._kind is Kind.RESULTS or data[4:5] in (b"\0", b"\1"):
                self._results = ResultReader(MAX_DOCUMENT_BYTES)
            else:
                self._lines = LineReader()
            return self.feed(data)
        self._undecided = data
        return []

    def _read_results(self, data: bytes) -> list[Said]:
        assert self._results is not None
        said: list[Said] = []
        try:
            said.extend(said_of(result) for result in self._results.feed(data))
            # What is complete comes out first, so nonsense behind it shows at a second call.
            self._results.feed(b"")
        except WireError as error:
            self.is_lost = True
            said.append(_bad(f"{error}; nothing after it can be read"))
        return said


def said_on(line: bytes | None) -> Said:
    """Return what one line says."""
    if line is None:
        return _bad("a line that is too long")
    text = line.decode("latin-1")
    word = text.partition(" ")[0]
    if word in _OTHER_WORDS:
        return Said(word, text, {"line": text})
    for parse in (parse_status, parse_order):
        try:
            return _said_by(parse(line), text)
        except WireError:
            continue
    return _bad(text)


def said_of(result: Result) -> Said:
    """Return what a result says, in one line."""
    status, code = status_of(result.http), _name_of(result.specific)
    parts: dict[str, object] = {
        "doc_id": result.doc_id,
        "success": result.success,
        "specific": result.specific,
        "specific_name": code,
        "http": result.http,
        "status": status,
        "form": result.form,
        "milliseconds": result.milliseconds,
        "url": result.url.decode("ascii"),
        "new_url": result.new_url.decode("latin-1"),
        "document_bytes": len(result.document),
    }
    arrow = f" -> {parts['new_url']}" if result.new_url else ""
    size = f"{'more than ' if result.cut else ''}{len(result.document)} bytes"
    end = ""
    full = read_full(result) if result.form == FULL else None
    if full is not None:
        parts |= {
            "outcome": name_of(full.outcome),
            "detail": full.detail,
            "address": full.address,
            "raw_bytes": len(full.raw),
            "body_bytes": len(full.raw if full.body is None else full.body),
        }
        size = f"{parts['body_bytes']} bytes"
        end = f", {parts['outcome']} from {full.address or 'nowhere'}"
    text = (
        f"RESULT {result.doc_id} {'success' if result.success else 'failure'} "
        f"{status or '-'} {code} {parts['url']}{arrow} ({result.milliseconds} ms, {size}{end})"
    )
    return Said("result", text, parts)


def _said_by(message: Order | Credit | Working | Finished, text: str) -> Said:
    match message:
        case Order(trans_id, doc_id, address, host, url):
            return Said(
                "order",
                text,
                {
                    "trans_id": trans_id,
                    "doc_id": doc_id,
                    "address": address,
                    "host": host,
                    "url": url,
                },
            )
        case Credit(count):
            return Said("GET", text, {"count": count})
        case Working(trans_id):
            return Said("WORKING", text, {"trans_id": trans_id})
        case Finished(trans_id):
            return Said("DONE", text, {"trans_id": trans_id})


def _bad(text: str) -> Said:
    return Said("bad", f"not understood: {text}", {"line": text})


def _name_of(specific: int) -> str:
    return Specific(specific).name.lower() if specific in set(Specific) else f"code-{specific}"
