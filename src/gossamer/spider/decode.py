"""Content codings undone while the bytes arrive, within limits.

The archive keeps the bytes as they came, so libcurl decodes nothing; this is the only decoder. At
any moment it holds no more output than the cap, plus one step (`_STEP_BYTES`, `_ZSTD_SLICE`) of
the coding.

Each library is loaded when its coding is met first: all of them take 2 ms of each start, and a
server uses one of them or none.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol, cast

from msgspec import Struct

from gossamer.outcomes import Outcome

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
MAX_CODINGS: Final = 3
MAX_WINDOW_BYTES: Final = 8 << 20
RATIO_FLOOR_BYTES: Final = 1 << 20
_STEP_BYTES: Final = 1 << 18
# The ratio is measured against what was taken, so little is taken at a time.
_SLICE_BYTES: Final = 1 << 13
# One zstd block of 4 bytes can stand for 128 KiB, and the library decodes all of its input at once.
_ZSTD_SLICE: Final = 512
_MAX_PADDED_BYTES: Final = 1 << 18
_MIN_SNIFFED_BYTES: Final = 16
_GZIP_MAGIC: Final = b"\x1f\x8b"
_TEXT: Final = bytes((9, 10, 12, 13, *range(32, 127), *range(128, 256)))


class Decoded(Struct, gc=False):
    """What became of a coded body."""

    body: bytes
    fault: Outcome | None = None
    detail: str = ""
    flags: tuple[str, ...] = ()


class _CodingError(Exception):
    """The bytes are not what the coding's name says."""


class _Stage(Protocol):
    """One coding of the chain."""

    trailing: bool

    def push(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data decode to, in pieces of a bounded size."""
        ...

    def is_complete(self) -> bool:
        """Whether all of it has come."""
        ...


class Decoder:
    """Undoes the content codings of one body under an output cap and a ratio alarm."""

    def __init__(self, codings: tuple[str, ...], max_bytes: int, max_ratio: int) -> None:
        self._codings = codings
        self._max_bytes = max_bytes
        self._max_ratio = max_ratio
        self.fault: Outcome | None = None
        """What is wrong with it so far."""
        self._detail = ""
        self._taken = 0
        self._made = 0
        self._pieces: list[bytes] = []
        self._stages: list[_Stage] = []
        if len(codings) > MAX_CODINGS:
            self._fail(Outcome.BODY_ENCODING, f"{len(codings)} codings, at most {MAX_CODINGS}")
            return
        # The last coding applied is the first to be undone.
        for coding in reversed(codings):
            stage = _STAGES.get(coding)
            if stage is None:
                self._fail(Outcome.BODY_ENCODING, f"unknown content coding {coding[:40]!r}")
                return
            self._stages.append(stage())

    def feed(self, data: bytes) -> bool:
        """Take bytes as they arrive; False when there is no use in more of them."""
        if len(data) <= _SLICE_BYTES:
            return self._feed_slice(data)
        return all(
            self._feed_slice(data[start : start + _SLICE_BYTES])
            for start in range(0, len(data), _SLICE_BYTES)
        )

    def _feed_slice(self, data: bytes) -> bool:
        self._taken += len(data)
        if self.fault is not None:
            return self.fault in (Outcome.BODY_DECODE, Outcome.BODY_ENCODING)
        try:
            for piece in self._run(0, data):
                self._pieces.append(piece)
                self._made += len(piece)
                if not self._is_within_limits():
                    return False
        except _CodingError as error:
            self._fail(Outcome.BODY_DECODE, str(error))
        return True

    def finish(self, raw: bytes) -> Decoded:
        """Return the body and what is wrong with it; `raw` is all that was fed."""
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        if self.fault is None and self._taken:
            if all(stage.is_complete() for stage in self._stages):
                trailing = any(stage.trailing for stage in self._stages)
                return Decoded(body, flags=("trailing_bytes",) if trailing else ())
            self._fail(Outcome.BODY_SHORT, "compressed body ends early")
        if self.fault in (Outcome.BODY_DECODE, Outcome.BODY_SHORT):
            return self._salvage(raw, body[: self._max_bytes])
        return Decoded(body[: self._max_bytes], self.fault, self._detail)

    def _salvage(self, raw: bytes, body: bytes) -> Decoded:
        """Save what can be saved of a body that is damaged or whose coding has the wrong name.

        Some decoders take a wrong coding for the start of a right one, so a body that seems to end
        early is looked at, too.
        """
        if self._codings == ("br",) and self.fault is Outcome.BODY_DECODE:
            whole = _brotli_before_padding(raw, self._max_bytes)
            if whole is not None:
                return Decoded(whole, flags=("trailing_bytes",))
        wrong_name = f"the body is not {', '.join(self._codings)}"
        if len(raw) >= _MIN_SNIFFED_BYTES and not raw[:1024].translate(None, _TEXT):
            return Decoded(raw, Outcome.BODY_DECODE, wrong_name, ("identity_sniffed",))
        is_gzip = self._codings in (("gzip",), ("x-gzip",))
        if raw[:2] == _GZIP_MAGIC and not is_gzip:
            other = Decoder(("gzip",), self._max_bytes, self._max_ratio)
            other.feed(raw)
            decoded = other.finish(raw)
            if decoded.fault is None:
                return Decoded(decoded.body, Outcome.BODY_DECODE, wrong_name, ("coding_sniffed",))
        if is_gzip and self.fault is Outcome.BODY_DECODE:
            # The step that failed may have swallowed what it had made: more or less of it,
            # depending on how the body was cut into packets.
            body = max(body, _inflate_damaged(raw, self._max_bytes), key=len)
        return Decoded(body, self.fault, self._detail)

    def _run(self, depth: int, data: bytes) -> Iterator[bytes]:
        if depth == len(self._stages):
            yield data
            return
        made = 0
        for piece in self._stages[depth].push(data):
            made += len(piece)
            # An inner layer may not grow beyond the cap either.
            if depth + 1 < len(self._stages) and made > self._max_bytes:
                self._made = max(self._made, made)
                self._is_within_limits()
                return
            yield from self._run(depth + 1, piece)

    def _is_within_limits(self) -> bool:
        grown = self._made > RATIO_FLOOR_BYTES and self._made > self._taken * self._max_ratio
        if grown:
            self._fail(Outcome.BODY_BOMB, f"grew more than {self._max_ratio} times")
        elif self._made > self._max_bytes:
            self._fail(Outcome.BODY_TOO_LARGE, f"more than {self._max_bytes} bytes decoded")
        return self.fault is None

    def _fail(self, fault: Outcome, detail: str) -> None:
        self.fault = fault
        self._detail = detail


class _Gzip:
    """gzip, of one member or several."""

    def __init__(self) -> None:
        self.trailing = False
        self._inflate = _Inflate(zlib.MAX_WBITS | 16)
        self._between = b""

    def push(self, data: bytes) -> Iterator[bytes]:
        while data and not self.trailing:
            if self._inflate.ended:
                data = self._next_member(data)
                if not data:
                    return
            yield from self._inflate.push(data)
            data = self._inflate.rest

    def _next_member(self, data: bytes) -> bytes:
        """Return the start of a further member; all else after the end is padding."""
        data = self._between + data
        if data[:2] == _GZIP_MAGIC:
            self._between = b""
            self._inflate = _Inflate(zlib.MAX_WBITS | 16)
            return data
        if _GZIP_MAGIC.startswith(data):
            self._between = data
        else:
            self.trailing = True
        return b""

    def is_complete(self) -> bool:
        return self._inflate.ended


class _Deflate:
    """deflate: a zlib stream by the standard, a raw one from many servers."""

    def __init__(self) -> None:
        self.trailing = False
        self._start = b""
        self._inflate: _Inflate | None = None

    def push(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            data = self._start + data
            if len(data) < 2:
                self._start = data
                return
            is_zlib = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._inflate = _Inflate(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        if self._inflate.ended:
            self.trailing = self.trailing or bool(data)
            return
        yield from self._inflate.push(data)
        self.trailing = bool(self._inflate.rest)

    def is_complete(self) -> bool:
        return self._inflate is not None and self._inflate.ended


class _Inflate:
    """One deflate stream, decoded in bounded steps."""

    def __init__(self, window_bits: int) -> None:
        from isal import isal_zlib  # noqa: PLC0415 - see above

        self._object = isal_zlib.decompressobj(wbits=window_bits)
        # The stubs of isal call it an exception, but it is a class of them.
        self._damage = cast("type[Exception]", isal_zlib.error)
        self.ended = False
        self.rest = b""

    def push(self, data: bytes) -> Iterator[bytes]:
        """Yield the output; afterwards `rest` is what lies behind the end of the stream."""
        self.rest = b""
        while not self.ended:
            try:
                piece = self._object.decompress(data, _STEP_BYTES)
            except self._damage as error:
                raise _CodingError(f"compressed body is damaged: {error}") from error
            if piece:
                yield piece
            self.ended = self._object.eof
            data = self._object.unconsumed_tail
            # With the input used up, a full step means that output is held back.
            if not data and len(piece) < _STEP_BYTES:
                break
        self.rest = self._object.unused_data if self.ended else b""


class _Brotli:
    """br."""

    def __init__(self) -> None:
        import brotli  # noqa: PLC0415 - see above

        self.trailing = False
        self._object = brotli.Decompressor()
        self._damage: type[Exception] = brotli.error

    def push(self, data: bytes) -> Iterator[bytes]:
        if self._object.is_finished():
            self.trailing = self.trailing or bool(data)
            return
        try:
            piece = self._object.process(data, output_buffer_limit=_STEP_BYTES)
            while piece:
                yield piece
                if self._object.can_accept_more_data():
                    return
                piece = self._object.process(b"", output_buffer_limit=_STEP_BYTES)
        except self._damage as error:
            raise _CodingError(f"brotli body is damaged: {error}") from error

    def is_complete(self) -> bool:
        return bool(self._object.is_finished())


def _brotli_before_padding(raw: bytes, max_bytes: int) -> bytes | None:
    """Return the whole body before bytes that do not belong to it; None if there is none.

    The library drops what it has decoded when such bytes come in one piece with the end, so the
    end is looked for in single steps.
    """
    import brotli  # noqa: PLC0415 - see above

    decompressor = brotli.Decompressor()
    pieces: list[bytes] = []
    made = 0
    try:
        for position in range(min(len(raw), _MAX_PADDED_BYTES)):
            piece = decompressor.process(raw[position : position + 1])
            made += len(piece)
            pieces.append(piece)
            if decompressor.is_finished():
                return b"".join(pieces)
            if made > max_bytes:
                return None
    except brotli.error:
        pass
    return None


class _Zstd:
    """zstd; may have several frames (RFC 8878), windows at most 8 MiB (RFC 9659)."""

    def __init__(self) -> None:
        import zstandard  # noqa: PLC0415 - see above

        self.trailing = False
        self._damage = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        self._object = self._decompressor.decompressobj()

    def push(self, data: bytes) -> Iterator[bytes]:
        start = 0
        while start < len(data):
            if self._object.eof:
                self._object = self._decompressor.decompressobj()
            part = data[start : start + _ZSTD_SLICE]
            try:
                piece = self._object.decompress(part)
            except self._damage as error:
                raise _CodingError(f"zstd body is damaged: {error}") from error
            start += len(part) - len(self._object.unused_data)
            if piece:
                yield piece

    def is_complete(self) -> bool:
        return bool(self._object.eof)


def _inflate_damaged(raw: bytes, max_bytes: int) -> bytes:
    """Return what a gzip body holds before the damage; its last 8 bytes are the checksum."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    pieces: list[bytes] = []
    made = 0
    try:
        for start in range(0, len(raw) - 8, 4096):
            pieces.append(
                inflate.decompress(raw[start : min(start + 4096, len(raw) - 8)], max_bytes)
            )
            made += len(pieces[-1])
            if made >= max_bytes:
                break
    except zlib.error:
        pass
    return b"".join(pieces)


_STAGES: Final[dict[str, Callable[[], _Stage]]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
