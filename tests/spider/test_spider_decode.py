"""Content codings: right, wrong, cut, nested, and exploding."""

import gzip
import tracemalloc
import zlib
from functools import partial

import brotli
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import least_cpu
from gossamer.outcomes import Outcome
from gossamer.spider.decode import Decoded, Decoder

ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
TEXT = b"It was a bright cold day in April, and the clocks were striking thirteen. " * 400


def decode(raw: bytes, *codings: str, step: int = 1 << 30, cap: int = 10 << 20) -> Decoded:
    decoder = Decoder(codings, cap, 200)
    for start in range(0, len(raw), step):
        if not decoder.feed(raw[start : start + step]):
            break
    return decoder.finish(raw)


@given(
    st.binary(max_size=5_000),
    st.lists(st.sampled_from(sorted(ENCODERS)), min_size=1, max_size=3),
    st.integers(1, 3_000),
)
def test_what_was_encoded_comes_back(body: bytes, codings: list[str], step: int) -> None:
    """Any chain of up to three codings, cut into pieces of any size."""
    raw = body
    for coding in codings:
        raw = ENCODERS[coding](raw)
    assert decode(raw, *codings, step=step) == Decoded(body)


@settings(max_examples=200)
@given(st.binary(max_size=300), st.sampled_from(sorted(ENCODERS)), st.integers(1, 50))
def test_rubbish_never_raises(raw: bytes, coding: str, step: int) -> None:
    assert isinstance(decode(raw, coding, step=step), Decoded)


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("step", [1, 7, 1 << 30])
def test_a_cut_body_is_short_and_kept_as_far_as_it_goes(coding: str, step: int) -> None:
    raw = ENCODERS[coding](TEXT + bytes(range(256)) * 40)
    decoded = decode(raw[: len(raw) - 20], coding, step=step)
    assert decoded.fault is Outcome.BODY_SHORT
    assert (TEXT + bytes(range(256)) * 40).startswith(decoded.body)


@pytest.mark.parametrize("coding", ENCODERS)
def test_bytes_changed_on_the_way_are_noticed_or_harmless(coding: str) -> None:
    raw = bytearray(ENCODERS[coding](TEXT))
    raw[len(raw) // 2] ^= 0x55
    decoded = decode(bytes(raw), coding)
    if coding in ("gzip", "x-gzip", "deflate"):
        assert decoded.fault in (Outcome.BODY_DECODE, Outcome.BODY_SHORT)


@pytest.mark.parametrize("step", [1, 5, 1 << 30])
def test_members_and_padding(step: int) -> None:
    one, two = gzip.compress(b"one "), gzip.compress(b"two")
    assert decode(one + two, "gzip", step=step) == Decoded(b"one two")
    padded = decode(one + two + b"\0" * 50, "gzip", step=step)
    assert padded == Decoded(b"one two", flags=("trailing_bytes",))
    frames = zstandard.compress(b"one ") + zstandard.compress(b"two")
    assert decode(frames, "zstd", step=step) == Decoded(b"one two")
    padded = Decoded(TEXT, flags=("trailing_bytes",))
    assert decode(zlib.compress(TEXT) + b"junk", "deflate", step=step) == padded
    assert decode(brotli.compress(TEXT) + b"junk", "br", step=step) == padded


@pytest.mark.parametrize("step", [1, 1 << 30])
def test_raw_deflate(step: int) -> None:
    compressor = zlib.compressobj(wbits=-15)
    raw = compressor.compress(TEXT) + compressor.flush()
    assert decode(raw, "deflate", step=step) == Decoded(TEXT)


@pytest.mark.parametrize("step", [1, 7, 20, 100, 150, 10_000])
def test_a_wrong_checksum_costs_nothing_of_the_body(step: int) -> None:
    """However the body was cut into packets."""
    raw = bytearray(gzip.compress(TEXT))
    raw[-6] ^= 0xFF
    decoded = decode(bytes(raw), "gzip", step=step)
    assert decoded.fault is Outcome.BODY_DECODE
    assert decoded.body == TEXT


@given(st.binary(min_size=20, max_size=400), st.integers(0, 2**31), st.integers(1, 500))
def test_gzip_under_another_name(body: bytes, stamp: int, step: int) -> None:
    """H58: whatever brotli, zstd and deflate make of it, it is recognised."""
    raw = gzip.compress(body, mtime=stamp)
    for coding in ("br", "zstd", "deflate"):
        decoded = decode(raw, coding, step=step)
        assert decoded.fault is Outcome.BODY_DECODE
        assert (decoded.body, decoded.flags) == (body, ("coding_sniffed",))


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), min_size=16))
@example("Z)" + 42 * "0")
@example("cxuD1~wh;KKA~&#`")
def test_plain_text_under_the_name_of_a_coding(text: str) -> None:
    """H51; Brotli and deflate have no mark to know them by: a few texts are whole streams."""
    raw = text.encode()
    for coding in ("gzip", "br", "zstd", "deflate"):
        decoded = decode(raw, coding)
        whole = _whole_stream(raw, coding)
        if whole is not None:
            assert decoded == Decoded(whole)
            continue
        assert decoded.fault is Outcome.BODY_DECODE or decoded.flags == ("trailing_bytes",)
        if decoded.fault:
            assert (decoded.body, decoded.flags) == (raw, ("identity_sniffed",))


def _whole_stream(raw: bytes, coding: str) -> bytes | None:
    """Return what a text says if it happens to be a stream of this coding, to its last byte."""
    try:
        if coding == "br":
            return brotli.decompress(raw)
        if coding == "deflate":
            inflating = zlib.decompressobj(-zlib.MAX_WBITS)
            inflated = inflating.decompress(raw)
            return inflated if inflating.eof and not inflating.unused_data else None
    except (brotli.error, zlib.error):
        pass
    return None


def test_an_empty_body_is_empty_whatever_its_coding() -> None:
    assert Decoder(("gzip",), 100, 200).finish(b"") == Decoded(b"")


def test_more_than_three_codings_are_refused() -> None:
    assert decode(b"x", "gzip", "gzip", "gzip", "gzip").fault is Outcome.BODY_ENCODING


def test_unknown_codings_are_refused() -> None:
    assert decode(b"x", "compress").fault is Outcome.BODY_ENCODING


def test_a_window_of_more_than_8_mib_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=25)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    raw = compressor.compress(TEXT) + compressor.flush()
    assert decode(raw, "zstd").fault is Outcome.BODY_DECODE


def test_the_limit_cuts_exactly() -> None:
    decoded = decode(gzip.compress(TEXT), "gzip", cap=1_000)
    assert decoded.fault is Outcome.BODY_TOO_LARGE
    assert decoded.body == TEXT[:1_000]


def _bombs() -> dict[str, bytes]:
    zeros = bytes(64 << 20)
    bombs = {coding: encode(zeros) for coding, encode in ENCODERS.items() if coding != "br"}
    bombs["br"] = brotli.compress(zeros, quality=4)
    bombs["zstd"] = zstandard.compress(bytes(1 << 30), level=1)
    return bombs


def test_bombs_stop_at_the_cap() -> None:
    """T6, H61: little time, little memory, one class, also when nested."""
    for coding, raw in _bombs().items():
        for codings, body in (((coding,), raw), ((coding, "gzip"), gzip.compress(raw))):
            tracemalloc.start()
            decoded = decode(body, *codings)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert decoded.fault is Outcome.BODY_BOMB, codings
            assert len(decoded.body) <= 10 << 20
            assert peak < 64 << 20, codings
            assert least_cpu(partial(decode, body, *codings), tries=3) < 0.5, codings
