"""Base 32 (RFC 4648, section 6) of SHA-1 digests: every page has several."""

from typing import Final

_LETTERS: Final = 32
_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)


def _make_steps() -> tuple[tuple[int, int, int], ...]:
    """Return masks and shifts that halve groups of letters until each letter has its own byte."""
    steps: list[tuple[int, int, int]] = []
    letters = _LETTERS
    while letters > 1:
        half = letters // 2
        lower = (1 << 5 * half) - 1
        groups = range(0, 8 * _LETTERS, 8 * letters)
        lower_halves = sum(lower << group for group in groups)
        steps.append((lower_halves, lower_halves << 5 * half, 3 * half))
        letters = half
    return tuple(steps)


_STEPS: Final = _make_steps()


def base32(digest: bytes) -> bytes:
    """Return a digest of 20 bytes as base64.b32encode does, which takes three times as long."""
    number = int.from_bytes(digest, "big")
    for lower_halves, upper_halves, shift in _STEPS:
        number = number & lower_halves | (number & upper_halves) << shift
    return number.to_bytes(_LETTERS, "big").translate(_ALPHABET)
