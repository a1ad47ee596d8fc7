"""One response while it comes in: header lines and body pieces, within limits."""

from typing import Final

from gossamer.config.spider import SpiderSettings
from gossamer.outcomes import Outcome
from gossamer.spider.decode import Decoded, Decoder
from gossamer.spider.head import Head, read_head

# Enough of an error page to see what it says; nobody needs more of a redirect.
MAX_EXTRA_BYTES: Final = 65_536
# A length that no document has: nothing of it is read.
ABSURD_LENGTH: Final = 1 << 40
_MAX_PIECES: Final = 4_096
_MAX_TINY_CHUNKS: Final = 65_536
_TINY_CHUNK_BYTES: Final = 16
_UNOPENED: Final = -1
_ABORT: Final = -1


class Reception:
    """Takes what libcurl hands over: `take` is its write callback, `lines.append` the header's.

    A head that was read before libcurl saw it comes by `know`; its lines are not listened to.
    """

    __slots__ = (
        "_decoder",
        "_limit",
        "_pieces",
        "_settings",
        "_usual_limit",
        "count",
        "is_cut",
        "lines",
        "received",
        "stopped",
        "stopped_detail",
        "whole_head",
    )

    def __init__(self, settings: SpiderSettings) -> None:
        self.use(settings)
        # libcurl itself allows 300 KB and 5,000 lines, so what gathers here is bounded.
        self.lines: list[bytes] = []
        self._pieces: list[bytes] = []
        self.whole_head: Head | None = None
        self._decoder: Decoder | None = None
        self.stopped: Outcome | None = None
        """Why we end the transfer ourselves."""
        self.clear()

    def use(self, settings: SpiderSettings) -> None:
        """Keep to these limits from the next response on."""
        self._settings = settings
        # Of a body without coding all that is wanted on the wire is wanted decoded.
        self._usual_limit = min(settings.max_wire_bytes, settings.max_doc_bytes)

    def clear(self) -> None:
        """Get ready for the next response."""
        if self.lines:
            self.lines.clear()
        self._pieces.clear()
        self.whole_head = None
        self._decoder = None
        self._limit = _UNOPENED
        self.count = 0
        self.received = 0
        self.is_cut = False
        self.stopped = None
        self.stopped_detail = ""

    def stop(self, outcome: Outcome, detail: str) -> None:
        """Note why we end the transfer; the first reason counts."""
        if self.stopped is None:
            self.stopped = outcome
            self.stopped_detail = detail

    def know(self, head: Head) -> None:
        """Take a head that is complete already."""
        self.whole_head = head
        if head.is_usual and (head.content_length or 0) <= self._usual_limit:
            self._limit = self._usual_limit

    def know_part(self, size: int) -> None:
        """Go back to the first lines of a head: libcurl has read no more of it."""
        if self.whole_head is not None:
            self.lines[:] = self.whole_head.raw[:size].splitlines(keepends=True)
            self.whole_head = None
            self._limit = _UNOPENED

    def take(self, data: bytes) -> int | None:
        """Take a piece of the body; a number means that no more is wanted."""
        received = self.received + len(data)
        if received <= self._limit and self._decoder is None and self.count < _MAX_PIECES:
            self.received = received
            self.count += 1
            self._pieces.append(data)
            return None
        return self._take_closely(data)

    def _take_closely(self, data: bytes) -> int | None:
        """Take a piece that is the first, or coded, or one of many, or too much."""
        if self._limit < 0 and not self.open_body():
            return _ABORT
        self.received += len(data)
        self.count += 1
        if self.received > self._limit:
            data = data[: len(data) - (self.received - self._limit)]
            self.received = self._limit
            self._pieces.append(data)
            if self._decoder is not None:
                self._decoder.feed(data)
            return self._cut(f"more than {self._limit} bytes")
        self._pieces.append(data)
        if len(self._pieces) > _MAX_PIECES:
            self._pieces[:] = [b"".join(self._pieces)]
        if self.count > _MAX_TINY_CHUNKS and self._is_crumbling():
            return self._cut(f"more than {_MAX_TINY_CHUNKS} chunks of a few bytes")
        if self._decoder is not None and not self._decoder.feed(data):
            return self._cut("")
        return None

    def open_body(self) -> bool:
        """Judge the head before the first byte of the body; False when the body is not wanted."""
        head = self.head()
        fault, detail = head.fault, head.detail
        length = head.content_length
        if fault is None and length is not None and length >= ABSURD_LENGTH:
            fault, detail = Outcome.BODY_TOO_LARGE, f"Content-Length {length}"
        if fault is not None:
            self.stop(fault, detail)
            return False
        self._set_limits(head)
        return True

    def is_unjudged(self) -> bool:
        """Whether the head is there, but nobody has looked at it, because no body came."""
        return self._limit < 0 and self.head().complete

    def head(self) -> Head:
        """Return the head as far as it has arrived."""
        if self.whole_head is None:
            head = read_head(self.lines, self._settings)
            if not head.complete:
                return head
            self.whole_head = head
        return self.whole_head

    def raw(self) -> bytes:
        """Return the body as received."""
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def decoded(self, raw: bytes) -> Decoded | None:
        """Return the body decoded; None when it has no coding or there is none."""
        return self._decoder.finish(raw) if self._decoder is not None else None

    def _set_limits(self, head: Head) -> None:
        if head.status >= 300:
            self._limit = max_decoded = MAX_EXTRA_BYTES
        else:
            self._limit = self._settings.max_wire_bytes
            max_decoded = self._settings.max_doc_bytes
        if head.codings:
            self._decoder = Decoder(head.codings, max_decoded, self._settings.max_ratio)
        else:
            self._limit = min(self._limit, max_decoded)

    def _is_crumbling(self) -> bool:
        """Whether it comes in so many tiny chunks that taking them is work for nothing."""
        return self.head().chunked and self.received < self.count * _TINY_CHUNK_BYTES

    def _cut(self, detail: str) -> int:
        self.is_cut = True
        # A fault of the coding is the decoder's to tell; of an error page a part is enough.
        if detail and self.head().status < 300:
            is_bomb = self._decoder is not None and self._decoder.fault is Outcome.BODY_BOMB
            self.stop(Outcome.BODY_BOMB if is_bomb else Outcome.BODY_TOO_LARGE, detail)
        return _ABORT
